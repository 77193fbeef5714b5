# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the action drift prints, keeps and returns, for the hosts of a play."""

from __future__ import annotations

import json

import pytest
from ansible.errors import AnsibleActionFail

from ansible_collections.goldennode.gpu.plugins.action import drift as action
from ansible_collections.goldennode.gpu.plugins.module_utils.version import VERSION
from ansible_collections.goldennode.gpu.tests.unit import actions

ROW = {
    "what": "hold", "id": "packages.holds", "layer": "packages", "status": "drifted", "entity": "libcuda1",
    "was": "held", "is": "not held", "cause": "Nothing keeps an upgrade from moving libcuda1.",
    "fix": "Run site.yml on this node.", "repair": "roles", "waived": "",
    "since": {"how": "after", "at": "2026-12-01T09:30:00Z", "told_by": "the last look that found it whole"},
}  # fmt: skip
STORED = {"digest": "sha256:d", "lock": "sha256:one", "bundle": "sim-a", "platform": "debian-13-x86_64"}
LOOK = {
    "state": "prepared", "error": "", "rows": [], "others": [], "stored": STORED, "mark": {"state": "golden"},
    "mark_objection": "", "last_whole": "2026-12-01T09:30:00Z", "collected_at": "2026-12-01T10:00:00+00:00",
}  # fmt: skip
OTHER = {"digest": "sha256:e", "lock": {"id": "sha256:two", "bundle": "sim-b"}}
HOSTVARS = {
    "well": {"__goldennode_drift_look": LOOK, "__goldennode_bundle": {"skipped": True}},
    "drifted": {"__goldennode_drift_look": {**LOOK, "rows": [ROW]}},
    "waits": {
        "__goldennode_drift_look": LOOK,
        "__goldennode_bundle": {"desired": {"debian-13-x86_64": OTHER}},
    },
    "away": {"__goldennode_drift_look": {"unreachable": True, "msg": "no route to host"}},
    "bare": {"__goldennode_drift_look": {**LOOK, "state": "never prepared", "stored": None, "mark": None}},
    "refused": {"__goldennode_failure": {"task": "Hold the node", "message": "Judging a node needs root"}},
}


def run(**arguments):
    display = actions.Display(160)
    found = actions.run(action.ActionModule, arguments, {"hostvars": HOSTVARS}, display=display)
    assert len(display.shown) == 1
    assert found["changed"] is False
    return found, display.shown[0]


def test_every_host_has_its_row_in_the_order_of_the_inventory():
    found, text = run(hosts=list(HOSTVARS))
    assert {name: node["word"] for name, node in found["nodes"].items()} == {
        "well": "no drift",
        "drifted": "drifted",
        "waits": "no drift",
        "away": "unreachable",
        "bare": "never prepared",
        "refused": "failed",
    }
    assert found["not_well"] == ["drifted", "away", "bare", "refused"]
    assert [line.split()[0] for line in text.splitlines() if line.split(" ")[0] in HOSTVARS] == list(HOSTVARS)
    assert "drifted  hold libcuda1   held  not held  after 2026-12-01 09:30Z\n" in text
    assert "Not drift: it waits for another lock, of bundle sim-b (sha256:two)." in text
    assert "1 of 6 nodes have drifted, in 1 thing. Of 3 it is not known: away, bare, refused.\n" in text
    assert "1 waits for what the bundle says now: waits.\n" in text
    assert found["messages"]["drifted"] == "drifted: drifted. hold libcuda1: not held, was held"


def test_a_host_that_was_lost_meanwhile_has_what_its_look_said():
    display = actions.Display()
    variables = {"hostvars": HOSTVARS, "ansible_play_hosts": ["well"]}
    found = actions.run(action.ActionModule, {"hosts": ["well", "refused"]}, variables, display=display)
    assert found["nodes"]["refused"]["word"] == "unreachable"


def test_the_result_for_machines(tmp_path):
    path = tmp_path / "drift.json"
    found, _text = run(hosts=["well", "drifted"], result_file=str(path))
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert set(kept) == {"schema", "generated_at", "collection", "nodes"}
    assert (kept["schema"], kept["collection"], kept["nodes"]) == (1, VERSION, found["nodes"])
    assert (kept["nodes"]["drifted"]["drifted"], kept["nodes"]["drifted"]["rows"]) == (True, [ROW])
    assert kept["nodes"]["well"]["last_whole"] == "2026-12-01T09:30:00Z"


def test_a_file_that_cannot_be_written_is_said_after_the_table(tmp_path):
    (tmp_path / "file").write_text("")
    display = actions.Display()
    arguments = {"hosts": ["well"], "result_file": str(tmp_path / "file" / "drift.json")}
    with pytest.raises(
        AnsibleActionFail, match=r"^goldennode_result_file=.* cannot be written: Not a directory\. Name"
    ):
        actions.run(action.ActionModule, arguments, {"hostvars": HOSTVARS}, display=display)
    assert len(display.shown) == 1
