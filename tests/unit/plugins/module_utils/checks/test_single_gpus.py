# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One GPU that is asked for, by index or by UUID, is the one that is given; and an image without nvidia-smi is no node
without a GPU.
"""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import mark, verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.mark import MarkRefused, State, Stored
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    NOT_READ,
    CudaInit,
    Evidence,
    Finding,
    GpuTool,
    Library,
    Reading,
    Request,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse.container import NOT_STARTED
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired("h100x8")
NODE = healthy.evidence("h100x8", WANTED)
ONE_WANTED = healthy.desired()
ONE = healthy.evidence("a10", ONE_WANTED)


def judged(node: Evidence) -> verdict.Verdict:
    return verdict.run(WANTED, node, 8)


def of(node: Evidence, check: str = "image.requests") -> t.List[Finding]:
    return [f for f in judged(node).findings if f.id == check and f.status != "pass"]


def asked(node: Evidence, way: str, by: str) -> Request:
    return next(
        one
        for one in node.requests.value or ()
        if one.injection == way and one.asked.startswith("GPU-") is (by == "uuid")
    )


def with_answer(node: Evidence, request: Request, **look: t.Any) -> Evidence:
    assert request.look.value is not None
    changed = dataclasses.replace(request, look=Reading(dataclasses.replace(request.look.value, **look)))
    return healthy.known(node, requests=tuple(changed if one == request else one for one in node.requests.value or ()))


def tool(*indexes: int) -> Reading[GpuTool]:
    assert NODE.nvml.value is not None
    return Reading(dataclasses.replace(NODE.nvml.value, gpus=tuple(NODE.nvml.value.gpus[at] for at in indexes)))


def test_the_healthy_node_asks_for_two_gpus_by_each_way() -> None:
    assert [(one.injection, one.asked, one.uuid) for one in NODE.requests.value or ()] == [
        ("runtime", "7", healthy.uuid(7)),
        ("runtime", healthy.uuid(0), healthy.uuid(0)),
        ("cdi", "7", healthy.uuid(7)),
        ("cdi", healthy.uuid(0), healthy.uuid(0)),
    ]
    assert of(NODE) == []


@pytest.mark.parametrize("way", ["runtime", "cdi"])
@pytest.mark.parametrize("by", ["index", "uuid"])
@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ((3,), "asked for GPU %s and got another"),
        ((0, 1, 2, 3, 4, 5, 6, 7), "got more than the GPU that it asked for"),
        ((), "asked for GPU %s and got none"),
    ],
)
def test_another_gpu_than_was_asked_for(way: str, by: str, seen: t.Tuple[int, ...], words: str) -> None:
    request = asked(NODE, way, by)
    node = with_answer(NODE, request, smi=tool(*seen))
    (finding,) = of(node)
    assert judged(node).first_broken == "image"
    assert finding.entity == "%s: %s" % (way, request.asked)
    assert finding.expected == request.uuid
    assert (words % request.asked if "%s" in words else words) in finding.cause


@pytest.mark.parametrize(("code", "devices"), [(999, None), (0, 8)])
def test_nvml_names_the_gpu_and_cuda_does_not_work_with_it(code: int, devices: t.Optional[int]) -> None:
    error = "CUDA_ERROR_UNKNOWN" if code else None
    (finding,) = of(with_answer(NODE, asked(NODE, "cdi", "index"), cuda=Reading(CudaInit(code, error, devices))))
    assert finding.status == "fail"


def test_cuda_that_the_image_cannot_call_is_judged_elsewhere() -> None:
    assert of(with_answer(NODE, asked(NODE, "cdi", "index"), cuda=Reading.unknown("the image has no python3"))) == []


def test_a_container_that_starts_with_all_gpus_and_not_with_one() -> None:
    words = "could not apply required modification to OCI specification: unresolvable CDI devices nvidia.com/gpu=7"
    (finding,) = of(with_answer(NODE, asked(NODE, "cdi", "index"), started=False, error=words))
    assert finding.actual == words
    assert "cannot resolve the CDI devices" in finding.cause


def test_a_specification_that_names_all_gpus_alone() -> None:
    requests = [one for one in NODE.requests.value or () if one.injection == "runtime"]
    requests.append(Request("cdi", "", healthy.uuid(7), Reading.unknown("the CDI specification names no single GPU")))
    (finding,) = of(healthy.known(NODE, requests=tuple(requests)))
    assert (finding.entity, finding.repair) == ("cdi: a single GPU", "manual")


def test_not_asked_is_no_pass_and_breaks_nothing() -> None:
    node = dataclasses.replace(NODE, requests=NOT_READ)
    found = judged(node)
    assert found.golden
    assert found.not_proven == ()
    (finding,) = of(node)
    assert (finding.status, finding.required) == ("skip", False)


def test_asked_and_not_answered_never_passes() -> None:
    assert judged(healthy.unreadable(NODE, "requests")).first_broken == "image"
    hung = dataclasses.replace(asked(NODE, "cdi", "uuid"), look=Reading.unknown("docker was killed (pid 7)"))
    assert judged(healthy.known(NODE, requests=(hung,))).first_broken == "image"


def test_a_way_that_was_not_asked_for_single_gpus_never_passes() -> None:
    left = tuple(one for one in NODE.requests.value or () if one.injection == "runtime")
    (finding,) = of(healthy.known(NODE, requests=left))
    assert (finding.entity, finding.status, finding.required) == ("cdi", "skip", True)
    assert not judged(healthy.known(NODE, requests=left)).golden


def test_a_first_mark_needs_a_look_that_has_asked(tmp_path: t.Any) -> None:
    state = State(str(tmp_path), str(tmp_path / "lock"))
    node = dataclasses.replace(ONE, requests=NOT_READ)
    mark.revoke(state, "run 1", "r")
    mark.prepare(state, "run 1", Stored(ONE_WANTED, 1))
    with pytest.raises(MarkRefused, match="single_gpus=true"):
        mark.golden(state, "run 1", ONE_WANTED, verdict.run(ONE_WANTED, node, 1), node)
    mark.golden(state, "run 1", ONE_WANTED, verdict.run(ONE_WANTED, ONE, 1), ONE)
    # A mark that holds needs no new one, and the agent gives one back without asking.
    assert not mark.golden(state, "run 2", ONE_WANTED, verdict.run(ONE_WANTED, node, 1), node).changed


# --- images without nvidia-smi ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("smi", [Reading(None), Reading.unknown(NOT_STARTED + ", as in an image without glibc: sh: 1")])
def test_cuda_names_the_gpus_where_nvidia_smi_does_not_run(smi: Reading[GpuTool]) -> None:
    node = healthy.container(NODE, "cdi", smi=smi)
    assert judged(node).golden
    (finding,) = [f for f in judged(node).findings if f.id == "image.gpus" and f.entity == "cdi"]
    assert "as CUDA tells" in finding.actual


def test_cuda_names_too_few_gpus_where_there_is_no_nvidia_smi() -> None:
    fewer = Reading(CudaInit(0, devices=8, uuids=tuple(healthy.uuid(at) for at in range(7))))
    (finding,) = of(healthy.container(NODE, "cdi", smi=Reading(None), cuda=fewer), "image.gpus")
    assert (finding.status, healthy.uuid(7) in finding.cause) == ("fail", True)


def test_neither_nvidia_smi_nor_cuda_names_gpus_and_no_gpu_is_called_missing() -> None:
    node = healthy.container(NODE, "cdi", smi=Reading(None), cuda=Reading(CudaInit(0)))
    (finding,) = of(node, "image.gpus")
    assert finding.status == "unknown"
    assert "says nothing of the GPUs" in finding.cause
    # Nodes and libraries are judged all the same.
    others = [f for f in judged(node).findings if f.id in ("image.libraries", "image.device_nodes")]
    assert {f.status for f in others} == {"pass"}


def test_instances_of_a_gpu_in_mig_mode_are_compared_as_cuda_names_them() -> None:
    """CUDA names the instance, and NVML the GPU."""
    instance = "GPU-11111111-2222-4333-8444-555555555555"
    mig = CudaInit(0, devices=8, uuids=(instance,) * 8)
    node = healthy.known(NODE, cuda=mig)
    for way in node.containers:
        node = healthy.container(node, way, smi=Reading(None), cuda=Reading(mig))
    assert of(node, "image.gpus") == []
    request = asked(NODE, "cdi", "index")
    (finding,) = of(
        with_answer(node, request, smi=Reading(None), cuda=Reading(CudaInit(0, None, 1, None, (instance,))))
    )
    assert (finding.status, "MIG" in finding.actual) == ("unknown", True)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("cuda>=13.1, please update", "It wants CUDA 13.1 or newer, and driver %s has 13.0." % healthy.DRIVER),
        ("cuda >= 13.10, or brand=tesla", "It wants CUDA 13.10 or newer"),
        ("brand=tesla", "or is for other cards"),
    ],
)
def test_case_021_both_sides_of_a_requirement_and_no_toolkit_for_the_host(condition: str, said: str) -> None:
    words = "nvidia-container-cli: requirement error: unsatisfied condition: %s: unknown" % condition
    (finding,) = of(healthy.container(NODE, "runtime", started=False, error=words), "image.requirement")
    assert said in finding.cause
    assert ("It wants" in finding.cause) is ("It wants" in said)
    assert "A CUDA toolkit on the host does not help" in finding.fix


@pytest.mark.parametrize(
    ("loaded", "golden"),
    [
        ("/usr/lib/x86_64-linux-gnu/libcuda.so.%s" % healthy.DRIVER, True),
        ("/opt/app/lib/libcuda.so.550.54.14", False),
        ("/usr/local/cuda-13.0/compat/libcuda.so.590.44.01", False),
    ],
)
def test_case_023_what_cuda_has_loaded_counts_and_not_the_cache_alone(loaded: str, golden: bool) -> None:
    node = healthy.container(NODE, "cdi", cuda=Reading(CudaInit(0, None, 8, loaded)))
    assert judged(node).golden is golden
    if not golden:
        (finding,) = of(node, "image.libraries")
        assert loaded in finding.actual


def test_case_023_a_compat_library_that_the_bundle_wants_is_no_fault() -> None:
    wanted = healthy.desired(of_lock=healthy.lock(image={"cuda_compat": "forward"}))
    compat = "/usr/local/cuda-13.0/compat/libcuda.so.590.44.01"
    node = healthy.evidence("a10", wanted)
    for way in node.containers:
        look = node.containers[way].value
        assert look is not None
        libraries = {**(look.libraries.value or {}), "libcuda.so.1": Library("libcuda.so.1", compat, compat)}
        node = healthy.container(
            node, way, libraries=Reading(libraries), cuda=Reading(CudaInit(0, None, 1, compat, (healthy.uuid(0),)))
        )
    assert verdict.run(wanted, node, 1).golden
