# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has drifted is a view of the checks: each thing by itself, with one id for the full look and the local fact."""

from __future__ import annotations

import copy
import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import drift, verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks.registry import CHECKS
from ansible_collections.goldennode.gpu.plugins.module_utils.drift_since import Known
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    Boot,
    ControlGroups,
    Desired,
    DriverLoaded,
    Evidence,
    Package,
    Reading,
)
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
MARK = {
    "state": "golden",
    "since": "2026-12-01T09:30:00Z",
    "kernel": healthy.KERNEL,
    "driver": healthy.DRIVER,
    "gpus": [healthy.uuid(0)],
    "desired_digest": WANTED.digest,
    "cgroups": "2",
    "cgroup_driver": "systemd",
}
NODE = healthy.known(healthy.evidence("a10", WANTED), mark=MARK)
MODPROBE = "/etc/modprobe.d/goldennode-blacklist.conf"

#: Judged, and no drift: whether things work, and what a card, an image or somebody's container does.
NO_DRIFT = {
    "hardware.gpu_present", "hardware.vgpu", "hardware.gpu_healthy", "hardware.memory", "hardware.recovery",
    "hardware.xid", "hardware.pcie_link", "hardware.numa", "hardware.throttle", "hardware.cpus", "hardware.pressure",
    "packages.kept", "host_driver.secure_boot", "host_driver.flavour", "host_driver.nvswitch",
    "host_driver.fabric_manager", "host_driver.fabric", "host_driver.mig", "host_driver.nvidia_smi", "host_driver.nvml",
    "host_driver.answers_agree", "host_driver.cuda", "host_driver.persistence", "container_runtime.daemon",
    "container_runtime.data_root", "container_runtime.clients", "container_runtime.injection",
    "container_runtime.cgroup_driver", "container_runtime.daemon_reload", "container_runtime.containers",
    "container_runtime.behind_systemd", "container_runtime.starved", "container_runtime.engines", "image.fits_gpus",
    "image.requirement",
    "image.environment", "image.shadowed", "image.gpus", "image.libraries", "image.device_nodes", "image.cuda",
    "image.framework", "image.requests", "policy.container_devices", "policy.apparmor", "policy.limits",
    "policy.cgroups",
}  # fmt: skip


def rows(evidence: Evidence = NODE, desired: Desired = WANTED, whole: str = "") -> t.List[drift.Row]:
    return drift.rows(desired, evidence, 1, Known(whole))


def package(name: str, **changes: t.Any) -> Evidence:
    there = NODE.packages.value or {}
    return healthy.known(NODE, packages={**there, name: dataclasses.replace(there[name], **changes)})


def edited(path: str) -> Evidence:
    there = NODE.files.value or {}
    return healthy.known(NODE, files={**there, path: dataclasses.replace(there[path], sha256="e" * 64, mtime=1e9)})


def without_runtime() -> Evidence:
    config = copy.deepcopy(NODE.docker_config.value or {})
    del config["runtimes"]
    return healthy.known(NODE, docker_config=config)


def test_a_healthy_node_has_not_drifted() -> None:
    assert rows() == []
    assert rows(healthy.cheap(NODE)) == []


#: By hand or by an upgrade: what it does -> the node, what it is called, and the finding.
BROKEN: t.Dict[str, t.Tuple[Evidence, str, str, str]] = {
    "a lifted hold": (package("libcuda1", held=False), "hold", "packages.holds", "libcuda1"),
    "an unattended upgrade": (
        package("libcuda1", version="580.178.04-1"), "driver package", "packages.versions", "libcuda1",
    ),
    "another version of control groups": (
        healthy.known(NODE, cgroups=ControlGroups("1", delegated=Reading(()))),
        "cgroup mode", "container_runtime.cgroup_mode", "",
    ),
    "a runtime taken out of daemon.json": (
        without_runtime(), "Docker setting", "container_runtime.daemon_config", "runtimes",
    ),
    "a runtime whose program was removed": (
        healthy.known(NODE, runtime_program=None), "runtime", "container_runtime.program", "nvidia-container-runtime",
    ),
    "a modprobe file edited by hand": (edited(MODPROBE), "managed file", "host_driver.files", MODPROBE),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_what_drifts_is_found_by_the_full_look_and_by_the_fact_with_the_same_id(what: str) -> None:
    evidence, axis, finding, entity = BROKEN[what]
    for seen in (evidence, dataclasses.replace(evidence, scope="host"), healthy.cheap(evidence)):
        found = [(row.what, row.id, row.entity, row.status) for row in rows(seen)]
        assert (axis, finding, entity, "drifted") in found
        assert {row[1] for row in found} == {finding}


@pytest.mark.parametrize("what", BROKEN)
def test_each_takes_the_gold_away_by_that_very_finding(what: str) -> None:
    evidence, _axis, finding, _entity = BROKEN[what]
    for seen in (evidence, healthy.cheap(evidence)):
        judged = verdict.run(WANTED, seen, 1)
        assert not judged.golden
        assert {one.id for one in judged.broken} == {finding}


def test_all_layers_are_told_where_a_verdict_names_the_first() -> None:
    evidence = healthy.known(
        edited(MODPROBE),
        packages=package("libcuda1", held=False).packages.value,
        cgroups=ControlGroups("1", delegated=Reading(())),
    )
    told = ["packages.holds", "host_driver.files", "container_runtime.cgroup_mode"]
    assert [row.id for row in rows(evidence)] == told
    assert verdict.run(WANTED, evidence, 1).first_broken == "packages"


def test_was_is_and_what_to_do() -> None:
    (row,) = rows(edited(MODPROBE))
    plain = drift.plain(row)
    assert plain["was"] == "sha256 " + WANTED.files[MODPROBE].sha256[:12]
    assert plain["is"] == "sha256 eeeeeeeeeeee"
    assert plain["fix"].startswith("Run site.yml on this node.")
    assert plain["since"]["at"] == "2001-09-09T01:46:40Z"
    assert set(drift.brief(row)) == {"what", "id", "status", "entity", "was", "is", "since"}


def test_what_cannot_be_read_is_not_known_and_never_left_out() -> None:
    for seen in (healthy.unreadable(NODE, "packages"), healthy.cheap(healthy.unreadable(NODE, "packages"))):
        found = rows(seen)
        assert {row.status for row in found} == {"unknown"}
        assert "packages.holds" in {row.id for row in found}
        assert all("packages was unreadable" in row.now and row.since.how == "" for row in found)


@pytest.mark.parametrize(
    ("boot", "mark", "what", "was", "now"),
    [
        ("6.12.99", {}, "kernel", healthy.KERNEL, "6.12.99"),
        (healthy.KERNEL, {"driver": "580.126.09"}, "driver loaded", "580.126.09", healthy.DRIVER),
        (healthy.KERNEL, {"gpus": ["GPU-other"]}, "GPUs", "GPU-other", healthy.uuid(0)),
    ],
)
def test_what_the_lock_leaves_open_and_the_proof_does_not(
    boot: str, mark: t.Dict[str, t.Any], what: str, was: str, now: str
) -> None:
    free = healthy.desired(kernel_pin=False)
    evidence = healthy.known(
        healthy.evidence("a10", free),
        boot=Boot("9", boot, 5e8),
        mark={**MARK, "desired_digest": free.digest, **mark},
    )
    assert [(row.id, row.what, row.was, row.now) for row in rows(evidence, free)] == [("mark", what, was, now)]


def test_a_kernel_that_the_lock_names_is_told_once() -> None:
    found = rows(healthy.known(NODE, boot=Boot("9", "6.12.99", 5e8)))
    assert [(row.id, row.what) for row in found if row.what == "kernel"] == [("host_driver.kernel", "kernel")]


def test_a_kept_state_that_is_not_the_proven_one() -> None:
    found = rows(healthy.known(NODE, mark={**MARK, "desired_digest": "sha256:other"}))
    assert [(row.what, row.was, row.now) for row in found] == [("wanted state", "sha256:other", WANTED.digest)]


def test_without_a_mark_there_is_nothing_more_to_tell() -> None:
    assert rows(healthy.known(NODE, mark=None)) == []
    assert rows(healthy.known(NODE, mark={"state": "revoked", "run": "1", "gpus": []})) == []


@pytest.mark.parametrize("gpus", [5, "x", [None], {"a": 1}])
def test_a_mark_that_somebody_edited_ends_no_look(gpus: t.Any) -> None:
    edited_mark = {**MARK, "gpus": gpus, "kernel": 5, "cgroups": [], "since": None, "reason": 3, "state": "suspended"}
    assert {row.id for row in rows(healthy.known(NODE, mark=edited_mark))} <= {"mark"}


def test_what_is_waived_is_told_with_its_waiver() -> None:
    waiver = {"id": "packages.holds", "reason": "we upgrade it by hand", "until": "2027-03-31"}
    waived = healthy.desired(golden_waivers=[waiver])
    evidence = healthy.known(package("libcuda1", held=False), mark={**MARK, "desired_digest": waived.digest})
    (row,) = rows(evidence, waived, whole="2026-12-01T09:30:00Z")
    assert (row.id, row.waived) == ("packages.holds", "waived until 2027-03-31: we upgrade it by hand")
    assert row.since.how == "", "it may have been there while the node was golden"


def test_what_else_is_broken_is_no_drift() -> None:
    lost = healthy.of_gpu(NODE, recovery=1)
    assert rows(lost) == []
    assert [text.partition(":")[0] for text in drift.others(WANTED, lost, 1)] == ["hardware.recovery"]
    assert drift.others(WANTED, package("libcuda1", held=False), 1) == []


def test_another_driver_is_seen_as_package_on_disk_and_in_the_kernel() -> None:
    evidence = healthy.known(
        package("libcuda1", version="580.178.04-1"),
        driver=DriverLoaded("580.126.09", "open"),
        module_on_disk=healthy.module("580.178.04"),
    )
    assert {"driver package", "driver on disk", "driver loaded"} <= {row.what for row in rows(evidence)}


def test_a_package_that_is_for_another_axis_is_called_by_it() -> None:
    for name, called in (("nvidia-container-toolkit", "toolkit package"), ("docker-ce", "Docker package")):
        assert [row.what for row in rows(package(name, version="0"))] == [called]
    kernel = next(iter(WANTED.lock["kernel"]["packages"]))
    assert "kernel package" in [row.what for row in rows(package(kernel, version="0"))]


def test_witnesses_are_asked_for_what_has_drifted_alone() -> None:
    found = rows(package("libcuda1", version="580.178.04-1"))
    assert drift.witnesses(found, NODE) == [
        "/var/lib/dpkg/info/libcuda1.list",
        "/var/lib/dpkg/info/libcuda1:amd64.list",
        "/var/lib/dpkg/info/libcuda1:arm64.list",
    ]
    assert drift.witnesses(rows(healthy.unreadable(NODE, "toolkit_config")), NODE) == []


def test_every_check_is_drift_or_is_said_not_to_be() -> None:
    ids = {check.id for check in CHECKS}
    assert set(drift.AXES) | NO_DRIFT == ids
    assert not set(drift.AXES) & NO_DRIFT


def test_what_is_installed_beside_the_lock_is_told() -> None:
    there = {**(NODE.packages.value or {}), "libcuda1": Package("libcuda1", "550.1-1")}
    assert {row.id for row in rows(healthy.known(NODE, packages=there))} <= {
        "packages.set",
        "packages.versions",
        "packages.holds",
    }
