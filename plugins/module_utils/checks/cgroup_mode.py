# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer container_runtime: control groups are of the version, and kept by whom, with which the node was proven.

Both decide how a container is let at its GPUs and whether it keeps them over a reload of systemd, and that is proven by
a run alone. No version is wanted: what is there when the node is marked golden counts, and stands in the mark.
"""

from __future__ import annotations

import typing as t

from ..model import Desired, Evidence, Finding
from . import which_daemon
from .outcome import all_passed, failed, unknown
from .wanted import RUN_SITE

#: What the finding is about where it is Docker's driver.
DRIVER = "cgroup driver"


def cgroup_mode(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """The driver is compared where an engine was asked and tells it; the local fact asks none."""
    mark, groups, engine = evidence.mark.value or {}, evidence.cgroups.value, evidence.docker.value
    if groups is None:
        # Where nothing was proven yet there is nothing to hold it against, and containers tell whether they work.
        why = evidence.cgroups.error or "the version of control groups is not known"
        return [unknown("cgroups: %s" % why, required=bool(mark.get("cgroups")))]
    now = groups.version
    driver = engine.cgroup_driver if engine and not which_daemon.stranger(evidence) else ""
    problems: t.List[Finding] = []
    if _differ(mark.get("cgroups"), now):
        problems.append(
            failed(
                expected="version %s" % mark["cgroups"],
                actual="version %s" % now,
                cause="The node was proven with control groups of version %s, and was booted with version %s."
                % (mark["cgroups"], now),
                fix="Look at systemd.unified_cgroup_hierarchy on the kernel's command line (/proc/cmdline), put it back"
                " and reboot. Where the change is meant, run site.yml on this node: it proves it as it is now.",
                repair="roles",
            )
        )
    if _differ(mark.get("cgroup_driver"), driver):
        problems.append(
            failed(
                DRIVER,
                expected="%s" % mark["cgroup_driver"],
                actual=driver,
                cause="The node was proven with Docker's cgroup driver %s, and Docker runs with %s."
                % (mark["cgroup_driver"], driver),
                fix="Look at native.cgroupdriver in /etc/docker/daemon.json and put it back. Where the change is meant:"
                " %s It proves the node as it is now." % RUN_SITE,
                repair="roles",
            )
        )
    return all_passed(problems, "version %s%s" % (now, ", driver %s" % driver if driver else ""))


def _differ(proven: t.Any, now: str) -> bool:
    """A mark that was revoked, or is older than this check, holds nothing to compare with."""
    return bool(proven) and bool(now) and str(proven) != now
