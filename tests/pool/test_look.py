# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looking returns within its limit with a finding, and never makes what it looks for."""

from __future__ import annotations

import shlex
import typing as t

from poollib import Node, Pool, bed

#: A full look, single GPUs too, as the agent's own code takes it; the judge says that it was whole.
LOOK = """
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, "/usr/local/lib/goldennode/agent.pyz")
from goldennode.mark import State
from goldennode.probe.host import LocalHost
from goldennode.probe.look import look
from goldennode.verdict import run
stored = State().stored().value
evidence = look(LocalHost(), stored.desired, single_gpus=True)
print("golden" if run(stored.desired, evidence, stored.expected_gpus).golden else evidence)
"""

#: What a container leaves while it lives and when it is removed, and what the node writes of itself meanwhile: its log,
#: of logins and of what was run, and the engine's and systemd's own books.
OTHERS = (
    *("/var/lib/docker", "/var/lib/containerd", "/run/docker", "/run/containerd", "/run/systemd", "/run/log"),
    *("/var/log", "/var/lib/systemd", "/run/utmp", "/run/user", "/run/sudo", "/run/netns", "/run/sshd"),
    "/run/motd.dynamic",
)
#: Where programs make files and take them away again, as dkms does whatever it is asked: their own times move.
PASSAGES = ("/run", "/tmp")


def test_a_hanging_nvidia_smi_is_a_finding(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    bed("fault", node.name, "smi-hang", "on")
    run = golden_a10.verify()
    assert run.rc != 0
    row = run.report[node.name]
    assert row["layer"] == "host_driver"
    assert "nvidia-smi" in row["reason"]


def test_a_missing_uvm_node_is_said_and_not_made(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    bed("damage", node.name, "uvm-missing")
    run = golden_a10.verify()
    assert run.rc != 0
    assert run.report[node.name]["layer"] == "device_nodes"
    assert "nvidia-uvm" in run.report[node.name]["reason"]
    assert node.ssh("ls /dev/nvidia-uvm", check=False).returncode != 0
    # The very fake that would make it for root: this proves that the look could have gone wrong.
    node.ssh("python3 -c 'import ctypes; ctypes.CDLL(\"libcuda.so.1\").cuInit(0)'")
    node.ssh("ls /dev/nvidia-uvm")


def files(node: Node) -> t.Set[str]:
    """Every file and folder of the node's root, of /run, /tmp and /dev: its place, kind, owner, size and times."""
    skipped = " -o ".join("-path %s" % shlex.quote(path) for path in OTHERS)
    show = "%p %y %i %m %u %g %s %T@ %C@ %l\\n"
    find = "find / /run /tmp /dev /dev/char -xdev \\( %s \\) -prune -o -printf '%s'" % (skipped, show)
    found = node.ssh(find, timeout=180).stdout.splitlines()
    return {line for line in found if line.split()[0] not in PASSAGES}


def processes(node: Node) -> t.Set[str]:
    """Those that last: number, start and command; not the kernel's threads, and not who asks."""
    listed = node.ssh("ps -e -o pid=,ppid=,lstart=,comm=").stdout.splitlines()
    passing = ("ps", "sshd", "sshd-session", "sh", "bash", "(sd-pam)", "systemd", "sd-pam", "systemd-userwor")
    return {line for line in listed if line.split()[-1] not in passing}


def test_a_full_look_changes_nothing(golden_a10: Pool) -> None:
    """File system, /dev and processes are the same before and after, and no container is left."""
    (node,) = golden_a10.nodes
    ask = "python3 -I -c %s" % shlex.quote(LOOK)
    assert node.ssh(ask).stdout.strip() == "golden"  # what the first one of a boot has the engine start stays
    before = files(node), processes(node), node.ssh("docker ps --all --quiet; docker image ls --quiet").stdout
    assert node.ssh(ask).stdout.strip() == "golden"
    after = files(node), processes(node), node.ssh("docker ps --all --quiet; docker image ls --quiet").stdout
    assert sorted(before[0] ^ after[0]) == []
    assert sorted(before[1] ^ after[1]) == []
    assert before[2] == after[2]
    # The comparison would have seen it.
    node.ssh("touch /etc/hostname && mknod /dev/nvidia9 c 195 9")
    assert {line.split()[0] for line in files(node) ^ before[0]} >= {"/etc/hostname", "/dev/nvidia9"}
