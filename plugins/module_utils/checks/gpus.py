# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs across tools and the kernel log: which are lost, which the driver did not initialise."""

from __future__ import annotations

import re
import typing as t

from ..model import Evidence, Gpu, GpuTool
from ..parse import xid
from ..parse.text import pci_address
from . import tools
from .wanted import gpus as pci_gpus

#: The GPU has fallen off the bus. Only a restart of the machine brings it back, so that one line in the log of this
#: boot is proof. ``xid`` judges the others.
_GONE_UNTIL_REBOOT = 79
_GONE_WORD = "): %d" % _GONE_UNTIL_REBOOT

#: The driver's words where it finds the GPU gone at its start, when there is no Xid.
_GONE = re.compile(r"NVRM: .*?\b([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b.*fallen off the bus", re.IGNORECASE)
_LOST = re.compile(r"GPU is lost|fallen off the bus|GPU_IS_LOST", re.IGNORECASE)


def lost(evidence: Evidence) -> t.Dict[str, str]:
    """GPUs that the kernel log or a tool calls lost: what to call the GPU, and the words that say so."""
    found: t.Dict[str, str] = {}
    for line in evidence.kernel_log.value or ():
        if _GONE_WORD in line:  # few lines have it, and this is asked for every GPU
            for one in xid.parse((line,)).value or ():
                if one.number == _GONE_UNTIL_REBOOT:
                    found.setdefault(one.gpu, line.strip())
        gone = _GONE.search(line)
        address = pci_address(gone.group(1)) if gone else None
        if address and not works(address, evidence):  # it may have come back since, where the driver was loaded anew
            found.setdefault(address, line.strip())
    for name, answer in answers(evidence):
        for gpu in answer.gpus:
            if gpu.error and _LOST.search(gpu.error):
                found.setdefault(name_of(gpu), "%s: %s" % (name, gpu.error))
    return found


def refused(evidence: Evidence) -> t.Dict[str, str]:
    """GPUs on the bus that the driver did not initialise although it did others: name, and words that say so.

    Where it initialised none, the driver is at fault rather than every card at once.
    """
    for name, answer in answers(evidence):
        healthy = [gpu for gpu in answer.gpus if not gpu.error]
        if healthy:
            failed = {name_of(gpu): gpu.error for gpu in answer.gpus if gpu.error and not _explained(gpu.error)}
            silent = dict.fromkeys(silent_addresses(answer, evidence), "not listed")
            return {gpu: "%s: %s" % (name, words) for gpu, words in {**failed, **silent}.items()}
    return {}


def _explained(words: str) -> bool:
    """Whether they say what else is wrong than this very card."""
    meaning = tools.explain(words)
    return meaning is not None and not meaning.vague


def works(address: str, evidence: Evidence) -> bool:
    """Whether a tool has an answer of this GPU now."""
    gpus = (gpu for _name, answer in answers(evidence) for gpu in answer.gpus)
    return any(gpu.pci_address == address and not gpu.error for gpu in gpus)


def silent_addresses(answer: GpuTool, evidence: Evidence) -> t.List[str]:
    """GPUs of the PCI bus that a tool does not list at all. Nothing can be said where it does not tell addresses."""
    told = {gpu.pci_address for gpu in answer.gpus}
    if None in told:
        return []
    return [device.address for device in pci_gpus(evidence.pci.value or ()) if device.address not in told]


def name_of(gpu: Gpu) -> str:
    return gpu.pci_address or gpu.uuid or "GPU %d" % gpu.index


def log_of(evidence: Evidence, address: str) -> str:
    """The last kernel log line about one GPU, or an empty text. The log leaves the function (``.0``) out."""
    bare = address.lower().rpartition(".")[0]
    lines = [line.strip() for line in evidence.kernel_log.value or () if bare and bare in line.lower()]
    return lines[-1] if lines else ""


def answers(evidence: Evidence) -> t.List[t.Tuple[str, GpuTool]]:
    readings = (("NVML", evidence.nvml), ("nvidia-smi", evidence.smi))
    return [(name, reading.value) for name, reading in readings if reading.value is not None]
