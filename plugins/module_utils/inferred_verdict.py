# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict of a node of which nobody has said what it shall be. Pure.

What only a bundle can say is not judged, and such a node is never golden: that it works is all that can be said.
"""

from __future__ import annotations

import dataclasses
import typing as t

from . import verdict
from .checks.outcome import failed, passed, skipped, unknown
from .checks.registry import CHECKS
from .checks.wanted import RUN_SITE, gpus, octal
from .inferred import desired, driver_version
from .model import Desired, DeviceNode, Evidence, Finding, Verdict
from .package_names import bare

NO_BUNDLE = "no bundle was given"
NO_IMAGE = "no image to try; pass goldennode_image=..."

#: What only a bundle can say.
_OF_A_BUNDLE = (
    *("packages.sources", "packages.files", "packages.versions", "packages.holds", "packages.kept"),
    *("host_driver.boot_default", "host_driver.kernel_arguments", "host_driver.files", "host_driver.units"),
    *("device_nodes.files", "container_runtime.files", "image.fits_gpus", "policy.files", "policy.units"),
    "container_runtime.cgroup_mode",
)
#: What a container must be started for.
_BY_CONTAINERS = frozenset(("containers", "requests", "image_environment"))
_OF_A_CONTAINER = tuple(check.id for check in CHECKS if _BY_CONTAINERS.intersection(check.needs))
_OF_A_DRIVER = tuple(
    check.id
    for check in CHECKS
    if check.layer == "host_driver" and check.id not in ("host_driver.kernel", "host_driver.nouveau")
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
        instead["image.present"] = [
            unknown(NO_IMAGE, cause="Whether a container gets the GPUs is not known: %s." % NO_IMAGE, fix=_TRY)
        ]
    elif evidence.image_digests.known:
        instead["image.present"] = _present(evidence, image)
    return dataclasses.replace(verdict.run(wanted, evidence, count, instead), golden=False)


_TRY = (
    "Name an image that is on the node, with glibc and best with Python: -e goldennode_image=NAME:TAG. "
    "Looking pulls none."
)


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
