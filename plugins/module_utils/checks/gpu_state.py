# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer hardware: what each GPU says of its memory, and whether the driver wants it reset, as NVML tells it.

nvidia-smi lists such a GPU like any other, and programs start on it.
"""

from __future__ import annotations

import typing as t

from ..model import Desired, Evidence, Finding, GpuState, Reading
from . import gpus as g
from .outcome import all_passed, failed, skipped, unknown

#: NVML's numbers of recovery actions: what the driver wants, what to type, and what mends it.
RESET = "Stop what uses the GPU%s and reset it: nvidia-smi --gpu-reset -i %s. A reboot of the node does the same."
_REBOOT = "Drain the node and reboot it%.0s%.0s; site.yml does it with golden_allow_reboot=true."
ACTIONS: t.Dict[int, t.Tuple[str, str, str]] = {
    1: ("a reset of the GPU", RESET, "reboot"),
    2: ("a reboot of the node", _REBOOT, "reboot"),
    3: (
        "that no work uses peer-to-peer or NVLink with the GPU (drain P2P)",
        "End the programs that use several GPUs with this one%s, then look again; if the driver still asks for it, "
        "reset the GPU: nvidia-smi --gpu-reset -i %s.",
        "manual",
    ),
    4: ("the GPU drained and reset", RESET, "reboot"),
    5: (
        "its IMEX domain recovered",
        "Restart the IMEX service on every node of the domain (systemctl restart nvidia-imex)%.0s, then look at GPU %s "
        "again.",
        "manual",
    ),
    6: ("a reset of the GPU's PCIe bus", _REBOOT, "reboot"),
    7: ("a restart of the system", _REBOOT, "reboot"),
}

_RMA = "If it comes again, run NVIDIA's field diagnostic and have the card replaced (RMA)."


def told(evidence: Evidence) -> t.List[t.Tuple[str, GpuState]]:
    """The GPUs that NVML answers of, by name. For one that it cannot ask, host_driver.nvml has a finding."""
    answer = evidence.nvml.value
    return [(g.name_of(gpu), gpu.state) for gpu in answer.gpus if gpu.state is not None] if answer else []


def judged(evidence: Evidence, problems: t.Iterable[Finding], well: str) -> t.List[Finding]:
    """The problems, or one pass; a skip where NVML told nothing, of which host_driver.nvml says why."""
    if evidence.nvml.value is None:
        return [skipped("NVML does not answer: see host_driver.nvml")]
    if not told(evidence):
        return [skipped("NVML was not asked for the state of any GPU, or has none that answers: see host_driver.nvml")]
    return all_passed(problems, well)


def not_known(gpu: str, what: str, reading: Reading[t.Any], required: bool = True) -> t.Iterator[Finding]:
    """A finding for an answer that could not be read; none where it is known, also that there is no such thing."""
    if not reading.known:
        why = "%s: %s" % (what, reading.error)
        yield unknown(
            why,
            gpu,
            cause="GPU %s did not say its %s: %s." % (gpu, what, reading.error),
            fix="Look for NVRM lines in journalctl -k, and ask again: nvidia-smi -q -i %s." % gpu,
            required=required,
        )


def memory(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    problems = (problem for gpu, state in told(evidence) for problem in memory_problems(gpu, state))
    return judged(evidence, problems, "no memory error that waits for anything, where GPUs tell of them")


def memory_problems(gpu: str, state: GpuState) -> t.Iterator[Finding]:
    yield from not_known(gpu, "uncorrected memory errors", state.ecc_volatile)
    yield from not_known(gpu, "remapped rows", state.remapped)
    yield from not_known(gpu, "retired pages", state.retired_pending)
    rows, errors = state.remapped.value, state.ecc_volatile.value or 0
    if rows is not None and rows.failed:
        yield failed(
            gpu,
            expected="spare rows for every broken one",
            actual="row remapping failed; %d rows remapped before" % (rows.correctable + rows.uncorrectable),
            cause="GPU %s has a broken row of memory and no spare row left for it." % gpu,
            fix="Drain the node and take the card out of use: run NVIDIA's field diagnostic and have it replaced "
            "(RMA). A reset does not mend it.",
            repair="manual",
        )
    elif errors > 0:
        yield failed(
            gpu,
            expected="no uncorrected memory error",
            actual="%d since the driver was loaded, %s in its life" % (errors, _life(state)),
            cause="GPU %s has met %d memory errors that ECC could not correct: what was computed there may be wrong."
            % (gpu, errors),
            fix="Drain the node and reset the GPU (nvidia-smi --gpu-reset -i %s) or reboot: that puts spare memory in "
            "place and counts anew. %s" % (gpu, _RMA),
            repair="manual",
        )
    elif rows is not None and rows.pending:
        yield _waits(gpu, "a row of memory is to be replaced by a spare one", "reset the GPU or reboot the node")
    elif state.retired_pending.value:
        yield _waits(gpu, "pages of memory are to be retired", "reboot the node")


def _life(state: GpuState) -> str:
    count = state.ecc_aggregate.value
    return "not known how many" if count is None else "%d" % count


def _waits(gpu: str, what: str, step: str) -> Finding:
    return failed(
        gpu,
        expected="nothing that waits for a reset",
        actual=what,
        cause="GPU %s works, and waits for its next reset: %s." % (gpu, what),
        fix="Drain the node soon and %s. It is no reason to replace the card." % step,
        repair="manual",
        required=False,
    )


def recovery(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """What the driver itself wants done before the GPU is fit again. Drivers before 570 do not say."""
    problems = (problem for gpu, state in told(evidence) for problem in _recovery(gpu, state))
    return judged(evidence, problems, "no GPU waits for a recovery, where the driver tells")


def _recovery(gpu: str, state: GpuState) -> t.Iterator[Finding]:
    yield from not_known(gpu, "recovery action", state.recovery)
    action = state.recovery.value
    if action:
        wants, fix, repair = action_of(action)
        yield failed(
            gpu,
            expected="no recovery action",
            actual="the driver wants %s" % wants,
            cause="GPU %s is not fit for work before the driver gets what it asks for: %s." % (gpu, wants),
            fix=fix % (users(state), gpu),
            repair=repair,
        )


def action_of(number: int) -> t.Tuple[str, str, str]:
    """What the driver wants, how to do it with places for the users and for the GPU, and the repair."""
    return ACTIONS.get(number, ("recovery action %d, which is new" % number, _REBOOT, "reboot"))


def users(state: t.Optional[GpuState]) -> str:
    """The programs that compute on it, in brackets for a sentence."""
    running = (state.processes.value if state else None) or ()
    names = ["%s (pid %d)" % (one.name or "a program", one.pid) for one in running[:4]]
    more = ["and %d more" % (len(running) - len(names))] if len(running) > len(names) else []
    return " (%s)" % ", ".join(names + more) if names else ""
