# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved nodes: the disk as an image, /var/lib/docker as a volume. A restored node wakes up as from a reboot."""

from __future__ import annotations

import time
import typing as t

from . import image, key, nodes, volumes
from .pool import Node
from .shell import TestbedError, docker, say

#: Always there: a node as the node image makes it.
BARE = "bare"


def image_name(snapshot: str) -> str:
    return "goldennode/snap-" + snapshot


def take(node: str, snapshot: str) -> None:
    """Save ``node`` as it is now, as a power cut would find it; an older snapshot of that name is replaced."""
    if snapshot == BARE:
        raise TestbedError("the snapshot %s is the node image itself: choose another name" % BARE)
    started = time.monotonic()
    node_image = nodes.existing(node)["Image"]
    remove([snapshot])
    nodes.execute(node, "sync")
    docker("pause", nodes.container(node))
    try:
        volumes.create(volumes.of_snapshot(snapshot), "snapshot")
        volumes.copy(node_image, volumes.of_node(node), volumes.of_snapshot(snapshot))
        label = "LABEL %s=snapshot" % volumes.LABEL
        docker("commit", "--pause=false", "--change", label, nodes.container(node), image_name(snapshot))
    finally:
        docker("unpause", nodes.container(node))
    say("%s: saved as %s in %.1f s" % (node, snapshot, time.monotonic() - started))


def restore(node: str, snapshot: str) -> None:
    """Throw the node away and start it from ``snapshot``, on the same port and with the same hardware."""
    started = time.monotonic()
    there = nodes.existing(node)
    binding = there["HostConfig"]["PortBindings"]["22/tcp"][0]
    profile, system = there["Config"]["Labels"][nodes.PROFILE_LABEL], nodes.system_of(there)
    known = Node(node, profile, int(binding["HostPort"]), system)
    source = image_of(snapshot, system)
    nodes.down([node])
    nodes.create(known, source, key.ensure(), None if snapshot == BARE else snapshot)
    docker("start", nodes.container(node))
    nodes.wait_for_ssh(node)
    say("%s: back from %s after %.1f s" % (node, snapshot, time.monotonic() - started))


def image_of(snapshot: str, system: str) -> str:
    """The image from which a node of ``snapshot`` starts; an error names the snapshots that there are."""
    if snapshot == BARE:
        return image.ensure(system)
    if not image.exists(image_name(snapshot)):
        raise TestbedError("no snapshot %s; there are: %s" % (snapshot, ", ".join([BARE, *names()])))
    return image_name(snapshot)


def names() -> t.List[str]:
    """What was saved, without ``bare``."""
    listed = docker("images", "--filter", "label=%s=snapshot" % volumes.LABEL, "--format", "{{.Repository}}")
    prefix = image_name("")
    return sorted({name[len(prefix) :] for name in listed.split() if name.startswith(prefix)})


def remove(snapshots: t.Sequence[str]) -> None:
    for snapshot in snapshots:
        if image.exists(image_name(snapshot)):
            docker("image", "rm", "--force", image_name(snapshot))
        volumes.remove(volumes.of_snapshot(snapshot))
