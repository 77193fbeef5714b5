# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine below the kernel: boot loader, firmware with Secure Boot, GPUs of other kinds, virtual GPUs, vfio."""

from __future__ import annotations

import subprocess
import typing as t

import pytest
from nodetools import A10, OPEN, PROPRIETARY, ask, build_modules, driver, tell
from simkernel import firmware, grub, machine, support, views
from simnodes import engine, faults, image, nodes, shell, vendor
from simnodes.pool import Node

NODE = Node("machinetest", "a10")
EFIVARS = "/sys/firmware/efi/efivars"


@pytest.fixture(scope="module")
def node() -> t.Iterator[Node]:
    """One node for all: each class brings it back to where it found it."""
    engine.ensure()
    image_name = image.ensure()
    nodes.down([NODE.name])
    nodes.ensure_network()
    nodes.up([NODE], image_name)
    yield NODE
    nodes.down([NODE.name])


@pytest.fixture(scope="module")
def kernels(node: Node) -> t.Tuple[str, str]:
    """The kernel that a node boots by itself, and the other one."""
    cloud, plain = sorted(nodes.kernels(node.name), key=lambda release: "cloud" not in release)
    return plain, cloud


# --- the boot loader, on a node -------------------------------------------------------------------------------------


def set_default(node: Node, *lines: str) -> None:
    words = " ".join("'%s'" % line for line in lines)
    tell(node, "printf '%%s\\n' %s > /etc/default/grub.d/zz-test.cfg; update-grub" % words)


def change_hardware(node: Node, profile: str) -> None:
    text = Node(node.name, profile).hardware().encode()
    command = ("docker", "exec", "--interactive", nodes.container(node.name), "tee", "/etc/simgpu/profile")
    shell.run(*command, binary_input=text)


class TestTheBootLoader:
    """In this order: each test goes on from where the one before left the node."""

    def test_the_menu_is_the_real_one_and_its_first_kernel_boots(self, node: Node, kernels: t.Tuple[str, str]) -> None:
        uuid = tell(node, "grub-probe --target=fs_uuid /")
        menu = tell(node, "cat /boot/grub/grub.cfg")
        assert "menuentry_id_option 'gnulinux-%s-advanced-%s'" % (kernels[1], uuid) in menu
        assert tell(node, "uname -r; cat /proc/cmdline").splitlines() == [
            kernels[0],
            "BOOT_IMAGE=/boot/vmlinuz-%s root=UUID=%s ro quiet" % (kernels[0], uuid),
        ]

    def test_the_default_by_id_boots_with_its_command_line(self, node: Node, kernels: t.Tuple[str, str]) -> None:
        uuid = tell(node, "grub-probe --target=fs_uuid /")
        path = "gnulinux-advanced-%s>gnulinux-%s-advanced-%s" % (uuid, kernels[1], uuid)
        set_default(node, 'GRUB_DEFAULT="%s"' % path, 'GRUB_CMDLINE_LINUX="iommu=pt modprobe.blacklist=nouveau"')
        nodes.reboot(node.name)
        assert tell(node, "uname -r") == kernels[1]
        assert tell(node, "cat /proc/cmdline").endswith(" ro iommu=pt modprobe.blacklist=nouveau quiet")

    def test_one_boot_may_be_another(self, node: Node, kernels: t.Tuple[str, str]) -> None:
        tell(node, "grub-reboot 0")
        nodes.reboot(node.name)
        assert tell(node, "uname -r") == kernels[0]
        assert driver(node) is None, "modprobe.blacklist counts, in the initramfs too"
        nodes.boot(node.name, None)
        assert tell(node, "uname -r") == kernels[1]

    def test_a_choice_at_the_menu_is_before_the_default(self, node: Node, kernels: t.Tuple[str, str]) -> None:
        nodes.boot(node.name, kernels[0], once=True)
        assert tell(node, "uname -r") == kernels[0]
        nodes.reboot(node.name)
        assert tell(node, "uname -r") == kernels[1]

    def test_a_default_that_is_gone_boots_the_first_entry(self, node: Node, kernels: t.Tuple[str, str]) -> None:
        """Removing a kernel runs update-grub, and GRUB says nothing about a name that it does not know."""
        set_default(node, "GRUB_DEFAULT=saved")
        tell(node, "grub-set-default 'gnulinux-advanced-x>gnulinux-%s-advanced-x'" % kernels[1])
        packages = "linux-{0}-cloud-amd64 linux-{0}-%s" % kernels[1]
        tell(node, "dpkg --purge %s %s" % (packages.format("headers"), packages.format("image")))
        assert kernels[1] not in tell(node, "cat /boot/grub/grub.cfg")
        nodes.reboot(node.name)
        assert tell(node, "uname -r") == kernels[0]

    def test_module_blacklist_is_the_kernel_s_own(self, node: Node) -> None:
        set_default(node, 'GRUB_CMDLINE_LINUX="module_blacklist=nouveau"')
        nodes.reboot(node.name)
        assert "Operation not permitted" in ask(node, "modprobe nouveau").stderr
        assert "Module nouveau is blacklisted" in tell(node, "dmesg")
        set_default(node, 'GRUB_CMDLINE_LINUX="modprobe.blacklist=nouveau"')


# --- hardware, on a node --------------------------------------------------------------------------------------------


class TestOtherGpus:
    def test_neither_flavour_starts_every_gpu(self, node: Node, kernels: t.Tuple[str, str]) -> None:
        for licence, profile, words in (
            (OPEN, "p40", "System Processor (GSP)."),
            (OPEN, "rtxpro6000", ""),
            (PROPRIETARY, "p40", ""),
            (PROPRIETARY, "rtxpro6000", "requires use of the NVIDIA open kernel modules."),
        ):
            if profile == "p40":
                build_modules(node, "580.1.1", kernels[0], licence)
            change_hardware(node, profile)
            nodes.reboot(node.name)
            assert driver(node) == "nvidia", "a GPU that does not start is held all the same"
            started = tell(node, "cat /run/simgpu/gpus") == A10
            failed = "RmInitAdapter failed!" in tell(node, "dmesg")
            assert (started, failed, words in tell(node, "dmesg")) == (not words, bool(words), True)

    def test_a_release_that_does_not_know_the_gpu_does_not_load(self, node: Node, kernels: t.Tuple[str, str]) -> None:
        build_modules(node, "535.1.1", kernels[0])
        assert "No such device" in ask(node, "rmmod nvidia; modprobe nvidia").stderr
        assert "NVRM: NVIDIA 535.1.1 driver release." in tell(node, "dmesg")
        assert driver(node) is None

    def test_a_virtual_gpu_is_told_by_its_capability_and_vfio_by_its_driver(self, node: Node) -> None:
        capability = "od -An -tx1 -j180 -N5 /sys/bus/pci/devices/%s/config" % A10
        assert tell(node, capability) == "09 00 14 01 10"
        for fault in ("vgpu-guest", "vfio"):
            faults.switch(node.name, fault, "on", [])
        nodes.reboot(node.name)
        try:
            assert tell(node, capability) == "09 00 14 56 46"
            shown = tell(node, "lspci -vv")
            for text in ("[60] Power Management version 3", "[68] MSI: Enable-", "[78] Express (v2) Endpoint"):
                assert "Capabilities: " + text in shown
            assert "Capabilities: [b4] Vendor Specific Information: Len=14" in shown
            assert driver(node) == "vfio-pci"
            assert "vfio_pci" in tell(node, "lsmod")
        finally:
            for fault in ("vgpu-guest", "vfio"):
                faults.switch(node.name, fault, "off", [])


# --- Secure Boot, on a node -----------------------------------------------------------------------------------------

SIGN = """
cd /root
openssl req -new -x509 -newkey rsa:2048 -nodes -subj '/CN=DKMS module signing key' -outform DER \
    -keyout mok.key -out mok.pub 2> /dev/null
"$(find /usr/lib/linux-kbuild-* -name sign-file)" sha256 mok.key mok.pub "$(modinfo -n nvidia)"
modinfo -F signer nvidia
"""


class TestSecureBoot:
    """In this order: each test goes on from where the one before left the node."""

    def test_without_it_there_is_no_firmware_to_see(self, node: Node) -> None:
        assert ask(node, "ls /sys/firmware/efi").returncode != 0
        assert "EFI variables are not supported on this system" in ask(node, "mokutil --sb-state").stderr

    def test_it_refuses_a_module_without_a_signature(self, node: Node, kernels: t.Tuple[str, str]) -> None:
        build_modules(node, "580.1.1", kernels[0])
        faults.switch(node.name, "secure-boot", "on", [])
        nodes.reboot(node.name)
        assert tell(node, "od -An -tu1 %s/SecureBoot-%s" % (EFIVARS, firmware.GLOBAL)).split() == list("60001")
        assert tell(node, "mokutil --sb-state") == "SecureBoot enabled"
        refused = ask(node, "modprobe nvidia").stderr.strip()
        assert refused == "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service"
        assert "Loading of unsigned module is rejected" in tell(node, "dmesg")
        tell(node, "modprobe nouveau && rmmod nouveau")

    def test_it_refuses_a_signature_by_a_key_that_is_not_enrolled(self, node: Node) -> None:
        assert tell(node, SIGN) == "DKMS module signing key"
        assert "Key was rejected by service" in ask(node, "modprobe nvidia").stderr
        assert "Loading of module with unavailable key is rejected" in tell(node, "dmesg")

    def test_a_request_waits_for_a_person_at_the_console(self, node: Node) -> None:
        tell(node, "cd /root; mokutil --generate-hash=once > hash; mokutil --import mok.pub --hash-file hash")
        nodes.reboot(node.name)
        assert "mok.pub is already in the enrollment request" in ask(node, "mokutil --test-key /root/mok.pub").stdout
        assert ask(node, "modprobe nvidia").returncode != 0
        nodes.enrol(node.name, None)
        nodes.reboot(node.name)
        assert "mok.pub is already enrolled" in ask(node, "mokutil --test-key /root/mok.pub").stdout
        assert "CN=DKMS module signing key" in tell(node, "mokutil --list-enrolled")
        assert driver(node) == "nvidia"

    def test_it_can_be_switched_off_in_the_firmware(self, node: Node) -> None:
        faults.switch(node.name, "secure-boot", "on", ["disabled"])
        nodes.reboot(node.name)
        assert tell(node, "mokutil --sb-state") == "SecureBoot disabled"
        faults.switch(node.name, "secure-boot", "off", [])


# --- without a node -------------------------------------------------------------------------------------------------

MENU = """\
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
else
   set default="%s"
fi
function load_video {
  insmod all_video
}
menuentry 'Debian' --class os $menuentry_id_option 'simple-u' {
\tlinux\t/boot/vmlinuz-2 root=UUID=u ro  quiet
\tinitrd\t/boot/ucode.img /boot/initrd.img-2
}
submenu 'Advanced options' $menuentry_id_option 'advanced-u' {
\tmenuentry 'Debian, with Linux 2' $menuentry_id_option '2-u' {
\t\tlinux\t/boot/vmlinuz-2 root=UUID=u ro
\t}
\tmenuentry 'Debian, with Linux 1' --class os $menuentry_id_option '1-u' {
\t\tsavedefault
\t\tlinux\t/boot/vmlinuz-1 root=UUID=u ro "nvidia.NVreg_X=a b"
\t}
}
if [ "x$default" = 'Debian, with Linux 1' ]; then default='Advanced options>Debian, with Linux 1'; fi;
"""


@pytest.mark.parametrize(
    ("default", "variables", "way"),
    [
        ("0", {}, ["simple-u"]),
        ("1>1", {}, ["advanced-u", "1-u"]),
        ("1", {}, ["advanced-u", "2-u"]),
        ("7", {}, ["simple-u"]),
        ("advanced-u>1-u", {}, ["advanced-u", "1-u"]),
        ("advanced-u>gone", {}, ["advanced-u", "2-u"]),
        ("Advanced options>Debian, with Linux 1", {}, ["advanced-u", "1-u"]),
        ("Debian, with Linux 1", {}, ["advanced-u", "1-u"]),
        ("1-u", {}, ["simple-u"]),
        ("${saved_entry}", {"saved_entry": "advanced-u>1-u"}, ["advanced-u", "1-u"]),
        ("${saved_entry}", {}, ["simple-u"]),
        ("0", {"next_entry": "1>1"}, ["advanced-u", "1-u"]),
    ],
)
def test_the_entry_that_grub_boots(default: str, variables: t.Dict[str, str], way: t.List[str]) -> None:
    text = MENU % default
    found = grub.find(grub.read_menu(text), grub.default_of(text, variables))
    assert [entry.id for entry in found] == way


def test_an_entry_says_what_the_kernel_is_given() -> None:
    simple, advanced = grub.read_menu(MENU % "0")
    assert (simple.kernel, simple.initrd) == ("2", "/boot/initrd.img-2")
    assert simple.command_line == "BOOT_IMAGE=/boot/vmlinuz-2 root=UUID=u ro quiet"
    assert (advanced.kernel, advanced.entries[1].kernel, advanced.entries[1].saves) == ("", "1", True)


def test_certificates_survive_their_list() -> None:
    certificates = [b"\x30\x82first", b"\x30\x82second one"]
    lists = b"".join(map(firmware.signature_list, certificates))
    assert firmware.certificates_in(lists) == certificates
    assert len(lists) == 2 * (28 + 16) + 7 + 12


def gpu(profile: str) -> machine.Device:
    devices = [machine.parse_device(line) for line in Node("n", profile).hardware().splitlines()]
    return next(device for device in devices if device is not None)


@pytest.mark.parametrize(
    ("profile", "version", "licence", "known", "starts"),
    [
        ("p40", "580.159.03", PROPRIETARY, True, True),
        ("p40", "580.159.03", OPEN, True, False),
        ("p40", "595.71.05", PROPRIETARY, False, True),
        ("a10", "580.159.03", PROPRIETARY, True, True),
        ("a10", "620.70.06", OPEN, True, True),
        ("l4x4", "470.256.02", PROPRIETARY, False, True),
        ("l4x4", "580.159.03", OPEN, True, True),
        ("rtxpro6000", "565.57.01", OPEN, False, True),
        ("rtxpro6000", "580.159.03", OPEN, True, True),
        ("rtxpro6000", "580.159.03", PROPRIETARY, True, False),
    ],
)
def test_which_module_drives_which_gpu(profile: str, version: str, licence: str, known: bool, starts: bool) -> None:
    assert support.unknown_to(gpu(profile), version) is None or not known
    assert (support.unknown_to(gpu(profile), version) is None) == known
    assert (support.not_started_by(gpu(profile), licence) is None) == starts


def test_profiles_have_the_ids_of_their_gpus() -> None:
    assert [gpu(profile).device for profile in ("p40", "l4x4", "rtxpro6000")] == [0x1B38, 0x27B8, 0x2BB5]


def test_the_configuration_space_is_a_chain_of_capabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "faulty_gpus", lambda _fault: set())
    space = views._config_space(gpu("a10"))
    found, place = [], space[0x34]
    while place:
        found.append((place, space[place]))
        place = space[place + 1]
    assert (len(space), found) == (256, [(0x60, 0x01), (0x68, 0x05), (0x78, 0x10), (0xB4, 0x09)])


def test_a_fault_of_the_vendor_must_be_known() -> None:
    with pytest.raises(shell.TestbedError, match=r"the vendor has no fault 'slower'; it has: slow, dead, refused"):
        vendor.switch("slower", "on", [])


def test_systemd_detect_virt_sees_a_machine(node: Node) -> None:
    done: subprocess.CompletedProcess[str] = ask(node, "systemd-detect-virt")
    assert (done.returncode, done.stdout) == (1, "none\n")
