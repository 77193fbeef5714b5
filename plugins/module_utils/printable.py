# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text of nodes and of strangers' files on a terminal: none of it may move the cursor or clear the screen. Pure."""

from __future__ import annotations

import re

#: Controls but for the tab and the end of a line, and marks that turn the text around them.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text with what would be obeyed and not shown written out: \\x1b."""
    return _CONTROLS.sub(lambda found: ascii(found.group())[1:-1], text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    return printable(text).replace("\n", " ")
