# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine and its kernel: platform, boot, PCI, modules loaded and on disk, kernel log."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..generations import may_have_nvlink5
from ..model import (
    NVSWITCH,
    Boot,
    DkmsModule,
    DriverLoaded,
    ModprobeLine,
    ModuleOnDisk,
    PciDevice,
    Platform,
    Reading,
)
from ..parse import dkms as dkms_text
from ..parse import modinfo, modprobe_d, os_release, proc_nvidia
from ..parse import pci as pci_config
from . import nvlink
from .host import Host

OSRELEASE = "/proc/sys/kernel/osrelease"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
PCI = "/sys/bus/pci/devices"
APPARMOR = "/sys/module/apparmor/parameters/enabled"
SECURITY_MODULES = "/sys/kernel/security/lsm"
NVIDIA = "0x10de"

#: What goldennode-uvm.service loads.
_OURS = ("nvidia", "nvidia_uvm")

#: In modprobe's order: a file hides those of the same name in later directories.
MODPROBE_D = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/lib/modprobe.d")

#: Modules that drive an NVIDIA GPU, or keep the NVIDIA driver from it.
MODULES = (
    "nvidia",
    "nvidia_uvm",
    "nvidia_modeset",
    "nvidia_drm",
    "nvidia_peermem",
    "nouveau",
    "nova_core",
    "nova_drm",
    "nvidiafb",
    "rivafb",
    "rivatv",
)

#: Lines of the journal worth reading where dmesg is not allowed.


def platform(host: Host) -> Reading[Platform]:
    text = host.read("/etc/os-release")
    kernel = host.read(OSRELEASE)
    if text.value is None or kernel.value is None:
        return Reading.unknown(text.error or kernel.error or "/etc/os-release or %s is not there" % OSRELEASE)
    return os_release.parse(text.value, host.machine(), kernel.value)


def boot(host: Host) -> Reading[Boot]:
    """Not from uname, which shows the kernel of the machine and not what a container or a test put over it."""
    identity, kernel, stat = host.read(BOOT_ID), host.read(OSRELEASE), host.read("/proc/stat")
    for path, reading in ((BOOT_ID, identity), (OSRELEASE, kernel), ("/proc/stat", stat)):
        if not (reading.value or "").strip():
            return Reading.unknown(reading.error or "%s is empty or not there" % path)
    since = re.search(r"^btime ([0-9]{1,12})$", stat.value or "", re.MULTILINE)
    if since is None:
        return Reading.unknown("/proc/stat has no btime")
    return Reading(Boot((identity.value or "").strip(), (kernel.value or "").strip(), float(since.group(1))))


def pci(host: Host) -> Reading[t.Tuple[PciDevice, ...]]:
    """All functions of NVIDIA's, from sysfs: no lspci is needed, and it tells of drivers too.

    And those of Mellanox's that stand for NVSwitches, which are looked for only where a GPU may have such.
    """
    addresses = host.listdir(PCI)
    if addresses.value is None:
        return Reading.unknown(addresses.error or "%s is not there: this kernel shows no PCI bus" % PCI)
    found: t.List[PciDevice] = []
    others: t.List[str] = []
    for address in addresses.value:
        vendor = _word(host, "%s/%s/vendor" % (PCI, address))
        if vendor.value is None:
            return Reading.unknown(vendor.error or "")
        if vendor.value == nvlink.VENDOR:
            others.append(address)
        if vendor.value != NVIDIA:
            continue
        device = _word(host, "%s/%s/device" % (PCI, address))
        pci_class = _word(host, "%s/%s/class" % (PCI, address))
        driver = host.realpath("%s/%s/driver" % (PCI, address))
        config = host.read_bytes("%s/%s/config" % (PCI, address))
        error = device.error or pci_class.error or driver.error or config.error
        if error is not None:
            return Reading.unknown(error)
        # Three bytes: class, subclass and programming interface, of which the last says nothing here.
        code = (pci_class.value or "")[2:6]
        found.append(
            PciDevice(
                address=address,
                device=(device.value or "")[2:],
                pci_class=code,
                driver=driver.value.rpartition("/")[2] if driver.value else None,
                # A kernel shows the configuration space of every function; without one there are no capabilities.
                vgpu=False if config.value is None else pci_config.is_vgpu(config.value),
                nvswitch=code == NVSWITCH,
            )
        )
    if any(device.is_gpu and may_have_nvlink5(device.device) for device in found):
        found.extend(nvlink.managers(host, _network_functions(host, others), PCI))
    return Reading(tuple(found))


def _network_functions(host: Host, addresses: t.Iterable[str]) -> t.List[PciDevice]:
    """Of these, the network functions; also one whose class cannot be read, which may be one."""
    words = ((address, _word(host, "%s/%s/class" % (PCI, address)).value) for address in addresses)
    found = ((address, nvlink.NETWORK if code is None else code[2:6]) for address, code in words)
    return [PciDevice(address, "", code) for address, code in found if code.startswith(nvlink.NETWORK)]


def modules_loaded(host: Host, blacklisted: t.Iterable[str] = ()) -> Reading[t.Tuple[str, ...]]:
    """Each module that is loaded or built in has a directory, whether it has parameters or not.

    :arg blacklisted: further modules to look for; the kernel's names have underscores, whatever modprobe.d says
    """
    top = host.stat("/sys/module")
    if top.value is None:
        return Reading.unknown(top.error or "/sys/module is not there")
    found: t.List[str] = []
    for name in sorted({*MODULES, *(name.replace("-", "_") for name in blacklisted)}):
        there = host.stat("/sys/module/%s" % name)
        if not there.known:
            return Reading.unknown(there.error or "")
        if there.value is not None:
            found.append(name)
    return Reading(tuple(found))


def driver(host: Host) -> Reading[DriverLoaded]:
    proc, sysfs = host.read("/proc/driver/nvidia/version"), host.read("/sys/module/nvidia/version")
    if not proc.known or not sysfs.known:
        return Reading.unknown(proc.error or sysfs.error or "")
    return proc_nvidia.loaded(proc.value, sysfs.value)


def driver_params(host: Host) -> Reading[t.Dict[str, str]]:
    text = host.read("/proc/driver/nvidia/params")
    if text.value is None:
        return Reading(None, text.error)
    return proc_nvidia.params(text.value)


def module_on_disk(host: Host, kernel: str) -> Reading[ModuleOnDisk]:
    """modinfo follows the same aliases as modprobe, and looks for the very name: nvidiafb is not nvidia.

    It does not follow commands. Debian's own packages name the file nvidia-current, and have one for nvidia.
    """
    found = _modinfo(host, kernel, "nvidia")
    if found == Reading(None):
        command = host.run(["modprobe", "--set-version", kernel, "--show-depends", "nvidia"], timeout=10)
        if command.error is not None:
            return Reading.unknown(command.error)
        name = modinfo.stands_for(command.stdout)
        found = _modinfo(host, kernel, name) if name else found
    if found.value is None or not found.value.path.startswith("/"):
        return found
    stat = host.stat(found.value.path)
    if stat.value is None:
        return Reading.unknown(stat.error or "%s is gone since modinfo named it" % found.value.path)
    return Reading(dataclasses.replace(found.value, modified=float(max(stat.value.mtime, stat.value.ctime))))


def _modinfo(host: Host, kernel: str, name: str) -> Reading[ModuleOnDisk]:
    command = host.run(["modinfo", "-k", kernel, name], timeout=10)
    if command.error is not None:
        return Reading.unknown(command.error)
    return modinfo.parse(command.stdout, command.stderr, command.rc, kernel)


def modprobe(host: Host) -> Reading[t.Tuple[ModprobeLine, ...]]:
    """What keeps nvidia's modules out although they are on the disk."""
    paths: t.Dict[str, str] = {}
    for folder in MODPROBE_D:
        names = host.listdir(folder)
        if not names.known:
            return Reading.unknown(names.error or "")
        for name in names.value or {}:
            if name.endswith(".conf"):
                paths.setdefault(name, "%s/%s" % (folder, name))
    found: t.List[ModprobeLine] = []
    for _name, path in sorted(paths.items()):
        text = host.read(path)
        if not text.known:
            return Reading.unknown(text.error or "")
        found.extend(line for line in modprobe_d.parse(path, text.value or "") if line.module in _OURS)
    return Reading(tuple(found))


def dkms(host: Host) -> Reading[t.Tuple[DkmsModule, ...]]:
    command = host.run(["dkms", "status"], timeout=20)
    if command.missing:
        return Reading(None)
    if command.error is not None:
        return Reading.unknown(command.error)
    return dkms_text.status(command.stdout, command.stderr, command.rc)


def apparmor(host: Host) -> Reading[bool]:
    """Whether AppArmor is in force: switched on by its own parameter, and in the kernel's list of what is active."""
    parameter = host.read(APPARMOR)
    if not parameter.known:
        return Reading.unknown(parameter.error or "")
    if parameter.value is None or parameter.value.strip() == "N":
        return Reading(False)
    if parameter.value.strip() != "Y":
        return Reading.unknown("%s says %r, neither Y nor N" % (APPARMOR, parameter.value.strip()[:20]))
    modules = host.read(SECURITY_MODULES)
    if modules.value is None:
        return Reading.unknown(modules.error or "%s is not there: securityfs is not mounted" % SECURITY_MODULES)
    return Reading("apparmor" in modules.value.strip().split(","))


def _word(host: Host, path: str) -> Reading[str]:
    """The one word in a file of sysfs, which must be there."""
    text = host.read(path)
    if text.value is None:
        return Reading.unknown(text.error or "%s is not there" % path)
    return Reading(text.value.strip())
