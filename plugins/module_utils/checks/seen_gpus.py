# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which GPUs a container sees, by UUID: as nvidia-smi tells it, or CUDA where the image has no nvidia-smi.

An image without nvidia-smi is no node without a GPU. The two are told apart here.
"""

from __future__ import annotations

import typing as t

from ..model import ContainerLook, Evidence, Finding
from ..parse.container import NOT_STARTED
from .outcome import unknown

NOT_THERE = "nvidia-smi is not in the container"


class Seen(t.NamedTuple):
    """``why``: what keeps us from knowing. ``by_cuda``: no nvidia-smi runs there, and CUDA told."""

    uuids: t.Tuple[str, ...]
    why: str = ""
    by_cuda: bool = False

    @property
    def remark(self) -> str:
        return ", as CUDA tells: nvidia-smi does not run in the container" if self.by_cuda else ""


def inside(look: ContainerLook) -> Seen:
    if look.smi.value is not None:
        return Seen(tuple(gpu.uuid for gpu in look.smi.value.gpus if gpu.uuid and not gpu.error))
    why = look.smi.error or NOT_THERE
    cuda = look.cuda.value
    if why.startswith((NOT_THERE, NOT_STARTED)) and cuda is not None and cuda.code == 0 and cuda.uuids:
        return Seen(cuda.uuids, by_cuda=True)
    return Seen((), why)


def of_host(evidence: Evidence, seen: Seen) -> t.List[str]:
    """The host's, as the same tool names them: CUDA names the instances of a GPU in MIG mode, and not the GPU."""
    cuda = evidence.cuda.value
    if seen.by_cuda and cuda is not None and cuda.uuids:
        return sorted(cuda.uuids)
    host = evidence.nvml.value or evidence.smi.value
    return sorted(gpu.uuid for gpu in host.gpus if gpu.uuid) if host else []


def not_told(way: str, seen: Seen) -> Finding:
    if seen.why != NOT_THERE and not seen.why.startswith(NOT_STARTED):
        return unknown(seen.why, way)
    return unknown(
        seen.why,
        way,
        cause="Which GPUs the container has is not proven; that says nothing of the GPUs. Both ways give nvidia-smi "
        "into a container, so the image hides or cannot run it, and CUDA did not name them instead.",
        fix="Name an image with glibc and Python in the bundle, as NVIDIA's CUDA images with Python are; or one whose "
        "nvidia-smi runs.",
    )
