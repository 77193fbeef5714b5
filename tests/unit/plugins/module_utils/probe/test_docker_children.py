# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The children that look at Docker's socket and at the users' clients: real sockets, real homes, real processes."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import pwd
import socket
import subprocess
import sys
import tempfile
import threading
import time
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import DockerClient, SocketListener
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import docker_clients as clients_parser
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import docker_info
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import docker_socket as socket_parser
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import children
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.children import docker_clients, docker_socket

SECRET = "YWxpY2U6czNjcjN0"


def run(child: t.Any, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As the probe runs it: as text, in a Python of its own."""
    argv = [sys.executable, "-I", "-c", children.source(child), *arguments]
    return subprocess.run(argv, check=False, capture_output=True, text=True, timeout=30)


# --- who listens --------------------------------------------------------------------------------------------------


def listener(path: t.Any) -> t.Any:
    done = run(docker_socket, str(path))
    return socket_parser.parse(done.stdout, done.stderr, done.returncode)


def test_the_process_that_listens_is_found_through_a_link_and_nothing_is_sent(tmp_path: pathlib.Path) -> None:
    real, link = tmp_path / "real.sock", tmp_path / "docker.sock"
    link.symlink_to(real)
    received: t.List[bytes] = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(real))
        server.listen()
        taker = threading.Thread(target=lambda: received.append(server.accept()[0].recv(100)))
        taker.start()
        found = listener(link).value
        taker.join(10)
    assert isinstance(found, SocketListener)
    assert (found.path, found.pid) == (str(real.resolve()), os.getpid())
    with open("/proc/self/cmdline", encoding="utf-8") as file:
        assert found.program == file.read().split("\0")[0]
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        assert found.cgroup in file.read()
    assert received == [b""]


def test_nobody_listens(tmp_path: pathlib.Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "left-behind.sock"))
    (tmp_path / "file").touch()
    for name in ("left-behind.sock", "not-there", "file", "file/below"):
        found = listener(tmp_path / name)
        assert (found.value, found.error) == (None, None), name


def test_what_cannot_be_asked_is_not_known(tmp_path: pathlib.Path) -> None:
    assert "cannot be looked at" in (listener(tmp_path / ("x" * 200)).error or "")
    assert "not understood" in (socket_parser.parse('{"pid": "one"}', "", 0).error or "")
    assert "Traceback" in (socket_parser.parse("", "Traceback", 1).error or "")


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("0::/system.slice/docker.service\n", "/system.slice/docker.service"),
        ("1:name=systemd:/system.slice/docker.service\n0::/\n", "/system.slice/docker.service"),
        ("12:cpu,cpuacct:/x\n1:name=systemd:/user.slice\n0::/a:b\n", "/a:b"),
        ("0::/\n", "/"),
        ("", ""),
    ],
)
def test_the_control_group_in_both_hierarchies(monkeypatch: t.Any, text: str, group: str) -> None:
    monkeypatch.setattr(docker_socket, "_read", lambda _pid, _name: text)
    assert docker_socket.cgroup(1) == group


def test_of_a_command_line_the_first_word_alone_is_told(monkeypatch: t.Any) -> None:
    monkeypatch.setattr(docker_socket, "_read", lambda _pid, _name: "/usr/bin/socat\0--password=x\0")
    assert docker_socket.program(1) == "/usr/bin/socat"


# --- whom users ask -----------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / ".docker").mkdir()
    return tmp_path


def config(home: pathlib.Path, **settings: t.Any) -> None:
    (home / ".docker" / "config.json").write_text(json.dumps({"auths": {"nvcr.io": {"auth": SECRET}}, **settings}))


def describe(home: pathlib.Path, context: str, meta: t.Any) -> None:
    folder = home / ".docker" / "contexts" / "meta" / hashlib.sha256(context.encode()).hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps(meta))


def test_a_context_is_followed_to_its_address(home: pathlib.Path) -> None:
    config(home, currentContext="desktop-linux")
    describe(home, "desktop-linux", {"Endpoints": {"docker": {"Host": "unix:///x/.docker/desktop/docker.sock"}}})
    assert docker_clients.of_home(str(home)) == [
        {
            "by": "context",
            "value": "desktop-linux",
            "endpoint": "unix:///x/.docker/desktop/docker.sock",
            "file": str(home / ".docker" / "config.json"),
        }
    ]


@pytest.mark.parametrize("meta", [None, {}, [], {"Endpoints": None}, {"Endpoints": {"docker": {"Host": 7}}}])
def test_a_context_without_an_address_is_still_told(home: pathlib.Path, meta: t.Any) -> None:
    config(home, currentContext="mine")
    describe(home, "mine", meta)
    assert [(one["value"], one["endpoint"]) for one in docker_clients.of_home(str(home))] == [("mine", "")]


@pytest.mark.parametrize("context", [None, "", "default", 7])
def test_the_default_context_is_none(home: pathlib.Path, context: t.Any) -> None:
    config(home, currentContext=context)
    assert docker_clients.of_home(str(home)) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("export DOCKER_HOST=unix:///run/user/1000/docker.sock", ("DOCKER_HOST", "unix:///run/user/1000/docker.sock")),
        ('  export DOCKER_HOST="unix://$XDG_RUNTIME_DIR/docker.sock"',
         ("DOCKER_HOST", "unix://$XDG_RUNTIME_DIR/docker.sock")),
        ("DOCKER_HOST='tcp://10.0.0.1:2375'; export DOCKER_HOST", ("DOCKER_HOST", "tcp://10.0.0.1:2375")),
        ("export DOCKER_CONTEXT=lab", ("DOCKER_CONTEXT", "lab")),
        ("DOCKER_HOST=tcp://a:1\nDOCKER_HOST=tcp://b:1", ("DOCKER_HOST", "tcp://b:1")),
        ("# export DOCKER_HOST=tcp://a:1", None),
        ("export MY_DOCKER_HOST=tcp://a:1", None),
        ("unset DOCKER_HOST", None),
        ("export DOCKER_HOST=", None),
        ("export DOCKER_CONTEXT=default", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", [".bashrc", ".profile", ".zshenv"])
def test_a_line_of_a_shell(home: pathlib.Path, name: str, line: str, found: t.Any) -> None:
    (home / name).write_text("# mine\n%s\nPASSWORD=s3cr3t\n" % line)
    settings = docker_clients.of_home(str(home))
    assert [(one["by"], one["value"]) for one in settings] == ([found] if found else [])
    assert "s3cr3t" not in json.dumps(settings)


def test_what_all_users_share(tmp_path: pathlib.Path) -> None:
    (tmp_path / "profile.d").mkdir()
    (tmp_path / "environment").write_text('PATH="/bin"\nDOCKER_HOST=tcp://a:1\n')
    (tmp_path / "profile.d" / "docker.sh").write_text("export DOCKER_CONTEXT=lab\n")
    (tmp_path / "profile.d" / "readme").write_text("export DOCKER_CONTEXT=no\n")
    found = [(one["by"], one["value"]) for one in docker_clients.everyone(str(tmp_path))]
    assert found == [("DOCKER_HOST", "tcp://a:1"), ("DOCKER_CONTEXT", "lab")]


def test_no_login_is_ever_printed(home: pathlib.Path, monkeypatch: t.Any, capsys: t.Any) -> None:
    config(home, currentContext="lab", credsStore="pass")
    describe(home, "lab", {"Endpoints": {"docker": {"Host": "ssh://alice:s3cr3t@lab.example"}}})
    (home / ".bashrc").write_text("export DOCKER_HOST=tcp://alice:s3cr3t@host:1\n")
    account = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwnam", lambda _name: _at(account, home))
    monkeypatch.setattr(sys, "argv", ["", "alice"])
    docker_clients.main()
    said = capsys.readouterr().out
    assert SECRET not in said
    assert "s3cr3t" not in said
    found = clients_parser.parse(said, "", 0, ["alice"])
    assert found.value is not None
    assert found.value.settings[-1] == DockerClient(
        "alice", "DOCKER_HOST", "tcp://host:1", "tcp://host:1", str(home / ".bashrc")
    )
    assert found.value.unread == {}


def _at(account: pwd.struct_passwd, home: pathlib.Path) -> pwd.struct_passwd:
    return pwd.struct_passwd((*account[:5], str(home), account[6]))


@pytest.mark.parametrize("harm", ["a FIFO", "no JSON"])
def test_a_home_that_cannot_be_understood_stops_nobody_else(
    home: pathlib.Path, monkeypatch: t.Any, capsys: t.Any, harm: str
) -> None:
    if harm == "a FIFO":
        os.mkfifo(home / ".bashrc")
    else:
        (home / ".docker" / "config.json").write_text("{")
    account = pwd.getpwuid(os.getuid())
    homes = {"alice": home, "bob": home / "none"}
    monkeypatch.setattr(pwd, "getpwnam", lambda name: _at(account, homes[name]))
    monkeypatch.setattr(sys, "argv", ["", "alice", "bob", "carol"])
    docker_clients.main()
    found = clients_parser.parse(capsys.readouterr().out, "", 0, ["alice", "bob", "carol"]).value
    assert found is not None
    assert set(found.unread) == {"alice", "carol"}


def test_a_home_that_does_not_answer_is_left_behind(home: pathlib.Path, monkeypatch: t.Any) -> None:
    monkeypatch.setattr(docker_clients, "SECONDS", 0.1)
    monkeypatch.setattr(docker_clients, "of_home", lambda _home: time.sleep(60))
    monkeypatch.setattr(pwd, "getpwnam", lambda _name: _at(pwd.getpwuid(os.getuid()), home))
    started = time.monotonic()
    assert "gave no answer within" in docker_clients.answer("alice")["error"]
    assert time.monotonic() - started < 10


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_home_is_read_as_its_user(monkeypatch: t.Any) -> None:
    """A link that a user lays to a file of root's tells that user nothing."""
    nobody = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to others
        home = pathlib.Path(folder)
        home.chmod(0o755)
        (home / ".docker").mkdir()
        config(home, currentContext="hers")
        monkeypatch.setattr(pwd, "getpwnam", lambda _name: _at(nobody, home))
        assert docker_clients.answer("nobody")["found"][0]["value"] == "hers"
        (home / ".docker" / "config.json").chmod(0o600)
        assert "Permission denied" in docker_clients.answer("nobody")["error"]


def test_the_child_as_the_probe_runs_it() -> None:
    name = pwd.getpwuid(os.getuid()).pw_name
    done = run(docker_clients, name, "no-such-user-here")
    assert done.returncode == 0, done.stderr
    found = clients_parser.parse(done.stdout, done.stderr, 0, [name, "no-such-user-here"]).value
    assert found is not None
    assert "no-such-user-here" in found.unread


# --- parsing ------------------------------------------------------------------------------------------------------


def test_users_whom_the_child_did_not_come_to_are_not_known() -> None:
    found = clients_parser.parse('{"user": "", "found": []}\n', "", None, ["root", "bob"], "it was killed").value
    assert found is not None
    assert found.unread == {"root": "it was killed", "bob": "it was killed"}
    assert clients_parser.parse("", "", None, ["root"], "it was killed").error == "it was killed"


def test_a_users_words_are_shown_without_what_a_terminal_obeys() -> None:
    row = {"by": "context", "value": "\x1b[2Jx\n" + "y" * 400, "endpoint": "", "file": "/f"}
    found = clients_parser.parse(json.dumps({"user": "a", "found": [row]}), "", 0, ["a"]).value
    assert found is not None
    assert found.settings[0].value.startswith("?[2Jx?yyy")
    assert len(found.settings[0].value) == 200


def test_podman_in_place_of_docker_is_told_by_its_root() -> None:
    said = {
        "host": {"distribution": {"distribution": "debian", "version": "13"}},
        "store": {"graphRoot": "/var/lib/containers/storage"},
        "version": {"Version": "5.4.2"},
    }
    found = docker_info.parse(json.dumps(said), "Emulate Docker CLI using podman.", 0).value
    assert found is not None
    assert (found.version, found.root_dir) == ("5.4.2", "/var/lib/containers/storage")
