# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The groups of the node, from /etc/group."""

from __future__ import annotations

import typing as t

from ..model import Reading
from .text import integer


def parse(text: str) -> Reading[t.Dict[str, t.Tuple[int, t.Tuple[str, ...]]]]:
    """Number and members of each group. Lines that are not of the form are left out, as getgrnam leaves them out."""
    found: t.Dict[str, t.Tuple[int, t.Tuple[str, ...]]] = {}
    for line in text.splitlines():
        values = line.strip().split(":")
        number = integer(values[2]) if len(values) == 4 else None
        if values[0] and number is not None:
            members = tuple(name.strip() for name in values[3].split(",") if name.strip())
            found.setdefault(values[0], (number, members))
    if not found:
        return Reading.unknown("/etc/group holds no group")
    return Reading(found)
