# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node image: built once from node/ on top of debian:trixie, and named by a digest of everything that goes in."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
import typing as t
from pathlib import Path

from .engine import install_program
from .shell import TESTBED, docker, locked, run, say

CONTEXT = TESTBED / "node"
BASE = "debian:trixie"
REPOSITORY_NAME = "goldennode/node"


def ensure() -> str:
    """Name of the node image; built when it is not there yet."""
    name = wanted_name()
    if exists(name):
        return name
    with locked("image"):
        if exists(name):
            return name
        ensure_base()
        say("building %s (about a minute, once)" % name)
        started = time.monotonic()
        # The classic builder is in every engine; the host's network spares the build a guess at the path's MTU.
        command = ("docker", "build", "--network", "host", "--tag", name, str(CONTEXT))
        run(*command, extra_environment={"DOCKER_BUILDKIT": "0"})
        say("built %s in %.0f s" % (name, time.monotonic() - started))
    return name


def wanted_name() -> str:
    digest = hashlib.sha256()
    for path in context_files():
        digest.update(str(path.relative_to(CONTEXT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return "%s:%s" % (REPOSITORY_NAME, digest.hexdigest()[:12])


def context_files() -> t.List[Path]:
    """What .dockerignore lets through."""
    files = (path for path in CONTEXT.rglob("*") if path.is_file())
    return sorted(path for path in files if not re.search(r"/(\.|__pycache__)", str(path.relative_to(CONTEXT.parent))))


def exists(name: str) -> bool:
    return run("docker", "image", "inspect", name, check=False).returncode == 0


def remove_all() -> None:
    """Every node image that no container uses any more."""
    for name in docker("images", REPOSITORY_NAME, "--format", "{{.Repository}}:{{.Tag}}").split():
        if not docker("ps", "--all", "--quiet", "--filter", "ancestor=" + name):
            docker("image", "rm", name)


def ensure_base() -> None:
    """debian:trixie from a hub where one can be reached, else made from Debian's own packages."""
    if exists(BASE):
        return
    if run("docker", "pull", "--quiet", BASE, check=False).returncode == 0:
        return
    install_program("mmdebstrap", "mmdebstrap")
    say("no hub can be reached: making %s with mmdebstrap" % BASE)
    with tempfile.TemporaryDirectory() as directory:
        tar = os.path.join(directory, "base.tar")
        run("mmdebstrap", "--variant=minbase", "trixie", tar)
        docker("import", tar, BASE)
