# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A GPU's generation by its PCI id, and the drivers that cannot drive it; what is not known is never refused."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import generations


@pytest.mark.parametrize(
    ("device", "generation"),
    [
        ("05e7", "tesla"),  # Tesla C1060
        ("06d1", "fermi"),  # Tesla C2050
        ("1091", "fermi"),  # Tesla M2090
        ("118f", "kepler"),  # Tesla K10
        ("1023", "kepler"),  # Tesla K40m
        ("102d", "kepler"),  # Tesla K80
        ("1bb3", "pascal"),  # Tesla P4
        ("1340", "maxwell"),
        ("1db6", "volta"),
        ("1eb8", "turing"),  # T4
        ("20b2", "ampere"),  # A100
        ("20f1", "ampere"),
        ("2236", "ampere"),  # A10
        ("2330", "hopper"),
        ("2331", "hopper"),
        ("2321", "hopper"),
        ("2335", "hopper"),  # H200
        ("2342", "grace_hopper"),
        ("2348", "grace_hopper"),
        ("26b9", "ada"),  # L40S
        ("27b8", "ada"),  # L4
        ("2901", "blackwell"),
        ("2941", "blackwell"),  # GB200
        ("3182", "blackwell"),  # B300
        ("31c2", "blackwell"),  # GB300
        ("2bb5", "blackwell"),  # RTX PRO 6000
        ("2e12", "blackwell"),  # GB10
        ("3000", "rubin"),
        ("0x2330", "hopper"),
        ("2330".upper(), "hopper"),
        ("2f95", None),  # Vera CPU
        ("2f80", None),  # audio
        ("1af1", None),  # NVSwitch
        ("22a3", None),  # NVSwitch
        ("ffff", None),
        ("", None),
        ("xyz", None),
    ],
)
def test_generation_by_pci_id(device, generation):
    assert generations.gpu_generation(device) == generation


def test_ranges_of_generations_do_not_overlap():
    ranges = sorted((first, last, name) for first, last, name in generations._DEVICES if name and first != last)
    for (_first, last, name), (first, _last, other) in zip(ranges, ranges[1:]):
        assert last < first, "%s runs into %s" % (name, other)
    assert {name for _first, _last, name in generations._DEVICES if name} == set(generations.GENERATIONS)


@pytest.mark.parametrize(
    ("generation", "flavour", "branch", "said"),
    [
        ("pascal", "open", 580, "driver.flavour does not drive Pascal GPUs: the open kernel modules need"),
        ("volta", "open", 550, "Use proprietary, in the same branch (550)"),
        ("kepler", "proprietary", 580, "driver.version has no support for Kepler GPUs: 470 is the last branch"),
        ("maxwell", "proprietary", 590, "driver.version has no support for Maxwell GPUs: 580 is the last branch"),
        ("pascal", "open", 620, "Use branch 580, flavour proprietary"),
        (
            "blackwell",
            "proprietary",
            580,
            "does not drive Blackwell GPUs: they need the open kernel modules. Use open, in the same",
        ),
        ("grace_hopper", "proprietary", 580, "does not drive Grace Hopper GPUs"),
        (
            "blackwell",
            "open",
            550,
            "has no support for Blackwell GPUs: 570 is the first branch that has. Use driver 580.159.03",
        ),
        ("rubin", "open", 580, "615 is the first branch that has. Use driver 620.70.06"),
        ("hopper", "proprietary", 470, "525 is the first branch that has"),
    ],
)
def test_a_driver_that_cannot_drive_the_gpus_is_told(generation, flavour, branch, said):
    found = generations.misfit(generation, flavour, branch)
    assert said in "%s %s. %s" % (found.path, found.message, found.fix)


@pytest.mark.parametrize("device", ["2901", "0x2941", "3182", "31C2", "29bc", "3000"])
def test_gpus_on_boards_with_switches_that_are_no_pci_functions(device):
    assert generations.may_have_nvlink5(device)


@pytest.mark.parametrize("device", ["2330", "2bb5", "2b85", "2e12", "22a3", "", "xyz"])
def test_gpus_that_stand_on_no_such_board(device):
    assert not generations.may_have_nvlink5(device)


@pytest.mark.parametrize(
    ("generation", "flavour", "branch"),
    [
        ("pascal", "proprietary", 580),
        ("turing", "open", 620),
        ("turing", "proprietary", 595),
        ("hopper", "proprietary", 580),
        ("hopper", "open", 580),
        ("grace_hopper", "open", 580),
        ("blackwell", "open", 570),
        ("rubin", "open", 615),
        (None, "open", 470),
        ("unheard-of", "proprietary", 580),
    ],
)
def test_a_driver_that_can_drive_the_gpus_or_gpus_of_which_nothing_is_known(generation, flavour, branch):
    assert generations.misfit(generation, flavour, branch) is None
