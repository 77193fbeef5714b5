# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer image: the bundle's image and the GPUs of this node, by PCI ids, before anything is installed or pulled."""

from __future__ import annotations

import dataclasses
import typing as t

from ..compat_gpus import ImageMisfit, image_misfits
from ..model import Desired, Evidence, Finding
from .outcome import all_passed, failed, skipped, unknown
from .wanted import gpus


def fits_gpus(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    image: t.Mapping[str, t.Any] = desired.lock.get("image") or {}
    cuda = image.get("cuda")
    if not cuda:
        left = skipped("the CUDA version of the image is not known, see image.cuda in the bundle")
        return [dataclasses.replace(left, required=False)]
    problems = [
        _finding(problem, device.address, str(cuda))
        for device in gpus(evidence.pci.value or ())
        for problem in image_misfits(device.device, desired.lock["driver"], image)
    ]
    return all_passed(problems, "CUDA %s" % cuda)


def _finding(problem: ImageMisfit, address: str, cuda: str) -> Finding:
    cause = "The image is CUDA %s, %s." % (cuda, problem.message)
    fix = "%s; image and driver stand in the bundle." % problem.fix if problem.pair else problem.fix + "."
    if problem.refused is None:
        return unknown(
            "whether GPU %s may use it is not known" % address, address, cause=cause, fix=fix, required=False
        )
    return failed(
        address,
        expected="an image for the GPU %s" % address,
        actual="CUDA %s" % cuda,
        cause=cause,
        fix=fix,
        repair="manual",
        required=problem.refused,
    )
