# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the driver shows below /proc of MIG: a file for each capability, and the minors of all that are possible.

Who may open a capability's node below /dev/nvidia-caps may use it; the files say which node that is, and its mode.
"""

from __future__ import annotations

import shlex
import shutil
import typing as t
from pathlib import Path

from . import views
from .machine import PROFILE, Device, faulty_gpus

CAPABILITIES = views.PROC_NVIDIA / "capabilities"
#: Beside /proc/driver/nvidia.
MINORS = views.PROC_NVIDIA.parent / "nvidia-caps" / "mig-minors"

CONFIG, MONITOR, FIRST = 1, 2, 3
#: The kernel numbers each instance that a GPU might ever have: 15, with 8 compute instances each.
INSTANCES, COMPUTE_INSTANCES = 15, 8
GPUS = 32

#: As NVML numbers a GPU of the profile, an instance of it, and a compute instance of that.
Instance = t.Tuple[int, int, int]


def show(gpus: t.Sequence[Device]) -> None:
    """The capabilities of the bound GPUs, in the order of their minors, as they are now."""
    shutil.rmtree(CAPABILITIES, ignore_errors=True)
    _describe(CAPABILITIES / "mig/config", CONFIG, 0o400)
    _describe(CAPABILITIES / "mig/monitor", MONITOR, 0o444)
    minors = {gpu.index: minor for minor, gpu in enumerate(gpus)}
    for index, instance, compute_instance in instances(PROFILE.read_text().splitlines(), faulty_gpus("mig-empty")):
        if index not in minors:
            continue
        directory = CAPABILITIES / ("gpu%d/mig/gi%d" % (minors[index], instance))
        number = minor_of(minors[index], instance)
        _describe(directory / "access", number, 0o444)
        _describe(directory / ("ci%d" % compute_instance) / "access", number + 1 + compute_instance, 0o444)
    MINORS.parent.mkdir(exist_ok=True)
    MINORS.write_text("".join("%s %d\n" % entry for entry in all_minors()))


def hide() -> None:
    """Without the module there is nothing of it; the files below /proc/driver/nvidia go with that."""
    shutil.rmtree(MINORS.parent)


def instances(profile: t.Iterable[str], empty: t.Container[int] = ()) -> t.List[Instance]:
    """The compute instances of the profile's lines, but for those of the GPUs that were emptied."""
    words = [shlex.split(line)[1:] for line in profile if line.startswith("mig ")]
    found = [dict(word.partition("=")[::2] for word in line) for line in words]
    return [
        (int(values["gpu"]), int(values["gi"]), int(values["ci"]))
        for values in found
        if int(values["gpu"]) not in empty
    ]


def minor_of(gpu: int, instance: int) -> int:
    """The minor of a GPU instance; those of its compute instances follow."""
    return FIRST + (gpu * INSTANCES + instance) * (1 + COMPUTE_INSTANCES)


def all_minors() -> t.Iterator[t.Tuple[str, int]]:
    yield "config", CONFIG
    yield "monitor", MONITOR
    for gpu in range(GPUS):
        for instance in range(INSTANCES):
            name, minor = "gpu%d/gi%d" % (gpu, instance), minor_of(gpu, instance)
            yield name + "/access", minor
            for compute_instance in range(COMPUTE_INSTANCES):
                yield "%s/ci%d/access" % (name, compute_instance), minor + 1 + compute_instance


def _describe(file: Path, minor: int, mode: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("DeviceFileMinor: %d\nDeviceFileMode: %d\nDeviceFileModify: 1\n" % (minor, mode))
