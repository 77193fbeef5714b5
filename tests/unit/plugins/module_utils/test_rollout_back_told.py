# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a way back, and its words: nothing is begun that is bound to stop half way."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import rollout_back, rollout_text, waves
from ansible_collections.goldennode.gpu.tests.unit.rollouts import host, hosts, settings

OLD = "sha256:" + "0ld" * 7


def plan(known, without=(), within="localhost,gpu_nodes", **values):
    locks = {one.name: OLD for one in known if one.reachable and one.name not in without}
    errors = dict.fromkeys(without, "it was never golden before")
    return rollout_back.plan(known, locks, errors, dataclasses.replace(settings(**values), within=within))


def shown(made):
    return rollout_text.plan(made, {}, dict.fromkeys(made.steps, OLD), {})


def test_every_node_goes_back_wave_by_wave_without_a_canary():
    made = plan(hosts(3), waves=["2"], budget=1)
    assert (made.canaries, made.budget, made.refused) == ((), 1, ())
    assert {name: (step.wave, step.action) for name, step in made.steps.items()} == {
        "n1": ("wave-1", "roll_back"),
        "n2": ("wave-1", "roll_back"),
        "n3": ("wave-2", "roll_back"),
    }
    assert shown(made) == (
        "Way back\n"
        "  3 nodes; 1 of them may fail\n"
        "  3 nodes: lock none -> 0ld0ld0ld0ld\n"
        "  wave-1  2 nodes  to roll back: n1, n2\n"
        "  wave-2  1 node  to roll back: n3"
    )


@pytest.mark.parametrize(
    ("known", "without", "said"),
    [
        (
            [host("n1"), host("n2", reachable=False, failure="timed out")],
            (),
            ("n2 cannot be reached: timed out", "no way back for 1 node, which counts against the budget of 0. "),
        ),
        (
            [host("n1"), host("n2"), host("n3", reachable=False)],
            ("n1",),
            (
                "n1: there is no way back: it was never golden before",
                "n3 cannot be reached: it could not be reached",
                "no way back for 2 nodes, which count against the budget of 0. ",
            ),
        ),
    ],
)
def test_what_would_stop_half_way_is_not_begun(known, without, said):
    made = plan(known, without)
    *nodes, budget = made.refused
    assert (tuple(nodes), made.steps) == (said[:-1], {})
    left_out = ",".join("!" + text.split()[0].strip(":") for text in nodes)
    assert budget == (
        "%sMend that, leave out by --limit 'localhost,gpu_nodes,%s', or raise rollout_budget" % (said[-1], left_out)
    )
    assert not plan(known, without, budget=2).refused


def test_no_other_node_is_proposed_than_those_of_the_run():
    """A limit that is proposed must not widen the one that was given."""
    lost = host("n2", reachable=False)
    said = "no way back for 1 node, which counts against the budget of 0. Mend that"
    assert plan([lost]).refused[-1] == said
    made = plan([host("n1"), lost], within="localhost:rack1")
    assert made.refused[-1] == said + ", leave out by --limit 'localhost:rack1:!n2', or raise rollout_budget"


def test_nodes_do_not_go_opposite_ways():
    """The second run of a way back that was killed: n1 and n2 are back, and would be taken forth again."""
    new = "sha256:" + "11e" * 7
    known = [host("n1", lock=OLD), host("n2", lock=OLD), host("n3", lock=new)]
    made = rollout_back.plan(known, {"n1": new, "n2": new, "n3": OLD}, {}, settings())
    assert made.refused == (
        "nodes would go opposite ways, as after a way back that ended before all were back: n1, n2 have the lock "
        "0ld0ld0ld0ld and would go to 11e11e11e11e, and n3 the other way. Leave out those that are where they should "
        "be: --limit 'localhost,gpu_nodes,!n1,!n2' or --limit 'localhost,gpu_nodes,!n3'",
    )
    assert not rollout_back.plan(known[2:], {"n3": OLD}, {}, settings()).refused
    assert not rollout_back.plan(known, {"n1": new, "n2": new, "n3": "sha256:older"}, {}, settings()).refused


def test_a_node_that_cannot_be_asked_and_no_node_at_all():
    assert plan([host("n1"), host("n2", failure="no sudo")]).refused == ("n2 cannot be asked: no sudo",)
    assert plan([]).refused == (
        "there is no node to roll out to: the group gpu_nodes has none, or --limit leaves none",
    )


def test_the_words_of_how_it_came_out():
    made = plan(hosts(2), budget=1)
    outcomes = {"n1": "golden", "n2": "failed"}
    paint = lambda text, _tone: text  # noqa: E731
    assert rollout_text.summary(made, outcomes, {}, paint).endswith("\n\n1 of 2 nodes golden for what they had before.")
    assert rollout_text.message(made, outcomes, waves.Next(False)) == (
        "The way back is not complete, within its budget of 1. Not golden for what they had before: failed: n2."
    )
    assert rollout_text.progress(made, "wave-1", outcomes, waves.Next(True, "why")).endswith(
        ". The way back stops: why"
    )
