# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A container keeps its GPUs over ``systemctl daemon-reload``: judged before it bites, and proven where a run asks.

Case 017 (NVIDIA's notice, nvidia-docker#1730): a new container is well, so that one look finds nothing.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.compat import TOOLKIT_FLOOR
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    Desired,
    DeviceAnswers,
    Evidence,
    Finding,
    Gpu,
    GpuTool,
    Reading,
    ReloadLook,
    to_plain,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import evidence_from_plain
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)
NODES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm")


def of(check: str, evidence: Evidence, wanted: Desired = WANTED) -> t.List[Finding]:
    return [finding for finding in verdict.run(wanted, evidence, 1).findings if finding.id == check]


# --- before it bites -------------------------------------------------------------------------------------------------


def combination(
    driver: str, mode: t.Optional[str], toolkit: str = "1.20.0", **variables: t.Any
) -> t.Tuple[str, t.Optional[str], Finding]:
    """Status of the check, the broken layer, and the finding. ``mode``: what config.toml says, None for nothing."""
    of_lock = healthy.lock(toolkit={"version": toolkit})
    wanted = healthy.desired(of_lock=of_lock, toolkit_runtime_mode=mode or "auto", **variables)
    evidence = healthy.evidence("a10", wanted)
    engine = dataclasses.replace(evidence.docker.value, cgroup_driver=driver)
    config = evidence.toolkit_config.value if mode else {}
    evidence = healthy.known(evidence, docker=engine, toolkit_config=config)
    (finding,) = of("container_runtime.cgroup_driver", evidence, wanted)
    return finding.status, verdict.run(wanted, evidence, 1).first_broken, finding


@pytest.mark.parametrize(
    ("driver", "mode", "toolkit", "status"),
    [
        ("systemd", "auto", "1.20.0", "pass"),
        ("systemd", "auto", "1.18.0", "pass"),
        ("systemd", None, "1.20.0", "pass"),
        ("systemd", "jit-cdi", "1.20.0", "pass"),
        ("systemd", "cdi", "1.17.8", "pass"),
        ("systemd", "legacy", "1.20.0", "fail"),
        ("systemd", "auto", "1.17.8", "fail"),
        ("systemd", None, "1.9.0", "fail"),
        ("cgroupfs", "legacy", "1.17.8", "pass"),
        ("none", "legacy", "1.17.8", "pass"),
    ],
)
def test_systemd_and_a_hook_behind_its_back_do_not_go_together(
    driver: str, mode: t.Optional[str], toolkit: str, status: str
) -> None:
    found, broken, finding = combination(driver, mode, toolkit)
    assert found == status
    # A file that does not say the mode is another's finding.
    assert broken == ("container_runtime" if status == "fail" or mode is None else None)
    if status == "fail":
        assert finding.required
        assert "recreate the containers" in finding.fix


BY_CDI = "golden_container_injections to [cdi]"
BY_MODE = "toolkit_runtime_mode to cdi"


@pytest.mark.parametrize(
    ("mode", "toolkit", "said", "driver", "then_mode", "then_toolkit", "variables"),
    [
        ("legacy", "1.20.0", "toolkit_runtime_mode to auto", "systemd", "auto", "1.20.0", {}),
        ("legacy", "1.20.0", BY_CDI, "systemd", "legacy", "1.20.0", {"golden_container_injections": ["cdi"]}),
        ("legacy", "1.20.0", "native.cgroupdriver=cgroupfs", "cgroupfs", "legacy", "1.20.0", {}),
        ("auto", "1.17.8", "toolkit.version %s or newer" % TOOLKIT_FLOOR, "systemd", "auto", TOOLKIT_FLOOR, {}),
        ("legacy", "1.17.8", "with toolkit_runtime_mode: auto", "systemd", "auto", TOOLKIT_FLOOR, {}),
        ("auto", "1.17.8", BY_MODE, "systemd", "cdi", "1.17.8", {}),
    ],
)
def test_each_way_out_that_is_named_makes_the_check_pass(
    mode: str, toolkit: str, said: str, driver: str, then_mode: str, then_toolkit: str, variables: t.Any
) -> None:
    finding = combination("systemd", mode, toolkit)[2]
    assert said in finding.fix
    assert finding.repair == "manual"
    assert combination(driver, then_mode, then_toolkit, **variables)[0] == "pass"


def test_a_mode_that_was_set_by_hand_is_put_back_by_a_run() -> None:
    config = {**(NODE.toolkit_config.value or {}), "nvidia-container-runtime": {"mode": "legacy"}}
    (finding,) = of("container_runtime.cgroup_driver", healthy.known(NODE, toolkit_config=config))
    assert (finding.status, finding.repair) == ("fail", "roles")
    assert "It sets the mode of the nvidia runtime to auto" in finding.fix


def test_without_cdi_in_use_it_is_not_named_as_a_way_out() -> None:
    of_lock = healthy.lock(docker={"version": "20.10.24"}, toolkit={"version": "1.17.8"})
    wanted = healthy.desired(of_lock=of_lock)
    (finding,) = of("container_runtime.cgroup_driver", healthy.evidence("a10", wanted), wanted)
    assert finding.status == "fail"
    assert BY_CDI not in finding.fix


def test_links_in_dev_char_do_not_help_what_never_stood_in_the_specification() -> None:
    """They are all there on the healthy node; the hook's devices are unknown to systemd all the same."""
    assert None not in (NODE.dev_char.value or {}).values()
    assert combination("systemd", "legacy")[0] == "fail"


def test_where_gpus_come_by_cdi_alone_the_mode_of_the_runtime_decides_nothing() -> None:
    assert combination("systemd", "legacy", golden_container_injections=["cdi"])[0] == "pass"


# --- proven by a reload ----------------------------------------------------------------------------------------------


def answers(denied: t.Sequence[str] = (), gpus: int = 1, nodes: t.Sequence[str] = NODES) -> Reading[DeviceAnswers]:
    tool = GpuTool(gpus=tuple(Gpu(index, healthy.uuid(index)) for index in range(gpus)))
    return Reading(DeviceAnswers(tuple(nodes), tuple(denied), Reading(tool)))


WELL = answers()
NO_SMI = Reading(DeviceAnswers(NODES, (), Reading.unknown("nvidia-smi is not in the container")))


def reloaded(after: Reading[DeviceAnswers] = WELL, before: Reading[DeviceAnswers] = WELL, **fields: t.Any) -> Evidence:
    """The node after a reload, which went well for CDI."""
    looks = {"runtime": Reading(ReloadLook("runtime", before=before, after=after, **fields))}
    looks["cdi"] = Reading(ReloadLook("cdi", before=WELL, after=WELL))
    return dataclasses.replace(NODE, reloads=looks)


def by_runtime(evidence: Evidence) -> Finding:
    runtime, cdi = of("container_runtime.daemon_reload", evidence)
    assert (runtime.entity, cdi.entity, cdi.status) == ("runtime", "cdi", "pass")
    return runtime


@pytest.mark.parametrize("scope", ["full", "fact"])
def test_a_look_that_was_not_asked_says_nothing_at_all(scope: str) -> None:
    evidence = NODE if scope == "full" else healthy.cheap(NODE)
    assert of("container_runtime.daemon_reload", evidence) == []
    assert verdict.run(WANTED, evidence, 1).golden


def test_a_container_that_keeps_its_gpus() -> None:
    assert by_runtime(reloaded()).actual == "3 nodes open, and 1 GPUs answer, after a reload"
    assert verdict.run(WANTED, reloaded(), 1).golden


@pytest.mark.parametrize(
    ("after", "lost"),
    [
        (answers(denied=NODES, gpus=0), "/dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm, " + healthy.uuid(0)),
        (answers(denied=["/dev/nvidia-uvm"]), "/dev/nvidia-uvm"),  # nvidia-smi is well, and CUDA is not
        (answers(gpus=0), healthy.uuid(0)),
        (answers(nodes=NODES[:2]), "/dev/nvidia-uvm"),
    ],
)
def test_a_container_that_loses_its_gpus_is_not_golden(after: Reading[DeviceAnswers], lost: str) -> None:
    finding = by_runtime(reloaded(after))
    assert (finding.status, finding.required, finding.actual) == ("fail", True, "lost: " + lost)
    assert verdict.run(WANTED, reloaded(after), 1).first_broken == "container_runtime"


def test_an_image_without_nvidia_smi_is_judged_by_its_nodes() -> None:
    assert by_runtime(reloaded(NO_SMI, NO_SMI)).status == "pass"
    denied = Reading(DeviceAnswers(NODES, NODES, NO_SMI.value.smi))
    assert by_runtime(reloaded(denied, NO_SMI)).status == "fail"


@pytest.mark.parametrize(
    "evidence",
    [
        reloaded(Reading.unknown("docker was killed")),
        reloaded(before=Reading.unknown("docker was killed")),
        reloaded(before=answers(denied=["/dev/nvidia0"])),
        reloaded(answers(nodes=()), answers(nodes=())),
        dataclasses.replace(NODE, reloads={**reloaded().reloads, "runtime": Reading.unknown("no container")}),
        dataclasses.replace(NODE, reloads={"cdi": reloaded().reloads["cdi"]}),
    ],
)
def test_what_was_asked_and_is_not_known_never_passes(evidence: Evidence) -> None:
    finding = by_runtime(evidence)
    assert (finding.status, finding.required) == ("unknown", True)
    assert finding.cause
    assert not verdict.run(WANTED, evidence, 1).golden


def test_a_reload_that_nobody_allowed_is_not_proven_and_the_node_is_golden() -> None:
    looks = {way: Reading(ReloadLook(way, not_tried="containers with GPUs run: web 01")) for way in ("runtime", "cdi")}
    found = verdict.run(WANTED, dataclasses.replace(NODE, reloads=looks), 1)
    assert found.golden
    (said,) = found.not_proven  # once, and not for each way
    assert said.startswith("container_runtime.daemon_reload: ")
    assert "web 01" in said
    (finding, _other) = (f for f in found.findings if f.id == "container_runtime.daemon_reload")
    assert "golden_allow_daemon_reload=true" in finding.fix


def test_it_survives_the_way_to_the_module_that_marks() -> None:
    evidence = reloaded(answers(denied=NODES))
    assert evidence_from_plain(json.loads(json.dumps(to_plain(evidence)))) == evidence
