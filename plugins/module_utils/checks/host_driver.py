# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer host_driver: the kernel, what else holds the GPU, and the driver's libraries.

The module itself is judged in ``module``, its flavour in ``flavour``, its signature in ``secure_boot``; images, the
fabric manager and what the driver answers in ``initramfs``, ``fabric`` and ``answers``.
"""

from __future__ import annotations

import typing as t

from ..model import LIBRARIES, Desired, Evidence, Finding, Library
from . import blockers
from . import module as nvidia
from .outcome import all_passed, failed, passed
from .wanted import (
    REBOOT,
    RUN_SITE,
    driver_version,
    kernel_packages_installed,
    kernel_release,
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
    lacking = _lacking_to_boot(desired, evidence, want) if installed else None
    if lacking:
        return [_not_yet(running, want, *lacking)]
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


def _lacking_to_boot(desired: Desired, evidence: Evidence, want: str) -> t.Optional[t.Tuple[str, str]]:
    """What a kernel lacks, in short and as a sentence, so that the node would not come up, or without its GPUs."""
    if blockers.lacks_initramfs(evidence, want):
        return "the initramfs", "it has no initramfs, and would not find its root file system."
    ahead = evidence.module_to_boot
    if ahead.known and not nvidia.is_built(desired, ahead.value):
        return "the module", "no nvidia module is built for it. %s" % nvidia.dkms_says(desired, evidence, want)
    return None


def _not_yet(running: str, want: str, lacking: str, why: str) -> Finding:
    return failed(
        expected=want,
        actual=running,
        cause="The node runs another kernel than the lock's, and must not be rebooted into that: %s" % why,
        fix="%s It builds %s; then a reboot is due." % (RUN_SITE, lacking),
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
