# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table as a play prints it, and what the play learns of each host."""

from __future__ import annotations

import json
import pathlib
from xml.etree import ElementTree

import pytest
from ansible.errors import AnsibleActionFail

from ansible_collections.goldennode.gpu.plugins.action import report as action
from ansible_collections.goldennode.gpu.plugins.plugin_utils import page, results, results_file
from ansible_collections.goldennode.gpu.tests.unit import actions, reports

LOOK = {
    "golden": True,
    "verified": True,
    "verdict": {"golden": True, "first_broken": None, "findings": [], "not_proven": []},
    "table": {"gpus": 1, "driver": "580.159.03", "toolkit": "1.20.0", "docker": "26.1.4", "kernel": "6.12"},
}
HOSTVARS = {
    "node1": {"__goldennode_look": LOOK, "__goldennode_bundle": {"expected_gpus": 1}},
    "node2": {"__goldennode_failure": {"task": "Read the bundle", "message": "2 problems:\n- one\n- two"}},
    "node3": {},
}


def run(arguments):
    display = actions.Display(columns=79)
    found = actions.run(action.ActionModule, arguments, {"hostvars": HOSTVARS}, display=display)
    assert len(display.shown) == 1
    return found, display.shown[0]


def test_a_row_for_every_host_and_what_is_known_of_it():
    found, text = run({"hosts": ["node1", "node2", "node3"]})
    assert found["changed"] is False
    assert found["nodes"]["node1"] == {
        "golden": True,
        "failed": False,
        "verdict": "golden",
        "layer": "",
        "reason": "",
        "fix": "",
        "findings": [],
        "message": "node1: golden.",
    }
    assert found["nodes"]["node2"]["failed"] is True
    assert found["nodes"]["node2"]["message"] == "node2: failed. Read the bundle: 2 problems: - one - two."
    assert (found["nodes"]["node3"]["golden"], found["nodes"]["node3"]["verdict"]) == (False, "not looked at")
    assert "node1  1/1   580.159.03  1.20.0   26.1.4  golden\n" in text
    assert "1 of 3 nodes are golden.\n" in text


def test_rows_are_shown_as_they_are():
    found, text = run(
        {"rows": [{"node": "a", "verdict": "not golden", "layer": "image", "reason": "gone", "gpus": "0"}]}
    )
    assert found["nodes"]["a"]["layer"] == "image"
    assert "a     0/?" in text


@pytest.mark.parametrize(
    ("columns", "beside"), [("160", True), ("80", False), ("", False), ("wide", False), ("0", False)]
)
def test_the_table_is_as_wide_as_columns_says(monkeypatch, columns, beside):
    monkeypatch.setenv("COLUMNS", columns)
    _found, text = run({"hosts": ["node1", "node2"]})
    assert ("FIRST BROKEN LAYER AND FIX" in text) is beside


@pytest.mark.parametrize("arguments", [{}, {"hosts": ["node1"], "rows": []}, {"rows": [{"node": "a"}]}])
def test_other_arguments_are_refused(arguments):
    with pytest.raises(AnsibleActionFail):
        run(arguments)


def test_files_for_people_machines_and_ci(tmp_path: pathlib.Path) -> None:
    files = {name: str(tmp_path / name) for name in ("html", "json", "junit", "path")}
    found, _text = run({"hosts": ["node1", "node2", "node3"], **files})
    written = results_file.read(tmp_path / "json")
    assert {name: one["verdict"] for name, one in written["nodes"].items()} == {
        "node1": "golden",
        "node2": "failed",
        "node3": "not looked at",
    }
    assert written["nodes"]["node2"]["error"] == "Read the bundle: 2 problems:\n- one\n- two"
    assert (tmp_path / "html").read_bytes() == page.render(written)
    assert len(ElementTree.parse(tmp_path / "junit").getroot()) == 3
    assert json.loads((tmp_path / "path").read_text())["nodes"] == found["nodes"]


def test_results_that_are_there_need_no_host(tmp_path: pathlib.Path) -> None:
    (tmp_path / "results.json").write_bytes(results.to_json(reports.every_kind()))
    arguments = {"results": str(tmp_path / "results.json"), "html": str(tmp_path / "page.html")}
    found, text = run(arguments)
    assert "2 of 10 nodes are golden." in text
    assert found["nodes"]["gpu-driver.example.com"]["layer"] == "host_driver"
    assert [one["id"] for one in found["nodes"]["gpu-driver.example.com"]["findings"]] == ["host_driver.loaded"]
    assert found["nodes"]["gpu-golden.example.com"]["golden"] is True
    assert (tmp_path / "page.html").read_bytes() == page.render(reports.every_kind())


@pytest.mark.parametrize("option", ["path", "html", "json", "junit"])
def test_a_file_that_cannot_be_written_is_named(tmp_path: pathlib.Path, option: str) -> None:
    path = tmp_path / "no" / "such"
    with pytest.raises(AnsibleActionFail) as error:
        actions.run(
            action.ActionModule,
            {"hosts": ["node1"], option: str(path)},
            {"hostvars": HOSTVARS},
            display=actions.Display(columns=79),
        )
    assert str(error.value) == (
        "%s: %s cannot be written: No such file or directory. Name a file in a folder that is yours" % (option, path)
    )


def test_one_that_cannot_be_written_keeps_no_other_from_being_there(tmp_path: pathlib.Path) -> None:
    bad = str(tmp_path / "no" / "such")
    files = {"path": bad, "html": bad, "json": str(tmp_path / "json"), "junit": str(tmp_path / "junit")}
    with pytest.raises(AnsibleActionFail) as error:
        run({"hosts": ["node1"], **files})
    assert [line.partition(":")[0] for line in str(error.value).split("\n")] == ["path", "html"]
    assert set(results_file.read(tmp_path / "json")["nodes"]) == {"node1"}
    assert len(ElementTree.parse(tmp_path / "junit").getroot()) == 1


def test_a_file_that_holds_no_results_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x").write_text("[]")
    with pytest.raises(AnsibleActionFail) as error:
        run({"results": str(tmp_path / "x")})
    assert str(error.value).startswith("results: %s holds no results: the file: an object" % (tmp_path / "x"))


@pytest.mark.parametrize("option", ["html", "json", "junit"])
def test_rows_alone_are_no_results(option: str) -> None:
    with pytest.raises(AnsibleActionFail, match="mutually exclusive: rows"):
        run({"rows": [{"node": "a", "verdict": "golden"}], option: "/tmp/x"})
