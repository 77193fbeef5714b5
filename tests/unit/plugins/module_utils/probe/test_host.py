# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine itself: commands end in time whatever they do, and what cannot be read is never taken for absent."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import time
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.probe import host as host_module
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import UNPRIVILEGED, LocalHost

HOST = LocalHost()
#: What we allow ourselves above a command's own limit.
GRACE = 2.0


def is_running(pid: int) -> bool:
    try:
        state = pathlib.Path("/proc/%d/stat" % pid).read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def ends(pid: int) -> bool:
    end = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_running(pid)


def test_a_command():
    done = HOST.run(["sh", "-c", "echo out; echo err >&2; exit 3"], 30)
    assert (done.rc, done.stdout, done.stderr, done.error, done.timed_out) == (3, "out\n", "err\n", None, False)
    assert done.where == "host"
    assert done.argv[0] == "sh"


def test_a_command_that_hangs_is_killed_with_all_that_it_started():
    start = time.monotonic()
    done = HOST.run(["sh", "-c", "sleep 300 & echo $!; wait"], 0.5)
    assert time.monotonic() - start < 0.5 + GRACE
    assert done.timed_out is True
    assert done.rc is None
    assert done.pid is not None
    assert done.error == "sh gave no answer within 0.5 s and was killed (pid %d)" % done.pid
    assert ends(int(done.stdout))


def test_a_grandchild_that_keeps_the_output_open_does_not_hold_us():
    start = time.monotonic()
    done = HOST.run(["sh", "-c", "sleep 300 & echo $!"], 30)
    try:
        assert time.monotonic() - start < GRACE
        assert (done.rc, done.timed_out) == (0, False)
        assert is_running(int(done.stdout))
    finally:
        os.kill(int(done.stdout), signal.SIGKILL)


def test_a_process_that_cannot_be_killed_is_left_and_named(monkeypatch):
    """As one in D state: the signal has no effect, and nobody can wait for it."""
    monkeypatch.setattr(host_module, "KILL_GRACE", 0.2)
    monkeypatch.setattr(os, "killpg", lambda _group, _signal: None)
    start = time.monotonic()
    done = HOST.run(["sleep", "300"], 0.2)
    try:
        assert time.monotonic() - start < 0.2 + GRACE
        assert done.timed_out is True
        assert is_running(done.pid)
        assert done.error.endswith("was killed (pid %d); it does not end, state S" % done.pid)
    finally:
        os.kill(done.pid, signal.SIGKILL)


def test_a_kernel_without_pidfd_waits_as_well(monkeypatch):
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    assert HOST.run(["true"], 30).rc == 0
    assert HOST.run(["sleep", "300"], 0.3).timed_out is True


def test_a_missing_program_is_no_exception():
    done = HOST.run(["goldennode-no-such-tool", "-L"], 5)
    assert (done.rc, done.missing, done.error) == (None, True, "goldennode-no-such-tool is not installed")


def test_a_program_that_cannot_be_started(tmp_path, monkeypatch):
    (tmp_path / "tool").write_text("#!/nonexistent/interpreter\n", encoding="utf-8")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.setattr(host_module, "PATH", str(tmp_path))
    done = HOST.run(["tool"], 5)
    assert done.rc is None
    assert done.missing is False
    assert done.error.startswith("tool could not be run: ")


def test_a_program_that_crashes_has_no_exit_code():
    done = HOST.run(["sh", "-c", "kill -SEGV $$"], 30)
    assert (done.rc, done.error, done.timed_out) == (None, "sh was ended by signal 11", False)


def test_more_output_than_any_tool_has_is_cut(monkeypatch):
    monkeypatch.setattr(host_module, "OUTPUT_LIMIT", 1000)
    done = HOST.run(["sh", "-c", "head -c 5000 /dev/zero | tr '\\0' x"], 30)
    assert done.stdout == "x" * 1000


def test_the_environment_of_the_caller_does_not_matter(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://elsewhere")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("PATH", "/nonexistent")
    lines = HOST.run(["env"], 30).stdout.splitlines()
    assert "LC_ALL=C" in lines
    assert any(line.startswith("PATH=") and "/usr/sbin" in line for line in lines)
    assert not any(line.startswith("DOCKER_HOST=") for line in lines)


def identity(groups: t.Sequence[int]) -> t.Dict[str, str]:
    """What the kernel says of a process that was started unprivileged."""
    done = HOST.run(["cat", "/proc/self/status"], 30, unprivileged=True, groups=groups)
    assert done.rc == 0, done
    return {name: value.strip() for name, _colon, value in (line.partition(":") for line in done.stdout.splitlines())}


@pytest.mark.parametrize("with_setpriv", [True, False])
@pytest.mark.parametrize("groups", [(), (44, 39)])
def test_unprivileged_means_nobody_in_the_groups_of_the_nodes_who_can_gain_nothing(groups, with_setpriv, monkeypatch):
    which = shutil.which
    if with_setpriv:
        assert which("setpriv", path=host_module.PATH), "util-linux has it on every distribution that is supported"
    else:
        monkeypatch.setattr(
            shutil, "which", lambda name, path=None: None if name == "setpriv" else which(name, path=path)
        )
    status = identity(groups)
    assert status["NoNewPrivs"] == "1"
    if os.geteuid() == 0:
        assert status["Uid"].split() == [str(UNPRIVILEGED)] * 4
        assert status["Gid"].split() == [str(UNPRIVILEGED)] * 4
        assert sorted(status["Groups"].split()) == sorted(str(group) for group in groups)
        assert status["CapEff"] == "0" * 16
    else:
        assert status["Uid"].split() == [str(os.geteuid())] * 4


def test_files(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"a\xffb")
    assert HOST.read(str(path)).value == "a\ufffdb"
    assert HOST.read_bytes(str(path)).value == b"a\xffb"
    for absent in (tmp_path / "none", path / "below"):
        for ask in (HOST.read, HOST.read_bytes, HOST.stat, HOST.listdir, HOST.realpath, HOST.file_state):
            reading = ask(str(absent))
            assert (reading.value, reading.error) == (None, None)


def test_what_cannot_be_read_is_unknown(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    big = tmp_path / "big"
    big.write_bytes(b"x" * 100)
    # A file that is there and refuses: also to root, unlike one of mode 0.
    refuses = "/proc/self/mem"
    assert HOST.read(str(fifo)).error == "%s could not be read: not a regular file" % fifo
    assert HOST.read(str(tmp_path)).error == "%s could not be read: not a regular file" % tmp_path
    assert HOST.read(str(big), limit=99).error == "%s is larger than 99 bytes" % big
    assert HOST.read(refuses).error.startswith("%s could not be read: " % refuses)
    assert HOST.file_state(refuses).error.startswith("%s could not be read: " % refuses)
    for ask in (HOST.read, HOST.file_state):
        assert ask(refuses).value is None


def test_files_of_the_kernel_that_refuse_a_large_buffer():
    assert HOST.read("/proc/sys/kernel/osrelease").value.strip() == os.uname().release


def test_entries_and_their_kinds(tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "dir").mkdir()
    (tmp_path / "file").write_text("xy", encoding="utf-8")
    (tmp_path / "file").chmod(0o640)
    entries = HOST.listdir(str(tmp_path)).value
    assert {name: stat.kind for name, stat in entries.items()} == {"dir": "dir", "file": "file", "link": "link"}
    assert (entries["file"].mode, entries["file"].size) == (0o640, 2)
    null = HOST.listdir("/dev").value["null"]
    assert (null.kind, null.major, null.minor) == ("char", 1, 3)
    assert HOST.realpath(str(tmp_path / "link")).value is None
    assert HOST.stat(str(tmp_path / "link")).value is None


def test_a_file_by_its_digest(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    path.chmod(0o600)
    os.utime(path, (1, 1))  # as a copy that keeps the time of its source
    state = HOST.file_state(str(path)).value
    assert state.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert (state.mode, state.uid) == (0o600, os.geteuid())
    assert state.mtime == path.stat().st_ctime
