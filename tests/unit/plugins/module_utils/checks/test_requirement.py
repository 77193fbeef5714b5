# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA_REQUIRE_CUDA asks. The texts are of the kind that NVIDIA's images set."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.checks import requirement

LONG = "cuda>=12.8 brand=tesla,driver>=470,driver<471 brand=tesla,driver>=535,driver<536"


@pytest.mark.parametrize(
    ("asked", "cuda", "driver", "met"),
    [
        ("cuda>=12.8", "12.4", "550.144.03", False),  # case 021
        ("cuda>=12.8", "12.8", "570.26", True),
        ("cuda>=12.8", "12.10", "580.1", True),  # as numbers: as texts it would be less
        ("cuda>=12.8", "13.0", "580.1", True),
        ("", "12.4", "550.1", True),
        (LONG, "12.4", "550.144.03", False),  # whatever the brand, the driver is in none of the ranges
        (LONG, "12.2", "535.54.03", None),  # it hangs on the brand
        (LONG, "13.0", "580.1", True),
        ("cuda>=13.0,driver>=580", "13.0", "570.1", False),
        ("arch>=8.0", "12.4", "550.1", None),
        ("cuda>=12.8 nonsense", "12.4", "550.1", None),
        ("cuda=12", "12.0", "525.1", True),
    ],
)
def test_alternatives_and_what_must_hold_together(asked: str, cuda: str, driver: str, met: t.Optional[bool]) -> None:
    assert requirement.met(asked, cuda, driver) is met
