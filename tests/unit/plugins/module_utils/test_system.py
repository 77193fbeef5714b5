# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands end in time, files are written whole or not at all."""

from __future__ import annotations

import os
import stat
import time

import pytest
from ansible_collections.goldennode.gpu.plugins.module_utils.system import System


def test_a_command_and_what_it_says():
    ran = System().run(["sh", "-c", "echo out; echo  some   words >&2; exit 3"], 10)
    assert (ran.rc, ran.ok, ran.stdout, ran.words) == (3, False, "out\n", "some words")
    assert str(ran).endswith("exit 3: rc 3: some words")


def test_a_program_that_is_not_there():
    ran = System().run(["/no/such/program"], 10)
    assert ran.rc is None
    assert str(ran) == "/no/such/program: cannot be started: No such file or directory"


def test_a_hanging_command_ends_in_time_and_its_children_with_it():
    start = time.monotonic()
    ran = System().run(["sh", "-c", "echo before; sleep 60 & sleep 60"], 0.3)
    assert time.monotonic() - start < 5
    assert ran.rc is None
    assert ran.error.startswith("did not end within 0.3 seconds (process ")
    assert ran.stdout == "before\n"


def test_a_grandchild_that_fled_and_holds_the_pipe_does_not_hang_us():
    start = time.monotonic()
    ran = System().run(["sh", "-c", "setsid sleep 8 & sleep 60"], 0.3)
    assert time.monotonic() - start < 6
    assert ran.rc is None


def test_dockers_variables_do_not_lead_us_to_another_daemon(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://elsewhere")
    assert System().run(["sh", "-c", 'echo "$DOCKER_HOST/$LC_ALL"'], 10).stdout == "/C\n"


def test_a_new_file_is_for_all_to_read(tmp_path):
    path = tmp_path / "new" / "folder" / "file"
    System().write(str(path), b"content")
    assert path.read_bytes() == b"content"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert os.listdir(path.parent) == ["file"]


def test_a_file_keeps_its_mode_and_owner_and_lends_them_to_its_copy(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 12, 34)
    before = path.stat()
    System().write(str(path), b"new")
    System().write(str(path) + "~", b"old", like=str(path))
    for written in (path, tmp_path / "file~"):
        after = written.stat()
        assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert path.stat().st_ino != before.st_ino


def test_a_link_stays_a_link(tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(target)
    System().write(str(link), b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        System().write(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_that_cannot_be_read_is_not_taken_for_absent(tmp_path):
    assert System().read(str(tmp_path / "absent")) is None
    with pytest.raises(OSError, match="Is a directory"):
        System().read(str(tmp_path))


def test_a_file_whose_mtime_was_kept_shows_when_it_was_really_changed(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x")
    os.utime(path, (1, 1))
    assert time.time() - System().changed_at(str(path)) < 60


def test_entries_and_sizes(tmp_path):
    (tmp_path / "b").write_bytes(b"123")
    (tmp_path / "a").write_bytes(b"")
    assert System().entries(str(tmp_path)) == ["a", "b"]
    assert System().entries(str(tmp_path / "absent")) == []
    assert System().size(str(tmp_path / "b")) == 3
    assert System().size(str(tmp_path / "absent")) == 0
    assert System().free_bytes(str(tmp_path)) > 0


def test_temporary_files_are_private_and_go_away():
    with System().temporary(b"{}") as path:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with open(path, "rb") as stream:
            assert stream.read() == b"{}"
    assert not os.path.exists(path)
