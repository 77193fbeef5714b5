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
from .trees import Path

#: The unit whose starts are meant.
UNIT = "docker.service"

PATH = "/var/lib/goldennode/docker.json"


def fingerprint(invocation: str, settings: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """The record for one start of the daemon (systemd's invocation id): digests of the settings in force in it."""
    digests = {key: _digest(value) for key, value in settings.items()}
    return {"schema": SCHEMA, "invocation": invocation, "settings": digests}


def stale(
    changed_at: float,
    started_at: t.Optional[float],
    record: t.Any,
    invocation: str,
    settings: t.Mapping[str, t.Any],
    untold: t.Sequence[Path],
) -> t.List[Path]:
    """Of what Docker does not tell: the settings that may have come into the file after it was started.

    :arg changed_at: when the file was changed last
    :arg started_at: when Docker was started; None: not known, so that the record alone proves anything
    :arg invocation: which start of Docker that was
    """
    if started_at is not None and changed_at < started_at:
        return []
    # Newer, but perhaps only in what its owner changed for reasons of his own: then the record still fits this start.
    return unproven(record, invocation, settings, untold)


def unproven(record: t.Any, invocation: str, settings: t.Mapping[str, t.Any], paths: t.Iterable[Path]) -> t.List[Path]:
    """Those of the paths whose settings the record does not show to be in force in this start of the daemon."""
    digests = record.get("settings") if isinstance(record, dict) and record.get("invocation") == invocation else None
    known = digests if isinstance(digests, dict) else {}
    return [path for path in paths if known.get(path[0]) != _digest(settings[path[0]])]


def _digest(value: t.Any) -> str:
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":")).encode("utf-8")
    return "sha256:" + hashlib.sha256(canonical).hexdigest()


def of_verified(desired: Desired, evidence: Evidence) -> t.Optional[t.Dict[str, t.Any]]:
    """The record for the start of Docker that a look has verified; None where that is not known.

    A boot starts Docker anew. What was just verified is in force in this start of it, also after the owner of
    daemon.json changes something of his own, or a tool writes it in other words.
    """
    unit = (evidence.units.value or {}).get(UNIT)
    return fingerprint(unit.invocation, desired.daemon) if unit is not None and unit.invocation else None
