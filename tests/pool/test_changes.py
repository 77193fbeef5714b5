# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A changed variable is applied, all that is managed is noticed when broken by hand, and looking changes nothing."""

from __future__ import annotations

import collections
import typing as t

import pytest
from poollib import Pool

#: The bundle's repository of the driver once more, with another key: apt refuses every source.
SECOND_KEY = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://vendor.testbed/nvidia/ stable main"
TOOLKIT_CONFIG = "/etc/nvidia-container-runtime/config.toml"
#: What the roles manage, by the layer that answers for it: what breaks it by hand -> the check that must say so.
BREAKAGES: t.Dict[str, t.Dict[str, str]] = {
    "packages": {
        "rm /etc/apt/preferences.d/00goldennode": "packages.files",
        "echo '// mine' >> /etc/apt/apt.conf.d/51goldennode": "packages.files",
        "rm /etc/apt/sources.list.d/goldennode-nvidia.sources": "packages.files",
        "echo '%s' > /etc/apt/sources.list.d/nvidia.list" % SECOND_KEY: "packages.sources",
        "apt-mark unhold nvidia-container-toolkit": "packages.holds",
        "apt-mark unhold linux-image-amd64": "packages.holds",
        "apt-get install --yes nvidia-open=580.159.03-1": "packages.holds",
    },
    "host_driver": {
        "rm /etc/modprobe.d/goldennode-blacklist.conf": "host_driver.files",
        "rm /etc/dracut.conf.d/goldennode.conf": "host_driver.files",
        "echo '# mine' >> /etc/systemd/system/goldennode-uvm.service": "host_driver.files",
        "systemctl disable goldennode-uvm.service": "host_driver.units",
        "systemctl disable --now nvidia-persistenced.service": "host_driver.units",
        "touch /etc/initramfs-tools/conf.d/mine": "host_driver.initramfs",
    },
    "device_nodes": {
        "echo '# mine' >> /etc/modprobe.d/goldennode-nvidia.conf": "device_nodes.files",
        "rm /etc/udev/rules.d/70-goldennode-uvm.rules": "device_nodes.files",
        "chmod 0640 /dev/nvidia-uvm-tools": "device_nodes.modes",
        "rm /dev/char/195:255": "device_nodes.dev_char",
    },
    "container_runtime": {
        "sed -i 's/\"cdi\": *true/\"cdi\": false/' /etc/docker/daemon.json": "container_runtime.daemon_config",
        "mkdir -p /etc/cdi && mv /var/run/cdi/nvidia.yaml /etc/cdi/nvidia.yaml": "container_runtime.cdi_spec",
        "rm /etc/systemd/system/nvidia-cdi-refresh.service.d/goldennode.conf": "container_runtime.files",
        "sed -i 's/^no-cgroups = false/no-cgroups = true/' %s" % TOOLKIT_CONFIG: "container_runtime.toolkit_config",
        "sed -i '/^accept-nvidia-visible-devices-as-volume/d' %s" % TOOLKIT_CONFIG: "container_runtime.toolkit_config",
        "systemctl disable nvidia-cdi-refresh.path": "container_runtime.units",
        "systemctl disable docker.service": "container_runtime.units",
    },
    "image": {
        "docker image rm -f $(docker image ls -q)": "image.present",
    },
    "policy": {
        "rm /etc/ansible/facts.d/goldennode.fact": "policy.files",
        "chmod 0600 /etc/systemd/system/goldennode-agent.service": "policy.files",
        "systemctl disable goldennode-agent.service": "policy.units",
    },
}  # fmt: skip


def test_everything_that_a_role_manages_is_noticed_when_broken_by_hand(golden_a10: Pool) -> None:
    """Layer by layer on one node: each broken thing is named, none is passed over, and a run mends them all."""
    (node,) = golden_a10.nodes
    for layer, breakages in BREAKAGES.items():
        for command in breakages:
            node.ssh(command)
        looked = golden_a10.verify()
        row = looked.report[node.name]
        assert looked.rc != 0, "%s was not noticed\n%s" % (layer, looked.output)
        assert row["layer"] == layer, row
        said = collections.Counter(finding["id"] for finding in row["findings"])
        unsaid = collections.Counter(breakages.values()) - said
        assert not unsaid, "not noticed: %s; said was %s" % (dict(unsaid), row["findings"])
        mended = golden_a10.site()
        assert mended.rc == 0, "%s was not mended\n%s" % (layer, mended.output)


@pytest.mark.parametrize(
    ("variables", "shows"),
    [
        ({"docker_daemon_options": {"insecure-registries": ["vendor.testbed:5000"], "log-opts": {"max-size": "7m"}}},
         "docker info >/dev/null && grep -q 7m /etc/docker/daemon.json"),
        ({"device_access_users": ["alice"]}, "id -nG alice | grep -qw video"),
        # The probe then asks for GPUs by a mount, and would see none by the variable.
        ({"toolkit_multi_tenant": True}, "grep -q '^accept-.*-when-unprivileged = false' %s" % TOOLKIT_CONFIG),
    ],
    ids=["a log option", "a user", "tenants"],
)  # fmt: skip
def test_a_changed_variable_alone_is_applied(golden_a10: Pool, variables: dict, shows: str) -> None:
    (node,) = golden_a10.nodes
    before = {lock.name: lock.read_bytes() for lock in golden_a10.locks()}
    golden_a10.write_inventory(variables)
    assert node.ssh(shows, check=False).returncode != 0
    run = golden_a10.site()
    assert run.rc == 0, run.output
    assert run.recap(node.name)["changed"] > 0
    node.ssh(shows)
    assert {lock.name: lock.read_bytes() for lock in golden_a10.locks()} == before


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
    assert not bare_a10.locks()


def test_check_mode_tells_of_units_that_a_run_would_bring_back(golden_pair: Pool) -> None:
    node = golden_pair.nodes[1]
    units = "nvidia-persistenced.service goldennode-agent.service"
    node.ssh("systemctl disable %s && systemctl stop nvidia-persistenced.service" % units)
    told = golden_pair.site("--check", "--diff")
    assert told.rc == 0, told.output
    assert told.recap(node.name)["changed"] == 4, "the mark, two units to enable, one to start: %s" % told.output
    assert node.ssh("systemctl is-enabled %s" % units, check=False).stdout.split() == ["disabled"] * 2
    mended = golden_pair.site()
    assert mended.rc == 0, mended.output
    assert node.ssh("systemctl is-enabled %s" % units).stdout.split() == ["enabled"] * 2
    assert node.ssh("systemctl is-active nvidia-persistenced.service").stdout.strip() == "active"


def test_what_only_looks_changes_nothing_and_says_so(golden_pair: Pool) -> None:
    again = golden_pair.site()
    assert again.rc == 0, again.output
    looked = golden_pair.verify()
    for node in golden_pair.nodes:
        assert again.recap(node.name)["changed"] == 0
        assert looked.recap(node.name)["changed"] == 0


def test_case_039_sources_that_apt_refuses_are_set_aside_before_it_is_asked(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    folder = "/etc/apt/sources.list.d"
    mine = node.ssh("grep -m 1 '^deb ' /etc/apt/sources.list").stdout.strip()
    node.ssh("echo '%s' > %s/nvidia.list" % (SECOND_KEY, folder))
    node.ssh("printf '# mine\\n%s\\n%s\\n' > %s/all.list; chmod 0640 %s/all.list" % (mine, SECOND_KEY, folder, folder))
    refused = node.ssh("apt-get update --print-uris", check=False)
    assert "Conflicting values set for option Signed-By" in refused.stderr
    told = golden_a10.site("--check", "--diff")
    assert told.rc == 0, told.output
    assert "nvidia.list.disabled" in told.output
    assert node.ssh("cat %s/nvidia.list" % folder).stdout == SECOND_KEY + "\n", "check mode has changed it"
    mended = golden_a10.site()
    assert mended.rc == 0, mended.output
    assert node.ssh("cat %s/nvidia.list.disabled" % folder).stdout == SECOND_KEY + "\n"
    edited = "# mine\n%s\n# set aside by goldennode.gpu: %s\n" % (mine, SECOND_KEY)
    assert node.ssh("cat %s/all.list" % folder).stdout == edited
    assert node.ssh("stat -c %%a %s/all.list" % folder).stdout == "640\n"
    assert "Conflicting" not in node.ssh("apt-get update --print-uris", check=False).stderr
    again = golden_a10.site()
    assert (again.rc, again.recap(node.name)["changed"]) == (0, 0), again.output
