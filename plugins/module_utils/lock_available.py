# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the packages of a lock that a node lacks can be had at all, asked before anything is changed there.

Asked are the distribution's and the lock's repositories in a throw-away root, since on a first run the node does not
have the lock's yet; then the package files that the node keeps, and the node's other repositories. Nothing is written.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
import time
import typing as t

from .apt_root import ResolveError, _Root
from .bundle import Docker, Driver, Image, Kernel, PlatformBundle, Python, Source, Toolkit
from .kept_packages import Store
from .lock_offers import Gone, Offer, offers
from .node_sources import address
from .parse import apt_errors, apt_sources, dpkg
from .parse.apt_errors import Trouble
from .parse.apt_rules import NETWORK
from .probe.host import Host, LocalHost
from .system import System

#: For what asks no repository.
_QUICK = 60.0
#: What dpkg brings to an end by itself, without the package's file.
_UNPACKED = ("installed", "unpacked", "half-configured", "triggers-awaited", "triggers-pending")
#: apt keeps a cache of its lists; a question that writes it would not only look.
_NO_CACHE = ("-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=")


@dataclasses.dataclass(frozen=True)
class Found:
    """``lacking``: how many packages the node has to get. ``kept``: those of them that only the node itself has.

    ``trouble``: why some repository could not be asked; what is then not found may be there all the same.
    """

    lacking: int = 0
    gone: t.Tuple[Gone, ...] = ()
    kept: t.Tuple[str, ...] = ()
    trouble: t.Optional[Trouble] = None

    @property
    def unreachable(self) -> bool:
        return bool(self.gone) and self.trouble is not None


def find(
    lock: t.Mapping[str, t.Any],
    packages: t.Mapping[str, str],
    timeout: float,
    host: t.Optional[Host] = None,
    system: t.Optional[System] = None,
) -> Found:
    """What of these packages the node lacks and cannot get.

    :arg packages: full version by name, those of the lock that this node shall have
    :arg timeout: seconds for all of it
    :raises ResolveError: when apt cannot be asked here at all
    """
    machine, own = host or LocalHost(), system or System()
    lacking = _lacking(packages, machine)
    if not lacking:
        return Found()
    root = tempfile.mkdtemp(prefix="goldennode-available-")
    try:
        asked = _Asked(root, bundle_of(lock), time.monotonic() + timeout, machine)
        listed, trouble = asked.ask(sorted(lacking))
        missing = {name: v for name, v in lacking.items() if v not in _versions(listed.get(name, ()))}
        kept = [name for name in sorted(missing) if Store(own).file(name, missing[name])]
        left = sorted(set(missing) - set(kept))
        others = asked.ask_others(left) if left else {}
    finally:
        shutil.rmtree(root)
    gone = [
        Gone(name, missing[name], tuple(listed.get(name, ())))
        for name in left
        if missing[name] not in _versions(others.get(name, ()))
    ]
    return Found(len(lacking), tuple(gone), tuple(kept), trouble)


def bundle_of(lock: t.Mapping[str, t.Any]) -> PlatformBundle:
    """As much of the bundle as a root is made of: a lock has the very repositories that it was resolved from."""
    sources = tuple(
        Source(
            source["name"],
            tuple(source["uris"]),
            tuple(source["suites"]),
            tuple(source["components"]),
            key=source["key"],
            keyring=source["keyring"],
        )
        for source in lock["sources"]
    )
    driver, image = lock["driver"], lock["image"]
    return PlatformBundle(
        bundle=lock["bundle"],
        platform=lock["platform"],
        sources=sources,
        kernel=Kernel(lock["kernel"]["release"]),
        driver=Driver(driver["version"], driver["flavour"], driver["build"], driver["source"]),
        fabric_manager=None,
        toolkit=Toolkit(lock["toolkit"]["version"]),
        docker=Docker(lock["docker"]["version"], lock["docker"]["source"]),
        image=Image(image["reference"]),
        python=Python(lock["python"]["nvidia_ml_py"]),
    )


class _Asked(_Root):
    """A root that is asked although a repository of it cannot be read: what the others have can be had."""

    def ask(self, names: t.Sequence[str]) -> t.Tuple[t.Dict[str, t.List[Offer]], t.Optional[Trouble]]:
        """What the distribution's and the lock's repositories have, and why one of them could not be read."""
        self._prepare()
        try:
            trouble = self._read_index()
            return offers(self._run(["apt-cache", "policy", *names]).stdout), trouble
        except ResolveError as error:
            if time.monotonic() < self._deadline:
                raise
            return {}, _late(error)

    def ask_others(self, names: t.Sequence[str]) -> t.Dict[str, t.List[Offer]]:
        """What the node's further repositories have, as its own apt has read them last: packages come from these too.

        What its lists say of repositories that were just asked is older than their answer, and does not count.
        """
        self._deadline = time.monotonic() + _QUICK  # also where the index took all the time that there was
        asked = self._run(["apt-cache", *_NO_CACHE, "policy", *names], configuration=False)
        ours = tuple(self._asked_addresses())
        return {
            name: [offer for offer in found if not (address(offer.uri) + "/").startswith(ours)]
            for name, found in offers(asked.stdout).items()
        }

    def _asked_addresses(self) -> t.Iterator[str]:
        """The repositories of this root: the lock's, and the distribution's as the node has them."""
        for name in ("sources.list", "sources.d/all.sources"):
            with open(os.path.join(self._path, name), encoding="utf-8") as file:
                for entry in apt_sources.parse(name, file.read(), self._architecture):
                    yield from (address(uri) + "/" for uri in entry.uris)

    def _read_index(self) -> t.Optional[Trouble]:
        result = self._run(["apt-get", "update"])
        return None if result.rc == 0 else apt_errors.explain(result.stdout + result.stderr, "apt-get update")


def _late(error: ResolveError) -> Trouble:
    what = "; ".join("%s %s" % (problem.path, problem.message) for problem in error.problems)
    return Trouble(NETWORK, what, "Look at the node's network and apt's proxy, or give lock_available a longer timeout")


def _versions(found: t.Iterable[Offer]) -> t.Set[str]:
    return {offer.version for offer in found}


def _lacking(packages: t.Mapping[str, str], host: Host) -> t.Dict[str, str]:
    """What is not on the node at its version. Where dpkg does not say what is there, all is asked for."""
    command = host.run(["dpkg-query", "-W", "-f", dpkg.FORMAT], _QUICK)
    there = dpkg.parse(command.stdout, ("*",)).value if command.rc == 0 else None
    present = {name: one.version for name, one in (there or {}).items() if one.status in _UNPACKED}
    return {name: version for name, version in packages.items() if present.get(name) != version}
