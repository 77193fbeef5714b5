# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node without a bundle is wanted to be, taken from itself: one driver, one engine, one toolkit. Pure.

Packages, disk, kernel and engine of a node that works agree with each other; ``inferred_verdict`` judges by that.
"""

from __future__ import annotations

import collections
import dataclasses
import re
import typing as t

from .checks.wanted import NVIDIA_OPTIONS, octal
from .model import Desired, Evidence, ManagedFile
from .package_names import bare, belongs_to_driver_set, driver_version_in
from .version import version_numbers

#: Settings inside daemon.json by which containers get GPUs: the running daemon must have what the file says of them.
_OF_GPUS = ("runtimes", "default-runtime", "features", "cdi-spec-dirs", "exec-opts")


def to_look(platform: str, image: str = "") -> Desired:
    """By what a node is looked at before anything is known of it; with an image, containers of it are started."""
    ways = ["runtime", "cdi"] if image else []
    return _desired(platform, _lock(platform, image=_image(image, "")), ways)


def desired(evidence: Evidence, image: str = "") -> Desired:
    """What the node is wanted to be by what it is itself: one driver, one engine, one toolkit."""
    platform = evidence.platform.value.key if evidence.platform.value else ""
    driver = driver_version(evidence)
    here = evidence.driver.value.flavour if evidence.driver.value else None
    disk = evidence.module_on_disk.value
    digest = next(iter(evidence.image_digests.value or ()), "").rpartition("@")[2]
    lock = _lock(
        platform,
        driver={
            "version": driver,
            "flavour": disk.flavour if disk else here or "open",
            "build": _build(evidence),
            "source": "",
            "packages": {},
        },
        fabric_manager={"version": driver, "packages": {}},
        toolkit={"version": _package_version(evidence, "nvidia-container-toolkit") or "0", "packages": {}},
        docker={"version": _docker_version(evidence), "source": "", "packages": {}},
        image=_image(image, digest),
    )
    settings = evidence.docker_config.value or {}
    daemon = {key: settings[key] for key in _OF_GPUS if key in settings}
    found = _desired(platform, lock, _ways(evidence) if image else [])
    mode, uid, gid = _access(evidence)
    group = next((name for name, (number, _who) in (evidence.groups.value or {}).items() if number == gid), "root")
    found.settings["device_access"].update(device_access_mode=octal(mode), device_access_group=group)
    return dataclasses.replace(
        found, daemon=daemon, files={NVIDIA_OPTIONS: _options(evidence, mode, uid, gid)}, units=_units(evidence)
    )


def driver_version(evidence: Evidence) -> str:
    """The driver that is installed: by most of its packages, else by the module on the disk, in the kernel, or by the
    libraries. "" where there is none.
    """
    packages = evidence.packages.value or {}
    told = [
        version
        for name, package in packages.items()
        if package.status == "installed" and belongs_to_driver_set(bare(name))
        for version in [driver_version_in(package.version)]
        if version
    ]
    if told:
        counted = collections.Counter(told)
        return max(counted, key=lambda version: (counted[version], version_numbers(version)))
    if evidence.module_on_disk.value:
        return evidence.module_on_disk.value.version
    if evidence.driver.value:
        return evidence.driver.value.version
    libraries = (evidence.libraries.value or {}).values()
    return next((library.version for library in libraries if library.version), "")


# --- the parts of what is wanted ----------------------------------------------------------------------------------


def _lock(platform: str, **axes: t.Any) -> t.Dict[str, t.Any]:
    nothing = {"version": "", "packages": {}}
    lock: t.Dict[str, t.Any] = {
        "bundle": "",
        "platform": platform,
        "package_manager": "apt",
        "sources": [],
        "kernel": {"release": "", "packages": {}},
        "driver": {**nothing, "flavour": "open", "build": "dkms", "source": ""},
        "fabric_manager": None,
        "toolkit": nothing,
        "docker": {**nothing, "source": ""},
        "image": None,
        "python": {},
    }
    return {**lock, **axes}


def _image(image: str, digest: str) -> t.Optional[t.Dict[str, t.Any]]:
    if not image:
        return None
    name, _at, own = image.partition("@")
    return {
        "reference": name,
        "digest": own or digest,
        "cuda": "",
        "cuda_check": "optional",
        "cuda_command": [],
        "cuda_compat": "none",
    }


def _desired(platform: str, lock: t.Dict[str, t.Any], ways: t.Sequence[str]) -> Desired:
    return Desired(
        digest="",
        platform=platform,
        lock=lock,
        settings={
            "golden": {"golden_container_injections": list(ways), "golden_look_timeout": 60},
            "kernel": {
                "kernel_arguments": [],
                "kernel_blacklist": ["nouveau", "nova_core", "nova_drm", "nvidiafb"],
                "kernel_pin": False,
            },
            "driver": {"driver_persistenced": False},
            "packages": {"packages_keep": False},
            "docker": {"docker_daemon_options": {}, "docker_default_runtime": "runc"},
            "toolkit": {
                "toolkit_cdi": False,
                "toolkit_cdi_additional_gids": True,
                "toolkit_runtime_mode": "auto",
                "toolkit_multi_tenant": False,
                "toolkit_config_options": {},
            },
            "device_access": {
                "device_access_group": "root",
                "device_access_mode": "0666",
                "device_access_users": [],
                "device_access_selinux_boolean": True,
            },
        },
        files={},
        daemon={},
        units={},
    )


def _build(evidence: Evidence) -> str:
    """``dkms`` where it is built on the node; a package for one kernel brings it else."""
    packages = evidence.packages.value or {}
    precompiled = any(name.startswith(("linux-modules-nvidia-", "linux-objects-nvidia-")) for name in packages)
    known = evidence.dkms.value or ()
    return "dkms" if any(one.name.startswith("nvidia") for one in known) or not precompiled else "precompiled"


def _package_version(evidence: Evidence, *names: str) -> str:
    """The version of the first of the packages that is installed, without epoch and revision."""
    packages = evidence.packages.value or {}
    for name in names:
        if name in packages:
            return re.sub(r"^\d+:|-[^-]*$", "", packages[name].version)
    return ""


def _docker_version(evidence: Evidence) -> str:
    """What is installed, so that a daemon that was not restarted since is seen."""
    engine = evidence.docker.value
    installed = _package_version(evidence, "docker-ce", "docker.io")
    return installed or (engine.version if engine else "")


def _access(evidence: Evidence) -> t.Tuple[int, int, int]:
    """Mode, user and group of the nodes: those that the driver was told, where anybody but root may open them so."""
    params = evidence.driver_params.value or {}
    numbers = [_number(params.get("DeviceFile" + name)) for name in ("Mode", "UID", "GID")]
    mode, uid, gid = (numbers[0] or 0o666, numbers[1] or 0, numbers[2] or 0)
    return (mode if mode & 0o006 == 0o006 or (mode & 0o060 == 0o060 and gid) else 0o666), uid, gid


def _number(text: t.Optional[str]) -> t.Optional[int]:
    return int(text) if text and text.strip().isdecimal() and len(text) < 10 else None


def _options(evidence: Evidence, mode: int, uid: int, gid: int) -> ManagedFile:
    """The options that the nodes are held against; nobody has written that file, and nobody asks for it."""
    modify = _number((evidence.driver_params.value or {}).get("ModifyDeviceFiles"))
    text = "options nvidia NVreg_ModifyDeviceFiles=%d NVreg_DeviceFileUID=%d NVreg_DeviceFileGID=%d" % (
        1 if modify is None else modify,
        uid,
        gid,
    )
    return ManagedFile(NVIDIA_OPTIONS, "device_access", 0o644, "", "%s NVreg_DeviceFileMode=%s\n" % (text, octal(mode)))


def _units(evidence: Evidence) -> t.Dict[str, str]:
    """The engine's, where they are there to be started at boot."""
    there = evidence.units.value or {}
    names = ("docker.service", "containerd.service")
    return {
        name: "active"
        for name in names
        if name in there and (there[name].load, there[name].enabled) == ("loaded", "enabled")
    }


def _ways(evidence: Evidence) -> t.List[str]:
    """The ways by which this node gives out GPUs; the nvidia runtime where none is set up, so that this is found."""
    engine, ways = evidence.docker.value, []
    runtimes = [(evidence.docker_config.value or {}).get("runtimes"), engine.told.get("runtimes") if engine else None]
    if any(isinstance(known, dict) and "nvidia" in known for known in runtimes):
        ways.append("runtime")
    if evidence.cdi_specs.value and engine and engine.cdi_spec_dirs:
        ways.append("cdi")
    return ways or ["runtime"]
