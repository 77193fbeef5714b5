# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What plays Ubuntu's archive: kernels and the server driver with its signed modules under Ubuntu's names, relations
and file names, and Debian's own packages for everything below them (Docker too).
"""

from __future__ import annotations

import shutil
import typing as t
from pathlib import Path

from . import repository
from .debs import Entry, Package, build, units_postrm, units_prerm
from .driver import PERSISTENCED_USER, empty_library, equal, firmware, library, nvidia_smi
from .prebuilt import Key, make_key, module
from .tools import FILES, debian_closure, run

SUITE = "noble"
SIGNER = "Canonical Ltd. Kernel Module Signing"
SERIES = "580-server"

#: ABI of a kernel -> its version, and the version of its modules for each driver. As in the archive, they are built
#: again (+1) when a driver comes, and a kernel that came after it has none for the one before.
KERNELS = {
    "6.8.0-79": ("6.8.0-79.79", {"580.159.03": "6.8.0-79.79", "580.178.04": "6.8.0-79.79+1"}),
    "6.8.0-84": ("6.8.0-84.84", {"580.178.04": "6.8.0-84.84"}),
}
DRIVERS = ("580.159.03", "580.178.04")
REVISION = "0ubuntu0.24.04.1"

#: Of Debian, as the archive's base: what is not played needs it, or a node installs it.
_BASE = (
    *("docker.io", "docker-cli", "containerd", "runc", "python3"),
    *("initramfs-tools", "linux-base", "kmod", "init-system-helpers", "passwd"),
)
_MODULES = (
    ("nvidia", ("bc03sc00i00*", "bc03sc02i00*", "bc06sc80i00*")),
    ("nvidia-uvm", ()),
    ("nvidia-modeset", ()),
)
#: Where initramfs-tools, DKMS and GRUB wait for a kernel that comes or goes.
_HOOKS = "/etc/kernel/%s.d"


def make(target: Path, cache: Path, fakes: Path) -> None:
    """Build the archive in ``target``; ``fakes`` holds the compiled fake libraries and programs."""
    workplace = target / "workplace"
    key = make_key(workplace, SIGNER)
    smi = nvidia_smi(cache, workplace)
    packages = [*_kernels(workplace, key), *_signed_modules(workplace, key)]
    for version in DRIVERS:
        packages += _driver(version, fakes, smi)
    # A source of its own, in universe, whose version is no driver's.
    packages.append(
        Package(
            "nvidia-modprobe",
            "535.161.07-1",
            "utility to load NVIDIA kernel modules and create device nodes",
            {"/usr/bin/nvidia-modprobe": Entry(fakes / "nvidia-modprobe", 0o4755)},
        )
    )
    for package in packages:
        build(package, target / "pool")
    for deb in debian_closure(cache, *_BASE).values():
        shutil.copy(deb, target / "pool")
    shutil.rmtree(workplace)
    repository.index(target, "Ubuntu", SUITE)


# --- kernels --------------------------------------------------------------------------------------------------------


def _kernels(workplace: Path, key: Key) -> t.Iterator[Package]:
    for abi, (version, _modules) in KERNELS.items():
        yield from _kernel(abi, version, workplace, key)
        metapackages = {
            "linux-image-generic": "linux-image-%s-generic, linux-modules-extra-%s-generic, linux-firmware"
            % (abi, abi),
            "linux-headers-generic": "linux-headers-%s-generic" % abi,
            "linux-generic": equal(version, "linux-image-generic", "linux-headers-generic"),
        }
        for name, depends in metapackages.items():
            yield Package(name, version, "generic kernel metapackage", {}, {"Depends": depends})
    yield Package("linux-firmware", "20240318.git3b128b60-0ubuntu2.1", "firmware for Linux kernel drivers")


def _kernel(abi: str, version: str, workplace: Path, key: Key) -> t.Iterator[Package]:
    release = abi + "-generic"
    modules = "/usr/lib/modules/%s" % release
    yield Package(
        "linux-image-" + release,
        version,
        "signed kernel image",
        {"/boot/vmlinuz-" + release: Entry("a kernel that nothing runs: %s\n" % release)},
        {"Depends": "kmod, linux-base, initramfs-tools | linux-initramfs-tool, linux-modules-" + release},
        {
            "postinst": 'case "$1" in\nconfigure | triggered)\n    %s\n    ;;\nesac\n'
            % _run_hooks("postinst", release),
            "postrm": 'if [ "$1" = remove ]; then\n    %s\nfi\n' % _run_hooks("postrm", release),
        },
        triggers=("interest-noawait linux-update-" + release,),
    )
    yield _modules_package(
        "linux-modules-" + release,
        version,
        release,
        {
            "/boot/config-" + release: Entry("CONFIG_RD_ZSTD=y\nCONFIG_MODULE_SIG=y\n"),
            "/boot/System.map-" + release: Entry("0000000000000000 A fixed_percpu_data\n"),
            **{"%s/modules.%s" % (modules, name): Entry("") for name in ("builtin", "builtin.modinfo", "order")},
        },
    )
    alias = "pci:v000010DEd*sv*sd*bc03sc*i*"
    nouveau = module(release, (("alias", alias), ("license", "GPL and additional rights")), workplace, key)
    yield _modules_package(
        "linux-modules-extra-" + release,
        version,
        release,
        {"%s/kernel/drivers/gpu/drm/nouveau/nouveau.ko.zst" % modules: Entry(_compressed(nouveau, workplace))},
        "linux-modules-" + release,
    )
    yield Package("linux-headers-" + abi, version, "kernel headers", architecture="all")
    yield Package(
        "linux-headers-" + release,
        version,
        "kernel headers of the flavour generic",
        {"/usr/src/linux-headers-%s/.config" % release: Entry("CONFIG_MODULE_SIG=y\n")},
        {"Depends": "linux-headers-" + abi},
    )


def _modules_package(
    name: str, version: str, release: str, entries: t.Mapping[str, Entry], depends: str = "kmod"
) -> Package:
    """One that brings modules, and has the hooks of the kernel's image run once more."""
    return Package(
        name,
        version,
        "modules for kernel %s" % release,
        entries,
        {"Depends": depends},
        {
            "postinst": 'if [ "$1" = configure ]; then\n    depmod %s\nfi\n' % release,
            "postrm": "if [ -d /lib/modules/%s/kernel ]; then\n    depmod %s\nfi\n" % (release, release),
        },
        triggers=("activate-noawait linux-update-" + release,),
    )


def _run_hooks(when: str, release: str) -> str:
    return 'DEB_MAINT_PARAMS="$*" run-parts --arg=%s --arg=/boot/vmlinuz-%s %s' % (release, release, _HOOKS % when)


def _compressed(content: bytes, workplace: Path) -> bytes:
    """From a file: depmod wants to know the size beforehand, and what comes through a pipe has none."""
    plain = workplace / "compressed.ko"
    plain.write_bytes(content)
    run("zstd", "-q", "-1", "--force", plain)
    return plain.with_name(plain.name + ".zst").read_bytes()


# --- the driver -----------------------------------------------------------------------------------------------------


def _signed_modules(workplace: Path, key: Key) -> t.Iterator[Package]:
    """The modules of each driver for each kernel. Of which driver they are, only their relations say."""
    for abi, (_version, builds) in KERNELS.items():
        for driver, version in builds.items():
            yield from _open_modules(abi + "-generic", driver, version, workplace, key)
            yield from _proprietary_modules(abi + "-generic", driver, version)


def _open_modules(release: str, driver: str, version: str, workplace: Path, key: Key) -> t.Iterator[Package]:
    directory = "/usr/lib/modules/%s/kernel/nvidia-580srv-open" % release
    asked = "nvidia-kernel-common-%s (<= %s-1), nvidia-kernel-common-%s (>= %s)" % (SERIES, driver, SERIES, driver)
    name = "linux-modules-nvidia-%s-open-%s" % (SERIES, release)
    yield _modules_package(
        name,
        version,
        release,
        {
            "%s/%s.ko" % (directory, stem): Entry(module(release, _fields(driver, aliases), workplace, key))
            for stem, aliases in _MODULES
        },
        "linux-image-%s | linux-image-unsigned-%s, %s" % (release, release, asked),
    )
    yield _modules_metapackage("linux-modules-nvidia-%s-open-generic" % SERIES, name, version, asked)


def _proprietary_modules(release: str, driver: str, version: str) -> t.Iterator[Package]:
    """With nothing in them: what can be tried is which of them are taken. In life they hold objects, which the node
    links, and the signatures of what comes of it; they take any later driver.
    """
    asked = "nvidia-kernel-common-%s (>= %s)" % (SERIES, driver)
    parts = ("linux-objects-nvidia-%s-%s" % (SERIES, release), "linux-signatures-nvidia-%s" % release)
    for part in parts:
        yield Package(part, version, "part of the proprietary modules", {}, {"Depends": "linux-image-" + release})
    name = "linux-modules-nvidia-%s-%s" % (SERIES, release)
    yield Package(name, version, "proprietary modules", {}, {"Depends": "%s, %s" % (equal(version, *parts), asked)})
    yield _modules_metapackage("linux-modules-nvidia-%s-generic" % SERIES, name, version, asked)


def _modules_metapackage(name: str, modules: str, version: str, asked: str) -> Package:
    return Package(
        name, version, "NVIDIA modules metapackage", {}, {"Depends": "%s, %s" % (equal(version, modules), asked)}
    )


def _fields(driver: str, aliases: t.Sequence[str]) -> t.List[t.Tuple[str, str]]:
    fields = [("version", driver), ("license", "Dual MIT/GPL")]
    fields += [("alias", "pci:v000010DEd*sv*sd*" + alias) for alias in aliases]
    if aliases:
        names = ("ModifyDeviceFiles", "DeviceFileUID", "DeviceFileGID", "DeviceFileMode")
        fields += [("parmtype", "NVreg_%s:int" % name) for name in names]
        fields += [("firmware", "nvidia/%s/gsp_%s.bin" % (driver, chip)) for chip in ("ga10x", "tu10x")]
    else:
        fields.append(("softdep", "pre: nvidia"))
    return fields


def _driver(version: str, fakes: Path, smi: Path) -> t.Iterator[Package]:
    """The user space of computing. Only the firmware is asked for at one version: nothing but a pin keeps the rest
    together.
    """
    full = "%s-%s" % (version, REVISION)
    libraries = {
        "libcuda": fakes / "libcuda.so",
        "libnvidia-ml": fakes / "libnvidia-ml.so",
        "libnvidia-ptxjitcompiler": empty_library(fakes, "libnvidia-ptxjitcompiler"),
    }
    yield library("libnvidia-compute-" + SERIES, full, libraries)
    yield library("libnvidia-cfg1-" + SERIES, full, {"libnvidia-cfg": empty_library(fakes, "libnvidia-cfg")})
    yield Package(
        "nvidia-utils-" + SERIES,
        full,
        "NVIDIA Server Driver support binaries",
        {"/usr/bin/nvidia-smi": Entry(smi, 0o755)},
        {"Depends": "libnvidia-compute-" + SERIES, "Provides": "nvidia-smi", "Conflicts": "nvidia-smi"},
    )
    yield _compute_utils(full, fakes)
    firmware_package = "nvidia-firmware-%s-%s" % (SERIES, version)
    yield Package(firmware_package, full, "firmware files used by the kernel module", firmware(version))
    yield Package(
        "nvidia-kernel-common-" + SERIES,
        full,
        "shared files used with the kernel module",
        {"/usr/lib/udev/rules.d/71-nvidia.rules": Entry(FILES / "ubuntu/71-nvidia.rules")},
        {
            "Depends": equal(full, firmware_package),
            "Provides": "nvidia-kernel-common",
            "Conflicts": "nvidia-kernel-common",
        },
    )


def _compute_utils(full: str, fakes: Path) -> Package:
    """With the daemon, whose unit udev starts: the package neither enables nor starts it."""
    unit = "nvidia-persistenced.service"
    return Package(
        "nvidia-compute-utils-" + SERIES,
        full,
        "NVIDIA compute utilities",
        {
            "/usr/bin/nvidia-persistenced": Entry(fakes / "nvidia-persistenced", 0o755),
            "/usr/lib/systemd/system/%s" % unit: Entry(FILES / "ubuntu" / unit),
        },
        {"Depends": "passwd, init-system-helpers, libnvidia-compute-%s, libnvidia-cfg1-%s" % (SERIES, SERIES)},
        {
            "postinst": PERSISTENCED_USER + "if [ -d /run/systemd/system ]; then\n    systemctl daemon-reload\nfi\n",
            "prerm": units_prerm(unit),
            "postrm": units_postrm(unit),
        },
    )
