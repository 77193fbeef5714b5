# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running containers are looked at from outside: three commands, files of /proc, and nobody's secrets."""

from __future__ import annotations

import json
import time
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import running
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command, Stat
from ansible_collections.goldennode.gpu.tests.unit import recorded

NODE = Stat("char", 0o666, 0, 0, 0, 0, 195, 0)
NULL = Stat("char", 0o666, 0, 0, 0, 0, 1, 3)
DEV = "614 612 0:64 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k\n"
LIBRARY = "700 612 8:1 /usr/lib/libcuda.so.%s /usr/lib/libcuda.so.%s ro - ext4 /dev/sda1 rw\n"


class Host(recorded.Node):
    """An engine with containers, whose processes have files below /proc."""

    def __init__(self) -> None:
        super().__init__()
        self.names: t.Dict[str, t.Dict[str, t.Any]] = {}
        self.texts: t.Dict[str, Reading[str]] = {}
        self.folders: t.Dict[str, Reading[t.Dict[str, Stat]]] = {}
        self.stats: t.Dict[str, Reading[Stat]] = {}
        self.shown = ""
        self.commands: t.List[t.List[str]] = []

    def start(self, number: int, mounts: str = "", nodes: t.Sequence[str] = (), **fields: t.Any) -> str:
        identity = "%012x%052d" % (number, 0)
        self.names[identity] = {"id": identity, "name": "/c%d" % number, "pid": 1000 + number, **fields}
        folder = "/proc/%d" % (1000 + number)
        self.texts[folder + "/mountinfo"] = Reading(DEV + mounts)
        self.folders[folder + "/root/dev"] = Reading({"null": NULL, **dict.fromkeys(nodes, NODE)})
        self.stats[folder + "/root"] = Reading(Stat("dir", 0o755, 0, 0, 0, 0))
        return identity

    def run(self, argv, timeout, unprivileged=False, groups=(), where="host"):
        words = [word for word in argv if word not in ("docker", "--host", "unix:///var/run/docker.sock")]
        self.commands.append(words)
        assert timeout <= 15
        stdout = self.shown
        if words[:2] == ["container", "ls"]:
            assert words[2:] == ["--format", "{{.ID}} {{.Names}}"]
            names = {identity: fields["name"].lstrip("/") for identity, fields in self.names.items()}
            stdout = "".join("%s %s\n" % (identity[:12], name) for identity, name in names.items())
        elif words[:2] == ["container", "inspect"]:
            asked = {identity: fields for identity, fields in self.names.items() if identity[:12] in words[4:]}
            stdout = "".join(json.dumps(fields) + "\n" for fields in asked.values())
        return Command(where, tuple(argv), rc=0, stdout=stdout)

    def read(self, path, limit=1 << 22):
        return self.texts[path]

    def listdir(self, path):
        return self.folders[path]

    def stat(self, path):
        return self.stats[path]


def found(host: Host) -> t.Dict[str, t.Any]:
    reading = running.containers(host)
    assert reading.known, reading.error
    return {one.name: one for one in reading.value or ()}


def test_what_of_the_driver_each_holds():
    host = Host()
    identity = host.start(1, LIBRARY % ("580.95.05", "580.95.05"), ["nvidia0", "nvidiactl"])
    host.start(2)
    host.shown = "Id=docker-%s.scope\nDevicePolicy=strict\nDeviceAllow=/dev/char/195:0 rw\n" % identity
    there = found(host)
    assert list(there) == ["c1"]
    assert there["c1"].drivers == ("580.95.05",)
    assert [(node.path, node.major) for node in there["c1"].nodes] == [("/dev/nvidia0", 195), ("/dev/nvidiactl", 195)]
    assert there["c1"].device_allow == ("/dev/char/195:0 rw",)
    assert host.commands[-1] == [
        "systemctl", "show", "--property=Id,DevicePolicy,DeviceAllow", "docker-%s.scope" % identity
    ]  # fmt: skip


def test_a_thousand_containers_cost_three_commands_and_not_a_second():
    host = Host()
    for number in range(1000):
        host.start(number + 1, LIBRARY % ("580.95.05", "580.95.05") * 30, ["nvidia0"])
    begin = time.process_time()
    assert len(found(host)) == 1000
    assert time.process_time() - begin < 1.0
    assert len(host.commands) == 3


def test_without_a_running_container_nothing_is_inspected():
    host = Host()
    assert found(host) == {}
    assert len(host.commands) == 1


def test_containers_of_our_own_probes_are_left_out():
    host = Host()
    host.start(1, LIBRARY % ("580.95.05", "580.95.05"), ["nvidia0"], name="/goldennode-probe-00ff")
    assert found(host) == {}
    assert len(host.commands) == 1, "a look at a node with no other container asks no more"
    host.start(2, LIBRARY % ("580.95.05", "580.95.05"), ["nvidia0"])
    assert list(found(host)) == ["c2"]


@pytest.mark.parametrize("at", ["mountinfo", "root/dev"])
def test_one_that_ends_meanwhile_is_left_out(at: str):
    host = Host()
    host.start(1, LIBRARY % ("580.95.05", "580.95.05"), ["nvidia0"])
    there = host.texts if at == "mountinfo" else host.folders
    for reading in (Reading(None), Reading.unknown("Invalid argument")):
        there["/proc/1001/" + at] = reading
        host.stats["/proc/1001/root"] = Reading(None)
        assert found(host) == {}


@pytest.mark.parametrize("at", ["mountinfo", "root/dev"])
def test_one_that_cannot_be_read_is_said(at: str):
    host = Host()
    host.start(1, nodes=["nvidia0"])
    there = host.texts if at == "mountinfo" else host.folders
    there["/proc/1001/" + at] = Reading.unknown("it could not be read: Permission denied")
    assert found(host)["c1"].error == "it could not be read: Permission denied"


def test_a_dev_that_a_server_gives_is_not_listed():
    host = Host()
    host.start(1, "800 612 0:9 / /dev rw - nfs4 server:/dev rw\n")
    host.folders.clear()
    assert "not listed" in found(host)["c1"].error


def test_a_systemctl_that_fails_leaves_it_unknown_who_may_open_what():
    host = Host()
    host.start(1, nodes=["nvidia0"])
    host.start(2, LIBRARY % ("580.95.05", "580.95.05"))
    plain = host.run

    def failing(argv, timeout, *more, **words):
        if argv[0] == "systemctl":
            return Command("host", tuple(argv), rc=1, stderr="Failed to connect to bus")
        return plain(argv, timeout, *more, **words)

    host.run = failing
    there = found(host)
    assert "Failed to connect to bus" in there["c1"].error
    assert there["c2"].error is None


@pytest.mark.parametrize(
    ("answer", "value", "error"),
    [
        (Command("host", ("docker",), missing=True, error="docker is not installed"), None, None),
        (Command("host", ("docker",), rc=1, stderr="Cannot connect\n"), None, "docker container ls: Cannot connect"),
        (Command("host", ("docker",), timed_out=True, error="docker was killed"), None, "docker was killed"),
    ],
)
def test_an_engine_that_does_not_answer(monkeypatch, answer, value, error):
    host = Host()
    monkeypatch.setattr(host, "run", lambda *_arguments, **_words: answer)
    assert running.containers(host) == Reading(value, error)
