#!/usr/bin/env python3
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures how long it takes to plan a rollout over 10,000 hosts: a first one, and one that is continued half way.

Everything from what is known of the hosts to the plan that is shown, on one core; no node is needed.
"""

from __future__ import annotations

import datetime
import statistics
import sys
import time
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "collections")]

from ansible_collections.goldennode.gpu.plugins.module_utils import (  # noqa: E402
    rollout,
    rollout_plan,
    rollout_settings,
    rollout_text,
    waves,
)

HOSTS = 10_000
GOAL = 1.0
ROUNDS = 15
ID = rollout.rollout_id("bench", {"debian-13-x86_64": "sha256:1"})
BEGUN = "2026-01-01T00:00:00Z"
NOW = datetime.datetime(2026, 1, 1, 1, tzinfo=datetime.timezone.utc)
SETTINGS = rollout_settings.Settings(3, (waves.Size(10), waves.Size(5, True)), waves.Size(5, True), 24, "", False)


def first() -> t.List[rollout.Known]:
    """Hosts on which no rollout has ever been."""
    return [host(number, None) for number in range(HOSTS)]


def half_way() -> t.List[rollout.Known]:
    """Half of the hosts are golden, a wave was at work when the controller died, the others wait for their turn."""
    states = [rollout.GOLDEN] * (HOSTS // 2) + [rollout.SOAKING] * (HOSTS // 20)
    states += [rollout.PENDING] * (HOSTS - len(states))
    return [host(number, state) for number, state in enumerate(states)]


def host(number: int, state: t.Optional[str]) -> rollout.Known:
    record = rollout.Record(1, ID, state, "run", "wave-1", BEGUN, BEGUN, base_digest="x") if state else None
    return rollout.Known(
        "gpu%05d.example.com" % number,
        True,
        record,
        platform="debian-13-x86_64",
        platform_known=True,
        golden_for_target=state == rollout.GOLDEN,
        base=True,
        boot_id="boot",
    )


def report() -> None:
    print("\nplanning a rollout over %d hosts, median of %d rounds" % (HOSTS, ROUNDS))
    for name, make in (("a first one", first), ("half way", half_way)):
        known, spent = make(), []
        for _round in range(ROUNDS):
            begin = time.perf_counter()
            made = rollout_plan.plan(known, SETTINGS, ID, NOW)
            rollout_text.plan(made, {}, {}, {})
            spent.append(time.perf_counter() - begin)
        if len(made.steps) != HOSTS:
            sys.exit("the plan is not whole: %s" % "; ".join(made.refused))
        seconds = statistics.median(spent)
        print("%-14s %8.3f s, %5.1f plans a second (goal: under %g s)" % (name, seconds, 1 / seconds, GOAL))


if __name__ == "__main__":
    report()
