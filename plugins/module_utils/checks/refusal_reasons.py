# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why the driver refuses a GPU, from the kernel log: what comes first explains what is loudest.

RmInitAdapter fails, or firmware is not found, as a consequence: of a kernel module and a user space of two versions, of
a flavour or a branch that does not know the GPU, of another driver that holds it.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Desired, Evidence
from ..parse.text import DRIVER_VERSION
from . import flavour
from .wanted import RELOAD, RUN_SITE


class Reason(t.NamedTuple):
    """``cause`` continues "the driver did not initialise the GPU: "."""

    cause: str
    fix: str
    repair: str


_MISMATCH = re.compile(
    r"API mismatch.*?version (%s).*?kernel module has the version (%s)" % (DRIVER_VERSION, DRIVER_VERSION)
)
_FIRMWARE = re.compile(r"firmware load for nvidia/(%s)/\S+ failed" % DRIVER_VERSION)

_CHANGE = "Change %s in the bundle; the hardware is not at fault."

#: Words about one GPU -> why the driver does not take it, and what to do.
_ABOUT_ONE = (
    (
        r"not supported by open",
        "the open kernel modules need a GPU System Processor, which it lacks",
        _CHANGE % "driver.flavour",
    ),
    (
        r"requires use of the NVIDIA open kernel modules",
        "it needs the open kernel modules",
        _CHANGE % "driver.flavour",
    ),
    (r"Legacy drivers", "only an older branch of the driver supports it", _CHANGE % "driver.version"),
    (
        r"not supported by the .*driver release",
        "this branch of the driver does not support it",
        _CHANGE % "driver.version",
    ),
    (
        r"BAR\d is \d+M @ 0x0+ |I/O region assigned to your NVIDIA device is invalid",
        "the firmware, or the hypervisor, gave it no address space (BAR)",
        "Switch on Above 4G Decoding in the firmware (for a virtual machine: a larger 64-bit MMIO window); else try "
        "pci=realloc in kernel_arguments.",
    ),
)


def reason(desired: Desired, evidence: Evidence, address: str) -> t.Optional[Reason]:
    """What explains that the driver does not have this GPU; None where nothing but the GPU itself does."""
    return _skew(evidence) or of_gpu(desired, evidence, address)


def of_gpu(desired: Desired, evidence: Evidence, address: str) -> t.Optional[Reason]:
    """The same where the driver has other GPUs: what concerns all of them explains nothing about one."""
    return _unsupported(desired, evidence, address) or _firmware(desired, evidence, address)


def _skew(evidence: Evidence) -> t.Optional[Reason]:
    """Of the module that is loaded and the libraries that are installed: the line stays when they were put right, and
    a container with libraries of its own writes one too.
    """
    loaded = evidence.driver.value.version if evidence.driver.value else None
    installed = {library.version for library in (evidence.libraries.value or {}).values()}
    for line in reversed(evidence.kernel_log.value or ()):
        match = _MISMATCH.search(line)
        if match and loaded in (None, match.group(2)) and (not installed or match.group(1) in installed):
            client, module = match.groups()
            disk = evidence.module_on_disk.value.version if evidence.module_on_disk.value else None
            cause = "the kernel module is %s and user space %s" % (module, client)
            if disk == client:
                return Reason(cause, RELOAD, "reload")
            return Reason(cause, "%s It brings module, firmware and libraries to one version." % RUN_SITE, "roles")
    return None


def _unsupported(desired: Desired, evidence: Evidence, address: str) -> t.Optional[Reason]:
    for line in evidence.kernel_log.value or ():
        if address.lower() in line.lower():
            for pattern, cause, fix in _ABOUT_ONE:
                if re.search(pattern, line):
                    return Reason(cause, fix, "manual")
    if not flavour.fits(desired, evidence, address):
        return Reason("this driver is not for it, see host_driver.flavour", "See host_driver.flavour.", "manual")
    return None


def _firmware(desired: Desired, evidence: Evidence, address: str) -> t.Optional[Reason]:
    loaded = evidence.driver.value.version if evidence.driver.value else None
    for line in evidence.kernel_log.value or ():
        match = _FIRMWARE.search(line)
        # The line of a driver that was loaded before in this boot stays.
        if match and address.lower() in line.lower() and loaded in (None, match.group(1)):
            return Reason(
                "the firmware of driver %s is not on the node, so module and firmware are of two versions"
                % match.group(1),
                "%s It brings module, firmware and libraries to one version." % RUN_SITE,
                "roles",
            )
    return None
