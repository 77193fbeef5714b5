# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each fault and damage of the test bed on a golden node: found, named, mended where a role can, only by consent."""

from __future__ import annotations

import typing as t

import pytest
from poollib import Pool, bed

#: fault -> layer that is named, a word of the fix
HARDWARE_FAULTS = {
    "gpu-missing": ("hardware", "expected"),
    "gpu-lost": ("hardware", "lost"),
    "smi-hang": ("host_driver", "nvidia-smi"),
    "gpu-not-initialised": ("hardware", "initialis"),
}

#: damage -> (layer that is named, what the mending run needs consent for, does the local fact see it)
DAMAGES: t.Dict[str, t.Tuple[str, t.Optional[str], bool]] = {
    "version-mismatch": ("packages", None, True),
    "nouveau-loaded": ("host_driver", "golden_allow_reboot", True),
    "toolkit-not-wired": ("container_runtime", None, True),
    "device-mode-0600": ("device_nodes", "golden_allow_reboot", True),
    "uvm-missing": ("device_nodes", None, True),
}


@pytest.mark.parametrize("fault", HARDWARE_FAULTS)
def test_a_hardware_fault_is_named_and_leaves_the_other_nodes_alone(golden_pair: Pool, fault: str) -> None:
    broken, healthy = golden_pair.nodes
    layer, word = HARDWARE_FAULTS[fault]
    bed("fault", broken.name, fault, "on")

    looked = golden_pair.verify()
    assert looked.rc != 0
    assert looked.report[broken.name]["layer"] == layer, looked.output
    assert word in (looked.report[broken.name]["reason"] + looked.report[broken.name]["fix"]).lower()
    assert looked.report[broken.name]["fix"]
    assert looked.report[healthy.name]["golden"]
    assert looked.recap(broken.name)["changed"] == 0

    run = golden_pair.site()
    assert run.rc != 0
    assert not run.report[broken.name]["golden"]
    assert run.report[healthy.name]["golden"]
    assert run.recap(healthy.name)["changed"] == 0
    assert not broken.fact()["golden"]
    assert healthy.fact()["golden"]

    # The card is replaced: what a lost GPU left in the log of this boot goes with the power cycle.
    bed("fault", broken.name, fault, "off")
    bed("reboot", broken.name)
    mended = golden_pair.site()
    assert mended.rc == 0, mended.output
    assert broken.fact()["golden"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damage_is_named_and_mended(golden_a10: Pool, damage: str) -> None:
    (node,) = golden_a10.nodes
    layer, consent, seen_by_fact = DAMAGES[damage]
    bed("damage", node.name, damage)

    looked = golden_a10.verify()
    assert looked.rc != 0
    assert looked.report[node.name]["layer"] == layer, looked.output
    assert looked.report[node.name]["fix"]
    if seen_by_fact:
        assert not node.fact()["golden"]

    if consent:
        refused = golden_a10.site(**{consent: False})
        assert refused.rc != 0
        assert consent in refused.output
        assert not node.fact()["golden"]

    run = golden_a10.site()
    assert run.rc == 0, run.output
    assert run.report[node.name]["golden"]
    assert node.fact()["golden"]
