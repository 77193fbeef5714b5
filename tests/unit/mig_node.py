# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A healthy node some of whose GPUs are in MIG mode, as every tool tells it."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    ContainerLook,
    CudaInit,
    Evidence,
    Gpu,
    GpuMode,
    GpuTool,
    MigDevice,
    Reading,
    Request,
)

from . import healthy

SPEC = "/var/run/cdi/nvidia.yaml"


def uuid(gpu: int, place: int) -> str:
    return "MIG-00000000-0000-5000-%04d-%012d" % (gpu, place)


def by_cuda(of: str) -> str:
    """As our child writes it, which puts the same word before every UUID."""
    return "GPU-" + of.partition("-")[2]


def evidence(node: Evidence, parts: t.Mapping[int, int], sees_all: bool = True) -> Evidence:
    """``parts``: how many MIG devices a GPU has, by its index; the others are whole.

    :arg sees_all: CUDA sees every device, as since driver 570; before, one MIG device alone
    """
    for index, count in parts.items():
        devices = tuple(MigDevice(place, uuid(index, place)) for place in range(count))
        node = healthy.of_gpu(
            node, index, mig=GpuMode(True, True), gpu_instances=count, compute_instances=count, mig_devices=devices
        )
    gpus = node.nvml.value.gpus if node.nvml.value else ()
    mig = tuple(uuid(index, place) for index, count in sorted(parts.items()) for place in range(count))
    whole = tuple(str(gpu.uuid) for gpu in gpus if gpu.index not in parts)
    seen = (whole + tuple(map(by_cuda, mig))) if sees_all or not mig else (by_cuda(mig[0]),)
    cuda = node.cuda.value or CudaInit(0)
    node = healthy.known(node, cuda=dataclasses.replace(cuda, devices=len(seen), uuids=seen))
    for way in node.containers:
        node = healthy.container(node, way, mig=Reading(mig), cuda=node.cuda)
    names = [name for index in range(len(gpus)) for name in _names(index, parts.get(index))]
    spec = dataclasses.replace((node.cdi_specs.value or {})[SPEC], devices=(*names, "all"))
    return healthy.known(node, cdi_specs={SPEC: spec}, requests=tuple(_requests(node, gpus, parts)))


def _names(gpu: int, parts: t.Optional[int]) -> t.Iterator[str]:
    if parts is None:
        yield from (str(gpu), healthy.uuid(gpu))
    for place in range(parts or 0):
        yield from ("%d:%d" % (gpu, place), uuid(gpu, place))


def _requests(node: Evidence, gpus: t.Sequence[Gpu], parts: t.Mapping[int, int]) -> t.Iterator[Request]:
    """The last device by its index, and the first by its UUID, by each way."""
    targets = []
    for gpu in gpus:
        if gpu.index not in parts:
            targets.append((gpu, str(gpu.index), str(gpu.uuid)))
        of_mig = range(parts.get(gpu.index, 0))
        targets += [(gpu, "%d:%d" % (gpu.index, place), uuid(gpu.index, place)) for place in of_mig]
    for way, reading in node.containers.items():
        assert reading.value is not None
        for asked, target in ((targets[-1][1], targets[-1]), (targets[0][2], targets[0])) if targets else ():
            yield Request(way, asked, target[2], Reading(given(reading.value, target[0], target[2])))


def given(look: ContainerLook, gpu: Gpu, device: str) -> ContainerLook:
    """What a container sees with one device alone. nvidia-smi's query names the GPU that it is a part of."""
    tool = dataclasses.replace(look.smi.value or GpuTool(), gpus=(dataclasses.replace(gpu, index=0),))
    cuda = dataclasses.replace(look.cuda.value or CudaInit(0), devices=1, uuids=(by_cuda(device),))
    mig = (device,) if device.startswith("MIG-") else ()
    return dataclasses.replace(look, smi=Reading(tool), mig=Reading(mig), cuda=Reading(cuda))
