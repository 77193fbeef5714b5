# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What apt prints: text in, plain values out. Pure; any text is taken.

Used where a lock is resolved and where one is installed. What apt says when it fails is ``parse.apt_errors``.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .model import Package

#: A version in apt-cache's table, with its priority; Ubuntu's updates come to a share of all machines first.
_VERSION = re.compile(r" (?:\*\*\*|   ) (\d\S*)(?: -?\d+)?(?: \(phased \d+%\))?")


@dataclasses.dataclass(frozen=True)
class Available:
    """What the repositories have of one package. ``versions`` are full ones, the newest first."""

    candidate: t.Optional[str] = None
    versions: t.Tuple[str, ...] = ()


def policy(text: str) -> t.Dict[str, Available]:
    """``apt-cache policy NAME…`` as candidate and versions by name."""
    found: t.Dict[str, Available] = {}
    name, candidate, versions = "", None, []  # type: str, t.Optional[str], t.List[str]

    def keep() -> None:
        if name:
            found[name] = Available(candidate, tuple(dict.fromkeys(versions)))

    for line in text.splitlines():
        head = re.fullmatch(r"(\S+):", line)
        if head:
            keep()
            name, candidate, versions = head.group(1), None, []
            continue
        chosen = re.fullmatch(r"  Candidate: (\S+)", line)
        if chosen and chosen.group(1) != "(none)":
            candidate = chosen.group(1)
        version = _VERSION.fullmatch(line)
        if version:
            versions.append(version.group(1))
    keep()
    return found


def depends(text: str) -> t.Dict[t.Tuple[str, str], str]:
    """``apt-cache show NAME…``: the field Depends by name and full version."""
    stanzas = _stanzas(text, "Depends")
    return {(fields["Package"], fields["Version"]): fields.get("Depends", "") for fields in stanzas}


def status(text: str) -> t.Dict[str, Package]:
    """dpkg's own status file: what is installed, whole, by name."""
    return {
        fields["Package"]: Package(fields["Package"], fields["Version"], fields["Status"].startswith("hold "))
        for fields in _stanzas(text, "Status")
        if fields.get("Status", "").endswith(" ok installed")
    }


def _stanzas(text: str, field: str) -> t.Iterator[t.Dict[str, str]]:
    """Package, Version and one more field of each package of which there are both."""
    for stanza in text.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|%s): (.*)$" % field, stanza, re.MULTILINE))
        if "Package" in fields and "Version" in fields:
            yield fields


def simulation(text: str) -> t.Tuple[t.Dict[str, str], t.Tuple[str, ...]]:
    """``apt-get --simulate install``: full version by name of what would be installed, and what would be removed."""
    installed = re.findall(r"^Inst ([^\s:]+)(?::\S+)? (?:\[[^\]]*\] )?\((\S+)", text, re.MULTILINE)
    removed = re.findall(r"^Remv ([^\s:]+)", text, re.MULTILINE)
    return dict(installed), tuple(dict.fromkeys(removed))


@dataclasses.dataclass(frozen=True)
class Transaction:
    """What apt would do: full version by name of what it installs, and of what it removes."""

    installs: t.Dict[str, str]
    removes: t.Dict[str, str]


def transaction(text: str) -> Transaction:
    """``apt-get --simulate``. A package of a foreign architecture is called ``name:arch``."""
    installs = re.findall(r"^Inst (\S+) (?:\[[^\]]*\] )?\((\S+)", text, re.MULTILINE)
    removes = re.findall(r"^(?:Remv|Purg) (\S+)(?: \[([^\]]*)\])?", text, re.MULTILINE)
    return Transaction(dict(installs), dict(removes))


def offered(text: str) -> t.Dict[str, t.Tuple[str, ...]]:
    """``apt-cache policy NAME…``: the versions that a repository has, the newest first.

    The version that is only installed is listed too; its one source is dpkg's own status.
    """
    found: t.Dict[str, t.List[str]] = {}
    name = version = ""
    for line in text.splitlines():
        head = re.fullmatch(r"(\S+):", line)
        if head:
            name, version = head.group(1), ""
            found[name] = []
            continue
        listed = _VERSION.fullmatch(line)
        if listed:
            version = listed.group(1)
        elif version and re.match(r" {8,}-?\d+ (?!/var/lib/dpkg/status)\S", line) and version not in found[name]:
            found[name].append(version)
    return {name: tuple(versions) for name, versions in found.items()}


@dataclasses.dataclass(frozen=True)
class Download:
    """One package's file in a repository. ``sha256`` is what the signed index says; "" where it has no such digest."""

    file: str
    size: int
    sha256: str


def downloads(text: str) -> t.Dict[str, Download]:
    """``apt-get download --print-uris``, by ``name=version``."""
    found: t.Dict[str, Download] = {}
    for match in re.finditer(r"^'\S+' ([^\s/]+?)_([^\s/]+)_([^\s/]+)\.deb (\d+)(?: (\w+):(\S+))?$", text, re.MULTILINE):
        name, version, architecture, size, kind, digest = match.groups()
        file = "%s_%s_%s.deb" % (name, version, architecture)
        sha256 = digest.lower() if kind == "SHA256" and re.fullmatch(r"[0-9a-fA-F]{64}", digest) else ""
        found["%s=%s" % (name, _decoded(version))] = Download(file, int(size), sha256)
    return found


def _decoded(version: str) -> str:
    """A version out of a file name, in which apt writes some characters by their number."""
    return re.sub(r"%([0-9a-fA-F]{2})", lambda match: chr(int(match.group(1), 16)), version)


def disk_space(text: str) -> int:
    """Bytes that an installation takes more than before, as ``apt-get install`` says; 0 where it says nothing."""
    match = re.search(r"^After this operation, ([\d,.]+) (B|kB|MB|GB) of additional disk space", text, re.MULTILINE)
    if not match:
        return 0
    digits = match.group(1).replace(",", "")
    try:
        return int(float(digits) * {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}[match.group(2)])
    except ValueError:
        return 0
