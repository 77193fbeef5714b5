# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Xids of this boot: which make a node unfit, which are told, and which another check has already said."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    DriverLoaded,
    Evidence,
    Finding,
    GpuProcess,
    GpuTool,
    Reading,
    RemappedRows,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import kernel_log
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired("h100x8")
NODE = healthy.evidence("h100x8", WANTED)
GPU = healthy.address(3)
OTHER = healthy.address(5)
RESET_WANTED = "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
REBOOT_WANTED = "154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
RECOVERED = "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
GSP = "119, pid=1, name=python3, Timeout after 6s of waiting for RPC response from GPU3 GSP!"
FAULT = "31, pid=1, name=python3, Ch 00000008, intr 00000000. MMU Fault"


def logged(*xids: str, node: Evidence = NODE, gpu: str = GPU, old_driver: bool = True) -> Evidence:
    """The node with these in its log; an old driver tells no recovery action."""
    lines = "".join("[   %d.5] NVRM: Xid (PCI:%s): %s\n" % (at, gpu[:-2], words) for at, words in enumerate(xids))
    evidence = healthy.of_gpu(node, 3, recovery=None) if old_driver else node
    return dataclasses.replace(evidence, kernel_log=kernel_log.parse(lines))


def judged(evidence: Evidence) -> verdict.Verdict:
    return verdict.run(WANTED, evidence, 8)


def broken(evidence: Evidence, repair: str) -> Finding:
    found = judged(evidence)
    assert not found.golden
    (finding,) = found.broken
    assert (finding.id, finding.entity, finding.repair) == ("hardware.xid", GPU, repair)
    return finding


def told(evidence: Evidence) -> Finding:
    found = judged(evidence)
    assert found.golden
    (finding,) = [f for f in found.findings if f.status != "pass"]
    assert (finding.id, finding.required) == ("hardware.xid", False)
    return finding


@pytest.mark.parametrize("number", [46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158])
def test_what_only_a_reset_mends_makes_the_node_unfit(number: int) -> None:
    finding = broken(logged("%d, x" % number), "reboot")
    assert finding.cause.startswith("GPU %s reported Xid %d (" % (GPU, number))
    assert finding.cause.endswith(", which takes a reset of the GPU.")
    assert "nvidia-smi --gpu-reset -i %s" % GPU in finding.fix


@pytest.mark.parametrize("number", [151, 160])
def test_what_only_a_reboot_mends(number: int) -> None:
    assert "a reboot of the node" in broken(logged("%d, x" % number, old_driver=False), "reboot").cause


@pytest.mark.parametrize("number", [48, 74])
def test_what_has_several_causes_is_for_a_person(number: int) -> None:
    finding = broken(logged("%d, x" % number, old_driver=False), "manual")
    assert "which has several causes" in finding.cause
    assert "%s" not in finding.fix


@pytest.mark.parametrize("number", [8, 13, 14, 31, 32, 43, 45, 63, 69, 92, 137, 152, 153, 162])
def test_a_programs_own_error_is_told_and_no_fault(number: int) -> None:
    found = judged(logged("%d, x" % number))
    assert (found.golden, found.not_proven) == (True, ())
    (finding,) = [f for f in found.findings if f.id == "hardware.xid"]
    assert finding.entity == GPU
    assert finding.actual.startswith("Xid %d (" % number)


def test_a_contained_error_and_one_that_is_new_are_told_and_take_no_gold() -> None:
    assert "kept to one program" in told(logged("94, pid=1, Contained")).cause
    assert "an error that we do not know: Xid 999" in told(logged("999, x")).cause


@pytest.mark.parametrize("number", [56, 57, 58, 59, 61, 78, 142, 159, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172])
def test_one_for_which_the_catalog_names_no_action_is_told_by_its_name(number: int) -> None:
    finding = told(logged("%d, x" % number))
    assert "an error for which NVIDIA names no action: Xid %d (" % number in finding.cause
    assert "not in NVIDIA's table" not in finding.cause


def test_one_without_an_action_of_its_own_does_not_hide_what_the_driver_asks_for() -> None:
    assert "wants a reset of the GPU" in broken(logged("167, x", RESET_WANTED), "reboot").cause


def test_a_fatal_error_of_an_nvswitch_is_told_once_for_each_switch_and_takes_no_gold() -> None:
    lines = [
        "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)",
        "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
        "nvidia-nvswitch1: SXid (PCI:0000:c4:00.0): 20009, Non-fatal, Link 04 RX Short Error Rate",
    ]
    finding = told(dataclasses.replace(NODE, kernel_log=kernel_log.parse("\n".join(lines))))
    assert finding.entity == "0000:c3:00.0"
    assert finding.actual == "SXid 24007, Link 28 sourcetrack timeout error (First); 1 more"
    assert "(SXid 24007)" in finding.cause


def test_what_came_first_is_said_first_and_a_repeated_one_once() -> None:
    finding = broken(logged(FAULT, FAULT, GSP, "45, x"), "reboot")
    assert finding.actual == (
        "Xid 31 (memory page fault) 2 times, then Xid 119 (GSP did not answer in time), "
        "then Xid 45 (a program's channel removed after another error)"
    )
    assert "Xid 119" in finding.cause


def test_what_the_driver_asks_for_stands_above_the_table() -> None:
    finding = broken(logged(FAULT, REBOOT_WANTED), "reboot")
    assert finding.cause == "The driver wants a reboot of the node for GPU %s." % GPU
    finding = broken(logged(GSP, REBOOT_WANTED), "reboot")
    assert finding.cause.endswith("for GPU %s, after Xid 119 (GSP did not answer in time)." % GPU)
    assert finding.fix.startswith("Drain the node and reboot it;")


def test_what_was_before_a_recovery_is_over() -> None:
    assert judged(logged(GSP, RESET_WANTED, RECOVERED)).not_proven == ()
    broken(logged(GSP, RESET_WANTED, RECOVERED, GSP), "reboot")


def test_a_line_that_a_reset_leaves_behind_is_told_where_the_driver_wants_nothing_now() -> None:
    assert "the driver wants nothing done now" in told(logged(GSP, old_driver=False)).cause
    assert "the driver wants nothing done now" in told(logged(GSP, RESET_WANTED, old_driver=False)).cause
    assert not judged(logged(GSP, node=healthy.of_gpu(NODE, 3, recovery=Reading.unknown("x")), old_driver=False)).golden


def test_who_uses_the_gpu_is_named() -> None:
    node = healthy.of_gpu(NODE, 3, processes=tuple(GpuProcess(n, "job") for n in range(6)))
    fix = broken(logged(GSP, node=node), "reboot").fix
    assert "(job (pid 0), job (pid 1), job (pid 2), job (pid 3), and 2 more)" in fix


def test_an_nvlink_error_that_is_not_fatal_is_no_fault() -> None:
    assert judged(logged("145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2)")).golden
    broken(logged("149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6)"), "reboot")


def test_each_gpu_has_its_own_finding() -> None:
    evidence = logged(GSP)
    more = kernel_log.parse("NVRM: Xid (PCI:%s): %s\n" % (OTHER[:-2], FAULT)).value or ()
    evidence = healthy.known(evidence, kernel_log=(*(evidence.kernel_log.value or ()), *more))
    found = {f.entity: f.status for f in judged(evidence).findings if f.id == "hardware.xid"}
    assert found == {GPU: "fail", OTHER: "pass"}


# --- said once -------------------------------------------------------------------------------------------------------


def said_elsewhere(evidence: Evidence, check: str) -> None:
    found = judged(evidence)
    assert {f.id for f in found.broken} == {check}
    assert [f.status for f in found.findings if f.id == "hardware.xid"] == ["skip"]


def test_a_gpu_that_is_lost() -> None:
    said_elsewhere(logged("79, GPU has fallen off the bus.", REBOOT_WANTED), "hardware.gpu_healthy")


def test_a_recovery_that_nvml_tells_of() -> None:
    said_elsewhere(logged(GSP, node=healthy.of_gpu(NODE, 3, recovery=1), old_driver=False), "hardware.recovery")


def test_memory_errors_that_nvml_counts() -> None:
    node = healthy.of_gpu(NODE, 3, ecc_volatile=1)
    said_elsewhere(logged("48, DBE", "63, Row Remapper", "94, Contained", node=node), "hardware.memory")


def test_a_row_that_waits_hides_no_contained_error() -> None:
    """What is informational must not turn a finding into a skip, which would take gold away."""
    node = healthy.of_gpu(NODE, 3, remapped=RemappedRows(0, 1, pending=True, failed=False))
    found = judged(logged("94, Contained", node=node))
    assert found.golden
    assert len(found.not_proven) == 2


def test_a_gpu_that_did_not_start_beside_others() -> None:
    answer = NODE.nvml.value
    assert answer is not None
    answer = dataclasses.replace(answer, gpus=tuple(gpu for gpu in answer.gpus if gpu.index != 3))
    evidence = healthy.known(NODE, nvml=answer)
    log = kernel_log.parse("NVRM: Xid (PCI:%s): 143, GPU init\n" % GPU[:-2])
    said_elsewhere(dataclasses.replace(evidence, kernel_log=log), "hardware.gpu_healthy")


def test_where_no_gpu_started_the_driver_is_at_fault_and_not_the_card() -> None:
    evidence = healthy.known(NODE, nvml=GpuTool(), smi=GpuTool())
    log = kernel_log.parse("NVRM: Xid (PCI:%s): 143, GPU init\n" % GPU[:-2])
    found = judged(dataclasses.replace(evidence, kernel_log=log))
    assert found.first_broken == "host_driver"
    assert "see host_driver.nvml" in next(f.actual for f in found.findings if f.id == "hardware.xid")


def test_another_driver_than_the_locks_may_be_at_fault() -> None:
    evidence = healthy.known(logged(GSP), driver=DriverLoaded("580.126.09", "open"))
    found = judged(evidence)
    assert found.first_broken == "host_driver"
    assert [f.status for f in found.findings if f.id == "hardware.xid"] == ["skip"]


def test_a_log_that_cannot_be_read_is_said_once_and_takes_no_gold() -> None:
    found = judged(healthy.unreadable(NODE, "kernel_log"))
    assert found.golden
    assert found.not_proven == ("hardware.gpu_healthy: Errors of the GPUs (Xid) were not looked for.",)


def test_a_gpu_that_is_set_aside_for_a_virtual_machine_is_none_of_ours() -> None:
    pci = NODE.pci.value or ()
    guest = dataclasses.replace(pci[0], address="0000:f1:00.0", driver="vfio-pci")
    evidence = healthy.known(logged(GSP, gpu="0000:f1:00.0"), pci=(*pci, guest))
    assert judged(evidence).golden


def test_an_xid_160_is_no_lost_gpu() -> None:
    (finding,) = judged(logged("160, x")).broken
    assert finding.id == "hardware.xid"
    assert "no longer answers" not in finding.cause
