# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver's own words below /proc/driver/nvidia, and the version below /sys/module."""

from __future__ import annotations

import re
import typing as t

from ..model import DriverLoaded, Reading
from .text import DRIVER_VERSION

_NVRM = re.compile(r"^NVRM version:\s*(.*?Kernel Module.*?)\s+(%s)\s" % DRIVER_VERSION, re.MULTILINE)
_PARAM = re.compile(r"^(\w+):[ \t]*(.*)$", re.MULTILINE)


def loaded(proc_version: t.Optional[str], module_version: t.Optional[str]) -> Reading[DriverLoaded]:
    """The module in the running kernel.

    :arg proc_version: text of /proc/driver/nvidia/version, None where it is not there
    :arg module_version: text of /sys/module/nvidia/version, None where it is not there
    """
    nvrm = _NVRM.search((proc_version or "") + "\n")
    in_proc = nvrm.group(2) if nvrm else None
    in_sys = (module_version or "").strip() or None
    if in_sys and not re.match(r"^%s$" % DRIVER_VERSION, in_sys):
        return Reading.unknown("/sys/module/nvidia/version holds %r, which is no driver version" % in_sys[:80])
    if proc_version is not None and in_proc is None:
        return Reading.unknown("/proc/driver/nvidia/version has no line that names the kernel module's version")
    if in_proc and in_sys and in_proc != in_sys:
        where = "/proc/driver/nvidia/version says %s, /sys/module/nvidia/version %s" % (in_proc, in_sys)
        return Reading.unknown("the loaded driver gives two versions: %s" % where)
    version = in_proc or in_sys
    if version is None:
        return Reading(None)
    flavour = None
    if nvrm:
        flavour = "open" if "Open Kernel Module" in nvrm.group(1) else "proprietary"
    return Reading(DriverLoaded(version=version, flavour=flavour))


def params(text: str) -> Reading[t.Dict[str, str]]:
    """/proc/driver/nvidia/params: values stay as they are printed, which is in decimal (438 is mode 0666)."""
    found = {match.group(1): match.group(2).strip() for match in _PARAM.finditer(text)}
    if not found:
        return Reading.unknown("/proc/driver/nvidia/params holds no parameter")
    return Reading(found)
