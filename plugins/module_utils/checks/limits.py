# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers policy and container_runtime: running containers with GPUs that are held back by what they may have.

A limit is its owner's decision, and a container that starves is its owner's: none of this takes gold from the node.
Containers of other engines than Docker are not seen.
"""

from __future__ import annotations

import typing as t

from ..model import ContainerLimits, Desired, Evidence, Finding
from .outcome import all_passed, failed, unknown
from .slow import IO_FULL, MEMORY_FULL

#: One to drive each GPU, one to bring its data, at the least.
CPUS_PER_GPU = 2
#: What Docker gives where nobody asks for more, in bytes. Loaders hand each batch over in it.
SHM_DEFAULT = 64 * 1024 * 1024
#: Percent of the processes that it may have: the next burst of loader workers fails.
PIDS_NEARLY = 90.0
#: Percent of the periods in which it was stopped. A burst at its start is less.
THROTTLED = 10.0

#: runc writes all rules of a container anew then, and knows nothing of the GPUs that the old hook has added.
_LIVE = (
    "docker update %s %s does it while it runs, where it got its GPUs by CDI; one that got them by the old hook loses "
    "them then (see container_runtime.behind_systemd)."
)


def limits(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """What it may have is enough to feed its GPUs."""
    numa = (evidence.load.value.numa.value if evidence.load.value else None) or {}
    problems: t.List[Finding] = []
    for one in evidence.limits.value or ():
        if one.error:
            problems.append(
                unknown(one.error, one.label, cause="The limits of container %s are not known." % one.label)
            )
        problems += [*_few_cpus(one), *_far_cpus(one, numa), *_small_shm(one), *_few_processes(one)]
    return all_passed(problems, _counted(evidence))


def _more(one: ContainerLimits, *options: str) -> str:
    """How it gets them: options that docker run and docker update share."""
    words = " ".join(options)
    return "Start it anew with %s. %s" % (words, _LIVE % (words, one.label.partition(" ")[0]))


def _counted(evidence: Evidence) -> str:
    count = len(evidence.limits.value or ())
    return "%d running containers with GPUs, none held back" % count if count else "no container with GPUs runs"


def _few_cpus(one: ContainerLimits) -> t.Iterator[Finding]:
    allowed = [number for number in (one.cpus, float(len(one.cpuset)) if one.cpuset else None) if number is not None]
    if allowed and min(allowed) < CPUS_PER_GPU * one.gpus:
        yield failed(
            one.label,
            expected="at least %d CPUs for %d GPUs" % (CPUS_PER_GPU * one.gpus, one.gpus),
            actual="%g CPUs" % min(allowed),
            cause="Container %s may use too few CPUs to keep its GPUs busy." % one.label,
            fix=_more(one, "--cpus=N", "--cpuset-cpus=LIST"),
            repair="manual",
        )


def _far_cpus(one: ContainerLimits, numa: t.Mapping[str, t.Tuple[int, ...]]) -> t.Iterator[Finding]:
    """All of its CPUs on other NUMA nodes than all of its GPUs. A GPU's node may have memory alone."""
    near = {cpu for node in one.gpu_numa for cpu in numa.get(str(node), ())}
    if near and one.cpuset and not near & set(one.cpuset):
        nodes = ", ".join(str(node) for node in one.gpu_numa)
        yield failed(
            one.label,
            expected="CPUs of NUMA node %s" % nodes,
            actual="none of its %d CPUs" % len(one.cpuset),
            cause="Container %s runs on CPUs that are far from its GPUs: all data crosses the link between processors."
            % one.label,
            fix=_more(one, "--cpuset-cpus=%s" % _ranges(sorted(near))),
            repair="manual",
        )


def _ranges(cpus: t.Sequence[int]) -> str:
    """``0-3,8`` as the kernel and Docker write it."""
    runs: t.List[t.List[int]] = []
    for cpu in cpus:
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ",".join("%d-%d" % (run[0], run[-1]) if len(run) > 1 else str(run[0]) for run in runs)


def _small_shm(one: ContainerLimits) -> t.Iterator[Finding]:
    if one.shm is not None and one.shm <= SHM_DEFAULT:
        yield failed(
            one.label,
            expected="more than 64 MiB in /dev/shm",
            actual="%g MiB" % (one.shm / 1048576),
            cause="Container %s has Docker's small /dev/shm: data loaders with several workers fail in it with a bus "
            "error, or must do without." % one.label,
            fix="Start it anew with --shm-size=8g, or with --ipc=host where its user is trusted.",
            repair="manual",
        )


def _few_processes(one: ContainerLimits) -> t.Iterator[Finding]:
    if one.pids and one.pids_now is not None and 100.0 * one.pids_now / one.pids >= PIDS_NEARLY:
        yield failed(
            one.label,
            expected="room for more processes",
            actual="%d of %d processes and threads" % (one.pids_now, one.pids),
            cause="Container %s has nearly all the processes and threads that it may have: the next cannot be started."
            % one.label,
            fix=_more(one, "--pids-limit=N"),
            repair="manual",
        )


def starved(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """What it lacked: time of CPUs, data from disks, memory."""
    problems: t.List[Finding] = []
    for one in evidence.limits.value or ():
        if one.error:
            problems.append(unknown(one.error, one.label, cause="What container %s lacks is not known." % one.label))
        problems += [*_throttled(one), *_waits(one), *_killed(one)]
    return all_passed(problems, _counted(evidence))


def _throttled(one: ContainerLimits) -> t.Iterator[Finding]:
    if one.throttled is not None and one.throttled >= THROTTLED:
        yield failed(
            one.label,
            expected="less than %d %% of its periods" % THROTTLED,
            actual="stopped in %.1f %% of them" % one.throttled,
            cause="Container %s is stopped again and again since it has used up its share of CPUs: its GPUs wait."
            % one.label,
            fix=_more(one, "--cpus=N"),
            repair="manual",
        )


def _waits(one: ContainerLimits) -> t.Iterator[Finding]:
    for name, most, cause, fix in _WAITS:
        stall = one.stalls.get(name)
        found = stall.full[-1] if stall and stall.full else 0.0
        if found >= most:
            yield failed(
                one.label,
                expected="less than %d %% of the last 5 minutes" % most,
                actual="everything in it waited %.1f %%" % found,
                cause=cause % one.label,
                fix=fix or _more(one, *_MEMORY),
                repair="manual",
            )


_MEMORY = ("--memory=SIZE", "--memory-swap=SIZE")

_WAITS = (
    (
        "io",
        IO_FULL,
        "Container %s waits for disks, and its GPUs for its data.",
        "Put its data on a local NVMe disk, read it in larger files, or give its loader more workers.",
    ),
    (
        "memory",
        MEMORY_FULL,
        "Container %s has too little memory, and spends its time on moving pages.",
        "",
    ),
)


def _killed(one: ContainerLimits) -> t.Iterator[Finding]:
    if one.oom_kills:
        allowed = "its limit is %.1f GiB" % (one.memory / 1073741824) if one.memory else "no limit of its own"
        yield failed(
            one.label,
            expected="no process is killed for want of memory",
            actual="%d killed; %s" % (one.oom_kills, allowed),
            cause="The kernel has killed processes of container %s for want of memory: loader workers vanish, or a job "
            "stands still." % one.label,
            fix="Run fewer loader workers in it, or give it more. %s" % _more(one, *_MEMORY),
            repair="manual",
        )
