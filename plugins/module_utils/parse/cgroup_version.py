# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which version of control groups a machine runs, and which controllers systemd hands to its users."""

from __future__ import annotations

import re
import typing as t

from ..model import Reading

#: Every controller that systemd can delegate; ``Delegate=yes`` means all of them.
ALL = ("cpu", "cpuset", "io", "memory", "pids")

_CGROUP = re.compile(r"^\d+ \d+ \d+:\d+ \S+ (/sys/fs/cgroup\S*) \S+(?: \S+)* - (cgroup2?|tmpfs) ", re.MULTILINE)
_YES = ("1", "yes", "y", "true", "t", "on")
_NO = ("0", "no", "n", "false", "f", "off")


def version(mountinfo: str) -> Reading[str]:
    """``2`` where /sys/fs/cgroup itself is of that version; ``hybrid`` where it only stands beside the old ones."""
    kinds = _CGROUP.findall(mountinfo)
    if any(kind == "cgroup2" and point == "/sys/fs/cgroup" for point, kind in kinds):
        return Reading("2")
    if any(kind == "cgroup" for _point, kind in kinds):
        return Reading("hybrid" if any(kind == "cgroup2" for _point, kind in kinds) else "1")
    return Reading.unknown("no control groups are mounted below /sys/fs/cgroup")


def delegated(texts: t.Iterable[str]) -> t.Tuple[str, ...]:
    """By unit file and drop-ins, in systemd's order. A list adds to what was said before, yes and no replace it."""
    found: t.Set[str] = set()
    for text in texts:
        section = ""
        for line in re.sub(r"\\\n", " ", text).splitlines():
            line = line.strip()
            if line.startswith("["):
                section = line
            key, equals, value = line.partition("=")
            if section == "[Service]" and equals and key.strip() == "Delegate":
                found = _after(found, value.strip())
    return tuple(sorted(found))


def _after(before: t.Set[str], value: str) -> t.Set[str]:
    if value.lower() in _YES:
        return set(ALL)
    if value.lower() in _NO or not value:
        return set()
    return before | set(value.split())
