# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Broken nodes of the layer host_driver: kernel, module, initramfs, Secure Boot. What tools answer is in answers.py."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    Boot,
    BootDefault,
    Certificate,
    DkmsModule,
    DriverLoaded,
    FabricMismatch,
    Initramfs,
    Library,
    ModprobeLine,
    PciDevice,
    Reading,
    SecureBoot,
)
from ansible_collections.goldennode.gpu.scripts.docpages.case import Case, Node, items, known, node, unread, with_
from ansible_collections.goldennode.gpu.tests.unit import healthy

OLD = "580.126.09"
OTHER_KERNEL = "6.12.63+deb13-amd64"
KEY = "/var/lib/dkms/mok.pub"
BLACKLIST = "/etc/modprobe.d/goldennode-blacklist.conf"


def other_kernel() -> Node:
    """The lock's kernel and its module are there, and another kernel runs."""
    of = with_(node(), boot=Boot("1", "6.12.48+deb13-amd64", healthy.BOOTED_AT))
    return with_(of, module_on_disk=healthy.module(kernel="6.12.48+deb13-amd64"))


def wsl() -> Node:
    of = node()
    platform = of.evidence.platform.value
    assert platform is not None
    return with_(of, platform=dataclasses.replace(platform, id="ubuntu", version_id="24.04", wsl=True), pci=())


def upgraded_kernel() -> Node:
    """Whoever leaves the kernel to the distribution gets a new one, for which nothing was built."""
    of = with_(node(kernel_pin=False), boot=Boot("1", OTHER_KERNEL, healthy.BOOTED_AT))
    dkms = (DkmsModule("nvidia", healthy.DRIVER, "installed", healthy.KERNEL, "x86_64"),)
    return with_(of, module_on_disk=None, module_to_boot=None, dkms=dkms, driver=None, modules_loaded=())


def boot_default(**changes: t.Any) -> Node:
    of = node()
    found = of.evidence.boot_default.value
    assert found is not None
    return with_(of, boot_default=dataclasses.replace(found, **changes))


def argument_missing() -> Node:
    of = node(kernel_arguments=["iommu=pt"])
    arguments = ("root=/dev/sda1", "ro", "quiet", "iommu=pt")
    found = BootDefault("grub", "/boot/grub/grub.cfg", healthy.KERNEL, "Debian", arguments, added=("iommu=pt",))
    return with_(of, boot_default=found)


def blacklist_edited() -> Node:
    of = node()
    there = (of.evidence.files.value or {})[BLACKLIST]
    return with_(of, files=items(of.evidence.files, {BLACKLIST: dataclasses.replace(there, sha256="e" * 64)}))


def image(**changes: t.Any) -> Node:
    of = node()
    (there,) = of.evidence.initramfs.value or ()
    return with_(of, initramfs=(dataclasses.replace(there, **changes),))


def another_image_lacks() -> Node:
    of = node()
    images = (*(of.evidence.initramfs.value or ()), Initramfs(OTHER_KERNEL, "", "in", "", missing=True))
    return with_(of, initramfs=images)


def secure(state: str, **values: t.Any) -> Node:
    boot = SecureBoot(True, Reading((Certificate("vendor", "aa:bb", "0c:0d"),)), KEY, Reading(state))
    return with_(node(), secure_boot=boot, driver=None, modules_loaded=(), **values)


def module_refused() -> Node:
    """The driver's module is signed by a key that nobody has enrolled; DKMS has another that is."""
    return secure("enrolled", kernel_log=("Loading of module with unavailable key is rejected",))


def pascal() -> Node:
    return with_(node(), pci=(PciDevice(healthy.address(0), "15f8", "0302", "nvidia"),))


def blackwell() -> Node:
    of = node(of_lock=healthy.lock(driver={"flavour": "proprietary"}))
    closed = healthy.module(licence="NVIDIA")
    return with_(
        of, pci=(PciDevice(healthy.address(0), "2901", "0302", "nvidia"),), module_on_disk=closed, module_to_boot=closed
    )


def library(name: str, there: t.Optional[Library]) -> Node:
    of = node()
    return with_(of, libraries=items(of.evidence.libraries, {name: there}))


def run_file() -> Node:
    path = "/usr/local/lib/libcuda.so.1"
    return library("libcuda.so.1", Library("libcuda.so.1", path, "/usr/local/lib/libcuda.so.570.86.15"))


def unit(name: str, profile: str = "a10", **changes: t.Any) -> Node:
    of = node(profile)
    there = dataclasses.replace((of.evidence.units.value or {})[name], **changes)
    return with_(of, units=items(of.evidence.units, {name: there}))


def no_fabric_manager_named() -> Node:
    wanted = healthy.desired("h100x8", healthy.lock(fabric_manager=None))
    of = with_(node("h100x8"), files=healthy.evidence("a10", wanted).files.value)
    return dataclasses.replace(of, desired=wanted)


def nvlink5() -> Node:
    of = node("h100x8")
    bridge = PciDevice("0000:05:00.0", "1021", "0207", "mlx5_core", nvswitch=True)
    return with_(of, pci=(*(of.evidence.pci.value or ()), bridge))


#: Loaded before the packages were put there: a reboot is due.
PENDING: t.Dict[str, t.Any] = {"driver": DriverLoaded(OLD, "open")}
UNLOADED: t.Dict[str, t.Any] = {"driver": None, "modules_loaded": (), "driver_params": None, "device_nodes": ()}

CASES = (
    Case("host_driver.kernel", "another kernel runs than the lock's", other_kernel, ("after_upgrade",)),
    Case("host_driver.kernel", "the node is WSL", wsl, ("nvml_blocked",)),
    Case(
        "host_driver.boot_default",
        "the next boot starts another kernel",
        lambda: boot_default(kernel=OTHER_KERNEL, entry="Debian GNU/Linux, with Linux %s" % OTHER_KERNEL),
        ("after_upgrade",),
    ),
    Case(
        "host_driver.boot_default",
        "somebody chose another kernel for one boot",
        lambda: boot_default(once=OTHER_KERNEL),
    ),
    Case("host_driver.boot_default", "the boot loader is none that is known", known(boot_default=None)),
    Case("host_driver.kernel_arguments", "the kernel was started without a word that is wanted", argument_missing),
    Case("host_driver.files", "the blacklist of nouveau was edited", blacklist_edited),
    Case(
        "host_driver.nouveau",
        "nouveau was loaded at boot",
        known(**{**UNLOADED, "modules_loaded": ("nouveau",)}),
        ("no_driver", "after_upgrade"),
        ("NVRM: The NVIDIA probe routine was not called for 1 device(s).",),
    ),
    Case(
        "host_driver.initramfs",
        "files that go into the initramfs have changed since",
        lambda: image(inputs="other"),
        ("after_upgrade",),
    ),
    Case("host_driver.initramfs", "nouveau is inside and not blacklisted there", lambda: image(blacklisted=False)),
    Case("host_driver.initramfs", "an installed kernel has no initramfs", another_image_lacks, ("after_upgrade",)),
    Case(
        "host_driver.secure_boot",
        "the key of DKMS is not enrolled",
        lambda: secure("not enrolled", module_to_boot=None),
        ("no_driver", "after_upgrade"),
        ("modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",),
    ),
    Case("host_driver.secure_boot", "the enrolment waits at the console", lambda: secure("requested")),
    Case(
        "host_driver.secure_boot",
        "whether it is on cannot be told",
        lambda: with_(unread("secure_boot", "neither the firmware's variables nor mokutil told")(), driver=None),
    ),
    Case(
        "host_driver.module_on_disk",
        "no module is built for the kernel that runs",
        upgraded_kernel,
        ("no_driver", "after_upgrade"),
        ("modprobe: FATAL: Module nvidia not found in directory /lib/modules/%s" % OTHER_KERNEL,),
    ),
    Case(
        "host_driver.module_on_disk",
        "the module on disk is of another version",
        known(module_on_disk=healthy.module(OLD), module_to_boot=healthy.module(OLD)),
        ("nvml_mismatch",),
    ),
    Case("host_driver.flavour", "the open modules, and a GPU before Turing", pascal, ("no_devices",)),
    Case("host_driver.flavour", "the proprietary modules, and a GPU of Blackwell", blackwell, ("no_devices",)),
    Case(
        "host_driver.loaded",
        "the driver was upgraded, and the one of before is still loaded",
        known(**PENDING),
        ("nvml_mismatch", "after_upgrade", "cuda_unavailable", "driver_cuda_fit"),
        ("Error 803: system has unsupported display driver / cuda driver combination",),
    ),
    Case(
        "host_driver.loaded",
        "the module is on disk and not loaded",
        known(**UNLOADED),
        ("no_driver", "cuda_unavailable"),
    ),
    Case(
        "host_driver.loaded",
        "a line of modprobe.d keeps the module out",
        known(**UNLOADED, modprobe=(ModprobeLine("/etc/modprobe.d/no-gpu.conf", 3, "alias", "nvidia", "off"),)),
        ("no_driver",),
    ),
    Case(
        "host_driver.loaded",
        "the kernel refuses the module's signature",
        module_refused,
        ("no_driver", "after_upgrade"),
        (
            "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
            "Loading of module with unavailable key is rejected",
        ),
    ),
    Case(
        "host_driver.loaded",
        "the firmware gave the GPU no address space",
        known(
            **UNLOADED,
            kernel_log=(
                "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
                "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:17:00.0)",
                "NVRM: None of the NVIDIA devices were initialized.",
            ),
        ),
        ("no_driver", "no_devices"),
    ),
    Case(
        "host_driver.libraries",
        "libnvidia-ml.so.1 is missing",
        lambda: library("libnvidia-ml.so.1", None),
        ("nvml_not_found",),
    ),
    Case(
        "host_driver.libraries",
        "a .run installer left another libcuda",
        run_file,
        ("nvml_mismatch", "cuda_unavailable", "driver_cuda_fit"),
        ("Error 803: system has unsupported display driver / cuda driver combination",),
    ),
    Case(
        "host_driver.nvswitch",
        "NVSwitches, and no fabric manager in the bundle",
        no_fabric_manager_named,
        ("fabric",),
    ),
    Case("host_driver.nvswitch", "NVSwitches of NVLink 5 without nvlsm", nvlink5, ("fabric",)),
    Case(
        "host_driver.fabric_manager",
        "the fabric manager does not run",
        lambda: unit("nvidia-fabricmanager.service", "h100x8", active="failed", started_at=None),
        ("fabric", "cuda_unavailable"),
    ),
    Case(
        "host_driver.fabric_manager",
        "the fabric manager is of another version than the driver",
        lambda: with_(node("h100x8"), fabric_mismatch=FabricMismatch(OLD, healthy.DRIVER)),
        ("fabric", "cuda_unavailable"),
    ),
    Case(
        "host_driver.units",
        "nvidia-persistenced does not run",
        lambda: unit("nvidia-persistenced.service", active="inactive", started_at=None),
        ("slow_start",),
    ),
    Case(
        "host_driver.units",
        "the unit that makes the device nodes was masked",
        lambda: unit("goldennode-uvm.service", load="masked", active="inactive", enabled="masked"),
    ),
)
