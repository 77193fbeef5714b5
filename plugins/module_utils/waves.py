# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes of a pool come when, how many of them may fail, and whether a rollout goes on after a wave. Pure.

The same hosts and sizes give the same waves: a continued rollout must find each node where it was.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .printable import one_line

GOLDEN, ROLLED_BACK, FAILED, LOST, BUSY, STOPPED = "golden", "rolled_back", "failed", "lost", "busy", "stopped"

#: How a node can come out of its wave. STOPPED: its turn did not come.
OUTCOMES = (GOLDEN, ROLLED_BACK, FAILED, LOST, BUSY, STOPPED)

#: What counts against the budget. A node that is at work for somebody has not failed.
COUNTED = (ROLLED_BACK, FAILED, LOST)

_CANARY = "canary-%d"
_WAVE = "wave-%d"

#: So long, and no longer: Python refuses to make a number of thousands of digits.
_SIZE = re.compile(r"\s*([0-9]{1,9})\s*(%?)\s*", re.ASCII)

#: Names that one sentence shows.
_SHOWN = 8


@dataclasses.dataclass(frozen=True)
class Size:
    """A number of nodes, or a percentage of those that are there."""

    number: int
    percent: bool = False

    def rounded_up(self, total: int) -> int:
        return -(-total * self.number // 100) if self.percent else self.number

    def rounded_down(self, total: int) -> int:
        return total * self.number // 100 if self.percent else self.number

    def __str__(self) -> str:
        return "%d%%" % self.number if self.percent else str(self.number)


@dataclasses.dataclass(frozen=True)
class Wave:
    """Nodes that are taken to the new bundle together."""

    name: str
    hosts: t.Tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Next:
    """Whether a rollout stops after a wave, and why. ``again``: nothing has failed, and the same command goes on."""

    stop: bool
    reason: str = ""
    again: bool = False


def size(value: t.Any) -> Size:
    """A size as people write it: 5, "5" or "25%".

    :raises ValueError: with what is wrong, as the rest of a sentence that the value begins
    """
    found = None if isinstance(value, bool) or not isinstance(value, (int, str)) else _SIZE.fullmatch(str(value))
    if found is None:
        raise ValueError("is neither a number of nodes nor a percentage")
    parsed = Size(int(found.group(1)), bool(found.group(2)))
    if parsed.percent and parsed.number > 100:
        raise ValueError("is more than all nodes")
    return parsed


def in_order(hosts: t.Iterable[str]) -> t.Tuple[str, ...]:
    """Each name once, where it stands first."""
    return tuple(dict.fromkeys(hosts))


def canary_names(wanted: t.Union[int, t.Sequence[str]], hosts: t.Sequence[str]) -> t.Tuple[str, ...]:
    """The canaries, in the order in which they go: so many from the front, or those that are named.

    Names that are no host's are left in: whoever plans refuses them.
    """
    return in_order(hosts)[:wanted] if isinstance(wanted, int) else in_order(wanted)


def waves(hosts: t.Sequence[str], canaries: t.Sequence[str], sizes: t.Sequence[Size]) -> t.Tuple[Wave, ...]:
    """Every host in exactly one wave: the canaries one by one, then the production nodes in the inventory's order.

    :arg sizes: of one wave after the other, a percentage being of all production nodes; the last one repeats
    """
    if not sizes:
        raise ValueError("waves need at least one size")
    first = [Wave(_CANARY % number, (name,)) for number, name in enumerate(in_order(canaries), 1)]
    left = production(hosts, canaries)
    total, at = len(left), 0
    then: t.List[Wave] = []
    while at < total:
        count = max(sizes[min(len(then), len(sizes) - 1)].rounded_up(total), 1)
        then.append(Wave(_WAVE % (len(then) + 1), left[at : at + count]))
        at += count
    return (*first, *then)


def production(hosts: t.Iterable[str], canaries: t.Iterable[str]) -> t.Tuple[str, ...]:
    """The hosts that are no canaries."""
    set_apart = frozenset(canaries)
    return tuple(name for name in in_order(hosts) if name not in set_apart)


def budget(allowed: Size, total: int) -> int:
    """How many production nodes may fail; one more stops the rollout."""
    return min(allowed.rounded_down(total), total)


def after_wave(outcomes: t.Mapping[str, str], canaries: t.Collection[str], allowed: int) -> Next:
    """Whether to go on, from how all nodes came out so far. A word that is not known counts as a failure.

    :arg outcomes: by host, of this wave and all before it
    :arg allowed: how many production nodes may fail
    """
    set_apart = frozenset(canaries)
    bad = [name for name, outcome in outcomes.items() if name in set_apart and outcome != GOLDEN]
    if bad:
        told = ", ".join("%s is %s" % (one_line(name), words(outcomes[name])) for name in bad[:_SHOWN])
        again = all(outcomes[name] == BUSY for name in bad)
        return Next(True, "a canary did not become golden: %s" % told, again)
    failed = [name for name, outcome in outcomes.items() if name not in set_apart and counts(outcome)]
    if len(failed) > allowed:
        said = "%s failed, and the budget is %d: %s"
        return Next(True, said % (nodes(len(failed), "production node"), allowed, names(failed)))
    return Next(False)


def counts(outcome: str) -> bool:
    """Whether a node that came out like this is one of those that the budget counts."""
    return outcome in COUNTED or outcome not in OUTCOMES


# --- words --------------------------------------------------------------------------------------------------------


def words(outcome: str) -> str:
    """An outcome, action or state as people read it."""
    return one_line(outcome).replace("_", " ")


def names(hosts: t.Sequence[str]) -> str:
    """The first names of a list, and how many more there are."""
    shown = ", ".join(one_line(name) for name in hosts[:_SHOWN])
    return shown + (" and %d more" % (len(hosts) - _SHOWN) if len(hosts) > _SHOWN else "")


def nodes(count: int, word: str = "node") -> str:
    return "%d %s%s" % (count, word, "" if count == 1 else "s")
