# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Control groups and the runtime's program, against what was proven and what daemon.json names."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks.registry import CHECKS
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    ControlGroups,
    Evidence,
    Finding,
    Reading,
    RuntimeProgram,
)
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
PROVEN = {"state": "golden", "cgroups": "2", "cgroup_driver": "systemd"}
NODE = healthy.known(healthy.evidence("a10", WANTED), mark=PROVEN)
MODE, PROGRAM = "container_runtime.cgroup_mode", "container_runtime.program"


def ask(name: str, evidence: Evidence) -> t.List[Finding]:
    return verdict.judge(next(check for check in CHECKS if check.id == name), WANTED, evidence, 1)


def driver(name: str) -> Evidence:
    there = NODE.docker.value
    assert there is not None
    return healthy.known(NODE, docker=dataclasses.replace(there, cgroup_driver=name))


def version(name: str) -> Evidence:
    return healthy.known(NODE, cgroups=ControlGroups(name, delegated=Reading(())))


def test_as_it_was_proven() -> None:
    (found,) = ask(MODE, NODE)
    assert (found.status, found.actual) == ("pass", "version 2, driver systemd")
    (found,) = ask(MODE, healthy.cheap(NODE))
    assert (found.status, found.actual) == ("pass", "version 2"), "the local fact asks no engine"


@pytest.mark.parametrize("now", ["1", "hybrid"])
def test_another_version(now: str) -> None:
    for evidence in (version(now), healthy.cheap(version(now))):
        (found,) = ask(MODE, evidence)
        assert (found.status, found.required, found.repair) == ("fail", True, "roles")
        assert found.cause == (
            "The node was proven with control groups of version 2, and was booted with version %s." % now
        )
        assert "systemd.unified_cgroup_hierarchy" in found.fix


def test_a_node_that_was_proven_with_the_old_version_has_not_changed() -> None:
    old = healthy.known(version("1"), mark={**PROVEN, "cgroups": "1"})
    assert [found.status for found in ask(MODE, old)] == ["pass"]
    assert [found.status for found in ask(MODE, healthy.known(NODE, mark={**PROVEN, "cgroups": "1"}))] == ["fail"]


def test_another_driver_of_docker() -> None:
    (found,) = ask(MODE, driver("cgroupfs"))
    assert (found.entity, found.expected, found.actual) == ("cgroup driver", "systemd", "cgroupfs")
    assert "native.cgroupdriver" in found.fix
    assert [found.status for found in ask(MODE, driver(""))] == ["pass"]


@pytest.mark.parametrize("mark", [None, {"state": "revoked"}, {"state": "golden"}])
def test_where_nothing_was_proven_nothing_can_differ(mark: t.Any) -> None:
    """So a run, which revokes the mark first, proves the node as it is now."""
    assert [found.status for found in ask(MODE, healthy.known(version("1"), mark=mark))] == ["pass"]


def test_what_is_not_known_never_passes() -> None:
    (found,) = ask(MODE, healthy.unreadable(NODE, "cgroups"))
    assert (found.status, found.required, found.actual) == ("unknown", True, "cgroups: cgroups was unreadable")
    (found,) = ask(MODE, healthy.unreadable(healthy.known(NODE, mark=None), "cgroups"))
    assert (found.status, found.required) == ("unknown", False)
    assert [found.status for found in ask(MODE, healthy.unreadable(NODE, "mark"))] == ["unknown"]


def test_the_program_of_the_runtime() -> None:
    assert [(found.status, found.actual) for found in ask(PROGRAM, NODE)] == [
        ("pass", "/usr/bin/nvidia-container-runtime")
    ]
    (found,) = ask(PROGRAM, healthy.known(NODE, runtime_program=None))
    assert (found.status, found.entity, found.actual) == ("fail", "nvidia-container-runtime", "not there")
    assert found.cause == (
        "Docker's runtime nvidia is the program nvidia-container-runtime, which is not on the node: no container gets"
        " a GPU by it."
    )
    assert found.fix.startswith("dpkg -S bin/nvidia-container-runtime names the package that has it;")
    closed = RuntimeProgram("/usr/bin/nvidia-container-runtime", 0o644, 1.0)
    (found,) = ask(PROGRAM, healthy.known(NODE, runtime_program=closed))
    assert (found.entity, found.actual) == ("/usr/bin/nvidia-container-runtime", "mode 0644")
    assert [found.status for found in ask(PROGRAM, healthy.unreadable(NODE, "runtime_program"))] == ["unknown"]


def test_where_daemon_json_shall_name_no_runtime_none_is_missed() -> None:
    none = dataclasses.replace(WANTED, daemon={})
    check = next(check for check in CHECKS if check.id == PROGRAM)
    gone = healthy.known(NODE, runtime_program=None)
    assert [found.status for found in verdict.judge(check, none, gone, 1)] == ["pass"]
