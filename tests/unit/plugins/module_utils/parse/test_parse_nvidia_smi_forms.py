# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The other forms of nvidia-smi: the XML of -q -x, and the table for people before and since driver 610."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    Fabric,
    Gpu,
    GpuMode,
    GpuProcess,
    GpuState,
    PcieLink,
    Reading,
    RemappedRows,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import nvidia_smi_banner, nvidia_smi_xml
from ansible_collections.goldennode.gpu.tests.unit import fixtures

A100 = fixtures.text("nvidia_smi_xml-535.54.03-a100-mig.xml")
PRO6000 = fixtures.text("nvidia_smi_xml-590.44.01-rtxpro6000.xml")
TABLE = fixtures.text("nvidia_smi-table-580.159.03-debian13.txt")

#: The head and one GPU as driver 610 prints them, from public notes of the project opticks.
TABLE_610 = """
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02     CUDA UMD Version: 13.3     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA RTX 5000 Ada Gene...    Off |   00000000:AC:00.0  On |                  Off |
| 30%   41C    P8             16W /  250W |     579MiB /  32760MiB |      3%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+
"""


def xml_of(text: str) -> t.Tuple[Gpu, GpuState]:
    tool = nvidia_smi_xml.parse(text).value
    assert tool is not None
    (gpu,) = tool.gpus
    assert gpu.state is not None
    return gpu, gpu.state


def test_an_a100_in_mig_mode_with_four_instances() -> None:
    gpu, state = xml_of(A100)
    assert (gpu.uuid, gpu.pci_address) == ("GPU-513536b6-7d19-9063-b049-1e69664bb298", "0000:01:00.0")
    assert (gpu.name, gpu.error) == ("NVIDIA A100-SXM4-80GB", None)
    assert state.mig.value == GpuMode(True, True)
    assert (state.gpu_instances.value, state.compute_instances.value) == (4, 4)
    assert (state.ecc.value, state.ecc_volatile.value) == (GpuMode(True, True), 0)
    assert state.persistence.value is False
    assert state.pcie.value == PcieLink(4, 4, 16, 16)
    assert state.clock_events.value == 0
    assert state.processes.value == ()
    # Not told in MIG mode, or not by this driver, which is an answer.
    for name in ("remapped", "recovery", "fabric", "utilization", "retired_pending"):
        assert getattr(state, name) == Reading(None), name


def test_a_workstation_gpu_of_another_version_with_its_ecc_off() -> None:
    tool = nvidia_smi_xml.parse(PRO6000).value
    assert tool is not None
    assert (tool.driver, tool.cuda) == ("590.44.01", "13.1")
    _gpu, state = xml_of(PRO6000)
    assert (state.recovery.value, state.utilization.value) == (0, 0)
    assert state.remapped.value == RemappedRows(0, 0, pending=False, failed=False)
    assert state.pcie.value == PcieLink(1, 4, 16, 16)
    assert (state.ecc.value, state.ecc_volatile, state.mig) == (GpuMode(False, False), Reading(None), Reading(None))


def test_what_a_gpu_that_is_not_well_says() -> None:
    text = PRO6000
    for old, new in (
        ("action>None<", "action>Drain and Reset<"),
        ("pending>No<", "pending>Yes<"),
        ("parity>N/A<", "parity>2<"),
        ("<dram_uncorrectable>N/A<", "<dram_uncorrectable>32<"),
        ("<state>N/A<", "<state>In Progress<"),
        ("hw_slowdown>Not Active<", "hw_slowdown>Active<"),
    ):
        assert old in text
        text = text.replace(old, new)
    process = (
        "<processes><process_info><pid>456</pid><type>C</type><process_name>/usr/bin/python3 --token x</process_name>"
        "<used_memory>2 MiB</used_memory></process_info></processes></gpu>"
    )
    _gpu, state = xml_of(text.replace("</gpu>", process))
    assert (state.recovery.value, state.ecc_volatile.value) == (4, 34)
    assert state.remapped.value == RemappedRows(0, 0, pending=True, failed=False)
    assert state.fabric.value == Fabric(2)
    assert state.clock_events.value == 0x8
    assert state.processes.value == (GpuProcess(456, "python3", 2 * 1024 * 1024),)


def test_a_word_that_is_not_known_makes_that_reading_unknown_and_no_other() -> None:
    _gpu, state = xml_of(PRO6000.replace("action>None<", "action>Pray<"))
    assert state.recovery.error == "nvidia-smi says Pray"
    assert state.persistence.value is True


def test_a_gpu_that_is_lost_has_an_error_and_no_state() -> None:
    text = PRO6000.replace("GPU-12345678-aaaa-bbbb-cccc-0123456789ab", "GPU is lost")
    tool = nvidia_smi_xml.parse(text).value
    assert tool is not None
    assert [(gpu.error, gpu.uuid, gpu.state) for gpu in tool.gpus] == [("GPU is lost", None, None)]


BOMB = (
    '<!DOCTYPE nvidia_smi_log [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    "<nvidia_smi_log><gpu><uuid>&b;</uuid></gpu></nvidia_smi_log>"
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BOMB, "nvidia-smi's XML is not read: it declares an entity"),
        (
            '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><nvidia_smi_log>&f;</nvidia_smi_log>',
            "nvidia-smi's XML is not read: it declares an entity",
        ),
        (
            "<nvidia_smi_log>&f;</nvidia_smi_log>",
            "nvidia-smi's XML cannot be read: undefined entity: line 1, column 16",
        ),
        ("<html/>", "nvidia-smi's XML is not read: its root is html and not nvidia_smi_log"),
        ("<a>" * 5000, "nvidia-smi's XML is not read: it has too many elements, or too deep ones"),
        (" " * 9_000_000, "nvidia-smi's XML is not read: it is longer than 8388608 characters"),
        ("", "nvidia-smi's XML cannot be read: no element found: line 1, column 0"),
    ],
)
def test_hostile_and_foreign_text_is_not_read(text: str, why: str) -> None:
    reading = nvidia_smi_xml.parse(text)
    assert (reading.value, reading.error) == (None, why)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_xml_that_is_cut_off_is_unknown(part: float) -> None:
    assert "nvidia-smi's XML cannot be read: " in str(nvidia_smi_xml.parse(A100[: int(len(A100) * part)]).error)


# --- the table -------------------------------------------------------------------------------------------------------


def test_the_table_tells_versions_and_gpus() -> None:
    tool = nvidia_smi_banner.parse(TABLE, "", 0).value
    assert tool is not None
    assert (tool.driver, tool.cuda) == ("580.159.03", "13.0")
    (gpu,) = tool.gpus
    assert (gpu.index, gpu.name, gpu.pci_address, gpu.error) == (0, "NVIDIA A10", "0000:17:00.0", None)
    assert gpu.state is not None
    assert (gpu.state.persistence.value, gpu.state.ecc_volatile.value, gpu.state.mig) == (True, 0, Reading(None))


def test_the_table_since_610() -> None:
    tool = nvidia_smi_banner.parse(TABLE_610, "", 0).value
    assert tool is not None
    assert (tool.driver, tool.cuda) == ("610.43.02", "13.3")
    (gpu,) = tool.gpus
    assert (gpu.name, gpu.pci_address) == ("NVIDIA RTX 5000 Ada Gene...", "0000:ac:00.0")
    assert gpu.state is not None
    assert (gpu.state.persistence.value, gpu.state.ecc_volatile) == (False, Reading(None))


@pytest.mark.parametrize(
    ("word", "mode"),
    [("Enabled", GpuMode(True, True)), ("Disabled", GpuMode(False, False)), ("Disabled*", GpuMode(False, True))],
)
def test_the_table_tells_the_mig_mode(word: str, mode: GpuMode) -> None:
    text = TABLE.replace("|                  N/A |", "| %20s |" % word)
    tool = nvidia_smi_banner.parse(text, "", 0).value
    assert tool is not None
    assert tool.gpus[0].state is not None
    assert tool.gpus[0].state.mig.value == mode


def test_a_gpu_of_the_table_that_cannot_be_read() -> None:
    tool = nvidia_smi_banner.parse(TABLE.replace("NVIDIA A10", "ERR!      "), "", 0).value
    assert tool is not None
    assert (tool.gpus[0].error, tool.gpus[0].state) == ("ERR!", None)


def test_no_table_is_unknown_with_the_words() -> None:
    reading = nvidia_smi_banner.parse("", "Failed to initialize NVML: Unknown Error", 255)
    assert reading.error == "nvidia-smi ended with code 255: Failed to initialize NVML: Unknown Error"
