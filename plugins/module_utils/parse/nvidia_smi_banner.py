# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table that nvidia-smi prints for people: versions in its head, and three lines for each GPU.

Columns moved and names changed over the years (driver 610 calls its version ``KMD Version``), so each line is read by
what stands between its bars. Names of GPUs are cut off there, and no UUID is told.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..model import Gpu, GpuMode, GpuState, GpuTool, Reading
from . import nvidia_smi
from .text import integer, pci_address

_FIRST = re.compile(r"^(\d{1,4}) +(\S.*?) {2,}(\S+)$")
_BUS = re.compile(r"^([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\b")
_NOT_OFFERED = ("N/A", "[N/A]", "Off")
_SWITCH = {"On": True, "Off": False}
_MIG = {"Disabled": GpuMode(False, False), "Enabled": GpuMode(True, True)}
#: With an asterisk, the other mode comes at the next reset.
_MIG_PENDING = {"Disabled*": GpuMode(False, True), "Enabled*": GpuMode(True, False)}


def parse(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[GpuTool]:
    """Versions and GPUs. Unknown where there is no such head."""
    head = nvidia_smi.banner(stdout, stderr, rc)
    if head.value is None:
        return head
    gpus: t.List[Gpu] = []
    below = 3
    for line in stdout.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 3 or not line.strip().startswith("|"):
            if "Processes:" in line:
                break
            continue
        first, bus = _FIRST.match(cells[0]), _BUS.match(cells[1])
        if first and bus:
            gpus.append(_gpu(first.group(1), first.group(2), first.group(3), bus.group(1), cells[2]))
            below = 0
        else:
            below += 1
            if gpus and below == 2:
                gpus[-1] = _with_mig(gpus[-1], cells[2])
    return Reading(dataclasses.replace(head.value, gpus=tuple(gpus)))


def _gpu(index: str, name: str, persistence: str, bus: str, errors: str) -> Gpu:
    lost = next((word for word in (name, persistence, errors) if word.startswith("ERR")), None)
    state = GpuState(
        persistence=Reading(_SWITCH.get(persistence)),  # elsewhere the column is another one's
        ecc_volatile=_count(errors),
    )
    return Gpu(
        index=int(index),
        name=None if lost == name else name,
        pci_address=pci_address(bus),
        error=lost,
        state=None if lost else state,
    )


def _count(text: str) -> Reading[int]:
    if text in _NOT_OFFERED:
        return Reading(None)
    number = integer(text)
    return Reading.unknown("nvidia-smi says %s" % text[:40]) if number is None else Reading(number)


def _with_mig(gpu: Gpu, word: str) -> Gpu:
    if gpu.state is None:
        return gpu
    mode = {**_MIG, **_MIG_PENDING}.get(word)
    known = mode is not None or word in ("", *_NOT_OFFERED)
    mig: Reading[GpuMode] = Reading(mode) if known else Reading.unknown("nvidia-smi says %s" % word[:40])
    return dataclasses.replace(gpu, state=dataclasses.replace(gpu.state, mig=mig))
