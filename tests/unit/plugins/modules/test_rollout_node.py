# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""rollout_node keeps the record of a rollout on the node, and tells the way back."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import typing as t

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.goldennode.gpu.plugins.module_utils import mark as marks
from ansible_collections.goldennode.gpu.plugins.module_utils import rollout, verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.mark import State, Stored
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Boot, Desired, Evidence, Reading, to_plain
from ansible_collections.goldennode.gpu.plugins.modules import rollout_node
from ansible_collections.goldennode.gpu.tests.unit import healthy

OLD = healthy.desired()
NEW = dataclasses.replace(OLD, lock={**OLD.lock, "id": "sha256:" + "b" * 64}, digest="sha256:" + "c" * 64)
NODE = healthy.evidence("a10", OLD)
RUN = {"rollout": "sim-b-0123456789ab", "run": "run 1"}


def wanted(desired: Desired = NEW) -> t.Dict[str, t.Any]:
    return {"desired": {desired.platform: to_plain(desired)}, "bundles": {desired.platform: {}}, "expected_gpus": 1}


class Node:
    def __init__(self, directory: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory / "goldennode"
        self._lock = str(directory / "lock")
        self._capsys = capsys
        self.evidence = NODE

    def state(self, dry: bool = False) -> State:
        return State(str(self.directory), self._lock, dry)

    def call(self, state: str, check: bool = False, **arguments: t.Any) -> t.Dict[str, t.Any]:
        modes = {"_ansible_check_mode": check, "_ansible_diff": True}
        with patch_module_args({"state": state, **arguments, **modes}), pytest.raises(SystemExit):
            rollout_node.main()
        return t.cast("t.Dict[str, t.Any]", json.loads(self._capsys.readouterr().out))

    def steps(self, *states: str) -> None:
        for state in states:
            more = {"desired": wanted()["desired"], "wave": "canary-1"} if state == "pending" else {}
            found = self.call(state, **RUN, **more)
            assert not found.get("failed"), found

    def golden(self, desired: Desired = OLD) -> None:
        state, evidence = self.state(), healthy.evidence("a10", desired)
        marks.revoke(state, "run 0", "")
        marks.prepare(state, "run 0", Stored(desired, 1))
        marks.golden(state, "run 0", desired, verdict.run(desired, evidence, 1), evidence)

    def record(self) -> t.Dict[str, t.Any]:
        return t.cast("t.Dict[str, t.Any]", json.loads((self.directory / "rollout.json").read_text()))


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Node:
    found = Node(tmp_path, capsys)
    monkeypatch.setattr(rollout_node, "State", found.state)
    monkeypatch.setattr(rollout_node.os, "geteuid", lambda: 0)

    def choose(host: object, desired: t.Mapping[str, Desired]) -> t.Tuple[Reading[t.Any], t.Optional[Desired]]:
        return NODE.platform, desired.get(OLD.platform)

    def look(host: object, desired: t.Optional[Desired], scope: str, seconds: float) -> Evidence:
        return healthy.cheap(found.evidence)

    monkeypatch.setattr(rollout_node, "choose", choose)
    monkeypatch.setattr(rollout_node, "look", look)
    return found


def test_a_node_in_no_rollout(node: Node) -> None:
    node.golden()
    found = node.call("read", **wanted())
    assert found["changed"] is False
    known = found["node"]
    assert (found["record"], known["record_error"], known["base"]) == (None, "", True)
    assert (known["platform"], known["platform_known"]) == (OLD.platform, True)
    assert (known["golden_for_target"], known["lock"]) == (False, OLD.lock["id"])
    assert known["axes"]["driver"] == "580.159.03 open"
    assert node.call("read", **wanted(OLD))["node"]["golden_for_target"] is True


def test_a_golden_node_with_a_fault_is_not_golden_for_what_is_wanted(node: Node) -> None:
    node.golden()
    node.evidence = healthy.known(NODE, boot=Boot("other", healthy.KERNEL, 5000.0))
    assert node.call("read", **wanted(OLD))["node"]["golden_for_target"] is False


def test_a_rollout_that_succeeds(node: Node) -> None:
    node.golden()
    node.steps("pending", "draining", "converging", "verifying", "soaking", "golden")
    record = node.record()
    assert (record["state"], record["rollout"], record["wave"]) == ("golden", RUN["rollout"], "canary-1")
    assert (record["base_lock"], record["target_lock"]) == (OLD.lock["id"], NEW.lock["id"])


def test_a_node_in_the_middle_goes_back_to_what_it_was_golden_for(node: Node) -> None:
    node.golden()
    node.steps("pending", "draining", "converging")
    state = node.state()
    marks.revoke(state, "run 1", "")
    marks.prepare(state, "run 1", Stored(NEW, 1))
    node.steps("rolling_back")
    back = node.call("base")
    assert (back["changed"], back["way_back_error"]) == (False, "")
    assert back["way_back"] == marks.portable(Stored(OLD, 1))
    node.steps("rolled_back")


def test_another_run_may_not_move_a_node_that_is_under_way(node: Node) -> None:
    node.golden()
    node.steps("pending", "draining", "converging")
    found = node.call("verifying", rollout=RUN["rollout"], run="run 2")
    assert found["failed"]
    assert "run 1 has it since" in found["msg"]
    assert node.record()["state"] == "converging"


def test_a_step_of_another_rollout_is_refused(node: Node) -> None:
    assert node.call("draining", **RUN)["msg"] == (
        "the node is in no rollout, and not in sim-b-0123456789ab; run rollout.yml again"
    )


def test_a_node_that_was_never_golden_has_no_way_back(node: Node) -> None:
    node.steps("pending", "draining", "converging")
    assert "there is no way back" in node.call("rolling_back", **RUN)["msg"]
    node.steps("failed")
    assert node.call("base")["way_back"] is None


def test_a_step_that_may_reboot_says_until_when(node: Node) -> None:
    node.golden()
    node.steps("pending", "draining", "converging")
    node.call("verifying", back_within=600, **RUN)
    record = node.record()
    assert record["deadline"] == rollout.after(record["since"], 600)


def test_check_mode_writes_nothing(node: Node) -> None:
    node.golden()
    more = {"desired": wanted()["desired"], "wave": "canary-1"}
    assert node.call("pending", check=True, **RUN, **more)["changed"] is True
    assert not (node.directory / "rollout.json").exists()


def test_a_record_that_cannot_be_understood_is_named_and_never_written_over(node: Node) -> None:
    node.directory.mkdir()
    (node.directory / "rollout.json").write_text("[]")
    assert "cannot be understood" in node.call("read", **wanted())["node"]["record_error"]
    more = {"desired": wanted()["desired"], "wave": "canary-1"}
    found = node.call("pending", **RUN, **more)
    assert found["failed"]
    assert "remove it where the rollout is over" in found["msg"]
    assert (node.directory / "rollout.json").read_text() == "[]"


def test_the_lock_before_is_told_for_a_rollback_without_a_rollout(node: Node) -> None:
    node.golden()
    node.golden(NEW)
    assert node.call("previous")["way_back"] == marks.portable(Stored(OLD, 1))


LEAVE = {"run": "run 2", "reason": "rollback.yml takes the node back"}


def test_a_node_goes_back_by_itself_and_leaves_the_rollout_that_has_brought_its_lock(node: Node) -> None:
    node.golden()
    node.steps("pending", "draining", "converging", "verifying", "soaking")
    node.golden(NEW)
    node.steps("golden")
    found = node.call("rolling_back", found_run="run 1", **LEAVE)["record"]
    assert (found["rollout"], found["state"], found["run"]) == (RUN["rollout"], "rolling_back", "run 2")
    assert (found["base_lock"], found["target_lock"]) == (OLD.lock["id"], NEW.lock["id"])
    assert node.call("previous")["way_back"] == marks.portable(Stored(OLD, 1))
    assert node.call("rolled_back", rollout=found["rollout"], run="run 2")["record"]["state"] == "rolled_back"


def test_a_node_in_no_rollout_goes_back_with_a_record_of_its_own(node: Node) -> None:
    node.golden()
    assert node.call("rolling_back", **LEAVE)["msg"] == "there is no way back: it was never golden for another lock"
    node.golden(NEW)
    found = node.call("rolling_back", **LEAVE)["record"]
    assert (found["rollout"], found["base_lock"]) == ("rollback", OLD.lock["id"])


def test_a_run_takes_a_node_over_from_the_run_that_it_has_read_and_from_no_other(node: Node) -> None:
    node.golden()
    node.steps("pending", "draining", "converging")
    other = {"rollout": RUN["rollout"], "run": "run 2"}
    assert "run 1 has it since" in node.call("draining", **other)["msg"]
    assert node.call("draining", found_run="run 1", **other)["record"]["run"] == "run 2"
    for state in ("draining", "rolling_back"):
        assert "run 2 has it since" in node.call(state, found_run="run 0", **RUN)["msg"], "run 1 steps aside"
    assert node.record()["run"] == "run 2"


def test_a_node_without_a_way_back_that_another_run_has_left_comes_to_its_end(node: Node) -> None:
    node.steps("pending", "draining", "converging", "verifying")
    found = node.call("failed", rollout=RUN["rollout"], run="run 2", found_run="run 1")
    assert found["record"]["state"] == "failed"


def test_a_node_whose_gpus_are_in_use_waits_for_its_turn_again(node: Node) -> None:
    node.golden()
    node.steps("pending", "draining")
    found = node.call("pending", **RUN, reason="the GPUs are in use")
    assert not found.get("failed"), found
    record = node.record()
    assert (record["state"], record["wave"], record["reason"]) == ("pending", "canary-1", "the GPUs are in use")
    assert record["base_lock"] == OLD.lock["id"]
