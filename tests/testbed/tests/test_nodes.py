# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real nodes from the real image: what a boot decides, what the played kernel refuses, what lasts and what does not."""

from __future__ import annotations

import subprocess
import typing as t

import pytest
from nodetools import A10, ask, build_modules, driver, eventually, tell
from simkernel import machine, nvidia
from simnodes import engine, faults, image, key, nodes, pool, shell, snapshots
from simnodes.pool import Node

BARE, DRIVEN = Node("nodetest1", "a10"), Node("nodetest2", "h100x8")
SNAPSHOT = "nodetest"


@pytest.fixture(scope="module", autouse=True)
def _started() -> t.Iterator[None]:
    engine.ensure()
    image_name = image.ensure()
    nodes.down([BARE.name, DRIVEN.name])
    nodes.ensure_network()
    nodes.up([BARE, DRIVEN], image_name)
    yield
    nodes.down([BARE.name, DRIVEN.name])
    snapshots.remove([SNAPSHOT])


@pytest.fixture(scope="module")
def kernels() -> t.Tuple[str, str]:
    """The kernel that a node boots by itself, and the other one."""
    cloud, plain = sorted(nodes.kernels(BARE.name), key=lambda release: "cloud" not in release)
    return plain, cloud


@pytest.fixture(scope="module")
def bare(_started: None) -> t.Iterator[Node]:
    """A node as nobody has touched it; it may be changed, and comes back by restore()."""
    snapshots.take(BARE.name, SNAPSHOT)
    return BARE


def restore(node: Node) -> None:
    snapshots.restore(node.name, SNAPSHOT)


@pytest.fixture(scope="module")
def driven(_started: None, kernels: t.Tuple[str, str]) -> Node:
    """A node with nouveau kept away and the stand-in modules 580.1.1 in place; no package of the vendor."""
    tell(DRIVEN, "echo 'blacklist nouveau' > /etc/modprobe.d/test.conf; update-initramfs -u -k %s" % kernels[0])
    build_modules(DRIVEN, "580.1.1", kernels[0])
    nodes.reboot(DRIVEN.name)
    return DRIVEN


class TestABareNode:
    """In this order: each test goes on from where the one before left the node."""

    def test_systemd_is_content(self, bare: Node) -> None:
        assert eventually(lambda: tell(bare, "systemctl is-system-running || true") == "running")

    def test_lspci_shows_the_profile_and_nothing_else(self, bare: Node) -> None:
        assert tell(bare, "lspci -n") == "17:00.0 0302: 10de:2236 (rev a1)"

    def test_nouveau_from_the_initramfs_holds_the_gpu(self, bare: Node) -> None:
        assert driver(bare) == "nouveau"
        assert tell(bare, "basename $(readlink /sys/bus/pci/devices/%s/driver)" % A10) == "nouveau"
        assert "nouveau" in tell(bare, "ls /sys/module")

    def test_a_blacklist_alone_does_not_keep_it_away(self, bare: Node) -> None:
        tell(bare, "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' > /etc/modprobe.d/test.conf")
        nodes.reboot(bare.name)
        assert driver(bare) == "nouveau"

    def test_with_a_rebuilt_initramfs_it_stays_away_from_the_next_boot_on(self, bare: Node) -> None:
        tell(bare, "update-initramfs -u -k all")
        assert driver(bare) == "nouveau"
        nodes.reboot(bare.name)
        assert driver(bare) is None
        assert "nouveau" not in tell(bare, "ls /sys/module; lsmod")

    def test_a_rebuilt_initramfs_alone_does_not_help_either(self, bare: Node) -> None:
        """The root's own modprobe.d counts for what the initramfs left alone."""
        tell(
            bare,
            """
            sed -i '/^nouveau/d' /etc/initramfs-tools/modules
            update-initramfs -u -k all
            rm /etc/modprobe.d/test.conf
            """,
        )
        nodes.reboot(bare.name)
        assert driver(bare) == "nouveau"

    def test_a_reset_brings_the_saved_node_back_with_its_port(self, bare: Node) -> None:
        before = nodes.port(bare.name), nodes.boot_id(bare.name)
        tell(bare, "echo changed > /root/changed; echo changed > /var/lib/docker/changed")
        restore(bare)
        assert tell(bare, "ls /root /var/lib/docker") == "/root:\n\n/var/lib/docker:"
        assert nodes.port(bare.name) == before[0]
        assert nodes.boot_id(bare.name) != before[1]


def test_a_reboot_is_a_new_boot(bare: Node) -> None:
    before = nodes.boot_id(bare.name)
    tell(bare, "touch /run/here /root/kept")
    nodes.reboot(bare.name)
    assert nodes.boot_id(bare.name) not in ("", before)
    assert tell(
        bare, "journalctl --boot --output=json --lines=1 | grep -o '_BOOT_ID\":\"[0-9a-f]*' | cut -d'\"' -f3"
    ) == (nodes.boot_id(bare.name).replace("-", ""))
    assert ask(bare, "test -e /run/here").returncode != 0
    assert ask(bare, "test -e /root/kept").returncode == 0


def test_without_power_a_node_is_gone_until_it_has_power_again(bare: Node) -> None:
    before = nodes.boot_id(bare.name)
    nodes.power(bare.name, "off")
    assert nodes.existing(bare.name)["State"]["Running"] is False
    nodes.power(bare.name, "on")
    assert nodes.boot_id(bare.name) not in ("", before)


def test_ssh_lets_three_users_in_and_one_of_them_sudo(bare: Node) -> None:
    def over_ssh(user: str, *command: str) -> subprocess.CompletedProcess[str]:
        return shell.run(*key.ssh_command(nodes.port(bare.name), user), *command, check=False)

    assert over_ssh("root", "id", "-u").stdout.strip() == "0"
    assert over_ssh("admin", "sudo", "-n", "id", "-u").stdout.strip() == "0"
    assert over_ssh("alice", "id", "-un").stdout.strip() == "alice"
    assert over_ssh("alice", "sudo", "-n", "true").returncode != 0


def test_up_again_changes_nothing_and_another_profile_is_refused(bare: Node) -> None:
    before = nodes.existing(bare.name)["Id"], nodes.boot_id(bare.name)
    nodes.up([bare], "unused")
    assert (nodes.existing(bare.name)["Id"], nodes.boot_id(bare.name)) == before
    with pytest.raises(shell.TestbedError, match="exists with the profile a10, not h100x8"):
        nodes.up([Node(bare.name, "h100x8")], "unused")


def test_the_other_kernel_boots_and_every_tool_follows(bare: Node, kernels: t.Tuple[str, str]) -> None:
    plain, cloud = kernels
    assert tell(bare, "uname -r") == plain
    nodes.boot(bare.name, cloud)
    try:
        for command in (
            "uname -r",
            "cat /proc/sys/kernel/osrelease",
            "python3 -c 'import platform; print(platform.release())'",
            "modinfo -F vermagic configfs | cut -d' ' -f1",
        ):
            assert tell(bare, command) == cloud
        assert driver(bare) is None, "the cloud kernel has no nouveau"
    finally:
        nodes.boot(bare.name, plain)
    assert tell(bare, "uname -r") == plain
    with pytest.raises(shell.TestbedError, match=r"has no kernel 6\.0\.0"):
        nodes.boot(bare.name, "6.0.0")


def test_modprobe_says_what_the_real_one_says(bare: Node, kernels: t.Tuple[str, str]) -> None:
    missing = ask(bare, "modprobe nvidia")
    assert missing.returncode == 1
    assert (
        missing.stderr.strip() == "modprobe: FATAL: Module nvidia not found in directory /lib/modules/%s" % kernels[0]
    )
    assert ask(bare, "modprobe -q nvidia").stderr == ""
    assert ask(bare, "modprobe overlay && modprobe br_netfilter && lsmod | grep -q ^bridge").returncode == 0
    assert ask(bare, "rmmod foo").stderr.strip() == "rmmod: ERROR: Module foo is not currently loaded"
    tell(bare, "rmmod nouveau; echo 'install nouveau /bin/false' > /etc/modprobe.d/test.conf")
    refused = ask(bare, "modprobe nouveau")
    assert refused.returncode == 1
    assert "could not insert" in refused.stderr
    assert driver(bare) is None
    as_user = ask(bare, "rm /etc/modprobe.d/test.conf; setpriv --reuid=alice --clear-groups modprobe nouveau")
    assert "Operation not permitted" in as_user.stderr
    tell(bare, "modprobe nouveau")
    assert driver(bare) == "nouveau"


class TestFaults:
    def test_a_missing_gpu_is_gone_at_once_and_after_a_reboot_until_it_is_switched_off(self, driven: Node) -> None:
        def gpus() -> int:
            return int(tell(driven, "lspci -n | grep -c ' 0302: 10de:'"))

        assert gpus() == 8
        faults.switch(driven.name, "gpu-missing", "on", ["3"])
        try:
            assert gpus() == 7
            nodes.reboot(driven.name)
            assert gpus() == 7
            assert "0000:61:00.0" not in tell(driven, "lspci -Dn; cat /run/simgpu/gpus")
            assert faults.active(driven.name) == ["gpu-missing"]
        finally:
            faults.switch(driven.name, "gpu-missing", "off", [])
        assert gpus() == 8
        assert len(tell(driven, "cat /run/simgpu/gpus").split()) == 8

    def test_a_lost_gpu_is_in_the_kernel_log(self, driven: Node) -> None:
        faults.switch(driven.name, "gpu-lost", "on", ["2", "values"])
        try:
            assert "NVRM: Xid (PCI:0000:52:00): 79" in tell(driven, "dmesg")
            assert tell(driven, "cat /run/simgpu/faults/gpu-lost") == "2 values"
        finally:
            faults.switch(driven.name, "gpu-lost", "off", [])
        assert ask(driven, "test -e /run/simgpu/faults/gpu-lost").returncode != 0

    def test_an_unknown_fault_is_refused(self, driven: Node) -> None:
        with pytest.raises(shell.TestbedError, match="no fault 'gpu-tired'"):
            faults.switch(driven.name, "gpu-tired", "on", [])


class TestADriver:
    def test_it_is_loaded_at_boot_by_the_devices(self, driven: Node) -> None:
        assert driver(driven, "0000:1b:00.0") == "nvidia"
        assert driver(driven, "0000:07:00.0") == "nvidia-nvswitch"
        assert tell(driven, "cat /sys/module/nvidia/version") == "580.1.1"
        banner = tell(driven, "head -1 /proc/driver/nvidia/version")
        assert banner.startswith("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.1.1  ")
        assert "195 nvidia" in tell(driven, "cat /proc/devices")
        assert "nvidia-uvm" not in tell(driven, "cat /proc/devices")

    def test_options_are_read_when_it_is_loaded_and_shown_in_decimal(self, driven: Node) -> None:
        def mode() -> str:
            return tell(driven, "grep -w DeviceFileMode /proc/driver/nvidia/params")

        assert mode() == "DeviceFileMode: 438"
        for written, shown in (("0660", 432), ("666", 666)):
            tell(driven, "echo 'options nvidia NVreg_DeviceFileMode=%s' > /etc/modprobe.d/mode.conf" % written)
            before = mode()
            tell(driven, "modprobe nvidia")
            assert mode() == before, "a loaded module keeps its options"
            tell(driven, "rmmod nvidia; modprobe nvidia")
            assert mode() == "DeviceFileMode: %d" % shown
        tell(driven, "rm /etc/modprobe.d/mode.conf; rmmod nvidia; modprobe nvidia")

    def test_an_upgraded_file_does_not_change_the_loaded_module(self, driven: Node, kernels: t.Tuple[str, str]) -> None:
        build_modules(driven, "580.2.2", kernels[0])
        assert tell(driven, "modinfo -F version nvidia; cat /sys/module/nvidia/version") == "580.2.2\n580.1.1"
        # The new uvm does not fit the old core.
        assert "Invalid argument" in ask(driven, "modprobe nvidia-uvm").stderr
        tell(driven, "rmmod nvidia; modprobe nvidia")
        assert tell(driven, "cat /sys/module/nvidia/version") == "580.2.2"

    def test_a_module_of_another_kernel_is_refused(self, driven: Node, kernels: t.Tuple[str, str]) -> None:
        nodes.boot(driven.name, kernels[1])
        try:
            assert "not found in directory" in ask(driven, "modprobe nvidia").stderr
            foreign = ask(driven, "insmod /lib/modules/%s/updates/nvidia.ko" % kernels[0])
            assert "Exec format error" in foreign.stderr
            assert "version magic" in tell(driven, "dmesg")
        finally:
            nodes.boot(driven.name, kernels[0])

    def test_udev_hears_of_the_module_and_never_of_its_nodes(self, driven: Node) -> None:
        tell(
            driven,
            """
            cat > /etc/udev/rules.d/70-test.rules <<'RULES'
            KERNEL=="nvidia-uvm*", RUN+="/bin/touch /run/node"
            ACTION=="add", SUBSYSTEM=="module", DEVPATH=="/module/nvidia_uvm", RUN+="/bin/touch /run/module-%k"
            ATTR{vendor}=="0x10de", DRIVER=="nvidia", TEST!="/dev/nvidiactl", RUN+="/bin/touch /run/bound-%k"
            RULES
            sed -i 's/^ *//' /etc/udev/rules.d/70-test.rules
            rmmod nvidia
            modprobe nvidia
            modprobe nvidia-uvm
            """,
        )
        assert eventually(lambda: ask(driven, "test -e /run/module-nvidia_uvm").returncode == 0)
        assert ask(driven, "test -e /run/bound-0000:1b:00.0").returncode == 0
        assert ask(driven, "test -e /run/node").returncode != 0
        in_use = ask(driven, "rmmod nvidia")
        assert in_use.stderr.strip() == "rmmod: ERROR: Module nvidia is in use by: nvidia_uvm"

    def test_nouveau_keeps_it_from_the_gpus(self, driven: Node) -> None:
        tell(driven, "rmmod nvidia_uvm nvidia; modprobe nouveau")
        refused = ask(driven, "modprobe nvidia")
        assert refused.stderr.strip() == "modprobe: ERROR: could not insert 'nvidia': No such device"
        assert "NVRM: The NVIDIA probe routine was not called for 8 device(s)." in tell(driven, "dmesg")
        tell(driven, "rmmod nouveau")

    def test_a_stale_module_in_the_initramfs_wins_over_the_one_on_disk(
        self, driven: Node, kernels: t.Tuple[str, str]
    ) -> None:
        tell(driven, "echo nvidia >> /etc/initramfs-tools/modules; update-initramfs -u -k %s" % kernels[0])
        build_modules(driven, "580.3.3", kernels[0])
        nodes.reboot(driven.name)
        assert tell(driven, "cat /sys/module/nvidia/version; modinfo -F version nvidia") == "580.2.2\n580.3.3"


# --- without a node ------------------------------------------------------------------------------------------------


def test_the_pool_is_read_from_the_inventory() -> None:
    assert pool.read_pool(pool.POOL) == [
        Node("canary1", "a10", 22221),
        Node("node1", "a10", 22222),
        Node("node2", "h100x8", 22223),
    ]


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("node1=a10", Node("node1", "a10")),
        ("node1=a10:22222", Node("node1", "a10", 22222)),
        ("node1=a10@ubuntu-24.04", Node("node1", "a10", 0, "ubuntu-24.04")),
        ("node1=a10@ubuntu-24.04:22222", Node("node1", "a10", 22222, "ubuntu-24.04")),
        ("node1=a10@debian-13", Node("node1", "a10")),
        ("node1=a10@debian-12", Node("node1", "a10", 0, "debian-12")),
    ],
)
def test_a_node_of_the_command_line(text: str, node: Node) -> None:
    assert pool.parse_node(text) == node


def test_an_unknown_system_names_the_known_ones() -> None:
    with pytest.raises(shell.TestbedError, match=r"no system 'rocky-9': there are debian-13, debian-12, ubuntu-24\.04"):
        pool.parse_node("node1=a10@rocky-9")


@pytest.mark.parametrize("text", ["node1", "node1=", "=a10", "node1=a10:ssh", "Node=a10", "node1=a10@"])
def test_a_malformed_node_is_named(text: str) -> None:
    with pytest.raises(shell.TestbedError, match="is no node: wanted is NODE=PROFILE"):
        pool.parse_node(text)


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(
        shell.TestbedError, match=r"no profile 'h900': there are a10, a100-mig, h100x8, l4x4, p40, rtxpro6000"
    ):
        Node("node1", "h900").hardware()


@pytest.mark.parametrize(("text", "number"), [("0660", 432), ("660", 660), ("0x1b0", 432), ("0", 0)])
def test_numbers_are_read_as_the_kernel_reads_them(text: str, number: int) -> None:
    assert nvidia.kernel_number(text) == number


def test_kernels_sort_by_their_numbers() -> None:
    releases = ["6.12.57+deb13-amd64", "6.12.9+deb13-amd64", "6.1.0-40-amd64"]
    assert sorted(releases, key=machine.version_key) == releases[::-1]
