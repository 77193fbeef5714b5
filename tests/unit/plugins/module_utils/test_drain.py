# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers with GPUs are stopped and given back, whatever is killed in between. Docker is played."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import threading
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import drained
from ansible_collections.goldennode.gpu.plugins.module_utils.drain import Drain, Undrain, drain, undrain
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import running_containers
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.docker import DOCKER
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command, Stat
from ansible_collections.goldennode.gpu.plugins.module_utils.system import SystemFailure
from ansible_collections.goldennode.gpu.tests.unit import rooted

DEV = "614 612 0:64 / /dev rw,nosuid - tmpfs tmpfs rw\n"
GPU = Stat("char", 0o666, 0, 0, 0, 0, 195, 0)


class Killed(BaseException):
    """The module's process was killed here."""


class Node(rooted.Rooted):
    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.containers: t.Dict[str, t.Dict[str, t.Any]] = {}
        self.asked: t.List[t.Tuple[str, ...]] = []
        self.limits: t.Dict[str, float] = {}
        self.failing: t.Dict[str, Command] = {}  # words of a command: how it ends
        self.kill_at = ""
        self.after_stop: t.Callable[[str], None] = lambda identity: None
        self.guard = threading.Lock()

    def create(self, number: int, gpu: bool = True, running: bool = True, **fields: t.Any) -> str:
        identity = "%012x%052d" % (number, 0)
        self.containers[identity] = {
            "id": identity,
            "name": "/c%d" % number,
            "image": "img",
            "pid": 1000 + number,
            "gpu": gpu,
            "running": running,
            "auto_remove": False,
            "stop_timeout": None,
            **fields,
        }
        return identity

    def label(self, number: int) -> str:
        return "c%d %012x" % (number, number)

    def running(self) -> t.List[str]:
        return sorted(one["name"][1:] for one in self.containers.values() if one["running"])

    def kept(self) -> t.List[str]:
        text = self.read(drained.PATH).value
        return [] if text is None else [one["name"] for one in json.loads(text)["containers"]]

    # Files: of /proc what the containers have, else below the root

    def _of(self, path: str) -> t.Optional[t.Dict[str, t.Any]]:
        pid = int(path.split("/")[2])
        return next((one for one in self.containers.values() if one["pid"] == pid and one["running"]), None)

    def read(self, path, limit=1 << 22):
        if not path.startswith("/proc/"):
            return super().read(path, limit)
        return Reading(DEV if self._of(path) else None)

    def stat(self, path):
        if not path.startswith("/proc/"):
            return super().stat(path)
        return Reading(Stat("dir", 0o755, 0, 0, 0, 0) if self._of(path) else None)

    def listdir(self, path):
        one = self._of(path)
        return Reading(None if one is None else ({"nvidia0": GPU} if one["gpu"] else {}))

    def remove(self, path):
        super().remove(self.real(path))

    # Docker

    def run(self, argv, timeout, unprivileged=False, groups=(), where="host"):
        assert timeout > 0
        if argv[0] == "systemctl":
            return Command(where, tuple(argv), 0)
        assert tuple(argv[: len(DOCKER)]) == DOCKER
        words = tuple(argv[len(DOCKER) :])
        line = " ".join(words)
        with self.guard:
            self.asked.append(words)
            for beginning, answer in self.failing.items():
                if line.startswith(beginning):
                    return answer
            if self.kill_at and line.startswith(self.kill_at):
                raise Killed
            rc, out, err = getattr(self, "_" + words[1])(words[2:], timeout)
        return Command(where, tuple(argv), rc, out, err)

    def _ls(self, _words, _timeout):
        return 0, "".join("%s %s\n" % (i[:12], c["name"][1:]) for i, c in self.containers.items() if c["running"]), ""

    def _inspect(self, words, _timeout):
        assert words[0] == "--format"
        assert words[1] in (running_containers.FORMAT, drained.FORMAT)
        lines, missing = [], []
        for name in words[2:]:
            found = [one for identity, one in self.containers.items() if identity.startswith(name)]
            lines += [json.dumps({**one, "pid": one["pid"] if one["running"] else 0}) for one in found]
            missing += [] if found else ["Error response from daemon: No such container: %s" % name]
        return int(bool(missing)), "\n".join(lines) + "\n", "\n".join(missing)

    def _stop(self, words, timeout):
        (identity,) = words
        self.limits[self.containers[identity]["name"][1:]] = timeout
        assert identity in (self.read(drained.PATH).value or ""), "it is remembered before it is stopped"
        self.containers[identity]["running"] = False
        self.after_stop(identity)
        return 0, identity + "\n", ""

    def _start(self, words, _timeout):
        (identity,) = words
        joined = self.containers[identity].get("joins")
        if joined and not self.containers[joined]["running"]:
            return 1, "", "Error response from daemon: cannot join network of a non running container: %s" % joined
        self.containers[identity]["running"] = True
        return 0, identity + "\n", ""


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


def commands(node, verb):
    return [words for words in node.asked if words[1] == verb]


def test_containers_with_gpus_are_stopped_and_given_back(node):
    node.create(1)
    node.create(2, gpu=False)
    node.create(3)
    assert drain(node, 60) == Drain(True, (node.label(1), node.label(3)))
    assert node.running() == ["c2"]
    assert node.kept() == ["c1", "c3"]
    assert undrain(node, 60) == Undrain(True, (node.label(1), node.label(3)))
    assert node.running() == ["c1", "c2", "c3"]
    assert not os.path.exists(node.real(drained.PATH))


def test_each_has_its_own_time_to_stop(node):
    for number, seconds in ((1, None), (2, 0), (3, 300), (4, -1)):
        node.create(number, stop_timeout=seconds)
    drain(node, 60)
    assert node.limits == {"c1": 70, "c2": 60, "c3": 360, "c4": 660}
    assert all(len(words) == 3 for words in commands(node, "stop")), "no time of ours: the container's counts"


def test_a_second_drain_changes_nothing_and_forgets_nothing(node):
    node.create(1)
    drain(node, 60)
    text = node.read(drained.PATH).value
    assert drain(node, 60) == Drain(False)
    assert node.read(drained.PATH).value == text


def test_a_second_drain_adds(node):
    node.create(1)
    drain(node, 60)
    node.create(2)
    assert drain(node, 60).stopped == (node.label(2),)
    assert node.kept() == ["c1", "c2"]
    undrain(node, 60)
    assert node.running() == ["c1", "c2"]


def test_without_containers_nothing_is_written(node):
    assert drain(node, 60) == Drain(False)
    assert undrain(node, 60) == Undrain(False)
    assert not os.path.exists(node.real("/var"))


def test_killed_before_the_first_is_stopped(node):
    node.create(1)
    node.kill_at = "container stop"
    with pytest.raises(Killed):
        drain(node, 60)
    assert (node.running(), node.kept()) == (["c1"], ["c1"])
    node.kill_at = ""
    assert undrain(node, 60) == Undrain(True, running=(node.label(1),))
    assert (node.running(), node.kept()) == (["c1"], [])


def test_killed_half_way_and_drained_again(node):
    first, second = node.create(1), node.create(2)
    node.kill_at = "container stop " + second
    with pytest.raises(Killed):
        drain(node, 60)
    assert not node.containers[first]["running"]
    node.kill_at = ""
    assert drain(node, 60).stopped == (node.label(2),)
    assert undrain(node, 60).started == (node.label(1), node.label(2))


def test_killed_while_they_are_given_back(node):
    node.create(1)
    second = node.create(2)
    drain(node, 60)
    node.kill_at = "container start " + second
    with pytest.raises(Killed):
        undrain(node, 60)
    assert node.kept() == ["c1", "c2"]
    node.kill_at = ""
    assert undrain(node, 60) == Undrain(True, (node.label(2),), (node.label(1),))
    assert node.kept() == []


def test_those_that_run_already_and_those_that_are_gone_are_said(node):
    first, second = node.create(1), node.create(2)
    node.create(3)
    drain(node, 60)
    node.containers[first]["running"] = True
    del node.containers[second]
    assert undrain(node, 60) == Undrain(True, (node.label(3),), (node.label(1),), (node.label(2),))
    assert node.kept() == []


def test_what_is_not_ours_to_stop_is_left_and_named(node):
    node.create(1, auto_remove=True)
    node.create(2, swarm="train")
    node.create(3, pod="p", namespace="ml")
    node.create(4, mounts=[{"Source": "/usr/lib/libcuda.so.580.95.05", "Destination": "/usr/lib/libcuda.so.1"}])
    node.create(5, compose="ml", compose_service="train")
    found = drain(node, 60)
    assert found.stopped == (node.label(5),)
    assert [one["container"] for one in found.left] == [node.label(number) for number in (1, 2, 3, 4)]
    assert "--rm" in found.left[0]["why"]
    assert node.running() == ["c1", "c2", "c3", "c4"]
    assert node.kept() == ["c5"]


def test_one_that_is_started_again_meanwhile_is_stopped_again(node):
    identity = node.create(1)
    again = iter([True])
    node.after_stop = lambda stopped: node.containers[stopped].update(running=next(again, False))
    assert drain(node, 60) == Drain(True, (node.label(1),))
    assert not node.containers[identity]["running"]
    assert len(commands(node, "stop")) == 2


def test_one_that_is_always_started_again_is_a_problem(node):
    node.create(1)
    node.after_stop = lambda stopped: node.containers[stopped].update(running=True)
    found = drain(node, 60)
    assert (found.stopped, found.problems) == ((), (node.label(1) + ": it was started again",))
    assert len(commands(node, "stop")) == 3


def test_one_that_does_not_stop_is_a_problem_and_tried_once(node):
    first = node.create(1)
    node.create(2)
    error = "docker gave no answer within 70 s and was killed (pid 7)"
    node.failing["container stop " + first] = Command("host", (), timed_out=True, error=error)
    found = drain(node, 60)
    assert found == Drain(True, (node.label(2),), (), ("%s: %s" % (node.label(1), error),))
    assert len(commands(node, "stop")) == 2
    assert node.kept() == ["c1", "c2"]


def test_dockers_words_are_told(node):
    identity = node.create(1)
    said = "Error response from daemon: cannot stop container: x: permission denied"
    node.failing["container stop " + identity] = Command("host", (), 1, "", said)
    assert drain(node, 60).problems == ("%s: docker container stop: %s" % (node.label(1), said),)


def test_one_that_does_not_start_is_kept_and_the_others_run(node):
    first = node.create(1)
    node.create(2)
    drain(node, 60)
    said = "Error response from daemon: could not select device driver"
    node.failing["container start " + first] = Command("host", (), 1, "", said)
    found = undrain(node, 60)
    assert found == Undrain(
        True, (node.label(2),), problems=("%s: docker container start: %s" % (node.label(1), said),)
    )  # fmt: skip
    assert node.kept() == ["c1"]
    node.failing.clear()
    assert undrain(node, 60).started == (node.label(1),)


def test_one_in_the_network_of_another_is_started_after_it(node):
    first, second = node.create(1), node.create(2)
    node.containers[first]["joins"] = second
    drain(node, 60)
    assert undrain(node, 60).problems == ()
    assert node.running() == ["c1", "c2"]


@pytest.mark.parametrize("words", ["container ls", "container inspect"])
def test_a_docker_that_hangs_is_no_node_without_containers(node, words):
    node.create(1)
    error = "docker gave no answer within 15 s and was killed (pid 7)"
    node.failing[words] = Command("host", (), timed_out=True, error=error)
    with pytest.raises(
        SystemFailure, match="it is not known which containers have GPUs: " + error.replace("(", ".")[:40]
    ):
        drain(node, 60)
    assert node.running() == ["c1"]
    assert node.kept() == []


def test_a_docker_that_hangs_keeps_what_is_to_be_given_back(node):
    node.create(1)
    drain(node, 60)
    node.failing["container inspect"] = Command("host", (), timed_out=True, error="docker gave no answer")
    with pytest.raises(SystemFailure, match="it is not known what becomes of 1 containers: docker gave no answer"):
        undrain(node, 60)
    assert node.kept() == ["c1"]


def test_a_node_without_docker_has_nothing_to_stop(node):
    node.failing["container"] = Command("host", (), missing=True, error="docker is not installed")
    assert drain(node, 60) == Drain(False)
    assert undrain(node, 60) == Undrain(False)


def test_a_file_that_cannot_be_understood_is_not_written_over(node):
    node.create(1)
    path = pathlib.Path(node.real(drained.PATH))
    path.parent.mkdir(parents=True)
    path.write_text("{half")
    for work in (drain, undrain):
        with pytest.raises(SystemFailure, match="it is not known what was stopped before: /var/lib/goldennode/drained"):
            work(node, 60)
    assert path.read_text() == "{half"
    assert node.running() == ["c1"]


def test_a_full_disk_stops_nothing(node):
    node.create(1)

    def full(path, content, like=None):
        raise OSError(28, "No space left on device", path)

    node.write = full
    with pytest.raises(OSError, match="No space left"):
        drain(node, 60)
    assert node.running() == ["c1"]


def test_check_mode_tells_and_changes_nothing(node):
    node.create(1)
    node.create(2, auto_remove=True)
    found = drain(node, 60, check_mode=True)
    assert (found.changed, found.stopped, len(found.left)) == (True, (node.label(1),), 1)
    assert (node.running(), node.kept()) == (["c1", "c2"], [])
    drain(node, 60)
    assert undrain(node, 60, check_mode=True) == Undrain(True, (node.label(1),))
    assert (node.running(), node.kept()) == (["c2"], ["c1"])


def test_containers_by_the_thousand(node):
    for number in range(1, 1201):
        node.create(number)
    assert len(drain(node, 60).stopped) == 1200
    assert len(undrain(node, 60).started) == 1200
    assert len(commands(node, "inspect")) < 12
    shutil.rmtree(node.real("/var"))
