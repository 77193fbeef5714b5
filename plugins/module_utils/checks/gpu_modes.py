# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer host_driver: modes of the driver's in which programs find no GPU although every tool lists it; and whether the
tools agree.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model import Desired, Evidence, Fabric, Finding, GpuState
from . import fabric as manager
from . import gpu_state as state_of
from . import gpus as g
from . import mig_devices
from .outcome import all_passed, failed, passed, skipped, unknown
from .units import FABRIC_MANAGER, problems_of
from .wanted import RELOAD, nvswitches, setting

PERSISTENCED = "nvidia-persistenced.service"

# --- MIG -------------------------------------------------------------------------------------------------------------

#: Below /dev/nvidia-caps: those of configuring and of monitoring are for root, the others are of instances.
_CAPS, _CAPS_OF_ROOT = "/dev/nvidia-caps/nvidia-cap", ("1", "2")


def mig(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """With MIG on a program is given instances. After a reboot or a reset none are there, and CUDA finds nothing."""
    problems = (problem for gpu, state in state_of.told(evidence) for problem in _mig(gpu, state, evidence))
    on = sum(1 for _gpu, state in state_of.told(evidence) if state.mig.value and state.mig.value.current)
    return state_of.judged(
        evidence, problems, "MIG is on for %d GPUs, each with instances" % on if on else "MIG is off"
    )


def _mig(gpu: str, state: GpuState, evidence: Evidence) -> t.Iterator[Finding]:
    yield from state_of.not_known(gpu, "MIG mode", state.mig)
    mode = state.mig.value
    if mode is None:
        return
    if mode.current != mode.pending:
        yield failed(
            gpu,
            expected="a MIG mode that is in force",
            actual="MIG is %s, and %s after a reset" % (_word(mode.current), _word(mode.pending)),
            cause="MIG of GPU %s was switched %s, which is not in force before the GPU is reset."
            % (gpu, _word(mode.pending)),
            fix=state_of.RESET % (state_of.users(state), gpu),
            repair="reboot",
        )
    elif mode.current:
        yield from state_of.not_known(gpu, "MIG instances", state.compute_instances)
        if state.compute_instances.value == 0:
            yield _no_instance(gpu, evidence)


def _no_instance(gpu: str, evidence: Evidence) -> Finding:
    closed = [node.path for node in evidence.device_nodes.value or () if _hides_instance(node.path, node.mode)]
    if closed:
        return unknown(
            "%s is not open to all" % closed[0],
            gpu,
            cause="MIG of GPU %s is on, and an ordinary user is shown no instance: %s is not open to all."
            % (gpu, closed[0]),
            fix="Ask as root: nvidia-smi mig -lgi -i %s." % gpu,
        )
    return failed(
        gpu,
        expected="MIG instances, or MIG off",
        actual="MIG is on, without an instance",
        cause="MIG of GPU %s is on and has no instance: nvidia-smi lists the GPU, and CUDA finds none." % gpu,
        fix="Create the instances that this node shall have (nvidia-smi mig -i %s -cgi PROFILE -C, or "
        "nvidia-mig-parted apply), then systemctl restart nvidia-cdi-refresh.service; or switch MIG off "
        "(nvidia-smi -i %s -mig 0)." % (gpu, gpu),
        repair="manual",
    )


def _hides_instance(path: str, mode: int) -> bool:
    return path.startswith(_CAPS) and path[len(_CAPS) :] not in _CAPS_OF_ROOT and not mode & 0o004


def _word(on: bool) -> str:
    return "on" if on else "off"


# --- NVLink fabric ---------------------------------------------------------------------------------------------------

_STATES = {1: "not started", 2: "in progress"}
_COMPLETED, _UNHEALTHY, _LIMITED = 3, 2, 3

#: Where the health mask says whether a route is unhealthy.
_ROUTE = 4

#: Small fields of the health mask: shift, width, the values that say something is wrong, and what is wrong.
_BROKEN = (
    (_ROUTE, 0x3, {1: "a route is unhealthy"}),
    (
        8,
        0xF,
        {
            2: "the system's identifier (sysguid) is wrong",
            3: "the chassis' serial number is wrong",
            4: "the GPU is in no partition",
            5: "there are too few NVLinks",
            6: "the GPU's firmware does not fit",
            7: "the GPU is in a wrong place",
            8: "the GPU's state is invalid",
        },
    ),
)
_SLOWER = (
    (0, 0x3, {1: "its bandwidth is degraded"}),
    (2, 0x3, {1: "a route recovers"}),
    (6, 0x3, {1: "an access that timed out recovers"}),
)


def fabric(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """Until a GPU is registered with the fabric, no CUDA program starts on it (802), and nvidia-smi is green."""
    by_manager = manager.fabric_manager(desired, evidence, expected_gpus)
    blamed = any(finding.status != "pass" for finding in by_manager)
    problems: t.List[Finding] = []
    for gpu, state in state_of.told(evidence):
        said = state.fabric.value
        # A GPU with a route is part of a fabric, whose switches need not be here: a tray of an NVL72 rack has none.
        broken = said is not None and said.state == _COMPLETED and (said.health >> _ROUTE & 0x3) == 1
        problems += [one if broken else _weaker(one, evidence, expected_gpus) for one in _fabric(gpu, state)]
    if blamed and any(problem.required for problem in problems):
        return [skipped("%s: see host_driver.fabric_manager" % problems[0].actual)]
    return state_of.judged(evidence, problems, "every GPU is registered, where there is a fabric")


def _weaker(finding: Finding, evidence: Evidence, expected_gpus: t.Optional[int]) -> Finding:
    """Informational where CUDA has every GPU and no NVSwitch is here: then the node's work does not need the fabric."""
    cuda = evidence.cuda.value
    works = cuda is not None and cuda.code == 0 and mig_devices.fits(evidence, cuda, expected_gpus)
    spared = works and not nvswitches(evidence.pci.value or ())
    return dataclasses.replace(finding, required=False) if spared else finding


def _fabric(gpu: str, state: GpuState) -> t.Iterator[Finding]:
    yield from state_of.not_known(gpu, "NVLink fabric state", state.fabric)
    said = state.fabric.value
    if said is None or said.state == 0:
        return
    if said.state != _COMPLETED:
        word = _STATES.get(said.state, "in state %d" % said.state)
        yield _not_ready(gpu, "registration %s" % word, "its registration with the NVLink fabric is %s" % word)
    elif said.status != 0:
        word = "registration ended with NVML error %d" % said.status
        yield _not_ready(gpu, word, "its %s" % word)
    else:
        yield from _health(gpu, said)


def _not_ready(gpu: str, actual: str, why: str) -> Finding:
    return failed(
        gpu,
        expected="registered with the NVLink fabric",
        actual=actual,
        cause="No CUDA program starts on GPU %s: %s." % (gpu, why),
        fix="Wait a minute and look again, since it takes a while after a boot. If it stays so: journalctl -b -u %s, "
        "and systemctl restart %s while no work runs on the GPUs. Where the switches are in other machines, as in a "
        "rack or behind a virtual machine, look at the fabric manager there." % (FABRIC_MANAGER, FABRIC_MANAGER),
        repair="manual",
    )


def _health(gpu: str, said: Fabric) -> t.Iterator[Finding]:
    broken = _of_mask(said.health, _BROKEN)
    if said.summary == _UNHEALTHY and not broken:
        broken = ["its health is unhealthy"]
    slower = _of_mask(said.health, _SLOWER) + (["its capacity is limited"] if said.summary == _LIMITED else [])
    for words, required in ((broken, True), ([] if broken else slower, False)):
        if words:
            yield failed(
                gpu,
                expected="a healthy NVLink fabric",
                actual="; ".join(words),
                cause="GPU %s tells of the NVLink fabric: %s." % (gpu, "; ".join(words)),
                fix="Look at the links (nvidia-smi nvlink -s -i %s) and at journalctl -b -u %s; drain the node before "
                "a reset." % (gpu, FABRIC_MANAGER),
                repair="manual",
                required=required,
            )


def _of_mask(mask: int, fields: t.Iterable[t.Tuple[int, int, t.Mapping[int, str]]]) -> t.List[str]:
    values = ((names, mask >> shift & width) for shift, width, names in fields)
    return [names[value] for names, value in values if value in names]


# --- do the tools agree ----------------------------------------------------------------------------------------------


def answers_agree(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """nvidia-smi and NVML ask the same driver; where they differ, one of them uses another library than it should."""
    smi, nvml = evidence.smi.value, evidence.nvml.value
    if smi is None or nvml is None:
        silent = "nvidia-smi" if smi is None else "NVML"
        see = "%s does not answer: see host_driver.%s" % (silent, silent.replace("-", "_").lower())
        # Not required: that one is, and where it is waived this must not stand in its place.
        return [dataclasses.replace(skipped(see), required=False)]
    found: t.List[Finding] = []
    if smi.driver and nvml.driver and smi.driver != nvml.driver:
        found.append(
            failed(
                expected="one driver",
                actual="nvidia-smi says %s, NVML %s" % (smi.driver, nvml.driver),
                cause="nvidia-smi and NVML speak of two drivers: one of them finds a library of another version.",
                fix="Look for the copy (type -a nvidia-smi; ldconfig -p | grep libnvidia-ml) and remove it. %s"
                % RELOAD,
                repair="manual",
            )
        )
    for theirs, others, name in ((smi, nvml, "NVML"), (nvml, smi, "nvidia-smi")):
        if any(gpu.error for gpu in others.gpus):
            continue  # the one that it cannot ask has no UUID, and has a finding
        known = {gpu.uuid for gpu in others.gpus}
        for gpu in theirs.gpus:
            if gpu.uuid and not gpu.error and gpu.uuid not in known:
                found.append(_only_one_knows(g.name_of(gpu), str(gpu.uuid), name))
    return all_passed(found, "%d GPUs, driver %s" % (len(nvml.gpus), nvml.driver))


def _only_one_knows(gpu: str, uuid: str, silent: str) -> Finding:
    return failed(
        gpu,
        expected="the same GPUs from nvidia-smi and NVML",
        actual="%s does not list %s" % (silent, uuid),
        cause="nvidia-smi and NVML do not list the same GPUs: %s lacks %s (%s)." % (silent, gpu, uuid),
        fix="Look again, since a GPU may have been lost between the two; then at the NVRM lines of journalctl -k. "
        "Reboot the node if it stays so.",
        repair="manual",
    )


# --- persistence -----------------------------------------------------------------------------------------------------


def persistence(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """Informational: without it each first program waits for the GPU to start, and counters begin anew."""
    if not setting(desired, "driver_persistenced"):
        return [passed("not wanted (driver_persistenced)")]
    if any(problems_of(PERSISTENCED, "active", evidence)):
        return [skipped("see host_driver.units")]
    problems = (problem for gpu, state in state_of.told(evidence) for problem in _persistence(gpu, state))
    return state_of.judged(evidence, problems, "persistence mode is on, where GPUs have one")


def _persistence(gpu: str, state: GpuState) -> t.Iterator[Finding]:
    yield from state_of.not_known(gpu, "persistence mode", state.persistence)
    if state.persistence.value is False:
        yield failed(
            gpu,
            expected="persistence mode on",
            actual="off",
            cause="GPU %s falls asleep when nothing uses it: the next program waits seconds for it to start." % gpu,
            fix="systemctl restart %s, and look at journalctl -b -u %s." % (PERSISTENCED, PERSISTENCED),
            repair="manual",
        )
