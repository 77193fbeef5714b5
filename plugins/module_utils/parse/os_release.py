# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which platform a node is, from /etc/os-release."""

from __future__ import annotations

import re
import shlex
import typing as t

from ..model import Platform, Reading

_LINE = re.compile(r"^\s*([A-Z][A-Z0-9_]*)=(.*)$")


def parse(text: str, machine: str, kernel: str) -> Reading[Platform]:
    """:arg machine: as uname -m gives it; ``kernel``: the running release, which is how WSL shows itself."""
    fields: t.Dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            fields[match.group(1)] = _unquoted(match.group(2))
    missing = [name for name in ("ID", "VERSION_ID") if not fields.get(name)]
    if missing:
        return Reading.unknown("/etc/os-release has no %s" % " and no ".join(missing))
    return Reading(
        Platform(
            id=fields["ID"],
            version_id=fields["VERSION_ID"],
            arch=machine,
            id_like=fields.get("ID_LIKE", ""),
            pretty_name=fields.get("PRETTY_NAME", ""),
            wsl="microsoft" in kernel.lower(),
        )
    )


def _unquoted(value: str) -> str:
    try:
        return " ".join(shlex.split(value))
    except ValueError:  # a quote that is not closed
        return value.strip("'\" ")
