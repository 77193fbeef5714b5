# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer hardware: Xids, the errors by which the driver tells of a GPU in the kernel's log of this boot.

A program's own error is told and is no fault of the node. One that asks for a reset or a reboot is, until the driver
says that nothing is wanted any more. What another check says of the same GPU is not said again.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model import Desired, Evidence, Finding, GpuState
from ..parse import xid as log
from ..parse.xid import Xid
from . import card_faults, gpu_state, hardware, refusal_reasons, sxid
from . import gpus as g
from .outcome import all_passed, failed, passed, skipped
from .wanted import set_aside

#: Those of the memory, of which hardware.memory tells by what NVML counts.
_OF_MEMORY = (48, 63, 64, 94, 95, 140, 171, 172)

#: The GPU did not start: where no GPU did, the driver is at fault rather than each card.
_NOT_STARTED = 143

#: The grave ones, gravest first.
_GRAVE = (log.POWER, log.REBOOT, log.RESET, log.WORKFLOW)

#: So many Xids of one GPU are shown, the first and the last.
_SHOWN = 6

_POWER = (
    "Drain the node and switch its power off and on; look at the card's seat and power cables. If it happens again, "
    "replace the card."
)
_FOLLOW = (
    "Drain the node and find out which: nvidia-smi -q -i %s for ECC and remapped rows, nvidia-smi nvlink -e -i %s for "
    "the links. Reset the GPU or reboot the node after that; if it comes again, have card and links looked at."
)
_LOOK_UP = "Look the number up in NVIDIA's Xid catalog (docs.nvidia.com/deploy/xid-errors)."


def xid(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    if evidence.kernel_log.value is None:
        return [dataclasses.replace(skipped("the kernel log was not read: see hardware.gpu_healthy"), required=False)]
    aside = {device.address for device in set_aside(evidence.pci.value or ())}
    found: t.Dict[str, t.List[Xid]] = {}
    for one in log.parse(evidence.kernel_log.value).value or ():
        if one.gpu not in aside:
            found.setdefault(one.gpu, []).append(one)
    states = dict(gpu_state.told(evidence))
    said = (
        finding
        for gpu, xids in sorted(found.items())
        for finding in _of_gpu(gpu, xids, states.get(gpu), desired, evidence)
    )
    return all_passed([*said, *sxid.fatal(evidence)], "no Xid in the kernel log of this boot")


def _of_gpu(
    gpu: str, xids: t.Sequence[Xid], state: t.Optional[GpuState], desired: Desired, evidence: Evidence
) -> t.Iterator[Finding]:
    open_ones = since_recovery(xids)
    grave = [one for bucket in _GRAVE for one in open_ones if _bucket(one) == bucket]
    asked = next((one.recovery for one in reversed(open_ones) if one.recovery), None)
    contained = [one for one in open_ones if _bucket(one) == log.CONTAINED]
    strange = [one for one in open_ones if _bucket(one) in ("", log.LOOK)]
    sequence = in_order(xids)
    if not (grave or asked or contained or strange):
        yield passed("%s: nothing that the GPU is at fault for" % sequence, gpu)
        return
    elsewhere = _said_elsewhere(gpu, grave or contained, state, desired, evidence)
    if elsewhere:
        # Not required: that one is, and where it is waived this must not stand in its place.
        yield dataclasses.replace(skipped("%s: see %s" % (sequence, elsewhere), gpu), required=False)
    elif grave or asked:
        yield _fault(gpu, grave, asked, sequence, state)
    elif contained:
        yield _told(
            gpu,
            sequence,
            "GPU %s had an error of its memory that was kept to one program." % gpu,
            "Start that program again, and reset the GPU when it fits: nvidia-smi --gpu-reset -i %s." % gpu,
        )
    else:
        which = "that we do not know" if strange[0].meaning is None else "for which NVIDIA names no action"
        yield _told(gpu, sequence, "GPU %s reported an error %s: %s." % (gpu, which, strange[0].label), _LOOK_UP)


def _bucket(one: Xid) -> str:
    return one.meaning.bucket if one.meaning else ""


def since_recovery(xids: t.Sequence[Xid]) -> t.List[Xid]:
    """Those after the driver last said that no recovery is wanted any more."""
    recovered = [at for at, one in enumerate(xids) if one.recovery == log.RECOVERED]
    return list(xids[recovered[-1] + 1 :] if recovered else xids)


def in_order(xids: t.Sequence[Xid]) -> str:
    """What was reported, the first cause first; a number that is repeated counts once."""
    labels: t.Dict[str, int] = {}
    for one in xids:
        labels[one.label] = labels.get(one.label, 0) + 1
    words = [label if count == 1 else "%s %d times" % (label, count) for label, count in labels.items()]
    if len(words) > _SHOWN:
        words = [*words[: _SHOWN // 2], "%d others" % (len(words) - _SHOWN), *words[-(_SHOWN // 2) :]]
    return ", then ".join(words)


def _said_elsewhere(
    gpu: str, found: t.Sequence[Xid], state: t.Optional[GpuState], desired: Desired, evidence: Evidence
) -> str:
    """The check that has a required finding by which these are explained; "" where none has."""
    if gpu in g.lost(evidence):
        return "hardware.gpu_healthy"
    if state is not None and state.recovery.value:
        return "hardware.recovery"
    of_memory = bool(found) and all(one.number in _OF_MEMORY for one in found)
    if state is not None and of_memory and any(one.required for one in gpu_state.memory_problems(gpu, state)):
        return "hardware.memory"
    if refusal_reasons.of_gpu(desired, evidence, gpu) is not None:
        return "the layer host_driver, which says why the driver refuses it"
    if not hardware.driver_is_right(desired, evidence):
        return "the driver that is loaded and the device nodes, which are not as wanted"
    if gpu in card_faults.find(evidence) or gpu in g.refused(evidence):
        return "hardware.gpu_healthy"
    if any(one.number == _NOT_STARTED for one in found) and not g.works(gpu, evidence):
        return "host_driver.nvml"
    return ""


def _fault(
    gpu: str, grave: t.Sequence[Xid], asked: t.Optional[int], sequence: str, state: t.Optional[GpuState]
) -> Finding:
    bucket = _bucket(grave[0]) if grave else ""
    # A reset leaves its Xid in the log, and the newer drivers tell that nothing is wanted any more.
    if bucket in ("", log.RESET) and state is not None and state.recovery.value == log.RECOVERED:
        return _told(
            gpu,
            sequence,
            "GPU %s reported an error earlier in this boot, and the driver wants nothing done now." % gpu,
            "Nothing, where the GPU was reset since. Else drain the node and reset it: nvidia-smi --gpu-reset -i %s."
            % gpu,
        )
    if asked:
        wants, fix, repair = gpu_state.action_of(asked)
        why = ", after %s" % grave[0].label if grave else ""
        cause, fix = "The driver wants %s for GPU %s%s." % (wants, gpu, why), fix % (gpu_state.users(state), gpu)
    elif bucket == log.POWER:
        cause, fix, repair = "GPU %s reported %s." % (gpu, grave[0].label), _POWER, "manual"
    elif bucket == log.WORKFLOW:
        cause = "GPU %s reported %s, which has several causes." % (gpu, grave[0].label)
        fix, repair = _FOLLOW % (gpu, gpu), "manual"
    else:
        action = 1 if bucket == log.RESET else 2
        wants, fix, repair = gpu_state.action_of(action)
        cause = "GPU %s reported %s, which takes %s." % (gpu, grave[0].label, wants)
        fix = fix % (gpu_state.users(state), gpu)
    return failed(
        gpu, expected="no Xid that a GPU is at fault for", actual=sequence, cause=cause, fix=fix, repair=repair
    )


def _told(gpu: str, sequence: str, cause: str, fix: str) -> Finding:
    return failed(
        gpu,
        expected="no Xid that a GPU is at fault for",
        actual=sequence,
        cause=cause,
        fix=fix,
        repair="manual",
        required=False,
    )
