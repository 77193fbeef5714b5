# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a way back without a rollout: wave by wave, each node to what it was golden for before. Pure.

There are no canaries: every one of these locks has been proven on the very node that goes back to it.
"""

from __future__ import annotations

import typing as t

from . import rollout, rollout_plan, waves
from .printable import one_line
from .rollout import Known
from .rollout_plan import Plan, Step
from .rollout_settings import Settings

#: What stands where a rollout has its id.
ID = "back"


def plan(known: t.Sequence[Known], locks: t.Mapping[str, str], errors: t.Mapping[str, str], settings: Settings) -> Plan:
    """Plan the way back of hosts in the inventory's order.

    :arg locks: by host, the id of the lock that it goes back to, where there is one
    :arg errors: by host, why there is none
    """
    hosts = waves.in_order(host.name for host in known)
    if not hosts:
        return Plan(ID, (rollout_plan.NO_NODE,))
    refused = [
        "%s cannot be asked: %s" % (one_line(host.name), one_line(why))
        for host in known
        for why in [host.failure or host.record_error]
        if host.reachable and why
    ]
    if refused:
        return Plan(ID, tuple(refused))
    slices = waves.waves(hosts, (), settings.waves)
    pool = {host.name: host for host in known}
    steps = {
        name: _step(pool[name], wave.name, locks.get(name, ""), errors.get(name, ""))
        for wave in slices
        for name in wave.hosts
    }
    allowed = waves.budget(settings.budget, len(hosts))
    spent = {name: step for name, step in steps.items() if step.outcome in waves.COUNTED}
    if len(spent) > allowed:
        return Plan(ID, (*_cannot(spent), _over(spent, allowed, len(hosts), settings.within)))
    return Plan(ID, budget=allowed, waves=slices, steps=steps)


def _cannot(spent: t.Mapping[str, Step]) -> t.List[str]:
    """What is in the way of each node: nobody can take it back now."""
    said = {waves.LOST: "%s cannot be reached: %s", waves.FAILED: "%s: %s"}
    return [said[step.outcome] % (one_line(name), one_line(step.reason)) for name, step in spent.items()]


def _over(spent: t.Mapping[str, Step], allowed: int, total: int, within: str) -> str:
    """Why none is begun: the way back would stop after its first wave, with the pool half way."""
    those = "node, which counts" if len(spent) == 1 else "nodes, which count"
    said = "no way back for %d %s against the budget of %d. Mend that" % (len(spent), those, allowed)
    if len(spent) == total:
        return said
    return "%s, leave out by %s, or raise rollout_budget" % (said, rollout_plan.leave_out(list(spent), within))


def _step(host: Known, wave: str, lock: str, error: str) -> Step:
    if not host.reachable:
        return Step(wave, rollout_plan.UNREACHABLE, waves.LOST, host.failure or "it could not be reached")
    record = host.record
    if record is not None and record.state == rollout.ROLLED_BACK and host.lock and host.lock == record.base_lock:
        # Once more would bring the lock again that it has left.
        return Step(wave, rollout_plan.DONE, waves.GOLDEN, "it is back already, since %s" % record.since)
    if not lock:
        return Step(wave, rollout_plan.SETTLED, waves.FAILED, "there is no way back: %s" % error)
    return Step(wave, rollout_plan.ROLL_BACK)
