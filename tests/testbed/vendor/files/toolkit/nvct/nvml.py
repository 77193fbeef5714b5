# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPUs as the management library tells them: everything a container gets is asked here, nothing is assumed."""

from __future__ import annotations

import ctypes
import dataclasses
import typing as t
from pathlib import Path

from .log import ToolkitError

_ERRORS = {
    1: "Uninitialized",
    4: "Insufficient Permissions",
    6: "Not Found",
    9: "Driver Not Loaded",
    12: "NVML Shared Library Not Found",
    15: "GPU is lost",
    18: "Driver/library version mismatch",
    999: "Unknown Error",
}


_NOT_SUPPORTED, _NOT_FOUND = 3, 6
_CAPS = "/dev/nvidia-caps/nvidia-cap%d"
#: Where the kernel module says which minor a capability has.
_MINORS = Path("/proc/driver/nvidia-caps/mig-minors")


@dataclasses.dataclass(frozen=True)
class Gpu:
    """What a container can be given, by its names: a GPU, or a MIG device, which has nodes of its own besides."""

    names: t.Tuple[str, ...]
    nodes: t.Tuple[str, ...]


def gpus() -> t.List[Gpu]:
    """What ``all`` gives: MIG devices in place of a GPU in MIG mode."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError as error:
        raise ToolkitError("failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND") from error
    _call(library.nvmlInit_v2)
    try:
        count = ctypes.c_uint()
        _call(library.nvmlDeviceGetCount_v2, ctypes.byref(count))
        return [device for index in range(count.value) for device in _devices(library, index)]
    finally:
        library.nvmlShutdown()


def _devices(library: ctypes.CDLL, index: int) -> t.List[Gpu]:
    handle = ctypes.c_void_p()
    _call(library.nvmlDeviceGetHandleByIndex_v2, ctypes.c_uint(index), ctypes.byref(handle))
    minor = _number(library.nvmlDeviceGetMinorNumber, handle)
    node = "/dev/nvidia%d" % minor
    if not _mig_is_on(library, handle):
        return [Gpu((str(index), _uuid(library, handle)), (node,))]
    caps = dict(line.rsplit(" ", 1) for line in _MINORS.read_text(encoding="utf-8").splitlines())
    found = []
    for place, part in _parts(library, handle):
        instance = "gpu%d/gi%d" % (minor, _number(library.nvmlDeviceGetGpuInstanceId, part))
        compute = "%s/ci%d" % (instance, _number(library.nvmlDeviceGetComputeInstanceId, part))
        nodes = [_CAPS % int(caps[name + "/access"]) for name in (instance, compute)]
        found.append(Gpu(("%d:%d" % (index, place), _uuid(library, part)), (node, *nodes)))
    return found


def _mig_is_on(library: ctypes.CDLL, handle: ctypes.c_void_p) -> bool:
    current, pending = ctypes.c_uint(), ctypes.c_uint()
    status = library.nvmlDeviceGetMigMode(handle, ctypes.byref(current), ctypes.byref(pending))
    return status == 0 and current.value == 1


def _parts(library: ctypes.CDLL, handle: ctypes.c_void_p) -> t.Iterator[t.Tuple[int, ctypes.c_void_p]]:
    for place in range(_number(library.nvmlDeviceGetMaxMigDeviceCount, handle)):
        part = ctypes.c_void_p()
        status = library.nvmlDeviceGetMigDeviceHandleByIndex(handle, ctypes.c_uint(place), ctypes.byref(part))
        if status not in (_NOT_FOUND, _NOT_SUPPORTED):
            _check("nvmlDeviceGetMigDeviceHandleByIndex", status)
            yield place, part


def _uuid(library: ctypes.CDLL, handle: ctypes.c_void_p) -> str:
    uuid = ctypes.create_string_buffer(96)
    _call(library.nvmlDeviceGetUUID, handle, uuid, ctypes.c_uint(len(uuid)))
    return uuid.value.decode()


def _number(function: t.Callable[..., int], handle: ctypes.c_void_p) -> int:
    number = ctypes.c_uint()
    _call(function, handle, ctypes.byref(number))
    return number.value


def _call(function: t.Callable[..., int], *arguments: t.Any) -> None:
    _check(getattr(function, "__name__", "NVML"), function(*arguments))


def _check(name: str, status: int) -> None:
    if status != 0:
        raise ToolkitError("failed to initialize NVML: %s: %s" % (name, _ERRORS.get(status, "error %d" % status)))
