# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Debian package as a value, and how one becomes a file."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
import typing as t
from pathlib import Path

from .tools import EPOCH, run


@dataclasses.dataclass(frozen=True)
class Entry:
    """One path of a package: text, bytes, a copy of a file, or a symbolic link."""

    content: t.Union[str, bytes, Path, None] = None
    mode: int = 0o644
    link_to: str = ""


@dataclasses.dataclass(frozen=True)
class Package:
    name: str
    version: str
    summary: str
    #: path below / -> what is there
    entries: t.Mapping[str, Entry] = dataclasses.field(default_factory=dict)
    #: Depends, Conflicts… -> the text of the field
    relations: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: postinst, prerm… -> a shell script without its first lines
    scripts: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    conffiles: t.Sequence[str] = ()
    #: lines of the file `triggers`
    triggers: t.Sequence[str] = ()
    architecture: str = "amd64"
    maintainer: str = "the goldennode.gpu test bed <testbed@example.invalid>"

    def control(self) -> str:
        fields = {
            "Package": self.name,
            "Version": self.version,
            "Architecture": self.architecture,
            "Maintainer": self.maintainer,
            **self.relations,
            "Description": "%s (stand-in)\n A test bed's stand-in under the vendor's name; it drives no hardware."
            % self.summary,
        }
        return "".join("%s: %s\n" % field for field in fields.items())


def build(package: Package, pool: Path) -> Path:
    """Write the package into ``pool`` and return its file."""
    pool.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        # mkdtemp makes it 0700, and dpkg would carry that over to the node's /.
        root.chmod(0o755)
        for path, entry in package.entries.items():
            _write(root / path.lstrip("/"), entry)
        _write_control(root / "DEBIAN", package)
        # An epoch is not part of a file name.
        version = package.version.split(":")[-1]
        target = pool / ("%s_%s_%s.deb" % (package.name, version, package.architecture))
        environment = dict(os.environ, SOURCE_DATE_EPOCH=str(EPOCH))
        run("dpkg-deb", "--root-owner-group", "-Zzstd", "-z1", "--build", root, target, env=environment)
    return target


def _write(path: Path, entry: Entry) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if entry.link_to:
        path.symlink_to(entry.link_to)
        return
    if isinstance(entry.content, Path):
        shutil.copyfile(entry.content, path)
    elif isinstance(entry.content, str):
        path.write_text(entry.content, encoding="utf-8")
    elif entry.content is not None:
        path.write_bytes(entry.content)
    else:
        raise ValueError("%s has neither content nor a link target" % path)
    path.chmod(entry.mode)


def _write_control(directory: Path, package: Package) -> None:
    directory.mkdir()
    (directory / "control").write_text(package.control(), encoding="utf-8")
    if package.conffiles:
        (directory / "conffiles").write_text("".join(path + "\n" for path in package.conffiles), encoding="utf-8")
    if package.triggers:
        (directory / "triggers").write_text("".join(line + "\n" for line in package.triggers), encoding="utf-8")
    for name, body in package.scripts.items():
        script = directory / name
        script.write_text("#!/bin/sh\nset -e\n" + body, encoding="utf-8")
        script.chmod(0o755)


def tree(source: Path, target: str, mode: int = 0o644) -> t.Dict[str, Entry]:
    """Every file below ``source`` as entries below ``target``."""
    return {
        "%s/%s" % (target, path.relative_to(source)): Entry(path, mode)
        for path in sorted(source.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def units_postinst(*units: str, start: t.Sequence[str] = ()) -> str:
    """Enable units on the first installation, and start ``start`` where systemd runs; a unit that does not come up
    does not fail the package, as with debhelper's own snippets."""
    lines = ['if [ "$1" = configure ]; then']
    for unit in units:
        lines += [
            "    if deb-systemd-helper --quiet was-enabled '%s'; then" % unit,
            "        deb-systemd-helper enable '%s' >/dev/null" % unit,
            "    fi",
        ]
    lines += [
        "    if [ -d /run/systemd/system ]; then",
        "        systemctl --system daemon-reload",
        '        if [ -n "$2" ]; then action=restart; else action=start; fi',
    ]
    # One call: systemd then restarts a service and its socket together.
    names = " ".join("'%s'" % unit for unit in start)
    lines.append("        deb-systemd-invoke $action %s >/dev/null || true" % names)
    lines += ["    fi", "fi", ""]
    return "\n".join(lines)


def units_prerm(*units: str) -> str:
    names = " ".join("'%s'" % unit for unit in units)
    return (
        'if [ "$1" = remove ] && [ -d /run/systemd/system ]; then\n'
        "    deb-systemd-invoke stop %s >/dev/null || true\n"
        "fi\n" % names
    )


def units_postrm(*units: str) -> str:
    names = " ".join("'%s'" % unit for unit in units)
    return (
        'if [ "$1" = remove ] && [ -d /run/systemd/system ]; then\n'
        "    systemctl --system daemon-reload\n"
        "fi\n"
        'if [ "$1" = purge ] && [ -x /usr/bin/deb-systemd-helper ]; then\n'
        "    deb-systemd-helper purge %s >/dev/null\n"
        "fi\n" % names
    )
