# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a CUDA call: CUDA counts no devices where it does not start, and that is no number of devices."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks import tools
from ansible_collections.goldennode.gpu.plugins.module_utils.model import CudaInit, Reading
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (CudaInit(0, devices=1), "cuInit 0, 1 device"),
        (CudaInit(0, devices=8), "cuInit 0, 8 devices"),
        (CudaInit(0, devices=0), "cuInit 0, 0 devices"),
        (CudaInit(0), "cuInit 0, devices not counted"),
        (CudaInit(100, "CUDA_ERROR_NO_DEVICE"), "cuInit 100 CUDA_ERROR_NO_DEVICE"),
        (CudaInit(999), "cuInit 999"),
    ],
)
def test_what_cuda_said(answer: CudaInit, words: str) -> None:
    assert tools.cuda_said(answer) == words


def found(check: str, **evidence: t.Any) -> t.List[t.Tuple[str, str, str]]:
    judged = verdict.run(WANTED, healthy.known(NODE, **evidence), 1)
    return [(f.status, f.expected, f.actual) for f in judged.findings if f.id == check]


def test_a_call_that_fails_on_the_host() -> None:
    said = ("fail", "cuInit 0, 1 device", "cuInit 999 CUDA_ERROR_UNKNOWN")
    assert found("host_driver.cuda", cuda=CudaInit(999, "CUDA_ERROR_UNKNOWN")) == [said]
    assert found("host_driver.cuda", cuda=CudaInit(0, devices=0)) == [("fail", said[1], "cuInit 0, 0 devices")]


def test_a_call_that_fails_in_a_container() -> None:
    failed = CudaInit(999, "CUDA_ERROR_UNKNOWN")
    evidence = healthy.container(NODE, "runtime", cuda=Reading(failed))
    (first, *_others) = [f for f in verdict.run(WANTED, evidence, 1).findings if f.id == "image.cuda"]
    assert (first.status, first.expected, first.actual) == (
        "fail",
        "cuInit 0, 1 device",
        "cuInit 999 CUDA_ERROR_UNKNOWN",
    )
