# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer host_driver: the kernel, what else holds the GPU, the driver's libraries and its fabric manager.

The module itself is judged in ``module``, its flavour in ``flavour``, its signature in ``secure_boot``, and what the
driver answers in ``answers``.
"""

from __future__ import annotations

import typing as t

from ..model import LIBRARIES, Desired, Evidence, Finding, Initramfs, Library
from . import blockers, units
from . import module as nvidia
from .outcome import all_passed, failed, passed, skipped, unknown
from .wanted import (
    REBOOT,
    RELOAD,
    RUN_SITE,
    driver_version,
    file_ok,
    kernel_packages_installed,
    kernel_release,
    nvswitches,
    running_kernel,
)

#: Where packages put them. A copy that is found elsewhere first came from a .run installer or by hand.
_PACKAGED = ("/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/")


def kernel(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    if evidence.platform.value is not None and evidence.platform.value.wsl:
        return [_wsl(evidence)]
    running, want = running_kernel(evidence), kernel_release(desired)
    if want is None or running == want:
        return [passed(running)]
    installed = kernel_packages_installed(desired, evidence)
    ahead = evidence.module_to_boot
    if installed and ahead.known and not nvidia.is_built(desired, ahead.value):
        return [_not_yet(desired, evidence, running, want)]
    return [
        failed(
            expected=want,
            actual=running,
            cause="The node runs another kernel than the lock's%s." % (", which is installed" if installed else ""),
            fix="%s If it comes up with %s again, the boot loader's default is another entry." % (REBOOT, running)
            if installed
            else RUN_SITE,
            repair="reboot" if installed else "roles",
        )
    ]


def _not_yet(desired: Desired, evidence: Evidence, running: str, want: str) -> Finding:
    """A reboot into a kernel that has no module would take the GPUs away."""
    said = nvidia.dkms_says(desired, evidence, want)
    return failed(
        expected=want,
        actual=running,
        cause="The node runs another kernel than the lock's, and must not be rebooted into that: no nvidia module is "
        "built for it. %s" % said,
        fix="%s It builds the module; then a reboot is due." % RUN_SITE,
        repair="roles",
    )


def _wsl(evidence: Evidence) -> Finding:
    there = sorted(
        name
        for name in evidence.packages.value or {}
        if name.startswith(("nvidia-utils", "libnvidia-compute", "nvidia-driver"))
    )
    return failed(
        expected="a host with a kernel and a driver of its own",
        actual="WSL%s" % (", with %s installed" % ", ".join(there) if there else ""),
        cause="WSL uses the driver of Windows through /usr/lib/wsl/lib; Linux driver packages shadow it.",
        fix="Remove the Linux driver packages and install the driver on Windows; WSL cannot be a node of a pool.",
        repair="manual",
    )


def nouveau(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    problems = [
        failed(
            one.name,
            expected="no driver but nvidia",
            actual=one.where,
            cause=one.cause,
            fix=one.fix,
            repair=one.repair,
        )
        for one in blockers.find(desired, evidence)
    ]
    return all_passed(problems, "no other driver holds a GPU")


def initramfs(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    images, running = evidence.initramfs.value or (), running_kernel(evidence)
    edited = _edited_options(desired, evidence)
    found = all_passed(
        (problem for one in images for problem in _initramfs_problem(one, edited)),
        "%d initramfs are fresh" % len(images),
    )
    return found if any(one.kernel == running for one in images) else [*found, _started_from_elsewhere(running)]


def _started_from_elsewhere(kernel: str) -> Finding:
    why = "neither it nor an initramfs of it is in /boot"
    return unknown(
        why,
        kernel,
        cause="It is not known what kernel %s was started from, and whether nouveau is kept away there: %s."
        % (kernel, why),
        fix="Where /boot is a file system of its own, mount it. An image that comes from elsewhere (a unified kernel "
        "image, the network, a hypervisor) must keep nouveau away by itself.",
        required=False,
    )


def _edited_options(desired: Desired, evidence: Evidence) -> t.Optional[str]:
    """A file of another layer that goes into every initramfs and is not as its role writes it."""
    options = (f.path for f in desired.files.values() if f.role == "device_access" and "/modprobe.d/" in f.path)
    return next((path for path in options if not file_ok(desired, evidence, path)), None)


def _initramfs_problem(one: Initramfs, edited: t.Optional[str]) -> t.Iterator[Finding]:
    reason = blockers.stale_reason(one)
    if reason == blockers.INPUTS_CHANGED and edited:
        yield skipped("stale, as %s is not as its role writes it; that file is judged by itself" % edited, one.kernel)
    elif reason:
        yield failed(
            one.kernel,
            expected="%s built from the files as they are now" % one.path,
            actual=reason,
            cause="The initramfs of kernel %s is stale: %s." % (one.kernel, reason),
            fix=RUN_SITE,
            repair="roles",
        )
    elif one.path and (one.nouveau is None or (one.nouveau and one.blacklisted is None)):
        yield unknown("it is not known whether nouveau is inside %s and blacklisted there" % one.path, one.kernel)


def libraries(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    want, there = driver_version(desired), evidence.libraries.value or {}
    problems = (problem for name in LIBRARIES for problem in _library_problem(name, want, there.get(name)))
    return all_passed(problems, "%s at %s" % (" and ".join(LIBRARIES), want))


def _library_problem(name: str, want: str, there: t.Optional[Library]) -> t.Iterator[Finding]:
    if there is not None and there.version == want:
        return
    elsewhere = there is not None and not there.path.startswith(_PACKAGED)
    if there is None:
        actual, cause = "the dynamic linker does not find it", "%s is missing." % name
    elif elsewhere:
        actual = "%s -> %s" % (there.path, there.target)
        cause = "Another copy of %s is found first, in %s: from a .run installer, or put there by hand." % (
            name,
            there.path.rpartition("/")[0],
        )
    else:
        actual = "%s -> %s" % (there.path, there.target)
        cause = "%s is of another version than the lock: an upgrade moved user space alone." % name
    yield failed(
        name,
        expected=want,
        actual=actual,
        cause=cause,
        fix="Remove that copy (nvidia-uninstall) and run ldconfig." if elsewhere else RUN_SITE,
        repair="manual" if elsewhere else "roles",
    )


def fabric_manager(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    switches = nvswitches(evidence.pci.value or ())
    if not switches:
        return [passed("no NVSwitch on the PCI bus, no fabric manager needed")]
    lock = desired.lock.get("fabric_manager")
    if not lock:
        return [
            failed(
                expected="a fabric manager of version %s" % driver_version(desired),
                actual="none in the bundle",
                cause="The node has %d NVSwitches, and the bundle names no fabric manager." % len(switches),
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
    problems = [
        *_fabric_mismatch(desired, evidence),
        *units.problems_of(units.FABRIC_MANAGER, "active+enabled", evidence),
    ]
    return all_passed(problems, "%s, active" % lock["version"])


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
