#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the initramfs of every kernel where it is missing or stale: arguments in, result out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: initramfs
short_description: Build every missing or stale initramfs and prove that nouveau cannot load from it
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Rebuilds the initramfs of every installed kernel whose configuration (modprobe.d, initramfs-tools, dracut) or NVIDIA
    modules have changed since this module built it last, or whose image somebody else has built since. A blacklist on
    disk is of no use while an image from before loads nouveau.
  - What was built from what is recorded in C(/var/lib/goldennode/initramfs.json) after each success, kernel by kernel.
    A run that was killed half-way is finished by the next one; nothing depends on what changed in this run.
  - A kernel in C(/boot) that has no initramfs gets one where initramfs-tools or dracut is installed, or where other
    kernels have theirs. GRUB's menu is made anew by C(update-grub) where it starts the kernel without its image.
  - A kernel that is built to take none gets none, and neither does any where no kernel has one and neither tool is
    installed.
  - Each new image is read back. One that still holds nouveau without a blacklist for it is an error, and so is one that
    holds another nvidia module than the disk of its kernel, since each boot would load that one. The file that puts it
    in is named as far as it can be found.
  - Uses C(update-initramfs) where initramfs-tools owns it, else C(dracut).
attributes:
  check_mode:
    description: Can run in C(check_mode) and tell what would be changed.
    support: full
  diff_mode:
    description: There is no text to show.
    support: none
options:
  blacklist:
    description:
      - Kernel modules that must not load. With V(nouveau) among them, an image that holds nouveau must have the
        blacklist for it inside.
      - The blacklist files below C(/etc/modprobe.d) are not written by this module. C(dracut) is told to leave these
        modules out as well, for it may leave those files out.
    type: list
    elements: str
    default: [nouveau, nova_core, nova_drm, nvidiafb]
  timeout:
    description: Seconds that the rebuild for one kernel may take.
    type: int
    default: 600
"""

EXAMPLES = r"""
- name: Rebuild each initramfs whose inputs have changed, and read it back
  goldennode.gpu.initramfs:

- name: The same on a slow machine
  goldennode.gpu.initramfs:
    timeout: 1800
"""

RETURN = r"""
kernels:
  description: Every installed kernel.
  returned: always
  type: list
  elements: dict
  contains:
    kernel:
      description: The kernel's release.
      type: str
      sample: 6.12.57+deb13-amd64
    rebuilt:
      description: Its image was built or rebuilt, or would be in check mode.
      type: bool
      sample: true
    reason:
      description: Why its image had to be built or rebuilt. Empty when it had not.
      type: str
      sample: its configuration or modules have changed since its image was built
    nouveau:
      description: The image holds nouveau. Null where there is none, and for one that check mode predicts.
      type: bool
      sample: false
    blacklisted:
      description: A blacklist for nouveau is inside the image. Null as above.
      type: bool
      sample: true
"""

import dataclasses

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils.initramfs import InitramfsError, rebuild
from ansible_collections.goldennode.gpu.plugins.module_utils.system import System, SystemFailure


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "blacklist": {
                "type": "list",
                "elements": "str",
                "default": ["nouveau", "nova_core", "nova_drm", "nvidiafb"],
            },
            "timeout": {"type": "int", "default": 600},
        },
        supports_check_mode=True,
    )
    try:
        results = rebuild(System(), module.params["blacklist"], module.params["timeout"], module.check_mode)
    except (InitramfsError, SystemFailure, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=any(result.rebuilt for result in results),
        kernels=[dataclasses.asdict(result) for result in results],
    )


if __name__ == "__main__":
    main()
