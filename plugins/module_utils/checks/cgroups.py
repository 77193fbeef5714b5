# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer policy: control groups are of version 2, and users' own engines are handed what limits need."""

from __future__ import annotations

import typing as t

from ..model import Desired, Engines, Evidence, Finding
from .outcome import failed, passed, unknown

#: What a rootless engine needs to keep limits: --cpus, --cpuset-cpus, --device-read-bps, --memory, --pids-limit.
ROOTLESS_NEEDS = ("cpu", "cpuset", "io", "memory", "pids")

_DROP_IN = "/etc/systemd/system/user@.service.d/delegate.conf"


def cgroups(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """Informational: containers get their GPUs with either version."""
    groups = evidence.cgroups.value
    if groups is None:
        return [unknown("the version of control groups is not known")]
    if groups.version != "2":
        return [_old(groups.version)]
    users = (evidence.engines.value or Engines()).rootless
    if users.known and not users.value:
        return [passed("version 2; no rootless engine runs")]
    for reading in (groups.delegated, users):
        if not reading.known:
            cause = "Whether rootless engines are handed what limits need is not known."
            return [unknown(reading.error or "", "user@.service", cause=cause)]
    handed = groups.delegated.value or ()
    missing = [name for name in ROOTLESS_NEEDS if name not in handed]
    if missing:
        return [_not_handed(missing, sorted(users.value or {}))]
    return [passed("version 2; users are handed %s" % ", ".join(handed))]


def _old(version: str) -> Finding:
    return failed(
        expected="control groups of version 2",
        actual="version 1" if version == "1" else "version 1, with an empty tree of version 2 beside it",
        cause="The node runs control groups of version 1: rootless engines can keep no limits there, nothing counts "
        "what containers wait for, and systemd refuses to start with it from 256 on.",
        fix="Take systemd.unified_cgroup_hierarchy=0 out of the kernel's command line, or put =1 there; then reboot.",
        repair="manual",
    )


def _not_handed(missing: t.Sequence[str], users: t.Sequence[str]) -> Finding:
    return failed(
        "user@.service",
        expected="Delegate=%s" % " ".join(ROOTLESS_NEEDS),
        actual="without %s" % ", ".join(missing),
        cause="Rootless engines run on this node (user %s), and systemd does not hand them the controllers %s: they "
        "leave out the limits that need these, with no more than a warning." % (", ".join(users), ", ".join(missing)),
        fix="Write the lines [Service] and Delegate=%s into %s, run systemctl daemon-reload, and have the users log in "
        "anew." % (" ".join(ROOTLESS_NEEDS), _DROP_IN),
        repair="manual",
    )
