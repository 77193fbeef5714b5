# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Docker's daemon.json as a reading. How its text is understood, ``module_utils.daemon_json`` alone knows."""

from __future__ import annotations

import typing as t

from ..daemon_json import DaemonJsonError, load
from ..model import Reading


def parse(raw: t.Optional[bytes], path: str) -> Reading[t.Dict[str, t.Any]]:
    """No file, an empty and a blank one say nothing: ``{}``. What dockerd would not read is unknown, with its place."""
    try:
        return Reading(load(raw))
    except DaemonJsonError as error:
        return Reading.unknown("%s: %s" % (path, error))
