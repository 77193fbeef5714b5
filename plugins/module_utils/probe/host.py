# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one door between the probe and a machine: commands, files and directories of a node.

``LocalHost`` is the machine we run on. Nothing that it does raises or hangs: what could not be had is an unknown
reading or a command with an error, and every command has a time limit.
"""

# The agent runs commands too, and has no module; and run_command has no time limit.
# pylint: disable=ansible-bad-function

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import select
import shutil
import signal
import stat as stat_bits
import subprocess
import sys
import tempfile
import time
import typing as t

from ..model import FileState, Reading

#: Nobody, on every distribution.
UNPRIVILEGED = 65534

#: More output than this is cut: no tool of ours prints so much in health.
OUTPUT_LIMIT = 4 * 1024 * 1024

#: Larger text files than this are not read: none that matters is so large.
FILE_LIMIT = 4 * 1024 * 1024

#: Seconds to wait for a process after SIGKILL. One in D state (uninterruptible, in the driver) does not go.
KILL_GRACE = 1.0

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#: For machines without setpriv: gives up groups, group, user and the right to gain any (PR_SET_NO_NEW_PRIVS is 38).
_DROP = """
import ctypes, os, sys
user, groups = int(sys.argv[1]), [int(g) for g in sys.argv[2].split(",") if g]
if user:
    os.setgroups(groups); os.setgid(user); os.setuid(user)
if ctypes.CDLL(None, use_errno=True).prctl(38, 1, 0, 0, 0) != 0:
    sys.exit("prctl(PR_SET_NO_NEW_PRIVS) failed: %s" % os.strerror(ctypes.get_errno()))
os.execv(sys.argv[3], sys.argv[3:])
"""


@dataclasses.dataclass(frozen=True)
class Command:
    """One command that was run. ``rc`` is None when it has no exit code: not found, not started, or killed by us.

    ``error`` says why there is no exit code; ``missing`` that the program is not installed; ``pid`` is set when the
    process had to be killed.
    """

    where: str
    argv: t.Tuple[str, ...]
    rc: t.Optional[int] = None
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False
    pid: t.Optional[int] = None
    missing: bool = False
    error: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Stat:
    """``kind`` is file, dir, link, char, block, fifo or socket. Times are in whole seconds since the epoch.

    ``ctime`` is when content or status changed last: a package may give its files any older ``mtime``.
    """

    kind: str
    mode: int
    uid: int
    gid: int
    size: int
    mtime: int
    major: int = 0
    minor: int = 0
    ctime: int = 0


class Host(t.Protocol):
    """What the probe may ask of a machine. A reading of None means: there is no such path."""

    def run(
        self,
        argv: t.Sequence[str],
        timeout: float,
        unprivileged: bool = False,
        groups: t.Sequence[int] = (),
        where: str = "host",
    ) -> Command: ...

    def read(self, path: str, limit: int = FILE_LIMIT) -> Reading[str]: ...

    def read_bytes(self, path: str, limit: int = FILE_LIMIT) -> Reading[bytes]: ...

    def stat(self, path: str) -> Reading[Stat]:
        """Links are followed."""

    def listdir(self, path: str) -> Reading[t.Dict[str, Stat]]:
        """Entries by name, in order. Links are not followed."""

    def realpath(self, path: str) -> Reading[str]: ...

    def file_state(self, path: str) -> Reading[FileState]:
        """A regular file by its digest; links are followed."""

    def hostname(self) -> str: ...

    def machine(self) -> str:
        """As uname -m gives it."""

    def now(self) -> float:
        """Seconds since the epoch."""


class LocalHost:
    """The machine that this code runs on."""

    def run(
        self,
        argv: t.Sequence[str],
        timeout: float,
        unprivileged: bool = False,
        groups: t.Sequence[int] = (),
        where: str = "host",
    ) -> Command:
        """Run ``argv`` in a session of its own, for at most ``timeout`` seconds.

        Output goes to unnamed files and not to pipes: a grandchild that keeps a pipe open would hold us.
        """
        asked = tuple(argv)
        program = _which(asked[0])
        if program is None:
            return Command(where, asked, missing=True, error="%s is not installed" % asked[0])
        full = [program, *asked[1:]]
        if unprivileged:
            full = _without_privileges(full, groups)
        try:
            with contextlib.ExitStack() as files:
                out = files.enter_context(tempfile.TemporaryFile())
                err = files.enter_context(tempfile.TemporaryFile())
                process = subprocess.Popen(  # pylint: disable=consider-using-with  # one in D state is left behind
                    full,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env=_environment(unprivileged),
                    cwd="/",
                    start_new_session=True,
                )
                ended = _wait(process, timeout)
                killed = "" if ended else _kill(process)
                stdout, stderr = _output(out), _output(err)
        except OSError as error:
            return Command(where, asked, error="%s could not be run: %s" % (asked[0], error))
        if not ended:
            why = "%s gave no answer within %.3g s and was killed (pid %d)%s" % (asked[0], timeout, process.pid, killed)
            return Command(where, asked, None, stdout, stderr, timed_out=True, pid=process.pid, error=why)
        if process.returncode < 0:
            why = "%s was ended by signal %d" % (asked[0], -process.returncode)
            return Command(where, asked, None, stdout, stderr, pid=process.pid, error=why)
        return Command(where, asked, process.returncode, stdout, stderr)

    def read(self, path: str, limit: int = FILE_LIMIT) -> Reading[str]:
        return decoded(self.read_bytes(path, limit))

    def read_bytes(self, path: str, limit: int = FILE_LIMIT) -> Reading[bytes]:
        try:
            with _open_regular(path) as file:
                data = _read(file, limit + 1)
        except (FileNotFoundError, NotADirectoryError):
            return Reading(None)
        except OSError as error:
            return _unreadable(path, error)
        if len(data) > limit:
            return Reading.unknown("%s is larger than %d bytes" % (path, limit))
        return Reading(data)

    def stat(self, path: str) -> Reading[Stat]:
        try:
            return Reading(_stat(os.stat(path)))
        except (FileNotFoundError, NotADirectoryError):
            return Reading(None)
        except OSError as error:
            return _unreadable(path, error)

    def listdir(self, path: str) -> Reading[t.Dict[str, Stat]]:
        found: t.Dict[str, Stat] = {}
        try:
            for name in sorted(os.listdir(path)):
                with contextlib.suppress(FileNotFoundError):  # gone since it was listed: it is not there
                    found[name] = _stat(os.lstat(os.path.join(path, name)))
        except (FileNotFoundError, NotADirectoryError):
            return Reading(None)
        except OSError as error:
            return _unreadable(path, error)
        return Reading(found)

    def realpath(self, path: str) -> Reading[str]:
        try:
            target = os.path.realpath(path)
            return Reading(target if os.path.exists(target) else None)
        except OSError as error:
            return _unreadable(path, error)

    def file_state(self, path: str) -> Reading[FileState]:
        digest = hashlib.sha256()
        try:
            with _open_regular(path) as file:
                for block in iter(lambda: file.read(1024 * 1024), b""):
                    digest.update(block)
                status = os.fstat(file.fileno())
        except (FileNotFoundError, NotADirectoryError):
            return Reading(None)
        except OSError as error:
            return _unreadable(path, error)
        mode = stat_bits.S_IMODE(status.st_mode)
        # A copy that keeps the time of its source must not look old.
        changed = max(status.st_mtime, status.st_ctime)
        return Reading(FileState(path, digest.hexdigest(), mode, status.st_uid, status.st_gid, changed))

    def hostname(self) -> str:
        return os.uname().nodename

    def machine(self) -> str:
        return os.uname().machine

    def now(self) -> float:
        return time.time()


def decoded(raw: Reading[bytes]) -> Reading[str]:
    """What a file says as text; bytes that are none are replaced."""
    return Reading(None if raw.value is None else raw.value.decode("utf-8", "replace"), raw.error)


def _which(program: str) -> t.Optional[str]:
    found = shutil.which(program, path=PATH)
    # The interpreter that runs us will do where the system has none in its path.
    return sys.executable if found is None and program == "python3" else found


def _without_privileges(full: t.Sequence[str], groups: t.Sequence[int]) -> t.List[str]:
    """The command that runs ``full`` as nobody, unable to gain rights by a set-uid program."""
    root = os.geteuid() == 0
    numbers = ",".join(str(group) for group in sorted(set(groups)))
    setpriv = shutil.which("setpriv", path=PATH)
    if setpriv is None:
        interpreter = _which("python3") or sys.executable
        return [interpreter, "-I", "-c", _DROP, str(UNPRIVILEGED if root else 0), numbers, *full]
    identity: t.List[str] = []
    if root:
        identity = ["--reuid", str(UNPRIVILEGED), "--regid", str(UNPRIVILEGED)]
        identity += ["--groups", numbers] if numbers else ["--clear-groups"]
    return [setpriv, *identity, "--no-new-privs", *full]


def _environment(unprivileged: bool) -> t.Dict[str, str]:
    """Nothing of the caller's: DOCKER_HOST, LD_LIBRARY_PATH or a language would make two looks differ."""
    home = "/nonexistent" if unprivileged else os.path.expanduser("~")
    return {"PATH": PATH, "LC_ALL": "C", "TZ": "UTC", "HOME": home}


def _wait(process: subprocess.Popen[bytes], timeout: float) -> bool:
    """Wait until the process has ended. A pidfd wakes us at once, where Popen.wait would look every 50 ms."""
    with contextlib.suppress(OSError, AttributeError):  # a kernel before 5.3, a Python built for one
        handle = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            poll.poll(max(0.0, timeout) * 1000)
        finally:
            os.close(handle)
        return process.poll() is not None
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill(process: subprocess.Popen[bytes]) -> str:
    """Kill the process and all it started. Returns what is to be said of one that does not go."""
    # The leader has not been waited for, so its number cannot belong to another process group yet.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if _wait(process, KILL_GRACE):
        return ""
    return "; it does not end, state %s" % _state(process.pid)


def _state(pid: int) -> str:
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "not known"


def _output(file: t.IO[bytes]) -> str:
    # pread: the children share our position in the file, and one that is not dead may still write.
    raw = os.pread(file.fileno(), OUTPUT_LIMIT, 0)
    return raw.decode("utf-8", "replace")


def _open_regular(path: str) -> t.BinaryIO:
    """Open a regular file. A FIFO or a device in its place must not block or be set off."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    if not stat_bits.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(0, "not a regular file")
    return t.cast(t.BinaryIO, os.fdopen(handle, "rb", buffering=0))


def _read(file: t.BinaryIO, limit: int) -> bytes:
    """At most ``limit`` bytes, in small pieces: files of /proc/sys refuse a reader that offers much room."""
    pieces: t.List[bytes] = []
    while limit > 0:
        piece = file.read(min(limit, 65536))
        if not piece:
            break
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def _unreadable(path: str, error: OSError) -> Reading[t.Any]:
    return Reading.unknown("%s could not be read: %s" % (path, error.strerror or error))


_KINDS = {
    stat_bits.S_IFREG: "file",
    stat_bits.S_IFDIR: "dir",
    stat_bits.S_IFLNK: "link",
    stat_bits.S_IFCHR: "char",
    stat_bits.S_IFBLK: "block",
    stat_bits.S_IFIFO: "fifo",
    stat_bits.S_IFSOCK: "socket",
}


def _stat(status: os.stat_result) -> Stat:
    kind = _KINDS.get(stat_bits.S_IFMT(status.st_mode), "other")
    node = kind in ("char", "block")
    return Stat(
        kind=kind,
        mode=stat_bits.S_IMODE(status.st_mode),
        uid=status.st_uid,
        gid=status.st_gid,
        size=status.st_size,
        mtime=status.st_mtime_ns // 1_000_000_000,
        major=os.major(status.st_rdev) if node else 0,
        minor=os.minor(status.st_rdev) if node else 0,
        ctime=status.st_ctime_ns // 1_000_000_000,
    )
