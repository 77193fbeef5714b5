# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer host_driver: the kernel, what else holds the GPU, the driver's libraries, and the tools that talk to it.

The module itself is judged in ``module``, its flavour in ``flavour``, its signature in ``secure_boot``; images and the
fabric manager in ``initramfs`` and ``fabric``.
"""

from __future__ import annotations

import typing as t

from ..model import LIBRARIES, Desired, Evidence, Finding, Gpu, GpuTool, Library, Reading
from . import blockers, device_nodes, refusal_reasons, tools
from . import gpus as g
from . import module as nvidia
from .outcome import all_passed, failed, passed, skipped, unknown
from .wanted import (
    REBOOT,
    RELOAD,
    RUN_SITE,
    driver_version,
    kernel_packages_installed,
    kernel_release,
    running_kernel,
)

#: Where packages put them. A copy that is found elsewhere first came from a .run installer or by hand.
_PACKAGED = ("/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/")


def kernel(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    if evidence.platform.value is not None and evidence.platform.value.wsl:
        return [_wsl(evidence)]
    running, want = running_kernel(evidence), kernel_release(desired)
    if want is None or running == want:
        return [passed(running)]
    installed = kernel_packages_installed(desired, evidence)
    lacking = _lacking_to_boot(desired, evidence, want) if installed else None
    if lacking:
        return [_not_yet(running, want, *lacking)]
    return [
        failed(
            expected=want,
            actual=running,
            cause="The node runs another kernel than the lock's%s." % (", which is installed" if installed else ""),
            fix="%s If it comes up with %s again, the boot loader's default is another entry." % (REBOOT, running)
            if installed
            else RUN_SITE,
            repair="reboot" if installed else "roles",
        )
    ]


def _lacking_to_boot(desired: Desired, evidence: Evidence, want: str) -> t.Optional[t.Tuple[str, str]]:
    """What a kernel lacks, in short and as a sentence, so that the node would not come up, or without its GPUs."""
    if blockers.lacks_initramfs(evidence, want):
        return "the initramfs", "it has no initramfs, and would not find its root file system."
    ahead = evidence.module_to_boot
    if ahead.known and not nvidia.is_built(desired, ahead.value):
        return "the module", "no nvidia module is built for it. %s" % nvidia.dkms_says(desired, evidence, want)
    return None


def _not_yet(running: str, want: str, lacking: str, why: str) -> Finding:
    return failed(
        expected=want,
        actual=running,
        cause="The node runs another kernel than the lock's, and must not be rebooted into that: %s" % why,
        fix="%s It builds %s; then a reboot is due." % (RUN_SITE, lacking),
        repair="roles",
    )


def _wsl(evidence: Evidence) -> Finding:
    there = sorted(
        name
        for name in evidence.packages.value or {}
        if name.startswith(("nvidia-utils", "libnvidia-compute", "nvidia-driver"))
    )
    return failed(
        expected="a host with a kernel and a driver of its own",
        actual="WSL%s" % (", with %s installed" % ", ".join(there) if there else ""),
        cause="WSL uses the driver of Windows through /usr/lib/wsl/lib; Linux driver packages shadow it.",
        fix="Remove the Linux driver packages and install the driver on Windows; WSL cannot be a node of a pool.",
        repair="manual",
    )


def nouveau(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    problems = [
        failed(
            one.name,
            expected="no driver but nvidia",
            actual=one.where,
            cause=one.cause,
            fix=one.fix,
            repair=one.repair,
        )
        for one in blockers.find(desired, evidence)
    ]
    return all_passed(problems, "no other driver holds a GPU")


def libraries(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    want, there = driver_version(desired), evidence.libraries.value or {}
    problems = (problem for name in LIBRARIES for problem in _library_problem(name, want, there.get(name)))
    return all_passed(problems, "%s at %s" % (" and ".join(LIBRARIES), want))


def _library_problem(name: str, want: str, there: t.Optional[Library]) -> t.Iterator[Finding]:
    if there is not None and there.version == want:
        return
    elsewhere = there is not None and not there.path.startswith(_PACKAGED)
    if there is None:
        actual, cause = "the dynamic linker does not find it", "%s is missing." % name
    elif elsewhere:
        actual = "%s -> %s" % (there.path, there.target)
        cause = "Another copy of %s is found first, in %s: from a .run installer, or put there by hand." % (
            name,
            there.path.rpartition("/")[0],
        )
    else:
        actual = "%s -> %s" % (there.path, there.target)
        cause = "%s is of another version than the lock: an upgrade moved user space alone." % name
    yield failed(
        name,
        expected=want,
        actual=actual,
        cause=cause,
        fix="Remove that copy (nvidia-uninstall) and run ldconfig." if elsewhere else RUN_SITE,
        repair="manual" if elsewhere else "roles",
    )


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
    if meaning is None or meaning.repair != "manual":
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
    log = next((line for line in (g.log_of(evidence, address) for address in addresses) if line), "")
    words = ", the kernel log says: %s" % log if log else ""
    return "The driver did not initialise %s%s." % (named, words), _AFTER_FAILED_INIT, "manual"


def _gpu_failed(name: str, gpu: Gpu, desired: Desired, evidence: Evidence, blamed: t.Optional[str]) -> Finding:
    meaning = tools.explain(gpu.error or "")
    if blamed and (meaning is None or meaning.repair != "manual"):
        return skipped("%s says %s, and it cannot be judged before %s" % (name, gpu.error, blamed), g.name_of(gpu))
    if meaning:
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
    if answer.code == 0 and answer.devices == expected_gpus:
        return [passed("cuInit 0, %s devices" % answer.devices)]
    actual = "cuInit %d %s, %s devices" % (answer.code, answer.error or "", answer.devices)
    blamed = _nodes_to_blame(desired, evidence)
    if blamed:
        return [skipped("CUDA failed (%s), and cannot be judged before %s" % (actual, blamed))]
    if answer.code == 0:
        cause, fix, repair = "CUDA sees another number of GPUs than declared.", tools.CUDA_ERRORS[100][1], "manual"
    else:
        cause, fix, repair = tools.explain_cuda(answer.code, answer.error)
    return [failed(expected="cuInit 0, %s devices" % expected_gpus, actual=actual, cause=cause, fix=fix, repair=repair)]
