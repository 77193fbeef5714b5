# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Broken nodes of the layer hardware."""

from __future__ import annotations

import dataclasses

from ansible_collections.goldennode.gpu.plugins.module_utils.model import GpuTool, PciDevice
from ansible_collections.goldennode.gpu.scripts.docpages.case import Case, Node, gpu, known, node, unread, with_
from ansible_collections.goldennode.gpu.tests.unit import healthy

GPU = PciDevice(healthy.address(0), "2236", "0302", "nvidia")
LOG = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  %s" % healthy.DRIVER


def missing_card() -> Node:
    of = node("h100x8")
    there = tuple(device for device in of.evidence.pci.value or () if device.address != healthy.address(7))
    return with_(of, pci=there)


def lost_card() -> Node:
    of = node("h100x8")
    line = "NVRM: Xid (PCI:0000:37:00): 79, pid=4242, GPU has fallen off the bus."
    return with_(of, kernel_log=(LOG, line))


def one_refused() -> Node:
    of = node("h100x8")
    line = "NVRM: GPU 0000:37:00.0: RmInitAdapter failed! (0x62:0xffff:2631)"
    answer = of.evidence.nvml.value or GpuTool()
    left = dataclasses.replace(answer, gpus=tuple(one for one in answer.gpus if one.pci_address != healthy.address(2)))
    return with_(of, nvml=left, smi=left, kernel_log=(LOG, line))


def power_cable() -> Node:
    line = "NVRM: GPU 0000:17:00.0: GPU does not have the necessary power cables connected."
    failed = "NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x24:0x1c:1467)"
    none = GpuTool(driver=healthy.DRIVER)
    return with_(node(), kernel_log=(LOG, line, failed), nvml=none, smi=none)


CASES = (
    Case("hardware.gpu_present", "no card on the bus", known(pci=()), ("no_devices",)),
    Case(
        "hardware.gpu_present",
        "every GPU is kept for virtual machines",
        known(pci=(dataclasses.replace(GPU, driver="vfio-pci"),)),
        ("no_devices",),
    ),
    Case(
        "hardware.vgpu",
        "the node is a guest with a slice of a GPU",
        known(pci=(dataclasses.replace(GPU, vgpu=True),)),
        ("no_devices", "no_driver"),
    ),
    Case(
        "hardware.vgpu",
        "whether it is a slice cannot be read",
        known(pci=(dataclasses.replace(GPU, vgpu=None),)),
    ),
    Case("hardware.gpu_count", "a card is missing from the bus", missing_card, ("gpu_lost", "wrong_gpu")),
    Case(
        "hardware.gpu_count",
        "a card more than declared",
        known(pci=(GPU, dataclasses.replace(GPU, address=healthy.address(1)))),
    ),
    Case("hardware.gpu_healthy", "a card has fallen off the bus", lost_card, ("gpu_lost", "stopped_working")),
    Case("hardware.gpu_healthy", "the driver does not initialise one card of many", one_refused, ("gpu_lost",)),
    Case("hardware.gpu_healthy", "a power cable is not connected", power_cable, ("no_devices", "gpu_lost")),
    Case(
        "hardware.gpu_healthy",
        "the infoROM of a card is corrupted, and it computes all the same",
        known(smi=GpuTool(healthy.DRIVER, "13.0", (gpu(warning="infoROM is corrupted"),))),
    ),
    Case("hardware.gpu_healthy", "the kernel's log cannot be read", unread("kernel_log", "dmesg ended with code 1")),
)
