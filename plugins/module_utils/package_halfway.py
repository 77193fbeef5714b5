# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is half done on a node, for ``package_set``: by an interrupted dpkg, by a script that failed, or since it waits
for the driver of a later axis.
"""

from __future__ import annotations

import dataclasses
import typing as t

from . import package_dkms
from .package_manager import GOES_ON, Manager, PackageManagerError, PackageSetError, Request, State
from .package_names import axis_of, bare
from .package_told import Told, finishing
from .parse.apt_rules import DKMS
from .parse.dkms_output import Build
from .plan import PackagePlan, driver_version_of, package_plan
from .system import System

#: A package in one of these has all its files on the node.
_UNCONFIGURED = ("unpacked", "half-configured", "triggers-awaited", "triggers-pending")


class Halfway:
    """``postponed``: what the driver's axis finishes."""

    def __init__(self, system: System, manager: Manager, request: Request, told: Told) -> None:
        self._system = system
        self._manager = manager
        self._request = request
        self._told = told
        self.postponed: t.FrozenSet[str] = frozenset()
        self._waits_on: t.Optional[Build] = None

    def plan(self, state: State) -> PackagePlan:
        asked = self._request
        plan = package_plan(state.packages, asked.packages, state.held, asked.hold, asked.release)
        install = tuple(name for name in plan.install if name not in self.postponed)
        return dataclasses.replace(plan, install=install)

    def finish(self, state: State) -> State:
        """What is replaced anyway is left alone: a module that does not build takes minutes to fail again."""
        if not state.interrupted and all(self._needs_no_finishing(state, name) for name in state.unfinished):
            return state
        failure: t.Optional[PackageManagerError] = None
        try:
            self._manager.finish()
        except PackageManagerError as error:
            failure = error
        after = self._manager.state()
        if after.packages != state.packages or after.interrupted != state.interrupted:
            self._told.tell(finishing(state))
        self.postpone(after, failure)
        left = [name for name in after.unfinished if not self.repairs(name)]
        if failure and (after.interrupted or left):
            what = ", ".join("%s is %s" % (name, after.packages[name].status) for name in left)
            cause, fix = self.reason(failure)
            raise PackageSetError(
                "An earlier installation cannot be finished%s: %s. %s. Nothing else was changed."
                % (" (%s)" % what if what else "", cause, fix)
            )
        return after

    def _needs_no_finishing(self, state: State, name: str) -> bool:
        """Whether the transaction puts another version of it, or nothing, in its place; or a driver that its scripts
        build, which end as they did before until that one is there.
        """
        plan = self.plan(state)
        wanted = self._request.packages.get(name, state.packages[name].version)
        replaced = wanted != state.packages[name].version or name in plan.left
        return replaced or (self._is_of_driver and plan.transaction and _is_kernel(name))

    @property
    def _is_of_driver(self) -> bool:
        return driver_version_of(self._request.packages) is not None

    def postpone(self, state: State, failure: t.Optional[PackageManagerError]) -> None:
        """Leave to the driver's axis what waits for it alone: packages that are there and not configured, since the
        driver that will be replaced does not build on their kernel.
        """
        self._waits_on = package_dkms.replaced_driver(failure.output, self._request.driver) if failure else None
        if self._waits_on:
            wanted = self._request.packages
            due = [name for name in self.plan(state).install if _is_unconfigured(state, name, wanted[name])]
            self.postponed |= frozenset(due)

    def tell_postponed(self, state: State) -> None:
        left = sorted(self.postponed & frozenset(state.unfinished))
        if left and self._waits_on:
            self._told.warnings.append(
                "%s is not configured yet: the driver %s that is installed does not build on kernel %s. It is finished"
                " when the driver %s of the lock is installed"
                % (", ".join(left), self._waits_on.version, self._waits_on.kernel, self._request.driver)
            )

    def finish_kernels(self) -> None:
        """What waited for this driver; of the lock's kernel it must be whole now."""
        state = self._manager.state()
        if not self._is_of_driver or not any(map(_is_kernel, state.unfinished)):
            return
        try:
            self._manager.finish()
        except PackageManagerError as error:
            left = [name for name in self._manager.state().unfinished if _is_kernel(name)]
            if not left:
                return
            cause, fix = self.reason(error)
            told_left = "%s is installed, and %s cannot be configured: %s. %s" % (
                self._request.label,
                ", ".join(left),
                cause,
                fix,
            )
            if any(self._is_of_lock(name) for name in left):
                raise PackageSetError("%s. %s." % (told_left, GOES_ON)) from error
            self._told.warnings.append(told_left)
        else:
            self._told.tell(finishing(state))

    def _is_of_lock(self, name: str) -> bool:
        dkms = self._request.dkms
        return name in (self._request.keep or ()) or (dkms is not None and dkms.kernel in name)

    def repairs(self, name: str) -> bool:
        """Whether a run replaces this package: here, or in its own axis, so that it does not stand in the way."""
        return name in self._request.packages or axis_of(bare(name)) is not None

    def reason(self, failure: PackageManagerError) -> t.Tuple[str, str]:
        """Cause and fix, by DKMS's log where a build is what failed."""
        trouble, dkms = failure.trouble, self._request.dkms
        reason = None
        if trouble.kind == DKMS:
            wanted = (dkms.kernel, dkms.version) if dkms else ("", self._request.driver)
            reason = package_dkms.why(self._system, failure.output, *wanted)
        return reason or (trouble.cause, trouble.fix)


def _is_kernel(name: str) -> bool:
    return axis_of(bare(name)) == "kernel"


def _is_unconfigured(state: State, name: str, version: str) -> bool:
    package = state.packages.get(name)
    return package is not None and package.version == version and package.status in _UNCONFIGURED
