# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The answer of the NVML child script: JSON lines, so that what was said before it hung is not lost."""

from __future__ import annotations

import typing as t

from ..model import Gpu, GpuState, GpuTool, Reading
from .gpu_state import states
from .json_lines import objects
from .text import gpu_uuid, last_line, pci_address


def parse(stdout: str, stderr: str, rc: t.Optional[int], timed_out: str = "") -> Reading[GpuTool]:
    """Lines ``{"driver":, "cuda":, "count":}``, then ``{"asking": N}`` and ``{"gpu": {...}}`` for each GPU.

    After these, for each question about its state, ``{"asking": N, "of": ...}`` and the answer (``gpu_state``).

    :arg timed_out: what became of a child that had to be killed, else ""
    """
    lines = objects(stdout)
    for line in lines:
        if "error" in line and "state" not in line:
            return Reading.unknown("NVML: %s" % line["error"])
    if timed_out:
        asking = [line for line in lines if "asking" in line]
        return Reading.unknown("%s%s" % (timed_out, _asked(asking[-1]) if asking else ""))
    head = next((line for line in lines if "count" in line), None)
    if head is None or rc != 0:
        said = last_line(stderr) or "it said nothing"
        return Reading.unknown("the NVML child gave no answer and ended with code %s: %s" % (rc, said))
    told = states(lines)
    gpus = tuple(_gpu(line["gpu"], told) for line in lines if isinstance(line.get("gpu"), dict))
    if len(gpus) != head["count"]:
        return Reading.unknown("NVML counts %s GPUs and told of %d" % (head["count"], len(gpus)))
    return Reading(GpuTool(driver=_text(head.get("driver")), cuda=_cuda(head.get("cuda")), gpus=gpus))


def _asked(line: t.Mapping[str, t.Any]) -> str:
    of = _text(line.get("of"))
    return " while it asked GPU %s%s" % (line["asking"], " for %s" % of if of else "")


def _gpu(fields: t.Dict[str, t.Any], told: t.Mapping[int, GpuState]) -> Gpu:
    index, uuid, error = fields.get("index"), gpu_uuid(str(fields.get("uuid"))), _text(fields.get("error"))
    return Gpu(
        index=index if isinstance(index, int) else -1,
        uuid=uuid,
        name=_text(fields.get("name")),
        pci_address=pci_address(_text(fields.get("pci")) or ""),
        error=error or (None if uuid else "no UUID but %s" % fields.get("uuid")),
        state=told.get(index) if isinstance(index, int) else None,
    )


def _cuda(number: t.Any) -> t.Optional[str]:
    """NVML counts in thousands and tens: 12040 is CUDA 12.4."""
    if not isinstance(number, int) or number < 1000:
        return None
    return "%d.%d" % (number // 1000, number % 1000 // 10)


def _text(value: t.Any) -> t.Optional[str]:
    return value if isinstance(value, str) and value else None
