# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel counts of waiting: pressure stall information, CPU times, memory and swap, load averages."""

from __future__ import annotations

import re
import typing as t

from ..model import CpuTimes, MemoryState, Reading, Stall
from .text import integer

_STALL = re.compile(r"^(some|full) avg10=(\d{1,3}\.\d+) avg60=(\d{1,3}\.\d+) avg300=(\d{1,3}\.\d+)(?: |$)", re.ASCII)
_LOAD = re.compile(r"^(\d{1,9}\.\d+) (\d{1,9}\.\d+) (\d{1,9}\.\d+)(?: |$)", re.ASCII)

_MEMORY = ("MemTotal", "MemAvailable", "SwapTotal", "SwapFree")

#: More CPUs than any machine has: a list of numbers that is garbled must not fill the memory.
_MOST_CPUS = 65536


def stall(text: str, what: str) -> Reading[Stall]:
    """One file of /proc/pressure, or of a control group. Before Linux 5.13 that of the CPU has no line ``full``."""
    found: t.Dict[str, t.Tuple[float, ...]] = {}
    for line in text.splitlines():
        match = _STALL.match(line)
        if match:
            found[match.group(1)] = tuple(float(number) for number in match.groups()[1:])
    if "some" not in found:
        return Reading.unknown("%s has no line of averages" % what)
    return Reading(Stall(found["some"], found.get("full", ())))


def load(text: str) -> Reading[t.Tuple[float, ...]]:
    match = _LOAD.match(text)
    if match is None:
        return Reading.unknown("/proc/loadavg has no averages")
    return Reading(tuple(float(number) for number in match.groups()))


def cpu_times(text: str) -> Reading[CpuTimes]:
    """The first line of /proc/stat: user nice system idle iowait irq softirq steal, in ticks since boot.

    Time of guests is part of user already.
    """
    words = text.split("\n", 1)[0].split()
    numbers = [integer(word) for word in words[1:9]]
    if words[:1] != ["cpu"] or len(numbers) < 8:
        return Reading.unknown("/proc/stat has no times of the CPUs")
    ticks = [number for number in numbers if number is not None and number >= 0]
    total = sum(ticks)
    if len(ticks) < 8 or total == 0:
        return Reading.unknown("/proc/stat has no times of the CPUs")
    return Reading(CpuTimes(iowait=round(100.0 * ticks[4] / total, 2), steal=round(100.0 * ticks[7] / total, 2)))


def memory(meminfo: str, vmstat: t.Optional[str], swappiness: t.Optional[str]) -> Reading[MemoryState]:
    fields: t.Dict[str, t.Optional[int]] = {}
    for line in meminfo.splitlines():
        name, colon, rest = line.partition(":")
        if colon:
            fields[name] = integer(rest.strip().partition(" ")[0])
    total, available, swap, free = (fields.get(name) for name in _MEMORY)
    if total is None or available is None or swap is None or free is None:
        return Reading.unknown("/proc/meminfo does not say how much memory and swap there is")
    swapped = re.search(r"^pswpin ([0-9]{1,18})$", vmstat or "", re.MULTILINE)
    pages = int(swapped.group(1)) if swapped else None
    return Reading(MemoryState(total, available, swap, free, pages, integer(swappiness or "")))


def cpus(text: str, what: str) -> Reading[t.Tuple[int, ...]]:
    """A list as the kernel writes it: ``0-3,8,10-11``; empty for none."""
    found: t.Set[int] = set()
    for part in text.strip().split(",") if text.strip() else ():
        first, _dash, last = part.partition("-")
        begin, end = integer(first), integer(last or first)
        if begin is None or end is None or not 0 <= begin <= end < _MOST_CPUS:
            return Reading.unknown("%s is no list of CPUs: %s" % (what, part[:40] or "an empty item"))
        found.update(range(begin, end + 1))
    return Reading(tuple(sorted(found)))
