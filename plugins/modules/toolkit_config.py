#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Merge settings into the container toolkit's config.toml: arguments in, result out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: toolkit_config
short_description: Merge settings into the configuration of the NVIDIA Container Toolkit
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Merges settings into C(config.toml) by editing only the places that differ. Comments, order, spellings and every key
    and table that is not part of O(settings) stay as they are, to the byte.
  - A key that is missing goes below the comment that shows it switched off, where there is one, else behind the last
    key of its table.
  - Nothing is written before the result is known to be good. Text that is not TOML, tables and keys that are given
    twice, values where a table is wanted, and whatever C(nvidia-ctk config) does not read are errors that name line and
    column and leave the file alone.
  - A file is written whole or not at all, with mode, owner and SELinux context kept. A link stays a link. What somebody
    else has written to it since it was read is not written over; the module fails, and the next run merges into that.
  - Nothing is restarted, since the toolkit reads the file at each start of a container.
extends_documentation_fragment:
  - goldennode.gpu.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
options:
  settings:
    description:
      - What C(config.toml) shall hold. Dictionaries are tables, and are merged key by key, to any depth; lists and all
        other values replace what is there.
    type: dict
    required: true
  path:
    description: The file.
    type: path
    default: /etc/nvidia-container-runtime/config.toml
  backup:
    description:
      - Keep the file as it was before a change beside it, as C(config.toml.goldennode-TIME~). The newest three stay.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Let images not ask for GPUs by themselves
  goldennode.gpu.toolkit_config:
    settings:
      accept-nvidia-visible-devices-envvar-when-unprivileged: false
      nvidia-container-runtime:
        mode: auto
"""

RETURN = r"""
validated:
  description:
    - C(nvidia-ctk config) has read the file that was, or would be, written. False where nothing was to be written, and
      where the toolkit is not installed.
  returned: always
  type: bool
  sample: true
backup_file:
  description: Where the file as it was before is kept.
  returned: when the file was changed, was there before, and O(backup=true)
  type: str
  sample: /etc/nvidia-container-runtime/config.toml.goldennode-20261130T154109Z~
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils.system import System, SystemFailure
from ansible_collections.goldennode.gpu.plugins.module_utils.toolkit_config import ToolkitConfigError, Wanted, apply


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "settings": {"type": "dict", "required": True},
            "path": {"type": "path", "default": "/etc/nvidia-container-runtime/config.toml"},
            "backup": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    try:
        outcome = apply(System(), Wanted(check_mode=module.check_mode, **module.params))
    except (ToolkitConfigError, SystemFailure, OSError) as error:
        module.fail_json(msg=str(error))
    result = {"changed": outcome.changed, "validated": outcome.validated}
    if module._diff:
        header = module.params["path"]
        result["diff"] = {
            "before_header": header,
            "after_header": header,
            "before": outcome.before,
            "after": outcome.after,
        }
    if outcome.backup_file:
        result["backup_file"] = outcome.backup_file
    module.exit_json(**result)


if __name__ == "__main__":
    main()
