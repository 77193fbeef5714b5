# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs that nvidia-smi lists like any other and that are not fit, or slower than they are."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks.registry import CHECKS
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    CudaInit,
    DeviceNode,
    Evidence,
    Fabric,
    FabricMismatch,
    Finding,
    GpuMode,
    GpuProcess,
    PcieLink,
    PciSlot,
    Reading,
    RemappedRows,
)
from ansible_collections.goldennode.gpu.tests.unit import healthy, mig_node

WANTED = healthy.desired("h100x8")
NODE = healthy.evidence("h100x8", WANTED)
GPU = healthy.address(2)
UNKNOWN = Reading.unknown("NVML: Unknown Error (code 999)")


def judged(evidence: Evidence) -> verdict.Verdict:
    return verdict.run(WANTED, evidence, 8)


def gpu(**fields: t.Any) -> Evidence:
    return healthy.of_gpu(NODE, 2, **fields)


def broken(evidence: Evidence, check: str, repair: str) -> Finding:
    """The one thing that is wrong."""
    found = judged(evidence)
    assert not found.golden
    (finding,) = found.broken
    assert (finding.id, finding.status, finding.repair) == (check, "fail", repair)
    assert finding.fix
    return finding


def told(evidence: Evidence, check: str) -> Finding:
    """The one thing that is told, of a node that is golden."""
    found = judged(evidence)
    assert found.golden
    (finding,) = [f for f in found.findings if f.status != "pass"]
    assert (finding.id, finding.status, finding.required) == (check, "fail", False)
    advice = next(one.advice for one in CHECKS if one.id == check)
    assert found.not_proven == (() if advice else ("%s: %s" % (check, finding.cause),))
    return finding


def status(evidence: Evidence, check: str) -> t.Dict[str, str]:
    return {f.entity: f.status for f in judged(evidence).findings if f.id == check}


# --- memory ----------------------------------------------------------------------------------------------------------


def test_a_row_without_a_spare_one_is_for_a_replacement() -> None:
    rows = RemappedRows(1, 8, pending=False, failed=True)
    finding = broken(gpu(remapped=rows), "hardware.memory", "manual")
    assert finding.entity == GPU
    assert finding.cause == "GPU %s has a broken row of memory and no spare row left for it." % GPU
    assert "(RMA)" in finding.fix


def test_errors_that_ecc_could_not_correct() -> None:
    evidence = gpu(ecc_volatile=2, ecc_aggregate=5, remapped=RemappedRows(0, 1, pending=True, failed=False))
    finding = broken(evidence, "hardware.memory", "manual")
    assert finding.cause.startswith("GPU %s has met 2 memory errors that ECC could not correct" % GPU)
    assert finding.actual == "2 since the driver was loaded, 5 in its life"
    assert "nvidia-smi --gpu-reset -i %s" % GPU in finding.fix


def test_errors_of_a_gpus_past_and_rows_that_were_replaced_are_no_fault() -> None:
    assert judged(gpu(ecc_aggregate=40, remapped=RemappedRows(3, 4, pending=False, failed=False))).golden


@pytest.mark.parametrize(
    ("fields", "words", "step"),
    [
        ({"remapped": RemappedRows(0, 1, True, False)}, "a row of memory is to be replaced", "reset the GPU or reboot"),
        ({"retired_pending": True}, "pages of memory are to be retired", "reboot the node"),
    ],
)
def test_what_waits_for_a_reset_takes_no_gold(fields: t.Dict[str, t.Any], words: str, step: str) -> None:
    finding = told(gpu(**fields), "hardware.memory")
    assert words in finding.cause
    assert step in finding.fix


@pytest.mark.parametrize("name", ["ecc", "ecc_volatile", "remapped", "retired_pending", "recovery", "mig", "fabric"])
def test_a_question_that_is_not_supported_is_no_fault(name: str) -> None:
    """Consumer cards have no ECC, remapped rows are not told in MIG mode, old drivers know no recovery action."""
    assert judged(gpu(**{name: None})).golden


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("ecc_volatile", "hardware.memory"),
        ("remapped", "hardware.memory"),
        ("retired_pending", "hardware.memory"),
        ("recovery", "hardware.recovery"),
        ("mig", "host_driver.mig"),
        ("fabric", "host_driver.fabric"),
    ],
)
def test_an_answer_that_could_not_be_read_never_passes(name: str, check: str) -> None:
    found = judged(gpu(**{name: UNKNOWN}))
    assert not found.golden
    assert [(f.id, f.entity, f.status) for f in found.broken] == [(check, GPU, "unknown")]
    assert "NVML: Unknown Error (code 999)" in found.broken[0].cause


@pytest.mark.parametrize("name", ["clock_events", "persistence", "pcie", "utilization", "processes", "ecc_aggregate"])
def test_what_only_makes_slow_takes_no_gold_where_it_is_not_known(name: str) -> None:
    assert judged(gpu(**{name: UNKNOWN})).golden


def test_without_nvml_nothing_is_said_here_and_the_tool_has_the_finding() -> None:
    found = judged(healthy.unreadable(NODE, "nvml"))
    assert {f.id for f in found.broken} == {"host_driver.nvml"}
    assert status(healthy.unreadable(NODE, "nvml"), "hardware.memory") == {"": "skip"}


def test_a_look_that_did_not_ask_is_not_golden() -> None:
    answer = NODE.nvml.value
    assert answer is not None
    bare = dataclasses.replace(answer, gpus=tuple(dataclasses.replace(one, state=None) for one in answer.gpus))
    assert not judged(healthy.known(NODE, nvml=bare)).golden


# --- recovery --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "words", "fix", "repair"),
    [
        (
            1,
            "a reset of the GPU",
            "Stop what uses the GPU (python3 (pid 7)) and reset it: nvidia-smi --gpu-reset -i",
            "reboot",
        ),
        (2, "a reboot of the node", "Drain the node and reboot it; site.yml", "reboot"),
        (3, "drain P2P", "End the programs that use several GPUs with this one (python3 (pid 7))", "manual"),
        (4, "the GPU drained and reset", "nvidia-smi --gpu-reset -i", "reboot"),
        (5, "IMEX domain", "systemctl restart nvidia-imex", "manual"),
        (6, "PCIe bus", "Drain the node and reboot it", "reboot"),
        (7, "a restart of the system", "Drain the node and reboot it", "reboot"),
        (9, "recovery action 9, which is new", "Drain the node and reboot it", "reboot"),
    ],
)
def test_what_the_driver_wants_is_named(action: int, words: str, fix: str, repair: str) -> None:
    evidence = gpu(recovery=action, processes=(GpuProcess(7, "python3"),))
    finding = broken(evidence, "hardware.recovery", repair)
    assert words in finding.cause
    assert fix in finding.fix
    assert "%" not in finding.fix


# --- MIG: case 056 ---------------------------------------------------------------------------------------------------

NO_DEVICE = CudaInit(100, "CUDA_ERROR_NO_DEVICE")


def test_case_056_mig_is_on_without_an_instance() -> None:
    """NVIDIA/gpu-operator#382: nvidia-smi passes on the host and in a container, and counts one GPU."""
    wanted = healthy.desired()
    evidence = healthy.of_gpu(healthy.evidence("a10", wanted), mig=GpuMode(True, True), compute_instances=0)
    found = verdict.run(wanted, healthy.known(evidence, cuda=NO_DEVICE), 1)
    (finding,) = found.broken
    assert (finding.id, finding.layer, finding.repair) == ("host_driver.mig", "host_driver", "manual")
    assert "is on and has no instance: nvidia-smi lists the GPU, and CUDA finds none." in finding.cause
    assert "-mig 0" in finding.fix
    assert [f.status for f in found.findings if f.id == "host_driver.cuda"] == ["skip"]


def test_case_056_mig_with_instances_is_well() -> None:
    assert judged(mig_node.evidence(NODE, {2: 7})).golden


def test_mig_instances_that_only_root_is_shown_are_not_missing() -> None:
    caps = tuple(DeviceNode("/dev/nvidia-caps/nvidia-cap%d" % n, 0o400, 0, 0, 240, n) for n in (1, 2, 30))
    evidence = healthy.known(mig_node.evidence(NODE, {2: 0}), device_nodes=(*(NODE.device_nodes.value or ()), *caps))
    found = judged(evidence)
    assert [(f.id, f.status) for f in found.broken] == [("host_driver.mig", "unknown")]
    assert "/dev/nvidia-caps/nvidia-cap30 is not open to all" in found.broken[0].cause


@pytest.mark.parametrize("mode", [GpuMode(True, False), GpuMode(False, True)])
def test_mig_that_was_switched_and_is_not_in_force(mode: GpuMode) -> None:
    finding = broken(gpu(mig=mode, compute_instances=0), "host_driver.mig", "reboot")
    assert "is not in force before the GPU is reset" in finding.cause


# --- the NVLink fabric -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fabric", "words"),
    [
        (Fabric(1), "registration with the NVLink fabric is not started"),
        (Fabric(2), "registration with the NVLink fabric is in progress"),
        (Fabric(3, status=999), "registration ended with NVML error 999"),
        (Fabric(3, health=1 << 4), "a route is unhealthy"),
        (Fabric(3, health=4 << 8), "the GPU is in no partition"),
        (Fabric(3, summary=2), "its health is unhealthy"),
    ],
)
def test_a_gpu_that_the_fabric_does_not_have(fabric: Fabric, words: str) -> None:
    """CUDA fails with 802 on it, which is a consequence."""
    evidence = healthy.known(gpu(fabric=fabric), cuda=CudaInit(802, "CUDA_ERROR_SYSTEM_NOT_READY"))
    assert words in broken(evidence, "host_driver.fabric", "manual").cause


@pytest.mark.parametrize("fabric", [Fabric(3, health=1), Fabric(3, health=1 << 2), Fabric(3, summary=3)])
def test_a_fabric_that_is_slower_takes_no_gold(fabric: Fabric) -> None:
    told(gpu(fabric=fabric), "host_driver.fabric")


def test_a_fabric_that_waits_for_its_manager_is_said_once() -> None:
    evidence = healthy.known(gpu(fabric=Fabric(2)), fabric_mismatch=FabricMismatch("580.126.09", healthy.DRIVER))
    assert [f.id for f in judged(evidence).broken] == ["host_driver.fabric_manager"]
    assert status(evidence, "host_driver.fabric") == {"": "skip"}


@pytest.mark.parametrize(("health", "golden"), [(1 << 4, False), (2 << 4, True), (4 << 8, True)])
def test_a_broken_route_counts_where_the_switches_are_in_other_machines(health: int, golden: bool) -> None:
    wanted = healthy.desired()
    evidence = healthy.of_gpu(healthy.evidence("a10", wanted), fabric=Fabric(3, health=health, summary=2))
    (finding,) = [f for f in verdict.run(wanted, evidence, 1).findings if f.id == "host_driver.fabric"]
    assert (finding.status, finding.required) == ("fail", not golden)


def test_a_guest_with_one_gpu_of_a_board_works_without_the_fabric() -> None:
    wanted = healthy.desired()
    evidence = healthy.of_gpu(healthy.evidence("a10", wanted), fabric=Fabric(1))
    assert verdict.run(wanted, evidence, 1).golden


# --- the tools agree -------------------------------------------------------------------------------------------------


def test_the_tools_list_the_same_gpus() -> None:
    answer = NODE.smi.value
    assert answer is not None
    other = dataclasses.replace(answer.gpus[2], uuid=healthy.uuid(99))
    gpus = tuple(other if one.index == 2 else one for one in answer.gpus)
    found = judged(healthy.known(NODE, smi=dataclasses.replace(answer, gpus=gpus)))
    assert {(f.id, f.actual) for f in found.broken} == {
        ("host_driver.answers_agree", "NVML does not list %s" % healthy.uuid(99)),
        ("host_driver.answers_agree", "nvidia-smi does not list %s" % healthy.uuid(2)),
    }


def test_the_tools_speak_of_one_driver() -> None:
    answer = NODE.smi.value
    assert answer is not None
    found = judged(healthy.known(NODE, smi=dataclasses.replace(answer, driver="580.126.09")))
    actual = {f.id: f.actual for f in found.broken}
    assert actual["host_driver.answers_agree"] == "nvidia-smi says 580.126.09, NVML %s" % healthy.DRIVER


# --- slower than it is -----------------------------------------------------------------------------------------------


def test_fewer_lanes_than_it_could_have() -> None:
    finding = told(gpu(pcie=PcieLink(1, 5, 8, 16)), "hardware.pcie_link")
    assert finding.cause.startswith("GPU %s has 8 of 16 PCIe lanes" % GPU)


def test_the_generation_counts_only_while_the_gpu_is_busy() -> None:
    assert status(gpu(pcie=PcieLink(1, 5, 16, 16)), "hardware.pcie_link") == {"": "pass"}
    finding = told(gpu(pcie=PcieLink(1, 5, 16, 16), utilization=90), "hardware.pcie_link")
    assert finding.actual == "generation 1 while the GPU is busy"


@pytest.mark.parametrize("device", ["2342", "2348", "2941", "31c2"])
def test_a_gpu_with_c2c_has_a_link_that_tells_nothing(device: str) -> None:
    pci = tuple(dataclasses.replace(one, device=device) if one.is_gpu else one for one in NODE.pci.value or ())
    evidence = healthy.known(gpu(pcie=PcieLink(1, 5, 1, 16)), pci=pci)
    assert status(evidence, "hardware.pcie_link") == {"": "pass"}


def test_the_slot_tells_of_the_link_where_nvml_does_not() -> None:
    slots = {**(NODE.pci_slots.value or {}), GPU: PciSlot(PcieLink(4, 4, 4, 16), 0)}
    told(healthy.known(gpu(pcie=None), pci_slots=slots), "hardware.pcie_link")


def test_a_numa_node_that_the_firmware_does_not_tell() -> None:
    slots = {**(NODE.pci_slots.value or {}), GPU: PciSlot(healthy.LINK, -1)}
    evidence = healthy.known(NODE, pci_slots=slots)
    assert "to which of 2 NUMA nodes GPU %s belongs" % GPU in told(evidence, "hardware.numa").cause
    assert judged(healthy.known(evidence, numa_nodes=1)).not_proven == ()


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0x48, "too hot (hardware thermal slowdown)"),
        (0x20, "close to too hot"),
        (0x80, "power brake"),
        (0x8, "the hardware slows it down"),
        (0x200, "a limit of the board"),
    ],
)
def test_a_gpu_that_is_slowed_down(bits: int, words: str) -> None:
    assert words in told(gpu(clock_events=bits), "hardware.throttle").cause


@pytest.mark.parametrize("bits", [0, 0x1, 0x4, 0x2, 0x10])
def test_an_idle_gpu_and_one_at_its_power_limit_are_not_slowed_down(bits: int) -> None:
    assert judged(gpu(clock_events=bits)).not_proven == ()


def test_persistence_mode_that_is_off() -> None:
    assert "falls asleep" in told(gpu(persistence=False), "host_driver.persistence").cause
    wanted = healthy.desired("h100x8", driver_persistenced=False)
    found = verdict.run(wanted, healthy.of_gpu(healthy.evidence("h100x8", wanted), 2, persistence=False), 8)
    assert (found.golden, found.not_proven) == (True, ())


def test_a_persistence_daemon_that_does_not_run_is_said_once() -> None:
    units = dict(NODE.units.value or {})
    name = "nvidia-persistenced.service"
    units[name] = dataclasses.replace(units[name], active="failed")
    evidence = healthy.known(gpu(persistence=False), units=units)
    assert [f.id for f in judged(evidence).broken] == ["host_driver.units"]
    assert status(evidence, "host_driver.persistence") == {"": "skip"}
