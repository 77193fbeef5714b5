# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a GPU sits: its PCIe link, its NUMA node, and how many nodes the machine has. All from sysfs, at no cost."""

from __future__ import annotations

import re
import typing as t

from ..model import PciDevice, PcieLink, PciSlot, Reading
from ..parse import pcie
from ..parse.text import integer
from .host import Host

PCI = "/sys/bus/pci/devices"
NUMA = "/sys/devices/system/node"

_FILES = ("current_link_speed", "max_link_speed", "current_link_width", "max_link_width", "numa_node")


def slots(host: Host, functions: Reading[t.Tuple[PciDevice, ...]]) -> Reading[t.Dict[str, PciSlot]]:
    """Of the GPUs of this node, by address. A file that is not there tells nothing, which is known."""
    if functions.value is None:
        return Reading.unknown(functions.error or "")
    found: t.Dict[str, PciSlot] = {}
    for device in functions.value:
        if not device.is_gpu or device.set_aside:
            continue
        words: t.List[str] = []
        for name in _FILES:
            text = host.read("%s/%s/%s" % (PCI, device.address, name))
            if not text.known:
                return Reading.unknown(text.error or "")
            words.append(text.value or "")
        speed, max_speed, width, max_width, numa_node = words
        found[device.address] = PciSlot(
            link=PcieLink(
                generation=pcie.generation(speed),
                max_generation=pcie.generation(max_speed),
                width=pcie.lanes(width),
                max_width=pcie.lanes(max_width),
            ),
            numa_node=integer(numa_node),
        )
    return Reading(found)


def numa_nodes(host: Host) -> Reading[int]:
    """One where the kernel knows of none."""
    names = host.listdir(NUMA)
    if not names.known:
        return Reading.unknown(names.error or "")
    return Reading(sum(1 for name in names.value or {} if re.match(r"^node[0-9]+$", name)) or 1)
