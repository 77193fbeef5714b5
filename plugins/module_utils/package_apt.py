# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""apt and dpkg, for ``package_set``: what is there, what a transaction would do, and the transaction."""

from __future__ import annotations

import hashlib
import json
import os
import re
import typing as t

from . import apt_text
from .kept_packages import Offered
from .node_sources import address
from .package_manager import Effect, Order, PackageManagerError, Refreshed, State
from .parse import apt_errors, apt_sources, dpkg
from .parse.apt_errors import Trouble
from .parse.apt_rules import LOCKED, NETWORK, OTHER, SPACE
from .parse.kept_packages import KeptFile
from .probe.host import Command
from .system import System

_QUICK = 60.0
_LOCK_POLL = 5.0

#: When the index was read, and from which sources: all axes of a run need it once.
INDEX_RECORD = "/run/goldennode-apt-index.json"

_SOURCES = "/etc/apt/sources.list"
_SOURCES_PARTS = "/etc/apt/sources.list.d"
_OWN_SOURCES = "/goldennode-"
_ARCHIVES = "/var/cache/apt/archives"
_JOURNAL = "/var/lib/dpkg/updates"

_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
#: Nothing asks, and nothing restarts services: that is done by consent, in its place.
_ENVIRONMENT = ("DEBIAN_FRONTEND=noninteractive", "APT_LISTCHANGES_FRONTEND=none", "NEEDRESTART_SUSPEND=1")
#: A server that says nothing is given up; one that says little is ended by the limit for the whole command. Installing
#: has them too, for what somebody has cleaned away since it was fetched. It cannot have --no-download, with which apt
#: 2.6.1 takes no package from a file, of the kept ones or of a repository on the node ("Pathname to install is not
#: absolute"); a method that is disabled ends apt also where a kept file would do.
_NETWORK = ("-o", "Acquire::http::Timeout=30", "-o", "Acquire::https::Timeout=30", "-o", "Acquire::Retries=1")
_EXACT = ("--yes", "--no-install-recommends", "--allow-downgrades", "--allow-change-held-packages")
_CONFFILES = ("-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold")
#: On a terminal of its own dpkg would be in a session of its own, and go on when apt is ended at its time limit.
_NO_TERMINAL = ("-o", "Dpkg::Use-Pty=0")
#: The one kind of digest that kept files are known by: apt prints the strongest that the index has, SHA512 of NVIDIA's.
_SHA256 = ("-o", "Acquire::ForceHash=SHA256")
#: apt keeps a cache of its lists; a simulation that writes it would not only look.
_NO_CACHE = ("-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=")


class Apt:
    """``lock_timeout``: seconds to wait for another apt. ``index_timeout``: for the index. ``timeout``: for the rest.

    ``index_valid``: seconds for which an index that was read from the same sources is taken as it is.
    """

    def __init__(
        self,
        system: System,
        lock_timeout: float = 300.0,
        index_timeout: float = 180.0,
        timeout: float = 3600.0,
        index_valid: float = 900.0,
    ) -> None:
        self._system = system
        self._lock_timeout = lock_timeout
        self._index_timeout = index_timeout
        self._timeout = timeout
        self._index_valid = index_valid

    def state(self) -> State:
        command = self._run(["dpkg-query", "-W", "-f", dpkg.FORMAT], _QUICK)
        if command.rc != 0:  # also of a list that was cut off: what it lacks may be installed
            raise _failed(_end(command, _QUICK), "Run dpkg-query -W on the node, and see what it says")
        packages, held = dpkg.parse(command.stdout, ("*",)), dpkg.held(command.stdout)
        if packages.value is None or held.value is None:
            raise _failed(packages.error or held.error or "", "Run dpkg-query -W on the node, and see what it says")
        journal = self._system.listdir(_JOURNAL)
        if not journal.known:
            raise _failed(journal.error or "", "See what is wrong with that directory")
        interrupted = any(name.isdigit() for name in journal.value or {})
        return State(packages.value, frozenset(held.value), interrupted)

    def finish(self) -> None:
        self._change(["dpkg", "--configure", "-a", "--force-confdef", "--force-confold"], self._timeout)

    # --- the index ----------------------------------------------------------------------------------------------------

    def refresh(self, again: bool = False) -> Refreshed:
        sources = self._sources()
        digest = hashlib.sha256(json.dumps(sources, sort_keys=True).encode("utf-8")).hexdigest()
        if not again and self._is_current(digest):
            return Refreshed()
        options = [*_NETWORK, "-o", "APT::Update::Error-Mode=any"]
        try:
            self._change(["apt-get", *options, "update"], self._index_timeout)
        except PackageManagerError as error:
            if error.trouble.kind == LOCKED:
                raise
            own = apt_errors.concerning(error.output, _is_own(sources))
            if own is None:
                return Refreshed(True, error.trouble)
            trouble = apt_errors.explain(own, "apt-get update") if own else error.trouble
            return Refreshed(True, trouble, own=True)
        record = json.dumps({"sources": digest, "at": self._system.now()}) + "\n"
        self._system.write(INDEX_RECORD, record.encode("utf-8"))
        return Refreshed(True)

    def _sources(self) -> t.Dict[str, str]:
        paths = [_SOURCES]
        listed = self._system.listdir(_SOURCES_PARTS).value or {}
        paths += ["%s/%s" % (_SOURCES_PARTS, name) for name in listed if name.endswith((".list", ".sources"))]
        return {path: self._system.read(path).value or "" for path in paths}

    def _is_current(self, digest: str) -> bool:
        try:
            record = json.loads(self._system.read(INDEX_RECORD).value or "{}")
            age = self._system.now() - float(record["at"])
            return bool(record["sources"] == digest and 0 <= age < self._index_valid)
        except (ValueError, KeyError, TypeError):
            return False

    def offers(self, names: t.Iterable[str]) -> t.Dict[str, t.Tuple[str, ...]]:
        asked = sorted(set(names))
        if not asked:
            return {}
        return apt_text.offered(self._checked(["apt-cache", *_NO_CACHE, "policy", *asked], _QUICK).stdout)

    # --- the transaction ----------------------------------------------------------------------------------------------

    def simulate(self, order: Order) -> Effect:
        command = self._checked(["apt-get", *_NO_CACHE, "--simulate", *_EXACT, "install", *_words(order)], _QUICK * 3)
        found = apt_text.transaction(command.stdout)
        return Effect(found.installs, found.removes)

    def fetch(self, order: Order) -> None:
        options = [*_EXACT, *_NETWORK, "--download-only"]
        command = self._change(["apt-get", *options, "install", *_words(order)], self._timeout)
        needed, free = apt_text.disk_space(command.stdout), self._system.free_bytes("/usr")
        if needed > free:
            cause = "the disk is full: /usr has %d MB free, and the packages take %d MB" % (free / 1e6, needed / 1e6)
            raise PackageManagerError(Trouble(SPACE, cause, "Make room on the node: apt-get clean, docker image prune"))

    def install(self, order: Order, consent: t.Callable[[Effect], None]) -> str:
        def once() -> Command:
            # Always, since it costs about a second: fetching and waiting for another apt take minutes.
            effect = self.simulate(order)
            consent(effect)
            options = [*_EXACT, *_CONFFILES, *_NO_TERMINAL, *_NETWORK, *([] if effect.removes else ["--no-remove"])]
            return self._checked(["apt-get", *options, "install", *_words(order)], self._timeout)

        command = self._waiting(once)
        return command.stdout + command.stderr

    def hold(self, names: t.Sequence[str]) -> None:
        self._change(["apt-mark", "hold", *names], _QUICK)

    def release(self, names: t.Sequence[str]) -> None:
        self._change(["apt-mark", "unhold", *names], _QUICK)

    def let_go(self, names: t.Sequence[str]) -> None:
        """apt-get autoremove spares the running kernel and the newest two all the same."""
        self._change(["apt-mark", "auto", *names], _QUICK)

    # --- files --------------------------------------------------------------------------------------------------------

    def files(self, packages: t.Sequence[t.Tuple[str, str]]) -> t.Dict[str, Offered]:
        try:
            offers = self.offers(name for name, _version in packages)
        except PackageManagerError:  # they are missed by the caller
            return {}
        there = ["%s=%s" % pair for pair in packages if pair[1] in offers.get(pair[0], ())]
        if not there:
            return {}
        text = self._run(["apt-get", *_NO_CACHE, *_SHA256, "download", "--print-uris", *there], _QUICK).stdout
        return {
            name: Offered(KeptFile(found.file, found.size, found.sha256), "%s/%s" % (_ARCHIVES, found.file))
            for name, found in apt_text.downloads(text).items()
        }

    def download(self, packages: t.Sequence[t.Tuple[str, str]], directory: str) -> None:
        """What comes is compared with the index by the caller; what does not come is missing there."""
        names = ["%s=%s" % pair for pair in packages]
        options = [*_NETWORK, "-o", "APT::Sandbox::User=root"]
        self._run(["apt-get", *options, "download", *names], self._timeout, "--chdir=" + directory)

    # --- running ------------------------------------------------------------------------------------------------------

    def _change(self, argv: t.Sequence[str], timeout: float) -> Command:
        return self._waiting(lambda: self._checked(argv, timeout))

    def _waiting(self, call: t.Callable[[], Command]) -> Command:
        """What needs the package manager's lock: wait for whoever has it, as long as that is allowed."""
        end = self._system.monotonic() + self._lock_timeout
        while True:
            try:
                return call()
            except PackageManagerError as error:
                if error.trouble.kind != LOCKED or self._system.monotonic() + _LOCK_POLL > end:
                    raise
            self._system.sleep(_LOCK_POLL)

    def _checked(self, argv: t.Sequence[str], timeout: float) -> Command:
        command = self._run(argv, timeout)
        if command.rc == 0:
            return command
        output = command.stdout + "\n" + command.stderr
        if command.rc is None:
            if "update" in argv or "--download-only" in argv:
                fix = "Look at the network and apt's proxy on the node, or give it more time"
                raise PackageManagerError(Trouble(NETWORK, _end(command, timeout), fix))
            raise _failed(_end(command, timeout), "See on the node what it waits for")
        raise PackageManagerError(apt_errors.explain(output, argv[0]), output)

    def _run(self, argv: t.Sequence[str], timeout: float, *options: str) -> Command:
        """:arg options: further ones for env"""
        proxies = ["%s=%s" % (name, os.environ[name]) for name in _PROXIES if name in os.environ]
        return self._system.run(["env", *options, *_ENVIRONMENT, *proxies, *argv], timeout)


def _is_own(sources: t.Mapping[str, str]) -> t.Callable[[str], bool]:
    """Whether an address that apt prints is of a repository of the lock."""
    own = [apt_sources.parse(path, text, "") for path, text in sources.items() if _OWN_SOURCES in path]
    # apt's words lack the user and the password that an address may have.
    addresses = tuple(address(uri) + "/" for entries in own for entry in entries for uri in entry.uris)
    return lambda name: (address(name) + "/").startswith(addresses)


def _words(order: Order) -> t.List[str]:
    words = [order.files.get(name) or "%s=%s" % (name, version) for name, version in sorted(order.packages.items())]
    return words + ["%s-" % name for name in order.removes]


def _failed(why: str, fix: str) -> PackageManagerError:
    return PackageManagerError(Trouble(OTHER, why, fix))


def _end(command: Command, timeout: float) -> str:
    """How a command failed, without the words that set its environment: a proxy's may have a password."""
    words = [word for word in command.argv[1:] if re.fullmatch(r"[a-z][a-z-]*", word)]
    name = " ".join(words[:2])
    if command.timed_out:
        return "%s did not end within %d s and was ended" % (name, timeout)
    why = " ".join(command.stderr.split()) or command.error or "it gave no reason"
    return "%s failed (%s): %s" % (name, "rc %s" % command.rc if command.rc is not None else "no exit code", why)
