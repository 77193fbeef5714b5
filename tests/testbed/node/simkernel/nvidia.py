# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the GPU drivers do when they are loaded and unloaded: take devices, fill /proc/driver/nvidia, complain."""

from __future__ import annotations

import errno
import shutil
import typing as t

from . import mig, support, views, xid
from .machine import RUN, Device, faulty_gpus, log, present_devices

#: Addresses of the GPUs that the nvidia module has bound and can start, in the order of the profile; the fakes read it.
BOUND_GPUS = RUN / "gpus"
#: Version and licence of the loaded module.
LOADED = RUN / "nvidia-module"
#: On a machine with NVSwitches: what the fabric manager has set up so far; the fakes read it.
FABRIC = RUN / "fabric"

#: Of a GPU that has never started.
UNKNOWN_UUID = "GPU-????????-????-????-????-????????????"

#: Parameters in the order in which /proc/driver/nvidia/params prints them, with their defaults.
PARAMETERS = {
    "ResmanDebugLevel": 4294967295,
    "RmLogonRC": 1,
    "ModifyDeviceFiles": 1,
    "DeviceFileUID": 0,
    "DeviceFileGID": 0,
    "DeviceFileMode": 0o666,
    "InitializeSystemMemoryAllocations": 1,
    "UsePageAttributeTable": 4294967295,
    "EnableMSI": 1,
    "EnablePCIeGen3": 0,
    "MemoryPoolSize": 0,
    "EnableStreamMemOPs": 0,
    "EnableUserNUMAManagement": 1,
    "DmaRemapPeerMmio": 1,
    "EnablePCIERelaxedOrderingMode": 0,
    "EnableResizableBar": 0,
    "EnableGpuFirmware": 18,
    "OpenRmEnableUnsupportedGpus": 1,
    "DynamicPowerManagement": 3,
    "PreserveVideoMemoryAllocations": 0,
    "CreateImexChannel0": 0,
    "ImexChannelCount": 2048,
}


def load_nvidia(version: str, licence: str, options: t.Dict[str, str]) -> int:
    """Load the nvidia module; 0 or the errno with which the kernel would refuse it."""
    gpus = [device for device in present_devices() if device.is_gpu]
    if not gpus:
        log("NVRM: No NVIDIA GPU found.")
        return errno.ENODEV
    held = [gpu for gpu in gpus if views.driver_of(gpu.address) is not None]
    if held:
        log(
            "NVRM: The NVIDIA probe routine was not called for %d device(s)." % len(held),
            "NVRM: This can occur when another driver was loaded and ",
            "NVRM: obtained ownership of the NVIDIA device(s).",
            "NVRM: Try unloading the conflicting kernel module (and/or",
            "NVRM: reconfigure your kernel without the conflicting",
            "NVRM: driver(s)), then try loading the NVIDIA kernel module",
            "NVRM: again.",
        )
    if len(held) == len(gpus):
        log("NVRM: No NVIDIA devices probed.")
        return errno.ENODEV
    if not _probe_known(version, [gpu for gpu in gpus if gpu not in held]):
        return errno.ENODEV
    try:
        values = _parameters(options)
    except ValueError as error:
        log("nvidia: invalid value for a parameter: %s" % error)
        return errno.EINVAL
    banner = _banner(version, licence)
    log("NVRM: loading %s" % banner)
    views.PROC_NVIDIA.mkdir()
    (views.PROC_NVIDIA / "version").write_text(
        "NVRM version: %s\nGCC version:  gcc version 14.2.0 (Debian 14.2.0-19) \n" % banner
    )
    (views.PROC_NVIDIA / "params").write_text("".join("%s: %d\n" % item for item in values.items()))
    views.register_major("nvidia", 195)
    views.register_major("nvidiactl", 195)
    views.register_major("nvidia-caps")
    views.register_major("nvidia-caps-imex-channels")
    if any(not device.is_gpu for device in present_devices()):
        views.register_major("nvidia-nvswitch")
        FABRIC.write_text("not_started\n")
    LOADED.write_text("%s %s" % (version, licence))
    bind_nvidia()
    return 0


def _probe_known(version: str, gpus: t.Sequence[Device]) -> bool:
    """Say which GPUs this release does not know; True when one is left."""
    complaints = [complaint for complaint in (support.unknown_to(gpu, version) for gpu in gpus) if complaint]
    log(*complaints)
    if len(complaints) < len(gpus):
        return True
    log(
        "NVRM: The NVIDIA probe routine failed for %d device(s)." % len(gpus),
        "NVRM: None of the NVIDIA devices were initialized.",
    )
    return False


def bind_nvidia() -> None:
    """Let the loaded nvidia module take every device of its own that nobody holds, and show which GPUs it has."""
    version, licence = LOADED.read_text().split(" ", maxsplit=1)
    for device in present_devices():
        if views.driver_of(device.address) is None and not (device.is_gpu and support.unknown_to(device, version)):
            views.bind(device.address, "nvidia" if device.is_gpu else "nvidia-nvswitch")
    mine = [d for d in present_devices() if d.is_gpu and views.driver_of(d.address) == "nvidia"]
    BOUND_GPUS.write_text("".join(gpu.address + "\n" for gpu in mine if not support.not_started_by(gpu, licence)))
    shutil.rmtree(views.PROC_NVIDIA / "gpus", ignore_errors=True)
    for minor, gpu in enumerate(mine):
        entry = views.PROC_NVIDIA / "gpus" / gpu.address
        entry.mkdir(parents=True)
        uuid = UNKNOWN_UUID if support.not_started_by(gpu, licence) else gpu.uuid
        (entry / "information").write_text(
            "Model: \t\t %s\nIRQ:   \t\t 16\nGPU UUID: \t %s\nBus Type: \t PCIe\n"
            "Bus Location: \t %s\nDevice Minor: \t %d\nGPU Excluded:\t No\n" % (gpu.name, uuid, gpu.address, minor)
        )
    mig.show(mine)
    _log_faults(mine, licence)


def unload_nvidia() -> None:
    for driver in ("nvidia", "nvidia-nvswitch"):
        views.remove_driver(driver)
    views.unregister_majors("nvidia", "nvidiactl", "nvidia-caps", "nvidia-caps-imex-channels", "nvidia-nvswitch")
    BOUND_GPUS.unlink()
    LOADED.unlink()
    FABRIC.unlink(missing_ok=True)
    mig.hide()
    shutil.rmtree(views.PROC_NVIDIA)


def load_nouveau() -> int:
    """nouveau takes every GPU that nobody holds, and loads even where it finds none."""
    for device in present_devices():
        if device.is_gpu and views.driver_of(device.address) is None:
            views.bind(device.address, "nouveau")
            log("nouveau %s: NVIDIA GPU (%04x)" % (device.address, device.device))
    return 0


def _banner(version: str, licence: str) -> str:
    built = "Release Build  (dvs-builder@simulated)  Mon Jun  1 00:00:00 UTC 2026"
    if licence == "NVIDIA":
        return "NVIDIA UNIX x86_64 Kernel Module  %s  Mon Jun  1 00:00:00 UTC 2026" % version
    return "NVIDIA UNIX Open Kernel Module for x86_64  %s  %s" % (version, built)


def _parameters(options: t.Dict[str, str]) -> t.Dict[str, int]:
    values = dict(PARAMETERS)
    for option, text in options.items():
        name = option.partition("NVreg_")[2]
        if name not in values:
            log("nvidia: unknown parameter '%s' ignored" % option)
            continue
        values[name] = kernel_number(text)
    return values


def kernel_number(text: str) -> int:
    """A number as the kernel reads a module parameter: 0x is hexadecimal, a leading 0 octal, the rest decimal."""
    if text.lower().startswith("0x"):
        return int(text, 16)
    return int(text, 8 if text.startswith("0") else 10)


def _log_faults(gpus: t.Sequence[Device], licence: str) -> None:
    for minor, gpu in enumerate(gpus):
        reason = support.not_started_by(gpu, licence)
        if reason:
            log(reason[0])
            _log_not_started(gpu, minor, reason[1])
        if gpu.index in faulty_gpus("gpu-lost"):
            log(
                "NVRM: Xid (PCI:%s): 79, GPU has fallen off the bus." % gpu.address[:-2],
                "NVRM: GPU %s: GPU has fallen off the bus." % gpu.address,
            )
        if gpu.index in faulty_gpus("gpu-not-initialised"):
            _log_not_started(gpu, minor, "0x62:0xffff:2477")
        log(*xid.lines(gpu))


def _log_not_started(gpu: Device, minor: int, code: str) -> None:
    log(
        "NVRM: GPU %s: RmInitAdapter failed! (%s)" % (gpu.address, code),
        "NVRM: GPU %s: rm_init_adapter failed, device minor number %d" % (gpu.address, minor),
    )
