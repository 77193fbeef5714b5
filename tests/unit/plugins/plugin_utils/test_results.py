# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of results: what diagnose.yml writes and every report is made of."""

from __future__ import annotations

import json
import os
import pathlib

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import LAYERS
from ansible_collections.goldennode.gpu.plugins.module_utils.table import Row
from ansible_collections.goldennode.gpu.plugins.plugin_utils import results, results_file
from ansible_collections.goldennode.gpu.tests.unit import healthy, reports

FIELDS = [
    *("golden", "works", "verdict", "first_broken", "layers", "action", "findings", "not_proven", "table"),
    *("platform", "collected_at", "desired_digest", "error"),
]


def test_a_golden_node() -> None:
    found = reports.kinds()["golden"]
    assert list(found) == FIELDS
    assert (found["golden"], found["works"], found["verdict"], found["first_broken"]) == (True, True, "golden", None)
    assert found["layers"] == dict.fromkeys(LAYERS, "pass")
    assert (found["action"], found["error"], found["not_proven"]) == (None, "", [])
    assert found["table"]["driver"] == healthy.DRIVER
    assert found["desired_digest"] == healthy.desired().digest
    assert (found["platform"], found["collected_at"]) == ("debian-13-x86_64", reports.WRITTEN)


def test_a_broken_node_has_its_finding_and_the_next_action() -> None:
    found = reports.kinds()["driver"]
    assert (found["golden"], found["works"], found["first_broken"]) == (False, False, "host_driver")
    assert found["layers"]["host_driver"] == "fail"
    assert found["layers"]["image"] == "skip"
    fix = "Run site.yml on this node. It loads the module."
    assert found["action"] == {"text": fix, "id": "host_driver.loaded", "repair": "roles"}
    assert results.first_cause(found)["id"] == "host_driver.loaded"


def test_a_node_that_works_and_has_no_mark() -> None:
    found = reports.kinds()["unmarked"]
    assert (found["golden"], found["works"], found["first_broken"]) == (False, True, None)
    assert found["action"]["repair"] == "roles"
    assert found["error"] == ""


@pytest.mark.parametrize(
    ("kind", "verdict", "error"),
    [
        ("unreachable", "unreachable", "ssh: connect to host 10.0.0.3 port 22: timed out"),
        ("failed", "failed", "Look at the whole chain: sudo: a password is required"),
        ("none", "not looked at", "The run ended before this host's turn"),
    ],
)
def test_a_node_without_a_look_says_why_and_has_no_layer(kind: str, verdict: str, error: str) -> None:
    found = reports.kinds()[kind]
    assert (found["golden"], found["works"], found["verdict"], found["error"]) == (False, False, verdict, error)
    assert (found["layers"], found["findings"]) == ({}, [])
    assert found["action"]["repair"] == "manual"
    assert found["table"] == {**dict.fromkeys(results.TABLE), "expected_gpus": 1}


def test_a_node_that_was_lost_keeps_what_was_seen_of_it() -> None:
    found = reports.node(reports.look(healthy.evidence()), lost=True)
    assert (found["golden"], found["verdict"]) == (False, "unreachable")
    assert found["error"].startswith("The node was lost while the run was at work on it")
    assert found["layers"]["image"] == "pass"


def test_what_is_written_is_read_back_as_it_was(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(results.to_json(reports.every_kind()))
    assert results_file.read(path) == reports.every_kind()
    assert results.to_json(reports.every_kind()) == path.read_bytes()


def test_hostile_text_is_written_and_read_back(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(results.to_json(reports.hostile()))
    assert results_file.read(path) == reports.hostile()


def test_a_node_of_a_file_as_a_row_of_the_table() -> None:
    kinds = reports.kinds()
    assert results.row("a", kinds["golden"]) == Row("a", "golden", 1, 1, healthy.DRIVER, "1.20.0", "26.1.4")
    broken = results.row("b", kinds["driver"])
    assert broken.page == "docs/checks/host_driver.loaded.md"
    assert (broken.layer, broken.fix) == ("host_driver", "Run site.yml on this node. It loads the module.")
    assert broken.reason.startswith("The nvidia module is on disk and not loaded.")
    assert results.row("c", kinds["none"]).reason == "The run ended before this host's turn"
    without = ("golden", "none", "unproven", "unmarked", "unreachable", "failed")
    assert {results.row(name, kinds[name]).page for name in without} == {""}
    assert results.row("d", kinds["unproven"]).reason.startswith("Not proven: packages.kept: ")
    assert results.row("e", kinds["unmarked"]).reason == results.UNMARKED


def test_layers_of_later_versions_come_last() -> None:
    found = reports.of({"a": {**reports.kinds()["golden"], "layers": {"workload": "pass", "image": "pass"}}})
    assert results.layers(found) == [*LAYERS, "workload"]


def test_what_diagnose_writes_is_read() -> None:
    """It names the finding of the action in another way, and has an action for who needs none."""
    action = {"text": "Nothing is to be done.", "finding": "a.b", "repair": ""}
    found = results_file.check({"schema": 1, "nodes": {"a": {"golden": True, "verdict": "golden", "action": action}}})
    assert found["nodes"]["a"]["action"] == {"text": "Nothing is to be done.", "id": "a.b", "repair": ""}
    assert results.row("a", found["nodes"]["a"]).explanation == ""


def test_what_may_be_left_out_has_its_empty_value() -> None:
    found = results_file.check({"schema": 1, "nodes": {"a": {"golden": True, "verdict": "golden", "later": 1}}})
    assert list(found["nodes"]["a"]) == FIELDS
    assert found["nodes"]["a"]["table"] == dict.fromkeys((*results.TABLE, "expected_gpus"))
    assert (found["nodes"]["a"]["works"], found["nodes"]["a"]["layers"]) == (False, {})


_NODE = {"golden": False, "verdict": "not golden"}
_FINDING = {"id": "a.b", "layer": "a", "status": "fail"}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([], "the file: an object is expected, not []"),
        ({}, "schema: 1 is expected, not null"),
        ({"schema": 2, "nodes": {}}, "schema: 1 is expected, not 2"),
        ({"schema": True, "nodes": {}}, "schema: 1 is expected, not true"),
        ({"schema": 1}, "nodes is missing"),
        ({"schema": 1, "nodes": []}, "nodes: an object is expected, not []"),
        ({"schema": 1, "nodes": {"a": 3}}, 'nodes["a"]: an object is expected, not 3'),
        ({"schema": 1, "nodes": {"a": {"golden": True}}}, 'nodes["a"].verdict is missing'),
        (
            {"schema": 1, "nodes": {"a": {**_NODE, "golden": "yes"}}},
            'nodes["a"].golden: true or false is expected, not "yes"',
        ),
        (
            {"schema": 1, "nodes": {"a": {**_NODE, "layers": {"image": "bad"}}}},
            'nodes["a"].layers["image"]: one of pass, fail, unknown, skip is expected, not "bad"',
        ),
        (
            {"schema": 1, "nodes": {"a": {**_NODE, "findings": [_FINDING, {**_FINDING, "fix": None}]}}},
            'nodes["a"].findings[1].fix: text is expected, not null',
        ),
        (
            {"schema": 1, "nodes": {"a": {**_NODE, "findings": [{"id": "x", "layer": "y"}]}}},
            'nodes["a"].findings[0].status is missing',
        ),
        (
            {"schema": 1, "nodes": {"a": {**_NODE, "action": "reboot"}}},
            'nodes["a"].action: an object or null is expected, not "reboot"',
        ),
        (
            {"schema": 1, "nodes": {"a": {**_NODE, "table": {"gpus": 1.5}}}},
            'nodes["a"].table.gpus: text, a whole number or null is expected, not 1.5',
        ),
        (
            {"schema": 1, "nodes": {"a": {**_NODE, "not_proven": ["x", ["y"]]}}},
            'nodes["a"].not_proven[1]: text is expected, not ["y"]',
        ),
    ],
)
def test_what_is_no_result_is_refused_with_its_place(tmp_path: pathlib.Path, found: object, words: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(found))
    with pytest.raises(results_file.ResultsError) as error:
        results_file.read(path)
    assert str(error.value) == (
        "%s holds no results: %s. Give the file that diagnose.yml or report.yml wrote "
        "(goldennode_result, goldennode_report_json), as it is." % (path, words)
    )


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "is not JSON: Expecting value"),
        (b"---\nnodes: {}", "is not JSON: "),
        (b"\x7fELF\xff", "is not UTF-8: byte 4 cannot be read"),
        (b"[" * 200000, "is nested too deep"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: pathlib.Path, raw: bytes, words: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(raw)
    with pytest.raises(results_file.ResultsError) as error:
        results_file.read(path)
    assert str(error.value).startswith("%s %s" % (path, words))


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(results_file.ResultsError, match="cannot be read: No such file or directory"):
        results_file.read(tmp_path / "none.json")
    with pytest.raises(results_file.ResultsError, match="cannot be read: Is a directory"):
        results_file.read(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(results_file.ResultsError, match="is no file. Name the file of results that is to be shown"):
        results_file.read(tmp_path / "pipe")
