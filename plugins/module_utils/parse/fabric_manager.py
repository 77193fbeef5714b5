# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the fabric manager wrote to the journal when it started last: whether it is of the driver's version."""

from __future__ import annotations

import re
import typing as t

from ..model import FabricMismatch, Reading
from .text import DRIVER_VERSION

#: systemd's own line, which comes first at each start.
_STARTING = re.compile(r"^Starting\b.*fabric ?manager", re.IGNORECASE)
_MISMATCH = re.compile(
    r"interface version (%s) .{0,40}?match\w* with (?:the )?driver version (%s)" % (DRIVER_VERSION, DRIVER_VERSION),
    re.IGNORECASE,
)


def mismatch(journal: str) -> Reading[FabricMismatch]:
    """From the lines of one boot, oldest first. Known to be none where the last start complained of nothing."""
    found: t.Optional[FabricMismatch] = None
    for line in journal.splitlines():
        said = _MISMATCH.search(line)
        if said:
            found = FabricMismatch(fabric_manager=said.group(1), driver=said.group(2))
        elif _STARTING.match(line.strip()):
            found = None
    return Reading(found)
