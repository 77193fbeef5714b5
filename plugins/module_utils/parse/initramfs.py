# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the reader script found inside an initramfs: names of modules, and the modprobe.d files."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..model import Reading
from .json_lines import objects
from .text import last_line

_NOUVEAU = re.compile(r"(?:^|/)(?:nouveau|nova[_-]core)\.ko(?:\.\w+)?$")
_BLACKLIST = re.compile(
    r"^\s*(?:blacklist\s+nouveau|install\s+nouveau\s+(?:/usr)?/bin/(?:false|true))\s*(?:#.*)?$", re.MULTILINE
)


@dataclasses.dataclass(frozen=True)
class Content:
    """``nvidia``: path and version of each nvidia module inside; the version is None when it could not be seen."""

    nouveau: bool
    blacklisted: bool
    nvidia: t.Tuple[t.Tuple[str, t.Optional[str]], ...] = ()

    @property
    def nvidia_version(self) -> t.Optional[str]:
        return next((version for _path, version in self.nvidia if version), None)


def parse(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[Content]:
    """``{"modules": [paths], "modprobe": {path: text}, "nvidia": {path: version}}`` in one JSON line."""
    answers = objects(stdout)
    if not answers:
        said = last_line(stderr) or "it said nothing"
        return Reading.unknown("the initramfs could not be read, code %s: %s" % (rc, said))
    answer = answers[-1]
    if "error" in answer:
        return Reading.unknown("the initramfs could not be read: %s" % answer["error"])
    modules, files, nvidia = answer.get("modules"), answer.get("modprobe"), answer.get("nvidia")
    if not isinstance(modules, list) or not isinstance(files, dict) or not isinstance(nvidia, dict):
        return Reading.unknown("the reader of the initramfs gave an answer that is not understood")
    return Reading(
        Content(
            nouveau=any(_NOUVEAU.search(str(name)) for name in modules),
            blacklisted=any(_BLACKLIST.search(str(text)) for text in files.values()),
            nvidia=tuple(
                (str(path), version if isinstance(version, str) else None) for path, version in nvidia.items()
            ),
        )
    )
