# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is remembered of Docker's last known good start. Pure.

``docker info`` does not tell every setting (log options, say). So what brings settings into the daemon records for
which start of it they were known to be in force; a file that its owner changed later, for reasons of his own, is then
no reason for a restart.
"""

from __future__ import annotations

import hashlib
import json
import typing as t

from .model import SCHEMA, Desired, Evidence

#: The unit whose starts are meant.
UNIT = "docker.service"

PATH = "/var/lib/goldennode/docker.json"


def fingerprint(invocation: str, settings: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """The record for one start of the daemon (systemd's invocation id) and the settings that were in force in it."""
    canonical = json.dumps(settings, sort_keys=True, separators=(",", ":")).encode("utf-8")
    return {"schema": SCHEMA, "invocation": invocation, "settings": "sha256:" + hashlib.sha256(canonical).hexdigest()}


def of_verified(desired: Desired, evidence: Evidence) -> t.Optional[t.Dict[str, t.Any]]:
    """The record for the start of Docker that a look has verified; None where that is not known.

    A boot starts Docker anew. What was just verified is in force in this start of it, also after the owner of
    daemon.json changes something of his own, or a tool writes it in other words.
    """
    unit = (evidence.units.value or {}).get(UNIT)
    return fingerprint(unit.invocation, desired.daemon) if unit is not None and unit.invocation else None
