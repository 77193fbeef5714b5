# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""image_pull with a docker that is played: a login is seen by the pull alone, and nothing of it is left behind."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import time
import typing as t

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args

from ansible_collections.goldennode.gpu.plugins.module_utils import image_pull as words
from ansible_collections.goldennode.gpu.plugins.modules import image_pull

IMAGE = "registry.example:5000/a/cuda@sha256:" + "d" * 64
PASSWORD = "s3cr3t-of-mine"
LOGIN = {"username": "alice", "password": PASSWORD}

#: Writes down with what it was called, and does what the test wants.
DOCKER = """#!/bin/sh
printf '%s\\n' "$*" >> "$PLAY/calls"
case "$*" in
*"image inspect"*) cat "$PLAY/inspect" >&2; exit "$(cat "$PLAY/inspect.rc")" ;;
*"image pull"*)
    echo "config=$DOCKER_CONFIG home=$HOME" >> "$PLAY/environment"
    if [ -n "$DOCKER_CONFIG" ]; then
        cp -rp "$DOCKER_CONFIG" "$PLAY/seen"
        tr '\\0' ' ' < /proc/$PPID/cmdline >> "$PLAY/calls"
    fi
    sh "$PLAY/pull" ;;
esac
"""


class Play:
    """A folder in which docker's answers stand, and what it saw."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.run = folder / "run"
        self.run.mkdir()
        docker = folder / "bin" / "docker"
        docker.parent.mkdir()
        docker.write_text(DOCKER)
        docker.chmod(0o755)
        self.absent()
        self.pulls("exit 0")

    def absent(self, said: str = "Error response from daemon: No such image: x", rc: int = 1) -> None:
        (self.folder / "inspect").write_text(said)
        (self.folder / "inspect.rc").write_text(str(rc))

    def pulls(self, script: str) -> None:
        (self.folder / "pull").write_text(script)

    @property
    def calls(self) -> str:
        path = self.folder / "calls"
        return path.read_text() if path.exists() else ""

    @property
    def pulled(self) -> bool:
        return (self.folder / "environment").exists()

    def left(self) -> t.List[str]:
        return sorted(os.listdir(self.run))


@pytest.fixture
def play(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    found = Play(tmp_path)
    monkeypatch.setenv("PATH", "%s:%s" % (tmp_path / "bin", os.environ["PATH"]))
    monkeypatch.setenv("PLAY", str(tmp_path))
    monkeypatch.delenv("DOCKER_CONFIG", raising=False)
    monkeypatch.setattr(image_pull.pull, "__defaults__", (str(found.run),))
    return found


@pytest.fixture
def ask(capsys: t.Any) -> t.Callable[..., t.Dict[str, t.Any]]:
    def call(**arguments: t.Any) -> t.Dict[str, t.Any]:
        given = {"image": IMAGE, "registry": "registry.example:5000", **arguments}
        with patch_module_args(given), pytest.raises(SystemExit):
            image_pull.main()
        said = capsys.readouterr()
        assert PASSWORD not in said.out + said.err
        return t.cast(t.Dict[str, t.Any], json.loads(said.out))

    return call


@pytest.fixture(autouse=True)
def signals() -> t.Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_an_image_that_is_there_is_not_pulled(play, ask):
    play.absent("", rc=0)
    assert ask(**LOGIN)["changed"] is False
    assert not play.pulled


def test_without_a_login_roots_own_settings_count(play, ask):
    assert ask()["changed"] is True
    environment = (play.folder / "environment").read_text()
    assert environment == "config= home=%s\n" % os.environ["HOME"]
    assert play.left() == []


def test_a_login_is_in_a_folder_of_its_own_and_gone_afterwards(play, ask):
    answer = ask(**LOGIN)
    assert (answer["changed"], answer["image"]) == (True, IMAGE)
    seen = play.folder / "seen"
    assert stat.S_IMODE(seen.stat().st_mode) == 0o700
    assert [path.name for path in seen.iterdir()] == ["config.json"]
    assert stat.S_IMODE((seen / "config.json").stat().st_mode) == 0o600
    auths = json.loads((seen / "config.json").read_text())["auths"]
    assert base64.b64decode(auths["registry.example:5000"]["auth"]).decode() == "alice:" + PASSWORD
    assert play.left() == []


def test_a_login_is_in_no_process_list(play, ask):
    ask(**LOGIN)
    encoded = base64.b64encode(("alice:" + PASSWORD).encode()).decode()
    assert "image pull" in play.calls
    assert "alice" not in play.calls
    assert PASSWORD not in play.calls
    assert encoded not in play.calls
    assert "login" not in play.calls.replace("goldennode-login", "")


def test_docker_hubs_login_has_the_name_that_the_client_looks_for():
    auths = json.loads(words.client_config(words.Login("docker.io", "a", "b:ü")))["auths"]
    assert list(auths) == ["https://index.docker.io/v1/"]
    assert base64.b64decode(auths["https://index.docker.io/v1/"]["auth"]).decode() == "a:b:ü"


def test_a_login_is_not_printed_with_its_password():
    assert PASSWORD not in repr(words.Login("r", "alice", PASSWORD))


def test_after_a_pull_that_fails_the_login_is_gone(play, ask):
    play.pulls("echo 'Error response from daemon: unauthorized: authentication required' >&2; exit 1")
    assert ask(**LOGIN)["failed"]
    assert play.left() == []


def test_what_a_killed_run_has_left_is_removed_and_another_runs_login_is_not(play, ask):
    dead = subprocess.Popen(["true"])
    dead.wait()
    (play.run / ("goldennode-login-%d-abc" % dead.pid)).mkdir()
    (play.run / ("goldennode-login-%d-abc" % dead.pid) / "config.json").touch()
    (play.run / ("goldennode-login-%d-abc" % os.getppid())).mkdir()
    (play.run / "another").mkdir()
    play.absent("", rc=0)
    before = play.left()
    ask(_ansible_check_mode=True)
    assert play.left() == before, "check mode changes nothing"
    ask()
    assert play.left() == ["another", "goldennode-login-%d-abc" % os.getppid()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_stopped_takes_its_login_along(play, number, tmp_path):
    """As a process, since a signal goes to one."""
    play.pulls('touch "$PLAY/pulling"; exec sleep 10')
    script = (
        "from ansible.module_utils.testing import patch_module_args\n"
        "from ansible_collections.goldennode.gpu.plugins.modules import image_pull\n"
        "image_pull.pull.__defaults__ = (%r,)\n"
        "with patch_module_args(%r):\n"
        "    image_pull.main()\n"
    ) % (str(play.run), {"image": IMAGE, "registry": "registry.example:5000", **LOGIN})
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    try:
        end = time.monotonic() + 30
        while not (tmp_path / "pulling").exists() and time.monotonic() < end and process.poll() is None:
            time.sleep(0.05)
        assert len(play.left()) == 1, process.poll()
        process.send_signal(number)
        assert process.wait(20) != 0
        assert play.left() == []
    finally:
        process.kill()
        process.wait(10)


def test_check_mode_pulls_nothing(play, ask):
    assert ask(**LOGIN, _ansible_check_mode=True)["changed"] is True
    assert not play.pulled
    play.absent("", rc=0)
    assert ask(_ansible_check_mode=True)["changed"] is False


def test_an_engine_that_does_not_answer_is_no_missing_image(play, ask):
    play.absent("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.")
    answer = ask()
    assert answer["msg"].startswith("It is not known whether %s is there: Cannot connect to the Docker" % IMAGE)
    assert not play.pulled


def test_a_pull_that_does_not_end_is_ended(play, ask):
    play.pulls("exec sleep 60")
    assert "was not pulled within 1 s" in ask(timeout=1, **LOGIN)["msg"]
    assert play.left() == []


#: What clients and engines print: of Docker 20.10 to 29, of both image stores, of several registries.
REFUSED = [
    "Error response from daemon: unauthorized: authentication required",
    "Error response from daemon: unauthorized: incorrect username or password",
    'Error response from daemon: Head "https://registry.example:5000/v2/a/manifests/x": no basic auth credentials',
    "Error response from daemon: pull access denied for a/cuda, repository does not exist or may require 'docker login'"
    ": denied: requested access to the resource is denied",
    "Error response from daemon: denied: access forbidden",
    'failed to resolve reference "x": unexpected status from HEAD request to https://x/v2/: 401 Unauthorized',
    'failed to resolve reference "x": unexpected status from HEAD request to https://x/v2/: 403 Forbidden',
    "failed to authorize: failed to fetch anonymous token: unexpected status from GET request to https://auth/: 401",
    "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: "
    "authorization failed",
    "Error response from daemon: received unexpected HTTP status: 403 Forbidden",
]


@pytest.mark.parametrize("said", REFUSED)
def test_a_registry_that_wants_a_login_names_the_variable(play, ask, said):
    play.pulls("cat <<'E' >&2\n%s\nE\nexit 1" % said)
    message = ask()["msg"]
    assert "may not be pulled without a login. Set docker_registries (registry: registry.example:5000, user" in message
    assert said.split()[-1] in message
    message = ask(**LOGIN)["msg"]
    assert message.startswith("registry.example:5000 refuses %s to the user alice. Correct username and pass" % IMAGE)
    assert "docker_registries" in message


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "Error response from daemon: toomanyrequests: You have reached your unauthenticated pull rate limit.",
            "Try later, or set docker_registries",
        ),
        ("Error response from daemon: manifest unknown: manifest unknown", "has no %s any more" % IMAGE),
        ("Error response from daemon: manifest for a@sha256:1 not found: manifest unknown", "has no"),
        ('failed to resolve reference "x": x: not found', "has no"),
        ('Error response from daemon: Get "https://x/v2/": lookup x: no such host', "could not be pulled from"),
        ("permission denied while trying to connect to the Docker daemon socket", "could not be pulled from"),
    ],
)  # fmt: skip
def test_other_troubles_are_not_called_a_login(play, ask, said, told):
    play.pulls("cat <<'E' >&2\n%s\nE\nexit 1" % said)
    message = ask()["msg"]
    assert told in message
    assert "without a login" not in message


def test_a_name_needs_its_password(play, ask):
    assert "required together" in ask(username="alice")["msg"]


def test_the_documentation_is_of_these_arguments():
    options = yaml.safe_load(image_pull.DOCUMENTATION)["options"]
    assert set(options) == {"image", "registry", "username", "password", "timeout"}
