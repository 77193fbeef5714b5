# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that Docker starts for a container with GPUs: whether it is there. A stat, nothing is run."""

from __future__ import annotations

import typing as t

from ..checks.runtime_program import named
from ..model import Desired, Reading, RuntimeProgram
from .host import PATH, Host


def program(host: Host, desired: t.Optional[Desired]) -> Reading[RuntimeProgram]:
    """By its path, or where dockerd looks for a bare name. None: it is nowhere."""
    name = named(desired)
    places = [name] if name.startswith("/") else ["%s/%s" % (folder, name) for folder in PATH.split(":")]
    for path in places:
        found = host.stat(path)
        if not found.known:
            return Reading.unknown(found.error or "")
        if found.value is not None and found.value.kind == "file":
            changed = max(found.value.mtime, found.value.ctime)
            return Reading(RuntimeProgram(path, found.value.mode, float(changed)))
    return Reading(None)
