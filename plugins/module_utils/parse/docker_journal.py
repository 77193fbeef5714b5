# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What dockerd said before it ended, from the journal of its unit."""

from __future__ import annotations

import re
import typing as t

from ..model import Reading
from .text import without_secrets

#: systemd's own lines say that it has ended, and not why.
_SYSTEMD = re.compile(
    r"^(?:docker\.service: |(?:Starting|Started|Stopped|Stopping|Failed to start) |.*Scheduled restart )"
)
_LEVEL = re.compile(r"\blevel=(info|debug|warning)\b")
_MESSAGE = re.compile(r'\bmsg="((?:[^"\\]|\\.)*)"')

_LINES, _LENGTH = 20, 600


def parse(stdout: str) -> Reading[t.Tuple[str, ...]]:
    """Its errors, the last first, each once: it is started again a few times, and says the same each time."""
    found: t.List[str] = []
    for line in reversed(stdout.splitlines()):
        text = line.strip()
        if not text or _SYSTEMD.match(text) or _LEVEL.search(text):
            continue
        message = _MESSAGE.search(text)
        words = message.group(1).replace('\\"', '"') if message else text
        found.append(without_secrets(" ".join(words.split())[:_LENGTH]))
    return Reading(tuple(dict.fromkeys(found))[:_LINES])
