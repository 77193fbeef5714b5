# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replace a file that others own too, and keep it as it was beside it, as NAME.goldennode-TIME~: the newest three."""

from __future__ import annotations

import errno
import re
import time
import typing as t

from .system import System, SystemFailure, known

MARK = ".goldennode-"
KEPT = 3

#: Seconds after which a half-written file is of a run that was killed, and not of one that is writing now.
_LITTER_AGE = 3600

_HINTS = {
    errno.ENOSPC: "make room on its file system",
    errno.EDQUOT: "make room in the quota of its owner",
    errno.EROFS: "its file system is read-only: mount it for writing",
    errno.EPERM: "the file or its folder may be immutable: lsattr -d shows an i then, and chattr -i takes it off",
    errno.EACCES: "the file or its folder may not be written: look at its mode, at SELinux and at AppArmor",
}


def replace(system: System, path: str, raw: t.Optional[bytes], content: bytes, keep: bool) -> t.Optional[str]:
    """Write the file whole or not at all. Returns where the one before it is kept.

    Between our look at it and this lie seconds in which programs were asked: what somebody has written meanwhile stays.

    :arg raw: what was in it then; None where it was not there
    :arg keep: whether to keep that
    :raises SystemFailure: when it cannot be written; the message says what to do
    """
    _tidy(system, path)
    backup = name_for(system, path) if raw and keep else None
    if raw and backup:
        _write(system, backup, raw, like=path)
    try:
        if known(system.read_bytes(path)) != raw:
            raise SystemFailure(
                "%s was changed by somebody else while this run looked at it, and is left as it is now; run it again"
                % path
            )
        _write(system, path, content)
    except SystemFailure:
        if backup:
            system.remove(backup)  # of a file that is there still; more of them would push out older ones
        raise
    if backup:
        _trim(system, path)
    return backup


def name_for(system: System, path: str) -> str:
    """A name that no copy has: the second change of a second must not push out what the first has kept."""
    taken, moment = of(system, path), system.now()
    while True:
        name = "%s%s%s~" % (path, MARK, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(moment)))
        if name not in taken:
            return name
        moment += 1


def of(system: System, path: str) -> t.List[str]:
    """The copies of a file that we have made, the oldest first."""
    folder, _slash, name = path.rpartition("/")
    mine = re.compile(re.escape(name + MARK) + r"[0-9]{8}T[0-9]{6}Z~$")
    return ["%s/%s" % (folder, entry) for entry in sorted(known(system.listdir(folder)) or ()) if mine.match(entry)]


def _trim(system: System, path: str) -> None:
    for old in of(system, path)[:-KEPT]:
        system.remove(old)


def _write(system: System, path: str, content: bytes, like: t.Optional[str] = None) -> None:
    try:
        system.write(path, content, like=like)
    except OSError as error:
        hint = _HINTS.get(error.errno or 0)
        raise SystemFailure(
            "%s could not be written: %s. The file is as it was%s"
            % (path, error.strerror or error, "; " + hint if hint else "")
        ) from error


def _tidy(system: System, path: str) -> None:
    """Remove what runs that were killed in the middle of a write have left: ``System.write``'s half files."""
    folder, _slash, name = (known(system.realpath(path)) or path).rpartition("/")
    half = re.compile(r"\.%s(%s[^.]*)?\.[a-z0-9_]{8}\.goldennode$" % (re.escape(name), re.escape(MARK)))
    for entry, status in (known(system.listdir(folder)) or {}).items():
        if half.match(entry) and status.mtime < system.now() - _LITTER_AGE:
            system.remove("%s/%s" % (folder, entry))
