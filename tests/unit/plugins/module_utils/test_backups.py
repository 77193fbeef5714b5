# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""daemon.json and config.toml on real files: what others do to them while a run is at it, and what is no file."""

from __future__ import annotations

import contextlib
import errno
import json
import multiprocessing
import os
import pathlib
import socket
import stat
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import (
    backups,
    docker_config,
    toolkit_config,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.docker_state import DockerConfigError
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command
from ansible_collections.goldennode.gpu.plugins.module_utils.system import System, SystemFailure
from ansible_collections.goldennode.gpu.plugins.module_utils.toolkit_config import ToolkitConfigError


class Node(System):
    """Real files, and a node without Docker and toolkit. ``meanwhile`` is done while programs are asked."""

    def __init__(self, meanwhile: t.Callable[[], t.Any] = lambda: None) -> None:
        self.meanwhile = meanwhile
        self.clock: t.Optional[float] = None

    def run(self, argv, timeout, unprivileged=False, groups=(), where="host"):  # type: ignore[no-untyped-def]
        self.meanwhile()
        if argv[:2] == ["systemctl", "show"]:
            return Command(where, tuple(argv), 0, "LoadState=not-found\nActiveState=inactive\n")
        return Command(where, tuple(argv), missing=True, error="%s is not installed" % argv[0])

    def now(self) -> float:
        return super().now() if self.clock is None else self.clock


def docker(path: pathlib.Path, node: t.Optional[Node] = None, **options: t.Any) -> docker_config.Outcome:
    settings = options.pop("settings", {"debug": True})
    return docker_config.apply(node or Node(), docker_config.Wanted(settings, path=str(path), **options))


def toolkit(path: pathlib.Path, node: t.Optional[Node] = None, **options: t.Any) -> toolkit_config.Outcome:
    settings = options.pop("settings", {"debug": True})
    return toolkit_config.apply(node or Node(), toolkit_config.Wanted(settings, path=str(path), **options))


#: (what brings settings in, the file, text before, the error)
WRITERS = [
    pytest.param(docker, "daemon.json", '{"mtu": 1400}\n', DockerConfigError, id="docker_daemon"),
    pytest.param(toolkit, "config.toml", "mtu = 1400\n", ToolkitConfigError, id="toolkit_config"),
]
each = pytest.mark.parametrize(("write", "name", "text", "error"), WRITERS)


# --- somebody else writes too -------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("existed", [True, False])
def test_what_somebody_writes_while_programs_are_asked_stays(tmp_path, write, name, text, error, existed):
    """nvidia-ctk, a person, another run: the window is as long as dockerd takes to validate."""
    path = tmp_path / name
    if existed:
        path.write_text(text)
    theirs = text.replace("1400", "9000")
    with pytest.raises(
        SystemFailure, match="was changed by somebody else while this run looked at it, and is left as it is now"
    ):
        write(path, Node(lambda: path.write_text(theirs)))
    assert path.read_text() == theirs
    assert os.listdir(tmp_path) == [name]
    assert write(path).changed  # the next run merges into what they wrote
    assert "9000" in path.read_text()


@each
def test_what_somebody_takes_away_meanwhile_is_not_made_again(tmp_path, write, name, text, error):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(SystemFailure, match="was changed by somebody else"):
        write(path, Node(lambda: path.unlink(missing_ok=True)))
    assert os.listdir(tmp_path) == []


@each
def test_the_same_bytes_written_again_are_no_change(tmp_path, write, name, text, error):
    path = tmp_path / name
    path.write_text(text)
    assert write(path, Node(lambda: path.write_text(text))).changed


def one_of_many(write: t.Callable[..., t.Any], path: pathlib.Path, number: int, barrier: t.Any) -> None:
    barrier.wait(30)
    with contextlib.suppress(SystemFailure):
        write(path, settings={"key%d" % number: number})


@each
def test_runs_at_once_leave_a_whole_file_and_no_half_ones(tmp_path, write, name, text, error):
    path = tmp_path / name
    path.write_text(text)
    context = multiprocessing.get_context("fork")
    for turn in range(5):
        barrier = context.Barrier(4)
        several = [context.Process(target=one_of_many, args=(write, path, 4 * turn + n, barrier)) for n in range(4)]
        for process in several:
            process.start()
        for process in several:
            process.join(60)
            assert process.exitcode == 0
        now = path.read_text()
        assert text.strip(" \n{}") in now
        assert not write(path, settings={"mtu": 1400}).changed  # it can be read
        assert not [entry for entry in os.listdir(tmp_path) if entry.endswith(".goldennode")]


@each
def test_two_changes_in_one_second_keep_two_copies(tmp_path, write, name, text, error):
    path = tmp_path / name
    path.write_text(text)
    node = Node()
    node.clock = 1_800_000_000.0
    first = write(path, node, settings={"a": 1})
    second = write(path, node, settings={"a": 2})
    assert pathlib.Path(first.backup_file).read_text() == text
    assert pathlib.Path(second.backup_file).read_text() == first.after
    assert backups.of(node, str(path)) == [first.backup_file, second.backup_file]


def test_a_file_that_somebody_changed_since_our_write_is_not_put_back(tmp_path):
    """Docker does not start, and while we waited a person has mended the file."""
    path = tmp_path / "daemon.json"
    path.write_text("{}")
    said = docker_config._put_back(Node(), str(path), b'{"old": 1}', b'{"ours": 1}', "/kept~")
    assert said == "It was changed by somebody else since, so that it is left as it is now; the old file is /kept~. "
    assert path.read_text() == "{}"
    assert docker_config._put_back(Node(), str(path), b'{"old": 1}', b"{}", None) == ""
    assert path.read_text() == '{"old": 1}'


def test_an_old_file_is_put_back_also_where_ours_cannot_be_read(tmp_path):
    """Docker is down: it must come up again, and so nothing on the way there may end the run."""
    path = tmp_path / "daemon.json"
    path.write_bytes(b"{" * (5 * 1024 * 1024))  # more than is read
    assert docker_config._put_back(Node(), str(path), b'{"old": 1}', b'{"ours": 1}', None) == ""
    assert path.read_text() == '{"old": 1}'


@each
def test_a_file_that_cannot_be_read_any_more_leaves_no_copy_behind(tmp_path, write, name, text, error):
    path = tmp_path / name
    path.write_text(text)

    def swap() -> None:
        if path.is_file():
            path.unlink()
            path.mkdir()

    with pytest.raises(SystemFailure, match="not a regular file"):
        write(path, Node(swap))
    assert os.listdir(tmp_path) == [name]


# --- what is no file, or no place for one -------------------------------------------------------------------------


def fifo(path: pathlib.Path) -> None:
    os.mkfifo(path)


def folder(path: pathlib.Path) -> None:
    path.mkdir()


def device(path: pathlib.Path) -> None:
    path.symlink_to("/dev/zero")


def loop(path: pathlib.Path) -> None:
    path.symlink_to(path)


def link_to_a_folder(path: pathlib.Path) -> None:
    path.symlink_to(path.parent)


def socket_of_somebody(path: pathlib.Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def huge(path: pathlib.Path) -> None:
    with open(path, "wb") as file:
        file.truncate(5 * 1024 * 1024)


@each
@pytest.mark.parametrize("make", [fifo, folder, device, loop, link_to_a_folder, socket_of_somebody, huge])
@pytest.mark.parametrize("check_mode", [True, False])
def test_what_cannot_be_read_is_never_taken_for_an_empty_file(tmp_path, write, name, text, error, make, check_mode):
    path = tmp_path / name
    make(path)
    before = os.lstat(path)
    with pytest.raises(SystemFailure, match="%s (could not be read: |is larger than )" % name):
        write(path, check_mode=check_mode)
    assert os.lstat(path) == before
    assert os.listdir(tmp_path) == [name]


@each
def test_a_file_where_its_folder_should_be(tmp_path, write, name, text, error):
    (tmp_path / "docker").write_text("")
    with pytest.raises(SystemFailure, match="could not be written"):
        write(tmp_path / "docker" / name)
    assert (tmp_path / "docker").read_text() == ""


@each
@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.EROFS, "its file system is read-only: mount it for writing"),
        (errno.ENOSPC, "make room on its file system"),
        (errno.EDQUOT, "make room in the quota of its owner"),
        (errno.EACCES, "look at its mode, at SELinux and at AppArmor"),
        (errno.EPERM, "chattr -i takes it off"),
    ],
)
def test_a_place_that_takes_no_file_is_named_with_what_to_do(
    tmp_path, monkeypatch, write, name, text, error, number, hint
):
    path = tmp_path / name
    path.write_text(text)

    def refuse(*_arguments: t.Any, **_options: t.Any) -> t.NoReturn:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    monkeypatch.setattr(Node, "temporary", lambda _node, _content: contextlib.nullcontext("/tmp/candidate"))
    for _run in range(2):
        with pytest.raises(SystemFailure, match="could not be written: .* The file is as it was") as caught:
            write(path)
        assert hint in str(caught.value)
    assert path.read_text() == text
    assert os.listdir(tmp_path) == [name]


@each
def test_a_link_stays_and_what_it_leads_to_is_written_with_its_mode(tmp_path, write, name, text, error):
    target = tmp_path / "elsewhere" / "theirs"
    target.parent.mkdir()
    target.write_text(text)
    target.chmod(0o600)
    link = tmp_path / name
    link.symlink_to("elsewhere/theirs")
    assert write(link).changed
    assert os.readlink(link) == "elsewhere/theirs"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert not write(link).changed
    copies = [entry for entry in os.listdir(tmp_path) if entry.endswith("~")]
    assert len(copies) == 1
    assert stat.S_IMODE((tmp_path / copies[0]).stat().st_mode) == 0o600


@each
def test_check_mode_leaves_no_trace(tmp_path, write, name, text, error):
    path = tmp_path / name
    path.write_text(text)
    before = os.stat(path)
    outcome = write(path, check_mode=True)
    assert (outcome.changed, outcome.before, outcome.backup_file) == (True, text, None)
    now = os.stat(path)
    assert (now.st_mtime_ns, now.st_ctime_ns, now.st_ino) == (before.st_mtime_ns, before.st_ctime_ns, before.st_ino)
    assert os.listdir(tmp_path) == [name]
    assert write(path).after == outcome.after == path.read_text()


# --- names and texts of every kind --------------------------------------------------------------------------------

NAMES = [
    "",
    ".",
    "a.b",
    "a..b",
    " ",
    "ü",
    "日本",
    "\u2028",
    "\u00a0",
    "a\tb",
    'a"b',
    "a\\b",
    "a\0b",
    "#",
    "[x]",
    "=",
    "'",
]


@each
@pytest.mark.parametrize("key", NAMES)
def test_any_name_and_any_text_is_written_once_and_read_again(tmp_path, write, name, text, error, key):
    path = tmp_path / name
    path.write_text(text)
    settings = {key: {key: key}}
    assert write(path, settings=settings).changed
    assert not write(path, settings=settings).changed
    now = path.read_text(encoding="utf-8")
    assert "1400" in now
    if write is docker:
        assert json.loads(now) == {"mtu": 1400, **settings}


@each
@pytest.mark.parametrize("settings", [{"\udcff": 1}, {"a": "\ud800"}, {"a": {"b": ["\udc80"]}}, {"a": {"\ud83d": {}}}])
def test_half_a_character_is_refused_before_anything_is_written(tmp_path, write, name, text, error, settings):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(error, match="is not valid Unicode"):
        write(path, settings=settings)
    assert path.read_text() == text


@each
def test_settings_without_a_bottom_are_refused(tmp_path, write, name, text, error):
    settings: t.Dict[str, t.Any] = {}
    for _level in range(5000):
        settings = {"a": settings}
    with pytest.raises(error, match="nested deeper than 100 levels"):
        write(tmp_path / name, settings=settings)
    assert os.listdir(tmp_path) == []


def test_a_file_full_of_faults_is_told_at_once_and_in_few_words(tmp_path):
    path = tmp_path / "daemon.json"
    path.write_text('{"log-opts": {%s}}' % ", ".join('"k%d": 1' % n for n in range(20_000)))
    with pytest.raises(DockerConfigError, match="log-opts.k9: 1 is not text; .*; and 19990 more$"):
        docker(path)
