# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the dynamic linker finds a library, from ``ldconfig -p``."""

from __future__ import annotations

import re
import typing as t

from ..model import Reading

_ENTRY = re.compile(r"^\s*(\S+) \(([^)]*)\) => (\S.*)$")
#: How ldconfig marks the entries that a 64-bit program of this machine can load.
_FLAGS = {"x86_64": "x86-64", "aarch64": "AArch64"}


def parse(stdout: str, machine: str, names: t.Collection[str]) -> Reading[t.Dict[str, str]]:
    """Path of each of ``names`` that the linker's cache has: the first entry wins, as it does for the linker."""
    flag = _FLAGS.get(machine)
    if flag is None:
        return Reading.unknown("it is not known how ldconfig marks the libraries of %s" % (machine or "this machine"))
    entries = [match for match in map(_ENTRY.match, stdout.splitlines()) if match]
    if not entries:
        return Reading.unknown("ldconfig -p lists no library")
    found: t.Dict[str, str] = {}
    for entry in entries:
        name, flags, path = entry.groups()
        if name in names and flag in (part.strip() for part in flags.split(",")):
            found.setdefault(name, path.strip())
    return Reading(found)
