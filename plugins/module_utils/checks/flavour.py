# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which driver drives which GPU: flavour and branch, of the bundle and of what is on the node.

A GPU that the driver does not know looks like a GPU that is broken: "No devices were found", RmInitAdapter failed, an
Xid. So this is judged by the PCI ids, which need no driver to be read.
"""

from __future__ import annotations

import re
import typing as t

from ..generations import Misfit, gpu_generation, misfit
from ..model import Desired, Evidence, Finding, PciDevice
from . import gpus as g
from .outcome import failed, passed, skipped
from .wanted import RELOAD, RUN_SITE, driver_version, gpus

#: The sentence names the card and no address: "The NVIDIA Tesla K80 GPU installed in this system is supported through
#: the NVIDIA 470.xx Legacy drivers."
_LEGACY = re.compile(r"supported through the\s+NVIDIA (\d{2,4})\.xx Legacy drivers")


def flavour(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    want = str(desired.lock["driver"]["flavour"])
    problems = list(_unusable(desired, evidence, want))
    if problems:
        return problems
    disk, loaded = on_disk(evidence), in_kernel(evidence)
    here = loaded or disk
    if here is None:
        return [skipped("there is no module whose flavour could be judged: see host_driver.module_on_disk")]
    # What the roles have put right on the disk comes into force when the driver is loaded anew.
    mended = disk == want
    fix, repair = (RELOAD, "reload") if mended else (RUN_SITE, "roles")
    if here != want:
        problems = list(_unusable(desired, evidence, here, fix, repair))
    if not problems and (here != want or disk not in (None, want)):
        found, place = (disk, "on disk") if disk not in (None, want) else (loaded, "loaded")
        problems = [
            failed(
                expected=want,
                actual="%s %s" % (found, place),
                cause="The %s kernel module is %s, the bundle wants %s." % (found, place, want),
                fix=fix,
                repair=repair,
            )
        ]
    return problems or [passed(want)]


def on_disk(evidence: Evidence) -> t.Optional[str]:
    return evidence.module_on_disk.value.flavour if evidence.module_on_disk.value else None


def in_kernel(evidence: Evidence) -> t.Optional[str]:
    return evidence.driver.value.flavour if evidence.driver.value else None


def fits(desired: Desired, evidence: Evidence, address: str) -> bool:
    """Whether the module in the kernel drives this GPU, as far as that is known."""
    here = in_kernel(evidence) or on_disk(evidence) or str(desired.lock["driver"]["flavour"])
    device = next((device for device in evidence.pci.value or () if device.address == address), None)
    return device is None or _misfit(device, here, desired, evidence) is None


def _misfit(device: PciDevice, here: str, desired: Desired, evidence: Evidence) -> t.Optional[Misfit]:
    """By the table of generations; for a GPU that is in none, by the driver's own words."""
    generation = gpu_generation(device.device)
    if generation is not None:
        return misfit(generation, here, _branch(desired))
    lines = (_LEGACY.search(line) for line in evidence.kernel_log.value or ())
    last = next((int(found.group(1)) for found in lines if found), None)
    if last is None or last >= _branch(desired) or g.works(device.address, evidence):
        return None
    message = "has no support for GPU %s: %d is the last branch that has" % (device.address, last)
    return Misfit("driver.version", message, "Use branch %d, flavour proprietary" % last)


def _branch(desired: Desired) -> int:
    return int(driver_version(desired).partition(".")[0])


def _unusable(
    desired: Desired, evidence: Evidence, here: str, fix: t.Optional[str] = None, repair: str = "manual"
) -> t.Iterator[Finding]:
    """The GPUs that a flavour does not drive. Without ``fix`` it is the bundle's own, and the bundle must change."""
    for device in gpus(evidence.pci.value or ()):
        problem = _misfit(device, here, desired, evidence)
        if problem is not None:
            yield failed(
                device.address,
                expected="a driver for %s" % _named(device),
                actual="%s, branch %d" % (here, _branch(desired)),
                cause="The %s driver of branch %d %s; the hardware is not at fault."
                % (here, _branch(desired), problem.message),
                fix=fix or "%s; %s stands in the bundle." % (problem.fix, problem.path),
                repair=repair,
            )


def _named(device: PciDevice) -> str:
    return "the GPU %s (PCI id 10de:%s)" % (device.address, device.device)
