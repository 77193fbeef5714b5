# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Xids of the kernel log: which GPU, which number, the driver's words, and what NVIDIA's catalog says to do.

Source of the table: NVIDIA's Xid catalog for Ampere and newer (docs.nvidia.com/deploy/xid-errors), column "immediate
action", of November 2026; copies of a year before say of 160 that it may be ignored. Names that this catalog calls
unused are of its archive for Volta and older. A number that is not here has no meaning that we know, which is not
harmless.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Reading
from .text import pci_address

#: What an Xid asks for at once. APP: a program's own error. CONTAINED: that program is to start again, and the GPU is
#: to be reset when it fits. WORKFLOW: several causes, told apart by a person. LOOK: the catalog has a name for it and
#: no action that is taken at once, or sends to the vendor; where one is needed, an Xid 154 comes with it.
IGNORE, APP, CONTAINED, RESET, REBOOT, POWER, WORKFLOW, LOOK = (
    "ignore",
    "app",
    "contained",
    "reset",
    "reboot",
    "power",
    "workflow",
    "look",
)

#: Names what the driver itself wants done, and so stands above the table.
RECOVERY_CHANGED = 154

#: The same numbers as NVML's recovery action: nothing any more.
RECOVERED = 0


class Meaning(t.NamedTuple):
    name: str
    bucket: str


class Xid(t.NamedTuple):
    """``gpu`` is the PCI address. ``recovery`` is the action that an Xid 154 names, else None."""

    gpu: str
    number: int
    text: str
    recovery: t.Optional[int] = None

    @property
    def meaning(self) -> t.Optional[Meaning]:
        found = TABLE.get(self.number)
        if found and self.number in _NVLINK5 and _NONFATAL.search(self.text):
            return Meaning(found.name, IGNORE)
        return found

    @property
    def label(self) -> str:
        return "Xid %d (%s)" % (
            self.number,
            self.meaning.name if self.meaning else "not in NVIDIA's table as we know it",
        )


#: Of NVLink 5: each says itself whether it is fatal.
_NVLINK5 = range(144, 151)
_NONFATAL = re.compile(r"\bnon-?fatal\b", re.IGNORECASE)

_LINE = re.compile(
    r"NVRM: Xid \((?:PCI:)?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})(?:\.[0-7])?(?: [^)]{0,60})?\): "
    r"([0-9]{1,4})\b[,:]?\s*(.*)$",
    re.IGNORECASE,
)
_RECOVERY = re.compile(r"recovery action changed from 0x[0-9a-f]{1,4}\b.*? to 0x([0-9a-f]{1,4})\b", re.IGNORECASE)

#: Of the driver's words, what is shown.
_TEXT_LIMIT = 200


def parse(lines: t.Iterable[str]) -> Reading[t.Tuple[Xid, ...]]:
    """In the order of the log. A line that begins like one and is not understood is left out, as other lines are."""
    found: t.List[Xid] = []
    for line in lines:
        match = _LINE.search(line) if "Xid" in line else None
        address = pci_address(match.group(1) + ".0") if match else None
        if match is None or address is None:
            continue
        number, text = int(match.group(2)), match.group(3).strip()[:_TEXT_LIMIT]
        action = _RECOVERY.search(text) if number == RECOVERY_CHANGED else None
        found.append(Xid(address, number, text, int(action.group(1), 16) if action else None))
    return Reading(tuple(found))


def _engines(name: str, *numbers: int) -> t.Dict[int, Meaning]:
    return {number: Meaning("%s error" % name, APP) for number in numbers}


TABLE: t.Dict[int, Meaning] = {
    **_engines("copy engine", 39, 40, 41, 70, 71, 72, 75, 76, 77, 85, *range(126, 136)),
    **_engines("video decoder", 68, 83, 84, 88, 89, 96, 97, 98),
    **_engines("JPEG decoder", 82, *range(99, 106)),
    **_engines("optical flow", 86, 139),
    8: Meaning("a program's work stopped", APP),
    11: Meaning("invalid command stream", APP),
    13: Meaning("graphics engine exception", APP),
    14: Meaning("injected by a test", IGNORE),
    25: Meaning("illegal command stream", APP),
    31: Meaning("memory page fault", APP),
    32: Meaning("corrupted command stream", APP),
    37: Meaning("driver firmware error", IGNORE),
    38: Meaning("driver firmware error", IGNORE),
    43: Meaning("a program's work stopped", APP),
    44: Meaning("fault during a context switch", IGNORE),
    45: Meaning("a program's channel removed after another error", APP),
    46: Meaning("GPU stopped processing", RESET),
    48: Meaning("double-bit ECC error", WORKFLOW),
    54: Meaning("auxiliary power not connected", POWER),
    56: Meaning("display engine error", LOOK),
    57: Meaning("memory interface could not be set up", LOOK),
    58: Meaning("unstable memory interface", LOOK),
    59: Meaning("internal micro-controller error", LOOK),
    60: Meaning("video processor exception", APP),
    61: Meaning("internal micro-controller breakpoint or warning", LOOK),
    62: Meaning("internal micro-controller halted", RESET),
    63: Meaning("row remapping or page retirement recorded", IGNORE),
    64: Meaning("row remapping or page retirement failed", RESET),
    66: Meaning("illegal access by the driver", IGNORE),
    67: Meaning("illegal access by the driver", IGNORE),
    69: Meaning("graphics engine class error", APP),
    74: Meaning("NVLink error", WORKFLOW),
    78: Meaning("vGPU could not be started", LOOK),
    79: Meaning("GPU has fallen off the bus", POWER),
    80: Meaning("corrupted data sent to the GPU", APP),
    92: Meaning("high rate of corrected ECC errors", IGNORE),
    93: Meaning("infoROM written too often", IGNORE),
    94: Meaning("contained memory error", CONTAINED),
    95: Meaning("uncontained memory error", RESET),
    106: Meaning("test message", IGNORE),
    107: Meaning("test message", IGNORE),
    108: Meaning("NVLink remote translation error", IGNORE),
    109: Meaning("context switch timed out", RESET),
    110: Meaning("security fault", RESET),
    119: Meaning("GSP did not answer in time", RESET),
    120: Meaning("GSP error", RESET),
    121: Meaning("C2C link error", IGNORE),
    136: Meaning("link training failed", RESET),
    137: Meaning("NVLink privilege error", IGNORE),
    140: Meaning("unrecovered ECC error", RESET),
    141: Meaning("CUDA fast path error", IGNORE),
    142: Meaning("video encoder error", LOOK),
    143: Meaning("GPU initialization error", RESET),
    144: Meaning("NVLink SAW error", RESET),
    145: Meaning("NVLink RLW error", RESET),
    146: Meaning("NVLink TLW error", RESET),
    147: Meaning("NVLink TREX error", RESET),
    148: Meaning("NVLink control error", RESET),
    149: Meaning("NVLink NETIR error", RESET),
    150: Meaning("NVLink MSE error", RESET),
    151: Meaning("key rotation error", REBOOT),
    152: Meaning("DLA memory error", IGNORE),
    153: Meaning("DLA timeout", IGNORE),
    154: Meaning("recovery action changed", IGNORE),
    155: Meaning("NVLink error defined by software", RESET),
    156: Meaning("resource retired", RESET),
    157: Meaning("resource retirement failed", IGNORE),
    158: Meaning("fatal timeout", RESET),
    159: Meaning("C2C error without data", LOOK),
    160: Meaning("memory channel retired", REBOOT),
    161: Meaning("memory channel retirement failed", IGNORE),
    162: Meaning("power smoothing is in force again", IGNORE),
    163: Meaning("power smoothing was switched off", LOOK),
    164: Meaning("power smoothing is nearly worn out", LOOK),
    165: Meaning("power smoothing is worn out", LOOK),
    166: Meaning("NVLink traffic without encryption", LOOK),
    167: Meaning("fatal PCIe timeout", LOOK),
    168: Meaning("errors in protected memory", LOOK),
    169: Meaning("security processor halted", LOOK),
    170: Meaning("interrupt of a secured NVLink", LOOK),
    171: Meaning("uncorrected DRAM error", LOOK),
    172: Meaning("uncorrected SRAM error", LOOK),
}
