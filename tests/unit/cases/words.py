# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of NVIDIA's that a report shows, and the numbers that stand for them."""

from __future__ import annotations

import re
import typing as t

#: NVML's own words for what nvidia-smi says, and its codes.
NVML = {
    "Driver/library version mismatch": 18,
    "GPU access blocked by the operating system": 17,
    "Insufficient Permissions": 4,
    "Unknown Error": 999,
    "Driver Not Loaded": 9,
}


def cuda_of(text: str) -> t.Tuple[int, str]:
    found = re.search(r"Error (\d+)", text)
    names = {
        802: "CUDA_ERROR_SYSTEM_NOT_READY",
        999: "CUDA_ERROR_UNKNOWN",
        804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    }
    code = int(found[1]) if found else 100
    return code, names.get(code, "CUDA_ERROR_NO_DEVICE")
