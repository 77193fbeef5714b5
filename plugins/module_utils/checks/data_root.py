# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where Docker keeps its data: at the place that is wanted, and on what is still there after a reboot."""

from __future__ import annotations

import re
import typing as t

from ..model import Desired, DockerRoot, Evidence, Finding
from . import which_daemon
from .outcome import all_passed, failed, unknown
from .wanted import RUN_SITE

#: File systems in memory, and block devices that are.
_IN_MEMORY = ("tmpfs", "ramfs", "rootfs")
_MEMORY_DEVICE = re.compile(r"/dev/(z?ram)\d+$")


def data_root(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """Required where a data-root is wanted, else only told."""
    wanted = desired.daemon.get("data-root")
    asked, reading = wanted is not None, evidence.docker_root
    not_ours = which_daemon.not_ours(evidence)
    if not_ours:
        return [not_ours]
    if reading.value is None:
        return [unknown("docker_root: %s" % reading.error, required=asked)]
    there = reading.value
    problems = []
    if asked and there.wanted != wanted:
        problems.append(_link(str(wanted), there))
    elif there.moves:
        problems.append(_elsewhere(there))
    why = _passes_away(there)
    if why:
        problems.append(
            failed(
                there.path,
                expected="a file system that is kept over a reboot",
                actual="%s on %s (%s)" % (there.file_system, there.mount_point, there.device),
                cause="Docker keeps images, containers and volumes in %s, and %s." % (there.path, why),
                fix="Set docker_data_root to a directory on a persistent volume.",
                repair="manual",
                required=asked,
            )
        )
    return all_passed(problems, "%s, on %s (%s)" % (there.path, there.mount_point, there.file_system))


def _link(wanted: str, there: DockerRoot) -> Finding:
    """dockerd tells the directory behind it, and systemd waits for the volume of the name: both would be wrong."""
    return failed(
        wanted,
        expected="a directory",
        actual="a link to %s" % there.wanted,
        cause="docker_data_root, %s, is or lies behind a link, so Docker would not wait for its volume." % wanted,
        fix="Set docker_data_root to %s." % there.wanted,
        repair="manual",
    )


def _elsewhere(there: DockerRoot) -> Finding:
    left = ", ".join("%s: %d" % pair for pair in sorted(there.left.items()))
    consent = " It needs docker_allow_data_root_change=true, as %s holds %s." % (there.path, left) if left else ""
    return failed(
        there.path,
        expected=there.wanted,
        actual=there.path,
        cause="Docker keeps its data in %s, and docker_data_root is %s." % (there.path, there.wanted),
        fix="%s%s It restarts Docker, which needs docker_allow_restart=true while containers run."
        % (RUN_SITE, consent),
        repair="roles",
    )


def _passes_away(there: DockerRoot) -> str:
    if there.file_system in _IN_MEMORY or _MEMORY_DEVICE.match(there.device):
        return "that is in memory: a reboot empties it"
    if there.file_system == "overlay":
        return "that is an overlay, as a live system or a container has it: a reboot may empty it"
    return ""
