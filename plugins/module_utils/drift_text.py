# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of what has drifted, for people: what, was, is and since when, with what to do below. Pure.

Plain ASCII. What has no room in its cell stands below the row whole: a path in two pieces cannot be copied.
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
#: What is longer than the widest column of WHAT has a line to itself; below the least width of WAS and IS there is no
#: table, and each row is told in words.
_WHAT, _LEAST = 36, 16

#: So many things are named in an error; all stand in the table.
_SAID = 3


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
        said = [_in_words(row) for row in self.rows[:_SAID]]
        said += ["and %d more" % (len(self.rows) - _SAID)] if len(self.rows) > _SAID else []
        words = " ".join(filter(None, (_sentences(self.note), "; ".join(said))))
        return one_line("%s: %s. %s" % (self.node, self.word, words)).rstrip()


def render(cases: t.Sequence[Case], width: int, paint: Paint) -> str:
    widths = _widths(cases, width)
    heads = _HEADS[: len(widths)]
    lines = [_line(heads, widths), _line(["-" * size for size in widths], widths)]
    for case in cases:
        lines += _node(case, widths, width, paint)
    return "\n".join([*lines, "", total(cases, paint)])


def _widths(cases: t.Sequence[Case], width: int) -> t.List[int]:
    """Of the columns; of the first two alone where there is no room for more."""
    table = [_HEADS, *(cells for case in cases for cells in _cells(case))]
    node, what, was, now, moment = (max(len(line[column]) for line in table) for column in range(len(_HEADS)))
    what = min(what, _WHAT)
    room = width - node - what - moment - len(_GAP) * (len(_HEADS) - 1)
    if room >= was + now:
        return [node, what, was, now, moment]
    if room < 2 * _LEAST:
        return [node, what]
    was = min(was, max(room // 2, room - now))
    return [node, what, was, min(now, room - was), moment]


def since(row: Plain) -> str:
    """``after 2026-12-01 09:30Z``; what tells it stands below the row where it is one thing of many."""
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


def _node(case: Case, widths: t.Sequence[int], width: int, paint: Paint) -> t.List[str]:
    lines: t.List[str] = []
    if case.note or not case.rows:
        head = _line((one_line(case.node), case.word), widths)
        lines.append(head[: -len(case.word)] + paint(case.word, "good" if case.well else "bad"))
        lines += _below(_sentences(case.note, case.fix), width)
    for row, cells in zip(case.rows, _cells(case)):
        lines += _row(cells, widths)
        lines += _below(_explained(row, cells, widths), width)
    for other in case.others:
        lines += _below("Not drift, and not golden for it: %s" % other, width)
    if case.waits:
        lines += _below("Not drift: %s." % case.waits, width)
    return lines


def _cells(case: Case) -> t.List[t.Tuple[str, ...]]:
    return [
        (one_line(case.node), _name(row), one_line(str(row["was"])), one_line(str(row["is"])), since(row))
        for row in case.rows
    ] or [(one_line(case.node), case.word, "", "", "")]


def _in_words(row: Plain) -> str:
    return "%s: %s%s" % (_name(row), row["is"], ", was %s" % row["was"] if row["was"] else "")


def _name(row: Plain) -> str:
    return one_line(" ".join(filter(None, (row["what"], row["entity"]))))


def _row(cells: t.Sequence[str], widths: t.Sequence[int]) -> t.List[str]:
    """One line, or two where the thing has a long name."""
    shown = [*cells[:2], *(_cut(cell, size) for cell, size in zip(cells[2:], widths[2:]))]
    if len(shown) == 2 or len(cells[1]) <= widths[1]:
        return [_line(shown, widths)]
    return [_line(shown[:2], widths), _line(["", "", *shown[2:]], widths)]


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 3] + "..."


def _explained(row: Plain, cells: t.Sequence[str], widths: t.Sequence[int]) -> str:
    """Which check says it, why and what to do; and in full what has no room in the table."""
    unknown, narrow = row["status"] == "unknown", len(widths) == 2
    parts = ["%s:" % row["id"], row["cause"] or ("It is not known." if unknown else "")]
    if narrow or any(len(cell) > size for cell, size in zip(cells[2:], widths[2:])):
        told = [("was", cells[2]), ("is", cells[3]), ("since", cells[4] if narrow else "")]
        words = "; ".join("%s: %s" % (name, text) for name, text in told if text)
        parts.append(words[:1].upper() + words[1:] + ".")
    if row["since"]["how"] in ("at", "by"):  # the third is the same for all, and stands in the documentation
        parts.append("Since when: told by %s." % row["since"]["told_by"])
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
