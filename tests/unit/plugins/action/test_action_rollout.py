# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan as a play gets and people see it, the gate after each wave, and the end."""

from __future__ import annotations

import copy
import json

import pytest
from ansible.errors import AnsibleActionFail

from ansible_collections.goldennode.gpu.plugins.action import rollout as action
from ansible_collections.goldennode.gpu.plugins.module_utils.model import to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.rollout import rollout_id
from ansible_collections.goldennode.gpu.tests.unit import actions, rollouts

PLATFORM = "debian-13-x86_64"
NEW = "sha256:" + "c0ffee" * 10
OLD = "sha256:" + "facade" * 10
ID = rollout_id("pool-2026.12", {PLATFORM: NEW})


def bundle(lock=NEW, may_reboot=True, **variables):
    return {
        "desired": {
            PLATFORM: {
                "lock": {
                    "id": lock,
                    "bundle": "pool-2026.12",
                    "driver": {"version": "580.159.03", "flavour": "open"},
                    "toolkit": {"version": "1.20.0"},
                    "docker": {"version": "26.1.4"},
                    "kernel": {"release": "6.12.57+deb13-amd64"},
                    "image": {"reference": "registry.example/cuda:13.0.1-base", "digest": "sha256:" + "0" * 64},
                }
            }
        },
        "missing_locks": [],
        "settings": {
            "rollout": {**rollouts.DEFAULTS, **{"rollout_" + name: of for name, of in variables.items()}},
            "golden": {"golden_allow_reboot": may_reboot},
            "driver": {"driver_allow_reload": False},
        },
    }


def node(record=None, **fields):
    made = to_plain(rollouts.host("-", **{"lock": OLD, **fields}))
    return {
        "node": {name: value for name, value in made.items() if name not in ("name", "reachable", "record", "failure")},
        "record": to_plain(record) if record else None,
    }


def host(record=None, of=None, **fields):
    return {"__goldennode_bundle": of or bundle(), "__goldennode_rollout": node(record, **fields)}


def pool(count=4, **variables):
    return {"n%d" % number: host(of=bundle(**variables)) for number in range(1, count + 1)}


def run(hostvars, **arguments):
    display = actions.Display(columns=100)
    found = actions.run(action.ActionModule, arguments, {"hostvars": hostvars}, display=display)
    assert found.pop("changed") is False
    return found, "\n".join(display.shown)


def plan(hostvars, **arguments):
    return run(hostvars, step="plan", hosts=list(hostvars), **arguments)


def after(made, step="wave", **arguments):
    return run({}, step=step, plan=made, **arguments)


# --- the plan -----------------------------------------------------------------------------------------------------


def test_the_plan_of_a_pool():
    found, text = plan(pool(waves=["2"]))
    assert found["id"] == ID
    assert found["refused"] == []
    assert found["waves"] == [
        {"name": "canary-1", "hosts": ["n1"]},
        {"name": "wave-1", "hosts": ["n2", "n3"]},
        {"name": "wave-2", "hosts": ["n4"]},
    ]
    assert found["actions"] == dict.fromkeys(["n1", "n2", "n3", "n4"], "convert")
    assert (found["budget"], found["canaries"], found["halted"], found["cautions"]) == (0, ["n1"], "", [])
    assert found["nodes"]["n4"] == {
        "wave": "wave-2",
        "action": "convert",
        "outcome": "",
        "reason": "",
        "was": OLD,
        "lock": NEW,
    }
    assert text == (
        "\nRollout %s\n"
        "  4 nodes: 1 canary one at a time, then 3 production nodes; 0 of them may fail\n"
        "  4 nodes: lock facadefacade -> c0ffeec0ffee (driver 580.159.03, toolkit 1.20.0, docker 26.1.4, kernel "
        "6.12.57+deb13-amd64)\n"
        "  canary-1  1 node  to convert: n1\n"
        "  wave-1    2 nodes  to convert: n2, n3\n"
        "  wave-2    1 node  to convert: n4\n" % ID
    )


@pytest.mark.parametrize(
    ("axes", "held"),
    [
        ({"kernel": "6.12.57+deb13-amd64", "driver": "580.159.03 open"}, False),
        ({"kernel": "6.12.57+deb13-amd64", "driver": "580.126.09 open"}, True),
        ({"kernel": "6.12.48+deb13-amd64", "driver": "580.159.03 open"}, True),
        ({}, True),
    ],
    ids=["the same", "another driver", "another kernel", "not known"],
)
def test_what_needs_a_reboot_is_refused_without_the_consent(axes, held):
    hostvars = pool(2)
    for one in hostvars.values():
        one["__goldennode_bundle"] = bundle(may_reboot=False)
        one["__goldennode_rollout"]["node"]["axes"] = axes
    found, text = plan(hostvars)
    said = (
        "another kernel or driver needs a reboot of n1, n2, and golden_allow_reboot is false there. Set it to true, or "
        "for a driver alone driver_allow_reload"
    )
    assert found["refused"] == ([said] if held else [])
    assert (said in text) is held


def test_what_is_done_and_what_is_left_alone_is_shown():
    hostvars = {
        "c": host(golden_for_target=True, lock=NEW),
        "p": host(rollouts.record("soaking", ID)),
        "q": {"__goldennode_bundle": bundle(), "__goldennode_rollout": {"unreachable": True, "msg": "timed out"}},
        "r": {"__goldennode_bundle": bundle()},
        "s": host(rollouts.record("rolled_back", ID, reason="no injection")),
        "t": host(base=False, lock=""),
    }
    for variables in hostvars.values():
        variables["__goldennode_bundle"] = bundle(waves=["9"], budget=3)
    found, text = plan(hostvars)
    assert found["actions"] == {
        "c": "done",
        "p": "continue",
        "q": "unreachable",
        "r": "unreachable",
        "s": "settled",
        "t": "convert",
    }
    assert found["nodes"]["q"]["reason"] == "timed out"
    assert found["nodes"]["r"]["reason"] == "it could not be reached"
    assert "  canary-1  1 node  golden for it already: c\n" in text
    assert (
        "  wave-1    5 nodes  to convert: t; to begin again: p; cannot be reached: q, r; left as they are: s\n" in text
    )
    assert "  1 node: lock none -> c0ffeec0ffee (driver" in text
    assert "  warning: there is no way back for t: never golden before" in text


def test_a_refusal_is_shown_whole_and_nothing_is_planned():
    hostvars = pool(2, canaries=["x"])
    hostvars["n2"]["__goldennode_rollout"] = {"failed": True, "msg": "sudo: a password is required"}
    found, text = plan(hostvars)
    assert len(found["refused"]) == 2
    assert (found["waves"], found["actions"]) == ([], {})
    assert "  refused, and no node was touched:\n  - rollout_canaries names what is no node of this run: x." in text
    assert "  - n2 cannot be asked: sudo: a password is required\n" in text


def test_no_host_at_all():
    found, _text = plan({})
    assert found["refused"] == [
        "there is no node to roll out to: the group gpu_nodes has none, or --limit leaves none",
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"__goldennode_bundle": {"failed": True, "msg": "2 problems:\n- one\n- two"}},
            "n2: the bundle was not read: 2 problems: - one - two",
        ),
        ({"__goldennode_bundle": None}, "n2: the bundle was not read: no reason is known"),
        (
            {"__goldennode_bundle": bundle(lock=OLD)},
            "the nodes of a rollout share one bundle and its locks, and these differ: n1, n3 | n2. Set them for the "
            "group gpu_nodes",
        ),
        (
            {"__goldennode_bundle": bundle(budget=2)},
            "the variables of a rollout are of the whole pool, and these nodes have others: n1, n3 | n2. Set them for "
            "the group gpu_nodes",
        ),
        ({"__goldennode_rollout": {}}, ""),
        ({"__goldennode_rollout": {"node": "x"}}, "n2 cannot be asked: its state was not read"),
        (
            {"__goldennode_rollout": {"node": {"platform": 7}}},
            "n2 cannot be asked: its state cannot be understood: value.platform: str is expected, not 7",
        ),
        (
            {"__goldennode_rollout": {**node(), "record": {"schema": 1}}},
            "n2 cannot be asked: its state cannot be understood: record: Record.__init__() missing",
        ),
    ],
)
def test_hosts_that_make_no_pool(change, said):
    hostvars = pool(3)
    hostvars["n2"].update(change)
    found, _text = plan(hostvars)
    if said:
        assert [text[: len(said)] for text in found["refused"]] == [said]
    else:
        assert "1 production node counts against the budget of 0: n2 cannot be reached" in found["refused"][0]


def test_how_a_node_is_drained_may_differ_between_nodes():
    hostvars = pool(2)
    hostvars["n2"]["__goldennode_bundle"] = bundle(gpu_wait=600, soak_rounds=9)
    assert plan(hostvars)[0]["refused"] == []


def test_a_platform_without_a_lock():
    hostvars = pool(2)
    for variables in hostvars.values():
        variables["__goldennode_bundle"] = {**bundle(), "missing_locks": ["debian-12-x86_64", "ubuntu-24.04-x86_64"]}
    assert plan(hostvars)[0]["refused"] == []  # no node is of either
    hostvars["n2"]["__goldennode_rollout"]["node"]["platform"] = "debian-12-x86_64"
    assert plan(hostvars)[0]["refused"] == [
        "the platform debian-12-x86_64 has no lock: run ansible-playbook goldennode.gpu.lock, and look at what it "
        "writes"
    ]


def test_no_lock_at_all_is_told_before_a_node_is_asked():
    hostvars = {"n1": {"__goldennode_bundle": {**bundle(), "desired": {}, "missing_locks": [PLATFORM, "x"]}}}
    found, text = plan(hostvars)
    assert found["refused"] == [
        "the bundle has no lock yet (debian-13-x86_64, x): run ansible-playbook goldennode.gpu.lock, and look at what "
        "it writes"
    ]
    assert text.startswith("\nRollout\n")


def test_a_drain_that_is_not_there_is_told_once(tmp_path):
    found, _text = plan(pool(2, drain_tasks=str(tmp_path)))
    assert found["refused"] == [
        "rollout_drain_tasks: '%s' has no drain.yml and no undrain.yml. It is a folder on the controller with "
        "drain.yml and undrain.yml: roles/rollout/DRAIN.md" % tmp_path
    ]


def test_a_node_out_of_reach_is_told_without_ansibles_own_words():
    lost = {"unreachable": True, "msg": "Task failed: Failed to connect to the host via ssh: timed out"}
    found, _text = plan({"n1": {"__goldennode_bundle": bundle(), "__goldennode_rollout": lost}, "n2": host()})
    assert found["refused"] == [
        "the canary n1 cannot be reached: Failed to connect to the host via ssh: timed out. Bring it back, or name "
        "another one in rollout_canaries."
    ]


def test_a_limit_that_is_proposed_is_within_the_one_that_was_given():
    hostvars = pool(3)
    hostvars["n3"]["__goldennode_rollout"] = {"unreachable": True, "msg": "timed out"}
    variables = {"hostvars": hostvars, "ansible_limit": "localhost,rack1"}
    found = actions.run(
        action.ActionModule, {"step": "plan", "hosts": list(hostvars)}, variables, display=actions.Display(columns=100)
    )
    assert found["refused"][0].endswith(" or leave them out by --limit 'localhost,rack1,!n3'.")


def test_names_of_hosts_do_not_move_the_cursor():
    name = "gpu\x1b[2J\u202e\nRollout"
    found, text = plan({name: host()})
    assert found["waves"] == [{"name": "canary-1", "hosts": [name]}]  # as it is for machines
    assert "to convert: gpu\\x1b[2J\\u202e Rollout\n" in text
    _found, text = after(found, "end", outcomes={name: {"outcome": "x\x1b[2J", "reason": "\x1b]0;x\x07"}})
    assert not any(sign in text for sign in "\x1b\x07\u202e")


# --- after a wave -------------------------------------------------------------------------------------------------


@pytest.fixture(name="made")
def fixture_made():
    return plan(pool(waves=["2"], budget=1))[0]


def test_a_wave_that_went_well(made):
    found, text = after(made, wave="canary-1", outcomes={"n1": "golden"})
    assert found == {"stop": False, "reason": "", "again": False, "wave": "canary-1"}
    assert text == "\ncanary-1: 1 golden. 1 of 4 nodes golden; 0 of the budget of 1 spent\n"


def test_a_canary_that_stops_it(made):
    found, text = after(made, wave="canary-1", outcomes={"n1": {"outcome": "rolled_back", "reason": "x"}})
    assert found == {
        "stop": True,
        "reason": "a canary did not become golden: n1 is rolled back",
        "again": False,
        "wave": "canary-1",
    }
    assert text.endswith(
        "canary-1: 1 rolled back. 0 of 4 nodes golden; 0 of the budget of 1 spent. The rollout stops: a canary did not "
        "become golden: n1 is rolled back\n"
    )


def test_the_budget_is_spent_over_all_waves(made):
    outcomes = {"n1": "golden", "n2": "failed", "n3": "golden"}
    assert after(made, wave="wave-1", outcomes=outcomes)[0]["stop"] is False
    found, text = after(made, wave="wave-2", outcomes={**outcomes, "n4": "lost"})
    assert found["stop"] is True
    assert found["reason"] == "2 production nodes failed, and the budget is 1: n2, n4"
    assert "wave-2: 1 lost. 2 of 4 nodes golden; 2 of the budget of 1 spent. The rollout stops: " in text


def test_a_node_of_which_nothing_is_said_is_lost(made):
    found, text = after(made, wave="wave-1", outcomes={"n1": "golden", "n2": "golden"})
    assert "wave-1: 1 golden, 1 lost." in text
    assert found["stop"] is False
    assert after(made, wave="canary-1")[0]["reason"] == "a canary did not become golden: n1 is lost"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"wave": "wave-9", "outcomes": {}}, "rollout: the plan does not have wave-9"),
        ({"wave": "wave-1", "outcomes": {"m": "golden"}}, "rollout: the plan does not have m"),
        ({"outcomes": {}}, "step is wave but all of the following are missing: wave"),
    ],
)
def test_what_does_not_fit_the_plan(made, arguments, said):
    with pytest.raises(AnsibleActionFail, match=said):
        after(made, **arguments)


@pytest.mark.parametrize("no_plan", [{}, {"id": "x"}, {"id": "x", "refused": None}])
def test_what_is_no_plan(no_plan):
    with pytest.raises(AnsibleActionFail, match="rollout: it is not the result of step=plan: "):
        after(no_plan, wave="wave-1")


def test_a_rollout_that_is_halted_stops_after_what_was_under_way():
    hostvars = {
        "c": host(golden_for_target=True),
        "p": host(rollouts.record("rolled_back", ID)),
        "q": host(rollouts.record("soaking", ID)),
    }
    made, text = plan(hostvars)
    assert made["waves"][0] == {"name": "unfinished", "hosts": ["q"]}
    assert "\n  no further node is begun: 1 production node counts against the budget of 0: p was rolled back." in text
    found, _text = after(made, wave="unfinished", outcomes={"q": "golden"})
    assert (found["stop"], found["reason"]) == (True, made["halted"])
    found, _text = after(made, "end", wave="unfinished", outcomes={"q": "golden"})
    assert found["message"].startswith("The rollout %s stopped: 1 production node counts" % ID)


# --- the end ------------------------------------------------------------------------------------------------------


def test_a_rollout_that_is_whole(made):
    found, text = after(made, "end", wave="wave-2", outcomes=dict.fromkeys(made["actions"], "golden"))
    assert found["message"] == ""
    assert found["nodes"]["n3"] == {"wave": "wave-1", "outcome": "golden", "reason": ""}
    assert text == (
        "\n"
        "NODE  WAVE      OUTCOME\n"
        "----  --------  -------\n"
        "n1    canary-1  golden\n"
        "n2    wave-1    golden\n"
        "n3    wave-1    golden\n"
        "n4    wave-2    golden\n"
        "\n"
        "4 of 4 nodes golden for %s.\n" % ID
    )


def test_a_rollout_that_has_stopped(made):
    outcomes = {"n1": {"outcome": "rolled_back", "reason": "image.gpus: no GPU"}}
    found, text = after(made, "end", wave="canary-1", outcomes=outcomes)
    assert found["message"] == (
        "The rollout %s stopped: a canary did not become golden: n1 is rolled back. Not golden for it: "
        "rolled back: n1; stopped: n2, n3, n4." % ID
    )
    assert found["nodes"]["n2"] == {
        "wave": "wave-1",
        "outcome": "stopped",
        "reason": "the rollout ended before its turn",
    }
    assert "n1    canary-1  rolled back  image.gpus: no GPU\n" in text
    assert "0 of 4 nodes golden for" in text


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (
            "rolled_back",
            "The rollout %s is not complete, within its budget of 1. Not golden for it: rolled back: n3.",
        ),
        (
            "busy",
            "The rollout %s is not complete: nodes are at work, or were not drained. Run the same command again. "
            "Not golden for it: busy: n3.",
        ),
    ],
)
def test_a_rollout_that_is_not_complete(made, outcome, said):
    outcomes = {**dict.fromkeys(made["actions"], "golden"), "n3": outcome}
    assert after(made, "end", wave="wave-2", outcomes=outcomes)[0]["message"] == said % ID


def test_the_end_of_one_that_was_refused():
    made, _text = plan(pool(1, canaries=["x"]))
    found, _text = after(made, "end")
    assert found["message"].startswith(
        "The rollout was refused: rollout_canaries names what is no node of this run: x."
    )


# --- files --------------------------------------------------------------------------------------------------------


def test_the_result_for_machines(made, tmp_path):
    path = tmp_path / "rollout.json"
    found, _text = after(made, "end", wave="canary-1", outcomes={"n1": "golden"}, result_file=str(path))
    assert json.loads(path.read_text()) == {"schema": 1, "step": "end", **found}
    again, _text = plan(pool(), result_file=str(path))
    assert json.loads(path.read_text()) == {"schema": 1, "step": "plan", **copy.deepcopy(again)}


def test_a_file_that_cannot_be_written(made, tmp_path):
    with pytest.raises(AnsibleActionFail, match="no/x cannot be written: No such file or directory. Name a file in a"):
        after(made, "end", outcomes={}, result_file=str(tmp_path / "no" / "x"))


def test_a_result_keeps_what_ansible_would_take_out_of_it(made):
    """Ansible shows ``warnings`` and ``deprecations`` itself, and a play that registers a result does not get them."""
    assert not {"warnings", "deprecations", "exception"} & set(made)


# --- the way back -------------------------------------------------------------------------------------------------


def going_back(may_reboot=True, way_back_error="", budget=0, **fields):
    found = host(of=bundle(lock=OLD, may_reboot=may_reboot, budget=budget), **{"lock": NEW, **fields})
    found["__goldennode_rollout"]["way_back_error"] = way_back_error
    if way_back_error:
        found["__goldennode_bundle"] = {"skipped": True}
    return found


def test_the_plan_of_a_way_back():
    never = "it was never golden for another lock"
    found, text = plan({"n1": going_back(budget=1), "n2": going_back(way_back_error=never)}, back=True)
    assert found["actions"] == {"n1": "roll_back", "n2": "settled"}
    assert (found["nodes"]["n1"]["was"], found["nodes"]["n1"]["lock"]) == (NEW, OLD)
    assert found["nodes"]["n2"]["reason"] == "there is no way back: %s" % never
    assert text.startswith("\nThe way back\n  2 nodes: no canary, 2 production nodes; 1 of them may fail\n")
    assert "lock c0ffeec0ffee -> facadefacade (driver 580.159.03" in text
    ended, text = after(found, step="end", wave="wave-1", outcomes={"n1": "golden"})
    assert ended["message"] == "The way back is not complete, within its budget of 1. Not back: failed: n2."
    assert "1 of 2 nodes golden again." in text


def test_a_way_back_over_its_budget_is_refused_before_its_first_wave():
    found, text = plan({"n1": going_back(), "n2": going_back(way_back_error="never golden")}, back=True)
    assert found["refused"] == [
        "n2: there is no way back: never golden",
        "no way back for 1 node, which counts against the budget of 0. Mend that, leave out by --limit "
        "'localhost,gpu_nodes,!n2', or raise rollout_budget",
    ]
    assert text.startswith("\nThe way back\n  refused, and no node was touched:\n  - n2: there is no way back")


def test_a_way_back_that_needs_a_reboot_is_refused_without_the_consent():
    """Else the first wave would be taken apart, and stand there."""
    found, text = plan({"n1": going_back(may_reboot=False)}, back=True)
    assert found["refused"] == [
        "another kernel or driver needs a reboot of n1, and golden_allow_reboot is false there. Set it to true, or for "
        "a driver alone driver_allow_reload"
    ]
    assert "refused, and no node was touched" in text


def test_a_node_that_was_lost_after_a_failure_says_in_what():
    made, _text = plan(pool(2))
    failure = {"task": "Reboot", "message": "timed out"}
    hostvars = {"n1": {"__goldennode_failure": failure}, "n2": {}}
    found, text = run(hostvars, step="end", plan=made, wave="canary-1")
    assert found["nodes"]["n1"]["outcome"] == "lost"
    assert found["nodes"]["n1"]["reason"] == "it was not reached any more after: Reboot: timed out"
    assert "n1    canary-1  lost" in text
