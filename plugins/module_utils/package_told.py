# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``package_set`` says of what it did, or would do: sentences for people, and both sides of the difference."""

from __future__ import annotations

import dataclasses
import typing as t

from .model import Package
from .package_manager import Effect, Order, Request, State
from .plan import PackagePlan


class Told:
    """``changes``: one sentence for each package. ``warnings``: what did not stop the run."""

    def __init__(self) -> None:
        self.warnings: t.List[str] = []
        self._changes: t.Dict[str, str] = {}

    @property
    def changes(self) -> t.Tuple[str, ...]:
        return tuple(self._changes.values())

    def tell(self, sentences: t.Iterable[str]) -> None:
        """That a package is held as well goes without saying where more was done to it."""
        for sentence in sentences:
            name, _colon, what = sentence.partition(": ")
            if name not in self._changes or not what.startswith("hold "):
                self._changes[name] = sentence


def finishing(state: State, without: t.Collection[str] = ()) -> t.List[str]:
    found = [
        "%s: is %s; finish it" % (name, state.packages[name].status) for name in state.unfinished if name not in without
    ]
    return found or (["dpkg: finish what was interrupted"] if state.interrupted else [])


def besides(state: State, plan: PackagePlan, order: Order, effect: Effect) -> t.List[str]:
    """What becomes of packages that are not wanted: those that move along, and those that go."""
    moved = [
        "%s: %s -> %s, with the wanted driver" % (name, state.packages[name].version, order.packages[name])
        for name in plan.left
        if name in order.packages
    ]
    return moved + ["%s: remove %s" % item for item in sorted(effect.removes.items())]


def predicted(before: State, plan: PackagePlan, request: Request, order: t.Optional[Order], effect: Effect) -> State:
    packages = dict(before.packages)
    along = {name: order.packages[name] for name in plan.left if order and name in order.packages}
    gone = {*effect.removes, *(name for name in plan.left if name not in along)}
    for name in gone:
        packages.pop(name, None)
    for name, version in (*((name, request.packages[name]) for name in plan.install), *along.items()):
        there = before.packages.get(name)
        packages[name] = Package(name, version, request.hold or (there is not None and there.held))
    for name in plan.hold:
        if name in packages:
            packages[name] = dataclasses.replace(packages[name], held=True)
    return State(packages, before.held - frozenset(plan.release) - gone)


def difference(before: State, after: State) -> t.Tuple[str, str]:
    names = sorted({*before.packages, *after.packages, *before.held, *after.held})
    pairs = [(_line(name, before), _line(name, after)) for name in names]
    changed = [pair for pair in pairs if pair[0] != pair[1]]
    return "".join(old for old, _new in changed), "".join(new for _old, new in changed)


def _line(name: str, state: State) -> str:
    package = state.packages.get(name)
    if package is None:
        return "%s: not installed, held\n" % name if name in state.held else ""
    words = [package.version] + ([] if package.status == "installed" else [package.status])
    return "%s: %s\n" % (name, ", ".join(words + (["held"] if package.held else [])))
