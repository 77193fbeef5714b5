# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of the systemd units that matter, in one call."""

from __future__ import annotations

import typing as t

from ..model import Desired, Reading, Unit
from ..parse import systemctl_show
from .host import Host

#: Read on every node, wanted or not.
UNITS = (
    "containerd.service",
    "docker.service",
    "goldennode-agent.service",
    "goldennode-uvm.service",
    "nvidia-cdi-refresh.service",
    "nvidia-fabricmanager.service",
    "nvidia-persistenced.service",
)


def units(host: Host, desired: t.Optional[Desired]) -> Reading[t.Dict[str, Unit]]:
    names = sorted({*UNITS, *(desired.units if desired else ())})
    properties = "--property=%s" % ",".join(systemctl_show.PROPERTIES)
    command = host.run(["systemctl", "show", "--timestamp=us+utc", properties, *names], timeout=10)
    if command.error is not None:
        return Reading.unknown(command.error)
    return systemctl_show.parse(command.stdout, command.stderr, command.rc)
