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
from .kept_packages import Offered, Store
from .model import Package
from .package_dkms import Dkms
from .package_names import axis_of, bare, driver_version_in, is_of_one_kernel, is_other_module
from .parse import own_holds
from .parse.apt_errors import Trouble
from .parse.apt_rules import DKMS, KEY, SOURCES
from .parse.dkms_output import Build
from .parse.kept_packages import DIRECTORY
from .plan import PackagePlan, driver_version_of, package_plan, replaceable, told
from .system import System

CONSENT = "packages_allow_remove"

_GOES_ON = "The next run goes on from there"
#: A package in one of these has all its files on the node.
_UNCONFIGURED = ("unpacked", "half-configured", "triggers-awaited", "triggers-pending")


class PackageSetError(Exception):
    """The set could not be installed. The message says why, what to do, and in which state the node is."""


class PackageManagerError(Exception):
    """A command of the package manager failed."""

    def __init__(self, trouble: Trouble, output: str = "") -> None:
        self.trouble = trouble
        self.output = output
        super().__init__("%s. %s" % (trouble.cause, trouble.fix))


@dataclasses.dataclass(frozen=True)
class State:
    """What is installed, also in part, by name; and every name that is held, installed or not."""

    packages: t.Dict[str, Package]
    held: t.FrozenSet[str]
    interrupted: bool = False

    @property
    def unfinished(self) -> t.Tuple[str, ...]:
        return tuple(name for name, package in sorted(self.packages.items()) if package.status != "installed")


@dataclasses.dataclass(frozen=True)
class Order:
    """One transaction: exact versions by name, files by name in place of a repository's, and names to remove."""

    packages: t.Mapping[str, str]
    files: t.Mapping[str, str]
    removes: t.Tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Effect:
    """What a transaction would do to the node: versions by name."""

    installs: t.Mapping[str, str]
    removes: t.Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Refreshed:
    """``read``: the index was read just now. ``trouble``: what some repository had against it."""

    read: bool = False
    trouble: t.Optional[Trouble] = None
    own: bool = False  # one of the lock's own repositories is among them


class Manager(t.Protocol):
    """What a package manager must be able to do. Each call that fails raises PackageManagerError."""

    def state(self) -> State: ...

    def finish(self) -> None:
        """Finish what an interrupted installation left half done."""

    def refresh(self, again: bool = False) -> Refreshed:
        """Read the repositories' index, unless this was done a moment ago; ``again``: in any case."""

    def offers(self, names: t.Iterable[str]) -> t.Mapping[str, t.Tuple[str, ...]]:
        """Full versions that the repositories have, the newest first."""

    def simulate(self, order: Order) -> Effect: ...

    def fetch(self, order: Order) -> None:
        """Download everything, and see that there is room for it."""

    def install(self, order: Order, removes: bool) -> str:
        """Do it without the network; ``removes``: whether it may remove anything. Returns what it printed."""

    def hold(self, names: t.Sequence[str]) -> None: ...

    def release(self, names: t.Sequence[str]) -> None: ...

    def let_go(self, names: t.Sequence[str]) -> None:
        """Nobody has asked for these packages any more: whoever clears up may remove them."""

    def files(self, packages: t.Sequence[t.Tuple[str, str]]) -> t.Mapping[str, Offered]:
        """See ``kept_packages.Source``."""

    def download(self, packages: t.Sequence[t.Tuple[str, str]], directory: str) -> None: ...


@dataclasses.dataclass(frozen=True)
class Request:
    """One axis. ``keep``: every package of the lock, whose files stay on the node; None keeps none.

    ``driver``: the version that a later axis of the same run installs. What is left unfinished since the driver that
    it replaces does not build is finished there.

    ``release``: packages of whatever axis, not wanted any more, whose holds this collection has set.
    """

    packages: t.Mapping[str, str]
    hold: bool = True
    may_remove: t.Tuple[str, ...] = ()
    keep: t.Optional[t.Mapping[str, str]] = None
    dkms: t.Optional[Dkms] = None
    driver: str = ""
    release: t.Tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Outcome:
    """``before`` and ``after``: a line for each package that differs. ``warnings``: what did not stop the run."""

    changes: t.Tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    warnings: t.Tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.changes)


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
        self._postponed: t.FrozenSet[str] = frozenset()
        self._waits_on: t.Optional[Build] = None
        self._warnings: t.List[str] = []
        self._changes: t.Dict[str, str] = {}

    def run(self, check_mode: bool) -> Outcome:
        before = self._manager.state()
        if check_mode:
            return self._predict(before)
        state = self._finish(before)
        plan = self._plan(state)
        if plan.transaction:
            due = dataclasses.replace(plan, left=())
            self._tell(told(due, state.packages, self._request.packages))
            state = self._transact(state, plan)
        self._hold(state)
        self._prove_module()
        if plan.transaction:
            self._finish_kernels()
        after = self._manager.state()
        self._read_back(after)
        if self._changes:
            self._record(lambda recorded: recorded & after.held)
        self._tell_postponed(after)
        return Outcome(tuple(self._changes.values()), *_difference(before, after), tuple(self._warnings))

    def _plan(self, state: State) -> PackagePlan:
        asked = self._request
        plan = package_plan(state.packages, asked.packages, state.held, asked.hold, asked.release)
        install = tuple(name for name in plan.install if name not in self._postponed)
        return dataclasses.replace(plan, install=install)

    def _tell(self, sentences: t.Iterable[str]) -> None:
        """One sentence for each package: its hold goes without saying where more was done to it."""
        for sentence in sentences:
            name, _colon, what = sentence.partition(": ")
            if name not in self._changes or not what.startswith(("hold ", "release ")):
                self._changes[name] = sentence

    # --- before -------------------------------------------------------------------------------------------------------

    def _predict(self, before: State) -> Outcome:
        plan = self._plan(before)
        self._tell(_finishing(before, plan.install))
        order: t.Optional[Order] = None
        effect = Effect({}, {})
        if plan.transaction and not before.interrupted and not before.unfinished:
            # Only where the index has everything already: check mode reads none, and before the repositories are
            # written there is nothing to ask.
            foreseen = self._foreseen(plan)
            if foreseen:
                order, effect = foreseen
                self._refuse(before, order, effect)
        if order is None:
            self._tell(told(plan, before.packages, self._request.packages))
        else:
            self._tell(told(dataclasses.replace(plan, left=()), before.packages, self._request.packages))
            self._tell(_besides(before, plan, order, effect))
        dkms = self._request.dkms
        if dkms and not plan.transaction and package_dkms.lacks(self._system, dkms):
            self._tell([dkms.task])
        after = _predicted(before, plan, self._request, order, effect)
        return Outcome(tuple(self._changes.values()), *_difference(before, after))

    def _foreseen(self, plan: PackagePlan) -> t.Optional[t.Tuple[Order, Effect]]:
        """None where it cannot be known yet: a version is not in the index, or apt cannot read the node's sources. What
        is in their way a run sets aside before it asks.
        """
        try:
            order, missing = self._order(plan, Refreshed())
            return None if missing else (order, self._manager.simulate(order))
        except PackageManagerError as error:
            if error.trouble.kind == SOURCES:
                return None
            raise PackageSetError("%s Nothing was changed." % self._words(error)) from error

    def _finish(self, state: State) -> State:
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
            self._tell(_finishing(state))
        self._postpone(after, failure)
        left = [name for name in after.unfinished if not self._repairs(name)]
        if failure and (after.interrupted or left):
            what = ", ".join("%s is %s" % (name, after.packages[name].status) for name in left)
            cause, fix = self._reason(failure)
            raise PackageSetError(
                "An earlier installation cannot be finished%s: %s. %s. Nothing else was changed."
                % (" (%s)" % what if what else "", cause, fix)
            )
        return after

    def _needs_no_finishing(self, state: State, name: str) -> bool:
        """Whether the transaction puts another version of it, or nothing, in its place; or a driver that its scripts
        build, which end as they did before until that one is there.
        """
        plan = self._plan(state)
        wanted = self._request.packages.get(name, state.packages[name].version)
        replaced = wanted != state.packages[name].version or name in plan.left
        return replaced or (self._is_of_driver and plan.transaction and _is_kernel(name))

    @property
    def _is_of_driver(self) -> bool:
        return driver_version_of(self._request.packages) is not None

    def _postpone(self, state: State, failure: t.Optional[PackageManagerError]) -> None:
        """Leave to the driver's axis what waits for it alone: packages that are there and not configured, since the
        driver that will be replaced does not build on their kernel.
        """
        self._waits_on = package_dkms.replaced_driver(failure.output, self._request.driver) if failure else None
        if self._waits_on:
            wanted = self._request.packages
            due = [name for name in self._plan(state).install if _is_unconfigured(state, name, wanted[name])]
            self._postponed |= frozenset(due)

    def _tell_postponed(self, state: State) -> None:
        left = sorted(self._postponed & frozenset(state.unfinished))
        if left and self._waits_on:
            self._warnings.append(
                "%s is not configured yet: the driver %s that is installed does not build on kernel %s. It is finished"
                " when the driver %s of the lock is installed"
                % (", ".join(left), self._waits_on.version, self._waits_on.kernel, self._request.driver)
            )

    def _finish_kernels(self) -> None:
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
            cause, fix = self._reason(error)
            told_left = "%s is installed, and %s cannot be configured: %s. %s" % (
                self._name,
                ", ".join(left),
                cause,
                fix,
            )
            if any(self._is_of_lock(name) for name in left):
                raise PackageSetError("%s. %s." % (told_left, _GOES_ON)) from error
            self._warnings.append(told_left)
        else:
            self._tell(_finishing(state))

    def _is_of_lock(self, name: str) -> bool:
        dkms = self._request.dkms
        return name in (self._request.keep or ()) or (dkms is not None and dkms.kernel in name)

    def _repairs(self, name: str) -> bool:
        """Whether a run replaces this package: here, or in its own axis, so that it does not stand in the way."""
        return name in self._request.packages or axis_of(bare(name)) is not None

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
            self._warnings.append("Some repository could not be read: %s" % refreshed.trouble.cause)
        effect = self._effect(state, order)
        unread = "Before that, the index: %s. " % refreshed.trouble.cause if refreshed.trouble else ""
        self._step(lambda: self._manager.fetch(order), unread + "Nothing was changed.")
        self._keep(state)
        self._install(order, effect)
        self._tell(_besides(state, plan, order, effect))
        return self._manager.state()

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

        Never a kernel module of another make: the set has its own.
        """
        if is_other_module(name, self._request.packages):
            return None
        twin = self._request.packages.get(bare(name))
        if twin in offered:
            return twin
        driver = driver_version_of(self._request.packages)
        return next((version for version in offered if driver_version_in(version) == driver), None)

    def _effect(self, state: State, order: Order) -> Effect:
        """What it would do, found out before anything is done."""
        effect: Effect = self._step(lambda: self._manager.simulate(order), "Nothing was changed.")
        self._refuse(state, order, effect)
        return effect

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
                    self._name,
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
                    self._name,
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
        self._warnings += self._store.keep(self._manager, wanted, self._request.keep)

    def _install(self, order: Order, effect: Effect) -> None:
        failure: t.Optional[PackageManagerError] = None
        try:
            self._manager.install(order, bool(effect.removes))
        except PackageManagerError as error:
            failure = error
        if failure is None:
            return
        state = self._manager.state()
        self._postpone(state, failure)
        foreign = [name for name in state.unfinished if not self._repairs(name)]
        if not self._plan(state).transaction and not foreign:
            # Everything of this axis is as wanted: what failed is another axis's, and is mended there.
            if not self._postponed:
                self._warnings.append("%s is installed, though apt ended with an error: %s" % (self._name, failure))
            return
        raise PackageSetError("%s %s" % (self._words(failure), self._what_is(state)))

    def _what_is(self, state: State) -> str:
        """The state of the node after a failure, and nothing of the set left to be moved by anybody else."""
        wanted = self._request.packages
        plan = self._plan(state)
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
            self._name,
            "; " + ", ".join(unfinished) if unfinished else "",
            held,
            _GOES_ON,
        )

    # --- afterwards ---------------------------------------------------------------------------------------------------

    def _prove_module(self) -> None:
        dkms = self._request.dkms
        if dkms is None or not package_dkms.lacks(self._system, dkms):
            return
        reason = package_dkms.build(self._system, dkms, self._timeout)
        self._tell([dkms.task])
        if reason:
            raise PackageSetError(
                "%s is installed, and there is no module nvidia %s for kernel %s: %s. %s. %s."
                % (self._name, dkms.version, dkms.kernel, *reason, _GOES_ON)
            )

    def _words(self, failure: PackageManagerError) -> str:
        cause, fix = self._reason(failure)
        return "%s could not be installed: %s. %s." % (self._name, cause, fix)

    def _reason(self, failure: PackageManagerError) -> t.Tuple[str, str]:
        trouble, dkms = failure.trouble, self._request.dkms
        reason = None
        if trouble.kind == DKMS:
            wanted = (dkms.kernel, dkms.version) if dkms else ("", self._request.driver)
            reason = package_dkms.why(self._system, failure.output, *wanted)
        return reason or (trouble.cause, trouble.fix)

    def _hold(self, state: State) -> None:
        plan = self._plan(state)
        if plan.hold:
            self._step(lambda: self._hold_now(plan.hold), self._what_is_not_held)
        if plan.release:
            self._release(plan.release)
        done = PackagePlan(hold=plan.hold, release=plan.release)
        self._tell(told(done, state.packages, self._request.packages))

    def _hold_now(self, names: t.Sequence[str]) -> None:
        """Recorded first: a run that dies in between leaves no hold that nobody knows to be ours."""
        self._record(lambda recorded: recorded | set(names))
        self._manager.hold(names)

    def _release(self, names: t.Sequence[str]) -> None:
        """A kernel that was installed by name counts as asked for, and would stay for ever. That goes first, since the
        hold is what makes the next run finish this one.
        """
        kernels = [name for name in names if name in self._request.release and is_of_one_kernel(name)]
        try:
            if kernels:
                self._manager.let_go(kernels)
            self._manager.release(names)
        except PackageManagerError as error:
            raise PackageSetError("%s could not be released: %s. %s." % (", ".join(names), error, _GOES_ON)) from error

    def _record(self, change: t.Callable[[t.Set[str]], t.Set[str]]) -> None:
        recorded = set(own_holds.parse(self._system.read(own_holds.PATH).value))
        if change(recorded) != recorded:
            self._system.write(own_holds.PATH, own_holds.render(change(recorded)).encode("utf-8"))

    @property
    def _what_is_not_held(self) -> str:
        return "%s is installed and not held. %s." % (self._name, _GOES_ON)

    def _read_back(self, state: State) -> None:
        plan = self._plan(state)
        if not plan.any:
            return
        raise PackageSetError(
            "%s was installed and held, and is not so now: %s. Something on the node undoes it: look into"
            " /etc/apt/apt.conf.d and at what else runs apt"
            % (self._name, "; ".join(told(plan, state.packages, self._request.packages)))
        )

    def _step(self, call: t.Callable[[], t.Any], state: str) -> t.Any:
        try:
            return call()
        except PackageManagerError as error:
            raise PackageSetError(("%s %s" % (self._words(error), state)).strip()) from error

    @property
    def _name(self) -> str:
        names = sorted(self._request.packages)
        return ", ".join(names[:3]) + (" and %d more" % (len(names) - 3) if len(names) > 3 else "")


def _is_kernel(name: str) -> bool:
    return axis_of(bare(name)) == "kernel"


def _is_unconfigured(state: State, name: str, version: str) -> bool:
    package = state.packages.get(name)
    return package is not None and package.version == version and package.status in _UNCONFIGURED


def _finishing(state: State, without: t.Collection[str] = ()) -> t.List[str]:
    found = [
        "%s: is %s; finish it" % (name, state.packages[name].status) for name in state.unfinished if name not in without
    ]
    return found or (["dpkg: finish what was interrupted"] if state.interrupted else [])


def _besides(state: State, plan: PackagePlan, order: Order, effect: Effect) -> t.List[str]:
    """What becomes of packages that are not wanted: those that move along, and those that go."""
    moved = [
        "%s: %s -> %s, with the wanted driver" % (name, state.packages[name].version, order.packages[name])
        for name in plan.left
        if name in order.packages
    ]
    return moved + ["%s: remove %s" % item for item in sorted(effect.removes.items())]


def _predicted(before: State, plan: PackagePlan, request: Request, order: t.Optional[Order], effect: Effect) -> State:
    packages = dict(before.packages)
    along = {name: order.packages[name] for name in plan.left if order and name in order.packages}
    gone = {*effect.removes, *(name for name in plan.left if name not in along)}
    for name in gone:
        packages.pop(name, None)
    for name, version in (*((name, request.packages[name]) for name in plan.install), *along.items()):
        packages[name] = Package(name, version, request.hold)
    for names, held in ((plan.hold, True), (plan.release, False)):
        packages.update((name, dataclasses.replace(packages[name], held=held)) for name in names if name in packages)
    return State(packages, before.held - frozenset(plan.release) - gone)


def _difference(before: State, after: State) -> t.Tuple[str, str]:
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
