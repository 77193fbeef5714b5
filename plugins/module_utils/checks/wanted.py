# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions to a ``Desired`` and an ``Evidence`` that checks of several layers ask."""

from __future__ import annotations

import re
import typing as t

from ..model import Desired, Evidence, PciDevice

#: Module options that are in force only after the module was loaded anew; written by the device_access role.
NVIDIA_OPTIONS = "/etc/modprobe.d/goldennode-nvidia.conf"

RUN_SITE = "Run site.yml on this node."
REBOOT = "Reboot the node; site.yml does it with golden_allow_reboot=true."
RELOAD = (
    "Reboot the node, or load the driver anew where nothing uses it; site.yml does the one with "
    "golden_allow_reboot=true, the other with driver_allow_reload=true."
)


def setting(desired: Desired, name: str) -> t.Any:
    """The value of a public role variable, ``<role>_<name>``. One that is not there is an error, not a default."""
    for variables in desired.settings.values():
        if name in variables:
            return variables[name]
    raise KeyError("the wanted state of platform %s has no variable %s" % (desired.platform, name))


def driver_version(desired: Desired) -> str:
    return str(desired.lock["driver"]["version"])


def nvswitches(pci: t.Iterable[PciDevice]) -> t.List[PciDevice]:
    return [device for device in pci if device.nvswitch]


def gpus(pci: t.Iterable[PciDevice]) -> t.List[PciDevice]:
    """The GPUs of this node. One that is set aside for a virtual machine is none of them, and is left alone."""
    return [device for device in pci if device.is_gpu and not device.set_aside]


def set_aside(pci: t.Iterable[PciDevice]) -> t.List[PciDevice]:
    return [device for device in pci if device.is_gpu and device.set_aside]


def packages(desired: Desired, pci: t.Iterable[PciDevice]) -> t.Dict[str, str]:
    """Every package this node shall have, with its version; the fabric manager only where there is an NVSwitch."""
    found: t.Dict[str, str] = {}
    for axis in package_axes(desired, pci):
        found.update((desired.lock.get(axis) or {}).get("packages") or {})
    return found


def package_axes(desired: Desired, pci: t.Iterable[PciDevice]) -> t.List[str]:
    """The axes of the lock whose packages this node shall have."""
    axes = ["driver", "toolkit", "docker"]
    if setting(desired, "kernel_pin"):
        axes.append("kernel")
    if nvswitches(pci):
        axes.append("fabric_manager")
    return axes


def kernel_release(desired: Desired) -> t.Optional[str]:
    """What ``uname -r`` shall say; None where the kernel is not the bundle's business."""
    if not setting(desired, "kernel_pin"):
        return None
    release = (desired.lock.get("kernel") or {}).get("release")
    return str(release) if release else None


def running_kernel(evidence: Evidence) -> str:
    return evidence.boot.value.kernel if evidence.boot.value else "unknown"


def kernel_packages_installed(desired: Desired, evidence: Evidence) -> bool:
    there = evidence.packages.value or {}
    packages = (desired.lock.get("kernel") or {}).get("packages") or {}
    return all(name in there and there[name].version == version for name, version in packages.items())


def driver_params(desired: Desired) -> t.Dict[str, int]:
    """The NVreg_ parameters wanted, as the driver prints them, read from the very file that sets them.

    The file writes octal with a leading 0, as modprobe wants it; the driver prints decimal.
    """
    file = desired.files.get(NVIDIA_OPTIONS)
    pairs = re.findall(r"\bNVreg_(\w+)=(0[xX][0-9a-fA-F]+|[0-9]+)", (file.content if file else None) or "")
    return {name: c_integer(value) for name, value in pairs}


def c_integer(text: str) -> int:
    """An integer as C reads it: 0x is hexadecimal, a leading 0 octal."""
    if text[:2].lower() == "0x":
        return int(text, 16)
    return int(text, 8 if text.startswith("0") else 10)


def octal(mode: int) -> str:
    return "0%o" % mode


def injections(desired: Desired) -> t.Tuple[str, ...]:
    """The ways by which a container must see the GPUs."""
    return tuple(setting(desired, "golden_container_injections"))


def cdi_wanted(desired: Desired) -> bool:
    features = desired.daemon.get("features")
    return isinstance(features, dict) and features.get("cdi") is True


def rootless(evidence: Evidence) -> bool:
    engine = evidence.docker.value
    return engine is not None and any("rootless" in option for option in engine.security_options)


def selinux_confines(desired: Desired, evidence: Evidence) -> bool:
    """Whether Docker has SELinux confine containers, or shall have: it is off where nobody has switched it on."""
    engine = evidence.docker.value
    there = engine is not None and any("name=selinux" in option for option in engine.security_options)
    return there or desired.daemon.get("selinux-enabled") is True


def file_ok(desired: Desired, evidence: Evidence, path: str) -> bool:
    """Whether a managed file is known to be on the node with the wanted content."""
    wanted, there = desired.files.get(path), (evidence.files.value or {}).get(path)
    return wanted is not None and there is not None and there.sha256 == wanted.sha256
