#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Have the CDI specification written, and set aside what is in its way: arguments in, result out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cdi_spec
short_description: Have one fresh CDI specification for the GPUs
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Starts the unit that writes the CDI specification, once, and looks at what it wrote. One that does not name
    O(driver) is an error; it is not written again.
  - Specifications of C(nvidia-ctk) that name the same devices are set aside as C(NAME.goldennode-TIME~), which no
    engine reads, since an engine refuses devices that are named twice. What somebody else has written is left alone.
  - Nothing is done while another driver is loaded, as C(nvidia-ctk) could not ask the GPUs.
extends_documentation_fragment:
  - goldennode.gpu.attributes
attributes:
  check_mode:
    support: full
    details: Tells what would be changed as far as the specification that is there tells it.
  diff_mode:
    support: none
    details: A specification is written anew as a whole, by its unit.
options:
  driver:
    description: The version of the driver that the specification shall name.
    type: str
    required: true
  unit:
    description: The service that writes it.
    type: str
    default: nvidia-cdi-refresh.service
  timeout:
    description: Seconds that the service may take.
    type: int
    default: 150
"""

EXAMPLES = r"""
- name: Describe the GPUs for CDI
  goldennode.gpu.cdi_spec:
    driver: 580.159.03
"""

RETURN = r"""
target:
  description: Where the specification is.
  returned: always
  type: str
  sample: /var/run/cdi/nvidia.yaml
written:
  description: It was not there, or it was another. In check mode, it would be written anew.
  returned: always
  type: bool
  sample: true
set_aside:
  description: What was in its way, and the name that it has now.
  returned: always
  type: dict
  sample: {/etc/cdi/nvidia.yaml: /etc/cdi/nvidia.yaml.goldennode-20261130T154109Z~}
reason:
  description: Why nothing was done. Empty when it was.
  returned: always
  type: str
  sample: "driver 550.163.01 is loaded, and not 580.159.03: the specification is written when it is"
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils.cdi_refresh import CdiRefreshError, Wanted, apply
from ansible_collections.goldennode.gpu.plugins.module_utils.system import System, SystemFailure


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "driver": {"type": "str", "required": True},
            "unit": {"type": "str", "default": "nvidia-cdi-refresh.service"},
            "timeout": {"type": "int", "default": 150},
        },
        supports_check_mode=True,
    )
    try:
        outcome = apply(System(), Wanted(check_mode=module.check_mode, **module.params))
    except (CdiRefreshError, SystemFailure, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=outcome.changed,
        target=outcome.target,
        written=outcome.written,
        set_aside=outcome.set_aside,
        reason=outcome.reason,
    )


if __name__ == "__main__":
    main()
