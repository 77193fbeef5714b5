# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The answer of the CUDA child script: one JSON line."""

from __future__ import annotations

import typing as t

from ..model import CudaInit, Reading
from .json_lines import objects
from .text import gpu_uuid, last_line


def parse(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[CudaInit]:
    """``{"code": 0, "error": null, "devices": 1, "library": "/usr/lib/.../libcuda.so.580.95.05", "uuids": "GPU-..."}``.

    ``{"missing": WHY}`` says that there is no libcuda at all: known to be absent.
    """
    answers = objects(stdout)
    if not answers:
        said = last_line(stderr) or last_line(stdout) or "it said nothing"
        return Reading.unknown("the CUDA call gave no answer and ended with code %s: %s" % (rc, said))
    answer = answers[-1]
    if "missing" in answer:
        return Reading(None)
    if "broken" in answer:
        return Reading.unknown("libcuda.so.1 cannot be used: %s" % answer["broken"])
    code, devices = answer.get("code"), answer.get("devices")
    if not isinstance(code, int) or not (devices is None or isinstance(devices, int)):
        return Reading.unknown("the CUDA call gave an answer that is not understood: %s" % str(answer)[:200])
    return Reading(
        CudaInit(
            code=code,
            error=_text(answer.get("error")),
            devices=devices,
            library=_text(answer.get("library")),
            uuids=_uuids(answer.get("uuids")),
        )
    )


def _uuids(value: t.Any) -> t.Optional[t.Tuple[str, ...]]:
    """All of them, or none: a list with a hole would count too few."""
    found = [gpu_uuid(word) for word in value.split(",")] if isinstance(value, str) else []
    return tuple(uuid for uuid in found if uuid) if found and all(found) else None


def _text(value: t.Any) -> t.Optional[str]:
    return value if isinstance(value, str) and value else None
