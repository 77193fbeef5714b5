# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node, for code that changes it: what the probe may ask, and files written whole or not at all.

One object with few methods, so that tests can stand another in its place.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import time
import typing as t

from .model import Reading
from .probe.host import Command, LocalHost

T = t.TypeVar("T")

_SELINUX = "security.selinux"


class SystemFailure(Exception):
    """Something could not be read that must be known before anything is changed."""


class System(LocalHost):
    """The real node."""

    def changed_at(self, path: str) -> float:
        """When the file was last changed, in seconds since the epoch. A copy that keeps mtime does not deceive it."""
        status = os.stat(path)
        return max(status.st_mtime, status.st_ctime)

    def readlink(self, path: str) -> Reading[str]:
        """What a link says, without asking what is there: below /proc, nothing of the file that it stands for."""
        try:
            return Reading(os.readlink(path))
        except FileNotFoundError:
            return Reading(None)
        except OSError as error:
            return Reading.unknown("%s could not be read: %s" % (path, error.strerror or error))

    def free_bytes(self, folder: str) -> int:
        return shutil.disk_usage(folder).free

    def write(self, path: str, content: bytes, like: t.Optional[str] = None) -> None:
        """Write the file whole or not at all. Mode, owner and SELinux context are those of ``like``, else its own."""
        path = os.path.realpath(path)  # a link stays a link
        folder = os.path.dirname(path)
        os.makedirs(folder, mode=0o755, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".%s." % os.path.basename(path), suffix=".goldennode", dir=folder)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                _dress(stream.fileno(), like or path)
                os.fsync(stream.fileno())
            os.replace(temporary, path)
        except BaseException as error:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            if isinstance(error, OSError) and error.filename is None:
                error.filename = path  # a full disk does not say for which file
            raise
        _sync_folder(folder)

    def rename(self, path: str, target: str) -> None:
        """Give the file another name in its folder. A link is renamed itself, and what was called so is replaced."""
        os.rename(path, target)
        _sync_folder(os.path.dirname(target))

    def make_directory(self, path: str) -> None:
        os.makedirs(path, mode=0o755, exist_ok=True)

    def take(self, origin: str, target: str) -> None:
        """Have the file at ``target`` too, whole or not at all: by a second name if that can be, else a copy."""
        temporary = "%s.partial" % target
        self.remove(temporary)
        try:
            os.link(origin, temporary)
        except OSError:  # another file system, or one without links
            shutil.copyfile(origin, temporary)
        os.replace(temporary, target)

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    @contextlib.contextmanager
    def temporary(self, content: bytes) -> t.Iterator[str]:
        """A file that only root can read, gone afterwards."""
        with tempfile.NamedTemporaryFile(prefix="goldennode-", suffix=".json") as stream:
            stream.write(content)
            stream.flush()
            yield stream.name

    def monotonic(self) -> float:
        """The clock of systemd's monotonic timestamps."""
        return time.clock_gettime(time.CLOCK_MONOTONIC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def known(reading: Reading[T]) -> t.Optional[T]:
    """The reading's value; None when the thing is known to be absent."""
    if not reading.known:
        raise SystemFailure(reading.error)
    return reading.value


def said(command: Command) -> str:
    """A command and how it ended, on one line, for a message."""
    words = " ".join((command.stderr.strip() or command.stdout.strip()).split())
    end = command.error or "rc %s" % command.rc
    return "%s: %s%s" % (" ".join(command.argv), end, ": " + words if words else "")


def _dress(handle: int, like: str) -> None:
    try:
        status = os.stat(like)
    except FileNotFoundError:
        os.fchmod(handle, 0o644)
        return
    os.fchmod(handle, status.st_mode & 0o7777)
    os.fchown(handle, status.st_uid, status.st_gid)
    try:
        os.setxattr(handle, _SELINUX, os.getxattr(like, _SELINUX))
    except OSError as error:
        if error.errno not in (errno.ENODATA, errno.ENOTSUP):  # no SELinux here
            raise


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
