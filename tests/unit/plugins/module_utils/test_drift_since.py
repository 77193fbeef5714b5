# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Since when: what the evidence tells, else after the last good look, and nothing where nothing tells."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.drift_since import (
    Known,
    Since,
    last_whole,
    of,
    of_mark,
    utc,
    witnesses,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    Boot,
    Evidence,
    FileState,
    Finding,
    Library,
    Reading,
    RuntimeProgram,
)
from ansible_collections.goldennode.gpu.tests.unit import healthy

DAY = 1_796_000_000.0  # 2026-11-30T00:53:20Z
NODE = healthy.known(healthy.evidence(), boot=Boot("1", healthy.KERNEL, DAY))
FILE = "/etc/modprobe.d/goldennode-nvidia.conf"
LIST = "/var/lib/dpkg/info/libcuda1:amd64.list"
DAEMON_JSON = FileState("/etc/docker/daemon.json", "d" * 64, 0o644, 0, 0, DAY + 60)


def failed(name: str, entity: str = "", **more: t.Any) -> Finding:
    return Finding(id=name, layer=name.partition(".")[0], status="fail", entity=entity, **more)


def docker_started(evidence: Evidence) -> Evidence:
    units = dict(evidence.units.value or {})
    units["docker.service"] = dataclasses.replace(units["docker.service"], started_at=DAY + 60)
    return healthy.known(evidence, units=units)


@pytest.mark.parametrize(
    ("finding", "evidence", "known", "since"),
    [
        (failed("host_driver.kernel"), NODE, Known(), Since("at", "2026-11-30T00:53:20Z", "the boot")),
        (
            failed("container_runtime.cgroup_mode"),
            NODE,
            Known(),
            Since("at", "2026-11-30T00:53:20Z", "the boot"),
        ),
        (
            failed("container_runtime.cgroup_mode", "cgroup driver"),
            docker_started(NODE),
            Known(),
            Since("at", "2026-11-30T00:54:20Z", "the start of Docker"),
        ),
        (
            failed("container_runtime.daemon_current", "runtimes"),
            docker_started(NODE),
            Known(),
            Since("at", "2026-11-30T00:54:20Z", "the start of Docker"),
        ),
        (
            failed("device_nodes.files", FILE),
            healthy.known(NODE, files={FILE: FileState(FILE, "", 0o644, 0, 0, DAY + 60)}),
            Known(),
            Since("by", "2026-11-30T00:54:20Z", "the last change of " + FILE),
        ),
        (
            failed("container_runtime.daemon_config", "runtimes"),
            healthy.known(NODE, docker_config_file=DAEMON_JSON),
            Known(),
            Since("by", "2026-11-30T00:54:20Z", "the last change of /etc/docker/daemon.json"),
        ),
        (
            failed("packages.versions", "libcuda1"),
            NODE,
            Known(changed={LIST: DAY + 60}),
            Since("at", "2026-11-30T00:54:20Z", "the package's list of files"),
        ),
        (
            failed("container_runtime.program", "nvidia-container-runtime"),
            healthy.known(NODE, runtime_program=RuntimeProgram("/usr/bin/n", 0o644, DAY + 60)),
            Known(),
            Since("by", "2026-11-30T00:54:20Z", "the last change of /usr/bin/n"),
        ),
        (
            failed("host_driver.module_on_disk"),
            healthy.known(NODE, module_on_disk=healthy.module(modified=DAY + 60, path="/lib/m/nvidia.ko")),
            Known(),
            Since("by", "2026-11-30T00:54:20Z", "the last change of /lib/m/nvidia.ko"),
        ),
        (
            failed("device_nodes.modes", "/dev/nvidia0"),
            NODE,
            Known(changed={"/dev/nvidia0": DAY + 60}),
            Since("by", "2026-11-30T00:54:20Z", "the last change of /dev/nvidia0"),
        ),
    ],
)
def test_what_tells_it(finding: Finding, evidence: Evidence, known: Known, since: Since) -> None:
    assert of(finding, evidence, known) == since


WHOLE = Since("after", "2026-12-01T09:30:00Z", "the last look that found it whole")


@pytest.mark.parametrize(
    "finding",
    [
        failed("packages.holds", "nvidia-open"),
        failed("packages.versions", "libcuda1"),
        failed("device_nodes.files", "/etc/gone"),
        failed("host_driver.initramfs"),
        failed("image.present"),
        failed("host_driver.nouveau"),
    ],
    ids=lambda finding: finding.id,
)
def test_where_nothing_tells_it_is_after_the_last_good_look(finding: Finding) -> None:
    assert of(finding, NODE, Known("2026-12-01T09:30:00Z")) == WHOLE
    running = finding.id == "host_driver.nouveau"
    assert of(finding, NODE, Known()) == (Since("after", "2026-11-30T00:53:20Z", "the boot") if running else Since())


def test_what_a_boot_makes_cannot_be_older_than_the_boot() -> None:
    found = of(failed("host_driver.loaded"), NODE, Known("2026-11-29T00:00:00Z"))
    assert found == Since("after", "2026-11-30T00:53:20Z", "the boot")
    assert of(failed("packages.holds"), NODE, Known("2026-11-29T00:00:00Z")).at == "2026-11-29T00:00:00Z"
    unread = healthy.unreadable(NODE, "boot")
    assert of(failed("host_driver.loaded"), unread, Known()) == Since()


def test_a_file_that_is_older_than_the_last_good_look_is_not_what_has_changed() -> None:
    """As a CDI specification that stayed while the driver moved."""
    assert of(failed("packages.versions", "libcuda1"), NODE, Known("2026-12-01T09:30:00Z", {LIST: DAY})) == WHOLE


def test_what_the_agent_suspended_the_mark_for_began_before() -> None:
    mark = {"state": "suspended", "by": "agent", "since": "2026-12-02T03:00:00Z", "reason": "packages.holds (x): free"}
    evidence = healthy.known(NODE, mark=mark)
    told = Since("by", "2026-12-02T03:00:00Z", "the agent, which suspended the mark for it")
    assert of(failed("packages.holds", "x"), evidence, Known()) == told
    assert of(failed("image.present"), evidence, Known()) == Since()


def test_of_what_only_the_mark_can_tell() -> None:
    assert of_mark("kernel", NODE, Known()) == Since("at", "2026-11-30T00:53:20Z", "the boot")
    assert of_mark("GPUs", NODE, Known()) == Since()
    assert of_mark("GPUs", NODE, Known("2026-12-01T09:30:00Z")) == WHOLE


@pytest.mark.parametrize(
    ("mark", "last", "whole"),
    [
        (None, None, ""),
        ({"state": "golden", "since": "2026-12-01T00:00:00Z"}, None, "2026-12-01T00:00:00Z"),
        (
            {"state": "golden", "since": "2026-12-01T00:00:00Z"},
            {"golden": True, "at": "2026-12-02T00:00:00Z"},
            "2026-12-02T00:00:00Z",
        ),
        (
            {"state": "golden", "since": "2026-12-03T00:00:00Z"},
            {"golden": False, "at": "2026-12-04T00:00:00Z"},
            "2026-12-03T00:00:00Z",
        ),
        ({"state": "suspended", "since": "2026-12-01T00:00:00Z"}, {"golden": False, "at": "x"}, ""),
    ],
)
def test_when_the_node_was_last_whole(mark: t.Any, last: t.Any, whole: str) -> None:
    assert last_whole(mark, last) == whole


def test_the_paths_that_tell() -> None:
    assert witnesses("packages.set", "libcuda1:amd64", NODE) == [LIST]
    assert witnesses("packages.sources", "/etc/apt/sources.list:3", NODE) == ["/etc/apt/sources.list"]
    assert witnesses("container_runtime.cdi_spec", "", NODE) == ["/var/run/cdi/nvidia.yaml"]
    assert witnesses("container_runtime.cdi_spec", "", healthy.unreadable(NODE, "cdi_target")) == []
    library = Library("libcuda.so.1", "/usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.580.126.09")
    evidence = dataclasses.replace(NODE, libraries=Reading({"libcuda.so.1": library}))
    assert witnesses("host_driver.libraries", "libcuda.so.1", evidence) == [library.target]
    assert witnesses("packages.holds", "libcuda1", NODE) == []


def test_a_time_that_is_none() -> None:
    assert utc(1e30) == ""
    assert utc(DAY) == "2026-11-30T00:53:20Z"
