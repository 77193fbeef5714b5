# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of the holds that this collection has set: only these are its to release. Pure.

A lock does not tell: it names the kernel also where ``kernel_pin`` is false and a hold of it is the user's.
"""

from __future__ import annotations

import json
import typing as t

from ..model import SCHEMA

PATH = "/var/lib/goldennode/holds.json"


def parse(text: t.Optional[str]) -> t.Tuple[str, ...]:
    """Names of packages. What cannot be understood counts as none: then every hold is somebody else's, and stays."""
    try:
        found = json.loads(text or "{}")
        names = found["names"] if found.get("schema") == SCHEMA else []
        return tuple(sorted({name for name in names if isinstance(name, str)}))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ()


def render(names: t.Iterable[str]) -> str:
    return json.dumps({"schema": SCHEMA, "names": sorted(set(names))}, indent=1, sort_keys=True) + "\n"
