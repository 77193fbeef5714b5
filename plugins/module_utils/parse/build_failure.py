# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The log of a DKMS build that failed: for which kernel it was, and what stopped it. Any text is taken."""

from __future__ import annotations

import re

from ..model import BuildFailure
from . import dkms_log

#: "DKMS make.log for nvidia-580.159.03 for kernel 6.12.57+deb13-amd64 (x86_64)"; DKMS 3.1 has its version in between.
_HEADER = re.compile(r"^DKMS (?:\([^)\n]{1,40}\) )?make\.log for \S+ for kernel (\S+)", re.MULTILINE)

#: What is said of a log that names no reason.
_UNTOLD = dkms_log.reason("").cause


def parse(log: str, path: str, proc_version: str = "") -> BuildFailure:
    """:arg proc_version: /proc/version, which tells the compiler of the kernel that runs"""
    header = _HEADER.search(log)
    kernel = header.group(1) if header else ""
    about = proc_version if proc_version.startswith("Linux version %s " % kernel) else ""
    reason = dkms_log.reason(log, about)
    cause = "" if reason.cause == _UNTOLD else reason.cause
    return BuildFailure(path=path, kernel=kernel, cause=cause, fix=reason.fix)
