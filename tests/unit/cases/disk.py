# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files, device nodes and links in memory, as the probe reads them off a host."""

from __future__ import annotations

import hashlib
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import FileState, Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import FILE_LIMIT, Stat, decoded

NOW = 1796054400.0  # Mon 2026-11-30 16:00:00 UTC
BOOTED = NOW - 7200


class Disk:
    """What is there by its path; ``modes``, ``digests`` and ``times`` are of files that are not as usual."""

    def __init__(self) -> None:
        self.files: t.Dict[str, bytes] = {}
        self.modes: t.Dict[str, int] = {}
        self.digests: t.Dict[str, str] = {}
        self.times: t.Dict[str, float] = {}
        self.directories: t.Set[str] = set()
        self.nodes: t.Dict[str, t.Tuple[int, int, int, int]] = {}  # mode, gid, major, minor
        self.links: t.Dict[str, str] = {}

    def write(self, path: str, text: str) -> None:
        self.files[path] = text.encode("utf-8", "surrogateescape")
        self.digests.pop(path, None)

    def program(self, path: str) -> None:
        self.write(path, "a program")
        self.modes[path] = 0o755

    def read(self, path: str, limit: int = FILE_LIMIT) -> Reading[str]:
        return decoded(self.read_bytes(path, limit))

    def read_bytes(self, path: str, limit: int = FILE_LIMIT) -> Reading[bytes]:
        return Reading(self.files.get(path))

    def stat(self, path: str) -> Reading[Stat]:
        if path in self.files:
            changed = int(self.times.get(path, BOOTED - 3600))
            size = len(self.files[path])
            return Reading(Stat("file", self.modes.get(path, 0o644), 0, 0, size, changed, ctime=changed))
        if path in self.nodes:
            mode, gid, major, minor = self.nodes[path]
            return Reading(Stat("char", mode, 0, gid, 0, int(BOOTED), major, minor, int(BOOTED)))
        if path in self.directories or self._below(path):
            return Reading(Stat("dir", 0o755, 0, 0, 4096, int(BOOTED), ctime=int(BOOTED)))
        return Reading(None)

    def listdir(self, path: str) -> Reading[t.Dict[str, Stat]]:
        names = self._below(path)
        if not names and path not in self.directories:
            return Reading(None)
        found = {name: self.stat("%s/%s" % (path, name)).value for name in sorted(names)}
        link = Stat("link", 0o777, 0, 0, 0, int(BOOTED), ctime=int(BOOTED))
        return Reading({name: stat or link for name, stat in found.items()})

    def _below(self, path: str) -> t.Set[str]:
        start = path.rstrip("/") + "/"
        everything = (*self.files, *self.nodes, *self.directories, *self.links)
        return {one[len(start) :].partition("/")[0] for one in everything if one.startswith(start)}

    def realpath(self, path: str) -> Reading[str]:
        if path in self.links:
            return Reading(self.links[path])
        return Reading(path if self.stat(path).value else None)

    def file_state(self, path: str) -> Reading[FileState]:
        if path not in self.files:
            return Reading(None)
        digest = self.digests.get(path) or hashlib.sha256(self.files[path]).hexdigest()
        changed = float(self.times.get(path, BOOTED - 3600))
        return Reading(FileState(path, digest, self.modes.get(path, 0o644), 0, 0, changed))

    def hostname(self) -> str:
        return "node1"

    def machine(self) -> str:
        return "x86_64"

    def now(self) -> float:
        return NOW
