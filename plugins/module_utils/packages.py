# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which packages an axis of the bundle means on a platform, and which of their versions are meant.

Pure. Only the packages that must be named are listed: what they depend on enters the lock when the set is resolved.
Names of NVIDIA's repository for Debian 13 are tried on the test bed's; those for Ubuntu follow the vendor's
documentation and are tried when a lock is made: a name that no repository has is an error there.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .bundle import MISSING, Docker, Driver, Kernel, PlatformBundle, Problem
from .package_names import TOOLKIT
from .version import version_numbers


@dataclasses.dataclass(frozen=True)
class Wanted:
    """One package of an axis.

    ``names`` are alternatives, the first that a repository has is taken. ``version`` is the upstream version or a full
    one; None leaves the choice to the package manager.
    """

    names: t.Tuple[str, ...]
    version: t.Optional[str] = None
    required: bool = True

    @property
    def name(self) -> str:
        return self.names[0]


#: From this branch on NVIDIA's names on Ubuntu carry no branch.
_UBUNTU_PLAIN_NAMES = 590


def wanted(bundle: PlatformBundle) -> t.Dict[str, t.Tuple[Wanted, ...]]:
    """The packages to name, for each axis that is made of packages.

    :raises ValueError: when the platform has no such packages; the text is a Problem's
    """
    driver = driver_packages(bundle.platform, bundle.driver)
    found = {
        "kernel": kernel_packages(bundle.platform, bundle.kernel, bundle.driver.build),
        "driver": driver + modules_for(bundle),
        "toolkit": toolkit_packages(bundle.toolkit.version),
        "docker": docker_packages(bundle.docker),
    }
    if bundle.fabric_manager:
        found["fabric_manager"] = fabric_packages(bundle.fabric_manager.version)
    return found


def toolkit_packages(version: str) -> t.Tuple[Wanted, ...]:
    """All four at one version: naming only the first lets apt take newer ones for the rest."""
    return tuple(Wanted((name,), version) for name in TOOLKIT)


def fabric_packages(version: str) -> t.Tuple[Wanted, ...]:
    return (Wanted(("nvidia-fabricmanager", "nvidia-fabricmanager-%s" % version.split(".")[0]), version),)


def docker_packages(docker: Docker) -> t.Tuple[Wanted, ...]:
    if docker.source == "docker-ce":
        return (
            Wanted(("docker-ce",), docker.version),
            Wanted(("docker-ce-cli",), docker.version),
            Wanted(("containerd.io",), docker.containerd),
        )
    return (
        Wanted(("docker.io",), docker.version),
        Wanted(("docker-cli",), docker.version, required=False),  # inside docker.io before Debian 13
        Wanted(("containerd",), docker.containerd),
        Wanted(("runc",)),
    )


def kernel_packages(platform: str, kernel: Kernel, build: str) -> t.Tuple[Wanted, ...]:
    """Image and, where modules are built on the node, headers: they move together or not at all."""
    headers = build == "dkms"
    if kernel.release:
        names = ["linux-image-" + kernel.release]
        if platform.startswith("ubuntu-"):
            names.append("linux-modules-" + kernel.release)
        names += ["linux-headers-" + kernel.release] if headers else []
        return tuple(Wanted((name,)) for name in names)
    metapackage = kernel.metapackage or ""
    names = [metapackage]
    if headers and metapackage.startswith("linux-image-"):
        names.append(metapackage.replace("linux-image-", "linux-headers-", 1))
    return tuple(Wanted((name,)) for name in names)


def driver_packages(platform: str, driver: Driver) -> t.Tuple[Wanted, ...]:
    """Modules, CUDA and management libraries, nvidia-smi, persistenced, nvidia-modprobe: computing, no display.

    :raises ValueError: when the source has no such packages for the platform
    """
    family = platform.split("-")[0]
    key = (family, driver.source, driver.build)
    if key not in _DRIVER_SETS:
        known = [
            "source: %s with build: %s" % (source, build) for name, source, build in _DRIVER_SETS if name == family
        ]
        fix = "Use %s" % " or ".join(known) if known else "Use a platform of Debian or Ubuntu"
        message = "has no packages with build: %s on %s" % (driver.build, platform)
        raise ValueError(str(Problem("driver.source", driver.source, message, fix)))
    return _DRIVER_SETS[key](driver)


def modules_for(bundle: PlatformBundle) -> t.Tuple[Wanted, ...]:
    """Precompiled modules are made for one kernel, and have the kernel's version and not the driver's."""
    driver, kernel = bundle.driver, bundle.kernel
    if driver.build != "precompiled":
        return ()
    flavour = kernel.release or (kernel.metapackage or "").replace("linux-image-", "").replace("linux-", "")
    suffix = "-open" if driver.flavour == "open" else ""
    return (Wanted(("linux-modules-nvidia-%d-server%s-%s" % (driver.branch, suffix, flavour),)),)


def _debian_nvidia(driver: Driver) -> t.Tuple[Wanted, ...]:
    module = "nvidia-kernel-open-dkms" if driver.flavour == "open" else "nvidia-kernel-dkms"
    names = (module, "nvidia-driver-cuda", "libcuda1", "libnvidia-ml1", "nvidia-persistenced", "nvidia-modprobe")
    return tuple(Wanted((name,), driver.version) for name in names)


def _debian_distro(driver: Driver) -> t.Tuple[Wanted, ...]:
    """Debian keeps persistenced and nvidia-modprobe in sources of their own, with versions of their own."""
    module = "nvidia-open-kernel-dkms" if driver.flavour == "open" else "nvidia-kernel-dkms"
    exact = tuple(Wanted((name,), driver.version) for name in (module, "nvidia-smi", "libcuda1", "libnvidia-ml1"))
    return exact + (
        Wanted(("firmware-nvidia-gsp",), driver.version, required=driver.flavour == "open"),
        Wanted(("nvidia-persistenced",)),
        Wanted(("nvidia-modprobe",)),
    )


def _ubuntu_nvidia(driver: Driver) -> t.Tuple[Wanted, ...]:
    branch = "-%d" % driver.branch if driver.branch < _UBUNTU_PLAIN_NAMES else ""
    module = "nvidia-dkms%s%s" % (branch, "-open" if driver.flavour == "open" else "")
    names = (module, "libnvidia-compute" + branch, "nvidia-utils" + branch, "nvidia-compute-utils" + branch)
    return tuple(Wanted((name,), driver.version) for name in names) + (Wanted(("nvidia-modprobe",)),)


def _ubuntu_distro(driver: Driver) -> t.Tuple[Wanted, ...]:
    """The server series: it changes branch only when asked to."""
    series = "%d-server" % driver.branch
    module = "nvidia-dkms-%s%s" % (series, "-open" if driver.flavour == "open" else "")
    names = ["libnvidia-compute-" + series, "nvidia-utils-" + series, "nvidia-compute-utils-" + series]
    names.insert(0, module if driver.build == "dkms" else "nvidia-kernel-common-" + series)
    return tuple(Wanted((name,), driver.version) for name in names) + (Wanted(("nvidia-modprobe",)),)


_DRIVER_SETS: t.Dict[t.Tuple[str, str, str], t.Callable[[Driver], t.Tuple[Wanted, ...]]] = {
    ("debian", "nvidia", "dkms"): _debian_nvidia,
    ("debian", "distro", "dkms"): _debian_distro,
    ("ubuntu", "nvidia", "dkms"): _ubuntu_nvidia,
    ("ubuntu", "distro", "dkms"): _ubuntu_distro,
    ("ubuntu", "distro", "precompiled"): _ubuntu_distro,
}


# --- versions -----------------------------------------------------------------------------------------------------


def upstream(full: str) -> str:
    """A full version without epoch and revision: ``5:26.1.4-1~debian.13~trixie`` -> ``26.1.4``."""
    without_epoch = full.split(":", 1)[-1]
    return without_epoch.rpartition("-")[0] or without_epoch


def fits(full: str, version: str) -> bool:
    """Whether a full version is the one that the bundle means: the same, or with additions of the packager.

    ``1.7.24~ds1`` is Debian's 1.7.24; ``1.20.0~rc.1`` is not 1.20.0 yet.
    """
    bare = upstream(full)
    return (
        version in (full, bare, full.split(":", 1)[-1])
        or re.match(re.escape(version) + r"(?:[+-]|~(?!rc|alpha|beta))", bare) is not None
    )


def choose(package: Wanted, name: str, candidate: t.Optional[str], versions: t.Sequence[str]) -> t.Optional[str]:
    """The full version to lock for one name; None when there is none that fits.

    Among several packagings of one version the package manager's own candidate is taken, else the newest, which stands
    first in ``versions``.
    """
    if package.version is None:
        return candidate
    fitting = [full for full in versions if fits(full, package.version)]
    return candidate if candidate in fitting else fitting[0] if fitting else None


def not_found(axis: str, lacking: t.Sequence[t.Tuple[Wanted, t.Sequence[str]]]) -> t.List[Problem]:
    """Versions of one axis that no repository has: a problem for all packages of which the same versions are there.

    :arg lacking: each package with the full versions of it that are there
    """
    groups: t.Dict[t.Tuple[t.Optional[str], t.Tuple[str, ...]], t.List[str]] = {}
    for package, versions in lacking:
        there = tuple(dict.fromkeys(upstream(full) for full in versions))
        groups.setdefault((package.version, there), []).append(" or ".join(package.names))
    return [_not_found(axis, version, there, names) for (version, there), names in groups.items()]


def _not_found(axis: str, version: t.Optional[str], there: t.Sequence[str], names: t.Sequence[str]) -> Problem:
    path, value = "%s.version" % axis, version or MISSING
    if not there:
        fix = "Add the repository that has it to the platform's sources, or correct the bundle"
        return Problem(path, value, "cannot be had: no repository has %s" % ", ".join(names), fix)
    nearest = max(there, key=lambda other: _closeness(other, version or ""))
    shown = ", ".join(there[:8]) + (" and %d more" % (len(there) - 8) if len(there) > 8 else "")
    message = "cannot be had: the repositories have %s in %s" % (", ".join(names), shown)
    return Problem(path, value, message, "Use %s, the nearest, or add the repository that has it" % nearest)


def no_kernel(release: str, names: t.Iterable[str]) -> Problem:
    """A kernel that no repository has (any more), with those that are there.

    :arg names: every package name that begins with linux-image-
    """
    found = (re.fullmatch(r"linux-image-(\d.*?)", name) for name in names)
    there = sorted(
        {match.group(1) for match in found if match and not match.group(1).endswith(("-dbg", "-unsigned"))},
        key=version_numbers,
        reverse=True,
    )
    same = [other for other in there if _flavour_of(other) == _flavour_of(release)] or there
    message = "cannot be had: the repositories have %s" % (", ".join(same[:8]) or "no kernel")
    fix = "Use one of these, or a metapackage (kernel.metapackage), or add the repository that has it"
    return Problem("kernel.release", release, message, fix)


def _flavour_of(release: str) -> str:
    """``6.12.57+deb13-cloud-amd64`` -> ``cloud-amd64``, ``6.8.0-45-generic`` -> ``generic``."""
    return re.sub(r"^[^-]*(-\d+)?-", "", release)


def _closeness(version: str, other: str) -> t.Tuple[int, int]:
    """How many leading numbers are the same, and how near the first that differs is."""
    ours, theirs = version_numbers(version), version_numbers(other)
    same = 0
    while same < min(len(ours), len(theirs)) and ours[same] == theirs[same]:
        same += 1
    if same < min(len(ours), len(theirs)):
        return same, -abs(ours[same] - theirs[same])
    return same, 0
