# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a driver that every packaging of it has under names of its own: libraries, nvidia-smi, the daemon's
user."""

from __future__ import annotations

import typing as t
from pathlib import Path

from .debs import Entry, Package
from .tools import debian_packages, run, unpack

_LIBRARIES = "/usr/lib/x86_64-linux-gnu"
_LDCONFIG = ("activate-noawait ldconfig",)

#: The start of the postinst of a package that has nvidia-persistenced.
PERSISTENCED_USER = (
    'if [ "$1" = configure ] && ! getent passwd nvidia-persistenced >/dev/null; then\n'
    "    useradd --system --user-group --home-dir / --no-create-home --shell /usr/sbin/nologin "
    "--comment 'NVIDIA Persistence Daemon' nvidia-persistenced\n"
    "fi\n"
)


def equal(version: str, *names: str) -> str:
    """The relation to each of these packages at just this version."""
    return ", ".join("%s (= %s)" % (name, version) for name in names)


def upstream(full: str) -> str:
    return full.rsplit("-", maxsplit=1)[0]


def nvidia_smi(cache: Path, directory: Path) -> Path:
    """The unmodified program of Debian's package, unpacked into ``directory``."""
    package = debian_packages(cache, "nvidia-smi")["nvidia-smi"]
    return unpack(package, directory) / "usr/lib/nvidia/current/nvidia-smi"


def library(package: str, full: str, sources: t.Mapping[str, Path], depends: str = "") -> Package:
    """A package of libraries; ``sources``: their files by name. ldconfig makes the links that the sonames ask for."""
    relations = {"Depends": "libc6 (>= 2.34)" + (", " + depends if depends else ""), "Multi-Arch": "same"}
    entries = {"%s/%s.so.%s" % (_LIBRARIES, name, upstream(full)): Entry(path) for name, path in sources.items()}
    return Package(package, full, "NVIDIA %s library" % " and ".join(sources), entries, relations, triggers=_LDCONFIG)


def empty_library(fakes: Path, name: str) -> Path:
    """A library that nobody calls in the test bed: it is there because a driver is a set."""
    target = fakes / ("%s.so" % name)
    if not target.exists():
        run("gcc", "-shared", "-nostdlib", "-s", "-Wl,-soname,%s.so.1" % name, "-o", target, "-x", "c", "/dev/null")
    return target


def firmware(version: str) -> t.Dict[str, Entry]:
    return {
        "/usr/lib/firmware/nvidia/%s/gsp_%s.bin" % (version, chip): Entry("stand-in %s\n" % version)
        for chip in ("ga10x", "tu10x")
    }
