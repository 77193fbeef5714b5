# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that keeps a whole look within its time: each command gets its own limit or what is left, the smaller one."""

from __future__ import annotations

import time
import typing as t

from ..model import FileState, Reading
from .host import FILE_LIMIT, KILL_GRACE, Command, Host, Stat

NO_TIME = "no time left in this look"


class Budget:
    """``seconds`` are for everything that is run through it."""

    def __init__(self, host: Host, seconds: float) -> None:
        self._host = host
        # A command that has to be killed takes this much longer.
        self._deadline = time.monotonic() + max(0.0, seconds - KILL_GRACE)

    def left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def run(
        self,
        argv: t.Sequence[str],
        timeout: float,
        unprivileged: bool = False,
        groups: t.Sequence[int] = (),
        where: str = "host",
    ) -> Command:
        limit = min(timeout, self.left())
        if limit <= 0:
            return Command(where, tuple(argv), error="%s: %s" % (argv[0], NO_TIME))
        return self._host.run(argv, limit, unprivileged, groups, where)

    def read(self, path: str, limit: int = FILE_LIMIT) -> Reading[str]:
        return self._host.read(path, limit)

    def read_bytes(self, path: str, limit: int = FILE_LIMIT) -> Reading[bytes]:
        return self._host.read_bytes(path, limit)

    def stat(self, path: str) -> Reading[Stat]:
        return self._host.stat(path)

    def listdir(self, path: str) -> Reading[t.Dict[str, Stat]]:
        return self._host.listdir(path)

    def realpath(self, path: str) -> Reading[str]:
        return self._host.realpath(path)

    def file_state(self, path: str) -> Reading[FileState]:
        return self._host.file_state(path)

    def hostname(self) -> str:
        return self._host.hostname()

    def machine(self) -> str:
        return self._host.machine()

    def now(self) -> float:
        return self._host.now()
