# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The callback prints the table when, and only when, nodes were lost after their look and no task has printed it."""

from __future__ import annotations

import types

import pytest

from ansible_collections.goldennode.gpu.plugins.callback import lost_nodes

LOOK = {"table": {"gpus": 1, "driver": "580.159.03"}, "verdict": {"findings": [], "first_broken": None}}


def result(host, action, answer=None):
    name = types.SimpleNamespace(get_name=lambda: host)
    return types.SimpleNamespace(host=name, task=types.SimpleNamespace(action=action), result=answer or {})


@pytest.fixture
def callback(monkeypatch):
    made = lost_nodes.CallbackModule()
    made.shown = []
    monkeypatch.setattr(lost_nodes.terminal, "show", lambda rows, display: made.shown.append(rows))
    return made


def test_lost_nodes_have_their_table(callback):
    callback.v2_runner_on_ok(result("node1", lost_nodes.LOOK, LOOK))
    callback.v2_runner_on_unreachable(result("node1", "ansible.builtin.apt"))
    callback.v2_playbook_on_stats(None)
    ((row,),) = callback.shown
    assert (row.node, row.verdict, row.driver) == ("node1", "unreachable", "580.159.03")
    assert "lost" in row.reason


def test_a_table_that_a_task_has_printed_is_not_printed_again(callback):
    callback.v2_runner_on_ok(result("node1", lost_nodes.LOOK, LOOK))
    callback.v2_runner_on_unreachable(result("node1", "ansible.builtin.apt"))
    callback.v2_runner_on_ok(result("node2", lost_nodes.TABLE))
    callback.v2_playbook_on_stats(None)
    assert callback.shown == []


def test_the_runs_of_others_are_left_alone(callback):
    callback.v2_runner_on_unreachable(result("web1", "ansible.builtin.apt"))
    callback.v2_playbook_on_stats(None)
    assert callback.shown == []
