# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Volumes that hold /var/lib/docker: of a node, and of a snapshot."""

from __future__ import annotations

from .shell import docker

LABEL = "org.goldennode.testbed"


def of_node(node: str) -> str:
    return "goldennode-%s-docker" % node


def of_snapshot(snapshot: str) -> str:
    return "goldennode-snap-%s" % snapshot


def create(name: str, kind: str) -> None:
    """An empty volume, ours by its label."""
    docker("volume", "create", "--label", "%s=%s" % (LABEL, kind), name)


def remove(name: str) -> None:
    docker("volume", "rm", "--force", name)


def copy(image_with_cp: str, source: str, target: str) -> None:
    """With devices and trusted attributes: an overlay file system keeps its deletions in them."""
    docker(
        "run", "--rm", "--network", "none", "--cap-add", "SYS_ADMIN", "--security-opt", "apparmor=unconfined",
        "--entrypoint", "cp", "--volume", source + ":/from:ro", "--volume", target + ":/to", image_with_cp,
        "--archive", "/from/.", "/to/",
    )  # fmt: skip
