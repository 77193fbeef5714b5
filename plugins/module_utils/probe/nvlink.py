# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches of NVLink 5, which are no PCI functions: a network function of Mellanox's stands for them.

Its vital product data says so with the word by which the fabric manager's own start script knows it too.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model import PciDevice
from .host import Host

VENDOR = "0x15b3"

#: Class of a network function; others of the same cards (bridges, DMA) manage nothing.
NETWORK = "02"

_MARK = "SW_MNG"

#: The card hands its data out four bytes at a time, and some cards never do.
_SECONDS = 5.0


def managers(host: Host, functions: t.Sequence[PciDevice], folder: str) -> t.Tuple[PciDevice, ...]:
    """Those of Mellanox's network functions that stand for switches; ``nvswitch`` is None where that was not told.

    Where one says so, it does not matter what the others are. Root alone may read the data; a function that has none
    is an ordinary one.
    """
    paths: t.Dict[str, PciDevice] = {}
    for one in functions:
        path = "%s/%s/vpd" % (folder, one.address)
        there = host.stat(path)
        if not there.known or there.value is not None:
            paths[path] = one
    if not paths:
        return ()
    command = host.run(["grep", "-l", "-F", _MARK, *paths], _SECONDS)
    found = [one for path, one in paths.items() if path in command.stdout.splitlines()]
    if found:
        return tuple(dataclasses.replace(one, nvswitch=True) for one in found)
    if command.rc == 1:
        return ()
    unread = [one for path, one in paths.items() if path in command.stderr] or list(paths.values())
    return tuple(dataclasses.replace(one, nvswitch=None) for one in unread)
