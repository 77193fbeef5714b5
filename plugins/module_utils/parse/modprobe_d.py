# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file of modprobe.d: the lines that can keep a module out (alias, blacklist, install), and options."""

from __future__ import annotations

import re
import typing as t

from ..model import ModprobeLine

_LINE = re.compile(r"^\s*(alias|blacklist|install|options)\s+(\S+)\s*(.*?)\s*$")


def parse(path: str, text: str) -> t.Iterator[ModprobeLine]:
    """A line that ends with a backslash goes on in the next; it counts by its first."""
    whole, first = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        first = first if whole else number
        whole += raw
        if whole.endswith("\\"):
            whole = whole[:-1] + " "
            continue
        match = _LINE.match(whole)
        whole = ""
        if match:
            command, module, argument = match.groups()
            yield ModprobeLine(path, first, command, module.replace("-", "_"), argument)
