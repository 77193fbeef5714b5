# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved nodes: the disk as an image, /var/lib/docker as a volume. A restored node wakes up as from a reboot."""

from __future__ import annotations

import time
import typing as t

from . import image, key, nodes
from .pool import Node
from .shell import TestbedError, docker, run, say


def image_name(snapshot: str) -> str:
    return "goldennode/snap-" + snapshot


def volume_name(snapshot: str) -> str:
    return "goldennode-snap-" + snapshot


def take(node: str, snapshot: str) -> None:
    """Save ``node`` as it is now, as a power cut would find it; an older snapshot of that name is replaced."""
    started = time.monotonic()
    node_image = nodes.existing(node)["Image"]
    nodes.execute(node, "sync")
    docker("pause", nodes.container(node))
    try:
        docker("volume", "rm", "--force", volume_name(snapshot))
        docker("volume", "create", "--label", nodes.LABEL + "=snapshot", volume_name(snapshot))
        _copy_volume(node_image, nodes.volume(node), volume_name(snapshot))
        label = "LABEL %s=snapshot" % nodes.LABEL
        docker("commit", "--pause=false", "--change", label, nodes.container(node), image_name(snapshot))
    finally:
        docker("unpause", nodes.container(node))
    say("%s: saved as %s in %.1f s" % (node, snapshot, time.monotonic() - started))


def restore(node: str, snapshot: str) -> None:
    """Throw the node away and start it from ``snapshot``, on the same port and with the same hardware."""
    started = time.monotonic()
    there = nodes.existing(node)
    bindings = there["HostConfig"]["PortBindings"]["22/tcp"]
    known = Node(node, there["Config"]["Labels"][nodes.LABEL + ".profile"], int(bindings[0]["HostPort"]))
    require(snapshot)
    nodes.down([node])
    nodes.create(known, image_name(snapshot), key.ensure(), snapshot)
    docker("start", nodes.container(node))
    nodes.wait_for_ssh(node)
    say("%s is back from %s after %.1f s" % (node, snapshot, time.monotonic() - started))


def require(snapshot: str) -> None:
    if not image.exists(image_name(snapshot)):
        raise TestbedError("no snapshot %s; there are: %s" % (snapshot, ", ".join(names()) or "none"))


def fill_volume(snapshot: str, target: str) -> None:
    _copy_volume(image_name(snapshot), volume_name(snapshot), target)


def names() -> t.List[str]:
    listed = docker("images", "--filter", "label=%s=snapshot" % nodes.LABEL, "--format", "{{.Repository}}")
    return sorted({name[len(image_name("")) :] for name in listed.split() if name.startswith(image_name(""))})


def remove(snapshots: t.Sequence[str]) -> None:
    for snapshot in snapshots:
        docker("image", "rm", "--force", image_name(snapshot))
        docker("volume", "rm", "--force", volume_name(snapshot))


def _copy_volume(image_with_cp: str, source: str, target: str) -> None:
    """With devices and trusted attributes: an overlay file system keeps its deletions in them."""
    run(
        "docker", "run", "--rm", "--network", "none", "--cap-add", "SYS_ADMIN", "--security-opt", "apparmor=unconfined",
        "--entrypoint", "cp", "--volume", source + ":/from:ro", "--volume", target + ":/to", image_with_cp,
        "--archive", "/from/.", "/to/",
    )  # fmt: skip
