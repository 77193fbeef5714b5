# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docker-ce's repository: the vendor's packages, with the programs of Debian's docker.io, docker-cli, containerd, runc
and tini in them. The engine is real; the older version differs from the newer one in the version that it states."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

from . import repository
from .debs import Entry, Package, build, units_postinst, units_postrm, units_prerm
from .tools import FILES, VendorError, deb_version, debian_packages, run, unpack

_SOURCES = ("docker.io", "docker-cli", "containerd", "runc", "tini")
_SUFFIX = "1~debian.13~trixie"
_ENGINE_RIVALS = "docker.io, docker-engine"
_CLIENT_RIVALS = "docker.io, docker-engine, docker-cli"
_RUNTIME_RIVALS = "containerd, runc"
_VERSION = re.compile(r"(?P<upstream>(?P<release>\d+\.\d+)\.(?P<patch>\d+))(?P<rest>[+~][a-z0-9]+)")


def make(target: Path, cache: Path) -> None:
    sources = debian_packages(cache, *_SOURCES)
    root = target / "unpacked"
    for deb in sources.values():
        unpack(deb, root)
    build(_containerd(root, _upstream(sources["containerd"])["upstream"]), target / "pool")
    debian = _upstream(sources["docker.io"])
    for version in (debian["upstream"], _patch_before(debian)):
        programs = target / version
        _restate(root, programs, debian["upstream"] + debian["rest"], version + debian["rest"])
        for package in _engine(root, programs, version):
            build(package, target / "pool")
        run("rm", "-r", programs)
    run("rm", "-r", root)
    repository.index(target, "Docker")


def _upstream(deb: Path) -> t.Dict[str, str]:
    version = deb_version(deb)
    found = _VERSION.match(version)
    if found is None:
        raise VendorError("the version %s of %s is not of a form known here" % (version, deb.name))
    return found.groupdict()


def _patch_before(debian: t.Mapping[str, str]) -> str:
    patch = int(debian["patch"])
    if patch == 0 or len(str(patch - 1)) != len(str(patch)):
        raise VendorError("%s has no patch level before it of the same length" % debian["upstream"])
    return "%s.%d" % (debian["release"], patch - 1)


def _restate(root: Path, target: Path, original: str, stated: str) -> None:
    """Copies of daemon and client that state another version; its length is the same, so that no offset moves."""
    target.mkdir()
    for program in (root / "usr/sbin/dockerd", root / "usr/bin/docker"):
        content = program.read_bytes()
        if original.encode() not in content:
            raise VendorError("%s does not state its version %s" % (program, original))
        (target / program.name).write_bytes(content.replace(original.encode(), stated.encode()))


def _engine(root: Path, programs: Path, version: str) -> t.List[Package]:
    full = "5:%s-%s" % (version, _SUFFIX)
    units = ("docker.service", "docker.socket")
    group = 'if [ "$1" = configure ] && ! getent group docker >/dev/null; then\n    groupadd --system docker\nfi\n'
    return [
        Package(
            "docker-ce",
            full,
            "Docker: the open-source application container engine",
            {
                "/usr/bin/dockerd": Entry(programs / "dockerd", 0o755),
                "/usr/bin/docker-proxy": Entry(root / "usr/sbin/docker-proxy", 0o755),
                "/usr/bin/docker-init": Entry(root / "usr/bin/tini-static", 0o755),
                **_units(*units),
            },
            {
                "Depends": "containerd.io (>= 1.7.0), docker-ce-cli, iptables, libc6 (>= 2.34), libsystemd0, passwd, "
                "init-system-helpers",
                "Conflicts": _ENGINE_RIVALS,
                "Replaces": _ENGINE_RIVALS,
            },
            {
                "postinst": group + units_postinst(*units, start=("docker.service", "docker.socket")),
                "prerm": units_prerm(*units),
                "postrm": units_postrm(*units),
            },
        ),
        Package(
            "docker-ce-cli",
            full,
            "Docker CLI: the open-source application container engine",
            {"/usr/bin/docker": Entry(programs / "docker", 0o755)},
            {"Depends": "libc6 (>= 2.34)", "Conflicts": _CLIENT_RIVALS, "Replaces": _CLIENT_RIVALS},
        ),
    ]


def _containerd(root: Path, version: str) -> Package:
    unit = "containerd.service"
    return Package(
        "containerd.io",
        "%s-%s" % (version, _SUFFIX),
        "An open and reliable container runtime",
        {
            **{
                "/usr/bin/%s" % name: Entry(root / "usr/bin" / name, 0o755)
                for name in ("containerd", "containerd-shim-runc-v2", "ctr")
            },
            "/usr/bin/runc": Entry(root / "usr/sbin/runc", 0o755),
            "/etc/containerd/config.toml": Entry(FILES / "docker/config.toml"),
            **_units(unit),
        },
        {
            "Depends": "libc6 (>= 2.34), libseccomp2, init-system-helpers",
            "Provides": _RUNTIME_RIVALS,
            "Conflicts": _RUNTIME_RIVALS,
            "Replaces": _RUNTIME_RIVALS,
        },
        {
            "postinst": units_postinst(unit, start=(unit,)),
            "prerm": units_prerm(unit),
            "postrm": units_postrm(unit),
        },
        conffiles=("/etc/containerd/config.toml",),
    )


def _units(*names: str) -> t.Dict[str, Entry]:
    return {"/usr/lib/systemd/system/%s" % name: Entry(FILES / "docker" / name) for name in names}
