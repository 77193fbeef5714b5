# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers that run already: which of them hold another driver, which would lose their GPUs, and what helps whom."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    DeviceNode,
    DriverLoaded,
    Evidence,
    Finding,
    RunningContainer,
)
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)
OLD = "580.126.09"
ID = "0123456789ab" + "c" * 52
GPU = DeviceNode("/dev/nvidia0", 0o666, 0, 44, 195, 0)
CONTROL = DeviceNode("/dev/nvidiactl", 0o666, 0, 44, 195, 255)
UVM = DeviceNode("/dev/nvidia-uvm", 0o666, 0, 44, healthy.UVM_MAJOR, 0)


def container(**fields: t.Any) -> RunningContainer:
    plain: t.Dict[str, t.Any] = {"image": "cuda:13", "drivers": (healthy.DRIVER,), "started_at": "2026-11-01"}
    return RunningContainer(ID, "web", **{**plain, **fields})


def judged(*containers: RunningContainer, of: Evidence = NODE) -> verdict.Verdict:
    return verdict.run(WANTED, healthy.known(of, running_containers=containers), 1)


def findings(check: str, *containers: RunningContainer) -> t.List[Finding]:
    return [f for f in judged(*containers).findings if f.id == check]


def old(**fields: t.Any) -> Finding:
    (finding,) = findings("container_runtime.containers", container(**{"drivers": (OLD,), **fields}))
    assert finding.status == "fail"
    assert all((finding.expected, finding.actual, finding.cause, finding.fix, finding.repair))
    return finding


def test_containers_with_the_loaded_driver_are_well() -> None:
    (finding,) = findings("container_runtime.containers", container(), container(drivers=()))
    assert (finding.status, finding.actual) == ("pass", "1 running containers hold the driver, all of them 580.159.03")


def test_an_old_container_is_named_and_takes_no_gold_from_the_node() -> None:
    finding = old()
    assert finding.entity == "web 0123456789ab"
    assert "Container web (cuda:13) holds the libraries of driver 580.126.09, and 580.159.03 is loaded" in finding.cause
    assert "docker restart web" in finding.fix
    assert "docker_allow_container_restart=true" in finding.fix
    assert finding.repair == "roles"
    found = judged(container(drivers=(OLD,)))
    assert found.golden
    assert found.not_proven == ("container_runtime.containers: %s" % finding.cause,)


def test_the_loaded_driver_counts_and_not_the_one_that_a_reboot_will_bring() -> None:
    """Between an upgrade and the reboot the old container is the one that works."""
    evidence = healthy.known(NODE, driver=DriverLoaded(OLD, "open"), running_containers=(container(drivers=(OLD,)),))
    check = next(c for c in verdict.CHECKS if c.id == "container_runtime.containers")
    assert [f.status for f in verdict.judge(check, WANTED, evidence, 1)] == ["pass"]


def test_one_that_holds_two_drivers_is_told_of_the_wrong_one() -> None:
    assert old(drivers=(OLD, healthy.DRIVER)).actual.startswith("files of driver 580.126.09,")


@pytest.mark.parametrize(
    ("fields", "words", "repair"),
    [
        ({"owner": "compose", "owner_name": "shop/api"}, "docker compose -p shop restart api", "roles"),
        ({"owner": "swarm", "owner_name": "shop_api"}, "docker service update --force shop_api", "manual"),
        ({"owner": "kubernetes", "owner_name": "ns/pod-0"}, "kubectl delete pod -n ns pod-0", "manual"),
        ({"own_mounts": True}, "must be recreated with those of 580.159.03", "manual"),
        ({"own_mounts": True, "owner": "compose", "owner_name": "shop/api"}, "A restart does not help", "manual"),
    ],
)
def test_whoever_started_it_is_told_how_to_start_it_anew(fields: t.Any, words: str, repair: str) -> None:
    finding = old(**fields)
    assert words in finding.fix
    assert finding.repair == repair
    assert ("docker_allow_container_restart" in finding.fix) is (repair == "roles")


def test_one_that_cannot_be_read_is_said_and_no_pass() -> None:
    (finding,) = findings("container_runtime.containers", container(drivers=(), error="it could not be read"))
    assert (finding.status, finding.actual, finding.required) == ("unknown", "it could not be read", False)
    assert "web 0123456789ab" in finding.cause


def test_without_docker_nothing_runs() -> None:
    evidence = healthy.known(NODE, running_containers=None)
    assert verdict.run(WANTED, evidence, 1).golden


# --- behind systemd's back -------------------------------------------------------------------------------------------

ALL = ("/dev/char/195:0 rw", "/dev/char/195:255 rwm", "/dev/char/%d:0 rw" % healthy.UVM_MAJOR)


def behind(*rules: str, nodes: t.Sequence[DeviceNode] = (GPU, CONTROL, UVM)) -> t.List[Finding]:
    found = findings("container_runtime.behind_systemd", container(nodes=tuple(nodes), device_allow=rules))
    return [finding for finding in found if finding.status != "pass"]


@pytest.mark.parametrize(
    "rules",
    [
        ALL,
        ("/dev/char/195:* rw", ALL[2]),
        ("/dev/nvidia0 rw", "/dev/nvidiactl rwm", "/dev/nvidia-uvm rw"),
        ("char-nvidia rw", "char-nvidia-uvm rw"),
        ("char-* rwm",),
    ],
)
def test_gpus_that_systemd_knows_stay(rules: t.Sequence[str]) -> None:
    assert behind(*rules) == []


@pytest.mark.parametrize(
    ("rules", "lost"),
    [
        ((), "/dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm"),
        (("char-* m", "/dev/char/1:3 rwm", "char-pts rwm"), "/dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm"),
        (ALL[:2], "/dev/nvidia-uvm"),
        (("/dev/char/195:0 r", *ALL[1:]), "/dev/nvidia0"),
        (("/dev/char/195:1 rw", *ALL[1:]), "/dev/nvidia0"),
    ],
)
def test_gpus_that_systemd_does_not_know_are_lost_at_the_next_reload(rules: t.Sequence[str], lost: str) -> None:
    (finding,) = behind(*rules)
    assert (finding.status, finding.required, finding.actual, finding.repair) == ("fail", False, lost, "manual")
    assert finding.entity == "web 0123456789ab"
    assert "recreate the containers" in finding.fix
    assert finding.cause


def test_where_systemd_does_not_judge_devices_nothing_can_be_lost() -> None:
    (finding,) = findings("container_runtime.behind_systemd", container(nodes=(GPU,), device_allow=None))
    assert finding.status == "pass"
