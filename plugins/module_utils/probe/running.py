# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The containers that run, and what of the driver each of them has. Its owner's containers are looked at from outside.

Three commands at most, however many containers there are; the rest is read from /proc.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model import DeviceNode, Reading, RunningContainer
from ..parse import mountinfo
from ..parse import running_containers as text
from .docker import DOCKER
from .host import Host

#: Containers of our own probes: they are gone in a moment.
PROBES = "goldennode-probe-"

_SECONDS = 15.0


def containers(host: Host) -> Reading[t.Tuple[RunningContainer, ...]]:
    """Those that have files or nodes of the driver, or of which that could not be read. None without Docker."""
    listed = host.run([*DOCKER, "container", "ls", "--format", "{{.ID}} {{.Names}}"], _SECONDS)
    if listed.missing:
        return Reading(None)
    if listed.rc != 0:
        return Reading.unknown(listed.error or "docker container ls: %s" % listed.stderr.strip())
    # Probes run at this very moment in most looks: on a node with no other container nothing is left to ask.
    rows = [line.split() for line in listed.stdout.splitlines() if line.strip()]
    identities = [row[0] for row in rows if not any(name.startswith(PROBES) for name in row[1:])]
    if not identities:
        return Reading(())
    asked = host.run([*DOCKER, "container", "inspect", "--format", text.FORMAT, *identities], _SECONDS)
    if asked.error is not None:
        return Reading.unknown(asked.error)
    described = text.described(asked.stdout, asked.stderr, asked.rc)
    if described.value is None:
        return Reading.unknown(described.error or "")
    looked = (_look(host, one) for one in described.value)
    return Reading(_with_rules(host, [one for one in looked if one is not None]))


def _look(host: Host, described: text.Described) -> t.Optional[RunningContainer]:
    """The container with what it holds; None where it has nothing of the driver, or has ended meanwhile."""
    container, folder = described.container, "/proc/%d" % described.pid
    raw = host.read(folder + "/mountinfo")
    if raw.value is None:
        return _unread(host, folder, container, raw.error)
    mounts = mountinfo.parse(raw.value)
    if mounts.value is None:
        return _unread(host, folder, container, mounts.error)
    drivers = mountinfo.driver_versions(mounts.value)
    if not mountinfo.dev_is_own(mounts.value):
        return dataclasses.replace(
            container, drivers=drivers, error="its /dev is no file system in memory and was not listed"
        )
    entries = host.listdir(folder + "/root/dev")
    if entries.value is None:
        return _unread(host, folder, dataclasses.replace(container, drivers=drivers), entries.error)
    nodes = tuple(
        DeviceNode("/dev/" + name, stat.mode, stat.uid, stat.gid, stat.major, stat.minor)
        for name, stat in entries.value.items()
        if stat.kind == "char" and name.startswith("nvidia")
    )
    return dataclasses.replace(container, drivers=drivers, nodes=nodes) if drivers or nodes else None


def _unread(host: Host, folder: str, container: RunningContainer, why: t.Optional[str]) -> t.Optional[RunningContainer]:
    root = host.stat(folder + "/root")
    if root.known and root.value is None:
        return None
    return dataclasses.replace(container, error=why or "%s is there, and its files are not" % folder)


def _with_rules(host: Host, found: t.Sequence[RunningContainer]) -> t.Tuple[RunningContainer, ...]:
    """With what systemd knows of their devices."""
    scopes = ["docker-%s.scope" % one.id for one in found if one.nodes]
    if not scopes:
        return tuple(found)
    command = host.run(["systemctl", "show", "--property=Id,DevicePolicy,DeviceAllow", *scopes], _SECONDS)
    rules = text.device_allow(command.stdout, command.error or command.stderr, command.rc)
    if rules.value is None:
        return tuple(dataclasses.replace(one, error=one.error or rules.error) if one.nodes else one for one in found)
    known = rules.value
    return tuple(dataclasses.replace(one, device_allow=known.get(one.id)) for one in found)
