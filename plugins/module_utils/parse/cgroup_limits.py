# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of control groups of both versions, and where a process stands in them."""

from __future__ import annotations

import re
import typing as t

from ..model import Reading
from .text import integer

#: Version 1 writes the largest multiple of a page where there is no limit.
_NO_LIMIT = 1 << 60

_GROUP = re.compile(r"^\d+:([^:]*):(/.*)$", re.ASCII)
_MINOR = re.compile(r"^Device Minor:[ \t]*(\d{1,6})[ \t]*$", re.MULTILINE | re.ASCII)
_SHM = re.compile(r"^\d+ \d+ \d+:\d+ \S+ /dev/shm \S+(?: \S+)* - tmpfs \S+ (\S+)$", re.ASCII)
_SIZE = re.compile(r"(?:^|,)size=(\d{1,15})([kmg]?)(?:,|$)", re.ASCII)
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


def groups(text: str) -> Reading[t.Dict[str, str]]:
    """/proc/PID/cgroup: the path by controller; that of version 2 by ""."""
    found: t.Dict[str, str] = {}
    for line in text.splitlines():
        match = _GROUP.match(line)
        if match and ".." not in match.group(2).split("/"):
            for controller in match.group(1).split(","):
                found[controller] = match.group(2)
    return Reading(found) if found else Reading.unknown("the process is in no control group that can be seen")


def quota(text: str) -> t.Optional[float]:
    """cpu.max, ``QUOTA PERIOD`` in microseconds, as a number of CPUs; None for no limit. Version 1 has -1 for none."""
    words = text.split()
    if len(words) != 2:
        return None
    part, period = integer(words[0]), integer(words[1])
    return round(part / period, 2) if part is not None and period and part > 0 and period > 0 else None


def limit(text: t.Optional[str]) -> t.Optional[int]:
    """A limit as a number; ``max``, and what version 1 writes for it, is none."""
    number = integer(text or "")
    return number if number is not None and 0 <= number < _NO_LIMIT else None


def counter(text: t.Optional[str], name: str) -> t.Optional[int]:
    """One line ``NAME NUMBER`` of a file such as memory.events or cpu.stat."""
    for line in (text or "").splitlines():
        word, _blank, rest = line.partition(" ")
        if word == name:
            return integer(rest)
    return None


def throttled(text: t.Optional[str]) -> t.Optional[float]:
    """Of cpu.stat: the share of periods, in percent, in which the group was stopped since its quota was used up."""
    periods, stopped = counter(text, "nr_periods"), counter(text, "nr_throttled")
    if periods is None or stopped is None or periods <= 0 or stopped < 0:
        return None
    return round(100.0 * stopped / periods, 1)


def shm_size(text: str) -> t.Optional[int]:
    """The size of /dev/shm in /proc/PID/mountinfo, in bytes; None where none is set. The last mount there counts."""
    found: t.Optional[int] = None
    for line in text.splitlines():
        mount = _SHM.match(line)
        if mount:
            size = _SIZE.search(mount.group(1))
            found = int(size.group(1)) * _UNITS[size.group(2)] if size else None
    return found


def device_minor(text: str) -> t.Optional[int]:
    """Of /proc/driver/nvidia/gpus/ADDRESS/information: N of /dev/nvidiaN."""
    match = _MINOR.search(text)
    return int(match.group(1)) if match else None
