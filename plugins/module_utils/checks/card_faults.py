# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only hands at the card, or a power cycle, can mend: from the words of the driver or of a tool to cause and fix.

The words stand before ``RmInitAdapter failed``, which is loudest and says nothing; and many of them name no GPU.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Evidence
from . import gpus as g
from .wanted import gpus as pci_gpus


class Fault(t.NamedTuple):
    """``cause`` is a sentence with a place for the GPU. ``certain``: it is so whatever driver says it."""

    pattern: str
    cause: str
    fix: str
    certain: bool = False


_POWER_CYCLE = (
    "Drain the node and switch its power off and on: a reboot leaves the card as it is. If it happens again, replace "
    "the card."
)

FAULTS = (
    Fault(
        r"power cables|insufficient (?:external )?power",
        "GPU %s does not start: a power cable of the card is not connected.",
        "Drain the node, switch it off and connect every power cable of that card.",
        certain=True,
    ),
    Fault(
        r"unexpected WPR2 already up",
        "GPU %s does not start: firmware of an earlier start still holds its protected memory (WPR2).",
        _POWER_CYCLE,
    ),
    Fault(
        r"failed to wait for GFW[_ ]boot|halt with GFW[_ ]boot",
        "GPU %s does not start: the firmware of the card itself did not come up (GFW boot).",
        _POWER_CYCLE,
    ),
)

_FAILED = "RmInitAdapter failed"
_ADDRESS = re.compile(r"\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\b", re.IGNORECASE)


def find(evidence: Evidence) -> t.Dict[str, t.Tuple[Fault, str]]:
    """GPUs that do not answer and why, with the words that say so."""
    found: t.Dict[str, t.Tuple[Fault, str]] = {}
    for name, answer in g.answers(evidence):
        for gpu in answer.gpus:
            fault = _explain(gpu.error or "")
            if fault:
                found.setdefault(g.name_of(gpu), (fault, "%s: %s" % (name, gpu.error)))
    for device in pci_gpus(evidence.pci.value or ()):
        if device.address not in found and not g.works(device.address, evidence):
            for line in _before_failure(evidence, device.address):
                fault = _explain(line)
                if fault:
                    found[device.address] = (fault, line.strip())
                    break
    return found


def _explain(words: str) -> t.Optional[Fault]:
    return next((fault for fault in FAULTS if re.search(fault.pattern, words, re.IGNORECASE)), None)


def _before_failure(evidence: Evidence, address: str) -> t.Iterator[str]:
    """Lines that name the GPU, or that stand before its failure and name none: the first failure explains the next."""
    bare, waiting = address.lower().rpartition(".")[0], []  # type: str, t.List[str]
    for line in evidence.kernel_log.value or ():
        named = [found.lower() for found in _ADDRESS.findall(line)]
        if bare in named:
            yield from waiting
            yield line
        if named and _FAILED in line:
            waiting = []
        elif not named:
            waiting.append(line)
