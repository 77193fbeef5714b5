# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What diagnose prints, keeps and returns, for hosts of a play and for captures."""

from __future__ import annotations

import json
import stat

import pytest
from ansible.errors import AnsibleActionFail

from ansible_collections.goldennode.gpu.plugins.action import diagnose as action
from ansible_collections.goldennode.gpu.plugins.module_utils import masking, verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import DriverLoaded, to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.version import VERSION
from ansible_collections.goldennode.gpu.tests.unit import actions, broken, healthy

WANTED, NODE = healthy.desired(), healthy.evidence()


def look(evidence=NODE, golden=False, **fields):
    found = verdict.run(WANTED, evidence, 1)
    plain = {"verdict": to_plain(found), "evidence": to_plain(evidence), "golden": golden, "inferred": False}
    return {
        **plain,
        "platform": WANTED.platform,
        "mark_objection": "" if golden else "the node was never verified",
        **fields,
    }


BUNDLE = {"desired": {WANTED.platform: {"digest": WANTED.digest}}}
OLD = healthy.known(NODE, driver=DriverLoaded("580.126.09", "open"))
HOSTVARS = {
    "well": {"__goldennode_look": look(golden=True), "__goldennode_bundle": BUNDLE, "golden_expected_gpus": 1},
    "works": {"__goldennode_look": look(), "golden_expected_gpus": "1"},
    "old": {
        "__goldennode_look": look(OLD, capture=masking.mask(broken.capture("old module"))),
        "__goldennode_bundle": BUNDLE,
        "golden_expected_gpus": 1,
    },
    "away": {"__goldennode_look": {"unreachable": True, "msg": "no route to host"}},
    "failed": {"__goldennode_failure": {"task": "Read the bundle", "message": "2 problems:\n- one\n- two"}},
    "never": {},
}


def run(**arguments):
    display = actions.Display()
    found = actions.run(action.ActionModule, arguments, {"hostvars": HOSTVARS}, display=display)
    assert len(display.shown) == 1
    assert found["changed"] is False
    return found, display.shown[0]


def test_every_host_has_its_part_and_what_is_broken_stands_last():
    found, text = run(hosts=list(HOSTVARS))
    assert {name: node["verdict"] for name, node in found["nodes"].items()} == {
        "well": "golden",
        "works": "works",
        "old": "broken",
        "away": "unreachable",
        "failed": "not judged",
        "never": "not judged",
    }
    assert found["broken"] == ["old", "away", "failed", "never"]
    assert text.index("works   works") < text.index("old   broken: host_driver") < text.index("away   unreachable")
    assert "6 nodes: 1 golden, 1 works, 1 broken, 1 unreachable, 2 not judged.\n" in text
    assert "  WHY         Read the bundle: 2 problems: - one - two" in text
    assert found["messages"]["old"].startswith("old: broken, host_driver. A reboot is pending since the driver was")
    assert found["messages"]["away"].startswith("away: unreachable. no route to host. Check that the host is up")
    assert found["nodes"]["well"]["desired_digest"] == WANTED.digest


def test_a_host_that_was_lost_meanwhile_is_unreachable():
    display = actions.Display()
    variables = {"hostvars": HOSTVARS, "ansible_play_hosts": ["well"]}
    found = actions.run(action.ActionModule, {"hosts": ["well", "works"]}, variables, display=display)
    assert found["nodes"]["works"]["verdict"] == "unreachable"


def test_the_result_for_machines(tmp_path):
    path = tmp_path / "result.json"
    found, _text = run(hosts=["well", "old"], result=str(path))
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert set(kept) == {"schema", "generated_at", "collection", "nodes"}
    assert (kept["schema"], kept["collection"], kept["nodes"]) == (1, VERSION, found["nodes"])
    assert kept["nodes"]["old"]["action"]["id"] == "host_driver.loaded"
    with pytest.raises(AnsibleActionFail, match="goldennode_result=.* cannot be written: .*Name a file in a folder"):
        run(hosts=["well"], result=str(tmp_path / "none" / "x"))


def test_captures_are_kept_and_judged_with_no_host(tmp_path):
    found, text = run(hosts=["well", "old"], capture_to=str(tmp_path / "kept"))
    path = tmp_path / "kept" / "old.json"
    assert found["captures"] == {"old": str(path)}
    assert "  CAPTURE     %s" % path in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again, text = run(capture=str(path))
    assert again["nodes"]["old"]["first_broken"] == found["nodes"]["old"]["first_broken"] == "host_driver"
    assert again["nodes"]["old"]["action"] == found["nodes"]["old"]["action"]
    assert "BEHIND IT   $ cat /proc/driver/nvidia/version" in text


def test_only_what_differs_from_a_good_host_is_told(tmp_path):
    found, text = run(hosts=["well", "old", "away"], compare="well")
    assert "WHAT DIFFERS (old | well)\n  driver in the kernel version: 580.126.09 | 580.159.03\n" in text
    assert found["nodes"]["old"]["differences"] == [
        {"what": "driver in the kernel version", "here": "580.126.09", "there": "580.159.03"}
    ]
    assert "differences" not in found["nodes"]["well"]
    assert "differences" not in found["nodes"]["away"]
    good = tmp_path / "good.json"
    good.write_text(json.dumps(broken.capture("well")), encoding="utf-8")
    _found, text = run(capture=str(good), compare=str(good))
    assert "good and %s do not differ in anything that was read." % good in text


@pytest.mark.parametrize(
    ("compare", "words"),
    [
        (
            "nobody",
            r"goldennode_compare=nobody is neither a host of this run \(well, away\) nor a file. Add the host to -l",
        ),
        ("away", "goldennode_compare=away cannot be compared with: no route to host"),
        ("/dev/null", "goldennode_compare=/dev/null is no file"),
    ],
)
def test_what_cannot_be_compared_with(compare, words):
    with pytest.raises(AnsibleActionFail, match=words):
        run(hosts=["well", "away"], compare=compare)


def test_what_was_found_is_told_and_kept_whatever_else_is_wrong(tmp_path):
    display, (file, result) = actions.Display(), (tmp_path / "file", tmp_path / "result.json")
    file.write_text("")
    arguments = {"hosts": ["well", "old"], "compare": "nobody", "capture_to": str(file), "result": str(result)}
    with pytest.raises(AnsibleActionFail) as error:
        actions.run(action.ActionModule, arguments, {"hostvars": HOSTVARS}, display=display)
    compared, kept = str(error.value).split("\n")
    assert compared.startswith("goldennode_compare=nobody is neither a host of this run (well, old) nor a file.")
    assert kept.startswith("goldennode_capture_to=%s cannot be written to: " % file)
    assert "2 nodes: 1 golden, 1 broken." in display.shown[0]
    assert set(json.loads(result.read_text(encoding="utf-8"))["nodes"]) == {"well", "old"}


def test_a_capture_of_a_stranger_does_not_steer_the_terminal(tmp_path):
    text = json.dumps(broken.capture("not loaded")).replace("NVIDIA UNIX", "\\u001b[2J\\u009b31m\\u202eNVIDIA UNIX")
    path = tmp_path / "gpu\x1b]0;x\x07\nwell   golden.json"
    path.write_text(text, encoding="utf-8")
    found, shown = run(capture=str(path))
    assert [one for one in "\x1b\x9b\x07\u202e" if one in shown + "".join(found["messages"].values())] == []
    assert shown.startswith("\ngpu\\x1b]0;x\\x07 well   golden   broken: host_driver")


def test_a_capture_that_is_none_is_one_error(tmp_path):
    with pytest.raises(AnsibleActionFail, match="goldennode_capture=.*nope is not there. Check the path"):
        run(capture=str(tmp_path / "nope"))


@pytest.mark.parametrize("arguments", [{}, {"hosts": ["a"], "capture": "x"}, {"capture": "x", "capture_to": "y"}])
def test_other_arguments_are_refused(arguments):
    with pytest.raises(AnsibleActionFail):
        run(**arguments)
