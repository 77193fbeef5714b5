# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a module could not be built, from DKMS's make.log. Pure; any text is taken."""

from __future__ import annotations

import re
import typing as t

_COMPILER_CHECK = re.compile(r"Failed CC version check|Compiler version check failed")
_ERROR = re.compile(r"^.*(?:\berror: |\*\*\* ).*$", re.MULTILINE)
_HEADERS = re.compile(r"kernel headers|Kernel (?:source|preparation) .*(?:not|failed)|include/generated/autoconf", re.I)
_SPACE = re.compile(r"No space left on device")
_KILLED = re.compile(r"^Killed$|fatal error: Killed signal", re.MULTILINE)


def reason(log: str) -> t.Tuple[str, str]:
    """Cause and fix.

    A compiler that "differs" is a warning and stops nothing: what counts is the error. Only NVIDIA's own check of the
    compiler's version, which says that it fails, is about the compiler.
    """
    if _SPACE.search(log):
        return "the disk is full", "Make room below /var/lib/dkms and /tmp"
    if _COMPILER_CHECK.search(log):
        versions = re.findall(r"(?:gcc version|\bcc) ([0-9][0-9.]*)", log)
        told = ": the kernel was built by %s, here is %s" % (versions[0], versions[1]) if len(versions) > 1 else ""
        return (
            "the compiler is not the one that built the kernel%s" % told,
            "Install the compiler that built that kernel; IGNORE_CC_MISMATCH would only hide it",
        )
    if _KILLED.search(log):
        return "the compiler was killed", "See whether the node ran out of memory: dmesg"
    errors = [line for line in _ERROR.findall(log) if ": *** " not in line or "recipe" not in line]
    first = next((line for line in errors if "error: " in line), errors[0] if errors else "")
    if first and not _HEADERS.search(first):
        return (
            "the driver does not build on this kernel: %s" % " ".join(first.split())[:200],
            "Use a driver that supports this kernel, or another kernel, in the bundle",
        )
    if _HEADERS.search(log):
        return "the kernel's headers are not there or not whole", "Install the headers of exactly this kernel"
    return "the log does not say", "Read the log"
