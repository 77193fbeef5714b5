# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a container of the probe answers, in the words of its script."""

from __future__ import annotations

import dataclasses
import json
import typing as t

FOLDER = "/usr/lib/x86_64-linux-gnu"


@dataclasses.dataclass
class Container:
    """A healthy one. ``error`` are the engine's words where it did not start; a ``libcuda`` with a path is not mounted.

    Where it is not ``linked``, the linker's cache knows nothing of what was mounted. ``frameworks`` are the version
    files that it has, by path; ``ldconfig`` is empty in an image without one.
    """

    error: str = ""
    smi: t.Tuple[str, int] = ("", 0)
    driver: str = ""
    libcuda: str = ""
    nodes: t.Dict[str, t.Tuple[int, int, int, int]] = dataclasses.field(default_factory=dict)
    cuda: t.Dict[str, t.Any] = dataclasses.field(default_factory=dict)
    label: str = "docker-default (enforce)"
    ldconfig: str = "/usr/sbin/ldconfig"
    linked: bool = True
    frameworks: t.Dict[str, str] = dataclasses.field(default_factory=dict)

    def answer(self) -> t.Dict[str, t.Any]:
        if self.error:
            return {"rc": 125, "stderr": self.error + "\n"}
        found = "\n".join(self._linked()) if self.ldconfig else "sh: 1: ldconfig: not found"
        numbers = ("%s %x 0 %d %x %x" % (path, 0o020000 | mode, gid, major, minor)
                   for path, (mode, gid, major, minor) in sorted(self.nodes.items()))  # fmt: skip
        text = [
            section("confinement", self.label),
            section("smi", *self.smi),
            section("libraries", found, 0 if self.ldconfig else 1),
            section("nodes", "\n".join(numbers)),
            section("ldconfig", self.ldconfig, 0 if self.ldconfig else 1),
            section("driver_files", "\n".join(self._driver_files())),
            section("frameworks", "\n".join(self._version_files())),
            section("cuda", json.dumps(self.cuda)),
        ]
        return {"rc": 0, "stdout": "\n@@goldennode start\n" + "".join(text)}

    def _targets(self) -> t.Iterator[t.Tuple[str, str]]:
        """The link of each library and the file behind it. One that is not the host's hides the host's."""
        for name, target in (("libcuda", self.libcuda), ("libnvidia-ml", "libnvidia-ml.so." + self.driver)):
            real = target if target.startswith("/") else "%s/%s" % (FOLDER, target)
            yield "%s/%s.so.1" % (real.rpartition("/")[0], name), real

    def _linked(self) -> t.Iterator[str]:
        for path, real in self._targets() if self.linked else ():
            name = path.rpartition("/")[2]
            if real.startswith(FOLDER):
                yield "cache %s (libc6,x86-64) => %s" % (name, path)
            else:
                yield "preload %s => %s" % (name, path)
            yield "target %s => %s" % (path, real)

    def _driver_files(self) -> t.Iterator[str]:
        for name in ("libcuda", "libnvidia-ml"):
            real = "%s/%s.so.%s" % (FOLDER, name, self.driver)
            yield "mount %s %s" % (real, real)
            yield "file %s/%s.so.1\ntarget %s/%s.so.1 => %s" % (FOLDER, name, FOLDER, name, real)
        for path, real in self._targets():
            if not real.startswith(FOLDER):
                yield "file %s\ntarget %s => %s" % (path, path, real)

    def _version_files(self) -> t.Iterator[str]:
        for path, text in self.frameworks.items():
            yield "package %s" % path
            yield from ("| %s" % line for line in text.splitlines())


def section(name: str, text: str, code: int = 0) -> str:
    return "\n@@goldennode %s\n%s\n\n@@goldennode rc %d\n" % (name, text, code)
