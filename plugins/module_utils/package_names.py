# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""To which axis of the lock a package belongs, by its name.

Pure, and apart from ``packages``, which a node never needs: the checks ask the same questions in every look.
"""

from __future__ import annotations

import re
import typing as t

#: Patterns of the driver's packages, as apt takes them in a pin: the whole set, not those that somebody thought of.
#: Names of Debian's and Ubuntu's packaging and of NVIDIA's repositories [2], with Debian's for displays and those that
#: are of use with NVLink only (nvidia-imex, libnvidia-nscq, libnvsdm, nvlink5; nvlsm has versions of its own).
DRIVER_GLOBS = (
    "nvidia-*",
    "libnvidia-*",
    "libcuda1",
    "libcuda1-*",
    "libcudadebugger1",
    "libnvcuvid1",
    "libnvoptix1",
    "libnvsdm*",
    "nvlink5*",
    "libegl-nvidia0",
    "libegl1-nvidia",
    "libgl1-nvidia-*",
    "libgles-nvidia*",
    "libglx-nvidia0",
    "firmware-nvidia-gsp",
    "firmware-nvidia-*-gsp",
    "cuda-drivers*",
    "linux-modules-nvidia-*",
    "linux-objects-nvidia-*",
    "linux-signatures-nvidia-*",
    "xserver-xorg-video-nvidia*",
)

TOOLKIT = (
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container-tools",
    "libnvidia-container1",
)
_FLAVOURS = ("generic", "virtual", "lowlatency", "oem", "aws", "azure", "gcp", "gke", "ibm", "kvm", "nvidia", "oracle")
#: Patterns of the packages that make a kernel, for a pin, with the metapackages that bring one (Ubuntu's by flavour).
KERNEL_GLOBS = (
    "linux-image-*",
    "linux-headers-*",
    "linux-modules-*",
    "linux-kbuild-*",
    "linux-*-headers-*",
    *("linux-%s*" % flavour for flavour in _FLAVOURS),
)

_FABRIC = r"nvidia-fabric-?manager(-\d+)?(-dev)?"
#: NVIDIA's name in front, and not part of a driver: toolkit, CUDA, tools, pins.
_NOT_DRIVER = re.compile(
    r"(lib)?nvidia-(container|docker|cuda|cudnn|driver-(pinning|assistant)|mig-|nsight|gds|fs(-|$)|visual-profiler"
    r"|profiler|texture-tools|installer-cleanup|support$)|nvidia-openjdk|linux-(modules|objects)-nvidia-(?!\d)"
)
#: Parts of the driver that distributions keep in sources of their own, with versions of their own.
_OWN_VERSION = re.compile(r"nvidia-(modprobe|persistenced|settings|xconfig)")
#: Ubuntu's firmware has its version in its name, so that those of two drivers stand beside each other.
_VERSION_IN_NAME = re.compile(r"nvidia-firmware-\d.*-\d{3}\.\d+(\.\d+)?")
_PINNING = re.compile(r"nvidia-driver-pinning-(\d{3}(?:\.\d+)*)")
_DRIVER = re.compile("|".join(glob.replace("*", ".*") for glob in DRIVER_GLOBS))
_DOCKER = re.compile(r"docker-ce(-cli|-rootless-extras)?|containerd\.io|docker\.io|docker-cli|containerd|runc")
_KERNEL = re.compile(
    r"linux-(image|headers|modules|kbuild|main-modules)(-.+)?|linux-[a-z0-9.-]+-headers-\d.*|linux-compiler-.+"
    r"|linux-(%s)(-(hwe|lts|edge|fips|64k|lowlatency)\S*|-\d+\.\d+\S*)?" % "|".join(_FLAVOURS)
)


def axis_of(name: str) -> t.Optional[str]:
    """The axis of the lock that a package belongs to; None for a package that this collection does not move."""
    if name in TOOLKIT:
        return "toolkit"
    if re.fullmatch(_FABRIC, name):
        return "fabric_manager"
    if belongs_to_driver_set(name):
        return "driver"
    if _DOCKER.fullmatch(name):
        return "docker"
    return "kernel" if _KERNEL.fullmatch(name) else None


def belongs_to_driver_set(name: str) -> bool:
    """Whether a package carries a part of the driver, and so moves with it."""
    return bool(_DRIVER.fullmatch(name)) and not _NOT_DRIVER.match(name) and not re.fullmatch(_FABRIC, name)


def has_driver_version(name: str) -> bool:
    """Whether a package must have the driver's own version wherever it is installed."""
    return belongs_to_driver_set(name) and not (has_own_version(name) or has_version_in_name(name))


def has_own_version(name: str) -> bool:
    """Whether a part of the driver may have a version of its own, so that it need not move with the driver."""
    return bool(_OWN_VERSION.fullmatch(name))


def has_version_in_name(name: str) -> bool:
    """Whether a part of the driver has its version in its name: an upgrade brings another package beside it."""
    return bool(_VERSION_IN_NAME.fullmatch(name))


def pinned_by(name: str) -> t.Optional[str]:
    """Branch or version to which one of NVIDIA's pinning packages pins the driver; None for any other package."""
    match = _PINNING.fullmatch(name)
    return match.group(1) if match else None


_KERNEL_MODULES = re.compile(r"linux-(modules|objects)-nvidia-\d|linux-signatures-nvidia-")
_ONE_KERNEL = re.compile(r"linux-(kbuild-\d|\S*-\d+\.\d+\.\d+)")
_BRANCH = r"(-\d+)?(-server)?(-open)?"
#: Packages that bring the driver's kernel module, by the part of their name that is the same for every kernel: Ubuntu's
#: and NVIDIA's for DKMS there, Debian's and NVIDIA's for DKMS, precompiled ones [2]. Modules of other makers are none
#: (nvidia-fs-dkms, nvidia-peer-memory-dkms).
_MODULE_SERIES = re.compile(
    r"nvidia-dkms%s$|nvidia-((legacy-\d+xx|tesla(-\d+)?|current|open)-)*kernel(-open)?-(dkms|source)%s$"
    r"|linux-(modules|objects)-nvidia-\d+(-server)?(-open)?(?=-)|linux-signatures-nvidia(?=-)" % (_BRANCH, _BRANCH)
)
_DRIVER_VERSION = re.compile(r"(?:\d+:)?(\d{3}\.\d{2,3}(?:\.\d{2})?)(?=[-+~]|$)")


def driver_version_in(full: str) -> t.Optional[str]:
    """The driver's version in a package's full version: ``580.159.03-1`` -> ``580.159.03``; None without one."""
    match = _DRIVER_VERSION.match(full)
    return match.group(1) if match else None


def moves_with(name: str, version: str, driver: str) -> bool:
    """Whether an installed package is a part of this driver, named by the lock or not: an upgrade of it alone would
    break the set. Parts with a version of their own (nvidia-settings, libnvidia-egl-wayland1) may move by themselves.
    Precompiled modules for one kernel belong to that kernel, and depend on one version of the driver.
    """
    if not belongs_to_driver_set(bare(name)):
        return False
    return driver_version_in(version) == driver or (are_built_modules(name) and not is_of_one_kernel(name))


def are_built_modules(name: str) -> bool:
    """Whether a package has modules that were built for one kernel and one driver, or leads to such."""
    return bool(_KERNEL_MODULES.match(name))


def is_of_one_kernel(name: str) -> bool:
    """Whether a package is made for one kernel and named for it, as no metapackage is (``linux-generic-hwe-24.04``)."""
    return bool(_ONE_KERNEL.match(name))


def of_another_driver(name: str, version: str, driver: str) -> bool:
    """Whether an installed package is a part of another driver than this one."""
    return has_driver_version(bare(name)) and driver_version_in(version) not in (None, driver)


def module_series(name: str) -> t.Optional[str]:
    """Of which make a package's kernel module is, for whichever kernel: ``linux-modules-nvidia-580-server-open`` of
    ``linux-modules-nvidia-580-server-open-6.8.0-90-generic``, ``nvidia-dkms-580`` of itself; None of any other package.
    """
    match = _MODULE_SERIES.match(name)
    return match.group(0) if match else None


def is_other_module(name: str, wanted: t.Iterable[str]) -> bool:
    """Whether a package brings a kernel module of another make than the wanted packages do, of whatever version: of two
    modules depmod takes the one whose folder comes first (on Ubuntu DKMS's before the signed one), not the lock's.

    Precompiled modules of the same make for another kernel are none: that kernel needs them to be a way back.
    """
    series = module_series(bare(name))
    if series is None:
        return False
    makes = {make for make in (module_series(bare(other)) for other in wanted) if make}
    return bool(makes) and series not in makes


def bare(name: str) -> str:
    """A package's name without the architecture, which one of a foreign architecture carries."""
    return name.partition(":")[0]
