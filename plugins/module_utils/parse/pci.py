# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCI configuration space: whether a GPU is a slice that a hypervisor gives to a guest.

A vGPU says so in its vendor-specific capability, which needs no driver to be read. That bytes 3 and 4 of it are "VF"
is how NVIDIA's own gpu-feature-discovery tells one (internal/vgpu).
"""

from __future__ import annotations

import typing as t

_STATUS, _HAS_CAPABILITIES, _FIRST_CAPABILITY = 0x06, 0x10, 0x34
_VENDOR_SPECIFIC = 0x09
_SIGNATURE = b"VF"
_HEADER = 64


def is_vgpu(config: bytes) -> t.Optional[bool]:
    """None where the capabilities lie behind what could be read: the kernel shows an ordinary user 64 bytes only."""
    if len(config) < _HEADER:
        return None
    if not config[_STATUS] & _HAS_CAPABILITIES:
        return False
    seen: t.Set[int] = set()
    at = config[_FIRST_CAPABILITY] & 0xFC
    while at and at not in seen:
        if at + 5 > len(config):
            return None
        seen.add(at)
        if config[at] == _VENDOR_SPECIFIC and config[at + 2] >= 5 and config[at + 3 : at + 5] == _SIGNATURE:
            return True
        at = config[at + 1] & 0xFC
    return False
