# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole rollouts over pools in memory, killed at each step and run again by the same command.

A player does what rollout.yml does with a plan: it moves records by the real rules and asks the real plan and the real
gate. What must hold is asked after every single move.
"""

from __future__ import annotations

import dataclasses
import random
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import rollout, rollout_plan, waves
from ansible_collections.goldennode.gpu.plugins.module_utils.rollout import Known, Record
from ansible_collections.goldennode.gpu.tests.unit.rollouts import ID, later, moment, settings

#: How a node takes the new bundle.
GOOD, BAD, BARE_BAD, NO_WAY_BACK, GONE, AT_WORK = "good", "bad", "bare and bad", "no way back", "gone", "at work"
KINDS = (GOOD, BAD, BARE_BAD, NO_WAY_BACK, GONE, AT_WORK)
WAIT = 10


class Killed(Exception):
    """The controller is gone."""


@dataclasses.dataclass
class Node:
    kind: str
    record: t.Optional[Record] = None
    lock: str = "old"
    up: bool = True
    boot: int = 1
    booted: float = -100
    drained: bool = False
    busy: bool = False


class World:
    """A pool, a clock that goes on by a minute with every move, and a controller that dies after so many of them."""

    def __init__(self, kinds: t.Sequence[str], lives: int = 10**9, **variables: t.Any) -> None:
        self.nodes = {"n%d" % number: Node(kind, busy=kind == AT_WORK) for number, kind in enumerate(kinds)}
        self.variables, self.lives, self.minutes, self.run = variables, lives, 0.0, 0
        self.touched: t.List[str] = []
        self.read: t.Dict[int, str] = {}  # by node, the run that had it when this one began

    def known(self) -> t.List[Known]:
        return [
            Known(
                name,
                node.up,
                record=node.record if node.up else None,
                platform="p",
                platform_known=True,
                golden_for_target=node.lock == "new" and (node.record is None or node.record.state == "golden"),
                base=node.kind != BARE_BAD,
                boot_id=str(node.boot),
                booted_at=later(node.booted),
            )
            for name, node in self.nodes.items()
        ]

    def live(self) -> None:
        if self.lives <= 0:
            raise Killed
        self.lives -= 1
        self.minutes += 1

    def move(self, node: Node, state: str, **more: t.Any) -> None:
        self.live()
        assert node.record is not None
        if state in rollout.WORKING and state != "draining":
            assert node.drained, "nothing is done to a node that is not drained"
        node.record = rollout.moved(
            node.record,
            state,
            run="run-%d" % self.run,
            now=later(self.minutes),
            boot_id=str(node.boot),
            found_run=self.read[id(node)],
            **more,
        )

    def play(self) -> t.Tuple[rollout_plan.Plan, t.Dict[str, str]]:
        """One run of the command; how every node came out that the run has reached."""
        self.run += 1
        self.read = {id(node): node.record.run if node.record else "" for node in self.nodes.values()}
        made = rollout_plan.plan(self.known(), settings(**self.variables), ID, moment(self.minutes))
        came = {name: step.outcome for name, step in made.steps.items() if step.outcome}
        for name, step in made.steps.items():
            if step.action == "convert":
                self.enter(self.nodes[name], step)
        for wave in made.waves:
            for name in wave.hosts:
                step = made.steps[name]
                if step.action in rollout_plan.BEGINS:
                    self.touched.append(name)
                    came[name] = self.take(self.nodes[name], step)
            then = waves.after_wave(came, made.canaries, made.budget)
            if then.stop or made.halted:
                if not then.again:
                    self.stop(made, came, then.reason or made.halted)
                break
        return made, came

    def stop(self, made: rollout_plan.Plan, came: t.Dict[str, str], why: str) -> None:
        for name in made.steps:
            node = self.nodes[name]
            if name not in came and node.up and node.record and node.record.state == "pending":
                self.move(node, "stopped", reason=why)

    def enter(self, node: Node, step: rollout_plan.Step) -> None:
        self.live()
        proven = ("", "") if node.kind == BARE_BAD else ("old", "old")
        node.record = rollout.begin(
            node.record,
            rollout=ID,
            run="run-%d" % self.run,
            wave=step.wave,
            now=later(self.minutes),
            boot_id=str(node.boot),
            target=("new", "new"),
            proven=proven,
            found_run=self.read[id(node)],
        )

    def take(self, node: Node, step: rollout_plan.Step) -> str:
        if step.action == "roll_back":
            return self.back(node)
        self.move(node, "draining")
        if node.busy:
            self.move(node, "pending", reason="python uses a GPU")
            return "busy"
        node.drained = True
        self.move(node, "converging", deadline=later(self.minutes + WAIT))
        node.lock = "new"
        self.live()
        if node.kind == GONE:
            node.up = False
            return "lost"
        node.boot, node.booted = node.boot + 1, self.minutes
        self.move(node, "verifying")
        if node.kind in (BAD, NO_WAY_BACK, BARE_BAD):
            return self.back(node)
        self.move(node, "soaking")
        self.live()
        self.move(node, "golden")
        node.drained = False
        return "golden"

    def back(self, node: Node) -> str:
        assert node.record is not None
        if not node.record.base_digest:
            self.move(node, "failed")
            return "failed"
        self.move(node, "rolling_back")
        self.live()
        if node.kind == NO_WAY_BACK:
            self.move(node, "failed")
            return "failed"
        node.lock = node.record.base_lock
        self.move(node, "rolled_back")
        node.drained = False
        return "rolled_back"

    def come_back(self) -> None:
        for node in self.nodes.values():
            if not node.up:
                node.up, node.boot, node.booted = True, node.boot + 1, self.minutes + WAIT + 5
        self.minutes += WAIT + 10


def states(world: World) -> t.Dict[str, str]:
    return {name: node.record.state if node.record else "" for name, node in world.nodes.items()}


def played(world: World) -> t.Tuple[rollout_plan.Plan, t.Dict[str, str]]:
    """The command again and again until a run is not killed."""
    for _attempt in range(1000):
        try:
            return world.play()
        except Killed:
            world.lives = 10**9
    raise AssertionError("it never ends")


def ends(kinds: t.Sequence[str], lives: int = 10**9, **variables: t.Any) -> t.Dict[str, str]:
    """How every node of which the turn came has ended; "" where it did not come: it waits, or was told of the stop."""
    world = World(kinds, lives, **variables)
    played(world)
    found = states(world)
    waiting = [name for name in found if name not in world.touched]
    assert {found[name] for name in waiting} <= {"pending", "stopped"}
    return {name: "" if name in waiting else state for name, state in found.items()}


# --- the story of the pool of four --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kinds", "budget", "expected"),
    [
        ([GOOD] * 4, 0, ["golden"] * 4),
        ([BAD, GOOD, GOOD, GOOD], 3, ["rolled_back", "", "", ""]),
        ([BARE_BAD, GOOD, GOOD, GOOD], 3, ["failed", "", "", ""]),
        ([GONE, GOOD, GOOD, GOOD], 3, ["converging", "", "", ""]),
        ([AT_WORK, GOOD, GOOD, GOOD], 3, ["pending", "", "", ""]),
        ([GOOD, GOOD, BAD, GOOD], 0, ["golden", "golden", "rolled_back", ""]),
        ([GOOD, GOOD, BAD, GOOD], 1, ["golden", "golden", "rolled_back", "golden"]),
        ([GOOD, BAD, BAD, GOOD], 1, ["golden", "rolled_back", "rolled_back", ""]),
        ([GOOD, GOOD, GONE, GOOD], 1, ["golden", "golden", "converging", "golden"]),
        ([GOOD, NO_WAY_BACK, GOOD, GOOD], 1, ["golden", "failed", "golden", "golden"]),
        ([GOOD, AT_WORK, GOOD, GOOD], 0, ["golden", "pending", "golden", "golden"]),
    ],
)
@pytest.mark.parametrize("lives", range(30))
def test_a_killed_rollout_ends_as_one_that_was_not(kinds, budget, expected, lives):
    found = ends(kinds, lives, budget=budget, waves=[1])
    assert list(found.values()) == expected


def test_a_canary_that_comes_back_late_is_rolled_back_and_production_stays():
    world = World([GONE, GOOD, GOOD, GOOD], waves=[1])
    made, came = world.play()
    assert came == {"n0": "lost"}
    made, came = world.play()
    assert made.refused == (
        "the canary n0 cannot be reached: it could not be reached. Bring it back, or name another "
        "one in rollout_canaries.",
    )
    world.come_back()
    made, came = played(world)
    assert came == {"n0": "rolled_back", "n1": "stopped", "n2": "stopped", "n3": "stopped"}
    assert states(world) == came
    assert set(world.touched) == {"n0"}
    made, came = world.play()
    assert made.refused[0].startswith("this rollout has stopped: the canary n0 was rolled back")


def test_a_retry_after_the_fault_was_mended():
    world = World([BAD, GOOD, GOOD], waves=[1])
    world.play()
    world.nodes["n0"].kind = GOOD
    assert world.play()[0].refused
    world.variables["retry"] = True
    world.play()
    assert set(states(world).values()) == {"golden"}


def test_a_busy_node_is_tried_again_by_the_same_command():
    world = World([GOOD, AT_WORK, GOOD], waves=[1])
    assert world.play()[1] == {"n0": "golden", "n1": "busy", "n2": "golden"}
    world.nodes["n1"].busy = False
    assert world.play()[1] == {"n0": "golden", "n1": "golden", "n2": "golden"}


def test_after_a_canary_that_was_busy_the_same_command_goes_on():
    world = World([AT_WORK, GOOD, GOOD], waves=[1])
    assert world.play()[1] == {"n0": "busy"}
    assert states(world) == {"n0": "pending", "n1": "pending", "n2": "pending"}
    world.nodes["n0"].busy = False
    assert world.play()[1] == {"n0": "golden", "n1": "golden", "n2": "golden"}


# --- any pool, killed anywhere ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(400))
def test_what_holds_for_every_rollout(seed):
    chance = random.Random(seed)
    kinds = chance.choices(KINDS, weights=[10, 2, 1, 1, 1, 1], k=chance.randrange(1, 14))
    canaries, budget = chance.randrange(0, 3), chance.randrange(0, 4)
    sizes = chance.choices([1, 2, 3, "25%", "50%", "100%"], k=chance.randrange(1, 3))
    world = World(kinds, chance.randrange(1, 80), canaries=canaries, waves=sizes, budget=budget)
    for _run in range(12):
        made = None
        try:
            made, _came = world.play()
        except Killed:
            world.lives = chance.randrange(1, 80)
        check(world, canaries, budget)
        if made is not None and not made.refused and not made.halted and chance.random() < 0.3:
            world.come_back()
    world.lives = 10**9
    world.come_back()
    world.play()
    world.come_back()
    world.play()
    # Nobody is left half way, whatever became of the rollout.
    assert not [
        name for name, node in world.nodes.items() if node.record and node.record.in_flight and node.kind != GONE
    ]
    for node in world.nodes.values():
        if node.record and node.record.state in ("golden", "rolled_back"):
            assert node.lock == ("new" if node.record.state == "golden" else "old")
            assert not node.drained


def check(world: World, canaries: int, budget: int) -> None:
    names = list(world.nodes)
    first = names[:canaries]
    begun = set(world.touched)
    for number, name in enumerate(first):
        if states(world)[name] != "golden":
            assert not begun & set(names[number + 1 :]), "nothing follows a canary that is not golden"
            break
    # At most one wave of failures more than the budget allows.
    limit = max((len(wave.hosts) for wave in waves.waves(names, first, settings(**world.variables).waves)), default=0)
    bad = [name for name in names[canaries:] if states(world)[name] in ("rolled_back", "failed")]
    assert len(bad) <= budget + limit
