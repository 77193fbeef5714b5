# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of units, from ``systemctl show``."""

from __future__ import annotations

import datetime
import re
import typing as t

from ..model import Reading, Unit
from .text import failure

#: The properties to ask for.
PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "UnitFileState",
    "InvocationID",
    "ExecMainStartTimestamp",
    "ActiveEnterTimestamp",
)

#: With and without the microseconds of ``--timestamp=us+utc``: "Mon 2026-11-30 15:31:00.123456 UTC".
_TIME = re.compile(r"^(?:\w{3} )?(\d{4})-(\d{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,6}))? UTC$")


def parse(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[t.Dict[str, Unit]]:
    """Blocks of ``Name=value``, one for each unit, in UTC. A unit that does not exist has a block too (not-found)."""
    if rc != 0:
        return Reading.unknown(failure("systemctl show", rc, stdout, stderr))
    found: t.Dict[str, Unit] = {}
    for block in re.split(r"\n[ \t]*\n", stdout):
        fields = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        name = fields.get("Id", "").strip()
        if not name:
            continue
        active = fields.get("ActiveState", "")
        running = active in ("active", "reloading", "deactivating")
        # The main process reads its files when it starts, which is before the unit counts as active.
        started = _seconds(fields.get("ExecMainStartTimestamp", "")) or _seconds(fields.get("ActiveEnterTimestamp", ""))
        found[name] = Unit(
            name=name,
            load=fields.get("LoadState", ""),
            active=active,
            enabled=fields.get("UnitFileState", ""),
            started_at=started if running else None,
            invocation=fields.get("InvocationID", ""),
        )
    if not found:
        return Reading.unknown("systemctl show named no unit")
    return Reading(found)


def _seconds(text: str) -> t.Optional[float]:
    match = _TIME.match(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    micro = int((match.group(7) or "0").ljust(6, "0"))
    try:
        moment = datetime.datetime(year, month, day, hour, minute, second, micro, tzinfo=datetime.timezone.utc)
    except ValueError:
        return None
    return moment.timestamp()
