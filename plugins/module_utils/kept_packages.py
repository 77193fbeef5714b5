# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The package files of this lock and of the one before, kept on the node: repositories delete superseded versions, and
a node must be able to go back.

A file enters with the digest that the repository's signed index gives it, and is used only while it still has it.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .parse import kept_packages as manifests
from .parse.kept_packages import DIRECTORY, MANIFEST, KeptFile
from .system import System

#: What a transaction and Docker need is more urgent than going back.
SPARE = 1 << 30

LOCK = "/var/lib/goldennode/lock.json"
PREVIOUS = "/var/lib/goldennode/previous.json"

_PARTIAL = DIRECTORY + "/partial"


@dataclasses.dataclass(frozen=True)
class Offered:
    """A file that a repository offers: by the signed index, and where it lies when it was fetched already.

    ``kept.sha256`` is "" where the index has none of it: such a file cannot be told from another, and is not kept.
    """

    kept: KeptFile
    cached: str


class Source(t.Protocol):
    """Where files come from: the package manager."""

    def files(self, packages: t.Sequence[t.Tuple[str, str]]) -> t.Mapping[str, Offered]:
        """By ``name=version``; what no repository has is left out."""

    def download(self, packages: t.Sequence[t.Tuple[str, str]], directory: str) -> None:
        """Fetch the files into ``directory``, under the names that ``files`` gives."""


class Store:
    """``/var/lib/goldennode/packages`` and its manifest."""

    def __init__(self, system: System) -> None:
        self._system = system

    def file(self, name: str, version: str) -> t.Optional[str]:
        """The kept file of a package, when it is still what it was."""
        kept = self._manifest().get(key(name, version))
        return self._path(kept) if kept and self._is_whole(kept) else None

    def locked(self) -> t.List[t.Tuple[str, str]]:
        """Every package of the lock that the node was brought to last."""
        axes = manifests.lock_packages(self._system.read(LOCK).value, LOCK).value or {}
        return [pair for axis in axes.values() for pair in axis.items()]

    def keep(self, source: Source, wanted: t.Sequence[t.Tuple[str, str]], lock: t.Mapping[str, str]) -> t.List[str]:
        """Take the files of ``wanted``, and let go of those of no lock. Returns what could not be done, for people.

        :arg lock: every package of the lock that is being installed
        """
        files = self._manifest()
        lacking = [pair for pair in wanted if not self._has(files, pair)]
        try:
            told = self._take(source, lacking, files) if lacking else []
            self._forget(files, lock)
        except OSError as error:
            return [_not_kept(["%s: %s" % (error.filename or DIRECTORY, error.strerror or error)])]
        return told

    def _has(self, files: t.Mapping[str, KeptFile], pair: t.Tuple[str, str]) -> bool:
        """By the size: the digest is read when the file is used."""
        kept = files.get(key(*pair))
        there = self._system.stat(self._path(kept)).value if kept else None
        return kept is not None and there is not None and there.size == kept.size

    def _take(
        self, source: Source, lacking: t.Sequence[t.Tuple[str, str]], files: t.Dict[str, KeptFile]
    ) -> t.List[str]:
        found = source.files(lacking)
        offered = {name: offer for name, offer in found.items() if offer.kept.sha256}
        told = ["%s=%s: no repository has it any more" % pair for pair in lacking if key(*pair) not in found]
        told += ["%s: the index of its repository has no SHA256 of it" % name for name in sorted({*found} - {*offered})]
        needed = sum(offer.kept.size for offer in offered.values())
        self._system.make_directory(_PARTIAL)
        free = self._system.free_bytes(DIRECTORY)
        if free - needed < SPARE:
            told.append(
                "%s has %d MiB free; %d MiB of packages would leave less than %d MiB"
                % (DIRECTORY, free >> 20, needed >> 20, SPARE >> 20)
            )
            return [_not_kept(told)]
        fetched = [pair for pair in lacking if key(*pair) in offered and not self._cached(offered[key(*pair)])]
        if fetched:
            source.download(fetched, _PARTIAL)
        for name, offer in sorted(offered.items()):
            origin = offer.cached if self._cached(offer) else "%s/%s" % (_PARTIAL, offer.kept.file)
            state = self._system.file_state(origin).value
            if state is None or state.sha256 != offer.kept.sha256:
                told.append("%s: it was not fetched, or is not what the index says" % name)
                continue
            self._system.take(origin, self._path(offer.kept))
            files[name] = offer.kept
        self._system.write(MANIFEST, manifests.render(files).encode("utf-8"))
        for left in self._system.listdir(_PARTIAL).value or {}:
            self._system.remove("%s/%s" % (_PARTIAL, left))
        return [_not_kept(told)] if told else []

    def _cached(self, offer: Offered) -> bool:
        there = self._system.stat(offer.cached).value if offer.cached else None
        return there is not None and there.size == offer.kept.size

    def _forget(self, files: t.Dict[str, KeptFile], lock: t.Mapping[str, str]) -> None:
        """Remove what belongs neither to this lock nor to the two that the node knows.

        The node's own locks move only when a run ends well: until then the files of both are still needed.
        """
        needed = {key(*pair) for pair in lock.items()}
        for path in (LOCK, PREVIOUS):
            axes = manifests.lock_packages(self._system.read(path).value, path).value
            if axes is None:
                return  # a lock that is not understood does not make files needless
            needed |= {key(*pair) for axis in axes.values() for pair in axis.items()}
        kept = {name: file for name, file in files.items() if name in needed}
        if kept != files:
            self._system.write(MANIFEST, manifests.render(kept).encode("utf-8"))
        names = {file.file for file in kept.values()} | {MANIFEST.rpartition("/")[2]}
        for name, there in (self._system.listdir(DIRECTORY).value or {}).items():
            if there.kind == "file" and name not in names:
                self._system.remove("%s/%s" % (DIRECTORY, name))

    def _manifest(self) -> t.Dict[str, KeptFile]:
        """What cannot be understood counts as none: the files are then taken anew."""
        return dict(manifests.parse(self._system.read(MANIFEST).value).value or {})

    def _is_whole(self, kept: KeptFile) -> bool:
        state = self._system.file_state(self._path(kept)).value
        return state is not None and state.sha256 == kept.sha256

    @staticmethod
    def _path(kept: KeptFile) -> str:
        return "%s/%s" % (DIRECTORY, kept.file)


def key(name: str, version: str) -> str:
    return "%s=%s" % (name, version)


def _not_kept(reasons: t.Sequence[str]) -> str:
    return "Packages for going back are not kept whole in %s: %s" % (DIRECTORY, "; ".join(reasons))
