# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bundle's image and the GPUs of the node: what cannot run is refused first of all, what may not is told."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import generations, verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.compat_gpus import image_misfits
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Evidence, Finding, PciDevice, Reading
from ansible_collections.goldennode.gpu.tests.unit import healthy

FORWARD = {"reference": "registry.example/cuda:13.5-base", "cuda": "13.5", "cuda_compat": "forward"}
DRIVER = {"version": "580.159.03", "flavour": "open", "build": "dkms", "source": "nvidia"}


def found(
    device: str, image: t.Optional[t.Dict[str, t.Any]] = None, expected: t.Optional[str] = None
) -> t.List[Finding]:
    """What is found on a whole node; with ``expected``, whether it is golden."""
    desired = healthy.desired(of_lock=healthy.lock(image=image or FORWARD))
    evidence = healthy.known(healthy.evidence(of_desired=desired), pci=(PciDevice(healthy.address(0), device, "0302"),))
    judged = verdict.run(desired, evidence, 1)
    if expected is not None:
        assert judged.golden is (expected == "golden")
    return [finding for finding in judged.findings if finding.id == "image.fits_gpus"]


def test_a_geforce_board_and_forward_compatibility() -> None:
    (finding,) = found("2684", expected="not golden")
    assert (finding.status, finding.required, finding.entity) == ("fail", True, healthy.address(0))
    assert finding.cause == (
        "The image is CUDA 13.5, newer than driver 580.159.03, so it leans on CUDA's forward compatibility, which is"
        " for data-center boards; this one is a GeForce or TITAN board, on which CUDA ends with error 804."
    )
    assert finding.fix == (
        "Use driver 620.70.06 with this image, without image.cuda_compat: forward; image and driver stand in the"
        " bundle."
    )


def test_it_is_refused_on_a_bare_node_before_anything_is_changed() -> None:
    look = healthy.known(
        Evidence("2026-11-30T12:00:00+00:00", "node1", "host"), pci=(PciDevice(healthy.address(0), "2684", "0300"),)
    )
    refused = verdict.refusals(
        None, look, 1, bundle={"driver": DRIVER, "image": FORWARD, "platform": "debian-13-x86_64"}
    )
    assert "image.fits_gpus" in [finding.id for finding in refused]
    sound = verdict.refusals(None, look, 1, bundle={"driver": DRIVER, "image": {"cuda": "13.0"}})
    assert "image.fits_gpus" not in [finding.id for finding in sound]


@pytest.mark.parametrize("device", ["2330", "26b9", "1eb8"])
def test_a_data_center_board(device: str) -> None:
    assert [finding.status for finding in found(device, expected="golden")] == ["pass"]


def test_a_board_that_no_list_knows_is_unknown_and_proven_elsewhere() -> None:
    (finding,) = found("2230", expected="golden")
    assert (finding.status, finding.required) == ("unknown", False)
    assert finding.cause.endswith(
        "whether this board is one is not known here, and what CUDA says in a container decides."
    )


def test_an_image_whose_cuda_is_not_known_is_not_compared() -> None:
    (finding,) = found("2684", {"reference": "registry.example/app:1", "cuda": None}, expected="golden")
    assert (finding.status, finding.required) == ("skip", False)


def test_what_cannot_be_read_is_unknown() -> None:
    desired = healthy.desired()
    broken = Evidence("2026-11-30T12:00:00+00:00", "node1", "host", pci=Reading.unknown("lspci: killed"))
    (finding,) = [f for f in verdict.run(desired, broken, 1).findings if f.id == "image.fits_gpus"]
    assert finding.status in ("unknown", "skip")


@pytest.mark.parametrize(
    ("device", "fits"),
    [
        ("2330", True),
        ("0x2235", True),
        ("27b8", True),
        ("2901", True),
        ("1b06", False),
        ("2204", False),
        ("2B85", False),
        ("1d81", False),  # TITAN V, beside the V100 in the list
        ("1e30", None),  # Quadro RTX 6000, of which some can
        ("2bb1", None),
        ("", None),
        ("xyz", None),
    ],
)
def test_which_boards_forward_compatibility_is_for(device: str, fits: t.Optional[bool]) -> None:
    assert generations.forward_compatible(device) is fits


def test_no_board_is_in_both_lists() -> None:
    both = [
        device
        for device in range(0x1000, 0x4000)
        if generations._listed(device, generations._GEFORCE) and generations._listed(device, generations._DATA_CENTER)
    ]
    assert both == []


@pytest.mark.parametrize("driver", ["999.01.02", "345.00", "none"])
def test_a_driver_that_no_table_has_is_no_error(driver: str) -> None:
    for device in ("2684", "1b06", "2330", "ffff"):
        image_misfits(device, {"version": driver, "flavour": "open"}, FORWARD)
