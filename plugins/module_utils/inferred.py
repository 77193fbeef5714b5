# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node without a bundle is held against: itself. Pure.

Packages, disk, kernel and engine of a node that works agree with each other. What only a bundle can say is not judged,
and such a node is never golden: that it works is all that can be said.
"""

from __future__ import annotations

import collections
import dataclasses
import re
import typing as t

from . import verdict
from .checks.outcome import failed, passed, skipped, unknown
from .checks.registry import CHECKS
from .checks.wanted import NVIDIA_OPTIONS, RUN_SITE, gpus, octal
from .model import Desired, DeviceNode, Evidence, Finding, ManagedFile, Verdict
from .package_names import bare, belongs_to_driver_set, driver_version_in
from .version import version_numbers

NO_BUNDLE = "no bundle was given"
NO_IMAGE = "no image to try; pass goldennode_image=..."

#: Settings inside daemon.json by which containers get GPUs: the running daemon must have what the file says of them.
_OF_GPUS = ("runtimes", "default-runtime", "features", "cdi-spec-dirs", "exec-opts")

#: What only a bundle can say.
_OF_A_BUNDLE = (
    *("packages.sources", "packages.files", "packages.versions", "packages.holds", "packages.kept"),
    *("host_driver.boot_default", "host_driver.kernel_arguments", "host_driver.files", "host_driver.units"),
    *("device_nodes.files", "container_runtime.files", "policy.files", "policy.units"),
)
_OF_A_CONTAINER = (
    *("container_runtime.injection", "image.requirement", "image.gpus", "image.libraries", "image.device_nodes"),
    *("image.cuda", "image.requests", "policy.container_devices", "policy.apparmor"),
)
_OF_A_DRIVER = tuple(
    check.id
    for check in CHECKS
    if check.layer == "host_driver" and check.id not in ("host_driver.kernel", "host_driver.nouveau")
)


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


def judge(evidence: Evidence, expected_gpus: t.Optional[int], image: str = "") -> Verdict:
    """The verdict of a node of which nobody has said what it shall be. It is never golden.

    :arg expected_gpus: how many GPUs it shall have, if somebody says so
    """
    wanted = desired(evidence, image)
    there = len(gpus(evidence.pci.value or ()))
    count = there if expected_gpus is None else expected_gpus
    instead: t.Dict[str, t.Sequence[Finding]] = {name: [_left_out(NO_BUNDLE)] for name in _OF_A_BUNDLE}
    if expected_gpus is None:
        why = "nobody has said how many GPUs this node shall have; pass golden_expected_gpus=..."
        instead["hardware.gpu_count"] = [_left_out("%d on the PCI bus; %s" % (there, why))]
    if evidence.platform.value is None:
        instead["packages.platform"] = [unknown(evidence.platform.error or "/etc/os-release is not there")]
    if not driver_version(evidence):
        instead.update(_without_driver(evidence))
    else:
        instead["host_driver.initramfs"] = _initramfs(wanted, evidence, count)
    instead["device_nodes.modes"] = _modes(evidence)
    instead.update(_runtime(wanted, evidence, count))
    if not image:
        instead.update({name: [_left_out(NO_IMAGE)] for name in _OF_A_CONTAINER})
        instead["image.present"] = [unknown(NO_IMAGE, cause="Whether a container gets the GPUs is not known: %s." % NO_IMAGE, fix=_TRY)]
    elif evidence.image_digests.known:
        instead["image.present"] = _present(evidence, image)
    return dataclasses.replace(verdict.run(wanted, evidence, count, instead), golden=False)


_TRY = (
    "Name an image that is on the node, with glibc and best with Python: -e goldennode_image=NAME:TAG. Looking pulls none."
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
        name: "active" for name in names if name in there and (there[name].load, there[name].enabled) == ("loaded", "enabled")
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


# --- what is found in place of a check ----------------------------------------------------------------------------


def _left_out(why: str) -> Finding:
    return dataclasses.replace(skipped(why), required=False)


def _without_driver(evidence: Evidence) -> t.Dict[str, t.Sequence[Finding]]:
    """No part of a driver is there: said once."""
    found: t.Dict[str, t.Sequence[Finding]] = {
        name: [skipped("no driver is installed: see host_driver.module_on_disk")] for name in _OF_A_DRIVER
    }
    found["packages.set"] = [_left_out("no package of a driver is installed")]
    unread = [
        "%s: %s" % (name, reading.error)
        for name, reading in (("packages", evidence.packages), ("module_on_disk", evidence.module_on_disk))
        if not reading.known
    ]
    if unread:
        said = unknown("; ".join(unread), cause="It is not known which driver is installed: %s." % "; ".join(unread))
    else:
        said = failed(
            expected="an NVIDIA driver",
            actual="no package, no module on the disk and none in the kernel",
            cause="No NVIDIA driver is installed.",
            fix=RUN_SITE,
            repair="roles",
        )
    return {**found, "host_driver.module_on_disk": [said]}


def _ask(name: str, wanted: Desired, evidence: Evidence, count: int) -> t.List[Finding]:
    """What a check says of another evidence, or of another wanted state."""
    return verdict.judge(next(check for check in CHECKS if check.id == name), wanted, evidence, count)


def _initramfs(wanted: Desired, evidence: Evidence, count: int) -> t.List[Finding]:
    """That an image is there, and of the module in it. What it was built from, nobody has recorded."""
    images = evidence.initramfs.value
    if images is None:
        return [_left_out(evidence.initramfs.error or NO_BUNDLE)]
    taken = tuple(dataclasses.replace(one, recorded_inputs=one.inputs, nouveau=False) for one in images)
    other = dataclasses.replace(
        evidence,
        initramfs=dataclasses.replace(evidence.initramfs, value=taken),
        files=dataclasses.replace(evidence.files, value={}, error=None),
    )
    return _ask("host_driver.initramfs", wanted, other, count)


def _modes(evidence: Evidence) -> t.List[Finding]:
    """To whom the nodes shall open nobody has said; root alone is never meant."""
    if not evidence.device_nodes.known:
        return [unknown("device_nodes: %s" % evidence.device_nodes.error)]
    nodes = [node for node in evidence.device_nodes.value or () if node.of_gpus]
    closed = [node for node in nodes if not _opens(node)]
    return [
        failed(
            node.path,
            expected="a mode by which others than root may open it",
            actual="mode %s, owner %d:%d" % (octal(node.mode), node.uid, node.gid),
            cause="Only root may open %s." % node.path,
            fix="%s It sets the driver's parameters; chmod alone does not last." % RUN_SITE,
            repair="roles",
        )
        for node in closed
    ] or [passed("%d nodes that others than root may open" % len(nodes))]


def _opens(node: DeviceNode) -> bool:
    return node.open_to_all or (node.mode & 0o060 == 0o060 and node.gid != 0)


def _runtime(wanted: Desired, evidence: Evidence, count: int) -> t.Dict[str, t.Sequence[Finding]]:
    """The toolkit by its package, and the CDI specifications that are there."""
    found: t.Dict[str, t.Sequence[Finding]] = {}
    packages, specs = evidence.packages.value, evidence.cdi_specs.value
    started = any(reading.value is not None and reading.value.started for reading in evidence.containers.values())
    packaged = any(bare(name).startswith("nvidia-container-toolkit") for name in packages or {})
    if not packaged:  # by its version it is judged what it does
        found["container_runtime.cgroup_driver"] = [_left_out("the version of the container toolkit is not known")]
    if packages is not None and not packaged and not started:
        found["container_runtime.toolkit_config"] = [
            failed(
                expected="nvidia-container-toolkit",
                actual="not installed",
                cause="The NVIDIA Container Toolkit is not installed: no container gets a GPU.",
                fix=RUN_SITE,
                repair="roles",
            )
        ]
    if not evidence.cdi_specs.known:
        return {**found, "container_runtime.cdi_spec": [unknown("cdi_specs: %s" % evidence.cdi_specs.error)]}
    if not specs:
        return {**found, "container_runtime.cdi_spec": [_left_out("no CDI specification is there")]}
    # Where it lies is somebody's choice; what it says must fit the driver and the GPUs.
    place = dataclasses.replace(evidence.cdi_target, value=sorted(specs)[0], error=None)
    in_use = dataclasses.replace(wanted, daemon={"features": {"cdi": True}})
    there = dataclasses.replace(evidence, cdi_target=place)
    return {**found, "container_runtime.cdi_spec": _ask("container_runtime.cdi_spec", in_use, there, count)}


def _present(evidence: Evidence, image: str) -> t.List[Finding]:
    """By its name: one that was built on the node has no digest, and runs all the same."""
    looks = [reading.value for reading in evidence.containers.values() if reading.value is not None]
    if evidence.image_digests.value or any(look.started for look in looks):
        return [passed(image)]
    return [
        failed(
            image,
            expected="on the node",
            actual="not on the node",
            cause="The image %s is not on the node, and looking pulls none." % image,
            fix="Pull it on the node (docker pull %s), or name one that is there: docker image ls." % image,
            repair="manual",
        )
    ]
