# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What programs are given on a node with GPUs in MIG mode: MIG devices and whole GPUs; which of them CUDA shall see.

How many GPUs a node has is counted in cards; CUDA counts devices. Before driver 570 it sees one MIG device and nothing
else, whatever is there; since then one compute instance of each GPU instance, and the whole GPUs beside them.
"""

from __future__ import annotations

import typing as t

from ..model import CudaInit, Evidence, Gpu, MigDevice


class Parts(t.NamedTuple):
    """``total``: of the MIG devices. ``devices`` is None where their UUIDs are not known. ``whole``: GPUs' UUIDs."""

    total: int
    devices: t.Optional[t.Tuple[str, ...]]
    whole: t.Tuple[str, ...]

    @property
    def words(self) -> str:
        mig = "%d MIG device%s" % (self.total, "" if self.total == 1 else "s")
        return "%s and %d whole GPU%s" % (mig, len(self.whole), "" if len(self.whole) == 1 else "s")


def mode(gpu: Gpu) -> t.Optional[bool]:
    """Whether MIG is on; None where that is not known."""
    reading = gpu.state.mig if gpu.state else None
    if reading is None or not reading.known:
        return None
    return bool(reading.value and reading.value.current)


def of(evidence: Evidence) -> t.Optional[Parts]:
    """None where no GPU is known to be in MIG mode."""
    gpus = [gpu for gpu in (evidence.nvml.value.gpus if evidence.nvml.value else ()) if not gpu.error]
    states = [gpu.state for gpu in gpus if mode(gpu) and gpu.state]
    if not states:
        return None
    count = sum(state.compute_instances.value or 0 for state in states)
    named = [device.uuid for state in states for device in state.mig_devices.value or ()]
    devices = tuple(named) if all(state.mig_devices.value is not None for state in states) else None
    return Parts(count, devices, tuple(str(gpu.uuid) for gpu in gpus if not mode(gpu)))


def of_gpu(gpu: Gpu) -> t.Optional[t.Tuple[MigDevice, ...]]:
    return gpu.state.mig_devices.value if gpu.state else None


def same(one: str, other: str) -> bool:
    """CUDA gives the UUID without its first word."""
    return _digits(one) == _digits(other)


def fits(evidence: Evidence, answer: CudaInit, expected_gpus: t.Optional[int]) -> bool:
    """Whether CUDA, which has started, sees what this node has, given to it as a whole."""
    parts = of(evidence)
    return answer.devices == expected_gpus if parts is None else not wrong(parts, answer)


def number_fits(evidence: Evidence, devices: t.Optional[int], expected_gpus: t.Optional[int]) -> bool:
    """The same for a program that only counts."""
    return fits(evidence, CudaInit(0, devices=devices), expected_gpus)


def wrong(parts: Parts, answer: CudaInit) -> str:
    """What CUDA sees that is not as it shall be, in words."""
    most = parts.total + len(parts.whole)
    if answer.devices is None or not 1 <= answer.devices <= most:
        return "it counts %s of %s" % (answer.devices, parts.words)
    if answer.uuids is None or parts.devices is None:
        return ""
    seen = {_digits(uuid) for uuid in answer.uuids}
    mig, whole = {_digits(uuid) for uuid in parts.devices}, {_digits(uuid) for uuid in parts.whole}
    foreign = [uuid for uuid in answer.uuids if _digits(uuid) not in mig | whole]
    if foreign:
        return "it names %s, which is neither a MIG device nor a whole GPU of this node" % foreign[0]
    if mig and not seen & mig:
        return "it names no MIG device"
    lacking = [uuid for uuid in parts.whole if _digits(uuid) not in seen]
    if lacking and len(answer.uuids) > 1:  # one MIG device alone is what drivers before 570 show
        return "it lacks %s, which is not in MIG mode" % lacking[0]
    return ""


def _digits(uuid: str) -> str:
    return uuid.partition("-")[2].lower()
