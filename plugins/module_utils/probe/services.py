# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of the systemd units that matter, in one call."""

from __future__ import annotations

import typing as t

from ..model import Desired, FabricMismatch, PciDevice, Reading, Unit
from ..parse import fabric_manager, systemctl_show
from .host import Host

FABRIC_MANAGER = "nvidia-fabricmanager.service"

#: Enough for a service that fails and is started again and again.
_JOURNAL_LINES = 500

#: Read on every node, wanted or not.
UNITS = (
    "containerd.service",
    "docker.service",
    "goldennode-agent.service",
    "goldennode-uvm.service",
    "nvidia-cdi-refresh.service",
    FABRIC_MANAGER,
    "nvidia-persistenced.service",
)


def units(host: Host, desired: t.Optional[Desired]) -> Reading[t.Dict[str, Unit]]:
    names = sorted({*UNITS, *(desired.units if desired else ())})
    properties = "--property=%s" % ",".join(systemctl_show.PROPERTIES)
    command = host.run(["systemctl", "show", "--timestamp=us+utc", properties, *names], timeout=10)
    if command.error is not None:
        return Reading.unknown(command.error)
    return systemctl_show.parse(command.stdout, command.stderr, command.rc)


def fabric_mismatch(host: Host, pci: Reading[t.Tuple[PciDevice, ...]]) -> Reading[FabricMismatch]:
    """What the fabric manager itself says of versions: its unit may be active all the same."""
    if pci.value is None:
        return Reading.unknown(pci.error or "")
    if not any(device.nvswitch for device in pci.value):
        return Reading(None)
    unit = "--unit=%s" % FABRIC_MANAGER
    options = ("--boot", "--no-pager", "--quiet", "--output=cat", "--lines=%d" % _JOURNAL_LINES)
    command = host.run(["journalctl", unit, *options], timeout=10)
    if command.rc != 0:
        why = command.error or command.stderr.strip() or "journalctl ended with code %s" % command.rc
        return Reading.unknown("the journal of the fabric manager cannot be read: %s" % why)
    return fabric_manager.mismatch(command.stdout)
