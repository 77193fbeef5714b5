# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the golden role reads out of a verdict before it reboots a node, with the real templating of Ansible."""

from __future__ import annotations

import pathlib
import typing as t

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    Boot,
    DriverLoaded,
    Evidence,
    Initramfs,
    RunningContainer,
    to_plain,
)
from ansible_collections.goldennode.gpu.tests.unit import actions, healthy

VARIABLES = pathlib.Path(__file__).parents[3] / "roles" / "golden" / "vars" / "main.yml"

#: A reboot is due.
UPGRADED = healthy.known(healthy.evidence(), driver=DriverLoaded("580.126.09", "open"))


def derived(name: str, evidence: Evidence, **settings: t.Any) -> t.Any:
    loader = DataLoader()
    variables = actions.trusted(loader.load_from_file(str(VARIABLES)))
    found = verdict.run(healthy.desired(**settings), evidence, 1)
    variables["__goldennode_look"] = {"verdict": to_plain(found), "refusals": []}
    return Templar(loader=loader, variables=variables).template(variables[name])


def test_a_node_whose_kernels_can_boot_may_be_rebooted():
    assert derived("golden_reboot_reasons", UPGRADED)
    assert derived("golden_not_to_boot", UPGRADED) == []


def test_a_reboot_that_is_waived_can_wait():
    evidence = healthy.known(healthy.evidence(), boot=Boot("11111111", "6.12.48+deb13-amd64", 1000.0))
    evidence = healthy.known(evidence, module_on_disk=healthy.module(kernel="6.12.48+deb13-amd64"))
    assert derived("golden_reboot_reasons", evidence)
    waiver = {"id": "host_driver.kernel", "reason": "maintenance is on Saturday", "until": "2026-12-05"}
    assert derived("golden_reboot_reasons", evidence, golden_waivers=[waiver]) == []


def test_a_node_with_a_kernel_that_lacks_its_initramfs_is_not_rebooted():
    images = (*(UPGRADED.initramfs.value or ()), Initramfs("6.12.63+deb13-amd64", "", "in", "", missing=True))
    evidence = healthy.known(UPGRADED, initramfs=images)
    assert derived("golden_reboot_reasons", evidence)
    (finding,) = derived("golden_not_to_boot", evidence)
    assert finding["cause"].startswith("Kernel 6.12.63+deb13-amd64 has no initramfs, and would not find")


def test_a_stale_initramfs_alone_does_not_forbid_a_reboot():
    (image,) = UPGRADED.initramfs.value or ()
    stale = Initramfs(image.kernel, image.path, "now", image.image, "before", image.image, True, True)
    assert derived("golden_not_to_boot", healthy.known(UPGRADED, initramfs=(stale,))) == []


def test_a_node_whose_module_is_not_built_is_not_rebooted():
    (finding,) = derived("golden_not_to_boot", healthy.known(UPGRADED, module_on_disk=None, module_to_boot=None))
    assert finding["id"] == "host_driver.module_on_disk"


def test_old_containers_are_handed_over_by_their_findings():
    holds = {"drivers": ("580.126.09",), "image": "cuda:13"}
    running = (RunningContainer("ab" * 32, "web", **holds), RunningContainer("cd" * 32, "db"))
    assert derived("golden_old_containers", healthy.evidence()) == []
    (finding,) = derived("golden_old_containers", healthy.known(healthy.evidence(), running_containers=running))
    assert (finding["entity"], finding["repair"]) == ("web abababababab", "roles")


def test_an_old_container_that_could_not_be_read_is_none_to_restart():
    running = (RunningContainer("ab" * 32, "web", error="it could not be read"),)
    assert derived("golden_old_containers", healthy.known(healthy.evidence(), running_containers=running)) == []
