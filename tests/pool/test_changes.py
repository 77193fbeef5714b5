# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A changed variable is applied, all that is managed is noticed when broken by hand, and looking changes nothing."""

from __future__ import annotations

import pytest
from poollib import Pool

#: What a role manages, broken by hand -> the layer that the look must name.
BREAKAGES = {
    "rm /etc/modprobe.d/goldennode-blacklist.conf": "host_driver",
    "echo '# mine' >> /etc/modprobe.d/goldennode-nvidia.conf": "device_nodes",
    "rm /etc/udev/rules.d/70-goldennode-uvm.rules": "device_nodes",
    "rm /etc/apt/preferences.d/goldennode": "packages",
    "echo '// mine' >> /etc/apt/apt.conf.d/51goldennode": "packages",
    "rm /etc/apt/sources.list.d/goldennode-*.sources": "packages",
    "apt-mark unhold nvidia-container-toolkit": "packages",
    "echo '# mine' >> /etc/systemd/system/goldennode-uvm.service": "host_driver",
    "systemctl disable goldennode-uvm.service": "host_driver",
    "systemctl disable --now nvidia-persistenced.service": "host_driver",
    "systemctl stop docker.socket docker.service": "container_runtime",
    "touch -d '+1 hour' /etc/docker/daemon.json && "
    "sed -i 's/\"cdi\": *true/\"cdi\": false/' /etc/docker/daemon.json": "container_runtime",
    "rm -f /var/run/cdi/nvidia.yaml /etc/cdi/nvidia.yaml": "container_runtime",
    "touch /etc/initramfs-tools/conf.d/mine": "host_driver",
    "rm /etc/ansible/facts.d/goldennode.fact": "policy",
    "systemctl disable goldennode-agent.service": "policy",
    "chmod 0600 /etc/systemd/system/goldennode-agent.service": "policy",
}  # fmt: skip


def test_everything_that_a_role_manages_is_noticed_when_broken_by_hand(golden_a10: Pool) -> None:
    """One after the other on one node, each mended by a run: what a look misses stays broken and fails the next."""
    (node,) = golden_a10.nodes
    for command, layer in BREAKAGES.items():
        node.ssh(command)
        looked = golden_a10.verify()
        row = looked.report[node.name]
        assert looked.rc != 0, "%s was not noticed\n%s" % (command, looked.output)
        assert row["layer"] == layer, "%s: %s" % (command, row)
        mended = golden_a10.site()
        assert mended.rc == 0, "%s was not mended\n%s" % (command, mended.output)


@pytest.mark.parametrize(
    ("variables", "shows"),
    [
        ({"docker_daemon_options": {"insecure-registries": ["vendor.testbed:5000"], "log-opts": {"max-size": "7m"}}},
         "docker info >/dev/null && grep -q 7m /etc/docker/daemon.json"),
        ({"device_access_users": ["alice"]}, "id -nG alice | grep -qw video"),
    ],
    ids=["a log option", "a user"],
)  # fmt: skip
def test_a_changed_variable_alone_is_applied(golden_a10: Pool, variables: dict, shows: str) -> None:
    (node,) = golden_a10.nodes
    lock = golden_a10.site().rc  # the lock is written by the snapshot's bundle; make sure that it is there
    assert lock == 0
    before = {f.name: f.read_bytes() for f in golden_a10.bundle.parent.glob("*.lock.json")}
    golden_a10.write_inventory(variables)
    assert node.ssh(shows, check=False).returncode != 0
    run = golden_a10.site()
    assert run.rc == 0, run.output
    assert run.recap(node.name)["changed"] > 0
    node.ssh(shows)
    assert {f.name: f.read_bytes() for f in golden_a10.bundle.parent.glob("*.lock.json")} == before


def test_check_mode_on_a_bare_node_tells_all_and_changes_nothing(bare_a10: Pool) -> None:
    (node,) = bare_a10.nodes
    state = (
        "find /etc /usr/lib/systemd /var/lib/dpkg/status /boot -newer /tmp/before ! -path '/etc/resolv.conf' -type f; "
        "dpkg -l | md5sum; ls -R /dev | md5sum"
    )
    node.ssh("touch /tmp/before")
    before = node.ssh(state).stdout
    run = bare_a10.run("site", "--check", "--diff")
    assert run.rc == 0, run.output
    for word in (
        "nvidia-container-toolkit",
        "docker-ce",
        "goldennode-blacklist.conf",
        "nvidia-kernel-open-dkms",
        "blacklist nouveau",
    ):
        assert word in run.output, word
    assert run.recap(node.name)["changed"] > 0
    assert node.ssh(state).stdout == before
    assert not list(bare_a10.bundle.parent.glob("*.lock.json"))


def test_what_only_looks_changes_nothing_and_says_so(golden_pair: Pool) -> None:
    again = golden_pair.site()
    assert again.rc == 0, again.output
    looked = golden_pair.verify()
    for node in golden_pair.nodes:
        assert again.recap(node.name)["changed"] == 0
        assert looked.recap(node.name)["changed"] == 0
