# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers that ask for one GPU, by its index and by its UUID: whether the one that is asked for is the one given.

Of a GPU in MIG mode nobody is given more than a part, so one of its MIG devices is asked for: 0:2, or its UUID.

They cost a container each, so they are asked where a look is to mark a node, or a person wants to know.
"""

from __future__ import annotations

import concurrent.futures
import typing as t

from ..model import ContainerLook, Evidence, Gpu, Reading, Request
from . import container
from .budget import Budget

_KIND = "nvidia.com/gpu"

#: What asks one way for one GPU: the name, or why there is none, and the UUID that is meant.
Wish = t.Tuple[str, str, str]


class Target(t.NamedTuple):
    """A GPU or a MIG device, by its number (7, 0:2) and its UUID. ``prefix`` is what some specifications put before."""

    number: str
    uuid: str
    prefix: str = "gpu"


def requests(
    host: Budget,
    image: t.Mapping[str, t.Any],
    ways: t.Sequence[str],
    evidence: Evidence,
    how: container.Manner = container.PLAIN,
) -> Reading[t.Tuple[Request, ...]]:
    """Ask by each of ``ways`` whose container with all GPUs has started; side by side.

    The index counts as the host's NVML counts: what hooks and specifications go by. On a node with several GPUs the
    index is that of the last and the UUID that of the first, so that an answer that is always the same fails.
    """
    host_gpus = evidence.nvml.value.gpus if evidence.nvml.value else ()
    gpus = sorted((gpu for gpu in host_gpus if gpu.uuid and not gpu.error), key=lambda gpu: gpu.index)
    if not gpus:
        return Reading.unknown("the host's NVML names no GPU that could be asked for: %s" % (evidence.nvml.error or ""))
    targets = [target for gpu in gpus for target in _targets(gpu)]
    if not targets:
        return Reading.unknown("MIG is on for every GPU, and the host's NVML names no MIG device to ask for")
    wishes: t.List[t.Tuple[str, Wish]] = []
    for way in ways:
        look = evidence.containers[way].value if way in evidence.containers else None
        if look is None or not look.started:
            continue
        names = _names(evidence) if way == "cdi" else Reading(None)
        if not names.known:
            return Reading.unknown(names.error or "")
        last = targets[-1]
        if way == "runtime" and how.by_mount and ":" in last.number:  # no path of a mount can have it
            last = last._replace(number=last.uuid)
        wishes += [(way, wish) for wish in _wishes(names.value, last, targets[0])]

    # The bundle's own command may want all GPUs; what Python asks of CUDA wants none.
    bare = {**image, "cuda_command": ()}

    def ask(way: str, name: str, why: str) -> Reading[ContainerLook]:
        return container.container(host, bare, way, how, name) if name else Reading.unknown(why)

    with concurrent.futures.ThreadPoolExecutor(max(1, len(wishes))) as pool:
        running = [pool.submit(ask, way, name, why) for way, (name, why, _uuid) in wishes]
        looks = [future.result() for future in running]
    return Reading(
        tuple(
            Request(injection=way, asked=name, uuid=uuid, look=look)
            for (way, (name, _why, uuid)), look in zip(wishes, looks)
        )
    )


def _targets(gpu: Gpu) -> t.List[Target]:
    """What can be given of a GPU. Nothing where MIG is on and the MIG devices are not known."""
    state = gpu.state
    if state is None or not (state.mig.value and state.mig.value.current):
        return [Target(str(gpu.index), str(gpu.uuid))]
    devices = state.mig_devices.value or ()
    return [Target("%d:%d" % (gpu.index, one.place), one.uuid, "mig") for one in devices]


def _wishes(names: t.Optional[t.FrozenSet[str]], by_index: Target, by_uuid: Target) -> t.List[Wish]:
    """:arg names: the only names that there are; None where every index and every UUID is one"""
    index, uuid = by_index.number, by_uuid.uuid
    if names is None:
        return [(index, "", by_index.uuid), (uuid, "", by_uuid.uuid)]
    # How a specification names devices is its writer's choice (device-name-strategy): what it lacks is not asked for.
    asked = [(name, "", by_index.uuid) for name in (index, by_index.prefix + index) if name in names][:1]
    asked += [(uuid, "", by_uuid.uuid)] if uuid in names else []
    return asked or [("", "the CDI specification names no single GPU, only %s" % _few(names), by_index.uuid)]


def _few(names: t.Collection[str]) -> str:
    shown = sorted(names)[:8]
    return ", ".join(shown) + (", ..." if len(names) > len(shown) else "") if shown else "nothing"


def _names(evidence: Evidence) -> Reading[t.FrozenSet[str]]:
    """The names of GPUs in all specifications that the engine reads."""
    specs = evidence.cdi_specs.value
    if specs is None:
        return Reading.unknown(evidence.cdi_specs.error or "")
    return Reading(frozenset(name for spec in specs.values() if spec.kind == _KIND for name in spec.devices))
