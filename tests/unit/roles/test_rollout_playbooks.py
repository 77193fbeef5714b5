# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbooks of a rollout must hand to the modules, so that the rules that these keep can hold."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml

PLAYBOOKS = pathlib.Path(__file__).resolve().parents[3] / "playbooks"
PLAYS = [PLAYBOOKS / "rollout.yml", PLAYBOOKS / "rollback.yml"]
FILES = [*PLAYS, *sorted((PLAYBOOKS / "tasks" / "rollout").glob("*.yml"))]

Task = t.Dict[str, t.Any]


def tasks(path: pathlib.Path) -> t.Iterator[Task]:
    """Every task of a file, in blocks and rescues, too."""
    waiting = list(yaml.safe_load(path.read_text()))
    while waiting:
        one = waiting.pop(0)
        yield one
        for inner in ("tasks", "block", "rescue", "always"):
            waiting += one.get(inner, [])


def steps(state: str) -> t.List[t.Tuple[str, Task]]:
    found = [(path.name, one.get("goldennode.gpu.rollout_node")) for path in FILES for one in tasks(path)]
    return [(name, given) for name, given in found if given and given["state"] == state]


@pytest.mark.parametrize("state", ["pending", "draining", "rolling_back", "failed", "stopped"])
def test_a_run_that_enters_a_node_says_whose_it_was(state):
    """Without it the node is only taken from nobody. What busy.yml does is for a node that this run has already."""
    entering = [(name, given) for name, given in steps(state) if name != "busy.yml"]
    assert entering
    for name, given in entering:
        assert given.get("found_run") == "{{ (__goldennode_rollout.record or {}).run | default('') }}", name


def test_a_node_that_another_run_has_is_not_given_its_work_back():
    first, second = yaml.safe_load((PLAYBOOKS / "tasks" / "rollout" / "busy.yml").read_text())[0]["block"][:2]
    assert first["goldennode.gpu.rollout_node"]["state"] == "draining"
    assert "found_run" not in first["goldennode.gpu.rollout_node"]
    assert second["ansible.builtin.include_role"]["tasks_from"] == "undrain"


@pytest.mark.parametrize("path", PLAYS, ids=lambda path: path.name)
def test_a_run_ends_with_what_the_waves_that_were_begun_tell(path):
    """Else a node that was lost in them would count as one whose turn did not come."""
    plans = [one["goldennode.gpu.rollout"] for one in tasks(path) if "goldennode.gpu.rollout" in one]
    ends = [given for given in plans if given["step"] == "end"]
    assert [given["wave"] for given in ends] == ["{{ __goldennode_progress.wave | default(omit) }}"]


@pytest.mark.parametrize("path", PLAYS, ids=lambda path: path.name)
def test_waves_hold_whatever_ansible_is_configured_for(path):
    play = yaml.safe_load(path.read_text())[0]
    assert (play["strategy"], play["any_errors_fatal"]) == ("linear", False)
    assert play["tasks"][0]["when"] == "'localhost' not in ansible_play_hosts_all"
