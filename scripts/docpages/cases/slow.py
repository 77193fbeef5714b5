# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that are golden and slow: what the machine lacks, and what running containers may not have."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    ContainerLimits,
    ControlGroups,
    CpuFrequency,
    CpuTimes,
    Engines,
    GpuProcess,
    MemoryState,
    Reading,
    Stall,
)
from ansible_collections.goldennode.gpu.scripts.docpages.case import Case, Node, node, with_
from ansible_collections.goldennode.gpu.tests.unit import healthy

STILL = Stall((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
GIB = 1024 * 1024 * 1024


def load(**fields: t.Any) -> t.Callable[[], Node]:
    """A healthy node on which this is otherwise."""
    return lambda: with_(node(), load=healthy.load(**fields))


def starved_gpu() -> Node:
    """The disks are waited for, and a GPU has a program on it that computes next to nothing."""
    of = load(stalls=stalls(io=waiting(64.0, 41.5)))()
    program = GpuProcess(4242, "python3", 5 * GIB)
    return dataclasses.replace(of, evidence=healthy.of_gpu(of.evidence, 0, utilization=3, processes=(program,)))


def load_unread(field: str, why: str) -> t.Callable[[], Node]:
    return lambda: with_(node(), load=dataclasses.replace(healthy.load(), **{field: Reading.unknown(why)}))


def stalls(**waits: Stall) -> t.Dict[str, Stall]:
    return {**dict.fromkeys(("cpu", "memory", "io"), STILL), **waits}


def waiting(some: float, full: float) -> Stall:
    return Stall((some, some, some), (full, full, full))


def job(**fields: t.Any) -> t.Callable[[], Node]:
    """A healthy node where one container with a GPU runs, whose limits are these."""
    plain: t.Dict[str, t.Any] = {"label": "training 4f1d2c3b5a69", "gpus": 1, "gpu_numa": (0,), **fields}
    return lambda: with_(node(), limits=(ContainerLimits(**plain),))


def groups(version: str, delegated: t.Tuple[str, ...] = ("cpu", "memory", "pids")) -> t.Callable[[], Node]:
    """A node on which a user runs an engine of his own."""

    def made() -> Node:
        of = node()
        there = of.evidence.engines.value or Engines()
        rootless = dataclasses.replace(there, rootless=Reading({"1000": ("docker.sock",)}))
        return with_(of, cgroups=ControlGroups(version, delegated, Reading(delegated)), engines=rootless)

    return made


def groups_unread() -> Node:
    of = groups("2")()
    why = "/etc/systemd/system/user@.service.d/delegate.conf could not be read: Permission denied"
    return with_(of, cgroups=ControlGroups("2", (), Reading.unknown(why)))


CASES = (
    Case(
        "hardware.cpus",
        "the governor keeps the CPUs at their lowest frequency",
        load(frequency=CpuFrequency("acpi-cpufreq", {"powersave": 8})),
        ("slow",),
    ),
    Case(
        "hardware.cpus",
        "the CPUs prefer to save power",
        load(frequency=CpuFrequency("intel_pstate", {"powersave, power": 8})),
        ("slow",),
    ),
    Case("hardware.cpus", "most CPUs are isolated", load(isolated=(2, 3, 4, 5, 6, 7)), ("slow",)),
    Case("hardware.cpus", "the hypervisor takes CPU time", load(times=CpuTimes(iowait=0.1, steal=12.5)), ("slow",)),
    Case(
        "hardware.cpus",
        "the governor cannot be read",
        load_unread("frequency", "/sys/devices/system/cpu/cpufreq could not be read: Permission denied"),
    ),
    Case(
        "hardware.pressure",
        "the node waits for its disks: data does not come fast enough",
        load(stalls=stalls(io=waiting(64.0, 41.5))),
        ("slow",),
    ),
    Case(
        "hardware.pressure",
        "GPUs wait for data: the disks are waited for, and programs on GPUs compute next to nothing",
        starved_gpu,
        ("slow",),
    ),
    Case(
        "hardware.pressure",
        "memory is short, and pages go to swap and back",
        load(
            stalls=stalls(memory=waiting(22.0, 9.5)),
            memory=MemoryState(64 << 20, 1 << 20, 8 << 20, 1 << 20, 52341, 60),
        ),
        ("slow", "workers_die"),
    ),
    Case(
        "hardware.pressure",
        "more tasks than CPUs",
        load(stalls=stalls(cpu=waiting(93.0, 0.0)), load=(31.0, 28.0, 25.0)),
        ("slow",),
    ),
    Case(
        "hardware.pressure",
        "the disks are slow, on a kernel that does not count waiting",
        load(stalls={}, times=CpuTimes(iowait=34.0, steal=0.0)),
    ),
    Case(
        "hardware.pressure",
        "it cannot be read",
        load_unread("stalls", "/proc/pressure/io could not be read: Permission denied"),
    ),
    Case("policy.limits", "a container with too few CPUs for its GPUs", job(gpus=4, cpus=2.0), ("slow",)),
    Case(
        "policy.limits",
        "a container is pinned to the CPUs of another NUMA node than its GPU's",
        job(cpuset=(4, 5, 6, 7)),
        ("slow",),
    ),
    Case("policy.limits", "a container with Docker's small /dev/shm", job(shm=64 << 20), ("slow", "workers_die")),
    Case(
        "policy.limits",
        "a container that may start no more processes",
        job(pids=512, pids_now=507),
        ("workers_die",),
    ),
    Case(
        "policy.limits",
        "the limits of a container are not known",
        job(error="/sys/fs/cgroup/system.slice/docker-4f1d2c3b5a69.scope/cpu.max could not be read"),
    ),
    Case(
        "container_runtime.starved",
        "a container uses up its share of CPUs",
        job(cpus=4.0, throttled=38.0),
        ("slow",),
    ),
    Case(
        "container_runtime.starved",
        "a container waits for its data",
        job(stalls={"io": waiting(71.0, 52.0)}),
        ("slow",),
    ),
    Case(
        "container_runtime.starved",
        "a container thrashes at its memory limit",
        job(memory=16 * GIB, stalls={"memory": waiting(40.0, 18.0)}),
        ("slow",),
    ),
    Case(
        "container_runtime.starved",
        "processes of a container were killed for want of memory (OOM)",
        job(memory=16 * GIB, oom_kills=3),
        ("slow", "workers_die"),
    ),
    Case(
        "container_runtime.starved",
        "what a container lacks is not known",
        job(error="/sys/fs/cgroup/system.slice/docker-4f1d2c3b5a69.scope/cpu.stat could not be read"),
    ),
    Case("policy.cgroups", "control groups of version 1", groups("1")),
    Case("policy.cgroups", "version 1, with an empty tree of version 2 beside it", groups("hybrid")),
    Case("policy.cgroups", "users' own engines cannot keep limits", groups("2")),
    Case("policy.cgroups", "what is handed to users cannot be read", groups_unread),
)
