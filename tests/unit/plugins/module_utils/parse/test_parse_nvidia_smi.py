# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nvidia-smi: values count, return codes prove nothing (cases 001, 002, 004, 007, 014, 027, 056)."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Gpu, GpuTool
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import nvidia_smi
from ansible_collections.goldennode.gpu.tests.unit import fixtures

UUIDS = ["GPU-0000000%d-1111-2222-3333-444444444444" % index for index in range(3)]
NO_HANDLE = "Unable to determine the device handle for "
ROWS = ["%d, %s, NVIDIA H100 80GB HBM3, 00000000:%X:00.0, 580.159.03" % (i, u, 0x1B + i) for i, u in enumerate(UUIDS)]


def test_every_gpu_with_its_address_as_the_kernel_writes_it():
    answer = nvidia_smi.query("\n".join(ROWS) + "\n", "", 0)
    assert answer.error is None
    assert answer.value.driver == "580.159.03"
    assert [gpu.uuid for gpu in answer.value.gpus] == UUIDS
    assert answer.value.gpus[0].pci_address == "0000:1b:00.0"
    assert answer.value.gpus[0].name == "NVIDIA H100 80GB HBM3"


def test_a_domain_that_is_not_zero():
    row = "0, %s, NVIDIA GB10, 0000000F:01:00.0, 580.95.05\n" % UUIDS[0]
    assert nvidia_smi.query(row, "", 0).value.gpus[0].pci_address == "000f:01:00.0"


def test_a_lost_gpu_is_printed_with_code_0():
    lost = "[GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]"
    answer = nvidia_smi.query("\n".join([ROWS[0], lost, ROWS[2]]), "", 0)
    assert answer.value.gpus[1] == Gpu(index=1, error="GPU is lost")
    assert [gpu.error for gpu in answer.value.gpus] == [None, "GPU is lost", None]
    assert answer.value.driver == "580.159.03"


def test_what_is_no_uuid_makes_no_gpu_that_answers():
    answer = nvidia_smi.query("0, ERR!, ERR!, 00000000:17:00.0, 580.159.03\n", "", 0)
    assert answer.value.gpus == (Gpu(0, pci_address="0000:17:00.0", error="ERR!"),)


@pytest.mark.parametrize(
    ("uuid", "error"),
    [
        ("ERR!", "ERR!"),
        ("[Unknown Error]", "Unknown Error"),
        ("[GPU requires reset]", "GPU requires reset"),
        ("Unknown Error", "Unknown Error"),
        ("[N/A]", "no UUID but [N/A]"),
        ("GPU-1", "no UUID but GPU-1"),
    ],
)
def test_a_word_in_place_of_the_uuid_is_an_error(uuid, error):
    row = "0, %s, NVIDIA A10, 00000000:17:00.0, 580.159.03\n" % uuid
    assert nvidia_smi.query(row, "", 0).value.gpus == (Gpu(0, None, "NVIDIA A10", "0000:17:00.0", error),)
    listed = nvidia_smi.listing("GPU 0: NVIDIA A10 (UUID: %s)\n" % uuid, "", 0).value.gpus
    assert (listed[0].uuid, bool(listed[0].error)) == (None, True)


@pytest.mark.parametrize(
    ("stdout", "stderr"),
    [
        (ROWS[0] + "\n" + ROWS[1] + "\nWARNING: infoROM is corrupted at gpu 0000:1C:00.0\n", ""),
        (ROWS[0] + "\n" + ROWS[1] + "\n", "WARNING: infoROM is corrupted at gpu 0000:1C:00.0\n"),
    ],
)
def test_a_corrupt_inforom_does_not_make_good_rows_unknown(stdout, stderr):
    answer = nvidia_smi.query(stdout, stderr, 14)
    assert [(gpu.error, gpu.warning) for gpu in answer.value.gpus] == [(None, None), (None, "infoROM is corrupted")]


@pytest.mark.parametrize("stderr", ["", "WARNING: infoROM is corrupted\n"])
def test_a_corrupt_inforom_of_a_gpu_that_is_not_named(stderr):
    (gpu,) = nvidia_smi.query(ROWS[0] + "\n", stderr, 14).value.gpus
    assert gpu.warning == "infoROM is corrupted"
    both = nvidia_smi.query("\n".join(ROWS[:2]), stderr, 14).value.gpus
    assert {gpu.warning for gpu in both} == {"infoROM is corrupted, of this GPU or another"}


def test_words_about_a_gpu_are_put_together_again_where_they_are_wrapped():
    text = (
        NO_HANDLE + "GPU 0000:C3:00.0: The NVIDIA kernel\n"
        'module detected an issue with GPU interrupts.Consult the "Common Problems"\n'
        "Chapter of the NVIDIA Driver README for\ndetails and steps that can be taken to resolve this issue.\n"
        + ROWS[1]
        + "\n"
    )
    first, second = nvidia_smi.query(text, "", 10).value.gpus
    assert first.error.startswith("The NVIDIA kernel module detected an issue with GPU interrupts.Consult")
    assert (first.pci_address, second.uuid) == ("0000:c3:00.0", UUIDS[1])


def test_a_value_that_is_not_offered_is_no_fault():
    answer = nvidia_smi.query("0, %s, [N/A], 00000000:01:00.0, 580.95.05\n" % UUIDS[0], "", 0)
    assert answer.value.gpus == (Gpu(index=0, uuid=UUIDS[0], pci_address="0000:01:00.0"),)


@pytest.mark.parametrize(
    ("line", "gpu"),
    [
        (
            NO_HANDLE + "GPU0000:C3:00.0: GPU is lost.  Reboot the system to recover this GPU",
            Gpu(-1, pci_address="0000:c3:00.0", error="GPU is lost.  Reboot the system to recover this GPU"),
        ),
        (
            NO_HANDLE + "gpu 0000:C3:00.0: Unknown Error",
            Gpu(-1, pci_address="0000:c3:00.0", error="Unknown Error"),
        ),
        (
            NO_HANDLE + "GPU3: 000F:61:00.0: Unknown Error",
            Gpu(3, pci_address="000f:61:00.0", error="Unknown Error"),
        ),
    ],
)
def test_a_gpu_without_handle(line, gpu):
    assert nvidia_smi.query(line + "\n", "", 255).value == GpuTool(gpus=(gpu,))


@pytest.mark.parametrize(
    ("stdout", "stderr", "rc", "why"),
    [
        (
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.124\n",
            "",
            18,
            "nvidia-smi ended with code 18: Failed to initialize NVML: Driver/library version mismatch",
        ),
        (
            "",
            "modprobe: FATAL: Module nvidia not found.\n",
            9,
            "nvidia-smi ended with code 9: modprobe: FATAL: Module nvidia not found.",
        ),
        (
            "Failed to initialize NVML: GPU access blocked by the operating system\n",
            "",
            17,
            "nvidia-smi ended with code 17: Failed to initialize NVML: GPU access blocked by the operating system",
        ),
        ("", "", 0, "nvidia-smi ended with code 0: it said nothing"),
        ("", "", None, "nvidia-smi ended with code None: it said nothing"),
        ("something new\n", "", 0, "nvidia-smi printed a line that is not understood: something new"),
        (ROWS[0], "something broke", 15, "nvidia-smi ended with code 15: something broke"),
    ],
)
def test_a_failure_is_unknown_with_the_tools_own_words_and_never_0_gpus(stdout, stderr, rc, why):
    answer = nvidia_smi.query(stdout, stderr, rc)
    assert answer.value is None
    assert answer.error == why


@pytest.mark.parametrize(
    ("parser", "text", "rc"), [("query", "No devices were found", 6), ("listing", "No devices found.", 0)]
)
def test_no_gpu_is_an_answer(parser, text, rc):
    assert getattr(nvidia_smi, parser)(text + "\n", "", rc).value == GpuTool()


def test_two_driver_versions_are_not_one():
    answer = nvidia_smi.query(ROWS[0] + "\n" + ROWS[1].replace("580.159.03", "580.95.05"), "", 0)
    assert answer.error == "nvidia-smi names several driver versions: 580.159.03, 580.95.05"


# From NVIDIA's MIG user guide (mig-device-names); nvidia-smi 550.163.01 has two blanks behind Device.
MIG_LISTED = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-c08d91cb-e324-655c-71ba-7570956445bc)
  MIG 1c.3g.40gb  Device  0: (UUID: MIG-c788539f-c1ea-5a36-8b4d-9b07d024b1bb)
  MIG 1c.3g.40gb Device 1: (UUID: MIG-405bbda1-6b05-535f-9702-f95e8cd170ce)
"""


def test_the_mig_devices_of_a_list():
    assert nvidia_smi.mig_devices(MIG_LISTED, 0).value == (
        "MIG-c788539f-c1ea-5a36-8b4d-9b07d024b1bb",
        "MIG-405bbda1-6b05-535f-9702-f95e8cd170ce",
    )
    assert nvidia_smi.mig_devices(MIG_LISTED.splitlines()[0], 0).value == ()
    assert nvidia_smi.mig_devices("", 0).value == ()


@pytest.mark.parametrize(
    ("text", "rc", "error"),
    [
        (MIG_LISTED, 255, "nvidia-smi -L ended with code 255: GPU 0: NVIDIA H100 80GB HBM3"),
        ("  MIG 1g.5gb Device 0: (UUID: Unknown Error)", 0, "nvidia-smi printed a line that is not understood: MIG 1g"),
        ("  MIG something new", 0, "nvidia-smi printed a line that is not understood: MIG something new"),
    ],
)
def test_mig_devices_that_cannot_be_listed_are_not_absent(text, rc, error):
    assert nvidia_smi.mig_devices(text, rc).error.startswith(error)


def test_the_list_goes_on_behind_a_broken_gpu_and_counts_no_mig_device():
    answer = nvidia_smi.listing(
        "GPU 0: NVIDIA A30 (UUID: %s)\n"
        "  MIG 1g.6gb      Device  0: (UUID: MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f)\n"
        "Unable to determine the device handle for gpu 0000:61:00.0: Unknown Error\n"
        "GPU 2: NVIDIA A30 (UUID: %s)\n" % (UUIDS[0], UUIDS[2]),
        "",
        15,
    )
    assert [(gpu.index, gpu.uuid, gpu.error) for gpu in answer.value.gpus] == [
        (0, UUIDS[0], None),
        (-1, None, "Unknown Error"),
        (2, UUIDS[2], None),
    ]


@pytest.mark.parametrize(
    ("banner", "driver", "cuda"),
    [
        (
            "| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |",
            "550.90.07",
            "12.4",
        ),
        (
            "| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02     CUDA UMD Version: 13.3     |",
            "610.43.02",
            "13.3",
        ),
        (
            "| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: N/A      |",
            "550.90.07",
            None,
        ),
        (fixtures.text("nvidia_smi-table-580.159.03-debian13.txt"), "580.159.03", "13.0"),
    ],
)
def test_the_banner_before_and_since_610(banner, driver, cuda):
    assert nvidia_smi.banner(banner, "", 0).value == GpuTool(driver=driver, cuda=cuda)


def test_no_banner_is_unknown():
    assert nvidia_smi.banner("", "Failed to initialize NVML: Unknown Error", 255).error == (
        "nvidia-smi ended with code 255: Failed to initialize NVML: Unknown Error"
    )
