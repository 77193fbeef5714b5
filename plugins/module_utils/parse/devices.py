# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Major numbers of character devices, from /proc/devices."""

from __future__ import annotations

import re
import typing as t

from ..model import Reading

_LINE = re.compile(r"^\s*([0-9]{1,9})\s+(\S+)$")


def parse(text: str) -> Reading[t.Dict[str, int]]:
    """Majors whose name starts with nvidia; the first of each name, as older drivers register 195 more than once."""
    found: t.Dict[str, int] = {}
    section = ""
    for line in text.splitlines():
        if line.rstrip().endswith("devices:"):
            section = line.split()[0]
            continue
        match = _LINE.match(line)
        if match and section == "Character" and match.group(2).startswith("nvidia"):
            found.setdefault(match.group(2), int(match.group(1)))
    if not section:
        return Reading.unknown("/proc/devices has no list of character devices")
    return Reading(found)
