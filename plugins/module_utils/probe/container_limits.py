# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What running containers with GPUs may have of CPUs, memory and processes, from their control groups.

Files alone, and only where such a container runs. What it runs is its owner's business: no command line is read.
"""

from __future__ import annotations

import re
import typing as t

from ..model import ContainerLimits, Reading, RunningContainer
from ..parse import cgroup_limits as text
from ..parse import pressure as lists
from .host import Host
from .pressure import RESOURCES, stalls

ROOT = "/sys/fs/cgroup"
GPUS = "/proc/driver/nvidia/gpus"

#: Levels of groups above a container that may have limits of their own: a pod has four.
_LEVELS = 12

_GPU = re.compile(r"^/dev/nvidia(\d+)$", re.ASCII)


class _Unreadable(Exception):
    """A file of a container is there and cannot be read."""


def limits(host: Host, running: Reading[t.Tuple[RunningContainer, ...]]) -> Reading[t.Tuple[ContainerLimits, ...]]:
    """None without Docker. One that has ended meanwhile is left out."""
    if running.value is None:
        return Reading(None, running.error)
    with_gpus = [one for one in running.value if _minors(one)]
    nodes = _gpu_nodes(host) if with_gpus else {}
    found = (_limits(host, one, nodes) for one in with_gpus)
    return Reading(tuple(one for one in found if one is not None))


def _minors(one: RunningContainer) -> t.List[int]:
    return [int(match.group(1)) for match in (_GPU.match(node.path) for node in one.nodes) if match]


def _gpu_nodes(host: Host) -> t.Dict[int, int]:
    """The NUMA node by N of /dev/nvidiaN; only those of which it is known."""
    found: t.Dict[int, int] = {}
    for address in host.listdir(GPUS).value or {}:
        minor = text.device_minor(host.read("%s/%s/information" % (GPUS, address)).value or "")
        node = text.limit(host.read("/sys/bus/pci/devices/%s/numa_node" % address).value)  # -1 where none is known
        if minor is not None and node is not None:
            found[minor] = node
    return found


def _limits(host: Host, one: RunningContainer, nodes: t.Mapping[int, int]) -> t.Optional[ContainerLimits]:
    minors = _minors(one)
    bare = ContainerLimits(one.label, len(minors))
    own = host.read("/proc/%d/cgroup" % one.pid)
    if own.known and own.value is None:
        return None
    groups = text.groups(own.value) if own.value is not None else Reading.unknown(own.error or "")
    if groups.value is None:
        return _with(bare, error=groups.error)
    mounts = host.read("/proc/%d/mountinfo" % one.pid)
    known: t.Dict[str, t.Any] = {
        "shm": text.shm_size(mounts.value or ""),
        "gpu_numa": tuple(sorted({nodes[minor] for minor in minors if minor in nodes})),
        "error": mounts.error,
    }
    old = {"cpu", "memory", "pids"} & set(groups.value)
    try:
        known.update(_first(host, groups.value) if old else _second(host, groups.value.get("", "/")))
    except _Unreadable as error:
        gone = host.stat("/proc/%d" % one.pid)
        return None if gone.known and gone.value is None else _with(bare, **{**known, "error": str(error)})
    return _with(bare, **known)


def _with(bare: ContainerLimits, **fields: t.Any) -> ContainerLimits:
    return ContainerLimits(**{**bare.__dict__, **fields})


def _read(host: Host, path: str) -> t.Optional[str]:
    reading = host.read(path)
    if not reading.known:
        raise _Unreadable(reading.error)
    return reading.value


def _second(host: Host, path: str) -> t.Dict[str, t.Any]:
    """Version 2: the tightest of the container's own limits and those of the groups above it."""
    own = ROOT + path.rstrip("/")
    if host.listdir(own).value is None:
        raise _Unreadable("%s is not there" % own)
    tightest: t.Dict[str, t.Any] = {}
    for group in _upwards(path):
        found = {
            "cpus": text.quota(_read(host, group + "/cpu.max") or ""),
            "memory": text.limit(_read(host, group + "/memory.max")),
        }
        for name, value in found.items():
            if value is not None:
                tightest[name] = min(value, tightest.get(name, value))
    waits = stalls(host, ["%s/%s.pressure" % (own, name) for name in RESOURCES])
    if waits.value is None:
        raise _Unreadable(waits.error)
    return {
        **tightest,
        "cgroup": "v2",
        "cpuset": _cpuset(host, own + "/cpuset.cpus.effective"),
        "oom_kills": text.counter(_read(host, own + "/memory.events"), "oom_kill"),
        "pids": text.limit(_read(host, own + "/pids.max")),
        "pids_now": text.limit(_read(host, own + "/pids.current")),
        "throttled": text.throttled(_read(host, own + "/cpu.stat")),
        "stalls": waits.value,
    }


def _upwards(path: str) -> t.Iterator[str]:
    """The group and those above it, without the root, which has no limits."""
    parts = [part for part in path.split("/") if part][:_LEVELS]
    for count in range(len(parts), 0, -1):
        yield "%s/%s" % (ROOT, "/".join(parts[:count]))


def _first(host: Host, groups: t.Mapping[str, str]) -> t.Dict[str, t.Any]:
    """Version 1: a tree for each controller; it does not count waiting."""

    def file(controller: str, name: str) -> t.Optional[str]:
        path = groups.get(controller)
        return None if path is None else _read(host, "%s/%s%s/%s" % (ROOT, controller, path.rstrip("/"), name))

    share = "%s %s" % (
        (file("cpu", "cpu.cfs_quota_us") or "").strip(),
        (file("cpu", "cpu.cfs_period_us") or "").strip(),
    )
    folder = "%s/cpuset%s" % (ROOT, groups.get("cpuset", "/").rstrip("/"))
    return {
        "cgroup": "v1",
        "cpus": text.quota(share),
        "cpuset": _cpuset(host, folder + "/cpuset.effective_cpus"),
        "memory": text.limit(file("memory", "memory.limit_in_bytes")),
        "oom_kills": text.counter(file("memory", "memory.oom_control"), "oom_kill"),
        "pids": text.limit(file("pids", "pids.max")),
        "pids_now": text.limit(file("pids", "pids.current")),
        "throttled": text.throttled(file("cpu", "cpu.stat")),
    }


def _cpuset(host: Host, path: str) -> t.Tuple[int, ...]:
    found = lists.cpus(_read(host, path) or "", path)
    if found.value is None:
        raise _Unreadable(found.error)
    return found.value
