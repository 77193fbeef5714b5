# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A card that hands or a power cycle must mend, and words of the tools that once stayed without a cause and a fix."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    CudaInit,
    DriverLoaded,
    Evidence,
    Finding,
    Gpu,
    GpuTool,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import kernel_log, nvidia_smi
from ansible_collections.goldennode.gpu.tests.unit import healthy

NODE = healthy.evidence("a10")
EIGHT_WANTED = healthy.desired("h100x8")
EIGHT = healthy.evidence("h100x8", EIGHT_WANTED)
ADDRESS = healthy.address(0)
ROW = "0, %s, NVIDIA A10, 00000000:17:00.0, %s\n" % (healthy.uuid(0), healthy.DRIVER)

POWER = (
    "NVRM: GPU {0}: GPU does not have the necessary power cables connected.\n"
    "NVRM: GPU {0}: RmInitAdapter failed! (0x24:0x1c:1435)\n"
)
WPR2 = (
    "NVRM: GPU0 _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP\n"
    "NVRM: GPU0 _kgspBootGspRm: (the GPU is likely in a bad state and may need to be reset)\n"
    "NVRM: GPU0 RmInitAdapter: Cannot initialize GSP firmware RM\n"
    "NVRM: GPU {0}: RmInitAdapter failed! (0x62:0x40:2168)\n"
)
GFW = (
    "NVRM: gpuWaitForGfwBootComplete_TU102: failed to wait for GFW_BOOT: (progress 0x0)\n"
    "NVRM: kgspWaitForGfwBootOk_TU102: failed to wait for GFW boot complete: 0x65 VBIOS version 95.02.66.00.15\n"
    "NVRM: RmInitAdapter: Cannot initialize GSP firmware RM\n"
    "NVRM: GPU {0}: RmInitAdapter failed! (0x62:0x65:2028)\n"
)
OFF_THE_BUS = (
    "NVRM: The NVIDIA GPU {0}\nNVRM: (PCI ID: 10de:2330) installed in this system has\n"
    "NVRM: fallen off the bus and is not responding to commands.\n"
)


def none_starts(log: str, **fields: t.Any) -> Evidence:
    """The driver is loaded and has no GPU."""
    none = nvidia_smi.query("No devices were found\n", "", 6)
    evidence = healthy.known(NODE, nvml=GpuTool(), cuda=CudaInit(100, "CUDA_ERROR_NO_DEVICE"), **fields)
    return dataclasses.replace(evidence, smi=none, kernel_log=kernel_log.parse(log.format(ADDRESS)))


def one_of_eight(log: str) -> Evidence:
    answer = EIGHT.nvml.value
    assert answer is not None
    answer = dataclasses.replace(answer, gpus=tuple(gpu for gpu in answer.gpus if gpu.index != 3))
    evidence = healthy.known(EIGHT, nvml=answer, smi=answer, cuda=CudaInit(0, devices=7))
    return dataclasses.replace(evidence, kernel_log=kernel_log.parse(log.format(healthy.address(3))))


def hardware(evidence: Evidence, wanted: t.Any = None, gpus: int = 1) -> Finding:
    judged = verdict.run(wanted or healthy.desired(), evidence, gpus)
    (finding,) = judged.broken
    assert (judged.first_broken, finding.id, finding.repair) == ("hardware", "hardware.gpu_healthy", "manual")
    return finding


CARDS = [
    (POWER, "does not start: a power cable of the card is not connected.", "connect every power cable"),
    (WPR2, "does not start: firmware of an earlier start still holds its protected memory (WPR2).", "power off and on"),
    (GFW, "does not start: the firmware of the card itself did not come up (GFW boot).", "power off and on"),
    (OFF_THE_BUS, "is lost: it no longer answers on the PCI bus.", "power-cycle it"),
]


@pytest.mark.parametrize(("log", "cause", "fix"), CARDS)
def test_what_stands_before_rminitadapter_is_the_cause(log: str, cause: str, fix: str) -> None:
    finding = hardware(none_starts(log))
    assert (finding.entity, finding.cause) == (ADDRESS, "GPU %s %s" % (ADDRESS, cause))
    assert fix in finding.fix
    assert "Reboot" not in finding.fix
    assert "RmInitAdapter" not in finding.actual


@pytest.mark.parametrize(("log", "cause", "fix"), CARDS)
def test_the_same_of_one_gpu_among_eight(log: str, cause: str, fix: str) -> None:
    finding = hardware(one_of_eight(log), EIGHT_WANTED, 8)
    assert (finding.entity, finding.cause) == (healthy.address(3), "GPU %s %s" % (healthy.address(3), cause))
    assert fix in finding.fix


def test_a_gpu_that_works_again_is_neither_lost_nor_faulty() -> None:
    """The driver was loaded anew since, and the log of this boot goes on."""
    log = (OFF_THE_BUS + WPR2).format(ADDRESS)
    assert verdict.run(healthy.desired(), dataclasses.replace(NODE, kernel_log=kernel_log.parse(log)), 1).golden


def test_the_fault_of_one_gpu_is_not_laid_on_the_next() -> None:
    """Both fail, and the words that name no GPU stand before the first."""
    other = "NVRM: GPU %s: RmInitAdapter failed! (0x24:0x72:1603)\n" % healthy.address(4)
    answer = EIGHT.nvml.value
    assert answer is not None
    answer = dataclasses.replace(answer, gpus=tuple(gpu for gpu in answer.gpus if gpu.index not in (3, 4)))
    evidence = healthy.known(EIGHT, nvml=answer, smi=answer)
    evidence = dataclasses.replace(evidence, kernel_log=kernel_log.parse(WPR2.format(healthy.address(3)) + other))
    causes = {f.entity: f.cause for f in verdict.run(EIGHT_WANTED, evidence, 8).broken}
    assert "WPR2" in causes[healthy.address(3)]
    assert causes[healthy.address(4)] == "The driver initialised other GPUs, and not GPU %s." % healthy.address(4)


def test_another_driver_than_the_locks_may_be_at_fault_save_for_a_cable() -> None:
    old = DriverLoaded("580.126.09", "open")
    assert verdict.run(healthy.desired(), none_starts(WPR2, driver=old), 1).first_broken == "host_driver"
    assert hardware(none_starts(POWER, driver=old)).entity == ADDRESS


def test_a_cable_that_nvidia_smi_names() -> None:
    words = "Unable to determine the device handle for GPU 0000:17:00.0: GPU does not have the external power cables "
    smi = nvidia_smi.query(words + "attached\n", "", 8)
    finding = hardware(dataclasses.replace(none_starts(""), smi=smi))
    assert finding.entity == ADDRESS
    assert finding.actual == "nvidia-smi: GPU does not have the external power cables attached"


# --- a GPU that computes all the same --------------------------------------------------------------------------------


def test_a_corrupt_inforom_is_said_and_takes_no_gold() -> None:
    smi = nvidia_smi.query(ROW + "WARNING: infoROM is corrupted at gpu 0000:17:00.0\n", "", 14)
    evidence = dataclasses.replace(NODE, smi=smi)
    judged = verdict.run(healthy.desired(), evidence, 1)
    assert judged.golden
    cause = "nvidia-smi warns of GPU 0000:17:00.0, which computes all the same: infoROM is corrupted."
    assert judged.not_proven == ("hardware.gpu_healthy: %s" % cause,)
    assert verdict.refusals(healthy.desired(), evidence, 1) == ()


# --- words of the tools ----------------------------------------------------------------------------------------------


def smi_says(stdout: str, stderr: str, rc: int) -> Finding:
    judged = verdict.run(healthy.desired(), dataclasses.replace(NODE, smi=nvidia_smi.query(stdout, stderr, rc)), 1)
    assert not judged.golden
    (finding,) = judged.broken
    assert (finding.id, finding.status) == ("host_driver.nvidia_smi", "fail")
    assert finding.cause
    assert finding.fix
    return finding


IRQ = """Unable to determine the device handle for GPU 0000:17:00.0: The NVIDIA kernel
module detected an issue with GPU interrupts.Consult the "Common Problems"
Chapter of the NVIDIA Driver README for
details and steps that can be taken to resolve this issue.
"""


@pytest.mark.parametrize(
    ("stdout", "stderr", "rc", "cause", "repair"),
    [
        ("Failed to initialize NVML: Unknown Error\n", "", 255, "the driver gives no reason.", "manual"),
        ("Failed to initialize NVML: Function Not Found\n", "", 13, "it is newer than the libnvidia-ml.so.1", "manual"),
        (IRQ, "", 10, "the interrupts of the GPU do not reach the driver.", "manual"),
        ("", "modprobe: FATAL: Module nvidia not found.\n", 9, "it reaches no driver", "roles"),
        ("0, ERR!, ERR!, 00000000:17:00.0, 580.159.03\n", "", 0, "it could not read the GPU.", "manual"),
        (ROW.replace(healthy.uuid(0), "[N/A]"), "", 0, "it could not read the GPU.", "manual"),
        (ROW.replace(healthy.uuid(0), "[GPU requires reset]"), "", 0, "takes no work before it is reset.", "reboot"),
        (ROW.replace(healthy.uuid(0), "[Unknown Error]"), "", 0, "the driver gives no reason.", "manual"),
    ],
)
def test_words_of_nvidia_smi_have_a_cause_and_a_fix(stdout: str, stderr: str, rc: int, cause: str, repair: str) -> None:
    finding = smi_says(stdout, stderr, rc)
    assert cause in finding.cause
    assert finding.repair == repair


def test_a_gpu_that_must_be_reset_is_reset_or_the_node_rebooted() -> None:
    tool = GpuTool(healthy.DRIVER, "13.0", (Gpu(0, None, None, ADDRESS, "GPU requires reset"),))
    judged = verdict.run(healthy.desired(), healthy.known(NODE, smi=tool, nvml=tool), 1)
    assert {(f.id, f.repair) for f in judged.broken} == {
        ("host_driver.nvidia_smi", "reboot"),
        ("host_driver.nvml", "reboot"),
    }
    assert "nvidia-smi --gpu-reset" in judged.broken[0].fix


def test_an_unknown_error_is_not_told_before_device_nodes_that_are_wrong() -> None:
    nodes = tuple(node for node in NODE.device_nodes.value or () if node.path != "/dev/nvidia0")
    smi = nvidia_smi.query("Failed to initialize NVML: Unknown Error\n", "", 255)
    judged = verdict.run(healthy.desired(), dataclasses.replace(healthy.known(NODE, device_nodes=nodes), smi=smi), 1)
    assert judged.first_broken == "device_nodes"


def test_an_unknown_error_of_a_gpu_is_told_with_what_the_log_has_of_it() -> None:
    tool = GpuTool(healthy.DRIVER, "13.0", (Gpu(0, None, None, ADDRESS, "Unknown Error"),))
    log = ("NVRM: GPU %s: RmInitAdapter failed! (0x24:0x72:1603)" % ADDRESS,)
    judged = verdict.run(healthy.desired(), healthy.known(NODE, nvml=tool, kernel_log=log), 1)
    assert log[0] in judged.broken[0].cause
