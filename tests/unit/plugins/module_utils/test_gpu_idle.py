# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs are waited for, stopped by consent alone, and never another one in their place."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import gpu_idle
from ansible_collections.goldennode.gpu.plugins.module_utils.gpu_idle import Node, Wish, settle
from ansible_collections.goldennode.gpu.tests.unit.gpu_processes import FakeNode

TERM, KILL = int(signal.SIGTERM), int(signal.SIGKILL)
BUSY = "the GPUs are in use: train (pid 50, user alice) has /dev/nvidia0. "


@pytest.fixture
def node(tmp_path):
    return FakeNode(tmp_path)


@pytest.fixture
def busy(node):
    node.start(50, "train", "/dev/nvidia0")
    return node


def stopped(result):
    return [one.pid for one in result.stopped]


def test_an_idle_node_is_not_waited_for(node):
    result = settle(node, Wish(wait=600, stop=True))
    assert (result.changed, result.busy, result.stopped, node.clock) == (False, "", (), 0)


def test_a_look_alone_names_and_ends_nothing(busy):
    result = settle(busy, Wish())
    assert (result.changed, busy.sent, busy.clock) == (False, [], 0)
    assert result.busy == BUSY + "Wait for them to end, or stop them (kill 50)."


def test_where_each_is_stopped(busy):
    busy.start(51, "a", "/dev/nvidia0", cgroup="/system.slice/docker-%s.scope" % ("3f" * 32))
    busy.start(52, "b", "/dev/nvidia0", cgroup="/system.slice/jupyter.service")
    busy.start(53, "c", "/dev/nvidia0", cgroup="/system.slice/jupyter.service")
    advice = "stop them (kill 50; docker stop 3f3f3f3f3f3f; systemctl stop jupyter.service)."
    assert settle(busy, Wish()).busy.endswith(advice)


def test_one_that_ends_in_time_is_waited_for(busy):
    busy.then = lambda: busy.clock >= 4 and os.path.exists(busy.real("/proc/50")) and busy.end(50)
    result = settle(busy, Wish(wait=60, stop=True))
    assert (result.changed, result.busy, busy.sent, busy.clock) == (False, "", [], 4)


def test_one_that_does_not_end_in_time_is_left(busy):
    result = settle(busy, Wish(wait=7))
    assert result.busy.startswith(BUSY)
    assert (busy.sent, busy.clock) == ([], 7)


def test_by_consent_it_is_asked_to_end(busy):
    result = settle(busy, Wish(wait=2, stop=True))
    assert (result.changed, result.busy, stopped(result)) == (True, "", [50])
    assert (busy.sent, busy.clock) == ([(50, TERM)], 2)


def test_one_that_does_not_listen_is_killed_after_its_time(busy):
    busy.immune = {50}

    def die():
        if (50, KILL) in busy.sent:
            busy.end(50)
            busy.then = lambda: None

    busy.then = die
    result = settle(busy, Wish(stop=True, grace=10))
    assert (result.busy, stopped(result)) == ("", [50])
    assert (busy.sent, busy.clock) == ([(50, TERM), (50, KILL)], 12)


def test_the_nodes_services_are_not_stopped(node):
    node.start(50, "nv-hostengine", "/dev/nvidia0", cgroup="/system.slice/nvidia-dcgm.service")
    assert settle(node, Wish(stop=True)).busy == ""
    assert node.sent == []


def test_init_ourselves_and_who_started_us_are_never_stopped(node):
    node.start(1, "systemd", "/dev/nvidia0", uid=0)
    node.start(800, "sshd", "/dev/nvidia0", uid=0)
    node.start(900, "python3", "/dev/nvidia0", parent=800, uid=0)
    node.start(901, "train", "/dev/nvidia0")
    result = settle(node, Wish(stop=True))
    assert node.sent == [(901, TERM)]
    assert result.busy.endswith(
        "pid 1, 800, 900 is never stopped: it is the node's init, or this run's own: end what it does with the GPUs."
    )


def test_parents_that_go_round_end(node):
    node.start(800, "a", parent=900)
    node.start(900, "python3", parent=800)
    node.start(50, "train", "/dev/nvidia0")
    assert settle(node, Wish(stop=True)).busy == ""


def test_one_that_hangs_in_the_kernel_is_named_and_not_waited_for(node):
    node.start(50, "train", "/dev/nvidia0", state="D")
    result = settle(node, Wish(wait=3600))
    assert node.clock == gpu_idle.STUCK_LOOKS * gpu_idle.POLL
    assert "pid 50 hangs in the kernel (D state), where no signal reaches it: only a reboot ends it." in result.busy


def test_one_that_waits_for_a_disk_and_works_is_waited_for(node):
    def work():
        node.start(50, "train", "/dev/nvidia0", state="D", ticks=int(node.clock))

    work()
    node.then = work
    settle(node, Wish(wait=100))
    assert node.clock == 100


def test_signals_to_one_that_hangs_are_sent_and_it_is_named(node):
    node.start(50, "train", "/dev/nvidia0", state="D")
    node.immune = {50}
    result = settle(node, Wish(stop=True, grace=3600))
    assert node.sent == [(50, TERM), (50, KILL)]
    assert "only a reboot ends it" in result.busy
    assert node.clock < 60


def test_one_that_survives_sigkill_is_told(busy):
    busy.immune = {50}
    result = settle(busy, Wish(stop=True, grace=1))
    assert result.busy == BUSY + "pid 50 was sent SIGKILL and is still there: look at /proc/PID/stack."


def test_what_is_started_again_is_named_with_what_starts_it(node):
    unit = "/system.slice/trainer.service"
    node.start(50, "train", "/dev/nvidia0", cgroup=unit)
    pids = iter(range(51, 100))
    plain = node.signal

    def restart(pid, start, number):
        sent = plain(pid, start, number)
        node.start(next(pids), "train", "/dev/nvidia0", cgroup=unit)
        return sent

    node.signal = restart
    result = settle(node, Wish(stop=True, grace=4))
    assert stopped(result) == [50, 51]
    assert result.busy == (
        "the GPUs are in use: train (pid 52, user alice, of trainer.service) has /dev/nvidia0. pid 52 came after "
        "others were stopped: stop what starts it (systemctl stop trainer.service)."
    )


def test_what_is_not_known_is_not_stopped_and_no_idle_node(node):
    node.start(50, "train")
    node.unreadable["/proc/50/fd"] = "Permission denied"
    result = settle(node, Wish(stop=True))
    assert (node.sent, result.changed) == ([], False)
    assert result.busy.startswith("the GPUs are in use: it is not known whether process 50 (train) uses a GPU (/proc")


def test_a_process_that_may_not_be_ended_is_left_and_named(busy):
    def refuse(pid, start, number):
        raise PermissionError(1, "Operation not permitted")

    busy.signal = refuse
    result = settle(busy, Wish(stop=True, grace=0))
    assert (result.changed, stopped(result)) == (False, [])
    assert result.busy.startswith(BUSY)


def test_check_mode_tells_who_would_be_stopped_and_waits_for_nobody(busy):
    busy.start(1, "systemd", "/dev/nvidia0", uid=0)
    result = settle(busy, Wish(wait=600, stop=True, check_mode=True))
    assert (result.changed, stopped(result), busy.sent, busy.clock) == (True, [50], [], 0)
    assert result.busy.startswith("the GPUs are in use: systemd (pid 1, user root) has /dev/nvidia0. pid 1 is never")
    assert "(pid 50" not in result.busy


# --- on this machine, with a process of the test's own ---------------------------------------------------------------


@pytest.fixture
def child():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait(10)


def test_a_signal_reaches_the_process_that_was_seen(child):
    node = Node()
    start = node.started(child.pid)
    assert node.signal(child.pid, start, signal.SIGTERM)
    assert child.wait(10) == -signal.SIGTERM
    assert not node.signal(child.pid, start, signal.SIGTERM)


def test_a_signal_does_not_reach_another_one_with_its_number(child):
    node = Node()
    assert not node.signal(child.pid, (node.started(child.pid) or 0) - 1, signal.SIGKILL)
    assert child.poll() is None


@pytest.mark.parametrize("error", [AttributeError("pidfd_open"), OSError(errno.ENOSYS, "x"), OSError(errno.EPERM, "x")])
def test_without_handles_of_processes_the_start_is_compared_all_the_same(child, monkeypatch, error):
    def missing(_pid):
        raise error

    node = Node()
    start = node.started(child.pid)
    monkeypatch.setattr(os, "pidfd_open", missing, raising=False)
    assert not node.signal(child.pid, start + 1, signal.SIGKILL)
    assert node.signal(child.pid, start, signal.SIGKILL)
    assert child.wait(10) == -signal.SIGKILL


def test_a_number_that_nobody_has(child):
    child.kill()
    child.wait(10)
    assert not Node().signal(child.pid, 1, signal.SIGKILL)


def test_this_machine_can_be_looked_at():
    """Whatever runs here, and whoever we are: an answer, and this process in it as nobody's GPU user."""
    result = settle(Node(), Wish())
    assert os.getpid() not in [one.pid for one in result.left.users]
    assert result.left.idle == (result.busy == "")
