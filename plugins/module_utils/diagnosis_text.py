# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A diagnosis as text for people: plain ASCII, as wide as the terminal, the worst in colour. Pure."""

from __future__ import annotations

import textwrap
import typing as t

from . import diagnosis
from .compare import Difference
from .diagnosis import Case
from .model import LAYERS, Finding
from .printable import one_line, printable
from .summary import table
from .table import Paint

_MARKS = {"pass": "[ ok ]", "fail": "[FAIL]", "unknown": "[ ?? ]", "skip": "[ -- ]"}
_COLOURS = {"pass": "good", "fail": "bad", "unknown": "bad"}
_INDENT = "  "
_NARROWEST = 40
#: So many differences are read; the rest is counted.
_SHOWN = 40


def render(case: Case, width: int, paint: Paint) -> str:
    """One node, a few lines for each question, the answer first."""
    width = max(width, _NARROWEST)
    lines = [_head(case, paint)]
    if case.verdict is None:
        return "\n".join(lines + _block("WHY", case.error, width) + _block("NEXT", diagnosis.action(case).text, width))
    lines += [line for layer in LAYERS for line in _layer(case, layer, width, paint)]
    if case.inferred:
        lines += _block("AGAINST", _ITSELF, width)
    first = case.first
    if first is not None:
        lines += _block("CAUSE", _told(first), width)
        for other in case.others[:3]:
            lines += _block("AND", _told(other), width)
        if len(case.others) > 3:
            lines += _block("AND", "%d more findings of this layer" % (len(case.others) - 3), width)
    lines += _block("NEXT", diagnosis.action(case).text, width)
    for source in diagnosis.raw(case):
        lines += _cut("BEHIND IT", source.head, width)
        lines += [_INDENT * 2 + _ascii(line)[: max(width - 4, 20)] for line in source.lines]
    blocked = diagnosis.not_judged(case)
    if blocked:
        lines += _block("NOT JUDGED", "%s, since %s is broken" % (", ".join(blocked), case.verdict.first_broken), width)
    for finding in diagnosis.informational(case):
        title = "ADVICE" if diagnosis.is_advice(finding) else "NOT PROVEN"
        lines += _block(title, _told(finding, " %s" % finding.fix if finding.fix else ""), width)
    for why in diagnosis.left_out(case):
        lines += _block("LEFT OUT", why, width)
    return "\n".join(lines)


_ITSELF = (
    "the node itself, since no bundle was given: where a sentence says the lock, it is what packages, disk and engine"
    " of this node say."
)


def compared(name: str, other: str, found: t.Sequence[Difference], width: int) -> str:
    """Only what differs, a line for each; ``other`` is the one that is known to be good."""
    if not found:
        return "%s and %s do not differ in anything that was read." % (name, other)
    lines = ["WHAT DIFFERS (%s | %s)" % (name, other)]
    for one in found[:_SHOWN]:
        lines += _wrapped(str(one), max(width, _NARROWEST), _INDENT)
    if len(found) > _SHOWN:
        lines.append("%sand %d more, which goldennode_result=FILE has" % (_INDENT, len(found) - _SHOWN))
    return _ascii("\n".join(lines))


def total(cases: t.Sequence[Case], paint: Paint) -> str:
    """The last line."""
    words = (diagnosis.GOLDEN, diagnosis.WORKS, diagnosis.BROKEN, diagnosis.NOT_PROVEN)
    counted = {
        word: sum(case.said == word for case in cases) for word in (*words, diagnosis.UNREACHABLE, diagnosis.FAILED)
    }
    told = ", ".join("%d %s" % (n, word) for word, n in counted.items() if n)
    well = counted[diagnosis.GOLDEN] + counted[diagnosis.WORKS] == len(cases)
    nodes = "1 node" if len(cases) == 1 else "%d nodes" % len(cases)
    return paint("%s: %s." % (nodes, told or "none"), "good" if well else "bad")


def _head(case: Case, paint: Paint) -> str:
    good = case.golden or case.works
    broken = case.verdict.first_broken if case.verdict else None
    word = case.said + (": %s" % broken if broken else "")
    shown = {name: value for name, value in table(case.evidence).items() if value is not None}
    gpus = shown.pop("gpus", "?")
    expected = "" if case.expected_gpus is None else "/%d" % case.expected_gpus
    told = ["%s%s GPUs" % (gpus, expected)] + ["%s %s" % pair for pair in shown.items()]
    rest = "   (%s)" % ", ".join(told) if case.verdict else ""
    return _ascii("%s   " % one_line(case.node)) + paint(word, "good" if good else "bad") + _ascii(rest)


def _layer(case: Case, layer: str, width: int, paint: Paint) -> t.List[str]:
    status = diagnosis.layers(case)[layer]
    start = "%s%s %s" % (_INDENT, _MARKS[status], layer.ljust(max(map(len, LAYERS)) + 2))
    # One line: the whole of it stands below, where it is what matters.
    line = start + _ascii(" ".join(diagnosis.reason(case, layer).split()))
    line = line if len(line) <= width else line[: width - 3] + "..."
    mark = _MARKS[status]
    return [line.replace(mark, paint(mark, _COLOURS[status]), 1).rstrip() if status in _COLOURS else line.rstrip()]


def _told(finding: Finding, more: str = "") -> str:
    """A finding in words, with what it is about where they do not say it."""
    words, entity = finding.words, finding.entity
    return "%s%s%s (%s)" % ("" if not entity or entity in words else "%s: " % entity, words, more, finding.id)


def _block(title: str, text: str, width: int) -> t.List[str]:
    return _wrapped("%s  %s" % (title.ljust(10), _ascii(text)), width, _INDENT, " " * 12)


def _cut(title: str, text: str, width: int) -> t.List[str]:
    line = "%s%s  %s" % (_INDENT, title.ljust(10), _ascii(text))
    return [line if len(line) <= width else line[: width - 3] + "..."]


def _wrapped(text: str, width: int, indent: str, more: str = "  ") -> t.List[str]:
    text = " ".join(text.split("\n"))
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + more,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    ) or [indent]


def _ascii(text: str) -> str:
    """What a terminal of any kind can show, on one line or more."""
    return printable(text).encode("ascii", "backslashreplace").decode("ascii")
