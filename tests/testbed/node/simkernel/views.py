# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kernel shows in /proc and /sys, made of tmpfs and overlay mounts over the real ones.

Every mount is made once, before init starts, so that services in mount namespaces of their own see later changes
too: from then on only files inside the mounts are written.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
import subprocess
import typing as t
import uuid
from pathlib import Path

from .machine import NVIDIA_VENDOR, RUN, SUBSYSTEM, Device, faulty_gpus, present_devices

PCI_DEVICES = Path("/sys/bus/pci/devices")
PCI_DRIVERS = Path("/sys/bus/pci/drivers")
SYS_MODULE = Path("/sys/module")
GPU_MODULES = ("nvidia", "nouveau", "nova")
PROC_NVIDIA = RUN / "proc/driver/nvidia"
#: Character devices that the NVIDIA modules registered; also what the fakes read.
MAJORS = RUN / "devices"
PROC_DEVICES = RUN / "proc-devices"
REAL_PROC_DEVICES = RUN / "proc-devices.machine"


def mount_all(kernel: str, command_line: str) -> None:
    """The views of a machine that has just been switched on: a new boot, ``kernel``, and no GPU driver yet."""
    _mount("-t", "cgroup2", "none", "/sys/fs/cgroup")
    _bind_text("boot_id", "%s\n" % uuid.uuid4(), "/proc/sys/kernel/random/boot_id")
    _bind_text("osrelease", kernel + "\n", "/proc/sys/kernel/osrelease")
    _bind_text("cmdline", command_line + "\n", "/proc/cmdline")
    REAL_PROC_DEVICES.write_text(Path("/proc/devices").read_text())
    MAJORS.touch()
    _bind_text(PROC_DEVICES.name, REAL_PROC_DEVICES.read_text(), "/proc/devices")
    PROC_NVIDIA.parent.mkdir(parents=True)
    _mount("--bind", str(PROC_NVIDIA.parent), "/proc/driver")
    for part in ("upper", "work"):
        (RUN / "module" / part).mkdir(parents=True)
    for module in SYS_MODULE.iterdir():
        if module.name.startswith(GPU_MODULES):  # the machine's own GPU is not the node's: a whiteout hides it
            os.mknod(RUN / "module/upper" / module.name, stat.S_IFCHR, os.makedev(0, 0))
    layers = "lowerdir=%s,upperdir=%s/upper,workdir=%s/work" % (SYS_MODULE, RUN / "module", RUN / "module")
    _mount("-t", "overlay", "-o", layers, "none", str(SYS_MODULE))
    for view in (PCI_DEVICES, PCI_DRIVERS):
        _mount("-t", "tmpfs", "-o", "mode=0755", "none", str(view))


def show_disk() -> None:
    """The links below /dev/disk by which grub-mkconfig knows that the root has a UUID; nothing can read the disk."""
    uuid_of_root = subprocess.run(["grub-probe", "--target=fs_uuid", "/"], capture_output=True, text=True, check=True)
    link = Path("/dev/disk/by-uuid", uuid_of_root.stdout.strip())
    link.parent.mkdir(parents=True, exist_ok=True)
    Path("/dev/sda1").touch()
    if not link.is_symlink():
        link.symlink_to("../../sda1")


def _bind_text(name: str, text: str, target: str) -> None:
    source = RUN / name
    source.write_text(text)
    _mount("--bind", str(source), target)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


# --- PCI -----------------------------------------------------------------------------------------------------------


#: The capabilities of a GPU as lspci lists them, each at its place in the configuration space: identifier, content.
CAPABILITIES = {
    0x60: (0x01, struct.pack("<HI", 0x0003, 0x00000008)),  # power management, version 3
    0x68: (0x05, struct.pack("<HQI", 0x0080, 0, 0)),  # MSI with 64 bits, off
    0x78: (0x10, struct.pack("<H56x", 0x0002)),  # PCIe endpoint; its link is filled in
    0xB4: (0x09, bytes([0x14, 0x01, 0x10, *[0] * 15])),  # vendor-specific, of another kind
}
#: Within the configuration space: what the link could do, and what it does; generation, and width from bit 4 on.
LINK_CAPABILITIES, LINK_STATUS = 0x78 + 0x0C, 0x78 + 0x12
#: PCIe generation -> what each lane carries, as the kernel writes it.
LINK_SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
#: What a hypervisor puts there instead, in front of the guest of a virtual GPU: length, then "VF".
VGPU_GUEST = (0x09, bytes([0x14, 0x56, 0x46, *[0] * 15]))


def show_pci() -> None:
    """Bring /sys/bus/pci/devices up to what is on the bus now; devices that stay keep their driver."""
    wanted = {device.address: device for device in present_devices()}
    for entry in list(PCI_DEVICES.iterdir()):
        if entry.name not in wanted:
            unbind(entry.name)
            shutil.rmtree(entry)
    for address, device in wanted.items():
        if not (PCI_DEVICES / address).exists():
            _add_device(device)
        _show_link(device)


def _add_device(device: Device) -> None:
    entry = PCI_DEVICES / device.address
    entry.mkdir()
    for name, value in (
        ("vendor", "0x%04x" % NVIDIA_VENDOR),
        ("device", "0x%04x" % device.device),
        ("subsystem_vendor", "0x%04x" % NVIDIA_VENDOR),
        ("subsystem_device", "0x%04x" % SUBSYSTEM),
        ("class", "0x%06x" % device.pci_class),
        ("revision", "0xa1"),
        ("irq", "16"),
        ("enable", "1"),
        ("numa_node", str(device.numa)),
        ("modalias", device.modalias),
        ("resource", "\n".join(["0x0000000000000000 0x0000000000000000 0x0000000000000000"] * 13)),
    ):
        (entry / name).write_text(value + "\n")
    (entry / "config").write_bytes(_config_space(device))


def _show_link(device: Device) -> None:
    """The link as it is now: the fault ``link-narrow`` halves it at once, as a bad contact does."""
    entry = PCI_DEVICES / device.address
    speed = "%s GT/s PCIe" % LINK_SPEEDS[device.pcie_generation]
    for name, value in (
        ("max_link_speed", speed),
        ("current_link_speed", speed),
        ("max_link_width", str(device.pcie_width)),
        ("current_link_width", str(_link_width(device))),
    ):
        (entry / name).write_text(value + "\n")
    space = bytearray((entry / "config").read_bytes())
    struct.pack_into("<H", space, LINK_STATUS, device.pcie_generation | _link_width(device) << 4)
    (entry / "config").write_bytes(space)


def _link_width(device: Device) -> int:
    return device.pcie_width // 2 if device.index in faulty_gpus("link-narrow") else device.pcie_width


def _config_space(device: Device) -> bytes:
    """The header that every PCI function has, and its capabilities; lspci reads them beside the files."""
    space = bytearray(256)
    struct.pack_into("<HHHH", space, 0x00, NVIDIA_VENDOR, device.device, 0x0006, 0x0010)
    struct.pack_into("<I", space, 0x08, device.pci_class << 8 | 0xA1)
    struct.pack_into("<HH", space, 0x2C, NVIDIA_VENDOR, SUBSYSTEM)
    capabilities = dict(CAPABILITIES)
    if device.index in faulty_gpus("vgpu-guest"):
        capabilities[0xB4] = VGPU_GUEST
    link = 0x34
    for place, (identifier, content) in capabilities.items():
        space[link] = place
        space[place] = identifier
        space[place + 2 : place + 2 + len(content)] = content
        link = place + 1
    struct.pack_into("<I", space, LINK_CAPABILITIES, device.pcie_generation | device.pcie_width << 4)
    return bytes(space)


def driver_of(address: str) -> t.Optional[str]:
    link = PCI_DEVICES / address / "driver"
    return os.readlink(link).rpartition("/")[2] if link.is_symlink() else None


def bind(address: str, driver: str) -> None:
    (PCI_DRIVERS / driver).mkdir(exist_ok=True)
    (PCI_DEVICES / address / "driver").symlink_to("../../drivers/" + driver)
    (PCI_DRIVERS / driver / address).symlink_to("../../devices/" + address)


def unbind(address: str) -> None:
    driver = driver_of(address)
    if driver is not None:
        (PCI_DEVICES / address / "driver").unlink()
        (PCI_DRIVERS / driver / address).unlink()


def remove_driver(driver: str) -> None:
    """Take ``driver`` off the bus, and off every device that it held."""
    entry = PCI_DRIVERS / driver
    if entry.exists():
        for address in [link.name for link in entry.iterdir()]:
            unbind(address)
        entry.rmdir()


# --- modules and character devices ---------------------------------------------------------------------------------


def show_module(name: str, version: str, taint: str) -> None:
    entry = SYS_MODULE / name
    if entry.exists():  # built into the machine's own kernel
        return
    entry.mkdir()
    (entry / "initstate").write_text("live\n")
    (entry / "taint").write_text(taint + "\n")
    if version:
        (entry / "version").write_text(version + "\n")


def hide_module(name: str) -> None:
    shutil.rmtree(SYS_MODULE / name, ignore_errors=True)


def register_major(name: str, major: t.Optional[int] = None) -> int:
    """Register a character device and show it in /proc/devices: ``major``, else the highest that nobody uses."""
    registered = _majors()
    if major is None:
        taken = {number for number, _name in registered} | set(_machine_majors())
        major = next(number for number in range(511, 499, -1) if number not in taken)
    _write_majors(registered + [(major, name)])
    return major


def unregister_majors(*names: str) -> None:
    _write_majors([(major, name) for major, name in _majors() if name not in names])


def _majors() -> t.List[t.Tuple[int, str]]:
    lines = (line.split() for line in MAJORS.read_text().splitlines())
    return [(int(number), name) for number, name in lines]


def _machine_majors() -> t.List[int]:
    return [int(line.split()[0]) for line in REAL_PROC_DEVICES.read_text().splitlines() if line[:3].strip().isdigit()]


def _write_majors(majors: t.List[t.Tuple[int, str]]) -> None:
    lines = "".join("%3d %s\n" % entry for entry in majors)
    MAJORS.write_text(lines)
    # In place: a bind mount follows the file, not its name.
    characters, _, blocks = REAL_PROC_DEVICES.read_text().partition("\nBlock devices:")
    PROC_DEVICES.write_text(characters + lines + "\nBlock devices:" + blocks)
