# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SELinux on the node, from its own file system. Files only."""

from __future__ import annotations

import re

from ..model import Reading, SELinux
from .host import Host

SELINUX = "/sys/fs/selinux"
CONFIG = "/etc/selinux/config"

#: What lets a container use the GPUs' nodes, the narrowest first: those of GPUs and displays alone (policies since
#: 2024), and every device that is given into a container.
BOOLEANS = ("container_use_xserver_devices", "container_use_devices")

_CONFIGURED = re.compile(r"^\s*SELINUX\s*=\s*(enforcing|permissive|disabled)\s*$", re.MULTILINE | re.IGNORECASE)


def selinux(host: Host) -> Reading[SELinux]:
    """The kernel makes the directory where SELinux is switched on at boot, whatever becomes of its policy then."""
    place = host.stat(SELINUX)
    config = host.read(CONFIG)
    if not place.known or not config.known:
        return Reading.unknown(place.error or config.error or "")
    match = _CONFIGURED.search(config.value or "")
    configured = match.group(1).lower() if match else ""
    if place.value is None:
        return Reading(SELinux("disabled", configured))
    enforce = host.read(SELINUX + "/enforce")
    if not enforce.known:
        return Reading.unknown(enforce.error or "")
    if enforce.value is None:
        if configured in ("", "disabled"):  # no policy is loaded then, and without one nothing is denied
            return Reading(SELinux("disabled", configured))
        return Reading.unknown("%s/enforce is not there: selinuxfs is not mounted" % SELINUX)
    if enforce.value.strip() not in ("0", "1"):
        return Reading.unknown("%s/enforce says %r, neither 0 nor 1" % (SELINUX, enforce.value.strip()[:20]))
    mode = "enforcing" if enforce.value.strip() == "1" else "permissive"
    values = {name: host.read("%s/booleans/%s" % (SELINUX, name)) for name in BOOLEANS}
    broken = next((reading.error for reading in values.values() if not reading.known), None)
    if broken is not None:
        return Reading.unknown(broken)
    there = {name: reading.value for name, reading in values.items() if reading.value is not None}
    # Each file says what is in force, and what would be after a commit.
    allowed = any(value.split()[:1] == ["1"] for value in there.values())
    return Reading(SELinux(mode, configured, next(iter(there), ""), allowed))
