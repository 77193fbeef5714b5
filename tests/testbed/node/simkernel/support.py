# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which NVIDIA module can drive which GPU, and what it says of one that it cannot.

A module ignores a GPU that its release does not know, and loads only when another one is left. A GPU of the wrong
flavour is taken, so that lspci shows the driver in use, but it never starts, and NVML does not count it.
"""

from __future__ import annotations

import typing as t

from .machine import Device

#: NVML's numbers of architectures.
MAXWELL, PASCAL, VOLTA, TURING, AMPERE, ADA, HOPPER, BLACKWELL = range(3, 11)

#: The branch in which an architecture appeared.
FIRST_BRANCH = {
    MAXWELL: 343, PASCAL: 367, VOLTA: 384, TURING: 410, AMPERE: 450, ADA: 525, HOPPER: 525, BLACKWELL: 570,
}  # fmt: skip
#: The last branch for what is older than Turing.
LAST_LEGACY_BRANCH = 580


def is_open(licence: str) -> bool:
    """NVIDIA's own licence is the proprietary flavour's."""
    return licence != "NVIDIA"


def unknown_to(device: Device, version: str) -> t.Optional[str]:
    """What a module of ``version`` says of a GPU that its release does not know, None where it does."""
    branch = int(version.partition(".")[0])
    if device.architecture < TURING and branch > LAST_LEGACY_BRANCH:
        return (
            "NVRM: The NVIDIA %s GPU installed in this system is\n"
            "NVRM:  supported through the NVIDIA %d.xx Legacy drivers. Please\n"
            "NVRM:  visit http://www.nvidia.com/object/unix.html for more\n"
            "NVRM:  information.  The %s NVIDIA driver will ignore\n"
            "NVRM:  this GPU.  Continuing probe..." % (device.name, LAST_LEGACY_BRANCH, version)
        )
    if branch < FIRST_BRANCH[device.architecture]:
        return (
            "NVRM: The NVIDIA GPU %s (PCI ID: 10de:%04x)\n"
            "NVRM: installed in this system is not supported by the\n"
            "NVRM: NVIDIA %s driver release.\n"
            "NVRM: Please see 'Appendix A - Supported NVIDIA GPU Products'\n"
            "NVRM: in this release's README, available on the operating system\n"
            "NVRM: specific graphics driver download page at www.nvidia.com." % (device.address, device.device, version)
        )
    return None


def not_started_by(device: Device, licence: str) -> t.Optional[t.Tuple[str, str]]:
    """Why a module of this flavour cannot start the GPU, with the code of RmInitAdapter; None where it can."""
    gpu = "NVRM: The NVIDIA GPU %s (PCI ID: 10de:%04x)\n" % (device.address, device.device)
    if is_open(licence) and device.architecture < TURING:
        text = (
            "NVRM: installed in this system is not supported by open\n"
            "NVRM: nvidia.ko because it does not include the required GPU\n"
            "NVRM: System Processor (GSP)."
        )
        return gpu + text, "0x24:0x72:1603"
    if not is_open(licence) and device.architecture >= BLACKWELL:
        return gpu + "NVRM: installed in this system requires use of the NVIDIA open kernel modules.", "0x22:0x56:884"
    return None
