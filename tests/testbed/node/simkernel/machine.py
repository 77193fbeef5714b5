# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated machine: its hardware profile, its faults, its clock and its kernel log."""

from __future__ import annotations

import dataclasses
import re
import shlex
import time
import typing as t
from pathlib import Path

#: Written by the test bed, kept across reboots.
CONFIG = Path("/etc/simgpu")
PROFILE = CONFIG / "profile"
#: The kernel that a person at the console chooses at every boot, or, with the word `once`, at the next one.
BOOT_KERNEL = CONFIG / "boot-kernel"
KEPT_FAULTS = CONFIG / "faults"

#: The state of this boot. It is a tmpfs: a reboot forgets it.
RUN = Path("/run/simgpu")
FAULTS = RUN / "faults"
KERNEL_LOG = RUN / "kmsg"
STARTED = RUN / "started"

NVIDIA_VENDOR = 0x10DE


@dataclasses.dataclass(frozen=True)
class Device:
    """One PCI function of the profile. ``index`` is the number that faults speak of; None for what is no GPU."""

    address: str
    device: int
    pci_class: int  # 0x030200
    uuid: str = ""
    name: str = ""
    numa: int = 0
    index: t.Optional[int] = None
    architecture: int = 7  # NVML's number: 4 Pascal, 7 Ampere, 10 Blackwell
    pcie_generation: int = 4
    pcie_width: int = 16

    @property
    def is_gpu(self) -> bool:
        return self.pci_class >> 16 == 0x03

    @property
    def modalias(self) -> str:
        return "pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X" % (
            NVIDIA_VENDOR,
            self.device,
            NVIDIA_VENDOR,
            SUBSYSTEM,
            self.pci_class >> 16,
            self.pci_class >> 8 & 0xFF,
            self.pci_class & 0xFF,
        )


SUBSYSTEM = 0x1482


def present_devices() -> t.List[Device]:
    """What is on the PCI bus now: the profile without the GPUs that the fault ``gpu-missing`` took out."""
    if not PROFILE.exists():
        return []
    missing = faulty_gpus("gpu-missing")
    found = (parse_device(line) for line in PROFILE.read_text().splitlines())
    return [device for device in found if device is not None and device.index not in missing]


def parse_device(line: str) -> t.Optional[Device]:
    """A device from one line of a profile, None for a line about something else."""
    kind, _, rest = line.partition(" ")
    if kind not in ("gpu", "nvswitch"):
        return None
    values = dict(word.partition("=")[::2] for word in shlex.split(rest))
    default_class = "0302" if kind == "gpu" else "0680"
    return Device(
        address=values["pci"],
        device=int(values["device"], 16),
        pci_class=int(values.get("class", default_class), 16) << 8,
        uuid=values.get("uuid", ""),
        name=values.get("name", ""),
        numa=int(values.get("numa", "0")),
        index=int(values["index"]) if kind == "gpu" else None,
        architecture=int(values.get("arch", "7")),
        pcie_generation=int(values.get("pcie_gen", "4")),
        pcie_width=int(values.get("pcie_width", "16")),
    )


def faulty_gpus(fault: str) -> t.Set[int]:
    """Indexes of the GPUs that have ``fault``: the numbers in the fault's file, GPU 0 where it has none."""
    try:
        words = (FAULTS / fault).read_text().split()
    except FileNotFoundError:
        return set()
    return {int(word) for word in words if word.isdigit()} or {0}


def log(*records: str) -> None:
    """Append to the kernel log, in the form that dmesg prints; the further lines of a record stand under its first."""
    stamp = "[%12.6f] " % (time.monotonic() - float(STARTED.read_text()))
    with KERNEL_LOG.open("a") as stream:
        stream.writelines(stamp + record.replace("\n", "\n" + " " * len(stamp)) + "\n" for record in records)


def installed_kernels() -> t.List[str]:
    """Releases that can be booted, oldest first."""
    images = Path("/boot").glob("vmlinuz-*")
    return sorted((image.name.partition("-")[2] for image in images), key=version_key)


def version_key(release: str) -> t.List[t.Tuple[int, int, str]]:
    """Sorts 6.12.9 before 6.12.57."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.findall(r"\d+|\D+", release)]


def running_kernel() -> str:
    return Path("/proc/sys/kernel/osrelease").read_text().strip()
