# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node images: built once from node/ on top of a release of Debian, and from systems/ on top of that, and named by
a digest of everything that goes in.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
import typing as t
from pathlib import Path

from . import nodes, vendor
from .engine import install_program
from .pool import DEBIAN, RELEASES
from .shell import TESTBED, docker, locked, run, say

CONTEXT = TESTBED / "node"
SYSTEMS = TESTBED / "systems"
REPOSITORY_NAME = "goldennode/node"


def ensure(system: str = DEBIAN) -> str:
    """Name of the image of nodes of this distribution; built when it is not there yet."""
    if system not in RELEASES:
        return _ensure_system(system)
    name, base = wanted_name(system), _base(system)
    if not exists(name):
        # The host's network spares the build a guess at the path's MTU.
        options = ("--network", "host", "--build-arg", "BASE=" + base)
        _build(name, CONTEXT, lambda: ensure_base(base), *options)
    return name


def _base(system: str) -> str:
    return "debian:" + RELEASES[system]


def _ensure_system(system: str) -> str:
    """Its packages come from the vendor, whose key is in the image."""
    vendor.start(nodes.NETWORK)
    node, context = ensure(), SYSTEMS / system
    name = "%s-%s:%s" % (REPOSITORY_NAME, system, _digest(context, node, vendor.content()))
    if not exists(name):
        # The builder's cache knows nothing of what the vendor serves now.
        options = ("--no-cache", "--network", nodes.NETWORK, "--build-arg", "NODE=" + node)
        _build(name, context, lambda: None, *options)
    return name


def _build(name: str, context: Path, prepare: t.Callable[[], None], *options: str) -> None:
    with locked("image"):
        if exists(name):
            return
        prepare()
        say("building %s (about a minute, once)" % name)
        started = time.monotonic()
        # The classic builder is in every engine.
        run("docker", "build", *options, "--tag", name, str(context), extra_environment={"DOCKER_BUILDKIT": "0"})
        say("built %s in %.0f s" % (name, time.monotonic() - started))


def wanted_name(system: str = DEBIAN) -> str:
    """Of an image of a release of Debian."""
    return "%s-%s:%s" % (REPOSITORY_NAME, system, _digest(CONTEXT, _base(system)))


def _digest(context: Path, *more: str) -> str:
    digest = hashlib.sha256("".join(word + "\0" for word in more).encode())
    for path in context_files(context):
        digest.update(str(path.relative_to(context)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def context_files(context: Path = CONTEXT) -> t.List[Path]:
    """What .dockerignore lets through."""
    files = (path for path in context.rglob("*") if path.is_file())
    return sorted(path for path in files if not re.search(r"/(\.|__pycache__)", str(path.relative_to(context.parent))))


def exists(name: str) -> bool:
    return run("docker", "image", "inspect", name, check=False).returncode == 0


def remove_all() -> None:
    """Every node image that no container uses any more; those that are made of another first."""
    listed = docker("images", "--filter", "reference=%s*" % REPOSITORY_NAME, "--format", "{{.Repository}}:{{.Tag}}")
    for name in sorted(listed.split(), reverse=True):
        if not docker("ps", "--all", "--quiet", "--filter", "ancestor=" + name):
            docker("image", "rm", name)


def ensure_base(base: str = "debian:" + RELEASES[DEBIAN]) -> None:
    """The release from a hub where one can be reached, else made from Debian's own packages."""
    if exists(base):
        return
    if run("docker", "pull", "--quiet", base, check=False).returncode == 0:
        return
    install_program("mmdebstrap", "mmdebstrap")
    say("no hub can be reached: making %s with mmdebstrap" % base)
    with tempfile.TemporaryDirectory() as directory:
        tar = os.path.join(directory, "base.tar")
        run("mmdebstrap", "--variant=minbase", base.partition(":")[2], tar)
        docker("import", tar, base)
