# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Called by the name of the program that it takes the place of, or as ``simkernel COMMAND``."""

from __future__ import annotations

import os
import sys
import typing as t

from . import boot, firmware, modules, udev

PROGRAMS: t.Dict[str, t.Callable[[t.Sequence[str]], int]] = {
    "modprobe": modules.modprobe,
    "rmmod": modules.rmmod,
    "insmod": modules.insmod,
    "lsmod": modules.lsmod,
    "dmesg": boot.dmesg,
}

COMMANDS: t.Dict[str, t.Callable[[t.Sequence[str]], int]] = {
    "boot": boot.boot,
    "coldplug": boot.coldplug,
    "modules-load": boot.modules_load,
    "udev": udev.play,
    "sync-faults": boot.sync_faults,
    "kernels": boot.kernels,
    "disk": boot.disk,
    "enrol": firmware.enrol,
}


def main(argv: t.Sequence[str]) -> int:
    program = os.path.basename(argv[0])
    if program in PROGRAMS:
        return PROGRAMS[program](argv[1:])
    if len(argv) < 2 or argv[1] not in COMMANDS:
        print("usage: simkernel %s" % "|".join(COMMANDS), file=sys.stderr)
        return 2
    return COMMANDS[argv[1]](argv[2:])
