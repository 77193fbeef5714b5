# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a way back without a rollout: who goes back, who is back already, and who cannot."""

from __future__ import annotations

import dataclasses

from ansible_collections.goldennode.gpu.plugins.module_utils import rollout_back
from ansible_collections.goldennode.gpu.tests.unit import rollouts

BACK_TO = {"n1": "sha256:base", "n2": "sha256:base", "n3": "sha256:base"}


def plan(*known, locks=None, errors=None, **variables):
    return rollout_back.plan(known, BACK_TO if locks is None else locks, errors or {}, rollouts.settings(**variables))


def test_every_node_that_has_a_way_back_goes_it_wave_by_wave_and_none_is_a_canary():
    made = plan(*rollouts.hosts(3), waves=["1", "2"])
    assert [(wave.name, wave.hosts) for wave in made.waves] == [("wave-1", ("n1",)), ("wave-2", ("n2", "n3"))]
    assert {step.action for step in made.steps.values()} == {"roll_back"}
    assert (made.canaries, made.refused) == ((), ())


def test_a_node_that_is_back_already_is_not_brought_what_it_has_left():
    """The same command goes on where a run ended: without this it would take the first nodes forth again."""
    back = rollouts.host("n1", record=rollouts.record("rolled_back"), lock="sha256:base")
    made = plan(back, rollouts.host("n2", lock="sha256:new"), locks={"n1": "sha256:new", "n2": "sha256:base"})
    assert (made.steps["n1"].action, made.steps["n1"].outcome) == ("done", "golden")
    assert made.steps["n1"].reason == "it is back already, since %s" % rollouts.T0
    assert made.steps["n2"].action == "roll_back"


def test_a_node_that_has_another_lock_since_it_was_rolled_back_goes_back_from_that():
    again = rollouts.host("n1", record=rollouts.record("rolled_back"), lock="sha256:newer")
    assert plan(again).steps["n1"].action == "roll_back"


def test_a_way_back_that_was_cut_off_is_gone_on_with():
    assert plan(rollouts.host("n1", "rolling_back", lock="sha256:base")).steps["n1"].action == "roll_back"


def test_a_node_without_a_way_back_has_failed_and_one_out_of_reach_is_lost():
    made = plan(
        rollouts.host("n1"),
        rollouts.host("n2", reachable=False, failure="no route to host"),
        locks={},
        errors={"n1": "it was never golden for another lock"},
        budget=2,
    )
    first, second = made.steps["n1"], made.steps["n2"]
    assert (first.action, first.outcome) == ("settled", "failed")
    assert first.reason == "there is no way back: it was never golden for another lock"
    assert (second.action, second.outcome, second.reason) == ("unreachable", "lost", "no route to host")


def test_a_node_that_cannot_be_asked_is_a_refusal():
    made = plan(rollouts.host("n1", record_error="rollout.json cannot be understood: x"), rollouts.host("n2"))
    assert made.refused == ("n1 cannot be asked: rollout.json cannot be understood: x",)
    assert plan().refused[0].startswith("there is no node to roll out to")


def test_a_way_back_that_would_stop_half_way_is_not_begun():
    lost = rollouts.host("n2", reachable=False, failure="timed out")
    made = plan(rollouts.host("n1"), lost)
    assert made.refused == (
        "n2 cannot be reached: timed out",
        "no way back for 1 node, which counts against the budget of 0. Mend that, leave out by --limit "
        "'localhost,gpu_nodes,!n2', or raise rollout_budget",
    )
    assert made.steps == {}
    assert plan(lost).refused[1:] == ("no way back for 1 node, which counts against the budget of 0. Mend that",)


def test_a_limit_that_is_proposed_does_not_widen_the_one_that_was_given():
    limited = dataclasses.replace(rollouts.settings(), within="localhost:rack1")
    known = [rollouts.host("n1"), rollouts.host("n2"), rollouts.host("n3", reachable=False)]
    made = rollout_back.plan(known, {"n1": "sha256:base"}, {"n2": "never"}, limited)
    assert made.refused == (
        "n2: there is no way back: never",
        "n3 cannot be reached: it could not be reached",
        "no way back for 2 nodes, which count against the budget of 0. Mend that, leave out by --limit "
        "'localhost:rack1:!n2:!n3', or raise rollout_budget",
    )
