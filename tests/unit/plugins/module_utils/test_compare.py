# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Of two nodes only what differs is told, in words, and never what must differ."""

from __future__ import annotations

import dataclasses

from ansible_collections.goldennode.gpu.plugins.module_utils.compare import differences
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Boot, Gpu, GpuTool, Reading
from ansible_collections.goldennode.gpu.tests.unit import healthy

NODE = healthy.evidence()


def told(here, there=NODE):
    return [str(one) for one in differences(here, there)]


def test_a_node_does_not_differ_from_itself_nor_from_its_twin():
    twin = dataclasses.replace(
        healthy.known(
            NODE,
            boot=Boot("99999999", healthy.KERNEL, 77.0),
            smi=GpuTool(healthy.DRIVER, "13.0", (Gpu(0, healthy.uuid(5), "NVIDIA GPU", "0000:65:00.0"),)),
            cdi_specs={"/var/run/cdi/nvidia.yaml": healthy.cdi_spec(devices=("0", healthy.uuid(5), "all"))},
            command_line="BOOT_IMAGE=/boot/x root=/dev/nvme0n1p2 ro quiet",
        ),
        host="node2",
        collected_at="later",
    )
    assert told(NODE) == []
    assert told(twin) == []


def test_another_driver_is_told_where_it_stands():
    lock = healthy.lock(driver={"version": "580.95.05", "packages": {"libcuda1": "580.95.05-1"}})
    found = told(healthy.evidence("a10", healthy.desired(of_lock=lock)))
    assert "driver in the kernel version: 580.95.05 | 580.159.03" in found
    assert "package libcuda1 version: 580.95.05-1 | 580.159.03-1" in found
    assert "package nvidia-smi: not there | there" in found
    assert "containers runtime smi driver: 580.95.05 | 580.159.03" in found


def test_numbers_of_gpus_and_what_is_missing_is_told_once():
    found = told(healthy.evidence("h100x8"))
    assert "on the PCI bus: 4 x 22a3 0680 nvswitch, 8 x 2330 0302 nvidia | 2236 0302 nvidia" in found
    assert "nvidia-smi gpus: 8 x NVIDIA GPU | NVIDIA GPU" in found
    assert found.count("node /dev/nvidia3: there | not there") == 1
    assert told(healthy.known(NODE, docker=None)) == ["docker: not there | there"]


def test_what_is_not_known_is_no_difference_but_that():
    assert told(healthy.unreadable(NODE, "smi")) == ["nvidia-smi: not known: smi was unreadable | known"]
    assert told(healthy.unreadable(NODE, "smi"), healthy.unreadable(NODE, "smi")) == []


def test_modes_are_octal_and_words_of_the_kernel_stand_alone():
    nodes = tuple(dataclasses.replace(node, mode=0o600) for node in NODE.device_nodes.value[:1])
    nodes += NODE.device_nodes.value[1:]
    changed = healthy.known(NODE, device_nodes=nodes, command_line="root=/dev/sda1 ro quiet iommu=pt")
    assert told(changed) == [
        "node /dev/nvidia0 mode: 0600 | 0660",
        "word on the kernel's command line iommu=pt: there | not there",
    ]


def test_a_container_that_does_not_start():
    broken = healthy.container(NODE, "cdi", started=False, error="unresolvable CDI devices", smi=Reading.unknown("x"))
    found = told(broken)
    assert "containers cdi started: no | yes" in found
    assert "containers cdi error: unresolvable CDI devices | not there" in found
    assert (
        "containers cdi smi: not known | not there" in found
        or "containers cdi smi driver: not there | 580.159.03" in found
    )
