# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can make a healthy node slow, from files of /proc and /sys: no process is started and nothing is waited for.

Whose work it is that waits is nobody's business here: no process is looked at.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..model import CpuFrequency, HostLoad, MemoryState, Reading, Stall
from ..parse import pressure
from .host import Host

RESOURCES = ("cpu", "memory", "io")
CPUS = "/sys/devices/system/cpu"
NODES = "/sys/devices/system/node"
POLICIES = CPUS + "/cpufreq"

#: Drivers with which the CPU chooses its frequency, by a preference. Their "powersave" is the usual one, and no brake.
CHOOSES_ITSELF = ("intel_pstate", "amd-pstate-epp")

_POLICY = re.compile(r"^policy\d+$", re.ASCII)
_NODE = re.compile(r"^node(\d+)$", re.ASCII)

#: What the kernel says of pressure files where counting is switched off (psi=0).
_OFF = "not supported"


def load(host: Host) -> Reading[HostLoad]:
    """Each part may be unknown for itself."""
    found = HostLoad(
        stalls=stalls(host, ["/proc/pressure/%s" % name for name in RESOURCES]),
        load=_parsed(host, "/proc/loadavg", pressure.load),
        times=_parsed(host, "/proc/stat", pressure.cpu_times),
        memory=_memory(host),
        frequency=_frequency(host),
        online=_cpus(host, CPUS + "/online"),
        isolated=_cpus(host, CPUS + "/isolated"),
        numa=_numa(host),
    )
    parts = [getattr(found, field.name) for field in dataclasses.fields(found)]
    return Reading(found) if any(part.known for part in parts) else Reading.unknown(parts[0].error)


def stalls(host: Host, paths: t.Sequence[str]) -> Reading[t.Dict[str, Stall]]:
    """By resource, which is in the name of the file. None of them where the kernel does not count."""
    found: t.Dict[str, Stall] = {}
    for path, name in zip(paths, RESOURCES):
        text = host.read(path)
        if text.error is not None and text.error.endswith(_OFF):
            continue
        if not text.known:
            return Reading.unknown(text.error or "")
        if text.value is not None:
            stall = pressure.stall(text.value, path)
            if stall.value is None:
                return Reading.unknown(stall.error or "")
            found[name] = stall.value
    return Reading(found)


def _parsed(host: Host, path: str, parse: t.Callable[[str], Reading[t.Any]]) -> Reading[t.Any]:
    text = host.read(path)
    if text.value is None:
        return Reading.unknown(text.error or "%s is not there" % path)
    return parse(text.value)


def _memory(host: Host) -> Reading[MemoryState]:
    # What cannot be read of the two is left out: they only explain.
    vmstat, swappiness = host.read("/proc/vmstat"), host.read("/proc/sys/vm/swappiness")
    return _parsed(host, "/proc/meminfo", lambda text: pressure.memory(text, vmstat.value, swappiness.value))


def _cpus(host: Host, path: str) -> Reading[t.Tuple[int, ...]]:
    """Before Linux 4.1 there is no list of isolated ones; no list at all says of no CPU that it is in it."""
    text = host.read(path)
    return pressure.cpus(text.value or "", path) if text.known else Reading.unknown(text.error or "")


def _frequency(host: Host) -> Reading[CpuFrequency]:
    entries = host.listdir(POLICIES)
    if not entries.known:
        return Reading.unknown(entries.error or "")
    policies = [name for name in entries.value or {} if _POLICY.match(name)]
    driver = ""
    found: t.Dict[str, int] = {}
    for policy in policies:
        folder = "%s/%s/" % (POLICIES, policy)
        names = ["scaling_governor"] if driver else ["scaling_governor", "scaling_driver"]
        told = [host.read(folder + name) for name in names]
        if told[-1].value and not driver:
            driver = told[-1].value.strip()
        words = (told[0].value or "").strip() or "none"
        if driver in CHOOSES_ITSELF and words == "powersave":
            told.append(host.read(folder + "energy_performance_preference"))
            words += ", %s" % told[-1].value.strip() if told[-1].value else ""
        for reading in told:
            if not reading.known:
                return Reading.unknown(reading.error or "")
        found[words] = found.get(words, 0) + 1
    return Reading(CpuFrequency(driver, found))


def _numa(host: Host) -> Reading[t.Dict[str, t.Tuple[int, ...]]]:
    """By number of the node; a kernel without NUMA has none. A node of memory alone has no CPUs."""
    entries = host.listdir(NODES)
    if not entries.known:
        return Reading.unknown(entries.error or "")
    found: t.Dict[str, t.Tuple[int, ...]] = {}
    for name in entries.value or {}:
        match = _NODE.match(name)
        if match:
            cpus = _cpus(host, "%s/%s/cpulist" % (NODES, name))
            if cpus.value is None:
                return Reading.unknown(cpus.error or "")
            found[match.group(1)] = cpus.value
    return Reading(found)
