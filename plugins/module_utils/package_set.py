# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One axis of the lock: installed at exactly its versions in one transaction, held, and read back.

Each step follows from what the node says, so a run that died anywhere is finished by the next. What the package manager
prints explains a failure and decides nothing. ``package_apt`` is the one package manager so far.
"""

from __future__ import annotations

import dataclasses
import typing as t

from . import package_dkms
from .kept_packages import Store
from .package_halfway import Halfway
from .package_manager import (
    GOES_ON,
    Effect,
    Manager,
    Order,
    Outcome,
    PackageManagerError,
    PackageSetError,
    Refreshed,
    Request,
    State,
)
from .package_names import axis_of, bare, driver_version_in, has_version_in_name, is_of_one_kernel
from .package_told import Told, besides, difference, finishing, held, predicted
from .parse import own_holds
from .parse.apt_rules import KEY, SOURCES
from .parse.kept_packages import DIRECTORY
from .plan import PackagePlan, driver_version_of, goes, replaceable, told
from .system import System

CONSENT = "packages_allow_remove"


def apply(
    system: System, manager: Manager, request: Request, timeout: float = 3600.0, check_mode: bool = False
) -> Outcome:
    """Bring one axis to what ``request`` says. ``timeout``: seconds that building a missing module may take."""
    return _Run(system, manager, request, timeout).run(check_mode)


class _Run:
    def __init__(self, system: System, manager: Manager, request: Request, timeout: float) -> None:
        self._system = system
        self._manager = manager
        self._request = request
        self._timeout = timeout
        self._store = Store(system)
        self._told = Told()
        self._halfway = Halfway(system, manager, request, self._told)

    def run(self, check_mode: bool) -> Outcome:
        before = self._manager.state()
        if check_mode:
            return self._predict(before)
        state = self._halfway.finish(before)
        plan = self._halfway.plan(state)
        if plan.transaction:
            due = dataclasses.replace(plan, left=())
            self._told.tell(told(due, state.packages, self._request.packages))
            state = self._transact(state, plan)
        self._hold(state)
        self._prove_module()
        if plan.transaction:
            self._halfway.finish_kernels()
        after = self._manager.state()
        self._read_back(after)
        if self._told.changes:
            self._record(lambda recorded: recorded & after.held)
        self._halfway.tell_postponed(after)
        return Outcome(self._told.changes, *difference(before, after), tuple(self._told.warnings))

    # --- before -------------------------------------------------------------------------------------------------------

    def _predict(self, before: State) -> Outcome:
        plan = self._halfway.plan(before)
        self._told.tell(finishing(before, plan.install))
        effect: t.Optional[Effect] = None
        if plan.transaction and not before.interrupted and not before.unfinished:
            # Only where the index has everything already: check mode reads none, and before the repositories are
            # written there is nothing to ask.
            effect = self._foreseen(before, plan)
        wanted = self._request.packages
        after = predicted(before, plan, wanted, effect or Effect({}, dict.fromkeys(plan.left, "")))
        if effect is None:
            self._told.tell(told(plan, before.packages, wanted))
        else:
            self._told.tell(told(dataclasses.replace(plan, left=()), before.packages, wanted))
            self._told.tell(besides(before, after, plan, wanted))
        last = self._halfway.plan(after)
        self._told.tell(told(PackagePlan(hold=last.hold, release=last.release), after.packages, wanted))
        dkms = self._request.dkms
        if dkms and not plan.transaction and package_dkms.lacks(self._system, dkms):
            self._told.tell([dkms.task])
        return Outcome(self._told.changes, *difference(before, held(after, last)))

    def _foreseen(self, before: State, plan: PackagePlan) -> t.Optional[Effect]:
        """None where it cannot be known yet: a version is not in the index, or apt cannot read the node's sources. What
        is in their way a run sets aside before it asks.
        """
        try:
            order, missing = self._order(plan, Refreshed())
            if missing:
                return None
            effect = self._manager.simulate(order)
        except PackageManagerError as error:
            if error.trouble.kind == SOURCES:
                return None
            raise PackageSetError("%s Nothing was changed." % self._words(error)) from error
        self._refuse(before, order, effect)
        return effect

    # --- the transaction ----------------------------------------------------------------------------------------------

    def _transact(self, state: State, plan: PackagePlan) -> State:
        refreshed = self._refresh(again=False)
        order, missing = self._step(lambda: self._order(plan, refreshed), "Nothing was changed.")
        if missing and not refreshed.read:
            refreshed = self._refresh(again=True)
            order, missing = self._step(lambda: self._order(plan, refreshed), "Nothing was changed.")
        if missing:
            raise PackageSetError(self._cannot_be_had(missing, refreshed))
        if refreshed.trouble:
            self._told.warnings.append("Some repository could not be read: %s" % refreshed.trouble.cause)
        self._refuse(state, order, self._step(lambda: self._manager.simulate(order), "Nothing was changed."))
        unread = "Before that, the index: %s. " % refreshed.trouble.cause if refreshed.trouble else ""
        self._step(lambda: self._manager.fetch(order), unread + "Nothing was changed.")
        self._keep(state)
        self._install(order)
        after = self._manager.state()
        self._told.tell(besides(state, after, plan, self._request.packages))
        return after

    def _order(self, plan: PackagePlan, refreshed: Refreshed) -> t.Tuple[Order, t.Dict[str, t.Tuple[str, ...]]]:
        """The whole set with exact versions, and the packages that cannot be had with the versions that can."""
        wanted = self._request.packages
        offers = self._manager.offers([*wanted, *plan.left])
        files: t.Dict[str, str] = {}
        missing: t.Dict[str, t.Tuple[str, ...]] = {}
        for name in plan.install:
            offered = offers.get(name, ())
            if wanted[name] in offered and not refreshed.trouble:
                continue
            kept = self._store.file(name, wanted[name])
            if kept:
                files[name] = kept
            elif wanted[name] not in offered:
                missing[name] = offered
        packages, removes = dict(wanted), []
        for name in plan.left:
            along = self._along(name, offers.get(name, ()))
            if along:
                packages[name] = along
            else:
                removes.append(name)
        return Order(packages, files, tuple(removes)), missing

    def _along(self, name: str, offered: t.Sequence[str]) -> t.Optional[str]:
        """The version to which a part of another driver moves with the set, where there is one.

        Never a kernel module: the set has its own.
        """
        if goes(name, self._request.packages):
            return None
        twin = self._request.packages.get(bare(name))
        if twin in offered:
            return twin
        driver = driver_version_of(self._request.packages)
        return next((version for version in offered if driver_version_in(version) == driver), None)

    def _refuse(self, state: State, order: Order, effect: Effect) -> None:
        """What nobody asked for is refused."""
        lost = [
            name
            for name in sorted(effect.removes)
            if name not in order.removes
            and name not in self._request.may_remove
            and bare(name) not in self._request.may_remove
            and not replaceable(name, self._request.packages)
        ]
        if lost:
            raise PackageSetError(
                "To install %s would also remove %s. Nothing was changed. If the node can do without, set"
                " %s: [%s]; else change the bundle"
                % (
                    self._request.label,
                    ", ".join("%s %s" % (name, effect.removes[name]) for name in lost),
                    CONSENT,
                    ", ".join(lost),
                )
            )
        moved = [
            name
            for name, version in sorted(effect.installs.items())
            if name in state.held
            and name not in order.packages
            and axis_of(bare(name)) is None  # those are of the lock, whose pin says to which version
            and (name not in state.packages or state.packages[name].version != version)
        ]
        if moved:
            raise PackageSetError(
                "To install %s would also move %s, which somebody holds on this node. Nothing was changed. Release the"
                " hold if it may move (apt-mark unhold %s), or change the bundle"
                % (
                    self._request.label,
                    ", ".join("%s to %s" % (name, effect.installs[name]) for name in moved),
                    " ".join(moved),
                )
            )

    def _refresh(self, again: bool) -> Refreshed:
        """A repository of the lock whose signature does not verify ends the run, though an older index is there."""
        refreshed: Refreshed = self._step(lambda: self._manager.refresh(again), "Nothing was changed.")
        if refreshed.trouble and refreshed.own and refreshed.trouble.kind in (KEY, SOURCES):
            raise PackageSetError(
                "A repository of the lock cannot be used: %s. %s. Nothing was changed."
                % (refreshed.trouble.cause, refreshed.trouble.fix)
            )
        return refreshed

    def _cannot_be_had(self, missing: t.Mapping[str, t.Tuple[str, ...]], refreshed: Refreshed) -> str:
        names = ["%s=%s" % (name, self._request.packages[name]) for name in missing]
        there = sorted({version for versions in missing.values() for version in versions}, reverse=True)
        message = "%s cannot be had: no repository of this node has %s, and no file of %s is kept in %s." % (
            ", ".join(names),
            "them" if len(names) > 1 else "it",
            "them" if len(names) > 1 else "it",
            DIRECTORY,
        )
        if there:
            message += " There is %s." % ", ".join(there[:8])
        if refreshed.trouble:
            return "%s The index could not be read: %s. %s. Nothing was changed." % (
                message,
                refreshed.trouble.cause,
                refreshed.trouble.fix,
            )
        return (
            message + " Add the repository that has it to the bundle's sources, or resolve a new lock (ansible-playbook"
            " goldennode.gpu.lock). Nothing was changed."
        )

    def _keep(self, state: State) -> None:
        """Files of this axis, and of all else of this lock or of the node's present one that is installed: what is
        about to be replaced may be gone from the repositories when it is needed. A node that cannot keep them is told,
        and goes on.
        """
        if self._request.keep is None:
            return
        earlier = self._store.locked()
        there = [
            (name, version)
            for name, version in (*self._request.keep.items(), *earlier)
            if name in state.packages and state.packages[name].version == version
        ]
        wanted = list(dict.fromkeys((*self._request.packages.items(), *there)))
        self._told.warnings += self._store.keep(self._manager, wanted, self._request.keep)

    def _install(self, order: Order) -> None:
        failure: t.Optional[PackageManagerError] = None
        try:
            self._manager.install(order, lambda effect: self._refuse(self._manager.state(), order, effect))
        except PackageManagerError as error:
            failure = error
        if failure is None:
            return
        state = self._manager.state()
        self._halfway.postpone(state, failure)
        foreign = [name for name in state.unfinished if not self._halfway.repairs(name)]
        if not self._halfway.plan(state).transaction and not foreign:
            # Everything of this axis is as wanted: what failed is another axis's, and is mended there.
            if not self._halfway.postponed:
                self._told.warnings.append(
                    "%s is installed, though apt ended with an error: %s" % (self._request.label, failure)
                )
            return
        raise PackageSetError("%s %s" % (self._words(failure), self._what_is(state)))

    def _what_is(self, state: State) -> str:
        """The state of the node after a failure, and nothing of the set left to be moved by anybody else."""
        wanted = self._request.packages
        plan = self._halfway.plan(state)
        there = [name for name in wanted if name not in plan.install]
        held = ""
        due = [name for name in there if name in plan.hold]
        if due:
            try:
                self._hold_now(due)
            except (PackageManagerError, OSError) as error:  # a full disk must not hide what failed
                held = " They could not be held: %s" % error
        unfinished = ["%s is %s" % (name, state.packages[name].status) for name in state.unfinished]
        return "The node now has %d of %d packages of %s at the wanted version%s.%s %s." % (
            len(there),
            len(wanted),
            self._request.label,
            "; " + ", ".join(unfinished) if unfinished else "",
            held,
            GOES_ON,
        )

    # --- afterwards ---------------------------------------------------------------------------------------------------

    def _prove_module(self) -> None:
        dkms = self._request.dkms
        if dkms is None or not package_dkms.lacks(self._system, dkms):
            return
        reason = package_dkms.build(self._system, dkms, self._timeout)
        self._told.tell([dkms.task])
        if reason:
            raise PackageSetError(
                "%s is installed, and there is no module nvidia %s for kernel %s: %s. %s. %s."
                % (self._request.label, dkms.version, dkms.kernel, *reason, GOES_ON)
            )

    def _words(self, failure: PackageManagerError) -> str:
        cause, fix = self._halfway.reason(failure)
        return "%s could not be installed: %s. %s." % (self._request.label, cause, fix)

    def _hold(self, state: State) -> None:
        plan = self._halfway.plan(state)
        if plan.hold:
            self._step(lambda: self._hold_now(plan.hold), self._what_is_not_held)
        if plan.release:
            self._release(plan.release)
        done = PackagePlan(hold=plan.hold, release=plan.release)
        self._told.tell(told(done, state.packages, self._request.packages))

    def _hold_now(self, names: t.Sequence[str]) -> None:
        """Recorded first: a run that dies in between leaves no hold that nobody knows to be ours."""
        self._record(lambda recorded: recorded | set(names))
        self._manager.hold(names)

    def _release(self, names: t.Sequence[str]) -> None:
        """What was installed by a name that no later lock names counts as asked for, and would stay for ever: a kernel,
        firmware of one version. That goes first, since the hold is what makes the next run finish this one.
        """
        superseded = [
            name
            for name in names
            if name in self._request.release and (is_of_one_kernel(name) or has_version_in_name(bare(name)))
        ]
        try:
            if superseded:
                self._manager.let_go(superseded)
            self._manager.release(names)
        except PackageManagerError as error:
            raise PackageSetError("%s could not be released: %s. %s." % (", ".join(names), error, GOES_ON)) from error

    def _record(self, change: t.Callable[[t.Set[str]], t.Set[str]]) -> None:
        recorded = set(own_holds.parse(self._system.read(own_holds.PATH).value))
        if change(recorded) != recorded:
            self._system.write(own_holds.PATH, own_holds.render(change(recorded)).encode("utf-8"))

    @property
    def _what_is_not_held(self) -> str:
        return "%s is installed and not held. %s." % (self._request.label, GOES_ON)

    def _read_back(self, state: State) -> None:
        plan = self._halfway.plan(state)
        if not plan.any:
            return
        raise PackageSetError(
            "%s was installed and held, and is not so now: %s. Something on the node undoes it: look into"
            " /etc/apt/apt.conf.d and at what else runs apt"
            % (self._request.label, "; ".join(told(plan, state.packages, self._request.packages)))
        )

    def _step(self, call: t.Callable[[], t.Any], state: str) -> t.Any:
        try:
            return call()
        except PackageManagerError as error:
            raise PackageSetError(("%s %s" % (self._words(error), state)).strip()) from error
