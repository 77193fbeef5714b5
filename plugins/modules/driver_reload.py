#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Load the NVIDIA driver anew in place of a reboot: arguments in, result out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: driver_reload
short_description: Load the NVIDIA kernel modules anew where nothing uses them
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Takes the NVIDIA kernel modules out of the kernel and loads those that are on the disk now, with the parameters that
    are configured now. After an upgrade of the driver, or another choice of its parameters, that does in place of a
    reboot.
  - Does so only where nothing uses the GPUs. A process that has a device node open is named with its number, and so is
    another module that needs the driver. All of that is asked before anything is taken out.
  - C(nvidia-persistenced), C(nvidia-fabricmanager) and C(nvidia-dcgm) are stopped for it where they run, and started
    again whatever happens; those that are enabled and did not run are started with the new driver.
    C(goldennode-uvm.service) loads the driver and makes its device nodes.
  - A refusal is no failure of the module. RV(refused) says why, and a reboot is then the way.
  - What lives in the driver alone is lost, as by a reboot. MIG instances, clocks and power limits must be set anew.
attributes:
  check_mode:
    description: Can run in C(check_mode) and tell what would be changed.
    support: full
  diff_mode:
    description: There is no text to show.
    support: none
options:
  reasons:
    description:
      - What loading the driver anew is to mend, as sentences. With none nothing is done.
      - These are the causes of the findings of M(goldennode.gpu.node_verify) whose C(repair) is C(reload).
    type: list
    elements: str
    required: true
  timeout:
    description: Seconds that one command may take which stops, unloads, loads or starts.
    type: int
    default: 120
"""

EXAMPLES = r"""
- name: Load the driver anew where that is all that is missing
  goldennode.gpu.driver_reload:
    reasons: "{{ look.verdict.findings | selectattr('repair', 'equalto', 'reload') | map(attribute='cause') }}"
"""

RETURN = r"""
reloaded:
  description: The modules were loaded anew.
  returned: always
  type: bool
  sample: false
refused:
  description: Why not, or what failed. Empty when all went well.
  returned: always
  type: str
  sample: "in use: python3 (pid 4711) has /dev/nvidia0, /dev/nvidiactl open"
stopped:
  description: Services that were stopped for it and started again.
  returned: always
  type: list
  elements: str
  sample: [nvidia-persistenced.service]
"""

import dataclasses

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils.driver_reload import Result, reload
from ansible_collections.goldennode.gpu.plugins.module_utils.system import System, SystemFailure


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "reasons": {"type": "list", "elements": "str", "required": True},
            "timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    result = Result(False, False)
    if module.params["reasons"]:
        try:
            result = reload(System(), module.params["timeout"], module.check_mode)
        except (SystemFailure, OSError) as error:
            module.fail_json(msg="the driver was not loaded anew: %s" % error)
    module.exit_json(**dataclasses.asdict(result))


if __name__ == "__main__":
    main()
