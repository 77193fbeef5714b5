# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nvidia-cdi-hook: runs in the container's namespaces before it becomes its root; the bundle comes on stdin."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

from . import oci, release
from .log import ToolkitError, line


def main(argv: t.Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="nvidia-cdi-hook", allow_abbrev=False)
    parser.add_argument("--version", action="version", version="NVIDIA CDI Hook version %s" % release.VERSION)
    commands = parser.add_subparsers(required=True)
    ldcache = commands.add_parser("update-ldcache")
    ldcache.add_argument("--folder", action="append", default=[])
    ldcache.set_defaults(command=_update_ldcache)
    symlinks = commands.add_parser("create-symlinks")
    symlinks.add_argument("--link", action="append", default=[])
    symlinks.set_defaults(command=_create_symlinks)
    arguments = parser.parse_args(argv)
    bundle = Path(json.load(sys.stdin)["bundle"])
    try:
        arguments.command(oci.root_of(bundle, oci.load(bundle)), arguments)
    except (OSError, ToolkitError) as error:
        line("error", str(error))
        return 1
    return 0


def _update_ldcache(root: Path, arguments: argparse.Namespace) -> None:
    update_ldcache(root, arguments.folder)


def update_ldcache(root: Path, folders: t.Sequence[str]) -> None:
    """With the node's ldconfig: an image need not have one. It also makes the links that the sonames ask for."""
    done = subprocess.run(["/sbin/ldconfig", "-r", str(root), *folders], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolkitError("ldconfig -r %s ended with %d: %s" % (root, done.returncode, done.stderr.strip()))


def _create_symlinks(root: Path, arguments: argparse.Namespace) -> None:
    for link in arguments.link:
        target, _, path = link.partition("::")
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(place):
            place.symlink_to(target)
