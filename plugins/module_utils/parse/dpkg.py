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
    rows = _rows(stdout)
    if rows.value is None:
        return Reading.unknown(rows.error or "")
    wanted = re.compile("|".join(fnmatch.translate(pattern) for pattern in sorted(patterns)) or r"(?!)")
    found: t.Dict[str, Package] = {}
    for key, name, version, want, flag, status in rows.value:
        if status in _GONE or not wanted.match(name):
            continue
        state = status if flag == "ok" else "%s, %s" % (status, flag)
        found[key] = Package(name=key, version=version, held=want == "hold", status=state)
    return Reading(found)


def held(stdout: str) -> Reading[t.Tuple[str, ...]]:
    """Every name that is held, also those that are not installed: a hold outlives the package."""
    rows = _rows(stdout)
    if rows.value is None:
        return Reading.unknown(rows.error or "")
    return Reading(tuple(row[0] for row in rows.value if row[3] == "hold"))


def _rows(stdout: str) -> Reading[t.List[t.Tuple[str, ...]]]:
    """Key, name, version, want, flag and status of every line."""
    lines: t.List[t.List[str]] = []
    for line in stdout.splitlines():
        if not line.strip():
            continue
        values = line.split("\t")
        if len(values) != 6 or not values[0]:
            return Reading.unknown("dpkg-query printed a line that is not understood: %s" % line.strip()[:200])
        lines.append(values)
    native = next((line[1] for line in lines if line[0] == "dpkg"), None)
    if native is None:
        return Reading.unknown("dpkg-query did not list dpkg itself: its answer is not complete")
    return Reading(
        [(name if arch in (native, "all", "") else "%s:%s" % (name, arch), name, *rest) for name, arch, *rest in lines]
    )
