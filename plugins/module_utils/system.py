# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node, for code that changes it: commands with a time limit, files written whole or not at all, the clocks.

One object with few methods, so that tests can stand another in its place.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import shutil
import signal
import subprocess
import tempfile
import time
import typing as t

_SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin")
_SELINUX = "security.selinux"
_AFTER_KILL = 2.0  # seconds; a process in D state does not die, and is then not waited for


@dataclasses.dataclass(frozen=True)
class Ran:
    """A command that has run. ``rc`` is None when it could not be started or ran past its limit."""

    argv: t.Tuple[str, ...]
    rc: t.Optional[int]
    stdout: str = ""
    stderr: str = ""
    error: str = ""  # why there is no rc

    @property
    def ok(self) -> bool:
        return self.rc == 0

    @property
    def words(self) -> str:
        """What it said, on one line, for a message."""
        return " ".join((self.stderr.strip() or self.stdout.strip()).split())

    def __str__(self) -> str:
        what = self.error or "rc %s" % self.rc
        return "%s: %s%s" % (" ".join(self.argv), what, ": " + self.words if self.words else "")


class System:
    """The real node."""

    def find(self, program: str) -> t.Optional[str]:
        """Path of a program. The sbin folders are searched too, which a user's PATH may leave out."""
        folders = os.environ.get("PATH", "").split(os.pathsep)
        return shutil.which(program, path=os.pathsep.join(folders + [f for f in _SBIN if f not in folders]))

    def run(self, argv: t.Sequence[str], timeout: float) -> Ran:
        """Run a command without a shell or input, in the C locale and without Docker's own variables."""
        words = tuple(argv)
        variables = {k: v for k, v in os.environ.items() if not k.startswith("DOCKER_")}
        variables.update(LC_ALL="C", LANGUAGE="C")
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=variables,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            return Ran(words, None, error="cannot be started: %s" % error.strerror)
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            stdout, stderr = _kill(process)
            return Ran(
                words, None, stdout, stderr, "did not end within %g seconds (process %d)" % (timeout, process.pid)
            )
        return Ran(words, process.returncode, stdout, stderr)

    def read(self, path: str) -> t.Optional[bytes]:
        """The file's content, None when there is no such file. Anything else that is wrong is raised."""
        try:
            with open(path, "rb") as stream:
                return stream.read()
        except FileNotFoundError:
            return None

    def changed_at(self, path: str) -> float:
        """When the file was last changed, in seconds since the epoch. A copy that keeps mtime does not deceive it."""
        status = os.stat(path)
        return max(status.st_mtime, status.st_ctime)

    def entries(self, folder: str) -> t.List[str]:
        try:
            return sorted(os.listdir(folder))
        except FileNotFoundError:
            return []

    def free_bytes(self, folder: str) -> int:
        return shutil.disk_usage(folder).free

    def size(self, path: str) -> int:
        try:
            return os.stat(path).st_size
        except FileNotFoundError:
            return 0

    def write(self, path: str, content: bytes, like: t.Optional[str] = None) -> None:
        """Write the file whole or not at all, with the mode, owner and SELinux context of ``like`` (itself if not given)."""
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
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
        _sync_folder(folder)

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

    def wall(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        """The clock of systemd's monotonic timestamps."""
        return time.clock_gettime(time.CLOCK_MONOTONIC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def _kill(process: subprocess.Popen[str]) -> t.Tuple[str, str]:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        return process.communicate(timeout=_AFTER_KILL)
    except subprocess.TimeoutExpired:
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()
        return "", ""


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
