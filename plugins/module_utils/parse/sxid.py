# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The SXids of the kernel log: errors of an NVSwitch, which is no GPU and has numbers of its own.

The line says itself whether the error is fatal. A second line of each has its severity and instances, and is left out.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Reading
from .text import pci_address

_LINE = re.compile(
    r"nvidia-nvswitch[0-9]{1,3}: SXid \(PCI:([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\): ([0-9]{1,6}), "
    r"(non-)?fatal\b,?\s*(.*)$",
    re.IGNORECASE,
)

#: Of the driver's words, what is shown.
_TEXT_LIMIT = 200


class SXid(t.NamedTuple):
    """``switch`` is the PCI address."""

    switch: str
    number: int
    fatal: bool
    text: str


def parse(lines: t.Iterable[str]) -> Reading[t.Tuple[SXid, ...]]:
    """In the order of the log."""
    found: t.List[SXid] = []
    for line in lines:
        match = _LINE.search(line) if "SXid" in line else None
        address = pci_address(match.group(1)) if match else None
        if match is not None and address is not None:
            number, text = int(match.group(2)), match.group(4).strip()[:_TEXT_LIMIT]
            found.append(SXid(address, number, match.group(3) is None, text))
    return Reading(tuple(found))
