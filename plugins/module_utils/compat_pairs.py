# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pair that a refusal proposes: of several ways out only those whose result the rules themselves pass.

Pure. A proposal that the next run refuses for another reason would send people in circles.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .bundle import Kernel, PlatformBundle
from .problem import Problem

#: New values by their path: ``{"driver.version": "580.159.03"}``. A name without a dot is a role variable.
Pair = t.Mapping[str, t.Any]

#: What is said where no single change helps.
NO_PAIR = "No other value for one axis works with the rest of the bundle: change more of it, by docs/compatibility.md"


@dataclasses.dataclass(frozen=True)
class Way:
    """One way out. ``words`` says it of the first of ``candidates`` that the rules pass."""

    words: t.Callable[[Pair], str]
    candidates: t.Sequence[Pair]


@dataclasses.dataclass(frozen=True)
class Refusal:
    """A pair that cannot work, before it is known what can. ``rule`` names the rule; ``more`` ends the fix."""

    rule: str
    path: str
    value: t.Any
    message: str
    ways: t.Sequence[Way] = ()
    more: str = ""
    begin: str = "Use "


#: (bundle, role variables that differ) -> the rules that refuse it.
Judge = t.Callable[[PlatformBundle, Pair], t.Set[str]]


def problem(refusal: Refusal, bundle: PlatformBundle, before: t.Set[str], judge: Judge) -> Problem:
    """The refusal as people are told it, with what it proposes."""
    pairs, words = [], []
    for way in refusal.ways:
        pair = next((one for one in way.candidates if _helps(one, refusal.rule, bundle, before, judge)), None)
        if pair is not None:
            pairs.append(pair)
            words.append(way.words(pair))
    fix = refusal.begin + ", or ".join(words) if words else NO_PAIR
    return Problem(refusal.path, refusal.value, refusal.message, fix + refusal.more, tuple(pairs))


def _helps(pair: Pair, rule: str, bundle: PlatformBundle, before: t.Set[str], judge: Judge) -> bool:
    """Whether this refusal is gone with it, and no other has come."""
    after = judge(applied(bundle, pair), settings_of(pair))
    return rule not in after and after <= before


def settings_of(pair: Pair) -> t.Dict[str, t.Any]:
    return {name: value for name, value in pair.items() if "." not in name}


def applied(bundle: PlatformBundle, pair: Pair) -> PlatformBundle:
    """The bundle with these values; the fabric manager goes with the driver."""
    for path, value in pair.items():
        axis, _dot, field = path.partition(".")
        if not field:
            continue
        old = getattr(bundle, axis)
        new: t.Any
        if axis == "kernel":
            new = Kernel(release=value)
        elif path == "toolkit.waiver.until":
            new = dataclasses.replace(old, waiver=dataclasses.replace(old.waiver, until=value))
        else:
            new = dataclasses.replace(old, **{field: value})
        bundle = dataclasses.replace(bundle, **{axis: new})
    if bundle.fabric_manager is not None:
        manager = dataclasses.replace(bundle.fabric_manager, version=bundle.driver.version)
        bundle = dataclasses.replace(bundle, fabric_manager=manager)
    return bundle
