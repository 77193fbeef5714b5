# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver is loaded anew only where nothing uses it, and what was stopped for it runs again whatever happens.

``Node`` is a machine in a few dictionaries: what is in /sys/module and /proc, and what its commands do to it.
"""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.driver_reload import Result, reload
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command, Stat
from ansible_collections.goldennode.gpu.plugins.module_utils.system import SystemFailure

DEVICES = "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n508 nvidia-uvm\n\nBlock devices:\n"
NODES = {"nvidia0": (195, 0), "nvidiactl": (195, 255), "nvidia-uvm": (508, 0)}
PERSISTENCED = "nvidia-persistenced.service"
LOADER = "systemctl restart goldennode-uvm.service"


def entry(kind, major=0, minor=0):
    return Stat(kind, 0o600, 0, 0, 0, 0, major, minor)


class Node:
    def __init__(self):
        self.modules = {"nvidia": ["nvidia_uvm"], "nvidia_uvm": []}  # name: who holds it
        self.refcnt = {}
        self.active = {PERSISTENCED}
        self.enabled = {PERSISTENCED}
        self.processes = {}  # pid: (comm, cgroup, numbers of the nodes that it has open)
        self.failing = {}  # beginning of a command: what is said by it
        self.raising = ""
        self.ran = []
        self.followed = []  # descriptors whose file was asked
        self.elsewhere = {}  # descriptor: where it leads, if not to a node below /dev
        self.start(40, "nvidia-persiste", "/system.slice/" + PERSISTENCED, "nvidia0", "nvidiactl")
        self.start(1, "systemd", "/init.scope")

    def start(self, pid, comm, cgroup, *nodes):
        self.processes[str(pid)] = (comm, cgroup, [NODES[node] for node in nodes])

    # What the probe asks

    def stat(self, path):
        parts = path.strip("/").split("/")
        if parts[:2] == ["sys", "module"]:
            return Reading(entry("dir") if parts[2] in self.modules else None)
        process = self.processes.get(parts[1])
        if process is None:
            return Reading(None)
        if len(parts) == 2:
            return Reading(entry("dir"))
        self.followed.append(path)
        return Reading(entry("char", *process[2][int(parts[3])]) if parts[3] != "9" else entry("char", 1, 3))

    def readlink(self, path):
        if path in self.elsewhere:
            return self.elsewhere[path]
        return Reading("/dev/null" if path.endswith("/9") else "/dev/some node")

    def listdir(self, path):
        if path == "/dev":
            return Reading({name: entry("char", *number) for name, number in NODES.items()})
        if path == "/proc":
            return Reading(dict.fromkeys([*self.processes, "meminfo", "666"], entry("dir")))  # 666 has just ended
        if path.endswith("/holders"):
            return Reading(dict.fromkeys(self.modules.get(path.split("/")[3], ()), entry("link")))
        if path.endswith("/fd"):
            process = self.processes.get(path.split("/")[2])
            if process is None:
                return Reading.unknown("%s could not be read: No such process" % path)
            return Reading(dict.fromkeys([*map(str, range(len(process[2]))), "9"], entry("link")))
        return Reading(None)

    def read(self, path):
        parts = path.split("/")
        if path == "/proc/devices":
            return Reading(DEVICES)
        if parts[-1] == "refcnt":
            return Reading(self.refcnt.get(parts[3]))
        comm, cgroup, _numbers = self.processes[parts[2]]
        return Reading(comm + "\n" if parts[-1] == "comm" else "0::%s\n" % cgroup)

    # What it does

    def run(self, argv, timeout):
        words = tuple(argv)
        line = " ".join(words)
        if words[:2] == ("systemctl", "is-active"):
            return Command("host", words, *((0, "active\n") if words[2] in self.active else (3, "failed\n")))
        if words[:2] == ("systemctl", "is-enabled"):
            return Command("host", words, 0, "enabled\n" if words[2] in self.enabled else "static\n")
        self.ran.append(line)
        if self.raising and line.startswith(self.raising):
            raise RuntimeError(line)
        for beginning, said in self.failing.items():
            if line.startswith(beginning):
                return Command("host", words, 1, "", said)
        if words[:2] == ("systemctl", "stop"):
            self.active -= set(words[2:])
            gone = [pid for pid, (_c, group, _n) in self.processes.items() if group.rpartition("/")[2] in words]
            for pid in gone:
                del self.processes[pid]
        elif words[:2] == ("systemctl", "start"):
            self.active.add(words[2])
        elif words[0] == "rmmod":
            del self.modules[words[1]]
            for holders in self.modules.values():
                if words[1] in holders:
                    holders.remove(words[1])
        return Command("host", words, 0)


@pytest.fixture
def node():
    return Node()


def test_the_modules_are_taken_out_and_loaded_anew(node):
    node.modules = {"nvidia": ["nvidia_uvm", "nvidia_modeset"], "nvidia_uvm": [], "nvidia_modeset": ["nvidia_drm"]}
    node.modules["nvidia_drm"] = []
    node.active.add("nvidia-cdi-refresh.path")
    assert reload(node, 60) == Result(True, True, "", (PERSISTENCED,))
    assert node.ran == [
        "systemctl stop nvidia-persistenced.service",
        *("rmmod nvidia_drm", "rmmod nvidia_modeset", "rmmod nvidia_uvm", "rmmod nvidia"),
        LOADER,
        *("modprobe nvidia", "modprobe nvidia-uvm", "modprobe nvidia-modeset", "modprobe nvidia-drm"),
        "systemctl start nvidia-persistenced.service",
        "systemctl restart nvidia-cdi-refresh.service",
    ]


def test_an_enabled_service_that_failed_with_the_old_driver_is_started_with_the_new(node):
    node.active.clear()
    del node.processes["40"]
    assert reload(node, 60).stopped == ()
    assert node.ran[-1] == "systemctl start " + PERSISTENCED


def test_services_that_did_not_run_are_not_started(node):
    node.active.clear()
    node.enabled.clear()
    del node.processes["40"]
    assert reload(node, 60).stopped == ()
    assert not any(line.startswith(("systemctl stop", "systemctl start")) for line in node.ran)


def test_a_process_that_has_a_gpu_open_is_named(node):
    node.start(4711, "python3", "/system.slice/docker-1.scope", "nvidia-uvm", "nvidiactl")
    result = reload(node, 60)
    assert result == Result(False, False, "in use: python3 (pid 4711) has /dev/nvidia-uvm, /dev/nvidiactl open")
    assert node.ran == []


@pytest.mark.parametrize(
    "elsewhere",
    [
        Reading("/mnt/results/out.log"),
        Reading("/mnt/results/dev/nvidia0"),
        Reading("socket:[4711]"),
        Reading(None),  # closed since it was listed
        Reading.unknown("/proc/4711/fd/0 could not be read: Permission denied"),
    ],
)
def test_a_descriptor_that_leads_to_no_device_is_not_followed(node, elsewhere):
    """The file may lie on a mount whose server is gone, and would hold whoever asks for it for ever."""
    node.start(4711, "python3", "/user.slice", "nvidia0")
    node.elsewhere["/proc/4711/fd/0"] = elsewhere
    assert reload(node, 60).reloaded
    assert "/proc/4711/fd/0" not in node.followed


def test_a_node_whose_name_was_taken_away_is_followed(node):
    node.start(4711, "python3", "/user.slice", "nvidia0")
    node.elsewhere["/proc/4711/fd/0"] = Reading("/dev/nvidia0 (deleted)")
    assert reload(node, 60).refused == "in use: python3 (pid 4711) has /dev/nvidia0 open"


def test_one_that_came_while_the_services_were_stopped(node):
    stop = node.run

    def come(argv, timeout):
        if argv[:2] == ["systemctl", "stop"]:
            node.start(4711, "python3", "/user.slice", "nvidia0")
        return stop(argv, timeout)

    node.run = come
    assert reload(node, 60) == Result(False, False, "in use: python3 (pid 4711) has /dev/nvidia0 open", (PERSISTENCED,))
    assert node.ran == ["systemctl stop " + PERSISTENCED, "systemctl start " + PERSISTENCED]


def test_a_service_of_the_users_own_counts_as_a_user(node):
    node.start(50, "my-exporter", "/system.slice/my-" + PERSISTENCED, "nvidia0")
    assert "my-exporter (pid 50)" in reload(node, 60).refused


def test_another_module_that_needs_the_driver_is_named(node):
    node.modules["nvidia"].append("gdrdrv")
    assert reload(node, 60).refused == "another module is loaded: gdrdrv, which needs nvidia"
    assert node.ran == []


def test_a_use_that_no_process_shows(node):
    node.refcnt = {"nvidia": "2\n", "nvidia_uvm": "0\n"}  # one is nvidia_uvm's
    assert "the module nvidia is in use 1 times, by no process that can be named" in reload(node, 60).refused
    assert not any("rmmod" in line for line in node.ran)
    assert PERSISTENCED in node.active


def test_references_of_the_modules_to_each_other_are_no_use(node):
    node.refcnt = {"nvidia": "1\n", "nvidia_uvm": "0\n"}
    assert reload(node, 60).reloaded


def test_nothing_is_loaded(node):
    node.modules.clear()
    assert reload(node, 60) == Result(False, False, "the module nvidia is not loaded")


def test_a_module_that_does_not_go_leaves_the_services_running(node):
    node.failing = {"rmmod nvidia_uvm": "rmmod: ERROR: Module nvidia_uvm is in use"}
    result = reload(node, 60)
    assert (result.changed, result.reloaded) == (False, False)
    assert result.refused == "rmmod nvidia_uvm: rc 1: rmmod: ERROR: Module nvidia_uvm is in use"
    assert node.ran[-1] == "systemctl start " + PERSISTENCED
    assert LOADER not in node.ran


def test_half_taken_out_is_brought_in_again(node):
    node.modules["nvidia_modeset"] = []
    node.failing = {"rmmod nvidia_uvm": "rmmod: ERROR: Module nvidia_uvm is in use"}
    result = reload(node, 60)
    assert (result.changed, result.reloaded) == (True, False)
    assert node.ran[-3:] == [LOADER, "modprobe nvidia-modeset", "systemctl start " + PERSISTENCED]


def test_a_new_module_that_does_not_load_is_told(node):
    node.failing = {LOADER: "Job for goldennode-uvm.service failed."}
    result = reload(node, 60)
    assert (result.changed, result.reloaded) == (True, False)
    assert result.refused == LOADER + ": rc 1: Job for goldennode-uvm.service failed."
    assert node.ran[-1] == "systemctl start " + PERSISTENCED


def test_a_service_that_cannot_be_stopped(node):
    node.failing = {"systemctl stop": "Failed to stop"}
    assert reload(node, 60).refused.endswith("Failed to stop")
    assert not any("rmmod" in line for line in node.ran)


def test_services_run_again_after_what_nobody_expected(node):
    node.raising = "rmmod nvidia_uvm"
    with pytest.raises(RuntimeError):
        reload(node, 60)
    assert node.ran[-1] == "systemctl start " + PERSISTENCED


def test_what_cannot_be_asked_is_not_taken_for_unused(node):
    node.read = lambda path: Reading.unknown("%s could not be read" % path)
    with pytest.raises(SystemFailure):
        reload(node, 60)
    assert node.ran == []


@pytest.mark.parametrize("busy", [True, False])
def test_check_mode_tells_and_changes_nothing(node, busy):
    if busy:
        node.start(4711, "python3", "/user.slice", "nvidia0")
    result = reload(node, 60, check_mode=True)
    assert (result.changed, result.reloaded, bool(result.refused)) == (not busy, False, busy)
    assert node.ran == []
