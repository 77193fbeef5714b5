# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other drivers that hold the GPU (nouveau, nova, nvidiafb), and what keeps them away for good.

Not those that keep a GPU for a virtual machine: somebody said so, and hardware.gpu_count says what that means here.
"""

from __future__ import annotations

import typing as t

from ..model import Desired, Evidence, Initramfs
from .wanted import REBOOT, file_ok, gpus, setting

_HARMLESS = ("nvidia", None)

MISSING = "it is not there"
INPUTS_CHANGED = "files that go into it have changed since it was built"


class Blocker(t.NamedTuple):
    """A driver other than nvidia in the way, and what mends it."""

    name: str
    where: str
    cause: str
    fix: str
    repair: str


def find(desired: Desired, evidence: Evidence) -> t.List[Blocker]:
    """Every driver that holds a GPU, or that is loaded although it is blacklisted."""
    unwanted = {name.replace("-", "_") for name in setting(desired, "kernel_blacklist")}
    loaded = unwanted.intersection(evidence.modules_loaded.value or ())
    bound: t.Dict[str, t.List[str]] = {}
    for device in gpus(evidence.pci.value or ()):
        if device.driver not in _HARMLESS:
            bound.setdefault(str(device.driver), []).append(device.address)
    return [_blocker(name, bound.get(name, []), desired, evidence) for name in sorted(loaded.union(bound))]


def stale_reason(one: Initramfs) -> t.Optional[str]:
    """Why an initramfs must be rebuilt, or None where it need not be. An image that was not read gives no reason."""
    if not one.path:
        return MISSING if one.missing else None  # this kernel boots without one
    if one.nouveau and one.blacklisted is False:
        return "nouveau is inside and not blacklisted there"
    if one.recorded_inputs is None:
        return "it was never rebuilt with the blacklist and options of this collection"
    if one.inputs != one.recorded_inputs:
        return INPUTS_CHANGED
    # An image may hold another version than the lock's, where the disk of the same kernel has that one too.
    if one.nvidia_version and one.nvidia_on_disk is not None and one.nvidia_version != one.nvidia_on_disk:
        return "the nvidia module %s is inside, and the disk has %s for that kernel" % (
            one.nvidia_version,
            one.nvidia_on_disk or "none",
        )
    return None


def lacks_initramfs(evidence: Evidence, kernel: str) -> bool:
    """Whether this kernel is known to have no image, and would not find its root file system without."""
    return any(one.kernel == kernel and one.missing for one in evidence.initramfs.value or ())


def loaded_from_initramfs(evidence: Evidence, version: str) -> t.Optional[str]:
    """The image that loads this version of nvidia at each boot, whatever the disk has; None where none does."""
    kernel = evidence.boot.value.kernel if evidence.boot.value else None
    images = (one for one in evidence.initramfs.value or () if one.kernel == kernel)
    return next((one.path for one in images if one.nvidia_version == version != one.nvidia_on_disk), None)


def _blocker(name: str, addresses: t.Sequence[str], desired: Desired, evidence: Evidence) -> Blocker:
    where = "bound to %s" % ", ".join(addresses) if addresses else "loaded"
    why = _why_still_there(desired, evidence)
    if why:
        return Blocker(
            name,
            where,
            "%s holds the GPU, and the next boot would load it again: %s." % (name, why),
            "Run site.yml on this node: it writes the blacklist and rebuilds the initramfs; then a reboot is due.",
            "roles",
        )
    return Blocker(
        name,
        where,
        "%s was loaded at boot, before it was blacklisted in modprobe.d and in the initramfs." % name,
        REBOOT,
        "reboot",
    )


def _why_still_there(desired: Desired, evidence: Evidence) -> t.Optional[str]:
    for path, file in sorted(desired.files.items()):
        if file.role == "kernel" and not file_ok(desired, evidence, path):
            return "%s is not as wanted" % path
    kernel = evidence.boot.value.kernel if evidence.boot.value else None
    for one in evidence.initramfs.value or ():
        reason = stale_reason(one)
        if one.kernel == kernel and reason:
            return "its initramfs is stale, %s" % reason
    return None
