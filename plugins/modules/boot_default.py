#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the boot loader start one kernel by default: arguments in, result out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: boot_default
short_description: Make GRUB start one kernel by default, and read back that it does
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Looks in the configuration that GRUB reads at boot which kernel it starts when nobody chooses. Where that is another
    one than O(kernel), or where O(arguments) are missing, writes C(/etc/default/grub.d/zz-goldennode.cfg), runs
    C(update-grub) and reads the result back.
  - The default is named by the ids of submenu and entry, which hold the release of the kernel. So it means the same
    kernel when others are installed or removed, which a number or a title does not.
  - Nothing of the user's is edited. The file is the last that GRUB's generator reads, so its word counts.
  - Where C(update-grub) fails, or the configuration does not come out as wanted, the file is put back as it was,
    C(update-grub) is run again and the module fails.
  - What is due follows from the generated configuration and not from what changed. A default that is right without a
    word of ours is left alone.
  - A choice for the next boot alone (C(grub-reboot)) is left alone too.
  - Does nothing where the machine is not started by GRUB, or where GRUB's menu stands in files of the Boot Loader
    Specification; RV(loader) is empty then.
attributes:
  check_mode:
    description: Can run in C(check_mode) and tell what would be changed.
    support: full
  diff_mode:
    description: Shows what would become of its file.
    support: full
options:
  kernel:
    description: Release of the kernel to start by default, as C(uname -r) says it. Left out, the default is not set.
    type: str
  arguments:
    description: Words that shall stand on the command line of the kernel besides those that stand there already.
    type: list
    elements: str
    default: []
  state:
    description: V(absent) takes away what this module has set.
    type: str
    choices: [present, absent]
    default: present
  timeout:
    description: Seconds that one C(update-grub) may take.
    type: int
    default: 300
"""

EXAMPLES = r"""
- name: Start this kernel by default
  goldennode.gpu.boot_default:
    kernel: 6.12.57+deb13-amd64

- name: The same, with a word more on its command line
  goldennode.gpu.boot_default:
    kernel: 6.12.57+deb13-amd64
    arguments: [iommu=pt]

- name: Leave the default to the distribution again
  goldennode.gpu.boot_default:
    state: absent
"""

RETURN = r"""
loader:
  description: The boot loader that was found, empty for one that is not known.
  returned: always
  type: str
  sample: grub
kernel:
  description: The kernel that is started by default now. Null where its name does not tell a release.
  returned: always
  type: str
  sample: 6.12.57+deb13-amd64
entry:
  description: The titles of the entry and the submenus that lead to it.
  returned: always
  type: str
  sample: Advanced options for Debian GNU/Linux > Debian GNU/Linux, with Linux 6.12.57+deb13-amd64
diff:
  description: The file before and after.
  returned: in diff mode
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils.boot_default import BootError, apply
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.boot_default import DROP_IN
from ansible_collections.goldennode.gpu.plugins.module_utils.system import System, SystemFailure


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "kernel": {"type": "str"},
            "arguments": {"type": "list", "elements": "str", "default": []},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "timeout": {"type": "int", "default": 300},
        },
        supports_check_mode=True,
    )
    given = module.params
    wanted = given["state"] == "present"
    kernel, arguments = (given["kernel"], given["arguments"]) if wanted else (None, [])
    try:
        result = apply(System(), kernel, arguments, given["timeout"], module.check_mode)
    except (BootError, SystemFailure, OSError) as error:
        module.fail_json(msg=str(error))
    answer = {"changed": result.changed, "loader": result.loader, "kernel": result.kernel, "entry": result.entry}
    if module._diff:
        names = {"before_header": DROP_IN, "after_header": DROP_IN}
        answer["diff"] = {"before": result.before, "after": result.after, **names}
    module.exit_json(**answer)


if __name__ == "__main__":
    main()
