# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packages that matter to a GPU node."""

from __future__ import annotations

import typing as t

from ..model import Desired, Package, Reading
from ..package_names import DRIVER_GLOBS
from ..parse import dpkg
from .host import Host

#: Names of packages that can break a node although no lock names them.
PATTERNS = (
    *DRIVER_GLOBS,
    "libcuda*",
    "cuda-compat*",
    "firmware-nvidia*",
    "linux-image-*",
    "linux-headers-*",
    "linux-modules-*",
    "dkms",
    "docker*",
    "containerd*",
)


def packages(host: Host, desired: t.Optional[Desired]) -> Reading[t.Dict[str, Package]]:
    """One call for all packages: a pattern that matches nothing would make the code of dpkg-query say nothing."""
    command = host.run(["dpkg-query", "-W", "-f", dpkg.FORMAT], timeout=20)
    if command.missing:
        return Reading.unknown("the packages of this node cannot be read: dpkg-query is not installed")
    if command.rc != 0:
        return Reading.unknown(
            command.error or "dpkg-query ended with code %s: %s" % (command.rc, command.stderr.strip())
        )
    return dpkg.parse(command.stdout, set(PATTERNS) | locked(desired))


def locked(desired: t.Optional[Desired]) -> t.Set[str]:
    """Names of all packages of the lock, of every axis."""
    names: t.Set[str] = set()
    for axis in (desired.lock if desired else {}).values():
        if isinstance(axis, dict):
            names.update(axis.get("packages") or ())
    return names
