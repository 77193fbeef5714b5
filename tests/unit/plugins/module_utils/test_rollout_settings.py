# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of a rollout: what is refused, in which words, and what the rest means."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import rollout_settings
from ansible_collections.goldennode.gpu.plugins.module_utils.waves import Size
from ansible_collections.goldennode.gpu.plugins.plugin_utils import role_variables
from ansible_collections.goldennode.gpu.tests.unit import rollouts


def problems(**values):
    named = {"rollout_" + name: value for name, value in values.items()}
    return [str(problem) for problem in rollout_settings.problems({**rollouts.DEFAULTS, **named})]


def test_the_defaults_of_the_role_have_no_problem_and_are_those_of_the_tests():
    defaults = role_variables.roles()["rollout"].defaults
    assert rollout_settings.problems(defaults) == []
    assert {name: defaults[name] for name in rollouts.DEFAULTS} == rollouts.DEFAULTS


SIZES = '. Write a number of nodes, as 5, or a percentage of the production nodes, as "25%".'
NAMES = ". Write a number, as 1, or names of hosts, as [gpu01, gpu02]."


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"waves": []}, 'rollout_waves: [] is empty. Name at least one size, as ["25%"].'),
        ({"waves": ["101%"]}, "rollout_waves: '101%' is more than all nodes" + SIZES),
        ({"waves": ["5", "0"]}, "rollout_waves: '0' is a wave of no nodes" + SIZES),
        ({"waves": ["0%"]}, "rollout_waves: '0%' is a wave of no nodes" + SIZES),
        ({"waves": ["half"]}, "rollout_waves: 'half' is neither a number of nodes nor a percentage" + SIZES),
        ({"budget": "101%"}, "rollout_budget: '101%' is more than all nodes" + SIZES),
        ({"budget": -1}, "rollout_budget: -1 is neither a number of nodes nor a percentage" + SIZES),
        ({"budget": False}, "rollout_budget: False is neither a number of nodes nor a percentage" + SIZES),
        ({"canaries": -1}, "rollout_canaries: -1 is less than 0" + NAMES),
        ({"canaries": True}, "rollout_canaries: True is neither a number of hosts nor a list of their names" + NAMES),
        ({"canaries": 1.5}, "rollout_canaries: 1.5 is neither a number of hosts nor a list of their names" + NAMES),
        ({"canaries": ["a", 1]}, "rollout_canaries: ['a', 1] is neither a number of hosts nor a list of their names"),
        ({"canaries": ["a", " "]}, "rollout_canaries: ['a', ' '] has a name that is empty" + NAMES),
        ({"canaries": "a,,b"}, "rollout_canaries: 'a,,b' has a name that is empty" + NAMES),
        ({"canaries": {"a": 1}}, "is neither a number of hosts nor a list of their names"),
        ({"soak_rounds": 0}, "rollout_soak_rounds: 0 is less than 1. Give it 1 or more: without a soak nothing proves"),
        ({"soak_interval": -1}, "rollout_soak_interval: -1 is less than 0. Give it 0 seconds or more, 60 is usual."),
        ({"gpu_wait": -1}, "rollout_gpu_wait: -1 is less than 0. Give it 0 seconds or more; 0 waits for nobody."),
        ({"stale_after": 0}, "rollout_stale_after: 0 is less than 1. Give it 1 hour or more, 24 is usual."),
        ({"stale_after": 10**20}, "rollout_stale_after: 100000000000000000000 is longer than any rollout. Give it "),
    ],
)
def test_what_is_wrong_is_told_with_what_to_write(values, said):
    (found,) = problems(**values)
    assert said in found


def test_all_problems_come_at_once():
    assert len(problems(waves=["x", "0"], budget="x", canaries=-1, soak_rounds=0, stale_after=0)) == 6


def test_a_budget_of_nothing_and_waves_of_all_are_fine():
    assert problems(budget="0%", waves=["100%"], canaries=0) == []


@pytest.mark.parametrize(
    ("value", "canaries"),
    [
        (2, 2),
        ("2", 2),  # as -e gives it
        (["a", "b", "a"], ("a", "b")),
        ("gpu01", ("gpu01",)),
        ("gpu02, gpu01", ("gpu02", "gpu01")),
        ([], ()),
        (["7"], ("7",)),
        (["\u00fc"], ("\u00fc",)),
    ],
)
def test_canaries_are_a_number_or_names(value, canaries):
    assert rollouts.settings(canaries=value).canaries == canaries


def test_what_the_variables_mean():
    found = rollouts.settings(waves=["1", "25 %"], budget="10%", take_over=" pool-1 ", retry=True, stale_after=48)
    assert found.waves == (Size(1), Size(25, True))
    assert found.budget == Size(10, True)
    assert (found.take_over, found.retry, found.stale_after) == ("pool-1", True, 48)
