# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer hardware: what makes a GPU slower than it is. Informational: the node works, and most of it comes and goes."""

from __future__ import annotations

import typing as t

from ..model import Desired, Evidence, Finding, GpuState, PcieLink
from ..parse.gpu_state import clock_events
from . import gpu_state as state_of
from .outcome import all_passed, failed, passed
from .wanted import gpus

#: A link sleeps while the GPU is idle, and tells its generation only while it works.
_BUSY_PERCENT = 20

#: GPUs whose way to the processor is not PCIe but C2C: GH200, GB200, GB300, GB10. Their PCIe link tells nothing of it.
_C2C = ("2342", "2348", "2941", "31c2", "2e12")

#: Bits of the reasons for lower clocks, with what is wrong and what to do. A power limit is how a busy GPU runs.
_THROTTLES = (
    (
        0x40,
        "it is too hot (hardware thermal slowdown)",
        "Look at fans, airflow and dust, and at the room's temperature.",
    ),
    (0x20, "it is close to too hot (software thermal slowdown)", "Look at fans and airflow before it gets hotter."),
    (
        0x80,
        "the power supply asks it to slow down (power brake)",
        "Look at power supplies and cables of the machine, and at the power limit of the rack.",
    ),
    (
        0x8,
        "the hardware slows it down (heat, power brake or a short of power)",
        "Look at the other reasons in nvidia-smi -q -d PERFORMANCE, and at power cables and cooling.",
    ),
    (0x200, "a limit of the board slows it down", "Look at power cables and cooling of the board."),
    (
        0x400,
        "the reliability limit of the GPU slows it down",
        "Look at its temperature; the GPU lowers its voltage itself.",
    ),
)

#: Said by the general bit as well as by their own.
_HARDWARE_SLOWDOWN, _ITS_REASONS = 0x8, 0xC0


def pcie_link(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    states = dict(state_of.told(evidence))
    slots = evidence.pci_slots.value or {}
    problems: t.List[Finding] = []
    for device in gpus(evidence.pci.value or ()):
        state = states.get(device.address)
        link = (state.pcie.value if state else None) or (
            slots[device.address].link if device.address in slots else None
        )
        if link is not None and device.device not in _C2C:
            problems.extend(_link(device.address, link, (state.utilization.value if state else None) or 0))
    return all_passed(problems, "every link has its full width, where it is told")


def _link(gpu: str, link: PcieLink, busy: int) -> t.Iterator[Finding]:
    if link.width and link.max_width and link.width < link.max_width:
        yield failed(
            gpu,
            expected="%d lanes" % link.max_width,
            actual="%d lanes" % link.width,
            cause="GPU %s has %d of %d PCIe lanes: copies to and from it take that much longer."
            % (gpu, link.width, link.max_width),
            fix="Look again while the GPU works, since a link may be narrower when nothing uses it. In a virtual "
            "machine ask whoever runs it: some clouds give fewer lanes by design. Else look how many lanes the slot "
            "has, and take the card or its riser out and put it in again; lspci -vv -s %s shows LnkCap and LnkSta."
            % gpu,
            repair="manual",
        )
    elif busy >= _BUSY_PERCENT and link.generation and link.max_generation and link.generation < link.max_generation:
        yield failed(
            gpu,
            expected="PCIe generation %d" % link.max_generation,
            actual="generation %d while the GPU is busy" % link.generation,
            cause="GPU %s works over PCIe generation %d, and could over %d."
            % (gpu, link.generation, link.max_generation),
            fix="Look at the firmware's setting for the slot, at risers and cables, and for AER in journalctl -k.",
            repair="manual",
        )


def numa(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    nodes = evidence.numa_nodes.value or 1
    if nodes < 2:
        return [passed("the machine has one NUMA node")]
    slots = sorted((evidence.pci_slots.value or {}).items())
    untold = [address for address, slot in slots if slot.numa_node is not None and slot.numa_node < 0]
    problems = (_no_node(address, nodes) for address in untold)
    return all_passed(problems, ", ".join("%s on node %s" % (a, s.numa_node) for a, s in slots) or "no GPU")


def _no_node(gpu: str, nodes: int) -> Finding:
    return failed(
        gpu,
        expected="one of %d NUMA nodes" % nodes,
        actual="-1",
        cause="The firmware does not say to which of %d NUMA nodes GPU %s belongs: programs cannot be kept near it."
        % (nodes, gpu),
        fix="Update the machine's firmware or switch its NUMA setting on; give a virtual machine a NUMA topology.",
        repair="manual",
    )


def throttle(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    problems = (problem for gpu, state in state_of.told(evidence) for problem in _throttle(gpu, state))
    return state_of.judged(evidence, problems, "no GPU is slowed down but by idleness or its power limit")


def _throttle(gpu: str, state: GpuState) -> t.Iterator[Finding]:
    yield from state_of.not_known(gpu, "reasons for lower clocks", state.clock_events)
    bits = state.clock_events.value or 0
    if bits & _ITS_REASONS:
        bits &= ~_HARDWARE_SLOWDOWN
    for bit, why, fix in _THROTTLES:
        if bits & bit:
            yield failed(
                gpu,
                expected="full clocks",
                actual=", ".join(clock_events(bits)),
                cause="GPU %s runs slower now: %s." % (gpu, why),
                fix=fix,
                repair="manual",
            )
