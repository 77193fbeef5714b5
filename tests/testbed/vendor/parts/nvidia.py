# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver's repository: the vendor's package names, relations and file names, around the fake libraries, a kernel
module of a few lines that DKMS really builds, and the unmodified nvidia-smi of Debian."""

from __future__ import annotations

import typing as t
from pathlib import Path

from . import repository
from .debs import Entry, Package, build, units_postinst, units_postrm, units_prerm
from .driver import PERSISTENCED_USER, empty_library, equal, firmware, library, nvidia_smi, upstream
from .tools import FILES, fill, run

#: upstream version -> may its kernel module be built? The newest one may not.
DRIVERS = {"580.159.03": True, "580.178.04": True, "595.71.05": False}
BRANCHES = ("580", "595")
REVISION = "1"

#: Every name whose version the driver's pinning packages hold down.
_PINNED = (
    "nvidia-driver-cuda libcuda1 libnvidia-ml1 libnvidia-cfg1 libnvidia-ptxjitcompiler1 nvidia-kernel-open-dkms "
    "nvidia-kernel-dkms nvidia-kernel-support firmware-nvidia-gsp nvidia-persistenced nvidia-modprobe "
    "nvidia-fabricmanager nvidia-open cuda-drivers"
)


def make(target: Path, cache: Path, fakes: Path) -> None:
    """Build the repository in ``target``; ``fakes`` holds the compiled fake libraries and programs."""
    smi = nvidia_smi(cache, target / "unpacked")
    for version, builds in DRIVERS.items():
        for package in _packages(version, builds, fakes, smi):
            build(package, target / "pool")
    run("rm", "-r", target / "unpacked")
    repository.index(target, "NVIDIA")


def _packages(version: str, builds: bool, fakes: Path, smi: Path) -> t.Iterator[Package]:
    full = "%s-%s" % (version, REVISION)
    yield Package(
        "nvidia-driver-cuda",
        full,
        "NVIDIA driver CUDA integration components",
        {"/usr/bin/nvidia-smi": Entry(smi, 0o755)},
        {
            "Depends": equal(full, "libcuda1", "libnvidia-ml1", "nvidia-modprobe", "nvidia-persistenced")
            + ", nvidia-kernel-open-dkms (= %s) | nvidia-kernel-dkms (= %s)" % (full, full),
            "Conflicts": "nvidia-smi",
            "Replaces": "nvidia-smi",
            "Provides": "nvidia-smi (= %s)" % full,
        },
    )
    cuda = {"libcuda": fakes / "libcuda.so"}
    yield library("libcuda1", full, cuda, equal(full, "libnvidia-ptxjitcompiler1"))
    yield library("libnvidia-ml1", full, {"libnvidia-ml": fakes / "libnvidia-ml.so"})
    for name in ("libnvidia-ptxjitcompiler", "libnvidia-cfg"):
        yield library(name + "1", full, {name: empty_library(fakes, name)})
    yield _dkms("nvidia-kernel-open-dkms", "nvidia-kernel-dkms", full, "Dual MIT/GPL", builds)
    yield _dkms("nvidia-kernel-dkms", "nvidia-kernel-open-dkms", full, "NVIDIA", builds)
    yield Package(
        "nvidia-kernel-support",
        full,
        "NVIDIA kernel module support files",
        {"/usr/lib/udev/rules.d/60-nvidia.rules": Entry(FILES / "nvidia/60-nvidia.rules")},
        {"Depends": equal(full, "nvidia-modprobe")},
    )
    yield Package(
        "firmware-nvidia-gsp",
        full,
        "NVIDIA GSP firmware",
        firmware(version),
    )
    yield _persistenced(full, fakes)
    yield Package(
        "nvidia-modprobe",
        full,
        "utility to load NVIDIA kernel modules and create device nodes",
        {"/usr/bin/nvidia-modprobe": Entry(fakes / "nvidia-modprobe", 0o4755)},
    )
    yield _fabricmanager(version, full)
    for pinning in {version.split(".", maxsplit=1)[0], version}:
        yield _pinning(pinning, full)
    # The metapackages ask for "this or newer": installing an older one by name alone still brings the newest driver.
    yield _meta("nvidia-open", full, "nvidia-kernel-open-dkms")
    yield _meta("cuda-drivers", full, "nvidia-kernel-dkms")


def _dkms(name: str, other: str, full: str, license_name: str, builds: bool) -> Package:
    version = upstream(full)
    source = "/usr/src/nvidia-%s" % version
    values = {"VERSION": version, "LICENSE": license_name, "DEFINES": "" if builds else "-DNV_FOR_OLD_KERNELS"}
    entries = {"%s/%s" % (source, path.name): Entry(path) for path in sorted((FILES / "dkms").glob("*.c"))}
    for template in sorted((FILES / "dkms").glob("*.in")):
        entries["%s/%s" % (source, template.stem)] = Entry(fill(template, values))
    return Package(
        name,
        full,
        "NVIDIA kernel module DKMS source (%s)" % license_name,
        entries,
        {
            "Depends": "dkms (>= 3.1.8), " + equal(full, "firmware-nvidia-gsp", "nvidia-kernel-support"),
            "Conflicts": other,
            "Replaces": other,
        },
        {
            # dh-dkms' own call; for all kernels that have headers, not only the running and the newest one.
            "postinst": 'if [ "$1" = configure ]; then\n'
            "    autoinstall_all_kernels=yes\n"
            "    export autoinstall_all_kernels\n"
            '    /usr/lib/dkms/common.postinst nvidia %s /usr/share/nvidia-dkms "" "$2"\n'
            "fi\n" % version,
            "prerm": 'case "$1" in\n'
            "remove | upgrade | deconfigure)\n"
            '    if [ -n "$(dkms status -m nvidia -v %s)" ]; then\n'
            "        dkms remove -m nvidia -v %s --all\n"
            "    fi\n"
            "    ;;\n"
            "esac\n" % (version, version),
        },
    )


def _persistenced(full: str, fakes: Path) -> Package:
    unit = "nvidia-persistenced.service"
    return Package(
        "nvidia-persistenced",
        full,
        "daemon to maintain persistent software state in the NVIDIA driver",
        {
            "/usr/bin/nvidia-persistenced": Entry(fakes / "nvidia-persistenced", 0o755),
            "/usr/lib/systemd/system/%s" % unit: Entry(FILES / "nvidia" / unit),
        },
        {"Depends": "passwd, init-system-helpers, " + equal(full, "libnvidia-cfg1")},
        {
            "postinst": PERSISTENCED_USER + units_postinst(unit, start=(unit,)),
            "prerm": units_prerm(unit),
            "postrm": units_postrm(unit),
        },
    )


def _fabricmanager(version: str, full: str) -> Package:
    unit = "nvidia-fabricmanager.service"
    return Package(
        "nvidia-fabricmanager",
        full,
        "Fabric Manager for NVSwitch based systems",
        {
            "/usr/bin/nv-fabricmanager": Entry(fill(FILES / "nvidia/nv-fabricmanager.in", {"VERSION": version}), 0o755),
            "/usr/lib/systemd/system/%s" % unit: Entry(FILES / "nvidia" / unit),
        },
        # No relation to the driver, as in life: nothing but an exact pin keeps the two together. Nor does the package
        # enable its unit.
        {},
        {"prerm": units_prerm(unit), "postrm": units_postrm(unit)},
    )


def _pinning(pinning: str, full: str) -> Package:
    text = "Package: %s\nPin: version %s*\nPin-Priority: 1000\n" % (
        _PINNED,
        pinning + "." if pinning in BRANCHES else pinning + "-",
    )
    path = "/etc/apt/preferences.d/nvidia-driver-pin"
    relations = {"Provides": "nvidia-driver-pinning", "Conflicts": "nvidia-driver-pinning"}
    name = "nvidia-driver-pinning-%s" % pinning
    return Package(name, full, "pins the driver to %s" % pinning, {path: Entry(text)}, relations, architecture="all")


def _meta(name: str, full: str, module: str) -> Package:
    depends = ", ".join("%s (>= %s)" % (wanted, full) for wanted in ("nvidia-driver-cuda", module))
    return Package(name, full, "NVIDIA driver metapackage", {}, {"Depends": depends})
