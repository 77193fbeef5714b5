# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which CDI specifications are in each other's way. Pure: the check and the module that sets them aside ask this."""

from __future__ import annotations

import typing as t

from .model import CdiSpec


def of_gpus(spec: CdiSpec) -> bool:
    """Whether it describes GPUs, and so names the driver's libraries: nvidia.com/gpu, and gpu.coherent on some."""
    return spec.kind == "nvidia.com/gpu" or spec.kind.startswith("nvidia.com/gpu.")


def same_path(path: str, other: str) -> bool:
    """/var/run is /run."""
    return _plain(path) == _plain(other)


def same_devices(specs: t.Mapping[str, CdiSpec], target: str) -> t.List[t.Tuple[str, str]]:
    """Each specification that names devices which another one names too, with the path of that other one, which stays.

    What stays: the one at ``target``, which is kept fresh; then what nvidia-ctk has not written; then what is on the
    tmpfs.
    """
    kept: t.List[str] = []
    found = []
    for path in sorted(specs, key=lambda path: (not same_path(path, target), *_rank(path, specs[path]))):
        other = next((one for one in kept if _overlap(specs[one], specs[path])), None)
        if other is None:
            kept.append(path)
        else:
            found.append((path, other))
    return sorted(found)


def _rank(path: str, spec: CdiSpec) -> t.Tuple[bool, bool, str]:
    return spec.generated, _plain(path).startswith("/etc/"), path


def _overlap(one: CdiSpec, other: CdiSpec) -> bool:
    return one.kind == other.kind and bool(set(one.devices) & set(other.devices))


def _plain(path: str) -> str:
    return path[len("/var") :] if path.startswith("/var/run/") else path
