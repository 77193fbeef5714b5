# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files are written whole or not at all, and what is not known is not taken for absent."""

from __future__ import annotations

import os
import stat
import time

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command
from ansible_collections.goldennode.gpu.plugins.module_utils.system import System, SystemFailure, known, said


def test_how_a_command_ended_is_said_on_one_line():
    assert said(Command("host", ("a", "b"), 3, "out\n", " some\n words\n")) == "a b: rc 3: some words"
    assert said(Command("host", ("a",), 0)) == "a: rc 0"
    assert said(Command("host", ("a",), error="a is not installed", missing=True)) == "a: a is not installed"


def test_what_cannot_be_read_is_not_taken_for_absent():
    assert known(Reading("x")) == "x"
    assert known(Reading(None)) is None
    with pytest.raises(SystemFailure, match="no permission"):
        known(Reading.unknown("no permission"))


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


def test_a_link_says_where_it_leads_whether_anything_is_there_or_not(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("/gone/with/its/server")
    assert System().readlink(str(link)) == Reading("/gone/with/its/server")
    assert System().readlink(str(tmp_path / "none")) == Reading(None)
    assert System().readlink(str(tmp_path)).error == "%s could not be read: Invalid argument" % tmp_path


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device: .*/file"):
        System().write(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_whose_mtime_was_kept_shows_when_it_was_really_changed(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x")
    os.utime(path, (1, 1))
    assert time.time() - System().changed_at(str(path)) < 60


def test_temporary_files_are_private_and_go_away():
    with System().temporary(b"{}") as path:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with open(path, "rb") as stream:
            assert stream.read() == b"{}"
    assert not os.path.exists(path)
