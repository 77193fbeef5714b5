# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who listens on Docker's socket, from the answer of the child of that name."""

from __future__ import annotations

import typing as t

from ..model import Reading, SocketListener
from .json_lines import objects
from .text import failure


def parse(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[SocketListener]:
    """``{"path": "/run/docker.sock", "pid": 1, "program": "/sbin/init", "cgroup": "/init.scope"}``.

    ``{"nobody": WHY}`` says that no process listens there: known to be absent.
    """
    answers = objects(stdout)
    if not answers:
        return Reading.unknown(failure("the look at Docker's socket", rc, stdout, stderr))
    answer = answers[-1]
    if "nobody" in answer:
        return Reading(None)
    if "error" in answer:
        return Reading.unknown("Docker's socket cannot be looked at: %s" % answer["error"])
    path, pid = answer.get("path"), answer.get("pid")
    if not isinstance(path, str) or not isinstance(pid, int):
        return Reading.unknown("the look at Docker's socket gave what is not understood: %s" % str(answer)[:200])
    return Reading(SocketListener(path, pid, _text(answer.get("program")), _text(answer.get("cgroup"))))


def _text(value: t.Any) -> str:
    return value if isinstance(value, str) else ""
