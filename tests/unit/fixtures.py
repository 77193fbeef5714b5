# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the recorded output of tools lies."""

from __future__ import annotations

import json
import pathlib
import typing as t

FOLDER = pathlib.Path(__file__).parent / "recordings"


def text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def a10_capture() -> t.Dict[str, t.Any]:
    """The capture of a healthy node with one A10; a copy, to break things in."""
    capture: t.Dict[str, t.Any] = json.loads(text("node-a10-580.159.03-debian13.json"))
    for section, added in json.loads(text("load-6.18-debian12.json")).items():
        capture[section].update(added)
    return capture
