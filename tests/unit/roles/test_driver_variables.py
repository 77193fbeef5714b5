# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the driver role derives from a look, with the real templating."""

from __future__ import annotations

import dataclasses
import pathlib
import typing as t

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.goldennode.gpu.plugins.module_utils.checks import wanted
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Evidence, PciDevice, Reading, to_plain
from ansible_collections.goldennode.gpu.tests.unit import actions, healthy

VARIABLES = pathlib.Path(__file__).parents[3] / "roles" / "driver" / "vars" / "main.yml"


def derived(name: str, evidence: Evidence, **registered: t.Any) -> t.Any:
    loader = DataLoader()
    variables = actions.trusted(loader.load_from_file(str(VARIABLES)))
    variables["__goldennode_desired"] = to_plain(healthy.desired())
    variables["__goldennode_look"] = {"evidence": to_plain(evidence)}
    variables.update(registered)
    return Templar(loader=loader, variables=variables).template(variables[name])


B200 = PciDevice("0000:18:00.0", "2901", "0302", "nvidia")


@pytest.mark.parametrize(
    ("pci", "there"),
    [
        (Reading((PciDevice("0000:17:00.0", "2236", "0302"),)), False),
        (Reading((PciDevice("0000:a0:00.0", "22a3", "0680", nvswitch=True),)), True),
        (Reading((B200, PciDevice("0000:05:00.0", "", "0207", nvswitch=True))), True),
        (Reading((B200, PciDevice("0000:05:00.0", "", "0207", nvswitch=None))), False),
        (Reading.unknown("nothing was read"), False),
    ],
)
def test_the_fabric_manager_goes_where_the_look_says_that_nvswitches_are(pci, there):
    evidence = dataclasses.replace(healthy.evidence(), pci=pci)
    assert derived("driver_has_nvswitch", evidence) is there
    assert ("nvidia-fabricmanager" in derived("driver_packages", evidence)) is there
    assert ("fabric_manager" in wanted.package_axes(healthy.desired(), pci.value or ())) is there


@pytest.mark.parametrize(
    ("kernel", "seen", "of_lock", "in_the_way"),
    [
        (healthy.KERNEL, ["nvidiactl"], 0, []),
        (healthy.KERNEL, ["nouveau"], 0, ["nouveau"]),
        (healthy.KERNEL, ["nvidia"], 0, ["nvidia"]),
        (healthy.KERNEL, ["nvidia"], 1, []),
        ("6.12.48+deb13-amd64", [], 0, ["6.12.48+deb13-amd64"]),  # the lock's driver has no module for it
        ("6.12.48+deb13-amd64", ["nvidia"], 1, []),
    ],
)
def test_the_driver_is_loaded_where_nothing_is_in_the_way(kernel, seen, of_lock, in_the_way):
    boot = dataclasses.replace(healthy.evidence().boot.value, kernel=kernel)
    state = {"files": [{"path": "/sys/module/" + name} for name in seen]}
    evidence = dataclasses.replace(healthy.evidence(), boot=Reading(boot))
    found = derived("driver_in_the_way", evidence, driver_state=state, driver_of_lock={"matched": of_lock})
    assert found == in_the_way
