# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why DKMS has no module of the lock's driver: the log that its last build left behind."""

from __future__ import annotations

import typing as t

from ..model import BuildFailure, Desired, DkmsModule, Reading
from .host import Host

FOLDER = "/var/lib/dkms"


def failure(host: Host, dkms: Reading[t.Tuple[DkmsModule, ...]], desired: t.Optional[Desired]) -> Reading[BuildFailure]:
    """None where there is no such log: a build that came to its end puts its log beside the module.

    DKMS keeps one log of a version's last build, for whichever kernel that was; it says for which.
    """
    if not dkms.known:
        return Reading.unknown(dkms.error or "")
    version = str(desired.lock.get("driver", {}).get("version", "")) if desired else ""
    names = [one.name for one in dkms.value or () if one.name.startswith("nvidia") and one.version == version]
    for name in dict.fromkeys(names):
        path = "%s/%s/%s/build/make.log" % (FOLDER, name, version)
        log = host.read(path)
        if not log.known:
            return Reading.unknown(log.error or "")
        if log.value is not None:
            from ..parse import build_failure  # only where a build stopped: its patterns are many

            running = host.read("/proc/version").value or ""
            return Reading(build_failure.parse(log.value, path, running))
    return Reading(None)
