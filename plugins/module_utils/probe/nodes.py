# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Device nodes, their major numbers, and the groups of the node. Files only: looking must not create a node."""

from __future__ import annotations

import typing as t

from ..model import DeviceNode, Reading
from ..parse import devices
from ..parse import groups as group_text
from .host import Host

#: Directories below /dev that hold nodes of the driver's.
DIRECTORIES = ("/dev/nvidia-caps", "/dev/nvidia-caps-imex-channels")


def device_nodes(host: Host) -> Reading[t.Tuple[DeviceNode, ...]]:
    top = host.listdir("/dev")
    if top.value is None:
        return Reading.unknown(top.error or "/dev is not there")
    found: t.List[DeviceNode] = []
    for directory in ("/dev", *DIRECTORIES):
        entries = top if directory == "/dev" else host.listdir(directory)
        if not entries.known:
            return Reading.unknown(entries.error or "")
        for name, stat in (entries.value or {}).items():
            if stat.kind == "char" and (name.startswith("nvidia") or directory != "/dev"):
                path = "%s/%s" % (directory, name)
                found.append(DeviceNode(path, stat.mode, stat.uid, stat.gid, stat.major, stat.minor))
    return Reading(tuple(found))


def dev_char(host: Host, nodes: Reading[t.Tuple[DeviceNode, ...]]) -> Reading[t.Dict[str, t.Optional[str]]]:
    """What the link of each node in /dev/char leads to; None where there is none, or nothing behind it."""
    if nodes.value is None:
        return Reading.unknown(nodes.error or "")
    found: t.Dict[str, t.Optional[str]] = {}
    for node in nodes.value:
        target = host.realpath("/dev/char/%d:%d" % (node.major, node.minor))
        if not target.known:
            return Reading.unknown(target.error or "")
        found[node.path] = target.value
    return Reading(found)


def device_majors(host: Host) -> Reading[t.Dict[str, int]]:
    text = host.read("/proc/devices")
    if text.value is None:
        return Reading.unknown(text.error or "/proc/devices is not there")
    return devices.parse(text.value)


def groups(host: Host) -> Reading[t.Dict[str, t.Tuple[int, t.Tuple[str, ...]]]]:
    text = host.read("/etc/group")
    if text.value is None:
        return Reading.unknown(text.error or "/etc/group is not there")
    return group_text.parse(text.value)
