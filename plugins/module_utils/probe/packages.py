# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packages that matter to a GPU node."""

from __future__ import annotations

import typing as t

from ..model import Desired, KeptPackages, Package, Reading
from ..package_names import DRIVER_GLOBS, bare
from ..parse import dpkg, kept_packages
from ..parse import own_holds as record
from .host import Host

_PREVIOUS = "/var/lib/goldennode/previous.json"

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
    "nvlsm",
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
    ours = own_holds(host).value or ()
    return dpkg.parse(command.stdout, {*PATTERNS, *locked(desired), *(bare(name) for name in ours)})


def own_holds(host: Host) -> Reading[t.Tuple[str, ...]]:
    """Packages whose holds this collection has set; none where it has recorded none."""
    text = host.read(record.PATH)
    return Reading(record.parse(text.value)) if text.known else Reading.unknown(text.error or "")


def kept(host: Host) -> Reading[KeptPackages]:
    """The files of the manifest that are there, by their size: a digest of each would take seconds. It is read when the
    file is used.
    """
    listed = host.listdir(kept_packages.DIRECTORY)
    manifest = host.read(kept_packages.MANIFEST)
    lock = host.read(_PREVIOUS)
    error = listed.error or manifest.error or lock.error
    if error is not None:
        return Reading.unknown(error)
    files = kept_packages.parse(manifest.value)
    previous = kept_packages.lock_packages(lock.value, _PREVIOUS)
    if files.value is None or previous.value is None:
        return Reading.unknown(files.error or previous.error or "")
    there = listed.value or {}
    whole = [key for key, file in files.value.items() if file.file in there and there[file.file].size == file.size]
    return Reading(KeptPackages(tuple(sorted(whole)), previous.value))


def locked(desired: t.Optional[Desired]) -> t.Set[str]:
    """Names of all packages of the lock, of every axis."""
    names: t.Set[str] = set()
    for axis in (desired.lock if desired else {}).values():
        if isinstance(axis, dict):
            names.update(axis.get("packages") or ())
    return names
