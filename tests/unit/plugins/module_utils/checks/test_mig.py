# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node with MIG devices: golden with them, whichever GPUs have them; and what is wrong where one is missing."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks import mig_devices
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    CudaInit,
    DeviceNode,
    Evidence,
    Finding,
    Framework,
    FrameworkUse,
    GpuTool,
    Reading,
    Request,
)
from ansible_collections.goldennode.gpu.tests.unit import healthy, mig_node

WANTED = healthy.desired("h100x8")
NODE = healthy.evidence("h100x8", WANTED)
ALL_ON = dict.fromkeys(range(8), 7)
#: GPU 0 in seven parts, GPU 5 in two, six whole.
MIXED = {0: 7, 5: 2}
NO_DEVICE = CudaInit(100, "CUDA_ERROR_NO_DEVICE")


def judged(node: Evidence) -> verdict.Verdict:
    return verdict.run(WANTED, node, 8)


def one(node: Evidence, check: str, status: str = "fail") -> Finding:
    found = judged(node)
    assert not found.golden
    (finding,) = found.broken
    assert (finding.id, finding.status) == (check, status)
    return finding


def passed(node: Evidence, check: str) -> t.List[str]:
    return [f.actual for f in judged(node).findings if f.id == check and f.status == "pass"]


def with_cuda(node: Evidence, cuda: CudaInit, way: str = "") -> Evidence:
    if way:
        return healthy.container(node, way, cuda=Reading(cuda))
    return healthy.known(node, cuda=cuda)


def seen(*uuids: str) -> CudaInit:
    return CudaInit(0, devices=len(uuids), uuids=uuids)


# --- golden ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sees_all", [True, False], ids=["since 570", "before"])
@pytest.mark.parametrize("parts", [ALL_ON, MIXED, {7: 1}], ids=["all", "some", "one"])
def test_a_node_with_mig_devices_is_golden(parts: t.Dict[int, int], sees_all: bool) -> None:
    found = judged(mig_node.evidence(NODE, parts, sees_all))
    assert found.golden, found.broken
    assert found.not_proven == ()


def test_the_only_gpu_in_seven_parts() -> None:
    wanted = healthy.desired()
    node = mig_node.evidence(healthy.evidence("a10", wanted), {0: 7})
    found = verdict.run(wanted, node, 1)
    assert found.golden, found.broken
    said = [f.actual for f in found.findings if f.id in ("host_driver.cuda", "image.gpus", "image.requests")]
    assert said == [
        "cuInit 0, 7 devices, of 7 MIG devices and 0 whole GPUs",
        "7 MIG devices and 0 whole GPUs, those of the host",
        "7 MIG devices and 0 whole GPUs, those of the host",
        *("%s, and no other" % mig_node.uuid(0, place) for place in (6, 0, 6, 0)),
    ]


def test_an_image_without_nvidia_smi_has_cuda_name_the_mig_devices() -> None:
    node = mig_node.evidence(NODE, MIXED)
    node = healthy.container(node, "cdi", smi=Reading(None), mig=Reading(None))
    without = tuple(_without_smi(request) for request in node.requests.value or ())
    node = healthy.known(node, requests=without)
    assert judged(node).golden, judged(node).broken
    assert passed(node, "image.gpus")[1].startswith("15 devices, of the host's 9 MIG devices and 6 whole GPUs, as CUDA")


def _without_smi(request: Request) -> Request:
    assert request.look.value is not None
    look = dataclasses.replace(request.look.value, smi=Reading(None), mig=Reading(None))
    return dataclasses.replace(request, look=Reading(look))


def test_a_framework_counts_devices_and_not_cards() -> None:
    framework = Framework("torch", "/usr/lib/python3", "2.9.0", "13.0", True)
    node = mig_node.evidence(NODE, MIXED)
    for way in node.containers:
        node = healthy.container(node, way, frameworks=Reading((framework,)))
    for count, status in ((1, "pass"), (15, "pass"), (16, "fail")):
        use = FrameworkUse("torch", version="2.9.0", available=True, devices=count)
        found = judged(healthy.known(node, frameworks=(use,)))
        (finding,) = [f for f in found.findings if f.entity == "torch: use"]
        assert (finding.status, finding.required) == (status, False)
        if status == "fail":
            assert finding.expected == "devices of 9 MIG devices and 6 whole GPUs"


# --- CUDA on the host ------------------------------------------------------------------------------------------------

WHOLE = tuple(healthy.uuid(index) for index in range(8) if index not in MIXED)
FOREIGN = "GPU-99999999-0000-5000-0000-000000000000"


@pytest.mark.parametrize(
    ("cuda", "words"),
    [
        (seen(*WHOLE), "it names no MIG device"),
        (seen(*WHOLE[1:], mig_node.by_cuda(mig_node.uuid(0, 0))), "it lacks %s, which is not in MIG mode" % WHOLE[0]),
        (seen(mig_node.by_cuda(mig_node.uuid(0, 7))), "which is neither a MIG device nor a whole GPU of this node"),
        (seen(healthy.uuid(0)), "it names %s, which is neither" % healthy.uuid(0)),
        (CudaInit(0, devices=16), "it counts 16 of 9 MIG devices and 6 whole GPUs"),
        (CudaInit(0, devices=0), "it counts 0 of"),
    ],
)
def test_cuda_sees_other_devices_than_the_node_s(cuda: CudaInit, words: str) -> None:
    finding = one(with_cuda(mig_node.evidence(NODE, MIXED), cuda), "host_driver.cuda")
    assert finding.cause.startswith("CUDA sees other devices than this node's: ")
    assert words in finding.cause
    assert finding.expected == "cuInit 0, devices of 9 MIG devices and 6 whole GPUs"


def test_devices_that_cuda_does_not_name_are_counted() -> None:
    assert judged(with_cuda(mig_node.evidence(NODE, MIXED), CudaInit(0, devices=15))).golden


def test_without_nvml_the_number_of_devices_is_not_blamed() -> None:
    node = dataclasses.replace(mig_node.evidence(NODE, MIXED), nvml=Reading.unknown("NVML: Unknown Error (code 999)"))
    found = judged(node)
    assert {f.id for f in found.broken} == {"host_driver.nvml"}
    assert [f.actual for f in found.findings if f.id == "host_driver.cuda"] == [
        "cuInit 0, 15 devices, and cannot be judged before MIG is known: see host_driver.nvml"
    ]


def test_another_number_than_declared_with_mig_off_is_as_before() -> None:
    finding = one(with_cuda(NODE, CudaInit(0, devices=7)), "host_driver.cuda")
    assert (finding.expected, finding.cause) == (
        "cuInit 0, 8 devices",
        "CUDA sees another number of GPUs than declared.",
    )


# --- without an instance ---------------------------------------------------------------------------------------------


def test_mig_without_an_instance_is_said_once() -> None:
    node = with_cuda(mig_node.evidence(NODE, dict.fromkeys(range(8), 0)), NO_DEVICE)
    found = judged(node)
    assert {f.id for f in found.broken} == {"host_driver.mig"}
    assert found.first_broken == "host_driver"


def test_mig_without_an_instance_on_one_gpu_of_eight() -> None:
    finding = one(mig_node.evidence(NODE, {0: 7, 5: 0}), "host_driver.mig")
    assert finding.entity == healthy.address(5)


def test_instances_that_only_root_is_shown_are_not_blamed_on_cuda() -> None:
    node = with_cuda(mig_node.evidence(NODE, dict.fromkeys(range(8), 0)), NO_DEVICE)
    caps = tuple(DeviceNode("/dev/nvidia-caps/nvidia-cap%d" % n, 0o400, 0, 0, 240, n) for n in (1, 2, 30))
    found = judged(healthy.known(node, device_nodes=(*(NODE.device_nodes.value or ()), *caps)))
    assert {(f.id, f.status) for f in found.broken} == {("host_driver.mig", "unknown")}
    assert [f.actual for f in found.findings if f.id == "host_driver.cuda"] == [
        "CUDA failed (cuInit 100 CUDA_ERROR_NO_DEVICE): see host_driver.mig"
    ]


# --- containers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["runtime", "cdi"])
def test_a_container_without_one_of_the_mig_devices(way: str) -> None:
    node = mig_node.evidence(NODE, MIXED)
    look = node.containers[way].value
    assert look is not None
    there = look.mig.value or ()
    finding = one(healthy.container(node, way, mig=Reading(there[1:])), "image.gpus")
    assert finding.entity == way
    assert "does not see the host's MIG devices: %s missing, none more." % there[0] in finding.cause


@pytest.mark.parametrize("answer", [Reading.unknown("nvidia-smi -L ended with code 255"), Reading(None)])
def test_mig_devices_of_a_container_that_are_not_known_never_pass(answer: t.Any) -> None:
    one(healthy.container(mig_node.evidence(NODE, MIXED), "cdi", mig=answer), "image.gpus", "unknown")


def test_cuda_in_a_container_sees_a_device_of_somebody_else() -> None:
    finding = one(with_cuda(mig_node.evidence(NODE, MIXED), seen(FOREIGN), "cdi"), "image.cuda")
    assert finding.cause.startswith("CUDA in the container sees other devices than this node's: it names ")


def with_answer(node: Evidence, asked: str, **fields: t.Any) -> Evidence:
    def changed(request: Request) -> Request:
        if request.injection != "cdi" or request.asked != asked or request.look.value is None:
            return request
        return dataclasses.replace(request, look=Reading(dataclasses.replace(request.look.value, **fields)))

    return healthy.known(node, requests=tuple(changed(request) for request in node.requests.value or ()))


MIG_0_0, MIG_0_1 = mig_node.uuid(0, 0), mig_node.uuid(0, 1)


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ((MIG_0_1,), "The container asked for MIG device %s and got another." % MIG_0_0),
        ((), "The container asked for MIG device %s and got none." % MIG_0_0),
        ((MIG_0_0, MIG_0_1), "The container got more than the MIG device that it asked for"),
    ],
)
def test_another_mig_device_than_was_asked_for(there: t.Tuple[str, ...], words: str) -> None:
    finding = one(with_answer(mig_node.evidence(NODE, MIXED), MIG_0_0, mig=Reading(there)), "image.requests")
    assert (finding.entity, finding.expected) == ("cdi: %s" % MIG_0_0, MIG_0_0)
    assert words in finding.cause


def test_a_mig_device_that_a_container_does_not_list_is_unknown() -> None:
    node = with_answer(mig_node.evidence(NODE, MIXED), MIG_0_0, mig=Reading.unknown("killed"))
    assert one(node, "image.requests", "unknown").actual == "killed"


# --- what the image hides --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "golden"), [("0", True), ("3", True), (MIG_0_0, True), ("", False), ("-1", False)])
def test_what_an_image_hides_is_not_counted_in_cards(value: str, golden: bool) -> None:
    environment = {**(NODE.image_environment.value or {}), "CUDA_VISIBLE_DEVICES": value}
    assert judged(healthy.known(mig_node.evidence(NODE, MIXED), image_environment=environment)).golden is golden


# --- the CDI specification -------------------------------------------------------------------------------------------


def with_names(node: Evidence, *names: str) -> Evidence:
    specs = {path: dataclasses.replace(spec, devices=names) for path, spec in (node.cdi_specs.value or {}).items()}
    return healthy.known(node, cdi_specs=specs)


def test_mig_was_switched_on_after_the_specification_was_written() -> None:
    node = mig_node.evidence(NODE, {0: 2})
    old = [name for index in range(8) for name in (str(index), healthy.uuid(index))]
    finding = one(with_names(node, *old, "all"), "container_runtime.cdi_spec")
    assert finding.actual == "not named: MIG device 0:0, MIG device 0:1"
    assert "or MIG" in finding.cause


def test_instances_were_made_anew_after_the_specification_was_written() -> None:
    node = mig_node.evidence(NODE, {0: 2})
    (spec,) = (node.cdi_specs.value or {}).values()
    old = [mig_node.uuid(9, 9) if name == MIG_0_0 else name for name in spec.devices]
    finding = one(with_names(node, *old), "container_runtime.cdi_spec")
    assert finding.actual == "named and not there: %s" % mig_node.uuid(9, 9)


def test_mig_was_switched_off_after_the_specification_was_written() -> None:
    node = mig_node.evidence(NODE, {0: 2})
    (spec,) = (node.cdi_specs.value or {}).values()
    finding = one(with_names(NODE, *spec.devices), "container_runtime.cdi_spec")
    assert finding.actual == "not named: GPU 0; named and not there: %s, %s" % (MIG_0_0, MIG_0_1)


def test_without_an_answer_of_nvml_mig_is_not_guessed() -> None:
    assert mig_devices.of(dataclasses.replace(NODE, nvml=Reading.unknown("NVML: killed"))) is None
    smi_alone = mig_devices.of(healthy.known(NODE, nvml=NODE.smi.value or GpuTool()))
    assert smi_alone is None


def test_mig_devices_without_uuids_are_counted_and_not_compared() -> None:
    node = healthy.of_gpu(mig_node.evidence(NODE, MIXED), 5, mig_devices=Reading.unknown("NVML: error (code 999)"))
    parts = mig_devices.of(node)
    assert parts is not None
    assert (parts.total, parts.devices) == (9, None)
    assert mig_devices.wrong(parts, seen(*WHOLE)) == ""
