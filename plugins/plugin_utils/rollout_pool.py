# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run knows of the hosts of a rollout, out of their variables; and a plan as plain data and back.

Controller only. The variables are big (each host has all that it is wanted to be), so only what counts is copied.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils import (
    rollout,
    rollout_plan,
    rollout_settings,
    waves,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.lock import axes_of
from ansible_collections.goldennode.gpu.plugins.module_utils.model import to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import from_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.printable import one_line
from ansible_collections.goldennode.gpu.plugins.module_utils.rollout import Known, Record
from ansible_collections.goldennode.gpu.plugins.module_utils.rollout_plan import Plan, Step
from ansible_collections.goldennode.gpu.plugins.module_utils.rollout_settings import Settings
from ansible_collections.goldennode.gpu.plugins.plugin_utils import own_drain
from ansible_collections.goldennode.gpu.plugins.plugin_utils.plain import plain
from ansible_collections.goldennode.gpu.plugins.plugin_utils.task_message import bare

Variables = t.Mapping[str, t.Any]

#: What ``node`` of goldennode.gpu.rollout_node may say.
_FROM_NODE = frozenset(field.name for field in dataclasses.fields(Known)) - {"name", "reachable", "record", "failure"}

#: The axes of a lock that a plan names, with their words.
_AXES = ("driver", "toolkit", "docker")


@dataclasses.dataclass(frozen=True)
class Target:
    """What a bundle and its locks want of a pool. ``locks``: id by platform; ``brings``: a few words by lock id."""

    bundle: str
    locks: t.Mapping[str, str]
    brings: t.Mapping[str, str]

    @property
    def id(self) -> str:
        return rollout.rollout_id(self.bundle, self.locks)


@dataclasses.dataclass(frozen=True)
class Pool:
    """All that a plan is made of; with ``refused`` no plan can be made."""

    refused: t.Tuple[str, ...]
    known: t.Tuple[Known, ...] = ()
    target: t.Optional[Target] = None
    settings: t.Optional[Settings] = None


def read(hosts: t.Sequence[str], hostvars: t.Mapping[str, Variables]) -> Pool:
    """What is known of these hosts, or why it does not make one pool."""
    known, bundles = [], {}
    for name in hosts:
        variables = hostvars[name]  # gathers all that the host has, each time
        known.append(_known(name, plain(variables.get("__goldennode_rollout"))))
        bundles[name] = variables.get("__goldennode_bundle") or {}
    refused = [
        "%s: the bundle was not read: %s" % (one_line(name), one_line(bare(one.get("msg")) or "no reason is known"))
        for name, one in bundles.items()
        if "desired" not in one
    ]
    if refused or not hosts:
        return Pool(tuple(refused))
    targets = _groups(bundles, _bundle_and_locks)
    values = _groups(bundles, _settings)
    refused += _differing("the nodes of a rollout share one bundle and its locks, and these differ", targets)
    refused += _differing("the variables of a rollout are of the whole pool, and these nodes have others", values)
    first = bundles[hosts[0]]
    missing = plain(first.get("missing_locks") or [])
    refused += _without_lock(known, missing) if first["desired"] else _without_any_lock(missing)
    refused += own_drain.problems(str(one["settings"]["rollout"]["rollout_drain_tasks"]) for one in bundles.values())
    return Pool(
        tuple(refused), tuple(known), _target(first), rollout_settings.settings(plain(first["settings"]["rollout"]))
    )


def without_consent(made: Plan, hostvars: t.Mapping[str, Variables]) -> t.List[str]:
    """Why the nodes could not get to the end: they would have to be rebooted, and nobody has allowed it."""
    held = []
    for name, step in made.steps.items():
        if step.action not in rollout_plan.BEGINS:
            continue
        bundle, node = hostvars[name]["__goldennode_bundle"], plain(hostvars[name]["__goldennode_rollout"])["node"]
        if bundle["settings"]["golden"]["golden_allow_reboot"]:
            continue
        wanted = axes_of(plain(bundle["desired"][node["platform"]]["lock"]))
        moves = {axis for axis in ("kernel", "driver") if node.get("axes", {}).get(axis) != wanted[axis]}
        if "kernel" in moves or (moves and not bundle["settings"]["driver"]["driver_allow_reload"]):
            held.append(name)
    if not held:
        return []
    return [
        "another kernel or driver needs a reboot of %s, and golden_allow_reboot is false there. Set it to true, or for "
        "a driver alone driver_allow_reload" % waves.names(held)
    ]


def within(of: Settings, variables: Variables) -> Settings:
    """The settings, with the limit that the run has: what is proposed must not widen it."""
    limit = str(variables.get("ansible_limit") or "")
    return dataclasses.replace(of, within=limit) if limit else of


@dataclasses.dataclass(frozen=True)
class Back:
    """All that a plan of a way back is made of. ``locks`` and ``errors`` by host, ``brings`` by lock id."""

    known: t.Tuple[Known, ...]
    locks: t.Mapping[str, str]
    errors: t.Mapping[str, str]
    brings: t.Mapping[str, str]
    settings: t.Optional[Settings]


def read_back(hosts: t.Sequence[str], hostvars: t.Mapping[str, Variables]) -> Back:
    """What is known of hosts that go back: each has a bundle and lock of its own that it was golden for."""
    found = {name: plain(hostvars[name].get("__goldennode_rollout")) or {} for name in hosts}
    locks, brings, settings = {}, {}, None
    for name in hosts:
        bundle = hostvars[name].get("__goldennode_bundle") or {}
        if "desired" not in bundle:
            continue
        target = _target(bundle)
        locks[name] = next(iter(target.locks.values()), "")
        brings.update(target.brings)
        settings = settings or _settings(bundle)
    errors = {name: str(one.get("way_back_error", "")) for name, one in found.items()}
    return Back(tuple(_known(name, one) for name, one in found.items()), locks, errors, brings, settings)


def _known(name: str, result: t.Any) -> Known:
    """One host, from the result of goldennode.gpu.rollout_node; without one it could not be reached."""
    if not result or result.get("unreachable"):
        return Known(name, reachable=False, failure=bare((result or {}).get("msg")))
    if result.get("failed") or not isinstance(result.get("node"), dict):
        return Known(name, reachable=True, failure=bare(result.get("msg")) or "its state was not read")
    node = {key: value for key, value in result["node"].items() if key in _FROM_NODE}
    try:
        record = from_plain(t.Optional[Record], result.get("record"), "record")
        return t.cast(Known, from_plain(Known, {**node, "name": name, "reachable": True, "record": to_plain(record)}))
    except ValueError as error:
        return Known(name, reachable=True, failure="its state cannot be understood: %s" % error)


def _bundle_and_locks(bundle: Variables) -> str:
    return _target(bundle).id


def _settings(bundle: Variables) -> Settings:
    return rollout_settings.settings(plain(bundle["settings"]["rollout"]))


def _groups(bundles: t.Mapping[str, Variables], of: t.Callable[[Variables], t.Hashable]) -> t.List[t.List[str]]:
    """The hosts that have the same, the most first."""
    groups: t.Dict[t.Hashable, t.List[str]] = {}
    for name, bundle in bundles.items():
        groups.setdefault(of(bundle), []).append(name)
    return sorted(groups.values(), key=len, reverse=True)


def _differing(what: str, groups: t.Sequence[t.Sequence[str]]) -> t.List[str]:
    if len(groups) < 2:
        return []
    return ["%s: %s. Set them for the group gpu_nodes" % (what, " | ".join(waves.names(group) for group in groups))]


def _without_lock(known: t.Iterable[Known], missing: t.Sequence[str]) -> t.List[str]:
    platforms = sorted({host.platform for host in known if host.platform in missing and host.platform is not None})
    said = "the platform %s has no lock: run ansible-playbook goldennode.gpu.lock, and look at what it writes"
    return [said % one_line(platform) for platform in platforms]


def _without_any_lock(missing: t.Sequence[str]) -> t.List[str]:
    """Nothing was resolved yet, which is known before any node has said what it is."""
    said = "the bundle has no lock yet (%s): run ansible-playbook goldennode.gpu.lock, and look at what it writes"
    return [said % waves.names(missing)]


def _target(bundle: Variables) -> Target:
    locks, brings, name = {}, {}, ""
    for platform, wanted in bundle["desired"].items():
        lock = wanted["lock"]
        identity = str(lock["id"])
        locks[str(platform)], name = identity, str(lock["bundle"])
        words = ["%s %s" % (axis, lock[axis]["version"]) for axis in _AXES]
        brings[identity] = ", ".join([*words, "kernel %s" % lock["kernel"]["release"]])
    return Target(name, locks, brings)


# --- a plan as plain data -----------------------------------------------------------------------------------------


def to_result(made: Plan, was: t.Mapping[str, str], wanted: t.Mapping[str, str]) -> t.Dict[str, t.Any]:
    """The plan as a play has it."""
    return {
        "id": made.id,
        "refused": list(made.refused),
        "cautions": list(made.warnings),  # "warnings" is Ansible's own, and is taken out of what a play keeps
        "halted": made.halted,
        "budget": made.budget,
        "canaries": list(made.canaries),
        "waves": [{"name": wave.name, "hosts": list(wave.hosts)} for wave in made.waves],
        "actions": {name: step.action for name, step in made.steps.items()},
        "nodes": {
            name: {**dataclasses.asdict(step), "was": was.get(name, ""), "lock": wanted.get(name, "")}
            for name, step in made.steps.items()
        },
    }


def of_result(result: Variables) -> Plan:
    """The plan again, out of what the play kept of it.

    :raises ValueError: when it is no plan
    """
    try:
        return Plan(
            id=result["id"],
            refused=tuple(result["refused"]),
            warnings=tuple(result["cautions"]),
            halted=result["halted"],
            budget=result["budget"],
            canaries=tuple(result["canaries"]),
            waves=tuple(waves.Wave(wave["name"], tuple(wave["hosts"])) for wave in result["waves"]),
            steps={
                name: Step(node["wave"], node["action"], node["outcome"], node["reason"])
                for name, node in result["nodes"].items()
            },
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("it is not the result of step=plan: %s is not as it should be" % error) from error


def outcomes(made: Plan, hostvars: t.Mapping[str, Variables]) -> t.Dict[str, t.Any]:
    """What the tasks of the play have kept of each node that came out; of one that was lost, what it failed in."""
    found = {}
    for name in made.steps:
        if name not in hostvars:
            continue
        variables = hostvars[name]  # gathers all that the host has, each time
        outcome, failure = variables.get("__goldennode_outcome"), variables.get("__goldennode_failure")
        if outcome:
            found[name] = plain(outcome)
        elif failure:
            said = "it was not reached any more after: %(task)s: %(message)s" % plain(failure)
            found[name] = {"outcome": waves.LOST, "reason": said}
    return found


@dataclasses.dataclass(frozen=True)
class Came:
    """How the nodes came out: what the play says, and what the plan knew already."""

    outcomes: t.Dict[str, str]
    reasons: t.Dict[str, str]


def came(made: Plan, given: t.Mapping[str, t.Any], wave: str) -> Came:
    """The outcome of every node of which there is one.

    A node of ``wave`` or one before it of which nothing is said is lost: nobody has seen it come out.

    :arg given: by host, an outcome, or ``outcome`` and ``reason``
    :raises ValueError: when the plan has no such wave or host
    """
    order = [one.name for one in made.waves]
    unknown = sorted(set(given) - set(made.steps))
    if unknown or (wave and wave not in order):
        raise ValueError("the plan does not have %s" % (waves.names(unknown) or one_line(wave)))
    outcomes = {name: step.outcome for name, step in made.steps.items() if step.outcome}
    reasons = {name: step.reason for name, step in made.steps.items() if step.outcome and step.reason}
    for name, one in given.items():
        said = one if isinstance(one, dict) else {"outcome": one}
        outcomes[name], reasons[name] = str(said.get("outcome", "")), str(said.get("reason", ""))
    for begun in made.waves[: order.index(wave) + 1 if wave else 0]:
        for name in begun.hosts:
            if name not in outcomes:
                outcomes[name], reasons[name] = waves.LOST, "how it came out was not seen"
    return Came(outcomes, reasons)
