# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who uses the GPUs, from files of /proc alone; what cannot be read is said."""

from __future__ import annotations

import os

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import gpu_users
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Stat
from ansible_collections.goldennode.gpu.plugins.module_utils.system import SystemFailure
from ansible_collections.goldennode.gpu.tests.unit.gpu_processes import KERNEL_THREAD, FakeNode

ID = "3f" * 32
MAP = "7f00-7f01 rw-s 00000000 00:06 412                        /dev/nvidia-uvm\n"
PLAIN = "7f00-7f01 r--p 00000000 08:01 412 /usr/lib/libcuda.so.1\n7f02-7f03 rw-p 00000000 00:00 0\n"


@pytest.fixture
def node(tmp_path):
    return FakeNode(tmp_path)


def look(node):
    return gpu_users.look(node)


def test_a_node_that_nobody_uses(node):
    node.start(20, "bash", maps=PLAIN)
    found = look(node)
    assert found == gpu_users.Users()
    assert found.idle
    assert node.children == 1


def test_a_process_with_a_gpu_open(node):
    node.start(4711, "python3", "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia0", begun=881245, ticks=90)
    (user,) = look(node).users
    assert user == gpu_users.GpuUser(
        4711, 881245, "python3", "alice", "S", ("/dev/nvidia0", "/dev/nvidiactl"), "", "", 90
    )
    assert user.label == "python3 (pid 4711, user alice)"


def test_one_in_a_container_is_seen_with_it(node):
    node.start(50, "train", "/dev/nvidia1", cgroup="/system.slice/docker-%s.scope" % ID, uid=4242)
    (user,) = look(node).users
    assert (user.container, user.user) == (ID, "4242")
    assert user.label == "train (pid 50, user 4242, in container 3f3f3f3f3f3f)"


def test_what_surrounds_the_node_is_no_container_of_it(node):
    node.put("/proc/1/cgroup", "0::/docker/%s/init.scope\n" % ID)
    node.start(50, "train", "/dev/nvidia1", cgroup="/docker/%s/system.slice/train.service" % ID)
    (user,) = look(node).users
    assert (user.container, user.unit) == ("", "train.service")
    assert user.label == "train (pid 50, user alice, of train.service)"


def test_a_node_of_the_driver_by_another_name(node):
    node.start(50, "train", "/dev/gpu-of-mine")
    node.majors["/proc/50/fd/2"] = Stat("char", 0o666, 0, 0, 0, 0, 195, 3)
    (user,) = look(node).users
    assert user.nodes == ("device 195:3",)


def test_a_node_whose_name_was_taken_away(node):
    node.start(50, "train", "/dev/nvidia0 (deleted)")
    assert look(node).users[0].nodes == ("/dev/nvidia0",)


def test_a_node_that_is_mapped_and_closed(node):
    node.start(50, "train", maps=PLAIN + MAP + MAP.replace("uvm", "uvm (deleted)"))
    (user,) = look(node).users
    assert user.nodes == ("/dev/nvidia-uvm",)


def test_a_file_of_that_name_elsewhere_is_none(node):
    node.start(50, "vi", "/home/alice/dev/nvidia0", maps=MAP.replace("/dev", "/srv/dev"))
    assert look(node).idle


@pytest.mark.parametrize(
    ("program", "unit"),
    [
        ("nvidia-persiste", "nvidia-persistenced.service"),
        ("nv-fabricmanage", "nvidia-fabricmanager.service"),
        ("nvlsm", "nvidia-fabricmanager.service"),
        ("nv-hostengine", "nvidia-dcgm.service"),
        ("nv-hostengine", "dcgm.service"),
        ("nvidia-imex", "nvidia-imex.service"),
        ("nvidia-smi", "goldennode-agent.service"),
    ],
)
def test_the_nodes_own_services_are_no_users(node, program, unit):
    node.start(50, program, "/dev/nvidia0", cgroup="/system.slice/" + unit, uid=0)
    found = look(node)
    assert found.idle
    assert [one.program for one in found.services] == [program]


@pytest.mark.parametrize(
    ("program", "cgroup"),
    [
        ("nv-hostengine", "/user.slice/user-1000.slice/session-3.scope"),  # started by hand
        ("nv-hostengine", "/user.slice/user@1000.service/nvidia-dcgm.service"),
        ("nv-hostengine", "/system.slice/docker-%s.scope" % ID),
        ("nvvs", "/system.slice/nvidia-dcgm.service"),  # a diagnosis is work
        ("dcgm-exporter", "/system.slice/dcgm-exporter.service"),
        ("nvidia-smi", "/system.slice/my-goldennode-agent.service"),
    ],
)
def test_what_only_looks_like_them_is_one(node, program, cgroup):
    node.start(50, program, "/dev/nvidia0", cgroup=cgroup)
    assert [one.program for one in look(node).users] == [program]


def test_threads_of_the_kernel_are_left_out(node):
    node.start(50, "nvidia", "/dev/nvidia0", flags=KERNEL_THREAD, maps=MAP)
    assert look(node).idle


def test_a_process_whose_first_thread_has_ended(node):
    node.start(50, "train", state="Z", maps=None)
    node.put("/proc/50/task/50/stat", "50 (train) Z 1\n")
    node.put("/proc/50/task/51/stat", "51 (train) D 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 100 1 1\n")
    os.mkdir(node.real("/proc/50/task/51/fd"))
    os.symlink("/dev/nvidia0", node.real("/proc/50/task/51/fd/7"))
    (user,) = look(node).users
    assert (user.nodes, user.state, user.is_stuck) == (("/dev/nvidia0",), "D", True)


def test_one_that_cannot_be_read_is_said_and_no_idle_node(node):
    node.start(50, "train")
    node.unreadable["/proc/50/fd"] = "Permission denied"
    found = look(node)
    assert not found.idle
    assert found.unknown == (
        "whether process 50 (train) uses a GPU (/proc/50/fd could not be read: Permission denied)",
    )


def test_descriptors_that_may_not_be_followed_are_said_once(node):
    """As root without CAP_SYS_PTRACE meets them at a process that has more rights: the list is there, no link is."""
    node.start(50, "train", "/dev/nvidia0", maps=None)
    node.put("/proc/50/maps/none", "")
    plain = node.readlink
    denied = Reading.unknown("/proc/50/fd/2 could not be read: Permission denied")
    node.readlink = lambda path: denied if path.startswith("/proc/50/") else plain(path)
    found = look(node)
    assert found.users == ()
    assert found.unknown == (
        "whether process 50 (train) uses a GPU (/proc/50/fd/2 could not be read: Permission denied)",
    )


def test_maps_that_cannot_be_read_are_said(node):
    node.start(50, "train", maps=None)
    node.put("/proc/50/maps/none", "")
    assert look(node).unknown == (
        "whether process 50 (train) uses a GPU (its maps could not be read: Is a directory)",
    )  # fmt: skip


def test_a_stat_that_cannot_be_understood_is_said(node):
    node.put("/proc/50/stat", "50 (tr")
    assert look(node).unknown == (
        "whether process 50 uses a GPU (its stat is not understood: '50 (tr')",
    )  # fmt: skip


def test_processes_that_end_meanwhile_are_none(node):
    node.start(50, "train", "/dev/nvidia0")
    node.start(51, "train")
    plain = node.listdir

    def gone(path):
        if path in ("/proc/50/fd", "/proc/51/fd"):
            found = plain(path) if path == "/proc/50/fd" else None
            node.end(int(path.split("/")[2]))
            return found or plain(path)
        return plain(path)

    node.listdir = gone
    assert look(node) == gpu_users.Users()


def test_a_number_that_another_process_has_meanwhile(node):
    node.start(50, "train", "/dev/nvidia0", begun=100)
    plain = node.readlink

    def other(path):
        found = plain(path)
        if path.startswith("/proc/50/fd/2"):
            node.start(50, "cat", begun=200)
        return found

    node.readlink = other
    found = look(node)
    assert found.users == ()
    assert found.unknown == (
        "whether process 50 (cat) uses a GPU (another process had this number when it was looked at)",
    )


def test_maps_that_hang_are_said_and_the_others_read(node):
    node.start(50, "ior")
    node.start(60, "train", maps=MAP)
    node.hangs = "50"
    found = look(node)
    assert [one.pid for one in found.users] == [60]
    assert found.unknown == ("whether process 50 (ior) uses a GPU (its maps gave no answer within 20 s)",)
    assert node.children == 2


def test_many_maps_that_hang_end_the_look(node):
    plain = node.run
    for pid in range(50, 60):
        node.start(pid, "ior")

    def hang(argv, timeout):
        node.hangs = next((word for word in argv[5:] if int(word) in range(50, 60)), None)
        return plain(argv, timeout)

    node.run = hang
    found = look(node)
    assert len(found.unknown) == 5
    assert found.unknown[-1] == "what 7 more processes have mapped (the maps of others hang)"


def test_a_child_that_does_not_run_is_no_idle_node(node):
    node.run = lambda argv, timeout: gpu_users.System().run(["/nonexistent"], timeout)
    assert look(node).unknown == ("what 2 processes have mapped (/nonexistent is not installed)",)


def test_a_proc_that_cannot_be_listed_is_an_error(node):
    node.unreadable["/proc"] = "Permission denied"
    with pytest.raises(SystemFailure, match="/proc could not be read: Permission denied"):
        look(node)


def test_thousands_of_processes_cost_one_child(node):
    for pid in range(1000, 4000):
        node.start(pid, "idle", maps=PLAIN)
    node.start(4000, "train", "/dev/nvidia0")
    found = look(node)
    assert [one.pid for one in found.users] == [4000]
    assert found.unknown == ()
    assert node.children == 1
