# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is mounted where, from /proc/PID/mountinfo: on which mount a path lies, and which of the host's driver files are
bound into a process's file system.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Reading
from .text import DRIVER_VERSION

#: One line: id, parent, device, root, mount point, options, optional fields, "-", type, source, options.
_LINE = re.compile(r"^\d+ \d+ \d+:\d+ (?P<root>\S+) (?P<point>\S+) \S+(?: \S+)* - (?P<type>\S+) (?P<device>\S+)")
_OCTAL = re.compile(r"\\([0-7]{3})")

#: What the kernel adds to the name of a file that is gone from its directory.
_GONE = "//deleted"

#: The driver's own files, which have its version in their name or in that of their folder.
_LIBRARY = re.compile(r"/lib(?:cuda|nvcuvid|nvoptix|nvidia-[a-z0-9-]+)\.so\.(%s)$" % DRIVER_VERSION)
_FIRMWARE = re.compile(r"/nvidia/(%s)/gsp[^/]*\.bin$" % DRIVER_VERSION)


class Mount(t.NamedTuple):
    """``root`` is the file or folder that is mounted, as its own file system names it; ``device`` what it is on, or a
    word where it is on none.
    """

    root: str
    point: str
    type: str
    device: str = ""


def parse(text: str) -> Reading[t.Tuple[Mount, ...]]:
    matches = [_LINE.match(line) for line in text.splitlines()]
    found = tuple(Mount(*(_plain(word) for word in m.groups())) for m in matches if m)
    if not found:
        return Reading.unknown("mountinfo names no mount")
    return Reading(found)


def containing(text: str, path: str) -> Reading[Mount]:
    """The mount that is seen at ``path``, which has no links in it. Of several at one place the last one is on top."""
    best: t.Optional[Mount] = None
    for mount in parse(text).value or ():
        if _is_below(path, mount.point) and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return Reading(best) if best else Reading.unknown("mountinfo names no mount for %s" % path)


def _is_below(path: str, point: str) -> bool:
    return point == "/" or path == point or path.startswith(point + "/")


def driver_versions(mounts: t.Iterable[Mount]) -> t.Tuple[str, ...]:
    """The drivers of which a file is mounted, also one that the host has not any more."""
    found = {driver_version(mount.root) for mount in mounts}
    return tuple(sorted(version for version in found if version))


def driver_version(path: str) -> t.Optional[str]:
    """The version of the driver that a file belongs to; None for any other file."""
    name = path[: -len(_GONE)] if path.endswith(_GONE) else path
    match = _LIBRARY.search(name) or _FIRMWARE.search(name)
    return match.group(1) if match else None


def dev_is_own(mounts: t.Iterable[Mount]) -> bool:
    """Whether /dev is in memory: nobody's server can keep whoever lists it waiting. The last mount there counts."""
    types = [mount.type for mount in mounts if mount.point == "/dev"]
    return bool(types) and types[-1] in ("tmpfs", "devtmpfs")


def _plain(path: str) -> str:
    """Blanks and the like stand there in octal."""
    return _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), path)
