# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an image sets that hides GPUs from its workloads, though the probe sees them all."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    ContainerLook,
    CudaInit,
    Desired,
    Evidence,
    Finding,
    Reading,
)
from ansible_collections.goldennode.gpu.tests.unit import healthy

NODE, WANTED = healthy.evidence(), healthy.desired()
EIGHT, EIGHT_WANTED = healthy.evidence("h100x8"), healthy.desired("h100x8")


def found(variables: t.Dict[str, str], of: Evidence = NODE, wanted: Desired = WANTED, gpus: int = 1) -> t.List[Finding]:
    evidence = healthy.known(of, image_environment=variables)
    return [f for f in verdict.run(wanted, evidence, gpus).findings if f.id == "image.environment"]


def one(variables: t.Dict[str, str], **arguments: t.Any) -> Finding:
    [finding] = found(variables, **arguments)
    return finding


@pytest.mark.parametrize("variables", [{}, {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "all"}])
def test_an_image_that_hides_nothing(variables: t.Dict[str, str]) -> None:
    assert one(variables).status == "pass"
    assert one(variables).actual == "the image hides no GPU"


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("", 0),
        ("-1", 0),
        ("NoDevFiles", 0),
        ("8", 0),
        ("0", 1),
        ("0,1,-1,2", 2),
        ("0,0", 0),
        ("GPU-ffffffff-0000-4000-8000-000000000000", 0),  # of the machine on which the image was built
        (healthy.uuid(3), 1),
        ("0,1,2,3,4,5,6", 7),
    ],
)
def test_cuda_goes_through_the_list_up_to_what_it_does_not_know(value: str, seen: int) -> None:
    finding = one({"CUDA_VISIBLE_DEVICES": value}, of=EIGHT, wanted=EIGHT_WANTED, gpus=8)
    words = "CUDA sees no GPU at all" if seen == 0 else "CUDA sees %d of 8 GPUs" % seen
    assert words in finding.cause
    assert "nvidia-smi does not go by it, and shows them all." in finding.cause
    assert (finding.status, finding.required, finding.repair) == ("fail", True, "manual")


@pytest.mark.parametrize("value", ["0,1,2,3,4,5,6,7", "7,6,5,4,3,2,1,0", "MIG-1"])
def test_a_list_that_hides_none_here_hides_some_elsewhere(value: str) -> None:
    finding = one({"CUDA_VISIBLE_DEVICES": value}, of=EIGHT, wanted=EIGHT_WANTED, gpus=8)
    assert (finding.status, finding.required) == ("fail", False)
    assert "see the wrong ones" in finding.cause


def without_devices(evidence: Evidence, answer: CudaInit) -> Evidence:
    def changed(look: ContainerLook) -> Reading[ContainerLook]:
        return Reading(dataclasses.replace(look, cuda=Reading(answer)))

    looks = {way: changed(reading.value) for way, reading in evidence.containers.items() if reading.value}
    asked = tuple(
        dataclasses.replace(request, look=changed(request.look.value))
        for request in evidence.requests.value or ()
        if request.look.value
    )
    return dataclasses.replace(evidence, containers=looks, requests=Reading(asked))


def test_what_follows_from_it_points_there() -> None:
    evidence = without_devices(NODE, CudaInit(100, "CUDA_ERROR_NO_DEVICE"))
    evidence = healthy.known(evidence, image_environment={"CUDA_VISIBLE_DEVICES": ""})
    judged = verdict.run(WANTED, evidence, 1)
    assert {f.id for f in judged.findings if f.status == "fail"} == {"image.environment"}
    said = "the image hides GPUs from CUDA: see image.environment"
    assert {f.actual for f in judged.findings if f.id in ("image.cuda", "image.requests")} == {said}
    # Without the variable the same answer of CUDA has another cause.
    bare = verdict.run(WANTED, healthy.known(evidence, image_environment={}), 1)
    assert {f.id for f in bare.broken} == {"image.cuda", "image.requests"}


def test_another_error_of_cuda_is_not_explained_by_it() -> None:
    evidence = without_devices(NODE, CudaInit(999, "CUDA_ERROR_UNKNOWN"))
    evidence = healthy.known(evidence, image_environment={"CUDA_VISIBLE_DEVICES": ""})
    assert "image.cuda" in {f.id for f in verdict.run(WANTED, evidence, 1).broken}


def test_where_cuda_is_optional_it_takes_no_gold() -> None:
    wanted = healthy.desired(of_lock=healthy.lock(image={"cuda_check": "optional"}))
    assert not one({"CUDA_VISIBLE_DEVICES": ""}, of=healthy.evidence(of_desired=wanted), wanted=wanted).required


@pytest.mark.parametrize("value", ["void", "none", ""])
def test_an_image_that_asks_for_no_gpu(value: str) -> None:
    finding = one({"NVIDIA_VISIBLE_DEVICES": value})
    assert (finding.status, finding.required, finding.entity) == ("fail", False, "NVIDIA_VISIBLE_DEVICES")
    assert "that looks like a node without GPUs" in finding.cause
    wanted = healthy.desired(toolkit_multi_tenant=True)
    assert (
        one({"NVIDIA_VISIBLE_DEVICES": value}, of=healthy.evidence(of_desired=wanted), wanted=wanted).status == "pass"
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("compute", "not given nvidia-smi and NVML: the image does not ask for the capability utility"),
        ("utility", "not given libcuda (so no CUDA)"),
        ("graphics,video", "not given libcuda (so no CUDA) nor nvidia-smi and NVML"),
        ("compute,utility,profile", "The toolkit knows no capability profile, and refuses to start a container"),
    ],
)
def test_capabilities_that_the_image_does_not_ask_for(value: str, words: str) -> None:
    finding = one({"NVIDIA_DRIVER_CAPABILITIES": value})
    assert words in finding.cause
    assert not finding.required


@pytest.mark.parametrize("value", ["", "all", "compute, utility", "compute,utility,video,graphics,display"])
def test_capabilities_with_which_cuda_works(value: str) -> None:
    assert one({"NVIDIA_DRIVER_CAPABILITIES": value}).status == "pass"


def test_case_021_what_nobody_refuses_by_cdi() -> None:
    finding = one({"NVIDIA_REQUIRE_CUDA": "cuda>=13.2"})
    assert finding.actual == "CUDA 13.0, driver 580.159.03"
    assert finding.cause == ("The image asks for a newer CUDA than the host's driver offers; by CDI nobody refuses it.")
    assert "A CUDA toolkit on the host does not help." in finding.fix
    assert not finding.required


def test_a_question_that_the_image_switches_off() -> None:
    variables = {"NVIDIA_REQUIRE_CUDA": "cuda>=13.2", "NVIDIA_DISABLE_REQUIRE": "1"}
    assert "has the question switched off (NVIDIA_DISABLE_REQUIRE)" in one(variables).cause
    met = one({"NVIDIA_REQUIRE_CUDA": "cuda>=12.8", "NVIDIA_DISABLE_REQUIRE": "true"})
    assert met.entity == "NVIDIA_DISABLE_REQUIRE"
    assert one({"NVIDIA_REQUIRE_CUDA": "cuda>=12.8", "NVIDIA_DISABLE_REQUIRE": "0"}).status == "pass"


def test_an_image_that_is_not_there() -> None:
    evidence = healthy.known(NODE, image_environment=None)
    [finding] = [f for f in verdict.run(WANTED, evidence, 1).findings if f.id == "image.environment"]
    assert (finding.status, finding.required) == ("skip", False)
