# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which daemons the users' ``docker`` asks, from the answer of the child of that name."""

from __future__ import annotations

import re
import typing as t

from ..model import DockerClient, DockerClients, Reading
from .json_lines import objects
from .text import failure, without_users

_FIELDS = ("by", "value", "endpoint", "file")
#: Longer words than this are cut: they are a user's, and are shown to others.
_LONGEST = 200


def parse(
    stdout: str, stderr: str, rc: t.Optional[int], users: t.Sequence[str], stopped: str = ""
) -> Reading[DockerClients]:
    """A line for each user, that of all users ("") first. A user without a line was not come to.

    :arg stopped: why the child was ended before it was done, "" where it was not
    """
    settings: t.List[DockerClient] = []
    unread: t.Dict[str, str] = {}
    seen = set()
    for line in objects(stdout):
        user, found = line.get("user"), line.get("found")
        if not isinstance(user, str):
            continue
        seen.add(user)
        if not isinstance(found, list):
            unread[user] = _shown(line.get("error")) or "no reason was given"
            continue
        rows = [row for row in found if isinstance(row, dict)]
        settings += [DockerClient(user, *(_shown(row.get(field)) for field in _FIELDS)) for row in rows]
    if not seen:
        return Reading.unknown(stopped or failure("the look at the users' docker", rc, stdout, stderr))
    for user in users:
        if user not in seen:
            unread[user] = stopped or "the look ended with code %s before it" % rc
    return Reading(DockerClients(tuple(settings), unread))


def _shown(value: t.Any) -> str:
    """As it may be shown: without passwords, and with nothing that a terminal would obey."""
    text = value if isinstance(value, str) else ""
    return re.sub(r"[^ -~]", "?", without_users(text))[:_LONGEST]
