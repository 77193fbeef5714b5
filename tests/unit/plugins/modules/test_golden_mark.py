# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""golden_mark does what its states say, judges again before it marks, and is true in check and diff mode."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.goldennode.gpu.plugins.module_utils.mark import State
from ansible_collections.goldennode.gpu.plugins.module_utils.model import DriverLoaded, Evidence, to_plain
from ansible_collections.goldennode.gpu.plugins.modules import golden_mark
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)
PREPARED = {"state": "prepared", "run": "run 1", "desired": to_plain(WANTED), "expected_gpus": 1}
REVOKED = {"state": "revoked", "run": "run 1", "reason": "a new bundle"}


def golden(evidence: Evidence = NODE) -> t.Dict[str, t.Any]:
    return {**PREPARED, "state": "golden", "look": {"evidence": to_plain(evidence)}}


class Node:
    def __init__(self, directory: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory / "goldennode"
        self._lock = str(directory / "lock")
        self._capsys = capsys

    def state(self, dry: bool = False) -> State:
        return State(str(self.directory), self._lock, dry)

    def call(self, arguments: t.Mapping[str, t.Any], check: bool = False) -> t.Dict[str, t.Any]:
        modes = {"_ansible_check_mode": check, "_ansible_diff": True}
        with patch_module_args({**arguments, **modes}), pytest.raises(SystemExit):
            golden_mark.main()
        return t.cast("t.Dict[str, t.Any]", json.loads(self._capsys.readouterr().out))


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Node:
    found = Node(tmp_path, capsys)
    monkeypatch.setattr(golden_mark, "State", found.state)
    monkeypatch.setattr(golden_mark.os, "geteuid", lambda: 0)
    return found


def test_one_run_and_its_repetition(node: Node) -> None:
    revoked = node.call(REVOKED)
    assert (revoked["changed"], revoked["mark"]["state"], revoked["mark"]["reason"]) == (
        True,
        "revoked",
        "a new bundle",
    )
    assert not node.call(REVOKED)["changed"]
    prepared = node.call(PREPARED)
    assert (prepared["changed"], prepared["mark"]["state"]) == (True, "revoked")
    assert not node.call(PREPARED)["changed"]
    marked = node.call(golden())
    assert (marked["changed"], marked["mark"]["state"]) == (True, "golden")
    again = node.call(golden())
    assert (again["changed"], again["mark"]) == (False, marked["mark"])


def test_the_difference_is_told(node: Node) -> None:
    first = node.call(REVOKED)["diff"]
    assert first["before"] == ""
    assert json.loads(first["after"])["state"] == "revoked"
    node.call(PREPARED)
    diff = node.call(golden())["diff"]
    assert (json.loads(diff["before"])["state"], json.loads(diff["after"])["state"]) == ("revoked", "golden")


@pytest.mark.parametrize("arguments", [REVOKED, PREPARED, golden()])
def test_check_mode_predicts_and_writes_nothing(node: Node, arguments: t.Dict[str, t.Any]) -> None:
    result = node.call(arguments, check=True)
    assert result["changed"]
    assert result["diff"]["after"]
    assert not node.directory.exists()


def test_the_verdict_is_judged_anew_from_the_evidence(node: Node) -> None:
    node.call(REVOKED)
    node.call(PREPARED)
    broken = golden(healthy.known(NODE, driver=DriverLoaded("580.126.09", "open")))
    broken["look"]["verdict"] = {"golden": True}
    result = node.call(broken)
    assert result["failed"]
    assert "host_driver is broken" in result["msg"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({**golden(), "look": {"verdict": {}}}, "evidence=always"),
        ({**PREPARED, "desired": {"digest": 5}}, "digest"),
        ({"state": "golden", "run": "run 1"}, "missing: desired, expected_gpus, look"),
        (PREPARED, "only the run that has revoked the mark may"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason(node: Node, arguments: t.Dict[str, t.Any], words: str) -> None:
    result = node.call(arguments)
    assert result["failed"]
    assert words in result["msg"]
    assert not (node.directory / "mark.json").exists()


def test_a_lock_that_is_held_is_not_waited_for_for_ever(node: Node) -> None:
    with node.state().locked(0):
        result = node.call({**REVOKED, "lock_timeout": 0})
    assert result["failed"]
    assert "another run or the agent" in result["msg"]


def test_without_root_it_says_what_is_missing(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden_mark.os, "geteuid", lambda: 1000)
    assert "become: true" in node.call(REVOKED)["msg"]
