# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer host_driver: what the driver answers to the tools that talk to it: nvidia-smi, NVML and CUDA."""

from __future__ import annotations

import typing as t

from ..model import CudaInit, Desired, Evidence, Finding, Gpu, GpuTool, Reading
from . import card_faults, device_nodes, gpu_modes, mig_devices, refusal_reasons, tools
from . import gpus as g
from .outcome import all_passed, failed, passed, skipped, unknown
from .wanted import RELOAD, RUN_SITE, driver_version

#: CUDA_ERROR_NO_DEVICE
_NO_DEVICE = 100


def nvidia_smi(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    return _tool("nvidia-smi", evidence.smi, desired, evidence, expected_gpus)


def nvml(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    return _tool("NVML", evidence.nvml, desired, evidence, expected_gpus)


def _tool(
    name: str, reading: Reading[GpuTool], desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]
) -> t.List[Finding]:
    if not reading.known:
        return [_tool_failed(name, reading.error or "", desired, evidence)]
    if reading.value is None:
        return [
            failed(
                expected="%s answers" % name,
                actual="not installed",
                cause="%s is not installed." % name,
                fix=RUN_SITE,
                repair="roles",
            )
        ]
    answer = reading.value
    problems: t.List[Finding] = []
    if any(not gpu.error for gpu in answer.gpus):  # without a GPU that answers, no version is told
        problems.extend(_version_said(name, answer.driver, driver_version(desired)))
    problems.extend(_gpu_problems(name, answer, desired, evidence, expected_gpus))
    return all_passed(problems, "%d GPUs, driver %s" % (len(answer.gpus), answer.driver))


def _tool_failed(name: str, words: str, desired: Desired, evidence: Evidence) -> Finding:
    meaning = tools.explain(words)
    if _no_driver(evidence):
        return skipped("%s failed (%s): see host_driver.loaded" % (name, words))
    if meaning is None or meaning.vague or meaning.repair != "manual":
        blamed = _nodes_to_blame(desired, evidence)
        if blamed:
            return skipped("%s failed (%s), and cannot be judged before %s" % (name, words, blamed))
    if meaning is None:
        return unknown(words)
    return failed(
        expected="%s answers" % name,
        actual=words,
        cause="%s failed: %s" % (name, meaning.cause),
        fix=meaning.fix,
        repair=meaning.repair,
    )


def _no_driver(evidence: Evidence) -> bool:
    """Then that is the finding, with a cause and a fix, and these are its consequences."""
    return evidence.driver.known and evidence.driver.value is None


def _nodes_to_blame(desired: Desired, evidence: Evidence) -> t.Optional[str]:
    """What is wrong with the device nodes while the right driver is loaded: then the next layer is the broken one."""
    driver = evidence.driver.value
    if driver is None or driver.version != driver_version(desired):
        return None
    return device_nodes.trouble(desired, evidence)


def _version_said(name: str, version: t.Optional[str], want: str) -> t.Iterator[Finding]:
    if version is None:
        yield unknown("%s did not say the version of the driver" % name)
    elif version != want:
        yield failed(
            expected="driver %s" % want,
            actual="driver %s" % version,
            cause="%s talks to another driver than the lock's." % name,
            fix=RELOAD,
            repair="reload",
        )


def _gpu_problems(
    name: str, answer: GpuTool, desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]
) -> t.Iterator[Finding]:
    if expected_gpus is None:
        yield unknown("golden_expected_gpus is not set for this node")
        return
    blamed = _nodes_to_blame(desired, evidence)
    for gpu in answer.gpus:
        if gpu.error:
            yield _gpu_failed(name, gpu, desired, evidence, blamed)
    if len(answer.gpus) == expected_gpus:
        return
    counted = "%s lists %d of %d GPUs" % (name, len(answer.gpus), expected_gpus)
    if blamed:
        yield skipped("%s, and cannot be judged before %s" % (counted, blamed))
        return
    # PCI has them all, else the layer hardware would be broken: these are the ones that the driver did not take.
    silent = g.silent_addresses(answer, evidence)
    cause, fix, repair = _not_initialised(silent, desired, evidence)
    yield failed(
        ", ".join(silent),
        expected="%d GPUs" % expected_gpus,
        actual="%d GPUs" % len(answer.gpus),
        cause=cause,
        fix=fix,
        repair=repair,
    )


_AFTER_FAILED_INIT = (
    "Reboot the node once; if the driver refuses the same GPU again, drain the node and have the card looked at. "
    "journalctl -k has the driver's reason."
)


def _not_initialised(addresses: t.Sequence[str], desired: Desired, evidence: Evidence) -> t.Tuple[str, str, str]:
    """Cause, fix and repair. What the log says of a GPU last is the loudest, and seldom the cause."""
    named = ", ".join(addresses) or "every GPU"
    reasons = (refusal_reasons.reason(desired, evidence, address) for address in addresses)
    reason = next((reason for reason in reasons if reason), None)
    if reason is not None:
        return "The driver did not initialise %s: %s." % (named, reason.cause), reason.fix, reason.repair
    faults = card_faults.find(evidence)
    fault = next((faults[address][0] for address in addresses if address in faults), None)
    if fault is not None:
        return fault.cause % named, fault.fix, "manual"
    log = next((line for line in (g.log_of(evidence, address) for address in addresses) if line), "")
    words = ", the kernel log says: %s" % log if log else ""
    return "The driver did not initialise %s%s." % (named, words), _AFTER_FAILED_INIT, "manual"


def _gpu_failed(name: str, gpu: Gpu, desired: Desired, evidence: Evidence, blamed: t.Optional[str]) -> Finding:
    meaning = tools.explain(gpu.error or "")
    if blamed and (meaning is None or meaning.vague or meaning.repair != "manual"):
        return skipped("%s says %s, and it cannot be judged before %s" % (name, gpu.error, blamed), g.name_of(gpu))
    if meaning and not (meaning.vague and g.log_of(evidence, g.name_of(gpu))):
        cause, fix, repair = "%s failed: %s" % (name, meaning.cause), meaning.fix, meaning.repair
    else:
        cause, fix, repair = _not_initialised([g.name_of(gpu)], desired, evidence)
    return failed(
        g.name_of(gpu),
        expected="a GPU that answers",
        actual="%s" % gpu.error,
        cause=cause,
        fix=fix,
        repair=repair,
    )


def cuda(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """cuInit and the device count on the host: nvidia-smi is green in many states in which no CUDA program runs."""
    reading = evidence.cuda
    if not reading.known:
        return [_tool_failed("CUDA", reading.error or "", desired, evidence)]
    if reading.value is None:
        return [
            failed(
                expected="libcuda.so.1",
                actual="not found",
                cause="libcuda.so.1 is missing.",
                fix=RUN_SITE,
                repair="roles",
            )
        ]
    answer = reading.value
    if answer.code == 0 and mig_devices.fits(evidence, answer, expected_gpus):
        parts = mig_devices.of(evidence)
        return [passed(tools.cuda_said(answer) + (", of %s" % parts.words if parts else ""))]
    actual = tools.cuda_said(answer)
    if _no_driver(evidence):
        return [skipped("CUDA failed (%s): see host_driver.loaded" % actual)]
    blamed = _nodes_to_blame(desired, evidence)
    if blamed:
        return [skipped("CUDA failed (%s), and cannot be judged before %s" % (actual, blamed))]
    for check, id_of in ((gpu_modes.mig, "host_driver.mig"), (gpu_modes.fabric, "host_driver.fabric")):
        # Without a device CUDA may only be shown no instance, and that is not known there.
        bad = ("fail", "unknown") if answer.code == _NO_DEVICE and check is gpu_modes.mig else ("fail",)
        if any(f.status in bad and f.required for f in check(desired, evidence, expected_gpus)):
            return [skipped("CUDA failed (%s): see %s" % (actual, id_of))]
    if answer.code == 0 and evidence.nvml.value is None:
        return [skipped("%s, and cannot be judged before MIG is known: see host_driver.nvml" % actual)]
    if answer.code == 0:
        cause, fix, repair = cuda_counts(evidence, answer, "declared"), tools.CUDA_ERRORS[100][1], "manual"
    else:
        cause, fix, repair = tools.explain_cuda(answer.code, answer.error)
    want = cuda_expected(evidence, expected_gpus)
    return [failed(expected=want, actual=actual, cause=cause, fix=fix, repair=repair)]


def cuda_expected(evidence: Evidence, expected_gpus: t.Optional[int]) -> str:
    parts = mig_devices.of(evidence)
    return "cuInit 0, devices of %s" % parts.words if parts else tools.cuda_wanted(expected_gpus)


def cuda_counts(evidence: Evidence, answer: CudaInit, than: str, who: str = "CUDA") -> str:
    """The cause where CUDA starts and sees other devices than it shall."""
    parts = mig_devices.of(evidence)
    if parts:
        return "%s sees other devices than this node's: %s." % (who, mig_devices.wrong(parts, answer))
    return "%s sees another number of GPUs than %s." % (who, than)
