# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the driver writes into the kernel's log when a GPU reports an error: Xid lines, in the driver's own form.

The words after the number are the driver's; the addresses and units in them are made up.
"""

from __future__ import annotations

import typing as t

from .machine import Device, faulty_gpus

#: By fault, behind "NVRM: Xid (PCI:ADDRESS): ".
LINES: t.Dict[str, t.Sequence[str]] = {
    "xid-48": (
        "48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU in the "
        "framebuffer at physAddr 0x2f4a3c80 partition 6, subpartition 1.",
    ),
    "xid-63": (
        "63, pid='<unknown>', name=<unknown>, Row Remapper: New row (0x000000002f4a3c80) marked for remapping, "
        "reset gpu to activate.",
    ),
    "xid-94": ("94, pid='<unknown>', name=<unknown>, Contained: SM (0x1). RST: No, D-RST: No",),
    # NVML says the same of this GPU (field 230), since branch 570 as this line is.
    "xid-95": (
        "95, pid='<unknown>', name=<unknown>, Uncontained: FBHUB. RST: Yes, D-RST: No",
        "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
    ),
}


def lines(gpu: Device) -> t.List[str]:
    """What stands in the log of this GPU, for the faults that are on."""
    return [
        "NVRM: Xid (PCI:%s): %s" % (gpu.address.rpartition(".")[0], text)
        for fault, texts in LINES.items()
        if gpu.index in faulty_gpus(fault)
        for text in texts
    ]
