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

#: A file that only headers have which were never prepared, in the words of each compiler, and NVIDIA's own check.
_HEADERS = re.compile(
    r"(?:fatal )?error: '?(?:\S*/)?(?:generated/autoconf|linux/autoconf|generated/uapi/linux/version)\.h'?"
    r"(?: file not found|: No such file)|The Module\.symvers file is missing"
)

#: What is said of a log that names no reason, and of one whose headers are at fault.
_UNTOLD = dkms_log.reason("").cause
_OF_HEADERS = dkms_log.reason("include/generated/autoconf.h or include/config/auto.conf are missing")


def parse(log: str, path: str, proc_version: str = "") -> BuildFailure:
    """:arg proc_version: /proc/version, which tells the compiler of the kernel that runs"""
    header = _HEADER.search(log)
    kernel = header.group(1) if header else ""
    about = proc_version if proc_version.startswith("Linux version %s " % kernel) else ""
    reason = dkms_log.reason(log, about)
    if _HEADERS.search(log):
        reason = reason._replace(cause=_OF_HEADERS.cause.partition(":")[0], fix=_OF_HEADERS.fix)
    cause = "" if reason.cause == _UNTOLD else reason.cause
    return BuildFailure(path=path, kernel=kernel, cause=cause, fix=reason.fix)
