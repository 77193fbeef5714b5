# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A row for every host, whatever became of it."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Finding
from ansible_collections.goldennode.gpu.plugins.module_utils.table import Row
from ansible_collections.goldennode.gpu.plugins.plugin_utils import pool

TABLE = {"gpus": 8, "driver": "580.159.03", "toolkit": "1.20.0", "docker": "26.1.4", "kernel": "6.12"}
SHOWN = {"gpus": 8, "driver": "580.159.03", "toolkit": "1.20.0", "docker": "26.1.4", "expected_gpus": 8}


def finding(layer, status="fail", required=True, **words):
    return {"id": layer + ".check", "layer": layer, "status": status, "required": required, **words}


def look(golden=False, verified=False, objection=None, first_broken=None, findings=(), not_proven=()):
    verdict = {
        "golden": verified,
        "first_broken": first_broken,
        "findings": list(findings),
        "not_proven": list(not_proven),
    }
    return {"golden": golden, "verified": verified, "mark_objection": objection, "verdict": verdict, "table": TABLE}


def row(found, failure=None, expected=8, user=None):
    return pool.row("node1", found, failure, expected, user)


def test_a_golden_node():
    assert row(look(golden=True, verified=True)) == Row("node1", "golden", **SHOWN)


def test_what_is_not_proven_is_said_of_a_golden_node():
    found = row(look(golden=True, verified=True, not_proven=["image.cuda: CUDA in the container not proven"]))
    assert found.golden
    assert found.explanation == "Not proven: image.cuda: CUDA in the container not proven."


def test_the_first_broken_layer_with_its_fix():
    findings = [
        finding("packages", required=False, cause="informational"),
        finding("host_driver", status="pass"),
        finding("host_driver", status="unknown", actual="nvidia-smi gave no answer", cause="", fix="Reboot"),
        finding("host_driver", cause="second"),
        finding("image", status="skip"),
    ]
    found = row(look(first_broken="host_driver", findings=findings))
    said = {"layer": "host_driver", "reason": "nvidia-smi gave no answer", "fix": "Reboot"}
    assert found == Row("node1", "not golden", **said, page=Finding(**findings[2]).page, **SHOWN)
    assert found.page.startswith("docs/checks/host_driver")


def test_a_look_without_a_reason_leads_to_no_page():
    assert row(look()) == Row("node1", "not golden", reason="The look gave no reason", **SHOWN)


def test_a_node_that_verifies_without_a_mark():
    found = row(look(verified=True, objection="run 17 is changing the node"))
    assert (found.verdict, found.layer) == ("not golden", "mark")
    assert "Everything verifies, but run 17 is changing the node" in found.reason
    assert "no golden mark" in row(look(verified=True)).reason


def test_a_host_that_could_not_be_reached():
    found = row({"unreachable": True, "msg": "Connection timed out"})
    assert (found.verdict, found.reason, found.expected_gpus, found.gpus) == (
        "unreachable",
        "Connection timed out",
        8,
        None,
    )
    assert "inventory" in found.fix


@pytest.mark.parametrize("before", [None, look(first_broken="packages", findings=[finding("packages")])])
def test_a_host_that_failed_on_the_way(before):
    found = row(before, {"task": "Install the driver", "message": "E: no space"})
    assert found.verdict == "failed"
    assert found.reason == "Install the driver: E: no space"
    assert found.layer == ("packages" if before else "")
    assert not found.golden


def test_what_a_run_would_refuse_the_node_for_comes_before_what_it_would_mend() -> None:
    """A bare node's first broken layer is packages, which a run would install, if it were allowed to begin."""
    key = finding("host_driver", cause="The key is not enrolled.", fix="Enrol it.", repair="manual")
    found = dict(look(first_broken="packages", findings=[finding("packages", cause="No driver.")]), refusals=[key])
    told = row(found)
    assert (told.layer, told.reason, told.fix) == ("host_driver", "The key is not enrolled.", "Enrol it.")
    assert row(found, {"task": "Refuse a node", "message": "The key is not enrolled."}).layer == "host_driver"


def test_a_golden_look_does_not_hide_a_failure():
    assert row(look(golden=True), {"task": "Mark", "message": "no"}).verdict == "failed"


def test_a_look_that_failed_itself():
    assert row({"failed": True, "msg": "no Python"}) == Row("node1", "failed", expected_gpus=8, reason="no Python")


def test_a_host_whose_turn_never_came():
    found = row(None, expected=None)
    assert (found.verdict, found.gpus, found.expected_gpus) == ("not looked at", None, None)


def test_other_words_that_look_alike_get_none():
    found = row({}, {"task": "Read the bundle", "message": "a binary key becomes armoured by gpg --enarmor"})
    assert found.fix == ""


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ("Task failed: Missing sudo password", "alice cannot become root"),
        ("Task failed: Premature end of stream waiting for become success.\nalice is not in the sudoers file", "sudo"),
        ("The module interpreter '/usr/bin/python3' was not found.", "apt-get install -y python3"),
        ("No python interpreters found for host 'node1' (tried ['python3'])", "Install Python 3.9"),
    ],
)
def test_what_ansible_says_of_a_node_where_nothing_can_start_gets_a_fix(message, word):
    found = row({}, {"task": "Look at the whole chain", "message": message}, user="alice")
    assert found.verdict == "failed"
    assert message.replace("Task failed: ", "").split()[0] in found.reason
    assert "Task failed" not in found.reason
    assert word in found.fix


def test_what_did_not_pass_is_kept_for_machines_with_its_page():
    findings = [finding("packages", status="pass"), finding("policy", status="unknown"), finding("image")]
    found = pool.not_passed(look(findings=findings))
    assert [(one["id"], one["page"]) for one in found] == [
        ("policy.check", "docs/checks/policy.check.md"),
        ("image.check", "docs/checks/image.check.md"),
    ]
    assert pool.not_passed(None) == []


def test_a_failure_of_ours_says_its_fix_itself():
    assert row({}, {"task": "Read the bundle", "message": "toolkitt: is not a key. Did you mean toolkit?"}).fix == ""
