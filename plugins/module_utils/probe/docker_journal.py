# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What dockerd said before it ended. Asked only where no engine answers: on a node that works it costs nothing."""

from __future__ import annotations

import typing as t

from ..docker_record import UNIT
from ..model import DockerEngine, Reading
from ..parse import docker_journal
from .host import Host

_LINES = 200


def journal(host: Host, engine: Reading[DockerEngine]) -> Reading[t.Tuple[str, ...]]:
    """Of this boot; None where an engine answers, or Docker is not installed."""
    if engine.known:
        return Reading(None)
    options = ("--boot", "--no-pager", "--quiet", "--output=cat", "--lines=%d" % _LINES)
    command = host.run(["journalctl", "--unit=%s" % UNIT, *options], timeout=10)
    if command.rc != 0:
        why = command.error or command.stderr.strip() or "journalctl ended with code %s" % command.rc
        return Reading.unknown("the journal of %s cannot be read: %s" % (UNIT, why))
    return docker_journal.parse(command.stdout)
