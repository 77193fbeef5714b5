# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real reboot: a machine whose kernel really loads nouveau, the kernel role over SSH, and GRUB's own choice of what
boots next.

The tests are one story and run in this order.
"""

from __future__ import annotations

import typing as t

import pytest
from reallib import ROOT, container, images
from reallib.host import Host
from reallib.machine import BOOT_SECONDS, machine
from reallib.play import PLAYBOOKS, Project, bundle

NAME = "machine"
#: The emulated processor is slow: two initramfs, and apt's index.
ROLE_SECONDS = 900

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Project]:
    """The machine in its project. Its lock is resolved on a container of the same image, which is quick."""
    directory = tmp_path_factory.mktemp(NAME)
    with container.node("resolver", images.ensure("machine")) as resolver:
        resolving = Project(directory, resolver)
        resolving.write_bundle(bundle(NAME, "trixie", resolver.output("cat /srv/toolkit/key.asc")))
        assert resolving.run(ROOT / "playbooks" / "lock.yml", NAME).rc == 0
    with machine(directory) as host:
        yield Project(directory, host)


@pytest.fixture(scope="module")
def host(project: Project) -> Host:
    return project.host


@pytest.fixture(scope="module")
def release(project: Project) -> str:
    return str(project.lock(NAME)["kernel"]["release"])


@pytest.fixture(scope="module")
def first_boot(host: Host) -> str:
    return boot_id(host)


def boot_id(host: Host) -> str:
    return host.output("cat /proc/sys/kernel/random/boot_id")


def default_entry(host: Host) -> str:
    """What the configuration of GRUB names as default, by its own words."""
    return host.output("grep -m1 -E '^ *set default=\"[^$]' /boot/grub/grub.cfg")


def test_nouveau_is_really_loaded(host: Host, release: str, first_boot: str) -> None:
    assert "nouveau" in [line.split()[0] for line in host.output("lsmod").splitlines()]
    assert host.output("uname -r") == release
    assert any(
        path.endswith("/nouveau.ko.xz") for path in host.output("lsinitramfs /boot/initrd.img-%s" % release).split()
    )


def test_update_grub_chooses_the_other_kernel(host: Host, release: str) -> None:
    """By itself it does not start the kernel of the bundle, so what boots later is this collection's doing."""
    host.run("update-grub", timeout=300)
    first = host.output("grep -m1 -E '^\\s*linux\\s' /boot/grub/grub.cfg").split()[1]
    assert first != "/boot/vmlinuz-" + release
    assert default_entry(host) == 'set default="0"'


def test_the_role_alone_refuses_a_host_without_a_gpu(project: Project, host: Host) -> None:
    run = project.run(PLAYBOOKS / "kernel_alone.yml", NAME, timeout=ROLE_SECONDS)
    assert run.rc != 0
    assert run.changed == 0
    assert "no NVIDIA GPU" in run.output
    assert host.run("test -e /etc/modprobe.d/goldennode-blacklist.conf", check=False).returncode == 1


def test_the_kernel_role_keeps_nouveau_away_and_chooses_the_kernel(project: Project, host: Host, release: str) -> None:
    run = project.run(PLAYBOOKS / "kernel.yml", NAME, timeout=ROLE_SECONDS)
    assert run.rc == 0, run.output
    assert run.changed > 0
    assert release in default_entry(host)
    held = host.output("apt-mark showhold").split()
    assert set(project.lock(NAME)["kernel"]["packages"]) <= set(held)
    for kernel in host.output("ls /lib/modules").split():
        inside = host.output("lsinitramfs /boot/initrd.img-%s" % kernel, timeout=300).splitlines()
        assert "etc/modprobe.d/goldennode-blacklist.conf" in inside
    # Until the reboot it is in the kernel as it was, and that is what is said.
    assert host.run("test -d /sys/module/nouveau").returncode == 0


def test_without_consent_there_is_no_reboot(project: Project, host: Host, first_boot: str) -> None:
    run = project.run(PLAYBOOKS / "reboot.yml", NAME)
    assert run.rc != 0
    assert "golden_allow_reboot=true" in run.output
    assert boot_id(host) == first_boot


def test_reboot_by_consent(project: Project, host: Host, release: str, first_boot: str) -> None:
    run = project.run(
        PLAYBOOKS / "reboot.yml", NAME, timeout=BOOT_SECONDS + 60,
        golden_allow_reboot=True, golden_reboot_timeout=BOOT_SECONDS,
    )  # fmt: skip
    assert run.rc == 0, run.output
    assert boot_id(host) != first_boot
    assert host.output("uname -r") == release
    assert host.run("test -e /sys/module/nouveau", check=False).returncode == 1


def test_nothing_is_left_to_do(project: Project, host: Host) -> None:
    run = project.run(PLAYBOOKS / "kernel.yml", NAME, timeout=ROLE_SECONDS)
    assert (run.rc, run.changed) == (0, 0), run.output


def test_the_look_reports_what_is_true(project: Project, host: Host, release: str) -> None:
    look = project.look(NAME)
    evidence, judged = look["info"]["evidence"], look["judged"]
    assert look["info"]["changed"] is False
    assert evidence["boot"]["value"]["boot_id"] == boot_id(host)
    assert evidence["boot"]["value"]["kernel"] == release
    assert evidence["pci"] == {"value": [], "error": None}
    assert evidence["modules_loaded"] == {"value": [], "error": None}
    assert evidence["driver"] == {"value": None, "error": None}
    images = {image["kernel"]: image for image in evidence["initramfs"]["value"]}
    assert set(images) == set(host.output("ls /lib/modules").split())
    assert all(image["blacklisted"] for image in images.values())
    assert evidence["boot_default"]["value"]["kernel"] == release
    # It was read for real: Debian's kernel has AppArmor in force.
    assert evidence["apparmor"] == {"value": True, "error": None}
    assert evidence["secure_boot"]["value"]["enabled"] is False
    assert judged["golden"] is False
    assert judged["verdict"]["first_broken"] == "hardware"
    broken = [f["id"] for f in judged["verdict"]["findings"] if f["layer"] == "hardware" and f["status"] == "fail"]
    assert "hardware.gpu_present" in broken
