# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On which mount a path lies, from /proc/self/mountinfo."""

from __future__ import annotations

import re
import typing as t

from ..model import Reading


class Mount(t.NamedTuple):
    """``device`` is what mountinfo calls the source: a device, or a word where there is none."""

    point: str
    file_system: str
    device: str


def containing(text: str, path: str) -> Reading[Mount]:
    """The mount that is seen at ``path``, which has no links in it. Of several at one place the last one is on top."""
    best: t.Optional[Mount] = None
    for mount in _mounts(text):
        if _is_below(path, mount.point) and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return Reading(best) if best else Reading.unknown("/proc/self/mountinfo names no mount for %s" % path)


def _mounts(text: str) -> t.Iterator[Mount]:
    """``36 35 98:0 /root /mount/point rw,noatime master:1 - ext4 /dev/sda1 rw``: how many words stand before the dash
    differs.
    """
    for line in text.splitlines():
        left, dash, right = line.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if dash and len(before) > 4 and len(after) > 1:
            yield Mount(_unescaped(before[4]), after[0], _unescaped(after[1]))


def _is_below(path: str, point: str) -> bool:
    return point == "/" or path == point or path.startswith(point + "/")


def _unescaped(word: str) -> str:
    """Blanks and backslashes stand there as octal numbers."""
    return re.sub(r"\\([0-3][0-7]{2})", lambda match: chr(int(match.group(1), 8)), word)
