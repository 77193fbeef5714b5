# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people are shown of a rollout: its plan, one line after each wave, and how each node came out. Pure.

Plain ASCII but for names, and no name or reason can move the cursor.
"""

from __future__ import annotations

import collections
import typing as t

from . import rollout_back, rollout_plan, waves
from .printable import one_line
from .rollout_plan import Plan
from .table import Paint

#: Reading order of what is done with a host.
_ACTIONS = (
    (rollout_plan.CONVERT, "to convert"),
    (rollout_plan.CONTINUE, "to begin again"),
    (rollout_plan.ROLL_BACK, "to roll back"),
    (rollout_plan.UNREACHABLE, "cannot be reached"),
    (rollout_plan.SETTLED, "left as they are"),
    (rollout_plan.DONE, "golden for it already"),
)

#: Hex digits of a lock's id that are shown: as many as people compare.
_DIGITS = 12

Locks = t.Mapping[str, str]


def plan(made: Plan, was: Locks, wanted: Locks, targets: t.Mapping[str, str]) -> str:
    """The plan: what changes, and who comes when.

    :arg was: the lock's id that each host has now, "" where that is not known
    :arg wanted: the lock's id that each host shall have
    :arg targets: what a lock brings in a few words, by its id
    """
    lines = ["The way back" if _is_back(made) else ("Rollout %s" % one_line(made.id)).rstrip()]
    if made.refused:
        return "\n".join([*lines, "  refused, and no node was touched:", *("  - " + text for text in made.refused)])
    count = len(made.steps) - len(made.canaries)
    said = "  %s%s; %d of them may fail"
    first = "%d canar%s one at a time, then " % (len(made.canaries), "y" if len(made.canaries) == 1 else "ies")
    total = "%s: %s" % (waves.nodes(len(made.steps)), first if made.canaries else "no canary, ")
    lines.append(said % (total, waves.nodes(count, "production node"), made.budget))
    lines += ["  %s" % text for text in _changes(made, was, wanted, targets)]
    size = max((len(wave.name) for wave in made.waves), default=0)
    for wave in made.waves:
        lines.append("  %s  %s" % (wave.name.ljust(size), _in_wave(made, wave)))
    lines += ["  warning: %s" % text for text in made.warnings]
    if made.halted:
        lines.append("  no further node is begun: %s" % made.halted)
    return "\n".join(lines)


def _changes(made: Plan, was: Locks, wanted: Locks, targets: t.Mapping[str, str]) -> t.Iterator[str]:
    """From which lock to which, on how many nodes."""
    working = [name for name, step in made.steps.items() if step.action in rollout_plan.BEGINS]
    counted = collections.Counter((was.get(name, ""), wanted.get(name, "")) for name in working)
    for (before, after), count in sorted(counted.items()):
        what = targets.get(after, "")
        yield "%s: lock %s -> %s%s" % (
            waves.nodes(count),
            lock(before) if before else "none",
            lock(after),
            " (%s)" % one_line(what) if what else "",
        )


def lock(identity: str) -> str:
    """The id of a lock, as short as people compare it."""
    return one_line(identity.rpartition(":")[2][:_DIGITS]) or "?"


def _in_wave(made: Plan, wave: waves.Wave) -> str:
    by_action: t.Dict[str, t.List[str]] = {}
    for name in wave.hosts:
        by_action.setdefault(made.steps[name].action, []).append(name)
    parts = ["%s: %s" % (said, waves.names(by_action[action])) for action, said in _ACTIONS if action in by_action]
    return "%s  %s" % (waves.nodes(len(wave.hosts)), "; ".join(parts))


def progress(made: Plan, wave: str, outcomes: t.Mapping[str, str], then: waves.Next) -> str:
    """One line after a wave.

    :arg outcomes: of this wave and all before it
    """
    counted = collections.Counter(outcomes[name] for name, step in made.steps.items() if step.wave == wave)
    came = ", ".join("%d %s" % (counted[word], waves.words(word)) for word in sorted(counted, key=_rank))
    golden = sum(outcome == waves.GOLDEN for outcome in outcomes.values())
    spent = spent_of(made, outcomes)
    line = "%s: %s. %d of %s golden; %d of the budget of %d spent" % (
        one_line(wave),
        came or "no node",
        golden,
        waves.nodes(len(made.steps)),
        spent,
        made.budget,
    )
    return line + (". The rollout stops: %s" % then.reason if then.stop else "")


def spent_of(made: Plan, outcomes: t.Mapping[str, str]) -> int:
    """How many production nodes count against the budget."""
    return sum(waves.counts(outcome) for name, outcome in outcomes.items() if name not in made.canaries)


def summary(made: Plan, outcomes: t.Mapping[str, str], reasons: t.Mapping[str, str], paint: Paint) -> str:
    """A line for each node, in the order of the waves, and how many are golden."""
    names = [name for wave in made.waves for name in wave.hosts]
    cells = [("NODE", "WAVE", "OUTCOME")]
    cells += [(one_line(name), made.steps[name].wave, waves.words(outcomes[name])) for name in names]
    sizes = [max(len(line[column]) for line in cells) for column in range(3)]
    lines = [_line(cells[0], sizes, "REASON" if any(reasons.values()) else ""), _line(["-" * n for n in sizes], sizes)]
    for name, line in zip(names, cells[1:]):
        good = outcomes[name] == waves.GOLDEN
        padded = [line[0].ljust(sizes[0]), line[1].ljust(sizes[1]), paint(line[2], "good" if good else "bad")]
        blank = " " * (sizes[2] - len(line[2]))
        lines.append(("  ".join(padded) + blank + "  " + one_line(reasons.get(name, ""))).rstrip())
    golden = sum(outcomes[name] == waves.GOLDEN for name in names)
    what = "again" if _is_back(made) else "for %s" % one_line(made.id)
    total = "%d of %s golden %s." % (golden, waves.nodes(len(names)), what)
    return "\n".join([*lines, "", paint(total, "good" if golden == len(names) else "bad")])


def message(made: Plan, outcomes: t.Mapping[str, str], then: waves.Next) -> str:
    """Why the rollout is not whole, in sentences; "" where every node is golden for it."""
    left: t.Dict[str, t.List[str]] = {}
    for name, outcome in outcomes.items():
        if outcome != waves.GOLDEN:
            left.setdefault(outcome, []).append(name)
    if not left:
        return ""
    told = "; ".join("%s: %s" % (waves.words(word), waves.names(left[word])) for word in sorted(left, key=_rank))
    reason = made.halted or then.reason
    if made.halted or then.stop:
        why = "stopped: %s" % reason
    elif set(left) == {waves.BUSY}:
        why = "is not complete: nodes are at work, or were not drained. Run the same command again"
    else:
        why = "is not complete, within its budget of %d" % made.budget
    if _is_back(made):
        return "The way back %s. Not back: %s." % (why.rstrip("."), told)
    return "The rollout %s %s. Not golden for it: %s." % (one_line(made.id), why.rstrip("."), told)


def _is_back(made: Plan) -> bool:
    return made.id == rollout_back.ID


def _rank(outcome: str) -> t.Tuple[int, str]:
    known = outcome in waves.OUTCOMES
    return (waves.OUTCOMES.index(outcome) if known else len(waves.OUTCOMES), outcome)


def _line(cells: t.Sequence[str], sizes: t.Sequence[int], rest: str = "") -> str:
    return "  ".join([cell.ljust(size) for cell, size in zip(cells, sizes)] + [rest]).rstrip()
