# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nvidia module: built for the kernels that matter, and the same on disk, in the kernel and in the lock.

Disk, memory and lock are three things. What the disk has and the kernel has not needs a reboot, unless a reboot has
been and brought something else; what the disk has not needs the roles.
"""

from __future__ import annotations

import typing as t

from ..model import BuildFailure, Desired, DkmsModule, Evidence, Finding, ModuleOnDisk
from ..version import version_numbers
from . import blockers, not_loaded
from .outcome import failed, passed
from .wanted import (
    REBOOT,
    RELOAD,
    RUN_SITE,
    driver_version,
    kernel_packages_installed,
    kernel_release,
    running_kernel,
)

_IN_A_NEW_CONTAINER = "Stop the jobs first; verify in a new container, as one that runs keeps the old libraries."


def module_on_disk(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    running, ahead = running_kernel(evidence), kernel_release(desired)
    module = evidence.module_on_disk.value
    if ahead not in (None, running):
        if not is_built(desired, evidence.module_to_boot.value):
            return [_not_built(desired, evidence, evidence.module_to_boot.value, str(ahead))]
        if not is_built(desired, module):
            return [_waits_for(str(ahead), desired, evidence)]
    elif not is_built(desired, module):
        return [_not_built(desired, evidence, module, running)]
    return [passed("nvidia %s for kernel %s" % (driver_version(desired), ahead or running))]


def is_built(desired: Desired, module: t.Optional[ModuleOnDisk]) -> bool:
    return module is not None and module.version == driver_version(desired)


def _not_built(desired: Desired, evidence: Evidence, module: t.Optional[ModuleOnDisk], kernel: str) -> Finding:
    hidden = not_loaded.hidden(evidence) if module is None else None
    if hidden is not None:
        return failed(
            expected="nvidia.ko %s for kernel %s" % (driver_version(desired), kernel),
            actual="none that modprobe would load",
            cause="Whether an nvidia module is built cannot be seen: %s." % hidden.cause,
            fix=hidden.fix,
            repair=hidden.repair,
        )
    role = "the running kernel" if kernel == running_kernel(evidence) else "the kernel that is to boot,"
    if module is None:
        cause = "No nvidia module is built for %s %s." % (role, kernel)
    else:
        cause = "The nvidia module on disk for kernel %s is %s, not the lock's." % (kernel, module.version)
    said = dkms_says(desired, evidence, kernel)
    stopped = build_stopped(desired, evidence, kernel)
    if stopped is not None:
        said = "DKMS could not build it (its log: %s): %s." % (stopped.path, stopped.cause)
    return failed(
        "" if kernel == running_kernel(evidence) else kernel,
        expected="nvidia.ko %s for kernel %s" % (driver_version(desired), kernel),
        actual="no nvidia.ko for it" if module is None else module.version,
        cause="%s %s" % (cause, said) if said else cause,
        fix="%s. %s" % (stopped.fix, RUN_SITE)
        if stopped
        else "%s Where the build failed, its log is below /var/lib/dkms." % RUN_SITE,
        repair="manual" if stopped else "roles",
    )


def build_stopped(desired: Desired, evidence: Evidence, kernel: str) -> t.Optional[BuildFailure]:
    """What stopped the build of the lock's driver for a kernel. A log of a build for another kernel says nothing here,
    nor does one that names no reason: then a run tries it again.
    """
    stopped = evidence.build_failure.value
    if stopped is None or desired.lock["driver"]["build"] != "dkms" or stopped.kernel not in ("", kernel):
        return None
    return stopped if stopped.cause else None


def _waits_for(ahead: str, desired: Desired, evidence: Evidence) -> Finding:
    """The lock's kernel has the module, and another kernel runs."""
    running, module = running_kernel(evidence), evidence.module_on_disk.value
    installed = kernel_packages_installed(desired, evidence)
    return failed(
        expected="nvidia.ko %s for the running kernel" % driver_version(desired),
        actual="no nvidia.ko for %s" % running if module is None else module.version,
        cause="The nvidia module of the lock is built for kernel %s; kernel %s runs." % (ahead, running),
        fix=REBOOT if installed else RUN_SITE,
        repair="reboot" if installed else "roles",
    )


def dkms_says(desired: Desired, evidence: Evidence, kernel: str) -> str:
    """A sentence on how far DKMS has come with the lock's driver for a kernel; empty where it knows nothing to say."""
    known, version = evidence.dkms.value, driver_version(desired)
    if desired.lock["driver"]["build"] != "dkms":
        return "The package of the modules for this very kernel is missing or not whole."
    if known is None and evidence.dkms.known:
        return "DKMS, which builds it for each kernel, is not installed; a .run installer builds for one alone."
    if known is None:
        return "What DKMS knows of it could not be read: %s." % evidence.dkms.error
    mine = [one for one in known if one.name.startswith("nvidia") and one.version == version]
    if not mine:
        return "DKMS does not know nvidia %s: the package of its source is not installed." % version
    name = "%s/%s" % (mine[0].name, version)
    if any(one.state == "broken" for one in mine):
        return "DKMS calls %s broken: its source below /usr/src is gone." % name
    here = next((one for one in mine if one.kernel == kernel), None)
    if here is None:
        others = ", ".join(sorted({one.kernel for one in mine if one.kernel}))
        built = ", and is built for %s" % others if others else ""
        return (
            "DKMS has %s added and not built for kernel %s%s: its headers are missing, or the build failed "
            "(/var/lib/dkms/%s/build/make.log)." % (name, kernel, built, name)
        )
    return _dkms_state(here, name)


def _dkms_state(here: DkmsModule, name: str) -> str:
    if here.state == "built":
        return "DKMS has %s built for kernel %s and not installed." % (name, here.kernel)
    if here.remark:
        return "DKMS says of %s for kernel %s: installed, %s." % (name, here.kernel, here.remark)
    return "DKMS calls %s installed for kernel %s: the module was moved since, or depmod was not run." % (
        name,
        here.kernel,
    )


def loaded(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    want, driver, disk = driver_version(desired), evidence.driver.value, evidence.module_on_disk
    if driver is None:
        return [_not_loaded(desired, evidence)]
    uvm = not_loaded.uvm_refused(desired, evidence) if driver.version == want else None
    if uvm is not None:
        cause, fix, repair = uvm
        return [
            failed(expected="nvidia and nvidia-uvm of one build", actual=cause, cause=cause, fix=fix, repair=repair)
        ]
    if driver.version == want:
        return [passed("%s%s" % (driver.version, ", " + driver.flavour if driver.flavour else ""))]
    disk_version = disk.value.version if disk.value else None
    image = blockers.loaded_from_initramfs(evidence, driver.version)
    if image:
        holds = "which still holds it: a reboot alone would load it again"
        cause = "Module %s was loaded from %s, %s." % (driver.version, image, holds)
        fix, repair = RUN_SITE, "roles"
    elif disk.known and disk_version != want:
        cause = "Module %s is loaded, and the disk has not the lock's either." % driver.version
        fix, repair = RUN_SITE, "roles"
    else:
        # Where the disk was not asked (the local fact), the packages were, and they are judged before this layer.
        cause, fix, repair = _another_than_on_disk(desired, evidence, driver.version)
    return [
        failed(
            expected=want,
            actual="%s loaded, %s on disk" % (driver.version, disk_version or "none")
            if disk.known
            else "%s loaded" % driver.version,
            cause=cause,
            fix=fix,
            repair=repair,
        )
    ]


def _another_than_on_disk(desired: Desired, evidence: Evidence, here: str) -> t.Tuple[str, str, str]:
    """The disk has the lock's module and another one is loaded: a reboot is due, once."""
    boot, module = evidence.boot.value, evidence.module_on_disk.value
    if boot is None or module is None or module.modified is None or boot.booted_at <= module.modified:
        older = version_numbers(here) < version_numbers(driver_version(desired))
        change = "upgraded" if older else "downgraded"
        cause = "A reboot is pending since the driver was %s: %s is still loaded." % (change, here)
        return cause, "%s %s" % (RELOAD, _IN_A_NEW_CONTAINER), "reload"
    since = "the node has booted since %s was put at %s" % (module.version, module.path)
    cause = "Module %s is loaded although %s, so another reboot would not help" % (here, since)
    image = next((one for one in evidence.initramfs.value or () if one.kernel == boot.kernel), None)
    stale = blockers.stale_reason(image) if image is not None else None
    if stale:
        return "%s: its initramfs is stale, %s." % (cause, stale), RUN_SITE, "roles"
    fix = (
        "Look for nvidia.ko in the initramfs (lsinitramfs, lsinitrd) and for another copy of it (find /lib/modules/%s "
        "-name 'nvidia*.ko*'), remove that, and run depmod -a." % boot.kernel
    )
    return "%s: another copy of it is found first." % cause, fix, "manual"


def _not_loaded(desired: Desired, evidence: Evidence) -> Finding:
    cause, fix, repair = not_loaded.reason(desired, evidence)
    return failed(expected=driver_version(desired), actual="not loaded", cause=cause, fix=fix, repair=repair)
