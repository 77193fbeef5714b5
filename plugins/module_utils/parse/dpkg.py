# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of installed packages as dpkg-query gives it, holds included."""

from __future__ import annotations

import fnmatch
import re
import typing as t

from ..model import Package, Reading

#: One line for each package, asked for with ``dpkg-query -W -f``.
FORMAT = "${Package}\\t${Architecture}\\t${Version}\\t${db:Status-Want}\\t${db:Status-Eflag}\\t${db:Status-Status}\\n"

#: States in which dpkg remembers a package that is not installed.
_GONE = ("not-installed", "config-files")


def parse(stdout: str, patterns: t.Collection[str]) -> Reading[t.Dict[str, Package]]:
    """The packages whose name matches one of ``patterns``. One of a foreign architecture is called ``name:arch``."""
    rows: t.List[t.List[str]] = []
    for line in stdout.splitlines():
        if not line.strip():
            continue
        values = line.split("\t")
        if len(values) != 6 or not values[0]:
            return Reading.unknown("dpkg-query printed a line that is not understood: %s" % line.strip()[:200])
        rows.append(values)
    native = next((row[1] for row in rows if row[0] == "dpkg"), None)
    if native is None:
        return Reading.unknown("dpkg-query did not list dpkg itself: its answer is not complete")
    wanted = re.compile("|".join(fnmatch.translate(pattern) for pattern in sorted(patterns)) or r"(?!)")
    found: t.Dict[str, Package] = {}
    for name, arch, version, want, flag, status in rows:
        if status in _GONE or not wanted.match(name):
            continue
        key = name if arch in (native, "all") else "%s:%s" % (name, arch)
        state = status if flag == "ok" else "%s, %s" % (status, flag)
        found[key] = Package(name=key, version=version, held=want == "hold", status=state)
    return Reading(found)
