# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that dies at any point leaves a node that says not golden; one more run ends golden, with all really done."""

from __future__ import annotations

import pytest
from poollib import Pool

#: After all has been done and before it is said: the task that is announced when the run dies.
BOUNDARIES = ["Mark the node golden"]

#: Every other place where one thing is done and the next is not.
MORE_BOUNDARIES = [
    "Write the units of the driver",
    "Rebuild each initramfs",
    "Install and hold the kernel of the lock",
    "Blacklist the drivers",
    "Look up the group",
    "Install and hold at exactly the versions of the lock: driver",
    "Install and hold at exactly the versions of the lock: Docker",
    "Start the engine now and at boot",
    "Install and hold at exactly the versions of the lock: toolkit",
    "Merge the wanted settings into daemon.json",
    "Keep the CDI specification fresh",
    "Install the agent and the local fact",
    "Tell the agent",
]


@pytest.mark.parametrize("task", BOUNDARIES + [pytest.param(task, marks=pytest.mark.slow) for task in MORE_BOUNDARIES])
def test_a_killed_run_never_leaves_a_golden_node(bare_a10: Pool, task: str) -> None:
    (node,) = bare_a10.nodes
    bare_a10.run_killed_at(task)
    mark = node.mark()
    assert mark is None or mark["state"] != "golden"
    if node.ssh("test -x /etc/ansible/facts.d/goldennode.fact", check=False).returncode == 0:
        assert not node.fact()["golden"]
    run = bare_a10.site()
    assert run.rc == 0, run.output
    assert node.fact()["golden"]


def test_killed_between_the_write_and_the_restart_docker_is_really_restarted(golden_a10: Pool) -> None:
    """The file is as wanted and the daemon is not: only state can tell."""
    (node,) = golden_a10.nodes
    started = "systemctl show -p ExecMainStartTimestampMonotonic --value docker"
    node.ssh(
        "cp -a /etc/docker/daemon.json /root/ && echo '{}' > /etc/docker/daemon.json && systemctl restart docker "
        "&& cp -a /root/daemon.json /etc/docker/daemon.json && touch /etc/docker/daemon.json",
        timeout=120,
    )
    before = node.ssh(started).stdout
    run = golden_a10.site()
    assert run.rc == 0, run.output
    assert node.ssh(started).stdout != before
    assert "nvidia" in node.ssh("docker info --format '{{json .Runtimes}}'").stdout


def test_killed_between_the_write_and_the_rebuild_the_initramfs_is_really_rebuilt(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    image = "stat -c '%n %Y %i' /boot/initrd.img-*"
    node.ssh("echo 'options nvidia NVreg_Test=1' > /etc/modprobe.d/mine.conf")
    before = node.ssh(image).stdout
    run = golden_a10.site()
    assert run.rc == 0, run.output
    after = node.ssh(image).stdout
    assert all(line not in after for line in before.splitlines())
