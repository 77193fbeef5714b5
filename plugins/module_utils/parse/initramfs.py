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
    """``nvidia_version``: of the nvidia module inside; None when there is none, or its version could not be seen."""

    nouveau: bool
    blacklisted: bool
    nvidia_version: t.Optional[str] = None


def parse(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[Content]:
    """``{"modules": [paths], "modprobe": {path: text}, "nvidia_version": ...}`` in one JSON line."""
    answers = objects(stdout)
    if not answers:
        said = last_line(stderr) or "it said nothing"
        return Reading.unknown("the initramfs could not be read, code %s: %s" % (rc, said))
    answer = answers[-1]
    if "error" in answer:
        return Reading.unknown("the initramfs could not be read: %s" % answer["error"])
    modules, files, version = answer.get("modules"), answer.get("modprobe"), answer.get("nvidia_version")
    if not isinstance(modules, list) or not isinstance(files, dict):
        return Reading.unknown("the reader of the initramfs gave an answer that is not understood")
    return Reading(
        Content(
            nouveau=any(_NOUVEAU.search(str(name)) for name in modules),
            blacklisted=any(_BLACKLIST.search(str(text)) for text in files.values()),
            nvidia_version=version if isinstance(version, str) and version else None,
        )
    )
