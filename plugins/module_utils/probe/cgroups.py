# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of control groups, and which controllers systemd hands to its users. Files alone."""

from __future__ import annotations

import typing as t

from ..model import ControlGroups, Reading
from ..parse import cgroup_version as text
from .host import Host

CONTROLLERS = "/sys/fs/cgroup/cgroup.controllers"
UNIT = "user@.service"

#: Where systemd looks for units, the strongest first.
UNIT_FOLDERS = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)


def cgroups(host: Host) -> Reading[ControlGroups]:
    mounts = host.read("/proc/self/mountinfo")
    if mounts.value is None:
        return Reading.unknown(mounts.error or "/proc/self/mountinfo is not there")
    version = text.version(mounts.value)
    if version.value is None:
        return Reading.unknown(version.error or "")
    if version.value != "2":
        return Reading(ControlGroups(version.value, delegated=Reading(())))
    controllers = host.read(CONTROLLERS)
    if controllers.value is None:
        return Reading.unknown(controllers.error or "%s is not there" % CONTROLLERS)
    return Reading(ControlGroups("2", tuple(sorted(controllers.value.split())), _delegated(host)))


def _delegated(host: Host) -> Reading[t.Tuple[str, ...]]:
    """By the files. The first unit that is found counts; drop-ins go by their names, whatever folder has them."""
    unit = ""
    drop_ins: t.Dict[str, str] = {}
    for folder in UNIT_FOLDERS:
        found = host.read("%s/%s" % (folder, UNIT)) if not unit else Reading("")
        if not found.known:
            return Reading.unknown(found.error or "")
        unit = unit or (found.value or "")
        entries = host.listdir("%s/%s.d" % (folder, UNIT))
        if not entries.known:
            return Reading.unknown(entries.error or "")
        for name in entries.value or {}:
            if name.endswith(".conf"):
                drop_ins.setdefault(name, "%s/%s.d/%s" % (folder, UNIT, name))
    if not unit:
        return Reading.unknown("no %s was found" % UNIT)
    texts = [unit]
    for _name, path in sorted(drop_ins.items()):
        drop_in = host.read(path)
        if not drop_in.known:
            return Reading.unknown(drop_in.error or "")
        texts.append(drop_in.value or "")
    return Reading(text.delegated(texts))
