# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes on which nvidia-smi, NVML or CUDA say what is wrong. Texts of nvidia-smi go through its parser."""

from __future__ import annotations

import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import CudaInit
from ansible_collections.goldennode.gpu.scripts.docpages.case import Case, known, no_gpu, smi, unread


def cuda(code: int, error: str, devices: t.Optional[int] = None) -> CudaInit:
    return CudaInit(code, error, devices)


CASES = (
    Case(
        "host_driver.nvidia_smi",
        "the right driver is loaded, and its tools find other libraries",
        smi("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.178\n", 18),
        ("nvml_mismatch",),
    ),
    Case(
        "host_driver.nvidia_smi",
        "a device rule keeps it from the GPU",
        smi("Failed to initialize NVML: GPU access blocked by the operating system\n", 17),
        ("nvml_blocked", "access_denied"),
    ),
    Case(
        "host_driver.nvidia_smi",
        "it hangs",
        unread(
            "smi", "nvidia-smi gave no answer within 20 s; the process 4242 was killed and still waits in the driver"
        ),
        ("hangs",),
    ),
    Case(
        "host_driver.nvidia_smi",
        "the driver has no GPU that it can use",
        smi(
            "No devices were found\n",
            6,
            kernel_log=("NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x62:0xffff:2631)",),
        ),
        ("no_devices",),
    ),
    Case(
        "host_driver.nvidia_smi",
        "another nvidia-smi is found first",
        smi("Failed to initialize NVML: Function Not Found\n", 13),
        ("nvml_not_found",),
    ),
    Case("host_driver.nvml", "NVML gives no reason", unread("nvml", "NVML: Unknown Error"), ("nvml_unknown",)),
    Case("host_driver.nvml", "NVML lists no GPU", known(nvml=no_gpu()), ("no_devices",)),
    Case(
        "host_driver.cuda",
        "CUDA sees no device although nvidia-smi does",
        known(cuda=cuda(100, "CUDA_ERROR_NO_DEVICE")),
        ("cuda_unavailable",),
    ),
    Case(
        "host_driver.cuda",
        "another process holds the GPU for itself",
        known(cuda=cuda(46, "CUDA_ERROR_DEVICE_UNAVAILABLE")),
        ("cuda_unavailable",),
    ),
    Case(
        "host_driver.cuda",
        "libcuda and the module are of two versions",
        known(cuda=cuda(803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH")),
        ("driver_cuda_fit", "cuda_unavailable"),
    ),
    Case(
        "host_driver.cuda", "a stub of the CUDA toolkit is found first", known(cuda=cuda(34, "CUDA_ERROR_STUB_LIBRARY"))
    ),
    Case(
        "host_driver.cuda",
        "CUDA gives no reason",
        known(cuda=cuda(999, "CUDA_ERROR_UNKNOWN")),
        ("cuda_unavailable",),
    ),
)
