# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""node_verify gives the verdict of its look, reads the mark, and never changes anything."""

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
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    Boot,
    DeviceAnswers,
    DeviceNode,
    Evidence,
    Platform,
    Reading,
    ReloadLook,
    RunningContainer,
    to_plain,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import reload
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.container import manner
from ansible_collections.goldennode.gpu.plugins.module_utils.summary import table
from ansible_collections.goldennode.gpu.plugins.modules import node_verify
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)
DEBIAN = "debian-13-x86_64"
ARGUMENTS = {"desired": {DEBIAN: to_plain(WANTED)}, "bundles": {DEBIAN: {}}, "expected_gpus": 1}


class Node:
    """A node whose look is played."""

    def __init__(self, directory: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.state = State(str(directory / "goldennode"), str(directory / "lock"))
        self.evidence = NODE
        self.asked: t.List[t.Any] = []
        self._capsys = capsys

    def look(
        self,
        _host: t.Any,
        desired: t.Any,
        scope: str,
        seconds: float,
        single_gpus: bool,
        meanwhile: t.Callable[[], t.Any],
        short: bool,
    ) -> Evidence:
        self.short = short
        self.asked.append((desired, scope, seconds, single_gpus))
        meanwhile()
        return self.evidence if scope == "full" else healthy.cheap(self.evidence)

    def choose(self, _host: t.Any, wanted: t.Mapping[str, t.Any]) -> t.Tuple[t.Any, t.Any]:
        platform = self.evidence.platform
        return platform, wanted.get(platform.value.key) if platform.value else None

    def mark_golden(self) -> None:
        marks.revoke(self.state, "run 1", "r")
        marks.prepare(self.state, "run 1", Stored(WANTED, 1))
        marks.golden(self.state, "run 1", WANTED, verdict.run(WANTED, NODE, 1), NODE)

    def verify(self, **arguments: t.Any) -> t.Dict[str, t.Any]:
        with patch_module_args({**ARGUMENTS, **arguments}), pytest.raises(SystemExit):
            node_verify.main()
        return t.cast("t.Dict[str, t.Any]", json.loads(self._capsys.readouterr().out))


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Node:
    found = Node(tmp_path, capsys)
    monkeypatch.setattr(node_verify, "look", found.look)
    monkeypatch.setattr(node_verify, "choose", found.choose)
    monkeypatch.setattr(marks, "State", lambda: found.state)
    monkeypatch.setattr(node_verify.os, "geteuid", lambda: 0)
    return found


def test_a_node_with_a_mark_that_holds_is_golden(node: Node) -> None:
    node.mark_golden()
    result = node.verify()
    assert (result["golden"], result["verified"], result["changed"]) == (True, True, False)
    assert (result["mark"]["state"], result["mark_objection"]) == ("golden", "")
    assert result["platform"] == DEBIAN
    assert result["collected_at"] == NODE.collected_at
    assert result["table"] == {
        "gpus": 1,
        "driver": healthy.DRIVER,
        "toolkit": "1.20.0",
        "docker": "26.1.4",
        "kernel": healthy.KERNEL,
    }
    assert "evidence" not in result


def test_a_healthy_node_without_a_mark_is_verified_and_not_golden(node: Node) -> None:
    result = node.verify(evidence="always")
    assert (result["golden"], result["verified"], result["mark"]) == (False, True, None)
    assert result["mark_objection"] == "the node was never verified"
    assert result["evidence"] == to_plain(NODE)


@pytest.mark.parametrize(
    ("asked", "of_golden", "of_others"),
    [("never", False, False), ("when_not_golden", False, True), ("always", True, True)],
)
def test_evidence_is_returned_as_asked_for(node: Node, asked: str, of_golden: bool, of_others: bool) -> None:
    assert ("evidence" in node.verify(evidence=asked)) == of_others
    node.mark_golden()
    assert ("evidence" in node.verify(evidence=asked)) == of_golden


@pytest.mark.parametrize(
    ("harm", "objection"),
    [
        ("reboot", "rebooted: not verified since"),
        ("revoked", "revoked by run run 2: r"),
        ("suspended", "suspended by the agent: s"),
        ("wanted", "the node is wanted to be something else than what was verified"),
    ],
)
def test_a_mark_that_does_not_hold_is_not_golden(node: Node, harm: str, objection: str) -> None:
    node.mark_golden()
    arguments = {}
    if harm == "reboot":
        node.evidence = healthy.known(NODE, boot=Boot("99999999", healthy.KERNEL, 5000.0))
    elif harm == "revoked":
        marks.revoke(node.state, "run 2", "r")
    elif harm == "suspended":
        marks.suspend(node.state, "s")
    else:
        other = healthy.desired(driver_persistenced=False)
        node.evidence = healthy.evidence("a10", other)
        arguments = {"desired": {DEBIAN: to_plain(other)}}
    result = node.verify(**arguments)
    assert (result["verified"], result["golden"], result["mark_objection"]) == (True, False, objection)


@pytest.mark.parametrize("text", [None, "", "[]", "{}", "\ufffd"])
def test_a_node_whose_agent_has_nothing_to_judge_by_is_not_golden_until_a_run(
    node: Node, text: t.Optional[str]
) -> None:
    node.mark_golden()
    kept = pathlib.Path(node.state.path("desired.json"))
    kept.unlink()
    if text is not None:
        kept.write_text(text, encoding="utf-8")
    result = node.verify()
    assert (result["verified"], result["golden"]) == (True, False)
    assert "desired.json" in result["mark_objection"]
    node.mark_golden()
    assert node.verify()["golden"]


def test_a_wanted_state_that_is_not_that_of_the_mark_is_not_golden(node: Node) -> None:
    node.mark_golden()
    node.state.put_stored(Stored(healthy.desired(driver_persistenced=False), 1))
    assert node.verify()["mark_objection"] == "desired.json is not that of the mark"


def test_a_broken_node_says_what_is_broken(node: Node) -> None:
    node.mark_golden()
    node.evidence = healthy.known(NODE, driver=None, modules_loaded=())
    result = node.verify()
    assert (result["golden"], result["verified"]) == (False, False)
    assert result["verdict"]["first_broken"] == "host_driver"
    assert result["table"]["driver"] is None


@pytest.mark.parametrize("scope", ["host", "fact"])
def test_only_a_full_look_can_verify(node: Node, scope: str) -> None:
    node.mark_golden()
    result = node.verify(scope=scope, timeout=7, single_gpus=True)
    assert (result["golden"], result["verified"]) == (False, False)
    assert node.asked == [(WANTED, scope, 7.0, True)]


def platform_finding(result: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    (found,) = [f for f in result["verdict"]["findings"] if f["id"] == "packages.platform"]
    return t.cast("t.Dict[str, t.Any]", found)


def test_a_platform_that_the_bundle_does_not_have(node: Node) -> None:
    node.evidence = healthy.known(NODE, platform=Platform("arch", "rolling", "x86_64"))
    result = node.verify()
    finding = platform_finding(result)
    assert result["verdict"]["first_broken"] == "packages"
    assert (finding["status"], finding["repair"]) == ("fail", "manual")
    assert "arch-rolling-x86_64" in finding["cause"]
    assert DEBIAN in finding["fix"]
    assert not result["verified"]


def test_a_lock_that_is_missing_is_no_unsupported_platform(node: Node) -> None:
    result = node.verify(desired={})
    finding = platform_finding(result)
    assert (finding["status"], finding["repair"]) == ("fail", "roles")
    assert "no lock for %s yet" % DEBIAN in finding["cause"]
    assert result["platform"] == DEBIAN


def test_a_host_without_a_gpu_is_named_before_a_lock_is_resolved_for_it(node: Node) -> None:
    node.evidence = healthy.known(NODE, pci=())
    result = node.verify(desired={})
    assert result["verdict"]["first_broken"] == "hardware"
    assert platform_finding(result)["status"] == "skip"


def test_a_platform_that_cannot_be_read(node: Node) -> None:
    node.evidence = healthy.unreadable(NODE, "platform")
    result = node.verify()
    assert result["platform"] == ""
    assert platform_finding(result)["status"] == "fail"
    assert result["mark_objection"] == "it is not known what the node is wanted to be"


def refused(result: t.Mapping[str, t.Any]) -> t.List[str]:
    return [finding["id"] for finding in result["refusals"]]


def test_what_roles_can_mend_is_no_refusal(node: Node) -> None:
    node.evidence = healthy.known(NODE, packages={}, driver=None, docker_config={}, docker=None)
    assert refused(node.verify()) == []
    assert refused(node.verify(desired={})) == []


@pytest.mark.parametrize("desired", [ARGUMENTS["desired"], {}])
def test_what_only_a_person_can_mend_is_said_at_once_in_whatever_layer(node: Node, desired: t.Dict[str, t.Any]) -> None:
    bare = healthy.known(NODE, packages={}, driver=None)
    words = "/etc/docker/daemon.json: line 3 column 5: a value is expected"
    node.evidence = dataclasses.replace(bare, docker_config=Reading.unknown(words))
    result = node.verify(desired=desired)
    assert result["verdict"]["first_broken"] == "packages"
    assert refused(result) == ["container_runtime.daemon_config"]
    words = "/etc/nvidia-container-runtime/config.toml: line 3 column 1: the table features is given twice"
    node.evidence = dataclasses.replace(bare, toolkit_config=Reading.unknown(words))
    assert refused(node.verify(desired=desired)) == ["container_runtime.toolkit_config"]
    node.evidence = healthy.known(bare, pci=())
    assert refused(node.verify(desired=desired)) == ["hardware.gpu_present", "hardware.gpu_count"]


@pytest.mark.parametrize("desired", [ARGUMENTS["desired"], {}])
def test_a_node_of_which_nobody_knows_whether_it_has_gpus_is_refused(node: Node, desired: t.Dict[str, t.Any]) -> None:
    node.evidence = healthy.unreadable(NODE, "pci")
    result = node.verify(desired=desired)
    assert refused(result)[:3] == ["hardware.gpu_present", "hardware.vgpu", "hardware.gpu_count"]
    assert "pci was unreadable" in result["refusals"][0]["cause"]
    assert result["refusals"][0]["fix"]


def test_a_kernel_log_that_cannot_be_read_refuses_nothing(node: Node) -> None:
    node.evidence = healthy.unreadable(NODE, "kernel_log")
    assert refused(node.verify()) == []


def test_wsl_and_other_platforms_are_refused(node: Node) -> None:
    platform = NODE.platform.value
    assert platform is not None
    node.evidence = healthy.known(NODE, platform=dataclasses.replace(platform, wsl=True))
    assert refused(node.verify()) == ["host_driver.kernel"]
    assert refused(node.verify(desired={})) == ["packages.platform"]
    node.evidence = healthy.known(NODE, platform=Platform("arch", "rolling", "x86_64"))
    assert refused(node.verify()) == ["packages.platform"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"timeout": 0}, "timeout is 0"),
        ({"desired": {DEBIAN: {"digest": 1}}}, "desired is not what the action goldennode.gpu.desired returns"),
    ],
)
def test_arguments_that_cannot_be_used(node: Node, arguments: t.Dict[str, t.Any], words: str) -> None:
    result = node.verify(**arguments)
    assert result["failed"]
    assert words in result["msg"]
    assert node.asked == []


def test_without_root_it_says_what_is_missing(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_verify.os, "geteuid", lambda: 1000)
    result = node.verify()
    assert result["failed"]
    assert "become: true" in result["msg"]


def test_a_table_of_what_is_not_known_says_so() -> None:
    assert set(table(Evidence()).values()) == {None}
    assert table(healthy.unreadable(NODE, "nvml", "smi"))["gpus"] == 1
    assert table(Evidence(pci=Reading(())))["gpus"] == 0


@pytest.mark.parametrize(
    ("arguments", "short"),
    [({}, True), ({"evidence": "when_not_golden"}, True), ({"evidence": "always"}, False), ({"capture": True}, False)],
)
def test_what_may_be_compared_with_another_node_is_read_whole(
    node: Node, arguments: t.Dict[str, t.Any], short: bool
) -> None:
    node.verify(**arguments)
    assert node.short is short


# --- with a reload ---------------------------------------------------------------------------------------------------


@pytest.fixture
def reloads(node: Node, monkeypatch: pytest.MonkeyPatch) -> t.List[t.Sequence[str]]:
    """The ways for which a reload was made; each container keeps its GPUs."""
    made: t.List[t.Sequence[str]] = []

    def looks(_host: t.Any, image: t.Any, ways: t.Sequence[str], how: t.Any) -> t.Any:
        assert image == WANTED.lock["image"]
        assert how == manner(WANTED, NODE.device_nodes)
        made.append(tuple(ways))
        kept = Reading(DeviceAnswers(("/dev/nvidia0",), ()))
        return {way: Reading(ReloadLook(way, before=kept, after=kept)) for way in ways}

    monkeypatch.setattr(reload, "looks", looks)
    return made


def reload_findings(result: t.Mapping[str, t.Any]) -> t.List[str]:
    return [f["status"] for f in result["verdict"]["findings"] if f["id"] == "container_runtime.daemon_reload"]


BUSY = RunningContainer(
    "ab" * 32, "web", nodes=(DeviceNode("/dev/nvidia0", 0o666, 0, 44, 195, 0),), device_allow=("/dev/char/195:0 rw",)
)


@pytest.mark.parametrize("asked", [{}, {"daemon_reload": "never"}])
def test_a_look_makes_no_reload(node: Node, reloads: t.List[t.Any], asked: t.Dict[str, str]) -> None:
    assert reload_findings(node.verify(**asked)) == []
    assert reloads == []


def test_a_reload_is_made_where_it_is_asked_for_and_goes_into_the_evidence(node: Node, reloads: t.List[t.Any]) -> None:
    result = node.verify(daemon_reload="when_idle", evidence="always")
    assert (result["verified"], result["changed"]) == (True, False)
    assert reload_findings(result) == ["pass", "pass"]
    assert reloads == [("runtime", "cdi")]
    assert set(result["evidence"]["reloads"]) == {"runtime", "cdi"}


def test_no_reload_is_made_on_a_node_that_is_broken_or_not_looked_at_whole(node: Node, reloads: t.List[t.Any]) -> None:
    node.verify(daemon_reload="always", scope="host")
    node.evidence = healthy.known(NODE, driver=None, modules_loaded=())
    node.verify(daemon_reload="always")
    node.verify(daemon_reload="always", desired={})
    assert reloads == []


def test_a_reload_waits_for_containers_with_gpus_unless_it_is_allowed(node: Node, reloads: t.List[t.Any]) -> None:
    node.evidence = healthy.known(NODE, running_containers=(BUSY,))
    result = node.verify(daemon_reload="when_idle")
    assert result["verified"]
    assert "web abababababab" in result["verdict"]["not_proven"][0]
    assert (reloads, reload_findings(result)) == ([], ["unknown", "unknown"])
    assert reload_findings(node.verify(daemon_reload="always")) == ["pass", "pass"]
    assert len(reloads) == 1


# --- without a bundle, and to be taken along -------------------------------------------------------------------------


def test_without_a_wanted_state_it_is_held_against_itself_and_never_golden(node: Node) -> None:
    node.mark_golden()
    result = node.verify(desired={}, bundles={}, infer=True, image="img:1", expected_gpus=1)
    assert (result["golden"], result["verified"], result["inferred"]) == (False, False, True)
    assert (result["verdict"]["first_broken"], result["refusals"]) == (None, [])
    ahead = node.asked[0][0]
    assert (ahead.platform, ahead.lock["image"]["reference"]) == (DEBIAN, "img:1")
    assert not node.verify(infer=True)["inferred"]  # what is known to be wanted counts


def test_how_many_gpus_there_shall_be_must_be_said_with_a_bundle_alone(node: Node) -> None:
    result = node.verify(expected_gpus=None)
    assert result["failed"]
    assert result["msg"].startswith("expected_gpus is missing: ")
    found = node.verify(desired={}, infer=True, expected_gpus=None, image="img:1")
    assert found["verdict"]["first_broken"] is None


def test_a_capture_says_what_it_was_judged_against_and_is_masked(node: Node) -> None:
    assert "capture" not in node.verify()
    capture = node.verify(capture=True, name="gpu07", scope="fact")["capture"]
    judged = capture["judged"]
    users = judged["desired"]["settings"]["device_access"].pop("device_access_users")
    assert users == ["user-1", "user-2"]
    assert judged["desired"]["digest"] == WANTED.digest
    assert {name: judged[name] for name in ("name", "expected_gpus", "image", "scope", "single_gpus")} == {
        "name": "host-1",
        "expected_gpus": 1,
        "image": "",
        "scope": "fact",
        "single_gpus": False,
    }
    assert judged["mark_objection"] == "the node was never verified"
    assert capture["host"] == "host-1"
