# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file as it was, kept beside it as NAME.goldennode-TIME~: of each file the newest three."""

from __future__ import annotations

import re
import time
import typing as t

from .system import System, known

MARK = ".goldennode-"
KEPT = 3


def name_for(system: System, path: str) -> str:
    """A name that no copy has: the second change of a second must not push out what the first has kept."""
    taken, moment = of(system, path), system.now()
    while True:
        name = "%s%s%s~" % (path, MARK, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(moment)))
        if name not in taken:
            return name
        moment += 1


def trim(system: System, path: str) -> None:
    for old in of(system, path)[:-KEPT]:
        system.remove(old)


def of(system: System, path: str) -> t.List[str]:
    """The copies of a file that we have made, the oldest first."""
    folder, _slash, name = path.rpartition("/")
    mine = re.compile(re.escape(name + MARK) + r"[0-9]{8}T[0-9]{6}Z~$")
    return ["%s/%s" % (folder, entry) for entry in sorted(known(system.listdir(folder)) or ()) if mine.match(entry)]
