# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer image: a framework in the image can use the GPUs: it was built for CUDA, for a CUDA that the driver has, and
with code for these cards.

Informational: a framework of the image does not make the node unfit, and the bundle need not mean to use it.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..model import NOT_READ, ContainerLook, Desired, Evidence, Finding, Framework, FrameworkUse
from ..version import version_numbers
from . import image_environment, mig_devices, start_errors
from .outcome import failed, passed, skipped, unknown

_NAMES = {"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}

#: How a build for GPUs is installed, in words: package names and indexes differ by release.
_INSTALL = {
    "torch": "Install it from PyTorch's own index of the CUDA that is wanted (--index-url .../whl/cu130), and rebuild "
    "the image.",
    "tensorflow": "Install tensorflow[and-cuda] in place of tensorflow-cpu, and rebuild the image.",
    "jax": "Install jax[cuda13], or jax[cuda12], which brings the plugin, and rebuild the image.",
}

#: What makes it tell the reason, which asking whether there are GPUs does not.
_FIRST_CALL = {
    "torch": "import torch; torch.zeros(1).cuda()",
    "tensorflow": 'import tensorflow as tf; tf.config.list_physical_devices("GPU")',
    "jax": 'import jax; jax.devices("gpu")',
}

_ARCHITECTURE = re.compile(r"^(sm|compute)_(\d{1,3})([0-9])([af]?)$")
_CAPABILITY = re.compile(r"^(\d{1,3})\.(\d)$")
_UNREADABLE = re.compile(r"PermissionError|Permission denied", re.IGNORECASE)
_ENDED = re.compile(r"gave no answer within|was ended by signal|was not asked to the end|was killed")


def framework(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    look = next(
        (look for _way, look in start_errors.looks(desired, evidence) if look is not None and look.started), None
    )
    if look is None:
        found = [skipped("there is no container to look into: see container_runtime.injection")]
    elif look.frameworks.value is None:
        found = [unknown(look.frameworks.error or "")]
    elif not look.frameworks.value:
        found = [passed("the python3 of the image, where it has one, has no PyTorch, TensorFlow or JAX")]
    else:
        found = [finding for one in look.frameworks.value for finding in _judge(one, look, evidence, expected_gpus)]
    return [dataclasses.replace(finding, required=False) for finding in found]


def runs_on(architectures: t.Sequence[str], capability: str) -> t.Optional[bool]:
    """Whether code for ``architectures`` runs on a GPU; None where that cannot be told.

    Machine code (sm) runs on its own major number, from its minor one on; with the letter a on exactly that, with f on
    its family. Code that the driver still translates (compute) runs on everything newer, without a letter.
    """
    gpu = _CAPABILITY.match(capability)
    codes = [match for match in map(_ARCHITECTURE.match, architectures) if match]
    if gpu is None or not codes:
        return None
    have = (int(gpu.group(1)), int(gpu.group(2)))
    for code in codes:
        kind, letter, need = code.group(1), code.group(4), (int(code.group(2)), int(code.group(3)))
        if letter == "a":
            fits = need == have
        elif kind == "compute" and not letter:
            fits = need <= have
        else:
            fits = need[0] == have[0] and need <= have
        if fits:
            return True
    return False


def _judge(
    one: Framework, look: ContainerLook, evidence: Evidence, expected_gpus: t.Optional[int]
) -> t.Iterator[Finding]:
    name = _NAMES.get(one.name, one.name)
    built = list(_build_problem(one, name, evidence))
    yield from built or [_built(one, name)]
    entity = "%s: use" % one.name
    reading = evidence.frameworks
    use = next((use for use in reading.value or () if use.name == one.name), None)
    if built:
        yield skipped("%s cannot use a GPU: see %s: build" % (name, one.name), entity)
    elif reading == NOT_READ:
        yield skipped("%s was not imported in this look, which takes seconds; verify.yml does it" % name, entity)
    elif use is None:
        yield unknown(reading.error or "%s was not asked" % name, entity)
    else:
        yield _use(use, name, entity, look, evidence, expected_gpus)


def _built(one: Framework, name: str) -> Finding:
    if one.for_gpus is None:
        return unknown("the files of %s do not tell whether it was built for GPUs" % name, "%s: build" % one.name)
    return passed("%s %s%s" % (name, one.version, " for CUDA " + one.cuda if one.cuda else ""), "%s: build" % one.name)


def _build_problem(one: Framework, name: str, evidence: Evidence) -> t.Iterator[Finding]:
    entity = "%s: build" % one.name
    if one.for_gpus is False:
        yield failed(
            entity,
            expected="a build for CUDA",
            actual="%s %s in %s" % (name, one.version, one.path),
            cause="%s in the image was built without CUDA, so it sees no GPU on any node: the default index, or one "
            "for processors alone, gave that build. Host, driver and toolkit are not at fault." % name,
            fix=_INSTALL.get(one.name, "Install a build for CUDA, and rebuild the image."),
            repair="manual",
        )
    host = next((tool for tool in (evidence.nvml.value, evidence.smi.value) if tool and tool.cuda), None)
    if one.for_gpus and one.cuda and host is not None:
        want, have = version_numbers(one.cuda), version_numbers(str(host.cuda))
        if want[:1] > have[:1]:
            yield failed(
                entity,
                expected="built for CUDA %d or older" % have[0],
                actual="%s %s for CUDA %s" % (name, one.version, one.cuda),
                cause="%s in the image was built for CUDA %s, and driver %s has CUDA %s: the driver is too old for it."
                % (name, one.cuda, host.driver, host.cuda),
                fix="Install a build for CUDA %d in the image, or take a newer driver.version in the bundle. A CUDA "
                "toolkit on the host does not help." % have[0],
                repair="manual",
            )


def _use(
    use: FrameworkUse,
    name: str,
    entity: str,
    look: ContainerLook,
    evidence: Evidence,
    expected_gpus: t.Optional[int],
) -> Finding:
    if use.error:
        return _not_asked(use, name, entity)
    lacking = sorted({gpu for gpu in use.capabilities if runs_on(use.architectures, gpu) is False})
    if lacking:
        older = _older(use.architectures, lacking[0])
        return failed(
            entity,
            expected="code for compute capability %s" % ", ".join(lacking),
            actual=" ".join(use.architectures),
            cause='%s %s in the image has no code for this GPU, since the build is %s: programs fail with "no kernel '
            'image is available for execution on the device".' % (name, use.version, _TOO[older]),
            fix="Install %s, and rebuild the image; the driver is not at fault." % _FITTING[older],
            repair="manual",
        )
    if use.available and mig_devices.number_fits(evidence, use.devices, expected_gpus):
        return passed("%s %s sees %d GPUs" % (name, use.version, use.devices or 0), entity)
    return failed(
        entity,
        expected=_wanted(evidence, expected_gpus),
        actual="%d GPUs%s" % (use.devices or 0, "" if use.available else ", and says that none is available"),
        cause=_why_none(name, look, evidence, expected_gpus),
        fix="Look at image.cuda, image.shadowed and image.environment first; then have it say why, in a container of "
        "the image with its GPUs: python3 -c '%s'." % _FIRST_CALL.get(use.name, "import " + use.name),
        repair="manual",
    )


def _wanted(evidence: Evidence, expected_gpus: t.Optional[int]) -> str:
    parts = mig_devices.of(evidence)
    return "devices of %s" % parts.words if parts else "%s GPUs" % expected_gpus


#: By whether the card came after the build, or the build has left it behind.
_TOO = {True: "older than the card", False: "too new for the card"}
_FITTING = {
    True: "a newer build of it, for a CUDA that knows the card",
    False: "an older build of it, or one for an older CUDA",
}


def _older(architectures: t.Sequence[str], capability: str) -> bool:
    codes = [match for match in map(_ARCHITECTURE.match, architectures) if match]
    newest = max((int(code.group(2)), int(code.group(3))) for code in codes)
    return newest < tuple(int(part) for part in capability.split("."))


def _not_asked(use: FrameworkUse, name: str, entity: str) -> Finding:
    if _ENDED.search(use.error) or _UNREADABLE.search(use.error):
        return unknown(
            "%s: %s" % (name, use.error),
            entity,
            cause="Whether %s can use the GPUs is not proven: it gave no answer in time, or has files that the probe, "
            "which runs as nobody, may not read." % name,
            fix="Have it asked in a container of the image as its workloads run.",
        )
    return failed(
        entity,
        expected="it can be imported and asked",
        actual=use.error,
        cause="%s in the image fails by itself, whatever the node." % name,
        fix="Mend the image: what it says it lacks is not in it, or is of another version.",
        repair="manual",
    )


def _why_none(name: str, look: ContainerLook, evidence: Evidence, expected_gpus: t.Optional[int]) -> str:
    why = image_environment.hidden(evidence, expected_gpus)
    if why:
        return why
    cuda = look.cuda.value
    if cuda is not None and cuda.code == 0 and mig_devices.fits(evidence, cuda, expected_gpus):
        return (
            "CUDA answers in the same container, so driver and toolkit are not at fault: %s brings CUDA libraries of "
            "its own, which do not fit each other or the driver." % name
        )
    return (
        "%s does not see the GPUs, and whether CUDA itself does is not proven in this container: see image.cuda." % name
    )
