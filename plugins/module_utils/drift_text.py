# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of what has drifted, for people: what, was, is and since when, with what to do below. Pure.

Plain ASCII. Where a row is wider than the terminal its cells stand below it: a path in two pieces cannot be copied.
"""

from __future__ import annotations

import dataclasses
import textwrap
import typing as t

from .printable import one_line
from .table import Paint

Plain = t.Mapping[str, t.Any]

NONE, DRIFTED, NOT_KNOWN, UNFINISHED = "no drift", "drifted", "not known", "not proven"

_GAP, _INDENT = "  ", "    "
_HEADS = ("NODE", "WHAT", "WAS", "IS", "SINCE")
#: A longer cell stands below its row whole.
_CELL = 40


@dataclasses.dataclass(frozen=True)
class Case:
    """One node. ``note`` and ``fix`` say why there are no rows, or stand above them; ``waits``: for what it waits."""

    node: str
    word: str
    rows: t.Tuple[Plain, ...] = ()
    note: str = ""
    fix: str = ""
    waits: str = ""
    others: t.Tuple[str, ...] = ()
    bundle: str = ""
    lock: str = ""
    last_whole: str = ""
    collected_at: str = ""

    @property
    def well(self) -> bool:
        """Whether it is known that nothing has drifted."""
        return self.word == NONE

    @property
    def message(self) -> str:
        """In one line, for an error."""
        differ = "; ".join("%s: %s, was %s" % (_name(row), row["is"], row["was"] or "known") for row in self.rows)
        return one_line("%s: %s. %s" % (self.node, self.word, " ".join(filter(None, (self.note, differ))))).rstrip()


def render(cases: t.Sequence[Case], width: int, paint: Paint) -> str:
    table = [_HEADS, *(cells for case in cases for cells in _cells(case))]
    widths = [max(len(line[column]) for line in table) for column in range(len(_HEADS))]
    wide = sum(widths) + len(_GAP) * (len(widths) - 1) <= width
    if not wide:
        widths = [max(len(case.node) for case in cases), 0, 0, 0, 0] if cases else widths
    heads = _HEADS if wide else _HEADS[:2]
    lines = [_line(heads, widths), _line(["-" * max(len(h), w) for h, w in zip(heads, widths)], widths)]
    for case in cases:
        lines += _node(case, widths, wide, width, paint)
    return "\n".join([*lines, "", total(cases, paint)])


def since(row: Plain) -> str:
    """``after 2026-12-01 09:30Z``; what tells it stands below the row."""
    told = row["since"]
    if row["status"] == "unknown":
        return ""
    return "%s %s" % (told["how"], _minute(told["at"])) if told["how"] and told["at"] else "not known"


def _minute(at: str) -> str:
    return at.replace("T", " ")[:16] + "Z"


def total(cases: t.Sequence[Case], paint: Paint) -> str:
    drifted = [case for case in cases if any(row["status"] == "drifted" for row in case.rows)]
    count = sum(row["status"] == "drifted" for case in drifted for row in case.rows)
    unknown = [case for case in cases if not case.well and case not in drifted]
    nodes = "%d node%s" % (len(cases), _s(len(cases)))
    said = "%d of %s have drifted, in %d thing%s." % (len(drifted), nodes, count, _s(count))
    if not drifted:
        said = "0 of %s have drifted." % nodes if unknown else "None of %s has drifted." % nodes
    said += " Of %d it is not known: %s." % (len(unknown), _some([case.node for case in unknown])) if unknown else ""
    waiting = [case.node for case in cases if case.waits]
    text = paint(one_line(said), "good" if all(case.well for case in cases) else "bad")
    if waiting:
        waits = "waits" if len(waiting) == 1 else "wait"
        text += "\n%s" % one_line("%d %s for what the bundle says now: %s." % (len(waiting), waits, _some(waiting)))
    return text


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _some(names: t.Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" and %d more" % (len(names) - 5) if len(names) > 5 else "")


def _node(case: Case, widths: t.Sequence[int], wide: bool, width: int, paint: Paint) -> t.List[str]:
    lines: t.List[str] = []
    if case.note or not case.rows:
        head = _line((one_line(case.node), case.word), widths)
        lines.append(head[: -len(case.word)] + paint(case.word, "good" if case.well else "bad"))
        lines += _below(_sentences(case.note, case.fix), width)
    for row, cells in zip(case.rows, _row_cells(case)):
        lines.append(_line(cells if wide else cells[:2], widths))
        lines += _below(_explained(row, wide), width)
    for other in case.others:
        lines += _below("Not drift, and not golden for it: %s" % other, width)
    if case.waits:
        lines += _below("Not drift: %s." % case.waits, width)
    return lines


def _cells(case: Case) -> t.List[t.Tuple[str, ...]]:
    return _row_cells(case) if case.rows else [(one_line(case.node), case.word, "", "", "")]


def _row_cells(case: Case) -> t.List[t.Tuple[str, ...]]:
    return [
        (one_line(case.node), _name(row), *(_cut(one_line(str(row[key]))) for key in ("was", "is")), since(row))
        for row in case.rows
    ]


def _name(row: Plain) -> str:
    return one_line(" ".join(filter(None, (row["what"], row["entity"]))))


def _cut(text: str) -> str:
    return text if len(text) <= _CELL else text[: _CELL - 3] + "..."


def _explained(row: Plain, wide: bool) -> str:
    """Which check says it, why and what to do; and in full what has no room in the table."""
    parts = ["%s:" % row["id"], row["cause"] or ("It is not known." if row["status"] == "unknown" else "")]
    if not wide or max(len(str(row["was"])), len(str(row["is"]))) > _CELL:
        parts.append("Was: %s; is: %s%s." % (row["was"] or "-", row["is"], "" if wide else "; since: %s" % since(row)))
    if row["since"]["told_by"]:
        parts.append("Since when is told by %s." % row["since"]["told_by"])
    parts += [row["fix"], "It is %s." % row["waived"] if row["waived"] else ""]
    return " ".join(part for part in parts if part)


def _sentences(*texts: str) -> str:
    return " ".join(text if text.endswith((".", "!", "?")) else text + "." for text in texts if text)


def _below(text: str, width: int) -> t.List[str]:
    wide = max(width - len(_INDENT), 20)
    pieces = textwrap.wrap(one_line(text), wide, break_long_words=False, break_on_hyphens=False)
    return [_INDENT + piece for piece in pieces]


def _line(cells: t.Sequence[str], widths: t.Sequence[int]) -> str:
    return _GAP.join(cell.ljust(size) for cell, size in zip(cells, widths)).rstrip()
