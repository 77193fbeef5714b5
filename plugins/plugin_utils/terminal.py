# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the table of the pool on the terminal of the run. Controller only."""

from __future__ import annotations

import os
import typing as t

from ansible.utils.color import stringc

from ansible_collections.goldennode.gpu.plugins.module_utils.table import Row, render

_COLOURS = {"good": "green", "bad": "red"}


def show(rows: t.Sequence[Row], display: t.Any) -> None:
    """Straight to the terminal, with no JSON around it."""
    display.display("\n%s\n" % render(rows, width(display), paint))


def paint(text: str, kind: str) -> str:
    """The text in the colour of ``good`` or ``bad``, where the terminal has any."""
    return str(stringc(text, _COLOURS[kind]))


def width(display: t.Any) -> int:
    """COLUMNS where it is set, as in a log whose width somebody knows; else the terminal's."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and int(columns) > 0 else int(display.columns)
