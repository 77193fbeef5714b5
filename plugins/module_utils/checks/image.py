# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer image: what a fresh container of the bundle's image sees is what the host has, up to a CUDA call.

Judged for every wanted injection. A container that did not start is not judged here; another check holds the reason.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..model import LIBRARIES, ContainerLook, CudaInit, Desired, Evidence, Finding, Library
from . import answers, denials, image_environment, linker, mig_devices, seen_gpus, shadowed, start_errors, tools
from .device_nodes import UVM_MINORS
from .outcome import all_passed, failed, passed, skipped, unknown
from .wanted import RUN_SITE, driver_version, injections

Judge = t.Callable[[str, ContainerLook], t.Iterable[Finding]]


def present(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    image = desired.lock["image"]
    if any(digest.rpartition("@")[2] == image["digest"] for digest in evidence.image_digests.value or ()):
        return [passed("%s@%s" % (image["reference"], image["digest"]))]
    return [
        failed(
            str(image["reference"]),
            expected=str(image["digest"]),
            actual=", ".join(evidence.image_digests.value or ()) or "not on the node",
            cause="The image of the bundle is not on the node.",
            fix=RUN_SITE,
            repair="roles",
        )
    ]


def requirement(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """What the image asks of the driver (NVIDIA_REQUIRE_CUDA) is met: the toolkit refuses to start it otherwise."""
    problems = [
        failed(
            way,
            expected="a container starts",
            actual=words,
            cause=error.cause + _both_sides(words, evidence),
            fix=error.fix,
            repair=error.repair,
        )
        for way, words, error in start_errors.of_layer("image", desired, evidence)
    ]
    return all_passed(problems, "the image asks for nothing that the driver does not have")


def _both_sides(words: str, evidence: Evidence) -> str:
    """The CUDA that is wanted and the one that the driver tells by itself: nvcc of the host would say a toolkit's."""
    wanted = re.search(r"unsatisfied condition: cuda\s*>=\s*(\d+(?:\.\d+)*)", words)
    host = next((tool for tool in (evidence.nvml.value, evidence.smi.value) if tool and tool.cuda), None)
    if wanted is None or host is None:
        return ""
    return " It wants CUDA %s or newer, and driver %s has %s." % (wanted.group(1), host.driver, host.cuda)


def gpus(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    def judge(way: str, look: ContainerLook) -> t.Iterable[Finding]:
        denial = denials.of(desired, evidence, look)
        there = seen_gpus.inside(look)
        if denial is not None:
            yield failed(
                way,
                expected="a container that may use its GPUs",
                actual=look.smi.error or "CUDA sees no device",
                cause=denial.cause,
                fix=denial.fix,
                repair=denial.repair,
            )
        elif _by_its_own_nvml(desired, evidence, look):
            yield skipped("the image has a libnvidia-ml of its own: see image.shadowed", way)
        elif not there.uuids and there.why:
            yield seen_gpus.not_told(way, there)
        else:
            yield _gpus_of_host(way, look, there, evidence)

    return list(_each(desired, evidence, judge))


def _by_its_own_nvml(desired: Desired, evidence: Evidence, look: ContainerLook) -> bool:
    """nvidia-smi loads it, and refuses what is not of the module's version."""
    return look.smi.error is not None and "libnvidia-ml.so.1" in shadowed.harmful(desired, evidence, look)


def _gpus_of_host(way: str, look: ContainerLook, there: seen_gpus.Seen, evidence: Evidence) -> Finding:
    parts = mig_devices.of(evidence)
    if parts is not None and there.by_cuda and look.cuda.value is not None:
        why = mig_devices.wrong(parts, look.cuda.value)
        return _other_devices(way, parts, there.uuids, why) if why else passed(_all_of(parts, there), way)
    want = seen_gpus.of_host(evidence, there)
    if not want:
        return unknown("the host names no GPU to compare with", way)
    found = _same_gpus(way, there, want)
    return found if parts is None or found.status != "pass" else _same_parts(way, look, parts)


def _same_parts(way: str, look: ContainerLook, parts: mig_devices.Parts) -> Finding:
    if look.mig.value is None or parts.devices is None:
        return unknown(look.mig.error or "the host names no MIG device to compare with", way)
    want, there = set(parts.devices), set(look.mig.value)
    if want == there:
        return passed("%s, those of the host" % parts.words, way)
    why = "%s missing, %s more" % tuple(", ".join(sorted(some)) or "none" for some in (want - there, there - want))
    return _other_devices(way, parts, look.mig.value, why)


def _all_of(parts: mig_devices.Parts, there: seen_gpus.Seen) -> str:
    return "%d devices, of the host's %s%s" % (len(there.uuids), parts.words, there.remark)


def _other_devices(way: str, parts: mig_devices.Parts, there: t.Sequence[str], why: str) -> Finding:
    return failed(
        way,
        expected="the host's %s" % parts.words,
        actual=", ".join(there) or "no MIG device",
        cause="The container does not see the host's MIG devices: %s." % why,
        fix="systemctl restart nvidia-cdi-refresh.service, which does not notice a change of MIG; a container by the "
        "nvidia runtime asks the driver itself. The nodes of /dev/nvidia-caps must be readable to all.",
        repair="roles",
    )


def _same_gpus(way: str, seen: seen_gpus.Seen, want: t.Sequence[str]) -> Finding:
    there = sorted(seen.uuids)
    if there == want:
        return passed("%d GPUs, those of the host%s" % (len(there), seen.remark), way)
    missing, foreign = sorted(set(want) - set(there)), sorted(set(there) - set(want))
    return failed(
        way,
        expected=", ".join(want),
        actual=", ".join(there) or "no GPU",
        cause="The container does not see the host's GPUs: %s missing, %s more."
        % (", ".join(missing) or "none", ", ".join(foreign) or "none"),
        fix="%s With CDI the specification may be stale: nvidia-cdi-refresh.service writes it anew." % RUN_SITE,
        repair="roles",
    )


def libraries(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    want = driver_version(desired)
    # By cuda_compat: forward the image's own libcuda is what the bundle asks for; whether it works, a CUDA call shows.
    forward = desired.lock["image"].get("cuda_compat") == "forward"

    def judge(way: str, look: ContainerLook) -> t.Iterable[Finding]:
        if not look.libraries.known:
            yield linker.not_listed(way, look)
            return
        there, own = look.libraries.value or {}, shadowed.harmful(desired, evidence, look)
        asked_for = shadowed.asked_for(desired, evidence, look)
        problems = (
            problem
            for name in LIBRARIES
            if name not in own
            and name not in asked_for
            and not (forward and name == "libcuda.so.1" and _is_compat(there.get(name)))
            for problem in _library_problem(way, name, want, there.get(name), look)
        )
        found = [skipped("the image has its own: see image.shadowed", "%s: %s" % (way, name)) for name in own]
        found += list(problems) or ([] if own or asked_for else list(_loaded_problem(way, want, look, forward)))
        yield from found or [passed("the host's libraries, %s" % want, way)]

    return list(_each(desired, evidence, judge))


def _library_problem(
    way: str, name: str, want: str, there: t.Optional[Library], look: ContainerLook
) -> t.Iterator[Finding]:
    if there is not None and there.version == want:
        return
    compat = _is_compat(there)
    file = linker.without_link(name, look) if there is None else ""
    if file:
        yield linker.not_linked(way, name, want, file)
        return
    if there is None:
        actual, cause = "not found", "%s was not given into the container." % name
    else:
        actual = "%s -> %s" % (there.path, there.target)
        cause = (
            "The image's cuda-compat shadows the host's %s; only data-centre GPUs allow that." % name
            if compat
            else "%s in the container is not the host's: the image brings its own, or the CDI specification is stale."
            % name
        )
    yield failed(
        "%s: %s" % (way, name),
        expected=want,
        actual=actual,
        cause=cause,
        fix=tools.CUDA_ERRORS[804][1] if compat else RUN_SITE,
        repair="manual" if compat else "roles",
    )


def _loaded_problem(way: str, want: str, look: ContainerLook, forward: bool) -> t.Iterator[Finding]:
    """What CUDA has really loaded: a program may have a library path of its own, which no cache tells of."""
    loaded = look.cuda.value.library if look.cuda.value else None
    if loaded is not None:
        library = Library("libcuda.so.1", loaded, loaded)
        if not (forward and _is_compat(library)):
            yield from _library_problem(way, library.name, want, library, look)


def _is_compat(there: t.Optional[Library]) -> bool:
    """Whether a library comes from the image's cuda-compat package."""
    return there is not None and "/compat/" in there.target + there.path


def device_nodes(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """The nodes that a CUDA program opens, with the host's numbers. Modes and owners are the host's business."""
    host = {
        node.path: (node.major, node.minor)
        for node in evidence.device_nodes.value or ()
        if node.path in UVM_MINORS or node.path == "/dev/nvidiactl" or node.path[len("/dev/nvidia") :].isdigit()
    }

    def judge(way: str, look: ContainerLook) -> t.Iterable[Finding]:
        if not look.device_nodes.known:
            yield unknown(look.device_nodes.error or "", way)
            return
        there = {node.path: (node.major, node.minor) for node in look.device_nodes.value or ()}
        wrong = [path for path in sorted(host) if there.get(path) != host[path]]
        problems = [
            failed(
                "%s: %s" % (way, path),
                expected="%d,%d" % host[path],
                actual="%d,%d" % there[path] if path in there else "not there",
                cause="%s is not in the container as the host has it." % path,
                fix="%s With CDI the specification may be older than the node." % RUN_SITE,
                repair="roles",
            )
            for path in wrong
        ]
        yield from problems or [passed("%d nodes, those of the host" % len(host), way)]

    return list(_each(desired, evidence, judge))


def cuda(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """A CUDA call in the container: nvidia-smi alone is green where CUDA fails. Optional where the bundle says so."""
    required = desired.lock["image"].get("cuda_check", "required") == "required"

    def judge(way: str, look: ContainerLook) -> t.Iterable[Finding]:
        if not look.cuda.known:
            yield unknown(
                look.cuda.error or "",
                way,
                cause="CUDA in the container is not proven.",
                fix="Name an image with Python, or image.cuda_command, in the bundle.",
            )
        elif look.cuda.value is None:
            yield failed(
                way,
                expected="libcuda.so.1",
                actual="not found",
                cause="CUDA in the container is not proven: libcuda.so.1 is not there.",
                fix=RUN_SITE,
                repair="roles",
            )
        else:
            answer = _cuda_answer(way, look.cuda.value, evidence, expected_gpus)
            why = image_environment.own_fault(desired, evidence, look, expected_gpus) if answer.status == "fail" else ""
            yield skipped(why, way) if why else answer

    return [dataclasses.replace(finding, required=required) for finding in _each(desired, evidence, judge)]


def _cuda_answer(way: str, answer: CudaInit, evidence: Evidence, expected_gpus: t.Optional[int]) -> Finding:
    # A command of the bundle's own need not count devices; its success is the answer.
    if answer.code == 0 and (answer.devices is None or mig_devices.fits(evidence, answer, expected_gpus)):
        return passed("CUDA answers%s" % ("" if answer.devices is None else ", %d devices" % answer.devices), way)
    if answer.code == 0:
        cause = answers.cuda_counts(evidence, answer, "expected", "CUDA in the container")
        fix, repair = RUN_SITE, "roles"
    else:
        cause, fix, repair = tools.explain_cuda(answer.code, answer.error)
    return failed(
        way,
        expected=answers.cuda_expected(evidence, expected_gpus),
        actual=tools.cuda_said(answer),
        cause=cause,
        fix=fix,
        repair=repair,
    )


def _each(desired: Desired, evidence: Evidence, judge: Judge) -> t.Iterator[Finding]:
    looks = dict(start_errors.looks(desired, evidence))
    for way in injections(desired):
        look = looks[way]
        if look is None:
            yield skipped("there is no container to look into: see container_runtime.injection", way)
        elif not look.started:
            yield skipped("the container did not start: %s" % look.error, way)
        else:
            yield from _without_consequences(desired, evidence, look, judge(way, look))


def _without_consequences(
    desired: Desired, evidence: Evidence, look: ContainerLook, findings: t.Iterable[Finding]
) -> t.Iterator[Finding]:
    """Where something denies the container its GPUs, that is said once, in whose layer it is."""
    denial = denials.of(desired, evidence, look)
    for finding in findings:
        own = denial is not None and finding.cause == denial.cause and denial.check.startswith("image.")
        if denial is None or own or finding.status == "pass":
            yield finding
        else:
            yield skipped("the container is denied its GPUs: see %s" % denial.check, finding.entity)
