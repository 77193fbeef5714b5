# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that were proven as something else than they are now, and whose containers may work all the same."""

from __future__ import annotations

import dataclasses

from ansible_collections.goldennode.gpu.plugins.module_utils.model import ControlGroups, Reading, RuntimeProgram
from ansible_collections.goldennode.gpu.scripts.docpages.case import Case, Node, known, node, with_

PROVEN = {"cgroups": "2", "cgroup_driver": "systemd"}


def old_groups() -> Node:
    return with_(node(), mark=PROVEN, cgroups=ControlGroups("1", delegated=Reading(())))


def other_driver() -> Node:
    of = node()
    there = of.evidence.docker.value
    assert there is not None
    return with_(of, mark=PROVEN, docker=dataclasses.replace(there, cgroup_driver="cgroupfs"))


CASES = (
    Case(
        "container_runtime.program",
        "the program of Docker's runtime was removed",
        known(runtime_program=None),
        ("container_does_not_start", "stopped_working"),
    ),
    Case(
        "container_runtime.program",
        "the program of Docker's runtime cannot be run",
        known(runtime_program=RuntimeProgram("/usr/bin/nvidia-container-runtime", 0o644, 900.0)),
        ("container_does_not_start", "stopped_working"),
    ),
    Case(
        "container_runtime.cgroup_mode",
        "the node was booted with control groups of version 1",
        old_groups,
        ("stopped_working",),
    ),
    Case(
        "container_runtime.cgroup_mode",
        "Docker keeps control groups by another driver",
        other_driver,
        ("stopped_working",),
    ),
)
