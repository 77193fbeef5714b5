# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs that are not fit, or slower than they are, although every tool lists them."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    CudaInit,
    Fabric,
    GpuMode,
    GpuTool,
    PcieLink,
    PciSlot,
    RemappedRows,
)
from ansible_collections.goldennode.gpu.scripts.docpages.case import Case, Node, node, with_
from ansible_collections.goldennode.gpu.tests.unit import healthy

XID = "NVRM: Xid (PCI:0000:17:00): %s"


def state(profile: str = "a10", **fields: t.Any) -> t.Callable[[], Node]:
    """A healthy node whose first GPU says this of itself."""

    def made() -> Node:
        of = node(profile)
        return dataclasses.replace(of, evidence=healthy.of_gpu(of.evidence, 0, **fields))

    return made


def log(*xids: str) -> t.Callable[[], Node]:
    """One whose driver tells no recovery action, with these Xids in its log."""
    return lambda: with_(state(recovery=None)(), kernel_log=tuple(XID % words for words in xids))


def without_cuda(made: t.Callable[[], Node], code: int, name: str) -> t.Callable[[], Node]:
    return lambda: with_(made(), cuda=CudaInit(code, name))


def no_numa_node() -> Node:
    return with_(node(), pci_slots={healthy.address(0): PciSlot(healthy.LINK, -1)})


def other_gpu() -> Node:
    of = node()
    answer = of.evidence.smi.value or GpuTool()
    gpus = tuple(dataclasses.replace(gpu, uuid=healthy.uuid(7)) for gpu in answer.gpus)
    return with_(of, smi=dataclasses.replace(answer, gpus=gpus))


CASES = (
    Case(
        "hardware.memory",
        "there is no spare row left for a broken one",
        state(remapped=RemappedRows(0, 8, pending=False, failed=True)),
        ("gpu_lost",),
    ),
    Case("hardware.memory", "errors that ECC could not correct", state(ecc_volatile=2, ecc_aggregate=2), ("gpu_lost",)),
    Case(
        "hardware.memory",
        "a row waits for the next reset",
        state(remapped=RemappedRows(0, 1, pending=True, failed=False)),
    ),
    Case("hardware.recovery", "the driver wants the GPU reset", state(recovery=1), ("stopped_working",)),
    Case("hardware.recovery", "the driver wants the node rebooted", state(recovery=2), ("stopped_working",)),
    Case(
        "hardware.xid",
        "the GSP firmware does not answer",
        log("119, pid=1, name=python3, Timeout after 6s of waiting for RPC response from GPU0 GSP!"),
        ("gpu_lost",),
    ),
    Case(
        "hardware.xid",
        "a program's fault, and then the driver wants a reboot",
        log("31, pid=1, MMU Fault", "154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"),
    ),
    Case("hardware.xid", "an error of the NVLinks", log("74, pid=1, NVLink: fatal error detected on link 2")),
    Case("hardware.xid", "a memory error that was kept to one program", log("94, pid=1, Contained: SM (0x1).")),
    Case("hardware.pcie_link", "half of the lanes", state(pcie=PcieLink(4, 4, 8, 16)), ("slow",)),
    Case(
        "hardware.pcie_link",
        "a slow generation while the GPU is busy",
        state(pcie=PcieLink(1, 4, 16, 16), utilization=95),
        ("slow",),
    ),
    Case("hardware.numa", "the firmware does not tell the NUMA node", no_numa_node, ("slow",)),
    Case("hardware.throttle", "a GPU that is too hot", state(clock_events=0x48), ("slow",)),
    Case("hardware.throttle", "the power supply brakes", state(clock_events=0x80), ("slow",)),
    Case(
        "host_driver.fabric",
        "the registration does not end",
        without_cuda(state("h100x8", fabric=Fabric(2)), 802, "CUDA_ERROR_SYSTEM_NOT_READY"),
        ("fabric", "cuda_unavailable"),
    ),
    Case("host_driver.fabric", "a route is unhealthy", state("h100x8", fabric=Fabric(3, 0, 1 << 4, 2)), ("fabric",)),
    Case(
        "host_driver.mig",
        "MIG is on and has no instance",
        without_cuda(state(mig=GpuMode(True, True), compute_instances=0), 100, "CUDA_ERROR_NO_DEVICE"),
        ("cuda_unavailable", "wrong_gpu"),
    ),
    Case("host_driver.mig", "MIG was switched and waits for a reset", state(mig=GpuMode(False, True))),
    Case("host_driver.answers_agree", "the tools list two GPUs", other_gpu),
    Case("host_driver.persistence", "the GPU falls asleep", state(persistence=False), ("slow_start", "slow")),
)
