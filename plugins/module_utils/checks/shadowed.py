# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer image: driver libraries of the image's own that the linker takes in place of the host's.

The host's are mounted into a container; what is not mounted, the image has brought. The same words of CUDA and NVML
("forward compatibility was attempted", "Driver/library version mismatch") have other causes on the host.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..model import LIBRARIES, ContainerLook, Desired, Evidence, Finding
from ..parse.container_image import COMPAT
from ..version import version_numbers
from . import start_errors
from .outcome import failed, passed, skipped, unknown
from .wanted import driver_version

_STUBS = re.compile(r"/stubs/")
_CONDA = re.compile(r"/(?:\w*conda\w*|envs/[^/]+)/")

#: Of these names it is certain that forward compatibility is not for them.
_NOT_FORWARD = re.compile(r"GeForce|TITAN", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Shadow:
    """``version`` is None where the file's name has none. ``how``: by which way the linker comes to it, ``by_toolkit``
    where the toolkit or the linker's cache may have led it there.
    """

    name: str
    path: str
    target: str
    how: str
    source: str = ""
    by_toolkit: bool = False

    @property
    def version(self) -> t.Optional[str]:
        tail = self.target.rpartition(".so.")[2]
        return tail if "." in tail else None

    @property
    def is_compat(self) -> bool:
        return COMPAT.search(" ".join((self.target, self.path, self.source))) is not None


def shadowed(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    found: t.List[Finding] = []
    for way, look in start_errors.looks(desired, evidence):
        if look is None or not look.started:
            found.append(skipped("there is no container to look into: see container_runtime.injection", way))
        elif look.driver_files.value is None:
            # Whether the linker's choice is the host's version, image.libraries says, and that is required.
            cause = "Driver libraries of the image's own were not looked for."
            found.append(unknown(look.driver_files.error or "", way, cause=cause, required=False))
        else:
            found += _of_way(desired, evidence, way, look)
    return found


def harmful(desired: Desired, evidence: Evidence, look: ContainerLook) -> t.Dict[str, Shadow]:
    """The libraries that the image has put in place of the host's, by name, where that does harm."""
    found = {}
    for shadow in _shadows(evidence, look):
        if shadow.version != _host(desired, evidence) and not _works(desired, evidence, look, shadow):
            found[shadow.name] = shadow
    return found


def _of_way(desired: Desired, evidence: Evidence, way: str, look: ContainerLook) -> t.Iterator[Finding]:
    host, bad = _host(desired, evidence), harmful(desired, evidence, look)
    same = [shadow for shadow in _shadows(evidence, look) if shadow.version == host]
    for name, shadow in bad.items():
        cause, fix = _explained(evidence, shadow, host)
        yield failed(
            "%s: %s" % (way, name),
            expected="the host's, %s" % host,
            actual="%s -> %s" % (shadow.path, shadow.target),
            cause=cause,
            fix=fix,
            repair="manual",
        )
    for shadow in same:
        yield failed(
            "%s: %s" % (way, shadow.name),
            expected="the host's file",
            actual="%s -> %s" % (shadow.path, shadow.target),
            cause="The image has a %s of its own, and the linker takes it%s. It is of the host's version by chance: it "
            "breaks with the next driver." % (shadow.name, shadow.how),
            fix="Name an image without packages of the driver in the bundle.",
            repair="manual",
            required=False,
        )
    if not bad and not same:
        yield passed(_all_well(desired, evidence, look), way)


def asked_for(desired: Desired, evidence: Evidence, look: ContainerLook) -> t.Dict[str, Shadow]:
    """What the bundle asks for (``cuda_compat: forward``) and what works."""
    return {shadow.name: shadow for shadow in _shadows(evidence, look) if _works(desired, evidence, look, shadow)}


def _all_well(desired: Desired, evidence: Evidence, look: ContainerLook) -> str:
    """Images of the vendor's have cuda-compat lying about; that is no fault while nothing takes it."""
    asked = asked_for(desired, evidence, look)
    if asked:
        return "the image's cuda-compat %s, as the bundle asks" % ", ".join(str(one.version) for one in asked.values())
    own = sorted({file.target for file in look.driver_files.value or () if not file.given})
    if not own:
        return "the image has no driver libraries of its own"
    return "nothing takes the image's own %s" % ", ".join(own[:4])


def _shadows(evidence: Evidence, look: ContainerLook) -> t.Iterator[Shadow]:
    """What the linker takes, and for libcuda what CUDA has really loaded, where that is no file of the host's."""
    own = {file.target: file for file in look.driver_files.value or () if not file.given}
    for name in LIBRARIES:
        there = (look.libraries.value or {}).get(name)
        loaded = look.cuda.value.library if look.cuda.value and name == "libcuda.so.1" else None
        if loaded in own and (there is None or loaded != there.target):
            yield Shadow(name, str(loaded), str(loaded), " by a library path of the program's own")
        elif there is not None and there.target in own and loaded in (None, there.target):
            how, by_toolkit = _by(evidence, there.path, own[there.target].source)
            yield Shadow(name, there.path, there.target, how, own[there.target].source, by_toolkit)


def _by(evidence: Evidence, path: str, source: str) -> t.Tuple[str, bool]:
    if source:
        return " because the toolkit has mounted %s there" % source, True
    image = evidence.image_environment
    folders = [folder.rstrip("/") for folder in (image.value or {}).get("LD_LIBRARY_PATH", "").split(":")]
    if path.rpartition("/")[0] in folders:
        return " by LD_LIBRARY_PATH, which the image sets", False
    return " by the linker's cache%s" % ("" if image.known else ", or by LD_LIBRARY_PATH"), True


def _host(desired: Desired, evidence: Evidence) -> str:
    """The module that is loaded: a library must fit that one."""
    return evidence.driver.value.version if evidence.driver.value else driver_version(desired)


def _works(desired: Desired, evidence: Evidence, look: ContainerLook, shadow: Shadow) -> bool:
    """With ``cuda_compat: forward`` the bundle asks for a cuda-compat; whether it works, a CUDA call shows."""
    if desired.lock["image"].get("cuda_compat") != "forward":
        return False
    if shadow.name != "libcuda.so.1" or not shadow.is_compat:
        return False
    answer = look.cuda.value
    return (answer is None and not _older(shadow, _host(desired, evidence))) or (
        answer is not None and answer.code == 0
    )


def _older(shadow: Shadow, host: str) -> bool:
    return shadow.version is not None and version_numbers(shadow.version) < version_numbers(host)


def _explained(evidence: Evidence, shadow: Shadow, host: str) -> t.Tuple[str, str]:
    version = shadow.version or "of a version that its name does not tell"
    if shadow.is_compat:
        return _compat(evidence, shadow, host, version)
    if _STUBS.search(shadow.target + shadow.path):
        return (
            "The linker takes a stub of the CUDA toolkit for %s%s: a stub is for building, and has no driver in it."
            % (shadow.name, shadow.how),
            "Take the folder stubs off LD_LIBRARY_PATH and out of /etc/ld.so.conf.d in the image.",
        )
    cause = "The image has a %s of its own, %s, and the linker takes it in place of the host's %s,%s." % (
        shadow.name,
        version,
        host,
        shadow.how,
    )
    if _CONDA.search(shadow.target):
        return (
            cause,
            "Remove the package that brings it from the conda environment of the image; a driver is none of it.",
        )
    return (
        "%s The host's driver and the toolkit are not at fault." % cause,
        "Build the image without packages of the driver (libnvidia-compute, libcuda1, nvidia-utils) and without copies "
        "of its files; the toolkit gives the host's in.",
    )


def _compat(evidence: Evidence, shadow: Shadow, host: str, version: str) -> t.Tuple[str, str]:
    start = "The image's cuda-compat %s shadows the host's %s %s%s" % (version, shadow.name, host, shadow.how)
    if _older(shadow, host):
        return (
            "%s, and is older: it works with drivers older than itself alone (CUDA error 803)." % start,
            "Take the folder compat off LD_LIBRARY_PATH in the image: the host's own driver runs an older CUDA.",
        )
    tools = evidence.nvml.value or evidence.smi.value
    names = sorted({gpu.name for gpu in (tools.gpus if tools else ()) if gpu.name and _NOT_FORWARD.search(gpu.name)})
    why = ", and %s is none" % names[0] if names else ""
    fix = "Use an image for the CUDA of the host's driver, a newer driver, or take compat off the library path."
    if shadow.by_toolkit:
        fix += (
            " The toolkit itself puts a cuda-compat that is newer than the driver first: toolkit_config_options: "
            "{nvidia-container-runtime: {modes: {legacy: {cuda-compat-mode: disabled}}}, features: "
            "{disable-cuda-compat-lib-hook: true}} keeps it from that, and so does an image without "
            "/usr/local/cuda*/compat."
        )
    if not names:
        fix += " On data-centre GPUs image.cuda_compat: forward in the bundle allows it."
    return "%s; only data-centre GPUs allow that%s (CUDA errors 803 and 804)." % (start, why), fix
