# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of the kernel log that matter to a GPU, with the driver's wrapped sentences put together again.

The driver wraps its sentences over several lines, so that a search in single lines misses them.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Reading

#: How many lines are kept: the first ones tell the cause, the last ones the present state. Of those between them an Xid
#: stays that neither has: programs that fail all day must not push a GPU's fault out of sight.
KEPT_FIRST, KEPT_LAST, KEPT_XIDS = 200, 300, 300

_MATTERS = re.compile(
    r"NVRM|nvidia|nouveau|\bnova[_-](?:core|drm)|\bXid\b"
    # A module that is refused for its signature is not named.
    r"|unsigned module|module with unavailable key|not signed with a trusted key|key was rejected by service",
    re.IGNORECASE,
)
_STAMP = re.compile(r"^\s*\[\s*\d+\.\d+\]\s*")
_XID = re.compile(r"\bS?Xid \(([^)]{1,60})\): ([0-9]{1,6})\b")
_NVRM = re.compile(r"^NVRM:\s*(.*)$")
#: Beginnings of the driver's messages, and of lines that a function of the driver prints under its own name.
_BEGINS = re.compile(
    r"^(?:GPU\d*\b|Xid\b|API mismatch|The NVIDIA|This (?:can|may|PCI)\b|None of|Try |No |loading\b|\w+:(?:\s|$)"
    r"|\w+ failed)"
)


def parse(text: str) -> Reading[t.Tuple[str, ...]]:
    """Lines without their time stamp, in order."""
    lines: t.List[str] = []
    for raw in text.splitlines():
        line = bare(raw)
        if not line:
            continue
        if lines and _continues(lines[-1], line):
            lines[-1] = "%s %s" % (lines[-1], _NVRM.sub(r"\1", line))
        elif _MATTERS.search(line):
            lines.append(line)
    if len(lines) > KEPT_FIRST + KEPT_LAST:
        first, last = lines[:KEPT_FIRST], lines[-KEPT_LAST:]
        lines = [*first, *_xids(lines[KEPT_FIRST:-KEPT_LAST], first, last), *last]
    return Reading(tuple(lines))


def bare(line: str) -> str:
    """Without the time stamp of dmesg, which the journal has not."""
    return _STAMP.sub("", line).strip()


def _xids(lines: t.Sequence[str], first: t.Sequence[str], last: t.Sequence[str]) -> t.List[str]:
    """Of each GPU and number the first line and the last one, where those before and after have none."""
    begins: t.Dict[t.Tuple[str, str], int] = {}
    ends: t.Dict[t.Tuple[str, str], int] = {}
    for at, line in enumerate(lines):
        for key in _keys((line,)):
            begins.setdefault(key, at)
            ends[key] = at
    before, after = _keys(first), _keys(last)
    kept = {at for key, at in begins.items() if key not in before}
    kept |= {at for key, at in ends.items() if key not in after}
    return [lines[at] for at in sorted(kept)[-KEPT_XIDS:]]


def _keys(lines: t.Iterable[str]) -> t.Set[t.Tuple[str, str]]:
    found = (_XID.search(line) for line in lines)
    return {(match.group(1), match.group(2)) for match in found if match}


def _continues(before: str, line: str) -> bool:
    """Whether ``line`` goes on with the sentence that ``before`` left open."""
    this = _NVRM.match(line)
    if this is None or not before.startswith("NVRM:") or before.endswith((".", "!", "?")):
        return False
    said = this.group(1)
    if not said or _BEGINS.match(said):
        return False
    return said[0].islower() or not before.endswith(")")
