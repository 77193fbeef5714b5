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
    one; None leaves the choice to the package manager. ``exact``: no other version will do. ``minimum``: the oldest
    that will do, where the choice is the package manager's. ``driver``: modules that are built, and of which driver,
    whatever version their package has.
    """

    names: t.Tuple[str, ...]
    version: t.Optional[str] = None
    required: bool = True
    exact: bool = True
    minimum: t.Optional[str] = None
    driver: t.Optional[str] = None

    @property
    def name(self) -> str:
        return self.names[0]


#: From this branch on NVIDIA's names on Ubuntu carry no branch.
_UBUNTU_PLAIN_NAMES = 590
#: NVIDIA's packages for Debian need this DKMS [2]; Debian 12 has 3.0.10, and NVIDIA's repository for it a newer one.
_NVIDIA_DKMS = "3.1.8"


def wanted(bundle: PlatformBundle) -> t.Dict[str, t.Tuple[Wanted, ...]]:
    """The packages to name, for each axis that is made of packages.

    :raises ValueError: when the platform has no such packages; the text is a Problem's
    """
    driver = driver_packages(bundle.platform, bundle.driver) + _own_dkms(bundle)
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
        return tuple(Wanted((name,)) for name in names) + _further_modules(platform, kernel.release)
    metapackage = kernel.metapackage or ""
    names = [metapackage]
    if headers and metapackage.startswith("linux-image-"):
        names.append(metapackage.replace("linux-image-", "linux-headers-", 1))
    return tuple(Wanted((name,)) for name in names)


def _further_modules(platform: str, release: str) -> t.Tuple[Wanted, ...]:
    """The other half of the drivers for hardware, which Ubuntu's metapackages of these flavours bring and the image
    does not ask for. Those of the clouds do without, and newer releases have one package of modules.
    """
    if not platform.startswith("ubuntu-") or not release.endswith(("-generic", "-lowlatency")):
        return ()
    return (Wanted(("linux-modules-extra-" + release,), required=False),)


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
    return (Wanted((modules_package(bundle, flavour),), driver=driver.version),)


def modules_package(bundle: PlatformBundle, kernel: str) -> str:
    """The precompiled modules for one kernel, or the metapackage of those for a flavour of it."""
    suffix = "-open" if bundle.driver.flavour == "open" else ""
    return "linux-modules-nvidia-%d-server%s-%s" % (bundle.driver.branch, suffix, kernel)


def _own_dkms(bundle: PlatformBundle) -> t.Tuple[Wanted, ...]:
    """NVIDIA's DKMS where the distribution's is too old for the driver's packages."""
    driver = bundle.driver
    if not bundle.platform.startswith("debian-12-") or (driver.source, driver.build) != ("nvidia", "dkms"):
        return ()
    return (Wanted(("dkms",), minimum=_NVIDIA_DKMS),)


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


#: Computing and nvidia-smi, no display and no video. In Ubuntu's archive nvidia-persistenced is inside
#: nvidia-compute-utils, which brings libnvidia-cfg1 for it [2]; firmware comes with nvidia-kernel-common, which the
#: modules need.
_UBUNTU_COMPUTE = ("libnvidia-compute", "nvidia-utils", "nvidia-compute-utils")


def _ubuntu_nvidia(driver: Driver) -> t.Tuple[Wanted, ...]:
    """NVIDIA's repositories for Ubuntu have persistenced and nvidia-modprobe apart, at the driver's version [2]."""
    branch = "-%d" % driver.branch if driver.branch < _UBUNTU_PLAIN_NAMES else ""
    module = "nvidia-dkms%s%s" % (branch, "-open" if driver.flavour == "open" else "")
    names = (module, *(name + branch for name in _UBUNTU_COMPUTE))
    apart = (
        Wanted(("nvidia-persistenced",), driver.version, required=False),
        Wanted(("nvidia-modprobe",), driver.version, exact=False),
    )
    return tuple(Wanted((name,), driver.version) for name in names) + apart


def _ubuntu_distro(driver: Driver) -> t.Tuple[Wanted, ...]:
    """The server series: it changes branch only when asked to."""
    series = "%d-server" % driver.branch
    module = "nvidia-dkms-%s%s" % (series, "-open" if driver.flavour == "open" else "")
    names = [module if driver.build == "dkms" else "nvidia-kernel-common-" + series]
    names += ["%s-%s" % (name, series) for name in _UBUNTU_COMPUTE]
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


#: What built modules ask of the driver's shared files: just its version, or the open ones a range around it.
_MODULES_ASK = re.compile(r"\bnvidia-kernel-common-\S+ \(>= (\d{3}\.\d+(?:\.\d+)?)")


def driver_of_modules(depends: str) -> t.Optional[str]:
    """The driver of which built modules are, by what their package depends on; None where that says nothing.

    The archive builds them for one kernel again and again, once for each driver, and their version is the kernel's.
    """
    match = _MODULES_ASK.search(depends)
    return match.group(1) if match else None


def choose(package: Wanted, name: str, candidate: t.Optional[str], versions: t.Sequence[str]) -> t.Optional[str]:
    """The full version to lock for one name; None when there is none that fits.

    Among several packagings of one version the package manager's own candidate is taken, else the newest, which stands
    first in ``versions``.
    """
    if package.version is None:
        return candidate if candidate and not _too_old(candidate, package.minimum) else None
    fitting = [full for full in versions if fits(full, package.version)]
    if not fitting and not package.exact:
        return candidate
    return candidate if candidate in fitting else fitting[0] if fitting else None


def _too_old(full: str, minimum: t.Optional[str]) -> bool:
    return minimum is not None and version_numbers(upstream(full)) < version_numbers(minimum)


def not_found(axis: str, lacking: t.Sequence[t.Tuple[Wanted, t.Sequence[str]]]) -> t.List[Problem]:
    """Versions of one axis that no repository has: a problem for all packages of which the same versions are there.

    :arg lacking: each package with the full versions of it that are there; built modules with the drivers they are of
    """
    groups: t.Dict[t.Tuple[t.Optional[str], t.Tuple[str, ...]], t.List[str]] = {}
    found = []
    for package, versions in lacking:
        there = tuple(dict.fromkeys(upstream(full) for full in versions))
        if package.driver and there:
            found.append(_modules_of_another(package, versions))
        elif package.minimum and there:
            found.append(_older_than_needed(package, there))
        else:
            groups.setdefault((package.version, there), []).append(" or ".join(package.names))
    return found + [_not_found(axis, version, there, names) for (version, there), names in groups.items()]


def _modules_of_another(package: Wanted, drivers: t.Sequence[str]) -> Problem:
    message = "has no built modules: %s is there for driver %s" % (package.name, " and ".join(drivers))
    fix = "Use %s, or a kernel for which there are modules of %s" % (drivers[0], package.driver)
    return Problem("driver.version", package.driver, message, fix)


def _older_than_needed(package: Wanted, there: t.Sequence[str]) -> Problem:
    message = "is too old in the repositories (%s): the driver's packages need %s" % (", ".join(there), package.minimum)
    return Problem(package.name, MISSING, message, "Add NVIDIA's repository for this release, which has a newer one")


def _not_found(axis: str, version: t.Optional[str], there: t.Sequence[str], names: t.Sequence[str]) -> Problem:
    path, value = "%s.version" % axis, version or MISSING
    if not there:
        fix = "Add the repository that has it to the platform's sources, or correct the bundle"
        return Problem(path, value, "cannot be had: no repository has %s" % ", ".join(names), fix)
    nearest = max(there, key=lambda other: _closeness(other, version or ""))
    shown = ", ".join(there[:8]) + (" and %d more" % (len(there) - 8) if len(there) > 8 else "")
    message = "cannot be had: the repositories have %s in %s" % (", ".join(names), shown)
    branch = _transitional(names, there)
    if branch:
        message += ": the names are transitional there and lead to branch %s, so that branch is gone" % branch
        return Problem(path, value, message, "Use %s, or another branch that the repositories have" % nearest)
    return Problem(path, value, message, "Use %s, the nearest, or add the repository that has it" % nearest)


def _transitional(names: t.Sequence[str], there: t.Sequence[str]) -> t.Optional[str]:
    """The branch that packages named for another one have turned into; None where the names mean what they say.

    A branch in a name (nvidia-utils-535-server) is no promise: Ubuntu makes it a transitional package of a later one.
    """
    named = {match.group(1) for match in (re.search(r"-(\d{3})(?:-server|-open|$)", name) for name in names) if match}
    held = {version.split(".")[0] for version in there}
    return max(held) if named and held and not named & held else None


def no_modules(release: str, names: t.Iterable[str]) -> Problem:
    """Precompiled modules that are not there for the kernel; a metapackage of each may lead to different kernels.

    :arg names: the packages that were found
    """
    found = (re.fullmatch(r"linux-modules-nvidia-\d+(?:-server)?(?:-open)?-(\d+\..+)", name) for name in names)
    there = sorted({match.group(1) for match in found if match}, key=version_numbers)
    message = "has no precompiled modules of this driver: there are some for %s" % (", ".join(there) or "no kernel")
    fix = "Use kernel.release: %s, or build: dkms" % there[-1] if there else "Use build: dkms"
    return Problem("kernel.release", release, message, fix)


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
