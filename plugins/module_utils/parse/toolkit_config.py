# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container toolkit's config.toml as a reading. How its text is understood, ``toml_scan`` alone knows."""

from __future__ import annotations

import typing as t

from ..model import Reading
from ..toml_scan import TomlError
from ..toml_text import load


def parse(raw: t.Optional[bytes], path: str) -> Reading[t.Dict[str, t.Any]]:
    """No file and an empty one say nothing: ``{}``. What the toolkit would not read is unknown, with its place."""
    try:
        return Reading(load(raw))
    except TomlError as error:
        return Reading.unknown("%s: %s" % (path, error))
