# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer image: the GPU that a container asks for, by index or by UUID, is the one that it gets, and no other.

Asked where a run marks a node and where a person verifies it; in other looks nothing is said, which is no pass.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model import NOT_READ, ContainerLook, Desired, Evidence, Finding, Request
from . import denials, image_environment, mig_devices, seen_gpus, shadowed, start_errors, tools, wanted
from .outcome import failed, passed, skipped, unknown
from .wanted import RUN_SITE, injections


def requests(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    reading = evidence.requests
    if reading == NOT_READ:
        finding = skipped("no container has asked for a single GPU in this look; verify.yml has them ask")
        return [dataclasses.replace(finding, required=False)]
    if not reading.known:
        return [unknown(reading.error or "")]
    asked = reading.value or ()
    found = [_judge(desired, evidence, request) for request in asked]
    ways = {request.injection for request in asked}
    # The container with all GPUs did not start, or is not known: that is said elsewhere.
    found += [
        skipped("single GPUs were not asked for: see container_runtime.injection", way)
        for way in injections(desired)
        if way not in ways
    ]
    return found


def _judge(desired: Desired, evidence: Evidence, request: Request) -> Finding:
    entity = "%s: %s" % (request.injection, request.asked or "a single GPU")
    if not request.asked:
        return failed(
            entity,
            expected="devices by index or UUID",
            actual=request.look.error or "",
            cause="No container can ask for a single GPU by CDI.",
            fix="Write it with names by index and by UUID: nvidia-ctk cdi generate does where neither "
            "--device-name-strategy nor /etc/nvidia-container-toolkit/nvidia-cdi-refresh.env says otherwise.",
            repair="manual",
        )
    look = request.look.value
    if look is None:
        return unknown(request.look.error or "there is no answer of the container", entity)
    if not look.started:
        words = look.error or "the engine said nothing"
        error = start_errors.explain(words, wanted.rootless(evidence))
        return failed(
            entity,
            expected="a container starts with this GPU",
            actual=words,
            cause="A container with all GPUs starts, and one that asks for this GPU does not. %s" % error.cause,
            fix=error.fix,
            repair=error.repair,
        )
    return _compare(desired, evidence, request, look, entity)


def _compare(desired: Desired, evidence: Evidence, request: Request, look: ContainerLook, entity: str) -> Finding:
    denial = denials.of(desired, evidence, look)
    if denial is not None and denial.check != "image.gpus":
        return skipped("the container is denied its GPU: see %s" % denial.check, entity)
    there = seen_gpus.inside(look)
    if look.smi.error and "libnvidia-ml.so.1" in shadowed.harmful(desired, evidence, look):
        return skipped("the image has a libnvidia-ml of its own: see image.shadowed", entity)
    if not there.uuids and there.why:
        return seen_gpus.not_told(entity, there)
    of_mig = request.uuid.startswith("MIG-")
    if there.by_cuda and mig_devices.of(evidence) is None and request.uuid not in seen_gpus.of_host(evidence, there):
        return unknown(
            "nvidia-smi does not run in the image, and CUDA names instances of the GPU (MIG), not the GPU", entity
        )
    if of_mig and not there.by_cuda and look.mig.value is None:
        return unknown(look.mig.error or "nvidia-smi did not list the MIG devices of the container", entity)
    got = look.mig.value if of_mig and not there.by_cuda and look.mig.value is not None else there.uuids
    if len(got) != 1 or not mig_devices.same(got[0], request.uuid):
        return failed(
            entity,
            expected=request.uuid,
            actual=", ".join(got) or ("no MIG device" if of_mig else "no GPU"),
            cause=_cause(request, got),
            fix="%s With CDI the specification may be older than the GPUs' order: nvidia-cdi-refresh.service writes it "
            "anew." % RUN_SITE,
            repair="roles",
        )
    cuda = look.cuda.value
    if cuda is not None and (cuda.code, cuda.devices) != (0, 1):
        own = image_environment.own_fault(desired, evidence, look, 1)
        if own:
            return skipped(own, entity)
        cause, fix, repair = "CUDA sees other GPUs than the one that was asked for.", RUN_SITE, "roles"
        if cuda.code != 0:
            cause, fix, repair = tools.explain_cuda(cuda.code, cuda.error)
        return failed(
            entity,
            expected=tools.cuda_wanted(1),
            actual=tools.cuda_said(cuda),
            cause="With this GPU alone: %s" % cause,
            fix=fix,
            repair=repair,
        )
    return passed("%s, and no other" % request.uuid, entity)


def _cause(request: Request, there: t.Sequence[str]) -> str:
    kind = "MIG device" if request.uuid.startswith("MIG-") else "GPU"
    if len(there) > 1 and any(mig_devices.same(one, request.uuid) for one in there):
        said = "The container got more than the %s that it asked for: whoever shares this node sees the others' %ss."
        return said % (kind, kind)
    if not there:
        return "The container asked for %s %s and got none." % (kind, request.asked)
    return "The container asked for %s %s and got another." % (kind, request.asked)
