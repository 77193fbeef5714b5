# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``package_set`` says of what it did, or would do: sentences for people, and both sides of the difference."""

from __future__ import annotations

import dataclasses
import typing as t

from .model import Package
from .package_manager import Effect, State
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
        """What becomes of a package's hold goes without saying where more was done to it."""
        for sentence in sentences:
            name, _colon, what = sentence.partition(": ")
            if name not in self._changes or not what.startswith(("hold ", "release ")):
                self._changes[name] = sentence


def finishing(state: State, without: t.Collection[str] = ()) -> t.List[str]:
    found = [
        "%s: is %s; finish it" % (name, state.packages[name].status) for name in state.unfinished if name not in without
    ]
    return found or (["dpkg: finish what was interrupted"] if state.interrupted else [])


def besides(before: State, after: State, plan: PackagePlan, wanted: t.Collection[str]) -> t.List[str]:
    """What becomes, or became, of packages that are not wanted: parts of the driver that move along, what the set needs
    of others, and what goes.
    """
    moved, needed, gone = [], [], []
    for name in sorted({*before.packages, *after.packages} - {*wanted}):
        old, new = before.packages.get(name), after.packages.get(name)
        if new is None:
            gone.append("%s: remove %s" % (name, old.version if old else ""))
        elif old is None:
            needed.append("%s: install %s, as the set needs it" % (name, new.version))
        elif name in plan.left and old.version != new.version:
            moved.append("%s: %s -> %s, with the wanted driver" % (name, old.version, new.version))
        elif old.version != new.version:
            needed.append("%s: %s -> %s, as the set needs it" % (name, old.version, new.version))
    return moved + needed + gone


def predicted(before: State, plan: PackagePlan, wanted: t.Mapping[str, str], effect: Effect) -> State:
    """What the transaction leaves, before anything is held: what a run reads from the node then."""
    packages = {name: package for name, package in before.packages.items() if name not in effect.removes}
    installs = {**effect.installs, **{name: wanted[name] for name in plan.install}}
    for name, version in installs.items():
        there = before.packages.get(name)
        packages[name] = Package(name, version, there is not None and there.held)
    return State(packages, before.held - {*effect.removes})


def held(state: State, plan: PackagePlan) -> State:
    """The same, with holds set and released by ``plan``."""
    packages = {
        name: dataclasses.replace(package, held=(package.held or name in plan.hold) and name not in plan.release)
        for name, package in state.packages.items()
    }
    return State(packages, state.held - {*plan.release})


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
