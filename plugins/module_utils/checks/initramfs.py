# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer host_driver: every installed kernel's initramfs is there, fresh, and keeps nouveau away."""

from __future__ import annotations

import typing as t

from ..model import Desired, Evidence, Finding, Initramfs
from . import blockers
from .outcome import all_passed, failed, skipped, unknown
from .wanted import RUN_SITE, file_ok, running_kernel

#: What is found of a kernel that should have an image; no run reboots a node of which this is said.
NONE = "none in /boot"


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
    if reason == blockers.MISSING:
        yield failed(
            one.kernel,
            expected="an initramfs",
            actual=NONE,
            cause="Kernel %s has no initramfs, and would not find its root file system at boot." % one.kernel,
            fix="%s It builds one. Do not reboot into that kernel before." % RUN_SITE,
            repair="roles",
        )
    elif reason == blockers.INPUTS_CHANGED and edited:
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
