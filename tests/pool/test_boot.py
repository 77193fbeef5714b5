# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What boots next, and what loads without a boot: a new driver by consent, where nothing uses the old one."""

from __future__ import annotations

import contextlib
import typing as t

import pytest
from poollib import Node, Pool, bed

pytestmark = pytest.mark.boot

OLD, NEW = "580.159.03", "580.178.04"
BOOT_ID = "cat /proc/sys/kernel/random/boot_id"
LOADED = "cat /sys/module/nvidia/version"

#: Without consent to a reboot; that to a reload is said by each test.
NO_REBOOT = {"golden_allow_reboot": False}

#: Opened as a place only (O_PATH): behind the simulated node there is no driver that would answer to more.
HOLDER = "import os, time; f = os.open('/dev/nvidiactl', os.O_PATH); time.sleep(600)"


@contextlib.contextmanager
def held(node: Node) -> t.Iterator[str]:
    """A process that has a device node of the driver open; its number."""
    pid = node.ssh('nohup python3 -c "%s" >/dev/null 2>&1 & echo $!' % HOLDER).stdout.strip()
    try:
        yield pid
    finally:
        node.ssh("kill %s" % pid, check=False)


def test_an_idle_driver_is_upgraded_and_loaded_anew_without_a_reboot(golden_a10: Pool) -> None:
    """In use it is not touched, and who uses it is named; once that has ended, the same run goes through."""
    (node,) = golden_a10.nodes
    boot = node.ssh(BOOT_ID).stdout
    services = "systemctl is-active nvidia-persistenced.service goldennode-uvm.service docker.service"
    golden_a10.bundle = golden_a10.bundle.with_name("sim-b.yml")
    golden_a10.write_inventory()

    with held(node) as pid:
        refused = golden_a10.site(**NO_REBOOT, driver_allow_reload=True)
        assert refused.rc != 0
        message = refused.report[node.name]["message"]
        assert "in use: python3 (pid %s) has /dev/nvidiactl open" % pid in message
        assert "golden_allow_reboot=true" in message
        assert node.ssh(LOADED).stdout.strip() == OLD
        assert node.ssh(services).stdout.split() == ["active"] * 3

    without = golden_a10.site(**NO_REBOOT)
    assert without.rc != 0
    assert "driver_allow_reload=true" in without.report[node.name]["message"]

    run = golden_a10.site(**NO_REBOOT, driver_allow_reload=True)
    assert run.rc == 0, run.output
    assert node.ssh(LOADED).stdout.strip() == NEW
    assert node.ssh(BOOT_ID).stdout == boot
    assert node.ssh(services).stdout.split() == ["active"] * 3
    assert node.fact()["golden"]
    again = golden_a10.site(**NO_REBOOT, driver_allow_reload=True)
    assert again.rc == 0, again.output
    assert again.recap(node.name)["changed"] == 0

    bed("reboot", node.name)
    node.wait("golden after a reboot", node.is_golden)


def test_the_kernel_of_the_lock_boots_next_whatever_the_users_default_is(golden_a10: Pool) -> None:
    """His own setting stays where it is. A word for the kernel's command line comes into force by one reboot."""
    (node,) = golden_a10.nodes
    release, boot = node.ssh("uname -r").stdout.strip(), node.ssh(BOOT_ID).stdout
    kernels = node.ssh("ls /boot | sed -n 's/^vmlinuz-//p'").stdout.split()
    other = next(kernel for kernel in kernels if kernel != release)
    title = "Advanced options for Debian GNU/Linux>Debian GNU/Linux, with Linux " + other
    node.ssh("echo 'GRUB_DEFAULT=\"%s\"' >> /etc/default/grub && update-grub" % title)

    looked = golden_a10.verify()
    assert looked.report[node.name]["layer"] == "host_driver", looked.output
    assert "The next boot does not start the lock's kernel" in looked.report[node.name]["reason"]

    run = golden_a10.site(**NO_REBOOT)
    assert run.rc == 0, run.output
    assert node.ssh(BOOT_ID).stdout == boot
    assert title in node.ssh("cat /etc/default/grub").stdout

    golden_a10.write_inventory({"kernel_arguments": ["iommu=pt"]})
    run = golden_a10.site()
    assert run.rc == 0, run.output
    assert node.ssh("uname -r").stdout.strip() == release
    assert node.ssh(BOOT_ID).stdout != boot
    assert "iommu=pt" in node.ssh("cat /proc/cmdline").stdout.split()
    again = golden_a10.site()
    assert again.recap(node.name)["changed"] == 0, again.output

    golden_a10.write_inventory()
    assert golden_a10.site(**NO_REBOOT).rc == 0
    assert "iommu=pt" not in node.ssh("cat /boot/grub/grub.cfg").stdout


def test_a_bare_node_without_nouveau_on_another_kernel_than_the_locks_becomes_golden(bare_a10: Pool) -> None:
    """Nothing holds the GPU, and the running kernel gets no module: the reboot comes before the driver is loaded."""
    (node,) = bare_a10.nodes
    kernels = bed("kernel-list", node.name).stdout.split()
    node.ssh("echo 'blacklist nouveau' > /etc/modprobe.d/mine.conf && update-initramfs -u -k all", timeout=300)
    bed("boot", node.name, "--kernel", kernels[0], "--once")
    assert node.ssh("uname -r").stdout.strip() == kernels[0] != kernels[-1]
    assert node.ssh("ls -d /sys/module/nouveau", check=False).returncode != 0
    run = bare_a10.site()
    assert run.rc == 0, run.output
    assert node.fact()["golden"]
