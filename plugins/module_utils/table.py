# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one table for people: a row for each node, what is broken first, and what to do about it. Pure.

Plain ASCII. Where the terminal is wide enough the explanation is a column, else it stands below its row.
"""

from __future__ import annotations

import dataclasses
import textwrap
import typing as t

from .printable import one_line

GOLDEN = "golden"

#: Narrower than this, an explanation is hard to read as a column, and the path of a page is wider than it.
_READABLE = 48
_GAP = "  "
_INDENT = "    "
_HEADS = ("NODE", "GPUS", "DRIVER", "TOOLKIT", "DOCKER", "VERDICT")
_EXPLAINED = "FIRST BROKEN LAYER AND FIX"

#: (text, "good" or "bad") -> the text as the terminal shows it.
Paint = t.Callable[[str, str], str]


@dataclasses.dataclass(frozen=True)
class Row:
    """One node. What is not known is None, and is shown as a question mark: never as zero or as nothing."""

    node: str
    verdict: str
    gpus: t.Optional[int] = None
    expected_gpus: t.Optional[int] = None
    driver: t.Optional[str] = None
    toolkit: t.Optional[str] = None
    docker: t.Optional[str] = None
    layer: str = ""
    reason: str = ""
    fix: str = ""
    page: str = ""  # the page of the documentation that tells more of the reason

    @property
    def golden(self) -> bool:
        return self.verdict == GOLDEN

    @property
    def explanation(self) -> str:
        """Layer, reason, fix and where to read on as sentences, with what is missing left out."""
        what = ": ".join(part for part in (self.layer, self.reason) if part)
        page = "See %s" % self.page if self.page else ""
        return " ".join(_sentence(part) for part in (what, self.fix, page) if part)


def render(rows: t.Sequence[Row], width: int, paint: Paint) -> str:
    """The table, at most ``width`` columns wide where words allow it, with the count of golden nodes as last line."""
    rows = [_printable(row) for row in rows]
    cells = [_HEADS] + [_cells(row) for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADS))]
    room = width - sum(widths) - len(_GAP) * len(widths)
    beside = room >= _READABLE
    explained = any(row.explanation for row in rows)
    lines = [_line(_HEADS, widths, _EXPLAINED if beside and explained else "")]
    lines.append(_line(["-" * size for size in widths], widths, "-" * len(_EXPLAINED) if beside and explained else ""))
    for row, line in zip(rows, cells[1:]):
        # A path or a command in two pieces cannot be copied: rather a line that is too long.
        wide = room if beside else max(width - len(_INDENT), 20)
        wrapped = textwrap.wrap(row.explanation, wide, break_long_words=False, break_on_hyphens=False)
        text = _line(line, widths, wrapped[0] if wrapped and beside else "")
        lines.append(_painted(text, row, paint))
        rest = wrapped[1:] if beside else wrapped
        indent = " " * (sum(widths) + len(_GAP) * len(widths)) if beside else _INDENT
        lines += [indent + piece for piece in rest]
    golden = sum(row.golden for row in rows)
    total = "%d of %d nodes are golden." % (golden, len(rows))
    return "\n".join(lines + ["", paint(total, "good" if golden == len(rows) else "bad")])


def _printable(row: Row) -> Row:
    texts = {name: one_line(value) for name, value in vars(row).items() if isinstance(value, str)}
    return dataclasses.replace(row, **t.cast(t.Any, texts))


def _cells(row: Row) -> t.Tuple[str, ...]:
    gpus = "%s/%s" % (_known(row.gpus), _known(row.expected_gpus))
    return (row.node, gpus, _known(row.driver), _known(row.toolkit), _known(row.docker), row.verdict)


def _known(value: t.Any) -> str:
    return "?" if value is None or value == "" else str(value)


def _line(cells: t.Sequence[str], widths: t.Sequence[int], rest: str) -> str:
    return _GAP.join([cell.ljust(size) for cell, size in zip(cells, widths)] + [rest]).rstrip()


def _painted(text: str, row: Row, paint: Paint) -> str:
    """The line with its verdict in colour. The node's name comes first and may contain the same word."""
    at = text.index(row.verdict, len(row.node))
    end = at + len(row.verdict)
    return text[:at] + paint(row.verdict, "good" if row.golden else "bad") + text[end:]


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else text + "."
