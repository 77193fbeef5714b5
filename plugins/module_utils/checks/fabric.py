# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer host_driver: the fabric manager, without which no CUDA program runs where NVSwitches are.

nvidia-smi is green all the same, and CUDA fails with 802.
"""

from __future__ import annotations

import typing as t

from ..model import Desired, Evidence, Finding
from . import units
from .outcome import all_passed, failed, passed, skipped, unknown
from .wanted import RELOAD, RUN_SITE, driver_version, nvswitches

#: Comes with NVLink 5. It has versions of its own, apart from the driver's, and no bundle names it yet.
_SUBNET_MANAGER = "nvlsm"


def nvswitch(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """What NVSwitches ask for that no run can give them."""
    pci = evidence.pci.value or ()
    if not nvswitches(pci):
        unread = [device.address for device in pci if device.nvswitch is None]
        return [_maybe_switches(unread) if unread else passed("no NVSwitch on the PCI bus")]
    lock = desired.lock.get("fabric_manager")
    if not lock:
        return [
            failed(
                expected="a fabric manager of version %s" % driver_version(desired),
                actual="none in the bundle",
                cause="The node has NVSwitches, and the bundle names no fabric manager.",
                fix="Add fabric_manager: {version: %s} to the bundle." % driver_version(desired),
                repair="manual",
            )
        ]
    if lock["version"] != driver_version(desired):
        return [
            failed(
                expected=driver_version(desired),
                actual=str(lock["version"]),
                cause="The bundle pairs fabric manager %s with driver %s; they must be equal in all components."
                % (lock["version"], driver_version(desired)),
                fix="Set fabric_manager.version to %s in the bundle." % driver_version(desired),
                repair="manual",
            )
        ]
    if any(device.is_switch_manager for device in pci):
        if evidence.packages.value is None:
            return [unknown("packages: %s" % evidence.packages.error)]
        if _SUBNET_MANAGER not in evidence.packages.value:
            return [_no_subnet_manager()]
    return [passed("the bundle names fabric manager %s" % lock["version"])]


def fabric_manager(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    if not nvswitches(evidence.pci.value or ()):
        return [passed("no NVSwitch on the PCI bus, no fabric manager needed")]
    if not desired.lock.get("fabric_manager"):
        return [skipped("see host_driver.nvswitch")]
    problems = [
        *_fabric_mismatch(desired, evidence),
        *units.problems_of(units.FABRIC_MANAGER, "active+enabled", evidence),
    ]
    return all_passed(problems, "%s, active" % desired.lock["fabric_manager"]["version"])


def _maybe_switches(unread: t.Sequence[str]) -> Finding:
    behind = "whether NVSwitches are behind %s, whose vital product data could not be read" % ", ".join(unread)
    return unknown(
        "it is not known %s" % behind,
        cause="The GPUs of this node may need a fabric manager: it is not known %s." % behind,
        fix="Read it as root: grep -l SW_MNG /sys/bus/pci/devices/*/vpd. Where a card gives an error or no answer, its "
        "firmware or the card is to be looked at.",
    )


def _no_subnet_manager() -> Finding:
    return failed(
        _SUBNET_MANAGER,
        expected="installed",
        actual="not installed",
        cause="The NVSwitches of this node are of NVLink 5: their fabric manager does not start without %s, which is "
        "not installed." % _SUBNET_MANAGER,
        fix="Install it from NVIDIA's repository (apt-get install %s) and hold it, then run site.yml on this node: it "
        "has versions of its own, and a bundle cannot name it yet." % _SUBNET_MANAGER,
        repair="manual",
    )


def _fabric_mismatch(desired: Desired, evidence: Evidence) -> t.Iterator[Finding]:
    """What it says itself when it starts: nvidia-smi is green all the same, and CUDA fails with 802."""
    said, want = evidence.fabric_mismatch.value, driver_version(desired)
    if said is None:
        return
    waits = said.fabric_manager == want  # it is right, and the driver that it met is the one of before
    yield failed(
        units.FABRIC_MANAGER,
        expected="fabric manager and driver %s" % want,
        actual="fabric manager %s, driver %s" % (said.fabric_manager, said.driver),
        cause="The fabric manager must equal the driver in all components, and says that it does not.",
        fix=RELOAD if waits else RUN_SITE,
        repair="reload" if waits else "roles",
    )
