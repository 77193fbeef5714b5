# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a rollout: from what is known of each host to waves and what is done with it, or to a refusal. Pure.

What was begun is brought to an end before anything else: a rollout that must not go on still finishes or rolls back
the nodes that it has under way, since nobody else would.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
import typing as t

from . import rollout, waves
from .printable import one_line
from .rollout import Known, Record
from .rollout_settings import Settings

#: What is done with a host. CONVERT: from the start. CONTINUE: a run was killed at work on it; again from draining.
#: ROLL_BACK: to what it was golden for; where there is no such thing, it has failed. The others are left alone.
CONVERT, CONTINUE, ROLL_BACK = "convert", "continue", "roll_back"
DONE, SETTLED, UNREACHABLE = "done", "settled", "unreachable"

_UNDER_WAY = (CONTINUE, ROLL_BACK)
#: A node of which work is done in this run.
BEGINS = (CONVERT, *_UNDER_WAY)

#: The wave in which what was begun is brought to an end, where it would not be the first.
UNFINISHED = "unfinished"

#: So many names stand in a command that somebody is told to type, and only if they look like this.
_TYPED_AT_MOST = 8
_TYPED = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)

NO_NODE = "there is no node to roll out to: the group gpu_nodes has none, or --limit leaves none"

Now = datetime.datetime


@dataclasses.dataclass(frozen=True)
class Step:
    """One host in the plan. ``outcome``: how it has come out, where nothing is done with it."""

    wave: str
    action: str
    outcome: str = ""
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class Plan:
    """``refused``: nothing may be done. ``halted``: why no further node is begun; what is under way is finished."""

    id: str
    refused: t.Tuple[str, ...] = ()
    warnings: t.Tuple[str, ...] = ()
    halted: str = ""
    budget: int = 0
    canaries: t.Tuple[str, ...] = ()
    waves: t.Tuple[waves.Wave, ...] = ()
    steps: t.Mapping[str, Step] = dataclasses.field(default_factory=dict)


def plan(known: t.Sequence[Known], settings: Settings, identity: str, now: Now) -> Plan:
    """Plan the rollout ``identity`` over hosts in the inventory's order."""
    pool = {host.name: host for host in reversed(known)}
    hosts = waves.in_order(host.name for host in known)
    canaries = waves.canary_names(settings.canaries, hosts)
    refused = _impossible(hosts, canaries) + _not_understood([pool[name] for name in hosts], settings.within)
    others = _Others(pool.values(), settings, identity, now)
    refused += others.refused
    if refused:
        return Plan(identity, tuple(refused), tuple(others.warnings))
    slices = waves.waves(hosts, canaries, settings.waves)
    allowed = waves.budget(settings.budget, len(waves.production(hosts, canaries)))
    steps = {name: _step(pool[name], wave.name, settings.retry, identity) for wave in slices for name in wave.hosts}
    halts = _halts(steps, canaries, allowed, settings.within)
    under_way = any(step.action in _UNDER_WAY for step in steps.values())
    if halts and not under_way:
        return Plan(identity, tuple(halts), tuple(others.warnings))
    if halts:
        stopped = any(step.outcome == waves.STOPPED for step in steps.values())
        steps = {name: _held(step, stopped) for name, step in steps.items()}
    slices = _begun_first(slices, steps, bool(halts))
    steps = {name: dataclasses.replace(steps[name], wave=wave.name) for wave in slices for name in wave.hosts}
    warnings = others.warnings + _warnings(pool, steps, canaries)
    return Plan(identity, (), tuple(warnings), " ".join(halts), allowed, canaries, slices, steps)


def _step(host: Known, wave: str, retry: bool, identity: str) -> Step:
    record = host.record if host.record and host.record.rollout == identity else None
    if not host.reachable:
        return Step(wave, UNREACHABLE, waves.LOST, host.failure or "it could not be reached")
    if record and (record.state == rollout.ROLLING_BACK or host.came_back_late):
        late = "it came back from its reboot later than %s" % record.deadline
        return Step(wave, ROLL_BACK, reason=late if host.came_back_late else record.reason)
    if record and record.state in rollout.WORKING:
        return Step(wave, CONTINUE, reason="a run ended while the node was %s" % record.state)
    # A node in the middle of a rollout that gives way may be drained, whatever its mark says.
    half_way = host.record is not None and host.record.in_flight
    if host.golden_for_target and not half_way:
        return Step(wave, DONE, waves.GOLDEN)
    if record and record.state in (rollout.ROLLED_BACK, rollout.FAILED, rollout.STOPPED) and not retry:
        return Step(wave, SETTLED, record.state, record.reason)
    return Step(wave, CONVERT)


def _held(step: Step, stopped: bool) -> Step:
    """In a rollout that has stopped, what was not begun stays as it is.

    :arg stopped: a run has told so to the nodes that waited; one that was under way then was lost to it, and goes back
    """
    if stopped and step.action == CONTINUE:
        why = "the rollout was stopped when nobody saw the node come out"
        return dataclasses.replace(step, action=ROLL_BACK, reason="%s: %s" % (why, step.reason))
    return dataclasses.replace(step, action=SETTLED, outcome=waves.STOPPED) if step.action == CONVERT else step


def _begun_first(
    slices: t.Tuple[waves.Wave, ...], steps: t.Mapping[str, Step], halted: bool
) -> t.Tuple[waves.Wave, ...]:
    """What is under way comes first: it is nowhere else when waves were cut otherwise since, or nothing follows it."""
    begun = tuple(name for wave in slices for name in wave.hosts if steps[name].action in _UNDER_WAY)
    working = (wave.hosts for wave in slices if any(steps[name].action in BEGINS for name in wave.hosts))
    if not begun or (not halted and set(begun) <= set(next(working))):
        return slices
    first = frozenset(begun)
    rest = (waves.Wave(wave.name, tuple(name for name in wave.hosts if name not in first)) for wave in slices)
    return (waves.Wave(UNFINISHED, begun), *(wave for wave in rest if wave.hosts))


# --- refusals -----------------------------------------------------------------------------------------------------


def _impossible(hosts: t.Sequence[str], canaries: t.Sequence[str]) -> t.List[str]:
    if not hosts:
        return [NO_NODE]
    there = frozenset(hosts)
    unknown = [name for name in canaries if name not in there]
    if unknown:
        return [
            "rollout_canaries names what is no node of this run: %s. Use names of the inventory, and let --limit leave "
            "the canaries in" % waves.names(unknown)
        ]
    return []


def _not_understood(known: t.Sequence[Known], within: str) -> t.List[str]:
    """Hosts of which too little is known, each with a message of its own."""
    found = []
    for host in known:
        name = one_line(host.name)
        if not host.reachable:
            continue
        if host.failure:
            found.append("%s cannot be asked: %s" % (name, one_line(host.failure)))
        elif host.record_error:
            found.append(
                "%s: %s. Nobody knows what a rollout left half done there: look at /var/lib/goldennode/%s on it, and "
                "remove it when no rollout is under way" % (name, one_line(host.record_error), rollout.FILE)
            )
        elif not host.platform_known:
            where = "is of the platform %s" % one_line(host.platform) if host.platform else "does not say its platform"
            fix = "Add it to platforms in the bundle and run ansible-playbook goldennode.gpu.lock, or leave it out by"
            found.append(
                "%s %s, which the bundle does not have. %s %s" % (name, where, fix, leave_out([host.name], within))
            )
    return found


class _Others:
    """Other rollouts that are not finished on these hosts: those that forbid this one, and those that give way."""

    def __init__(self, known: t.Iterable[Known], settings: Settings, identity: str, now: Now) -> None:
        self.refused: t.List[str] = []
        self.warnings: t.List[str] = []
        found: t.Dict[str, t.List[t.Tuple[str, Record]]] = {}
        for host in known:
            if host.reachable and host.record is not None and host.record.rollout != identity:
                found.setdefault(host.record.rollout, []).append((host.name, host.record))
        for other, records in sorted(found.items()):
            left = sorted((name, record) for name, record in records if not record.terminal)
            if left:
                self._judge(other, left, _newest([record for _name, record in records]), settings, now)

    def _judge(
        self,
        other: str,
        left: t.Sequence[t.Tuple[str, Record]],
        newest: t.Optional[Now],
        settings: Settings,
        now: Now,
    ) -> None:
        shown, states = one_line(other), _states(left)
        # A rollout is at work as long as one of its nodes moves, however long others wait for their turn.
        stale = newest is not None and now - newest > datetime.timedelta(hours=settings.stale_after)
        if other == settings.take_over:
            self.warnings.append("the rollout %s gives way, as rollout_take_over says: %s" % (shown, states))
        elif stale:
            said = "the rollout %s gives way: none of its nodes here has moved for more than %d hours: %s"
            self.warnings.append(said % (shown, settings.stale_after, states))
        else:
            self.refused.append(
                "the rollout %s is not finished on this pool: %s. Let it end by the command that began it, or have it "
                "give way with -e rollout_take_over=%s" % (shown, states, shown)
            )


def _newest(records: t.Iterable[Record]) -> t.Optional[Now]:
    """When a rollout has moved last; None where one of its records does not tell."""
    times = [rollout.moment(record.since) for record in records]
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None


def _states(records: t.Sequence[t.Tuple[str, Record]]) -> str:
    by_state: t.Dict[str, t.List[str]] = {}
    for name, record in records:
        by_state.setdefault(record.state, []).append(name)
    order = [state for state in rollout.STATES if state in by_state]
    return "; ".join("%s: %s" % (waves.words(state), waves.names(by_state[state])) for state in order)


# --- what lets no further node begin ------------------------------------------------------------------------------


def _halts(steps: t.Mapping[str, Step], canaries: t.Sequence[str], allowed: int, within: str) -> t.List[str]:
    """Why no node may be begun, from how nodes have come out in earlier runs."""
    again = "Mend what is wrong, and run again with -e rollout_retry=true"
    found = []
    for name in canaries:
        step, shown = steps[name], one_line(name)
        if step.action == UNREACHABLE:
            fix = "Bring it back, or name another one in rollout_canaries"
            found.append("the canary %s cannot be reached: %s. %s." % (shown, one_line(step.reason), fix))
        elif step.outcome in waves.COUNTED:
            why = ": %s" % one_line(step.reason) if step.reason else ""
            found.append("this rollout has stopped: the canary %s %s%s. %s." % (shown, _was(step), why, again))
    set_apart = frozenset(canaries)
    counted = [name for name, step in steps.items() if name not in set_apart and step.outcome in waves.COUNTED]
    if len(counted) > allowed:
        many = waves.nodes(len(counted), "production node")
        told = "; ".join("%s %s" % (one_line(name), _was(steps[name])) for name in counted[:8])
        more = " and %d more" % (len(counted) - 8) if len(counted) > 8 else ""
        verb = "counts" if len(counted) == 1 else "count"
        # One that was not reached needs no consent to be tried again.
        mend = "Mend them and run again with -e rollout_retry=true"
        if all(steps[name].action == UNREACHABLE for name in counted):
            mend = "Bring them back and run again"
        found.append(
            "%s %s against the budget of %d: %s%s. %s, raise rollout_budget, or leave them out by %s."
            % (many, verb, allowed, told, more, mend, leave_out(counted, within))
        )
    stopped = [name for name, step in steps.items() if step.outcome == waves.STOPPED]
    if stopped and not found:
        why = one_line(steps[stopped[0]].reason) or "no reason was kept"
        said = "this rollout has stopped before the turn of %s: %s. %s."
        found.append(said % (waves.names(stopped), why, again))
    return found


def leave_out(hosts: t.Sequence[str], within: str) -> str:
    """The limit that leaves hosts out of this run, to be typed. The controller is a host of the play, and stays in."""
    typed = hosts if len(hosts) <= _TYPED_AT_MOST and all(_TYPED.fullmatch(name) for name in hosts) else ["NODE"]
    sign = "," if "," in within or ":" not in within else ":"
    return "--limit '%s'" % one_line(sign.join([within, *("!" + name for name in typed)]))


def _was(step: Step) -> str:
    words = {waves.LOST: "cannot be reached", waves.FAILED: "has failed", waves.ROLLED_BACK: "was rolled back"}
    return words[step.outcome]


def _warnings(pool: t.Mapping[str, Known], steps: t.Mapping[str, Step], canaries: t.Sequence[str]) -> t.List[str]:
    found = []
    begun = [name for name, step in steps.items() if step.action in BEGINS]
    if begun and not canaries:
        found.append("there is no canary: the first wave is the first to have the new bundle")
    without = [name for name in begun if not pool[name].base and not _kept_base(pool[name].record)]
    if without:
        said = "there is no way back for %s: never golden before, so what fails there stays as it is"
        found.append(said % waves.names(without))
    return found


def _kept_base(record: t.Optional[Record]) -> bool:
    return record is not None and bool(record.base_digest)
