# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report shows of the state of its GPU and of what the node waits for. See mapping.py.

Reports show nvidia-smi -q; the probe asks NVML, from which nvidia-smi has these answers. The GPU is the first.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.goldennode.gpu.tests.unit.cases import slowness, states
from ansible_collections.goldennode.gpu.tests.unit.cases.disk import BOOTED
from ansible_collections.goldennode.gpu.tests.unit.cases.machine import Machine

Input = t.Mapping[str, t.Any]

#: Lines of nvidia-smi -q, and NVML's bits.
CLOCK_EVENTS = {
    "SW Power Cap": 0x4,
    "HW Slowdown": 0x8,
    "SW Thermal Slowdown": 0x20,
    "HW Thermal Slowdown": 0x40,
    "HW Power Brake Slowdown": 0x80,
}
FABRIC = {"Not Started": 1, "In Progress": 2, "Completed": 3}
RECOVERY: t.Dict[str, t.Any] = {
    "N/A": states.NOT_SUPPORTED,
    "None": 0,
    "Reset": 1,
    "Reboot": 2,
    "Drain P2P": 3,
    "Drain and Reset": 4,
}


def query(machine: Machine, text: str, case: Input) -> None:
    """nvidia-smi --query-gpu with a head line."""
    name, value = text.split("\n")[:2]
    assert name == "mig.mode.current"
    on = int(value == "Enabled")
    machine.state(0, mig=[on, on], mig_devices=[])


def listing(machine: Machine, text: str, case: Input) -> None:
    """A line for each GPU, and below it one for each instance."""
    lines = text.splitlines()
    assert len([line for line in lines if line.startswith("GPU ")]) == len(machine.gpus)
    machine.state(
        0, mig_devices=[[at + 1, 0] for at in range(len([line for line in lines if line.startswith("  MIG ")]))]
    )


def details(machine: Machine, text: str, case: Input) -> None:
    """Lines ``name : value``, with the heads under which they stand. A line of which nothing comes is an error."""
    told: t.Dict[str, str] = {}
    head = ""
    for line in filter(str.strip, text.splitlines()):
        name, colon, value = (part.strip() for part in line.partition(" : "))
        if not colon:
            head = name.strip()
        told["%s: %s" % (head, name) if name in ("Max", "Current", "Pending") else name] = value
    answers: t.Dict[str, t.Any] = {}
    events = {name for name in told if name in CLOCK_EVENTS}
    if events:
        answers["clock_events"] = sum(CLOCK_EVENTS[name] for name in events if told[name] == "Active")
    if "Remapping Failure Occurred" in told:
        words = ("Correctable Error", "Uncorrectable Error", "Remapped Rows: Pending", "Remapping Failure Occurred")
        answers["remapped"] = [{"Yes": 1, "No": 0}.get(told[name], 0) or _number(told[name]) for name in words]
    if "State" in told:
        answers["fabric"] = {"state": FABRIC[told["State"]], "status": 0, "health": 0, "summary": 0}
    for name, question in (("DRAM Uncorrectable", "ecc_volatile"), ("Gpu", "utilization")):
        if name in told:
            answers[question] = _number(told[name])
    if "GPU Recovery Action" in told:
        answers["recovery"] = RECOVERY[told["GPU Recovery Action"]]
    if "Link Width: Max" in told:
        answers["pcie"] = [3, 3, _number(told["Link Width: Current"]), _number(told["Link Width: Max"])]
    assert answers, text
    machine.state(0, **answers)


def processes(machine: Machine, found: t.Sequence[str], case: Input) -> None:
    """``PID NAME MIB`` of each program that computes on the GPU."""
    machine.state(0, processes=[
        {"pid": int(pid), "name": name, "memory": int(mib) << 20} for pid, name, mib in map(str.split, found)
    ])  # fmt: skip


def pressure(machine: Machine, full: t.Mapping[str, float], case: Input) -> None:
    """Percent of the last five minutes in which nothing went on for want of it."""
    for name, percent in full.items():
        machine.write("/proc/pressure/" + name, slowness.stall(percent, percent))


def iowait(machine: Machine, percent: int, case: Input) -> None:
    """On a kernel that does not count waiting: CPUs that idled for disks, since boot."""
    for name in ("cpu", "memory", "io"):
        del machine.files["/proc/pressure/" + name]
    times = "cpu  %d 0 0 %d %d 0 0 0 0 0\n" % (60, 40 - percent, percent)
    machine.write("/proc/stat", "%sbtime %d\n" % (times, BOOTED))


def _number(words: str) -> int:
    found = re.match(r"(\d+)", words)
    return int(found[1]) if found else 0
