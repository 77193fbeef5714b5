# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reload probe: one reload between two questions to the same containers, and everything that it started goes."""

from __future__ import annotations

import os
import pathlib
import threading
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    DeviceNode,
    Reading,
    RunningContainer,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import device_answers
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import container, docker, reload
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command, LocalHost
from ansible_collections.goldennode.gpu.tests.unit import recorded

IMAGE = recorded.desired().lock["image"]
WAYS = ("runtime", "cdi")
OPEN = (
    "node /dev/nvidia0 opened\nsmi 0\n0, GPU-7a28f504-5a42-5b26-a5b1-5568882b45a0, NVIDIA A10, 00000000:17:00.0, 580\n"
)
DENIED = "node /dev/nvidia0 sh: cannot open /dev/nvidia0: Operation not permitted\nsmi 255\nUnknown Error\n"


class Engine(recorded.Node):
    """An engine whose containers of ``loses`` lose their GPUs at a reload. What is in ``ends`` fails."""

    def __init__(self, loses: t.Sequence[str] = (), **ends: Command) -> None:
        super().__init__()
        self.loses = loses
        self.ends = ends
        self.reloaded = False
        self.containers: t.Dict[str, str] = {}
        self.order: t.List[str] = []
        self._mutex = threading.Lock()

    def run(self, argv, timeout, unprivileged=False, groups=(), where="host"):
        words = [word for word in argv if word not in docker.DOCKER]
        verb = words[0] if argv[0] == "docker" else argv[1]
        with self._mutex:
            self.order.append(verb)
            if verb in self.ends:
                return self.ends[verb]
            stdout = ""
            if verb == "run":
                name = words[words.index("--name") + 1]
                self.containers[name] = "cdi" if "nvidia.com/gpu=all" in words else "runtime"
            elif verb == "exec":
                lost = self.reloaded and self.containers[words[1]] in self.loses
                stdout = DENIED if lost else OPEN
            elif verb == "daemon-reload":
                self.reloaded = True
            elif verb == "rm":
                self.containers.pop(words[2], None)
        return Command(where, tuple(argv), rc=0, stdout=stdout)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(container, "CLEANUP_SECONDS", 0.0)


def test_the_same_containers_are_asked_before_and_after_one_reload():
    engine = Engine(loses=["runtime"])
    found = reload.looks(engine, IMAGE, WAYS)
    assert engine.order.count("daemon-reload") == 1
    at = engine.order.index("daemon-reload")
    assert engine.order[:at] == ["run", "run", "exec", "exec"]
    assert engine.order[at + 1 : at + 3] == ["exec", "exec"]
    assert list(found) == list(WAYS)
    for way in WAYS:
        look = found[way].value
        assert look.before.value.denied == ()
        assert look.after.value.denied == (("/dev/nvidia0",) if way == "runtime" else ())
    assert engine.containers == {}


def test_how_they_are_started():
    node = recorded.Node()
    reload.looks(node, IMAGE, WAYS)
    started = [list(command.argv) for command, _unprivileged, _groups in node.ran if "--detach" in command.argv]
    assert len(started) == 2
    for argv in started:
        assert {"--rm", "--pull=never"} <= set(argv)
        assert argv[argv.index("--network") + 1] == "none"
        assert argv[argv.index("--name") + 1].startswith("goldennode-probe-")
        assert argv[argv.index("--entrypoint") + 1] == "sleep"
        assert argv[-2:] == [docker.pinned(IMAGE), "90"]  # ends by itself, whatever becomes of us


FAILED = {
    "not started": ("run", Command("host", ("docker",), rc=125, stderr="docker: Error response: no such device")),
    "hung": ("run", Command("host", ("docker",), timed_out=True, error="docker was killed (pid 7)")),
}


@pytest.mark.parametrize("how", FAILED)
def test_where_no_container_starts_nothing_is_reloaded_and_all_is_removed(how: str):
    verb, answer = FAILED[how]
    engine = Engine(**{verb: answer})
    found = reload.looks(engine, IMAGE, WAYS)
    assert [reading.known for reading in found.values()] == [False, False]
    assert "daemon-reload" not in engine.order
    assert engine.order.count("rm") >= 2


def test_a_reload_that_fails_leaves_it_unknown():
    engine = Engine(**{"daemon-reload": Command("host", ("systemctl",), rc=1, stderr="Failed to reload")})
    for reading in reload.looks(engine, IMAGE, WAYS).values():
        assert reading.value.before.known
        assert "Failed to reload" in reading.value.after.error
    assert engine.containers == {}


def test_what_was_started_goes_also_after_an_error_that_nobody_expected(monkeypatch):
    engine = Engine()
    monkeypatch.setattr(device_answers, "parse", lambda *_arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        reload.looks(engine, IMAGE, WAYS)
    assert engine.containers == {}


# --- whom it would disturb -------------------------------------------------------------------------------------------


def one(**fields: t.Any) -> RunningContainer:
    return RunningContainer("ab" * 32, "web", **fields)


NODES = (DeviceNode("/dev/nvidia0", 0o666, 0, 0, 195, 0),)


@pytest.mark.parametrize(
    ("running", "disturbed"),
    [
        (one(nodes=NODES, device_allow=()), True),
        (one(nodes=NODES, device_allow=("/dev/char/195:0 rw",)), True),  # that it survives is what is to be proven
        (one(nodes=NODES), False),  # cgroupfs, or privileged: systemd has no say
        (one(drivers=("580.95.05",)), False),
        (one(error="it could not be read"), True),
    ],
)
def test_a_container_is_disturbed_where_systemd_judges_its_gpus(running, disturbed):
    why = reload.would_disturb(Reading((running,)))
    assert (why is not None) is disturbed
    if why:
        assert "web abababababab" in why


def test_many_are_counted_and_what_is_not_known_counts_as_disturbed():
    many = tuple(one(nodes=NODES, device_allow=()) for _number in range(9))
    assert reload.would_disturb(Reading(many)).endswith("and 6 more")
    assert "no answer" in reload.would_disturb(Reading.unknown("no answer"))
    assert reload.would_disturb(Reading(())) is None
    assert reload.would_disturb(Reading(None)) is None


# --- the script in a real shell --------------------------------------------------------------------------------------

SHELLS = [path for path in ("/bin/dash", "/bin/bash", "/bin/sh") if os.path.exists(path)]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_tells_what_may_be_opened(tmp_path: pathlib.Path, shell: str):
    for name in ("nvidia0", "nvidiactl"):
        (tmp_path / name).symlink_to("/dev/null")
    programs = tmp_path / "bin"
    programs.mkdir()
    smi = programs / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho '0, GPU-7a28f504-5a42-5b26-a5b1-5568882b45a0, A10, 00000000:17:00.0, 580.159.03'\n")
    smi.chmod(0o755)
    script = reload.SCRIPT.replace("/dev/nvidia", "%s/nvidia" % tmp_path)
    done = LocalHost().run(["env", "-i", "PATH=%s" % programs, shell, "-c", script], 10)
    plain = done.stdout.replace(str(tmp_path), "/dev")
    answers = device_answers.parse(plain, done.stderr, done.rc).value
    assert (answers.nodes, answers.denied) == (("/dev/nvidia0", "/dev/nvidiactl"), ())
    assert len(answers.smi.value.gpus) == 1


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_goes_on_after_a_node_that_cannot_be_opened(tmp_path: pathlib.Path, shell: str):
    """A terminal that nobody has gives ENXIO, as a simulated node does: an error that is no denial."""
    (tmp_path / "nvidia0").symlink_to("/dev/tty")
    (tmp_path / "nvidiactl").symlink_to("/dev/null")
    script = reload.SCRIPT.replace("/dev/nvidia", "%s/nvidia" % tmp_path)
    done = LocalHost().run(["env", "-i", "PATH=/nonexistent", shell, "-c", script], 10)
    lines = done.stdout.splitlines()
    assert "No such device or address" in lines[0]
    assert lines[1].endswith("/nvidiactl opened")
    assert lines[2] == "smi 127"
