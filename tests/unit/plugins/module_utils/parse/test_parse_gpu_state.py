# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a GPU as the child printed it, words of sysfs about a link, and Xids of the kernel's log."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import GpuState, MigDevice, Reading, to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import gpu_state, kernel_log, pcie, sxid, xid
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import from_plain
from ansible_collections.goldennode.gpu.tests.unit import healthy


def state(**line: t.Any) -> GpuState:
    return gpu_state.states([{"state": 0, **line}])[0]


@pytest.mark.parametrize("code", [3, 13, 22, 26])
def test_what_a_card_or_a_driver_does_not_have_is_known(code: int) -> None:
    assert state(of="remapped", error="Not Supported", code=code).remapped == Reading(None)


@pytest.mark.parametrize("code", [4, 15, 999, None, "x"])
def test_any_other_error_is_unknown(code: t.Any) -> None:
    assert state(of="ecc_volatile", error="E", code=code).ecc_volatile.error == "NVML: E (code %s)" % code


def test_only_an_unknown_field_may_be_an_invalid_argument() -> None:
    assert state(of="recovery", error="Invalid Argument", code=2).recovery == Reading(None)
    assert state(of="persistence", error="Invalid Argument", code=2).persistence.value is None
    assert not state(of="persistence", error="Invalid Argument", code=2).persistence.known


@pytest.mark.parametrize(
    ("of", "value"),
    [
        ("mig", [0]),
        ("mig", [2, 0]),
        ("ecc_volatile", "3"),
        ("remapped", [0, 0, 0]),
        ("fabric", {"state": 3}),
        ("processes", [{"pid": "x", "name": None, "memory": None}]),
        ("pcie", None),
        ("utilization", 2**70),
    ],
)
def test_an_answer_that_is_not_understood_is_unknown(of: str, value: t.Any) -> None:
    reading = getattr(state(of=of, value=value), of)
    assert reading.error == "NVML's answer is not understood: %s" % str(value)[:100]


UUID = "MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f"


def test_mig_devices_are_counted_and_named() -> None:
    told = state(of="mig_devices", value=[[7, 0, 0, UUID], [7, 1, 2, UUID]])
    assert (told.gpu_instances.value, told.compute_instances.value) == (1, 2)
    assert told.mig_devices.value == (MigDevice(0, UUID), MigDevice(2, UUID))


@pytest.mark.parametrize("value", [[[7, 0]], [[7, 0, 0, "MIG-GPU-5c89852c/7/0"]], [[7, 0, "0", UUID]]])
def test_mig_devices_without_names_are_counted(value: t.Any) -> None:
    """Drivers before 470 name none by a UUID of its own, and older looks did not ask."""
    told = state(of="mig_devices", value=value)
    assert told.compute_instances.value == 1
    assert told.mig_devices.error is not None
    assert told.mig_devices.error.startswith("NVML's answer is not understood: [[7, 0")


def test_a_question_that_was_not_asked_is_not_read() -> None:
    assert state(of="mig", value=[0, 0]).recovery.error == "not read in this look"


def test_the_state_of_a_gpu_comes_through_json() -> None:
    full = healthy.state(nvlink=True)
    assert from_plain(GpuState, to_plain(full)) == full


@pytest.mark.parametrize(
    ("bits", "names"),
    [
        (0, []),
        (0x1, ["idle"]),
        (0x48, ["hardware slowdown", "hardware thermal slowdown"]),
        (0x1004, ["power limit", "0x1000"]),
    ],
)
def test_reasons_for_lower_clocks_have_names(bits: int, names: t.List[str]) -> None:
    assert gpu_state.clock_events(bits) == names


@pytest.mark.parametrize(
    ("text", "generation"),
    [
        ("2.5 GT/s PCIe\n", 1),
        ("8 GT/s", 3),
        ("16.0 GT/s PCIe\n", 4),
        ("64.0 GT/s PCIe", 6),
        ("Unknown\n", None),
        ("", None),
    ],
)
def test_the_speed_of_a_link(text: str, generation: t.Optional[int]) -> None:
    assert pcie.generation(text) == generation


@pytest.mark.parametrize(("text", "lanes"), [("16\n", 16), ("255\n", None), ("0\n", None), ("x", None)])
def test_the_width_of_a_link(text: str, lanes: t.Optional[int]) -> None:
    assert pcie.lanes(text) == lanes


# --- Xids: lines of public issues, cut off ---------------------------------------------------------------------------

LINES = [
    # leptonai/gpud#46, akash-network/support#244, leptonai/gpud#1174, NVIDIA/open-gpu-kernel-modules#1150
    ("Xid (PCI:0000:cb:00): 109, pid=1797828, name=pt_main_thread, Ch 8", "0000:cb:00.0", 109, xid.RESET),
    ("Xid (PCI:0000:00:05): 43, pid=1045242, name=pt_main_thread, Ch 00000008", "0000:00:05.0", 43, xid.APP),
    ("Xid (PCI:0000:00:08): 94, pid='<unknown>', name=<unknown>, Cont", "0000:00:08.0", 94, xid.CONTAINED),
    ("Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000)", "0019:01:00.0", 149, xid.RESET),
    ("Xid (PCI:0018:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13", "0018:01:00.0", 145, xid.IGNORE),
    ("Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, caused by previous Xid 149", "0000:dc:00.0", 45, xid.APP),
    # NVIDIA's guide to memory errors (a100-gpu-mem-error-mgmt), with MIG
    ("Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel", "0000:01:00.0", 94, xid.CONTAINED),
    # Bumblebee-Project/Bumblebee#677
    ("Xid (PCI:0000:01:00): 32, Channel ID 00000000 intr 00004000", "0000:01:00.0", 32, xid.APP),
]  # fmt: skip


@pytest.mark.parametrize(("line", "gpu", "number", "bucket"), LINES)
def test_an_xid_has_a_gpu_a_number_and_a_meaning(line: str, gpu: str, number: int, bucket: str) -> None:
    log = kernel_log.parse("[ 12.3] NVRM: %s\n" % line).value
    assert log is not None
    (found,) = xid.parse(log).value or ()
    assert (found.gpu, found.number) == (gpu, number)
    assert found.meaning is not None
    assert found.meaning.bucket == bucket
    assert found.text
    assert line.endswith(found.text)


@pytest.mark.parametrize(
    ("words", "action"),
    [
        ("from 0x0 (None) to 0x2 (Node Reboot Required)", 2),
        ("from 0x0 (None) to 0x1 (GPU Reset Required)", 1),
        ("from 0x0 (None) to 0x1 (PF FLR)", 1),
        ("from 0x4 (Drain and Reset) to 0x0 (None)", 0),
        ("from here to there", None),
    ],
)
def test_an_xid_154_names_the_action(words: str, action: t.Optional[int]) -> None:
    line = "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed %s" % words
    assert [one.recovery for one in xid.parse((line,)).value or ()] == [action]


def test_what_is_no_xid_is_left_out_and_a_number_that_is_new_has_no_meaning() -> None:
    lines = ("NVRM: Xid error: xyz", "NVRM: Xid (PCI:0000:66:00): abc", "NVRM: Xid (PCI:0000:66:00): 999, x")
    (found,) = xid.parse(lines).value or ()
    assert (found.meaning, found.label) == (None, "Xid 999 (not in NVIDIA's table as we know it)")


@pytest.mark.parametrize(
    ("bucket", "numbers"),
    [
        (xid.IGNORE, (63, 92)),
        (xid.APP, (13, 31, 43, 45)),
        (xid.CONTAINED, (94,)),
        (xid.RESET, (46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158)),
        (xid.WORKFLOW, (48, 74)),
        (xid.POWER, (79,)),
        (xid.REBOOT, (160,)),
    ],
)
def test_what_an_xid_asks_for(bucket: str, numbers: t.Sequence[int]) -> None:
    assert {number: xid.TABLE[number].bucket for number in numbers} == dict.fromkeys(numbers, bucket)


# --- SXids: lines of public repositories (leptonai/gpud, NVIDIA/NVSentinel) -------------------------------------------

SXIDS = [
    ("SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)", 24007, True),
    ("SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)", 12028, False),
    ("SXid (PCI:0000:00:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", 20034, True),
]


@pytest.mark.parametrize(("line", "number", "fatal"), SXIDS)
def test_an_sxid_has_a_switch_a_number_and_says_whether_it_is_fatal(line: str, number: int, fatal: bool) -> None:
    log = kernel_log.parse("[ 1108.858286] nvidia-nvswitch0: %s\n" % line).value
    assert log is not None
    (found,) = sxid.parse(log).value or ()
    assert (found.switch, found.number, found.fatal) == (line[10:22], number, fatal)
    assert line.endswith(found.text)
    assert xid.parse(log).value == ()


def test_the_second_line_of_an_sxid_and_an_xid_are_none() -> None:
    lines = (
        "nvidia-nvswitch3: SXid (PCI:0000:08:00.0): 22013, Severity 0 Engine instance 60 Sub-engine instance 00",
        "NVRM: Xid (PCI:0000:08:00): 79, GPU has fallen off the bus.",
    )
    assert sxid.parse(lines).value == ()
