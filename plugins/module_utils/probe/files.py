# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that our roles own, and the golden mark."""

from __future__ import annotations

import typing as t

from ..model import Desired, FileState, Reading
from ..parse.json_lines import parse_object
from .host import Host

MARK = "/var/lib/goldennode/mark.json"


def files(host: Host, desired: Desired) -> Reading[t.Dict[str, FileState]]:
    """The wanted files that exist."""
    found: t.Dict[str, FileState] = {}
    for path in sorted(desired.files):
        state = host.file_state(path)
        if not state.known:
            return Reading.unknown(state.error or "")
        if state.value is not None:
            found[path] = state.value
    return Reading(found)


def mark(host: Host) -> Reading[t.Dict[str, t.Any]]:
    return record(host, MARK)


def record(host: Host, path: str) -> Reading[t.Dict[str, t.Any]]:
    """A JSON object that one of our modules wrote; None where it has not written one."""
    text = host.read(path)
    if text.value is None:
        return Reading(None, text.error)
    return parse_object(text.value, path)
