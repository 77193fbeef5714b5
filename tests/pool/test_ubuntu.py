# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ubuntu's own packages: its kernel, the server driver, and the modules of it that Canonical has built and signed.

The node is Debian's with Ubuntu's name and a played archive (tests/testbed/README.md): what is proven here is which
packages are chosen, pinned, held and moved together, and that the node boots and verifies with them.
"""

from __future__ import annotations

import json
import re
import typing as t

import pytest
from poollib import Node, Pool, bed

pytestmark = pytest.mark.packages

OLD_KERNEL, NEW_KERNEL = "6.8.0-79-generic", "6.8.0-84-generic"
OLD_DRIVER, NEW_DRIVER = "580.159.03", "580.178.04"
MODULES = "linux-modules-nvidia-580-server-open-%s"
SETTINGS = "/etc/systemd/system/nvidia-persistenced.service.d"
BOOT_ID = "cat /proc/sys/kernel/random/boot_id"


def installed(node: Node) -> t.Dict[str, str]:
    """Full version by name of all that is installed."""
    lines = node.ssh("dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\\n'").stdout.splitlines()
    words = (line.split() for line in lines)
    return {name: version for name, version, status in words if status == "installed"}


def awake(node: Node) -> bool:
    """Whether the daemon keeps the GPU awake, as NVML tells it."""
    return node.ssh("nvidia-smi --query-gpu=persistence_mode --format=csv,noheader").stdout.strip() == "Enabled"


def versions(node: Node) -> t.Dict[str, str]:
    """Of the kernel that runs, and of the driver on its disk and in it."""
    return {
        "kernel": node.ssh("uname -r").stdout.strip(),
        "disk": node.ssh("modinfo -F version nvidia").stdout.strip(),
        "loaded": node.ssh("cat /sys/module/nvidia/version").stdout.strip(),
    }


def lock_of(pool: Pool) -> t.Dict[str, t.Any]:
    (file,) = (file for file in pool.locks() if file.name.startswith(pool.bundle.stem))
    return t.cast("t.Dict[str, t.Any]", json.loads(file.read_text()))


def change_to(pool: Pool, bundle: str) -> None:
    pool.bundle = pool.bundle.with_name(bundle)
    pool.write_inventory()


def test_a_golden_node_stays_as_it_is_whatever_the_archive_brings(golden_ubuntu: Pool) -> None:
    """Also where somebody asks for the metapackages of the kernel, or for those of the modules."""
    (node,) = golden_ubuntu.nodes
    lock = lock_of(golden_ubuntu)
    assert lock["driver"]["packages"][MODULES % OLD_KERNEL] == "6.8.0-79.79", "of this driver, and not the newest"
    assert "linux-modules-extra-" + OLD_KERNEL in lock["kernel"]["packages"]
    assert versions(node) == {"kernel": OLD_KERNEL, "disk": OLD_DRIVER, "loaded": OLD_DRIVER}

    there = node.ssh("apt-get --quiet=2 update && apt-cache madison linux-generic nvidia-utils-580-server").stdout
    assert "6.8.0-84.84" in there
    assert NEW_DRIVER in there
    before = installed(node)
    node.ssh("DEBIAN_FRONTEND=noninteractive apt-get --yes full-upgrade", timeout=120)
    node.ssh("DEBIAN_FRONTEND=noninteractive apt-get --yes install linux-generic nvidia-utils-580-server", timeout=120)
    refused = node.ssh("apt-get --yes install %s" % MODULES % "generic", check=False)
    assert "has no installation candidate" in refused.stderr
    assert installed(node) == before

    run = golden_ubuntu.site()
    assert run.rc == 0, run.output
    assert run.recap(node.name)["changed"] == 0


def test_a_daemon_that_lets_the_gpus_sleep_is_told_not_to(golden_ubuntu: Pool) -> None:
    """As Ubuntu's unit has it: nothing but udev keeps it, and it keeps nothing awake."""
    (node,) = golden_ubuntu.nodes
    assert awake(node)
    node.ssh("rm -r %s && systemctl daemon-reload" % SETTINGS)
    node.ssh("systemctl restart nvidia-persistenced.service")
    assert not awake(node)
    looked = golden_ubuntu.verify()
    assert SETTINGS in looked.report[node.name]["reason"]
    boot = node.ssh(BOOT_ID).stdout
    run = golden_ubuntu.site(golden_allow_reboot=False)
    assert run.rc == 0, run.output
    assert node.ssh(BOOT_ID).stdout == boot
    assert awake(node)
    assert golden_ubuntu.site().recap(node.name)["changed"] == 0


def test_kernel_and_modules_move_together_and_back(golden_ubuntu: Pool) -> None:
    """By one reboot each way. Modules of the other kernel, which ask for the other driver, give way."""
    (node,) = golden_ubuntu.nodes
    for bundle, kernel, driver, other in (
        ("ubuntu-b.yml", NEW_KERNEL, NEW_DRIVER, OLD_KERNEL),
        ("ubuntu-a.yml", OLD_KERNEL, OLD_DRIVER, NEW_KERNEL),
    ):
        boot = node.ssh(BOOT_ID).stdout
        change_to(golden_ubuntu, bundle)
        run = golden_ubuntu.site()
        assert run.rc == 0, run.output
        assert versions(node) == {"kernel": kernel, "disk": driver, "loaded": driver}
        assert node.ssh(BOOT_ID).stdout != boot
        assert re.search(r"^Ubuntu, with Linux %s$" % kernel, default_title(node)), default_title(node)
        there = installed(node)
        assert MODULES % kernel in there
        assert MODULES % other not in there
        assert "linux-image-" + other in there
        held = node.ssh("apt-mark showhold").stdout.split()
        assert MODULES % kernel in held
        assert [name for name in held if name.startswith("nvidia-firmware-")] == [
            "nvidia-firmware-580-server-" + driver
        ]
        assert awake(node)
        assert node.fact()["golden"]
        again = golden_ubuntu.site()
        assert again.rc == 0, again.output
        assert again.recap(node.name)["changed"] == 0


def default_title(node: Node) -> str:
    """The title of the entry that GRUB starts by default, found by its id; the first one stands for the newest."""
    default = node.ssh("sed -n 's/^ *set default=\"\\(gnulinux.*\\)\"$/\\1/p' /boot/grub/grub.cfg").stdout.strip()
    entry = default.rpartition(">")[2] or "gnulinux-%s-advanced" % NEW_KERNEL
    line = node.ssh("grep -F '%s' /boot/grub/grub.cfg | grep -F menuentry" % entry).stdout
    return line.split("'")[1]


def test_signed_modules_need_nobody_at_the_console(golden_ubuntu: Pool) -> None:
    (node,) = golden_ubuntu.nodes
    bed("fault", node.name, "secure-boot", "on")
    bed("reboot", node.name)
    node.wait("golden with Secure Boot", node.is_golden)
    assert "SecureBoot enabled" in node.ssh("mokutil --sb-state").stdout
    assert "Canonical" in node.ssh("modinfo -F signer nvidia").stdout
    assert golden_ubuntu.verify().rc == 0


def test_proprietary_modules_are_locked_with_their_parts_of_the_same_driver(golden_ubuntu: Pool) -> None:
    """They take any later driver, so that apt would choose the newest; nothing is installed here."""
    text = golden_ubuntu.bundle.read_text().replace("flavour: open", "flavour: proprietary")
    golden_ubuntu.bundle.write_text(text)
    run = golden_ubuntu.run("lock")
    assert run.rc == 0, run.output
    modules = {name: full for name, full in lock_of(golden_ubuntu)["driver"]["packages"].items() if "linux-" in name}
    assert modules == {
        "linux-modules-nvidia-580-server-" + OLD_KERNEL: "6.8.0-79.79",
        "linux-objects-nvidia-580-server-" + OLD_KERNEL: "6.8.0-79.79",
        "linux-signatures-nvidia-" + OLD_KERNEL: "6.8.0-79.79",
    }


def test_a_metapackage_leads_to_kernel_and_modules(golden_ubuntu: Pool) -> None:
    (node,) = golden_ubuntu.nodes
    change_to(golden_ubuntu, "ubuntu-b.yml")
    text = golden_ubuntu.bundle.read_text().replace("release: " + NEW_KERNEL, "metapackage: linux-generic")
    golden_ubuntu.bundle.write_text(text)
    run = golden_ubuntu.site()
    assert run.rc == 0, run.output
    assert versions(node) == {"kernel": NEW_KERNEL, "disk": NEW_DRIVER, "loaded": NEW_DRIVER}
    held = node.ssh("apt-mark showhold").stdout.split()
    assert {"linux-generic", "linux-image-generic", "linux-headers-generic", MODULES % "generic"} < set(held)
    assert node.fact()["golden"]


def test_a_kernel_without_modules_of_the_driver_is_refused_with_what_there_is(golden_ubuntu: Pool) -> None:
    """As in the archive: a kernel that came after a driver has no modules of the driver before it."""
    (node,) = golden_ubuntu.nodes
    text = golden_ubuntu.bundle.read_text().replace(OLD_KERNEL, NEW_KERNEL)
    golden_ubuntu.bundle.write_text(text)
    run = golden_ubuntu.run("lock")
    assert run.rc != 0
    said = " ".join(run.output.split())
    assert (
        "driver.version: '%s' has no built modules: %s is there for driver" % (OLD_DRIVER, MODULES % NEW_KERNEL) in said
    )
    assert "Use %s, or a kernel for which there are modules of %s" % (NEW_DRIVER, OLD_DRIVER) in said
    assert node.fact()["golden"]
