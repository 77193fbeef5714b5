# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the nvidia container runtime injects GPUs: ``mode`` of its config.toml."""

from __future__ import annotations

import re

from ..model import Reading

#: What the toolkit takes where the file says nothing.
DEFAULT = "auto"

_TABLE = "nvidia-container-runtime"
_HEAD = re.compile(r"^\[+\s*([^\]]*?)\s*\]+\s*(?:#.*)?$")
_MODE = re.compile(r"^(?:\"mode\"|'mode'|mode)\s*=\s*(.*)$")
_DOTTED = re.compile(r"^(?:\"%(t)s\"|'%(t)s'|%(t)s)\s*\.\s*(?:\"mode\"|'mode'|mode)\s*=\s*(.*)$" % {"t": _TABLE})
_INLINE = re.compile(r"^[\"']?%s[\"']?\s*=" % _TABLE)
_WORD = re.compile(r"^(?:\"([a-z-]*)\"|'([a-z-]*)')\s*(?:#.*)?$")


def parse(text: str) -> Reading[str]:
    """The first that is said counts; TOML allows no second."""
    table = ""
    for raw in text.lstrip("\ufeff").splitlines():
        line = raw.strip()
        head = _HEAD.match(line)
        if head:
            table = head.group(1).strip("\"'")
            continue
        if table == "" and _INLINE.match(line):
            return Reading.unknown("config.toml of the toolkit: the table is not understood: %s" % line[:80])
        match = (_MODE if table == _TABLE else _DOTTED).match(line) if table in ("", _TABLE) else None
        if match:
            word = _WORD.match(match.group(1))
            if word is None:
                return Reading.unknown("config.toml of the toolkit: the mode is not understood: %s" % line[:80])
            return Reading(word.group(1) or word.group(2) or DEFAULT)
    return Reading(DEFAULT)
