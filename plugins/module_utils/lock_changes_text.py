# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The comparison of two locks for people: a row for each change, and below it what it risks. Pure; plain ASCII.

Packages that change alike share a row. Where the terminal is too narrow for both versions, they stand below it.
"""

from __future__ import annotations

import re
import textwrap
import typing as t

from .lock_changes import Change, effects
from .lock_risks import REBOOT, RESTART, REVIEW, Risk
from .printable import one_line
from .table import Paint

_GAP = "  "
_INDENT = "    "
_HEADS = ("LAYER", "AXIS", "WHAT", "BEFORE", "AFTER")
#: The columns that stand in any case; the others go below the row where there is no room.
_FIRST = 3
_DIGEST = re.compile(r"(sha256:[0-9a-f]{12})[0-9a-f]{52}")
#: Longer than this is told short; machines get the whole.
_LONGEST = 300
_READABLE = 20

SAME = "Nothing that a node gets is another."


def render(
    before: t.Mapping[str, t.Any],
    after: t.Mapping[str, t.Any],
    found: t.Sequence[Change],
    width: int,
    paint: Paint,
    remarks: t.Iterable[str] = (),
) -> str:
    """The whole comparison.

    :arg found: what ``lock_changes.changes`` says of these two
    :arg remarks: what is to be said of the files themselves
    """
    names = ["%s (%s)" % (one_line(str(lock["bundle"])), short(str(lock["id"]))) for lock in (before, after)]
    lines = ["%s: %s -> %s" % (one_line(str(after["platform"])), *names)]
    lines += [paint(piece, "bad") for remark in remarks for piece in _wrapped(one_line(remark), width, "")]
    return "\n".join([*lines, "", *table(found, width, paint), *([""] if found else []), total(found, paint)])


def total(found: t.Sequence[Change], paint: Paint) -> str:
    """All of it in one line."""
    if not found:
        return paint(SAME, "good")
    of = effects(found)
    words = ["%d change%s." % (len(found), "" if len(found) == 1 else "s")]
    if of[REBOOT]:
        words.append("A reboot is due for %s." % _listed(of[REBOOT]))
    if of[RESTART]:
        words.append("Docker is restarted.")
    if of[REVIEW]:
        words.append("Look at %s." % _listed(of[REVIEW]))
    return paint(" ".join(words), "bad" if of[REVIEW] else "good")


def table(found: t.Sequence[Change], width: int, paint: Paint) -> t.List[str]:
    """The rows with their heads; no lines where nothing is another."""
    if not found:
        return []
    rows = _rows(found)
    cells = [_HEADS, *(row for row, _names, _risks in rows)]
    beside = sum(_widths(cells)) + len(_GAP) * (len(_HEADS) - 1) <= width
    columns = len(_HEADS) if beside else _FIRST
    widths = _widths([line[:columns] for line in cells])
    heads = list(_HEADS[:columns]) if beside else [*_HEADS[: _FIRST - 1], "WHAT, BEFORE -> AFTER"]
    lines = [_line(heads, widths), _line(["-" * max(size, len(head)) for size, head in zip(widths, heads)], widths)]
    for row, names, risks in rows:
        lines.append(_line(row[:columns], widths))
        if not beside:
            lines.append("%s%s -> %s" % (_INDENT, row[_FIRST], row[_FIRST + 1]))
        lines += _wrapped(names, width, _INDENT) if names else []
        for risk in risks:
            head = _INDENT + risk.effect.upper().ljust(len("RESTART")) + _GAP
            pieces = _wrapped(risk.text, width, head)
            lines += [paint(piece, "bad") for piece in pieces] if risk.effect == REVIEW else pieces
    return lines


def short(text: str) -> str:
    """A text with its digests cut to what people compare."""
    text = _DIGEST.sub(r"\1", text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


_Row = t.Tuple[t.Tuple[str, ...], str, t.Tuple[Risk, ...]]


def _rows(found: t.Sequence[Change]) -> t.List[_Row]:
    """The cells of each row, the names of the packages that share it, and what it risks."""
    alike: t.Dict[t.Any, t.List[Change]] = {}
    for at, change in enumerate(found):
        key: t.Any = (change.axis, change.before, change.after) if change.package else at
        alike.setdefault(key, []).append(change)
    return [
        (
            _cells(group),
            ", ".join(one.what for one in group) if len(group) > 1 else "",
            tuple(dict.fromkeys(risk for one in group for risk in one.risks)),
        )
        for group in alike.values()
    ]


def _cells(group: t.Sequence[Change]) -> t.Tuple[str, ...]:
    one = group[0]
    what = one.what if len(group) == 1 else "%d packages" % len(group)
    values = ("none" if value is None else value for value in (one.before, one.after))
    return (one.layer, *(short(one_line(cell)) for cell in (one.axis, what or one.axis, *values)))


def _widths(lines: t.Sequence[t.Sequence[str]]) -> t.List[int]:
    return [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]


def _line(cells: t.Sequence[str], widths: t.Sequence[int]) -> str:
    return _GAP.join(cell.ljust(size) for cell, size in zip(cells, widths)).rstrip()


def _wrapped(text: str, width: int, head: str) -> t.List[str]:
    """The text behind a head, its further lines below its beginning. A name in two pieces could not be copied."""
    return textwrap.wrap(
        one_line(text),
        max(width, len(head) + _READABLE),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _listed(names: t.Sequence[str]) -> str:
    names = [one_line(name) for name in names]
    return names[0] if len(names) == 1 else "%s and %s" % (", ".join(names[:-1]), names[-1])
