# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that DKMS builds for the wanted driver, for ``package_set``: whether it is there, and why it is not."""

from __future__ import annotations

import dataclasses
import typing as t

from .parse import dkms_log
from .parse.dkms_output import Build, failed_builds, skipped_for_headers
from .probe import kernel as kernel_probe
from .probe.initramfs import installed_kernels
from .system import System, known, said

Reason = t.Tuple[str, str]  # cause and fix


@dataclasses.dataclass(frozen=True)
class Dkms:
    """The module that must be there when the driver is installed: for which kernel, of which version."""

    kernel: str
    version: str

    @property
    def task(self) -> str:
        return "module nvidia %s: build for kernel %s" % (self.version, self.kernel)


def lacks(system: System, dkms: Dkms) -> bool:
    """A kernel that is not installed needs none yet."""
    return dkms.kernel in (known(installed_kernels(system)) or ()) and not _has(system, dkms)


def build(system: System, dkms: Dkms, timeout: float) -> t.Optional[Reason]:
    """Build the module; why it is not there afterwards. DKMS counts a kernel without headers as a success."""
    command = system.run(["dkms", "autoinstall", "-k", dkms.kernel], timeout)
    if _has(system, dkms):
        return None
    text = command.stdout + command.stderr
    headers = known(system.stat("/lib/modules/%s/build" % dkms.kernel))
    if headers is None or skipped_for_headers(text):
        return (
            "the headers of that kernel are not installed",
            "Install the headers of exactly that kernel (linux-headers-%s), or let the bundle's kernel axis do it"
            % dkms.kernel,
        )
    return why(system, text, dkms.kernel, dkms.version) or (said(command), "See dkms status on the node")


def why(system: System, text: str, kernel: str = "", version: str = "") -> t.Optional[Reason]:
    """Cause and fix of a build that failed, also by its log; None where no build did.

    :arg kernel: the one that the wanted driver is wanted for, where that is known
    :arg version: the wanted driver's
    """
    builds = failed_builds(text)
    if not builds:
        return None
    # What keeps the wanted driver from the wanted kernel comes before what else could not be built.
    build = min(builds, key=lambda one: (_is_old(one, version), not one.of_driver, one.kernel != kernel))
    reason = _from_log(system, build)
    driver = build.of_driver or not build.module
    cause = "DKMS could not build %s%s%s%s" % (
        "the module" if driver else "the module %s %s" % (build.module, build.version),
        " for kernel %s" % build.kernel if build.kernel else "",
        " (its log: %s)" % build.log if build.log else "",
        ": " + reason.cause if reason else "",
    )
    if reason and reason.whose == dkms_log.NODE:
        return cause, reason.fix
    if kernel and build.kernel not in ("", kernel):
        fix = (
            "Kernel %s is not the one that the lock's driver is wanted for (%s): remove its image and headers from the"
            " node (apt-get remove linux-image-%s linux-headers-%s), after a reboot where it is the one that runs"
        )
        return cause, fix % (build.kernel, kernel, build.kernel, build.kernel)
    if not driver:
        return cause, "%s is none of the lock's: remove it, or install one that builds on this kernel" % build.module
    if reason:
        return cause, reason.fix
    return cause, "Use a driver that builds on this kernel, or another kernel, in the bundle"


def replaced_driver(text: str, version: str) -> t.Optional[Build]:
    """The build that failed, where nothing failed but builds of other drivers than the wanted one."""
    builds = failed_builds(text)
    return builds[0] if builds and all(_is_old(build, version) for build in builds) else None


def _is_old(build: Build, version: str) -> bool:
    return build.of_driver and bool(version) and build.version != version


def _from_log(system: System, build: Build) -> t.Optional[dkms_log.Reason]:
    log = system.read(build.log).value if build.log else None
    if not log:
        return None
    running = system.read("/proc/version").value or ""
    return dkms_log.reason(log, running if running.startswith("Linux version %s " % build.kernel) else "")


def _has(system: System, dkms: Dkms) -> bool:
    module = known(kernel_probe.module_on_disk(system, dkms.kernel))
    return module is not None and module.version == dkms.version
