# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""node_drift holds a node against what is kept on it, needs no bundle, and never changes anything."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import typing as t

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.goldennode.gpu.plugins.module_utils import mark as marks
from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.mark import State, Stored
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Evidence, to_plain
from ansible_collections.goldennode.gpu.plugins.modules import node_drift
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)


class Node:
    """A golden node whose look is played."""

    def __init__(self, directory: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.state = State(str(directory / "goldennode"), str(directory / "lock"))
        self.evidence = NODE
        self.asked: t.List[t.Any] = []
        self._capsys = capsys

    def look(self, _host: t.Any, desired: t.Any, scope: str, seconds: float) -> Evidence:
        self.asked.append((desired.digest, scope, seconds))
        mark = to_plain(self.state.mark().value)
        seen = healthy.known(self.evidence, mark=mark)
        return healthy.cheap(seen) if scope == "fact" else dataclasses.replace(seen, scope=scope)

    def mark_golden(self) -> None:
        marks.revoke(self.state, "run 1", "r")
        marks.prepare(self.state, "run 1", Stored(WANTED, 1))
        marks.golden(self.state, "run 1", WANTED, verdict.run(WANTED, NODE, 1), NODE)

    def drift(self, **arguments: t.Any) -> t.Dict[str, t.Any]:
        with patch_module_args(arguments), pytest.raises(SystemExit):
            node_drift.main()
        return t.cast("t.Dict[str, t.Any]", json.loads(self._capsys.readouterr().out))

    def lift(self) -> None:
        packages = dict(NODE.packages.value or {})
        packages["libcuda1"] = dataclasses.replace(packages["libcuda1"], held=False)
        self.evidence = healthy.known(NODE, packages=packages)


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Node:
    found = Node(tmp_path, capsys)
    monkeypatch.setattr(node_drift, "look", found.look)
    monkeypatch.setattr(node_drift.marks, "State", lambda: found.state)
    monkeypatch.setattr(node_drift.os, "geteuid", lambda: 0)
    return found


def test_a_golden_node_has_not_drifted(node: Node) -> None:
    node.mark_golden()
    found = node.drift()
    assert (found["state"], found["rows"], found["others"], found["changed"]) == ("prepared", [], [], False)
    assert found["stored"] == {
        "digest": WANTED.digest,
        "lock": WANTED.lock["id"],
        "bundle": WANTED.lock["bundle"],
        "platform": WANTED.platform,
    }
    assert (found["mark"]["cgroups"], found["mark"]["cgroup_driver"]) == ("2", "systemd")
    assert node.asked == [(WANTED.digest, "host", 60.0)], "no container is started"


@pytest.mark.parametrize("scope", ["host", "fact", "full"])
def test_what_has_drifted_is_told_with_since_when(node: Node, scope: str) -> None:
    node.mark_golden()
    node.lift()
    found = node.drift(scope=scope)
    (row,) = found["rows"]
    assert (row["id"], row["was"], row["is"]) == ("packages.holds", "held", "not held")
    assert row["since"]["how"] == "after"
    assert row["since"]["at"] == found["last_whole"] == found["mark"]["since"]


def test_a_later_good_look_of_the_agent_counts(node: Node) -> None:
    node.mark_golden()
    node.state.put_last({"golden": True, "at": "2999-01-01T00:00:00Z"})
    node.lift()
    assert node.drift()["rows"][0]["since"]["at"] == "2999-01-01T00:00:00Z"


def test_a_node_that_no_run_has_prepared_is_not_looked_at(node: Node) -> None:
    found = node.drift()
    assert (found["state"], found["rows"], found["stored"], found["mark"]) == ("never prepared", [], None, None)
    assert found["mark_objection"] == "the node was never verified"
    assert node.asked == []


def test_a_kept_state_that_is_corrupt_is_named(node: Node) -> None:
    node.mark_golden()
    path = pathlib.Path(node.state.path("desired.json"))
    path.write_text("{")
    found = node.drift()
    assert (found["state"], found["rows"]) == ("unreadable", [])
    assert found["error"].startswith("%s is not JSON: " % path)
    path.write_text('{"desired": {}}')
    assert node.drift()["error"].startswith("desired.json cannot be understood: ")


def test_a_node_whose_run_was_not_finished(node: Node) -> None:
    node.mark_golden()
    marks.revoke(node.state, "run 2", "it is being changed")
    found = node.drift()
    assert found["mark_objection"] == "revoked by run run 2: it is being changed"
    assert found["last_whole"] == ""


def test_it_needs_root_and_time(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    assert node.drift(timeout=0)["msg"] == "timeout is 0; a look needs at least 1 second"
    monkeypatch.setattr(node_drift.os, "geteuid", lambda: 1000)
    assert node.drift()["msg"].startswith("Judging a node needs root")
