# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer hardware: why a node whose GPUs are well may be slow all the same.

Nothing here takes gold away: a slow node is not an unfit one, and a busy one is what it is for.
"""

from __future__ import annotations

import typing as t

from ..model import Desired, Evidence, Finding, HostLoad, Reading
from . import gpu_state
from .outcome import all_passed, failed, unknown

#: Percent of five minutes. The long average: a burst while an image is pulled is no fault.
#: Nothing went on for a minute out of five since disks were waited for: loaders cannot hide that from a GPU.
IO_FULL = 20.0
#: Percent of a moment in which anything ran on a GPU. Below it, with a program on it, the GPU is not what is short.
GPU_WAITS = 10
#: Waiting for memory is thrashing as soon as it can be seen: the kernel reads the same pages again and again.
MEMORY_FULL = 5.0
#: One task that waits counts as much as a hundred, and loaders are many: high, and only with a queue beside it.
CPU_SOME = 80.0
#: Tasks for each CPU in that queue. Twice as many as can run means that each gets half of its time.
QUEUE = 2.0
#: Where the kernel does not count waiting: the load has tasks in it that wait for disks, so it must be higher.
QUEUE_ALONE = 4.0
#: Percent of the time since boot. Coarse, so as high as what PSI must show.
IOWAIT = 20.0
#: Above it a guest loses more than its owner's jitter: one second in twenty.
STEAL = 5.0
#: Percent of the CPUs that may be isolated before loaders have too few of them.
ISOLATED = 50.0


def cpus(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """The CPUs that feed the GPUs run as fast as they can, for whoever works on this node."""
    load = evidence.load.value or HostLoad()
    problems = [*_frequency(load), *_isolated(load), *_steal(load)]
    return all_passed(problems, _described(load))


def _described(load: HostLoad) -> str:
    frequency = load.frequency.value
    governors = ", ".join(sorted(frequency.policies)) if frequency and frequency.policies else "no governor"
    nodes = len(load.numa.value or {}) or 1
    return "%d CPUs, %d NUMA nodes, %s" % (len(load.online.value or ()), nodes, governors)


def _not_read(reading: Reading[t.Any], what: str) -> t.Iterator[Finding]:
    if not reading.known:
        yield unknown(reading.error or "", what, cause="Whether the node is slow for its %s is not known." % what)


def _frequency(load: HostLoad) -> t.Iterator[Finding]:
    yield from _not_read(load.frequency, "CPU governor")
    frequency = load.frequency.value
    for words, count in sorted(frequency.policies.items()) if frequency else ():
        if words == "powersave" and frequency and not _chooses_itself(frequency.driver):
            yield failed(
                "CPU governor",
                expected="performance, schedutil or ondemand",
                actual="powersave with driver %s, for %d groups of CPUs" % (frequency.driver or "unknown", count),
                cause="The CPUs are kept at their lowest frequency, so that they feed the GPUs slowly.",
                fix="Run cpupower frequency-set --governor performance; to keep it over a reboot, install tuned and "
                "run tuned-adm profile throughput-performance.",
                repair="manual",
            )
        elif words == "powersave, power":
            yield failed(
                "CPU governor",
                expected="preference performance or balance_performance",
                actual="preference power, for %d groups of CPUs" % count,
                cause="The CPUs are told to save power rather than to be fast, so that they feed the GPUs slowly.",
                fix="As root: echo balance_performance | tee "
                "/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference; to keep it over a reboot, "
                "install tuned and run tuned-adm profile throughput-performance.",
                repair="manual",
            )


def _chooses_itself(driver: str) -> bool:
    """With these drivers powersave is the usual governor, by which the CPU still goes to its highest frequency."""
    return driver in ("intel_pstate", "amd-pstate-epp")


def _isolated(load: HostLoad) -> t.Iterator[Finding]:
    yield from _not_read(load.isolated, "isolated CPUs")
    online, isolated = set(load.online.value or ()), set(load.isolated.value or ())
    if online and 100.0 * len(online & isolated) / len(online) >= ISOLATED:
        yield failed(
            "isolated CPUs",
            expected="less than half of the CPUs",
            actual="%d of %d CPUs" % (len(online & isolated), len(online)),
            cause="Most CPUs are isolated (isolcpus): all programs that are not pinned to them share the few others.",
            fix="Take isolcpus out of the kernel's command line, or pin the jobs: docker run --cpuset-cpus=LIST.",
            repair="manual",
        )


def _steal(load: HostLoad) -> t.Iterator[Finding]:
    yield from _not_read(load.times, "CPU times")
    if load.times.value and load.times.value.steal >= STEAL:
        yield failed(
            "steal",
            expected="less than %d %% of the time since boot" % STEAL,
            actual="%.1f %%" % load.times.value.steal,
            cause="The hypervisor takes CPU time from this guest: it runs more CPUs than the machine has.",
            fix="Ask whoever runs the hypervisor for CPUs of its own (pinned vCPUs, no overcommitment).",
            repair="manual",
        )


def pressure(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """Whether work on this node waits for something else than the GPUs, now and in the last five minutes."""
    load = evidence.load.value or HostLoad()
    if not load.stalls.known:
        return list(_not_read(load.stalls, "pressure"))
    if not load.stalls.value:
        return all_passed(
            _without_stalls(load, evidence), "no long queue; this kernel does not count waiting (psi=1 makes it)"
        )
    problems = [*_io(load, evidence), *_memory(load), *_cpu(load)]
    return all_passed(problems, "nothing waits for long")


def _long(load: HostLoad, name: str, full: bool) -> float:
    stall = (load.stalls.value or {}).get(name)
    numbers = () if stall is None else stall.full if full else stall.some
    return numbers[-1] if numbers else 0.0


def _io(load: HostLoad, evidence: Evidence) -> t.Iterator[Finding]:
    found = _long(load, "io", full=True)
    if found >= IO_FULL:
        yield _waits_for_disks("everything waited %.1f %% of the last 5 minutes" % found, evidence)


def _waits_for_disks(actual: str, evidence: Evidence) -> Finding:
    starved, busy = _gpus_with_programs(evidence)
    cause = "The node waits for its disks: jobs that read their data from them leave the GPUs idle meanwhile."
    look = "See with nvidia-smi dmon whether the GPUs idle, and with iostat -x 5 which disk is busy."
    if starved:
        cause = (
            "The node waits for its disks, and GPUs wait with it (%d of %d that programs are on): they compute next to "
            "nothing now." % (len(starved), len(starved) + busy)
        )
        look = "See with iostat -x 5 which disk is busy."
    return failed(
        "io",
        expected="less than %d %% of the time" % IO_FULL,
        actual="; ".join((actual, *starved)),
        cause=cause,
        fix="%s Then put the data on a local NVMe disk, read it in larger files, or give the loader more workers."
        % look,
        repair="manual",
    )


def _gpus_with_programs(evidence: Evidence) -> t.Tuple[t.List[str], int]:
    """Those that do next to nothing for the programs on them, in words, and how many others have programs.

    It is a moment that NVML tells of, so it explains a wait that lasts, and is no fault of its own.
    """
    starved, busy = [], 0
    for gpu, state in gpu_state.told(evidence):
        if not state.processes.value or state.utilization.value is None:
            continue
        if state.utilization.value < GPU_WAITS:
            starved.append("%s at %d %%%s" % (gpu, state.utilization.value, gpu_state.users(state)))
        else:
            busy += 1
    return starved, busy


def _memory(load: HostLoad) -> t.Iterator[Finding]:
    found = _long(load, "memory", full=True)
    if found >= MEMORY_FULL:
        yield failed(
            "memory",
            expected="less than %d %% of the time" % MEMORY_FULL,
            actual="everything waited %.1f %% of the last 5 minutes%s" % (found, _swap(load)),
            cause="The node has too little memory for what runs on it, and spends its time on moving pages to disk and "
            "back.",
            fix="Run less on it, or set limits (docker run --memory). free -h shows memory and swap, docker stats "
            "which container takes it.",
            repair="manual",
        )


def _swap(load: HostLoad) -> str:
    memory = load.memory.value
    if memory is None or not memory.swap_total:
        return "; no swap"
    used = 100.0 * (memory.swap_total - memory.swap_free) / memory.swap_total
    return "; %d %% of the swap in use, swappiness %s" % (used, memory.swappiness)


def _queue(load: HostLoad) -> t.Optional[float]:
    """Tasks for each CPU over five minutes; None where one of the two is not known."""
    if not load.load.value or not load.online.value:
        return None
    return load.load.value[1] / len(load.online.value)


def _cpu(load: HostLoad) -> t.Iterator[Finding]:
    found, queue = _long(load, "cpu", full=False), _queue(load)
    if found >= CPU_SOME and queue is not None and queue >= QUEUE:
        yield _waits_for_cpus("tasks waited %.1f %% of the last 5 minutes, %.1f tasks for each CPU" % (found, queue))


def _waits_for_cpus(actual: str) -> Finding:
    return failed(
        "cpu",
        expected="tasks find a free CPU",
        actual=actual,
        cause="More tasks want to run than there are CPUs: what feeds the GPUs waits for its turn.",
        fix="Run fewer jobs or fewer loader workers on the node; top shows the tasks, docker stats the containers.",
        repair="manual",
    )


def _without_stalls(load: HostLoad, evidence: Evidence) -> t.Iterator[Finding]:
    queue = _queue(load)
    yield from _not_read(load.load, "load")
    yield from _not_read(load.times, "CPU times")
    if queue is not None and queue >= QUEUE_ALONE:
        yield _waits_for_cpus("%.1f tasks for each CPU over 5 minutes" % queue)
    if load.times.value and load.times.value.iowait >= IOWAIT:
        told = "CPUs idled for disks %.1f %% of the time since boot" % load.times.value.iowait
        yield _waits_for_disks(told, evidence)
