# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write a file that its owner and other tools write too: daemon.json, config.toml.

Between our look at it and our write lie seconds in which programs are asked. What somebody has written meanwhile stays.
"""

from __future__ import annotations

import errno
import re
import typing as t

from . import backups
from .system import System, SystemFailure, known

#: Seconds after which a half-written file is of a run that was killed, and not of one that is writing now.
_LITTER_AGE = 3600

_HINTS = {
    errno.ENOSPC: "make room on its file system",
    errno.EDQUOT: "make room in the quota of its owner",
    errno.EROFS: "its file system is read-only: mount it for writing",
    errno.EPERM: "the file or its folder may be immutable: lsattr -d shows an i then, and chattr -i takes it off",
    errno.EACCES: "the file or its folder may not be written: look at its mode, at SELinux and at AppArmor",
}


class SharedFileError(Exception):
    """The file was not written, and is as it was or as somebody else has left it. The message says what to do."""


def replace(system: System, path: str, before: t.Optional[bytes], after: bytes, backup: bool) -> t.Optional[str]:
    """Write ``after`` where ``before`` is still what the file says; None: there is none. Returns where the copy is."""
    _tidy(system, path)
    copy = backups.name_for(system, path) if before and backup else None
    if copy:
        _write(system, copy, before or b"", like=path)
    try:
        if known(system.read_bytes(path)) != before:
            raise SharedFileError(
                "%s was changed by somebody else while this run looked at it, and is left as it is now; run it again"
                % path
            )
        _write(system, path, after)
    except (SharedFileError, SystemFailure):
        if copy:
            system.remove(copy)  # of a file that is there still; more of them would push out older ones
        raise
    if copy:
        backups.trim(system, path)
    return copy


def _write(system: System, path: str, content: bytes, like: t.Optional[str] = None) -> None:
    try:
        system.write(path, content, like=like)
    except OSError as error:
        hint = _HINTS.get(error.errno or 0)
        raise SharedFileError(
            "%s could not be written: %s. The file is as it was%s"
            % (path, error.strerror or error, "; " + hint if hint else "")
        ) from error


def _tidy(system: System, path: str) -> None:
    """Remove what runs that were killed in the middle of a write have left: ``System.write``'s half files."""
    folder, _slash, name = (known(system.realpath(path)) or path).rpartition("/")
    half = re.compile(r"\.%s(%s[^.]*)?\.[a-z0-9_]{8}\.goldennode$" % (re.escape(name), re.escape(backups.MARK)))
    for entry, status in (known(system.listdir(folder)) or {}).items():
        if half.match(entry) and status.mtime < system.now() - _LITTER_AGE:
            system.remove("%s/%s" % (folder, entry))
