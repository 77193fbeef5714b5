# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON that came from elsewhere: one object in a text, or one object on each line of it."""

from __future__ import annotations

import json
import typing as t

from ..model import Reading


def parse_object(text: str, what: str) -> Reading[t.Dict[str, t.Any]]:
    """``what`` names the text in the reason."""
    try:
        value = json.loads(text)
    except RecursionError:
        return Reading.unknown("%s is nested too deeply" % what)
    except ValueError as error:  # also an integer of more digits than Python reads
        return Reading.unknown("%s is not JSON: %s" % (what, error))
    if not isinstance(value, dict):
        return Reading.unknown("%s holds %s, not an object" % (what, type(value).__name__))
    return Reading(value)


def objects(text: str) -> t.List[t.Dict[str, t.Any]]:
    """The lines that are JSON objects. Other lines are chatter of libraries, and are left out."""
    found = (parse_object(line, "the line") for line in text.splitlines() if line.startswith("{"))
    return [reading.value for reading in found if reading.value is not None]
