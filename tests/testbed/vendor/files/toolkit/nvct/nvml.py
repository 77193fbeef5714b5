# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPUs as the management library tells them: everything a container gets is asked here, nothing is assumed."""

from __future__ import annotations

import ctypes
import dataclasses
import typing as t

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


@dataclasses.dataclass(frozen=True)
class Gpu:
    index: int
    uuid: str
    minor: int


def gpus() -> t.List[Gpu]:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError as error:
        raise ToolkitError("failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND") from error
    _call(library.nvmlInit_v2)
    try:
        count = ctypes.c_uint()
        _call(library.nvmlDeviceGetCount_v2, ctypes.byref(count))
        return [_gpu(library, index) for index in range(count.value)]
    finally:
        library.nvmlShutdown()


def _gpu(library: ctypes.CDLL, index: int) -> Gpu:
    handle = ctypes.c_void_p()
    _call(library.nvmlDeviceGetHandleByIndex_v2, ctypes.c_uint(index), ctypes.byref(handle))
    uuid = ctypes.create_string_buffer(96)
    _call(library.nvmlDeviceGetUUID, handle, uuid, ctypes.c_uint(len(uuid)))
    minor = ctypes.c_uint()
    _call(library.nvmlDeviceGetMinorNumber, handle, ctypes.byref(minor))
    return Gpu(index, uuid.value.decode(), minor.value)


def _call(function: t.Callable[..., int], *arguments: t.Any) -> None:
    status = function(*arguments)
    if status != 0:
        name = getattr(function, "__name__", "NVML")
        raise ToolkitError("failed to initialize NVML: %s: %s" % (name, _ERRORS.get(status, "error %d" % status)))
