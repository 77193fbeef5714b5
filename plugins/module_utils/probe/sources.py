# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The package sources of the node, as apt reads them. Files only: they are known also where apt refuses them."""

from __future__ import annotations

import re
import typing as t

from ..model import AptSource, Reading
from ..node_sources import ARCHITECTURES, FOLDER, MAIN_FILE
from ..parse import apt_sources
from .host import Host

#: Names of other form are ignored by apt, with or without a notice; so are folders.
_READ_BY_APT = re.compile(r"[A-Za-z0-9_.:-]+\.(list|sources)")


def sources(host: Host) -> Reading[t.Tuple[AptSource, ...]]:
    """Every entry, in the order in which apt reads them. A node without apt has none."""
    paths = files(host)
    if paths.value is None:
        return Reading.unknown(paths.error or "")
    architecture = ARCHITECTURES.get(host.machine(), host.machine())
    found: t.List[AptSource] = []
    for path in paths.value:
        text = host.read(path)
        if not text.known:
            return Reading.unknown(text.error or "")
        found += apt_sources.parse(path, text.value or "", architecture)
    return Reading(tuple(found))


def files(host: Host) -> Reading[t.Tuple[str, ...]]:
    """The files that apt reads, whether or not there is a main one."""
    entries = host.listdir(FOLDER)
    if not entries.known:
        return Reading.unknown(entries.error or "")
    there = entries.value or {}
    names = sorted(name for name, entry in there.items() if _READ_BY_APT.fullmatch(name) and entry.kind != "dir")
    return Reading((MAIN_FILE, *("%s/%s" % (FOLDER, name) for name in names)))
