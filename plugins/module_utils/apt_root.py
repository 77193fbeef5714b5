# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resolves packages in a throw-away apt root: the node's distribution and the bundle's repositories, and nothing of the
node's own configuration but its proxies. The node is not touched, and nothing stays behind.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import tempfile
import time
import typing as t

from . import apt_text, node_sources
from .apt_text import Available
from .bundle import MISSING, PlatformBundle, Problem
from .desired import deb822, source_path
from .model import AptSource, Reading, to_plain
from .package_names import DRIVER_GLOBS, axis_of
from .packages import (
    Wanted,
    choose,
    driver_of_modules,
    fits,
    modules_package,
    no_kernel,
    no_modules,
    not_found,
    wanted,
)
from .parse import apt_errors, apt_sources
from .plan import goes, package_plan
from .probe import sources as probe
from .probe.host import Command, Host, LocalHost
from .version import version_numbers

#: Settings that say how to reach the network from here; all others of the node's apt are left behind.
_NETWORK = re.compile(
    r'Acquire::https?::(?:\S+::)?(?:Proxy|Verify|CaInfo|CaPath|SslCert|SslKey|IssuerCert)\S* "|Acquire::ForceIPv[46] "',
    re.IGNORECASE,
)
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")
_READ = "Run lock_resolve as root on a node whose sources can be read"
_DPKG_STATUS = "/var/lib/dpkg/status"


class ResolveError(ValueError):
    """The bundle cannot be resolved here, with every reason."""

    def __init__(self, problems: t.Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in problems))


@dataclasses.dataclass(frozen=True)
class Resolved:
    """Full version by package by axis, the kernel's release, and what this node would lose when it gets the set."""

    packages: t.Dict[str, t.Dict[str, str]]
    kernel_release: str
    removes: t.Tuple[str, ...]


def resolve(bundle: PlatformBundle, timeout: float, host: t.Optional[Host] = None) -> Resolved:
    """Exact versions for every axis that is made of packages.

    :arg timeout: seconds for all of it
    :arg host: runs the commands; replaced in tests
    :raises ResolveError: when a repository cannot be read, a version cannot be had, or the set cannot be installed
    """
    root = tempfile.mkdtemp(prefix="goldennode-lock-")
    try:
        return _Root(root, bundle, time.monotonic() + timeout, host or LocalHost()).resolve()
    finally:
        shutil.rmtree(root)


class _Root:
    """One throw-away root. ``status`` is empty while the set is found, so that the lock does not depend on the node."""

    def __init__(self, path: str, bundle: PlatformBundle, deadline: float, host: Host) -> None:
        self._path = path
        self._bundle = bundle
        self._deadline = deadline
        self._host = host

    def resolve(self) -> Resolved:
        try:
            axes = wanted(self._bundle)
        except ValueError as error:
            raise ResolveError([Problem(self._bundle.platform, MISSING, str(error), "Mend the bundle")]) from error
        self._prepare()
        self._update()
        chosen, requests = self._choose(axes)
        locked, release = self._closure(chosen, requests)
        removes = self._prove(locked)
        return Resolved(locked, release, removes)

    # --- the root ---

    def _prepare(self) -> None:
        # apt fetches as the user _apt, who must be able to come in here.
        os.chmod(self._path, 0o755)
        for directory in ("state/lists/partial", "cache/archives/partial", "sources.d", "empty"):
            os.makedirs(os.path.join(self._path, directory))
        self._write("empty-status", "")
        shutil.copyfile(_DPKG_STATUS, os.path.join(self._path, "node-status"))
        self._write("preferences", "")
        self._write_sources()
        self._write("apt.conf", self._configuration())

    def _configuration(self) -> str:
        """apt's settings. The node's own are not read: a hook in them would run, and change the node."""
        places = {
            "Dir::State": "state",
            "Dir::State::status": "empty-status",
            "Dir::Cache": "cache",
            "Dir::Etc::main": "empty/none",
            "Dir::Etc::parts": "empty",
            "Dir::Etc::sourcelist": "sources.list",
            "Dir::Etc::sourceparts": "sources.d",
            "Dir::Etc::preferences": "preferences",
            "Dir::Etc::preferencesparts": "empty",
        }
        lines = ['%s "%s";' % (key, os.path.join(self._path, place)) for key, place in places.items()]
        lines += [
            'APT::Architecture "%s";' % self._architecture,
            'APT::Install-Recommends "false";',
            'APT::Update::Error-Mode "any";',
            'APT::Get::Always-Include-Phased-Updates "true";',  # else the lock depends on the node's machine id
            'Acquire::Languages "none";',
            'Acquire::Retries "1";',
            'Acquire::http::Timeout "20";',
            'Acquire::https::Timeout "20";',
        ]
        node = self._run(["apt-config", "dump"], configuration=False)
        return "\n".join(lines + [line for line in node.stdout.splitlines() if _NETWORK.match(line)]) + "\n"

    @property
    def _architecture(self) -> str:
        return node_sources.architecture(self._bundle.platform)

    def _pin_driver(self, versions: t.Iterable[str]) -> None:
        """The driver's whole set at the versions that were chosen, also where a dependency would take any newer one."""
        stanza = "Package: %s\nPin: version %s\nPin-Priority: 1001\n"
        self._write("preferences", "\n".join(stanza % (" ".join(DRIVER_GLOBS), full) for full in sorted(versions)))

    def _write_sources(self) -> None:
        """The node's entries of the distribution, and the bundle's; Signed-By of both as they have it."""
        own = {source_path(s.name): deb822(to_plain(s), self._architecture) for s in self._bundle.sources}
        wanted_entries = [e for path, text in own.items() for e in apt_sources.parse(path, text, self._architecture)]
        there = [entry for entry in self._node_sources() if not entry.managed]
        self._refuse_sources(there, wanted_entries)
        kept = node_sources.for_resolving(there, _codename(), wanted_entries)
        texts = {path: self._read_node(path) for path in dict.fromkeys(entry.file for entry in kept)}
        lines = [(entry, apt_sources.for_packages(texts[entry.file], entry)) for entry in kept]
        self._write("sources.list", "".join(text + "\n" for entry, text in lines if not _is_stanza(entry)))
        stanzas = [text + "\n" for entry, text in lines if _is_stanza(entry)]
        self._write("sources.d/all.sources", "\n".join(stanzas + list(own.values())))

    def _node_sources(self) -> t.Tuple[AptSource, ...]:
        there = probe.sources(self._host)
        if there.value is None:
            raise ResolveError(
                [Problem("the node's package sources", MISSING, "cannot be read: %s" % there.error, _READ)]
            )
        return there.value

    def _read_node(self, path: str) -> str:
        return self._host.read(path).value or ""

    def _refuse_sources(self, there: t.Sequence[AptSource], ours: t.Sequence[AptSource]) -> None:
        """What only the bundle can mend: it names a repository of the distribution, and not as the node does."""
        found = [
            Problem("sources", MISSING, "do not fit this node: %s" % misfit.cause.rstrip("."), misfit.fix.rstrip("."))
            for misfit in node_sources.misfits(there, ours, (), self._bundle.platform)
            if misfit.follows
        ]
        for source in self._bundle.sources:
            if source.keyring and self._host.stat(source.keyring) == Reading(None):
                fix = "Write it as the node's own entries have it, or install the package that ships it"
                found.append(Problem("sources.%s.keyring" % source.name, source.keyring, "is not on this node", fix))
        if found:
            raise ResolveError(found)

    def _write(self, name: str, text: str) -> None:
        with open(os.path.join(self._path, name), "w", encoding="utf-8") as file:
            file.write(text)

    # --- the steps ---

    def _update(self) -> None:
        result = self._run(["apt-get", "update"])
        if result.rc != 0:
            trouble = apt_errors.explain(result.stdout + result.stderr, "apt-get update")
            raise ResolveError(
                [Problem("the package index", MISSING, "cannot be read: %s" % trouble.cause, trouble.fix)]
            )

    def _choose(self, axes: t.Mapping[str, t.Sequence[Wanted]]) -> t.Tuple[t.Dict[str, str], t.List[str]]:
        """Axis by name of the packages that are asked for, and what to ask apt for."""
        names = sorted({name for axis in axes.values() for package in axis for name in package.names})
        result = self._run(["apt-cache", "policy", *names])
        available = apt_text.policy(result.stdout)
        chosen, requests, driver = {}, [], set()
        lacking: t.Dict[str, t.List[t.Tuple[Wanted, t.Sequence[str]]]] = {}
        for axis, package in ((axis, package) for axis, packages in axes.items() for package in packages):
            found = [
                (name, available[name]) for name in package.names if name in available and available[name].versions
            ]
            versions = [version for _name, there in found for version in there.versions]
            if package.driver and found:
                found, versions = self._of_driver(package.driver, found)
            picks = [(name, choose(package, name, there.candidate, there.versions)) for name, there in found]
            pick = next(((name, version) for name, version in picks if version), None)
            if pick:
                chosen[pick[0]] = axis
                requests.append("%s=%s" % pick)
                # Parts of built modules have the version of these.
                of_driver = package.driver or (package.version and fits(pick[1], package.version))
                if axis == "driver" and of_driver:
                    driver.add(pick[1])
            elif package.required:
                lacking.setdefault(axis, []).append((package, versions))
        if lacking:
            raise ResolveError([problem for axis, found in lacking.items() for problem in self._lack(axis, found)])
        self._pin_driver(driver)
        return chosen, requests

    def _of_driver(
        self, driver: str, found: t.Sequence[t.Tuple[str, Available]]
    ) -> t.Tuple[t.List[t.Tuple[str, Available]], t.List[str]]:
        """What is there of built modules, without the versions that are another driver's; and all drivers there are."""
        shown = apt_text.depends(self._run(["apt-cache", "show", *(name for name, _there in found)]).stdout)
        builds = {key: driver_of_modules(text) for key, text in shown.items()}
        left = []
        for name, there in found:
            mine = tuple(full for full in there.versions if builds.get((name, full)) in (None, driver))
            if mine:
                left.append((name, Available(there.candidate if there.candidate in mine else mine[0], mine)))
        return left, sorted({build for build in builds.values() if build}, key=version_numbers, reverse=True)

    def _lack(self, axis: str, lacking: t.Sequence[t.Tuple[Wanted, t.Sequence[str]]]) -> t.List[Problem]:
        release = self._bundle.kernel.release
        if axis == "kernel" and release:
            return [no_kernel(release, self._run(["apt-cache", "pkgnames", "linux-image-"]).stdout.split())]
        return not_found(axis, lacking)

    def _closure(
        self, chosen: t.Mapping[str, str], requests: t.Sequence[str]
    ) -> t.Tuple[t.Dict[str, t.Dict[str, str]], str]:
        """The set with all that it needs of the same vendors, as on a node on which nothing is installed."""
        result = self._simulate(requests, "empty-status")
        installed, _removed = apt_text.simulation(result.stdout)
        locked: t.Dict[str, t.Dict[str, str]] = {axis: {} for axis in sorted(set(chosen.values()))}
        for name, version in sorted(installed.items()):
            axis = chosen.get(name) or axis_of(name)
            if axis in locked:
                locked[axis][name] = version
        release = self._release(locked["kernel"])
        if self._bundle.driver.build == "precompiled" and modules_package(self._bundle, release) not in installed:
            raise ResolveError([no_modules(release, installed)])
        return locked, release

    def _release(self, kernel: t.Mapping[str, str]) -> str:
        wanted_release = self._bundle.kernel.release
        if wanted_release:
            return wanted_release
        releases = [
            match.group(1) for match in (re.fullmatch(r"linux-image-(\d\S*)", name) for name in kernel) if match
        ]
        if len(releases) != 1:
            message = "leads to %s" % (", ".join(releases) or "no kernel")
            fix = "Use a metapackage of one kernel, as linux-image-amd64 or linux-generic, or give kernel.release"
            raise ResolveError([Problem("kernel.metapackage", self._bundle.kernel.metapackage, message, fix)])
        headers = "linux-headers-" + releases[0]
        if self._bundle.driver.build == "dkms" and headers not in kernel:
            message = "leads to kernel %s without %s, which the driver is built with" % (releases[0], headers)
            fix = "Give kernel.release, or build: precompiled"
            raise ResolveError([Problem("kernel.metapackage", self._bundle.kernel.metapackage, message, fix)])
        return releases[0]

    def _prove(self, locked: t.Mapping[str, t.Mapping[str, str]]) -> t.Tuple[str, ...]:
        """That the whole lock can be installed on this node as it is; what it would remove from it."""
        requests = ["%s=%s" % pair for packages in locked.values() for pair in packages.items()]
        with open(os.path.join(self._path, "node-status"), encoding="utf-8") as file:
            plan = package_plan(apt_text.status(file.read()), locked["driver"])
        # What goes when the set is installed, and is held until then: apt would not remove it by itself.
        requests += ["%s-" % name for name in plan.left if goes(name, locked["driver"])]
        result = self._simulate(requests, "node-status")
        _installed, removed = apt_text.simulation(result.stdout)
        return removed

    def _simulate(self, requests: t.Sequence[str], status: str) -> Command:
        options = ["-o", "Dir::State::status=%s" % os.path.join(self._path, status)]
        options += ["--yes", "--allow-downgrades", "--allow-change-held-packages"]
        result = self._run(["apt-get", "--simulate", *options, "install", *requests])
        if result.rc != 0:
            where = "together" if status == "empty-status" else "on this node as it is"
            message = "cannot be installed %s: %s" % (where, apt_errors.reason(result.stdout + result.stderr))
            fix = "Change the versions that it names, or (on the node) remove or repair the packages that it names"
            raise ResolveError([Problem("the bundle's packages", MISSING, message, fix)])
        return result

    def _run(self, argv: t.Sequence[str], configuration: bool = True) -> Command:
        """Run one of apt's programs; how it ended is the caller's business, unless it has not ended by itself."""
        environment = ["%s=%s" % (name, os.environ[name]) for name in _PROXIES if name in os.environ]
        if configuration:
            environment.append("APT_CONFIG=" + os.path.join(self._path, "apt.conf"))
        left = max(1.0, self._deadline - time.monotonic())
        result = self._host.run(["env", "LC_ALL=C", *environment, *argv], left)
        if result.timed_out:
            fix = "Give lock_resolve a longer timeout, or look at the node's network and proxy"
            message = "did not end in time"
            raise ResolveError([Problem(" ".join(argv[:2]), MISSING, message, fix)])
        if result.rc in (None, 127):
            message = "cannot be run: %s" % (result.error or result.stderr.strip())
            raise ResolveError([Problem(argv[0], MISSING, message, "Run lock_resolve on a node that has apt")])
        return result


def _is_stanza(entry: AptSource) -> bool:
    return entry.file.endswith(".sources")


def _codename() -> str:
    with open("/etc/os-release", encoding="utf-8") as file:
        match = re.search(r'^VERSION_CODENAME="?([\w.-]+)', file.read(), re.MULTILINE)
    return match.group(1) if match else ""
