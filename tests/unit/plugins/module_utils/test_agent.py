# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The agent brings the mark to the verdict as far as it may, and the local fact is an answer whatever happens."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess
import sys
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import agent, verdict
from ansible_collections.goldennode.gpu.plugins.module_utils import mark as marks
from ansible_collections.goldennode.gpu.plugins.module_utils.docker_record import fingerprint
from ansible_collections.goldennode.gpu.plugins.module_utils.mark import State, Stored
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    Boot,
    ControlGroups,
    DriverLoaded,
    Evidence,
    Reading,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import LocalHost
from ansible_collections.goldennode.gpu.plugins.plugin_utils import agent_zip
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)
REBOOTED = healthy.known(NODE, boot=Boot("99999999-2222-4333-8444-555555555555", healthy.KERNEL, 5000.0))
OLD_DRIVER = healthy.known(
    REBOOTED, driver=DriverLoaded("580.126.09", "open"), module_on_disk=healthy.module(modified=6000.0)
)
OTHER_KERNEL = healthy.known(REBOOTED, boot=Boot("99999999", "6.12.99", 5000.0))


class Node:
    """A golden node whose looks are played."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.state = State(str(directory / "goldennode"), str(directory / "lock"))
        self.evidence = NODE
        self.looks: t.List[t.Tuple[str, float]] = []
        marks.revoke(self.state, "run 1", "r")
        marks.prepare(self.state, "run 1", Stored(WANTED, 1))
        marks.golden(self.state, "run 1", WANTED, verdict.run(WANTED, NODE, 1), NODE)

    def look(
        self, _host: t.Any, _desired: t.Any = None, scope: str = "full", seconds: float = 60.0, short: bool = False
    ) -> Evidence:
        assert short is (scope == "full")
        self.looks.append((scope, seconds))
        return self.evidence if scope == "full" else healthy.cheap(self.evidence)

    def verify(self, boot: bool = False) -> t.Tuple[bool, str]:
        return agent.verify(self.state, LocalHost(), boot)

    def fact(self) -> t.Dict[str, t.Any]:
        return agent.fact(self.state, LocalHost())

    @property
    def mark(self) -> str:
        found = self.state.mark().value
        assert found is not None
        return found.state


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    found = Node(tmp_path)
    monkeypatch.setattr(agent, "look", found.look)
    return found


def test_a_healthy_node_stays_golden(node: Node) -> None:
    assert node.verify() == (True, "golden: the mark stays")
    assert node.looks == [("full", 60.0)]


def test_a_reboot_is_verified_and_the_mark_given_back(node: Node) -> None:
    node.evidence = REBOOTED
    assert node.fact()["golden"] is False
    assert node.verify() == (True, "golden: the mark was given back")
    assert node.fact()["golden"] is True


def test_the_end_of_a_waiver_is_told_beside_the_finding(node: Node) -> None:
    """Else somebody reads of a finding with which it was decided to live."""
    waiver = {"id": "host_driver.units", "reason": "r", "until": "2027-03-31"}
    wanted = healthy.desired(golden_waivers=[waiver])
    units = dict(NODE.units.value or {})
    name = "nvidia-persistenced.service"
    units[name] = dataclasses.replace(units[name], active="inactive", started_at=None)
    node.evidence = healthy.known(NODE, units=units)
    marks.revoke(node.state, "run 2", "r")
    marks.prepare(node.state, "run 2", Stored(wanted, 1))
    marks.golden(node.state, "run 2", wanted, verdict.run(wanted, node.evidence, 1), node.evidence)
    assert node.verify()[0]
    node.evidence = dataclasses.replace(node.evidence, collected_at="2027-04-01T03:00:00+00:00")
    golden, said = node.verify()
    assert (golden, node.mark) == (False, "suspended")
    assert said.startswith(
        "not golden: host_driver.units (%s): %s is not active. Found: loaded, inactive, enabled; wanted: "
        "active+enabled. (what the mark rests on was waived until 2027-03-31, which is over) Fix: " % (name, name)
    )


def test_after_a_boot_docker_is_known_to_have_its_settings(node: Node) -> None:
    """Docker has another invocation then, and a log option of the user must not look like a restart that is due."""
    units = dict(NODE.units.value or {})
    units["docker.service"] = dataclasses.replace(units["docker.service"], invocation="the start after the boot")
    node.evidence = healthy.known(REBOOTED, units=units)
    assert node.verify()[0]
    record = json.loads(pathlib.Path(node.state.path("docker.json")).read_text())
    assert record == fingerprint("the start after the boot", WANTED.daemon)


def test_nothing_is_said_of_docker_where_the_node_is_not_golden(node: Node) -> None:
    kept = pathlib.Path(node.state.path("docker.json"))
    before = kept.read_text()
    units = dict(OLD_DRIVER.units.value or {})
    units["docker.service"] = dataclasses.replace(units["docker.service"], invocation="another start")
    node.evidence = healthy.known(OLD_DRIVER, units=units)
    assert not node.verify()[0]
    assert kept.read_text() == before


def test_a_node_that_broke_is_suspended_and_given_back_when_it_is_mended(node: Node) -> None:
    node.evidence = OLD_DRIVER
    golden, said = node.verify()
    assert not golden
    assert said.startswith("not golden: host_driver.loaded: A reboot is pending")
    assert "Fix: Reboot the node" in said
    assert "\n" not in said
    assert node.mark == "suspended"
    assert "A reboot is pending" in node.fact()["reason"]
    node.evidence = REBOOTED
    assert node.verify()[0]
    assert node.mark == "golden"


def test_another_kernel_is_suspended_even_where_everything_works(node: Node) -> None:
    wanted = healthy.desired(kernel_pin=False)
    marks.revoke(node.state, "run 2", "r")
    marks.prepare(node.state, "run 2", Stored(wanted, 1))
    node.evidence = healthy.evidence("a10", wanted)
    marks.golden(node.state, "run 2", wanted, verdict.run(wanted, node.evidence, 1), node.evidence)
    boot = Boot("99999999", "6.12.99", 5000.0)
    node.evidence = healthy.known(node.evidence, boot=boot)
    golden, said = node.verify()
    assert not golden
    assert "kernel 6.12.99 runs" in said
    assert "run site.yml" in said
    assert node.mark == "suspended"


def test_a_revoked_node_is_the_runs_business_and_is_not_looked_at(node: Node) -> None:
    marks.revoke(node.state, "run 2", "it is being changed")
    assert node.verify() == (False, "not golden: revoked by run run 2 (it is being changed); only a run changes that.")
    assert node.looks == []
    assert node.mark == "revoked"


def test_a_node_without_a_mark(node: Node) -> None:
    pathlib.Path(node.state.path("mark.json")).unlink()
    assert node.verify() == (False, "not golden: the node was never verified. Run site.yml on this node.")


def test_a_node_whose_wanted_state_is_lost_cannot_be_judged(node: Node) -> None:
    pathlib.Path(node.state.path("desired.json")).unlink()
    with pytest.raises(agent.Trouble, match=r"no desired\.json"):
        node.verify()


def test_the_last_verdict_is_kept_for_people(node: Node) -> None:
    node.evidence = OLD_DRIVER
    golden, said = node.verify()
    last = json.loads(pathlib.Path(node.state.path("last.json")).read_text())
    assert (last["golden"], last["said"]) == (golden, said)
    assert last["verdict"]["first_broken"] == "host_driver"
    assert [f["id"] for f in last["verdict"]["findings"] if f["status"] == "fail"] == ["host_driver.loaded"]


def test_what_is_not_proven_is_said(node: Node) -> None:
    node.evidence = healthy.unreadable(NODE, "kernel_log")
    golden, said = node.verify()
    assert golden
    assert "not proven: hardware.gpu_healthy" in said


def test_at_boot_it_waits_for_docker_and_not_for_ever(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [Reading.unknown("not yet"), Reading.unknown("not yet"), Reading(object())]
    slept: t.List[float] = []
    monkeypatch.setattr(agent.docker, "engine", lambda _host: answers.pop(0))
    monkeypatch.setattr(agent.time, "sleep", slept.append)
    node.verify(boot=True)
    assert answers == []
    assert len(slept) == 2

    now = iter(range(0, 100000, 10))
    monkeypatch.setattr(agent.docker, "engine", lambda _host: Reading.unknown("never"))
    monkeypatch.setattr(agent.time, "monotonic", lambda: float(next(now)))
    monkeypatch.setattr(agent, "LOCK_WAIT", 0.0)
    node.verify(boot=True)
    assert len(slept) < 20


def test_a_docker_that_is_not_installed_is_not_waited_for(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent.docker, "engine", lambda _host: Reading(None))
    monkeypatch.setattr(agent.time, "sleep", lambda _seconds: pytest.fail("it waited"))
    node.verify(boot=True)


def test_the_local_fact_takes_a_cheap_look(node: Node) -> None:
    assert node.fact()["golden"] is True
    assert [scope for scope, _seconds in node.looks] == ["fact"]


@pytest.mark.parametrize("harm", ["revoked", "no mark", "no wanted state"])
def test_the_local_fact_looks_at_nothing_where_the_answer_is_known(node: Node, harm: str) -> None:
    if harm == "revoked":
        marks.revoke(node.state, "run 2", "r")
    else:
        pathlib.Path(node.state.path("mark.json" if harm == "no mark" else "desired.json")).unlink()
    assert node.fact()["golden"] is False
    assert node.looks == []


def test_a_local_fact_that_fails_says_not_golden(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: t.Any) -> Evidence:
        raise KeyError("a bug")

    monkeypatch.setattr(agent, "look", broken)
    assert node.fact() == {"golden": False, "reason": "the local fact failed: KeyError: 'a bug'"}


@pytest.mark.parametrize(
    ("evidence", "code", "stream"),
    [(NODE, agent.EXIT_GOLDEN, "out"), (OLD_DRIVER, agent.EXIT_NOT_GOLDEN, "out"), (None, agent.EXIT_TROUBLE, "err")],
)
def test_the_exit_code_and_the_one_line(
    node: Node,
    evidence: t.Optional[Evidence],
    code: int,
    stream: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(agent, "State", lambda: node.state)
    if evidence is None:
        pathlib.Path(node.state.path("desired.json")).unlink()
    else:
        node.evidence = evidence
    assert agent.main(["verify"]) == code
    said = getattr(capsys.readouterr(), stream)
    assert said.startswith({0: "golden: ", 1: "not golden: ", 2: "not judged: "}[code])
    assert said.count("\n") == 1


def test_the_packed_agent_runs_by_itself(tmp_path: pathlib.Path) -> None:
    """Without Ansible and without this collection on the path, as on a node."""
    zip_path = tmp_path / "agent.pyz"
    zip_path.write_bytes(agent_zip.pack(agent_zip.MODULE_UTILS, b""))
    done = subprocess.run(
        [sys.executable, "-I", str(zip_path), "fact"], capture_output=True, text=True, check=True, timeout=60
    )
    said = json.loads(done.stdout)
    assert said["golden"] is False
    assert said["reason"] == "the node was never verified"


def _lifted() -> Evidence:
    packages = dict(NODE.packages.value or {})
    packages["libcuda1"] = dataclasses.replace(packages["libcuda1"], held=False)
    return healthy.known(NODE, packages=packages)


def test_the_fact_lists_what_has_drifted_by_its_findings(node: Node) -> None:
    assert node.fact()["drift"] == []
    node.evidence = _lifted()
    fact = node.fact()
    assert not fact["golden"]
    assert fact["reason"].startswith("packages.holds (libcuda1): ")
    (row,) = fact["drift"]
    assert (row["id"], row["what"], row["was"], row["is"]) == ("packages.holds", "hold", "held", "not held")
    assert row["since"]["how"] == "after"


def test_what_the_agent_suspended_the_mark_for_is_still_listed(node: Node) -> None:
    node.evidence = _lifted()
    node.verify()
    fact = node.fact()
    assert (fact["state"], [row["id"] for row in fact["drift"]]) == ("suspended", ["packages.holds"])


def test_while_a_run_is_at_work_nothing_is_said_of_drift(node: Node) -> None:
    marks.revoke(node.state, "run 2", "it is being changed")
    assert node.fact()["drift"] is None
    pathlib.Path(node.state.path("desired.json")).unlink()
    assert node.fact()["drift"] is None
    assert node.looks == []


def test_another_version_of_control_groups_is_not_given_back_by_the_agent(node: Node) -> None:
    """Containers may work with it; that they keep their GPUs was proven by a run with the one before."""
    groups = ControlGroups("1", delegated=Reading(()))
    proven = {"cgroups": "2", "cgroup_driver": "systemd"}
    node.evidence = healthy.known(REBOOTED, cgroups=groups, mark=proven)
    golden, said = node.verify()
    assert (golden, node.mark) == (False, "suspended")
    assert said.startswith("not golden: container_runtime.cgroup_mode: The node was proven with control groups of ")
