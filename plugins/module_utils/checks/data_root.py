# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where Docker keeps its data: at the place that is wanted, and on what is still there after a reboot."""

from __future__ import annotations

import re
import typing as t

from ..model import Desired, DockerRoot, Evidence, Finding, Mounted
from . import which_daemon
from .outcome import failed, passed, unknown
from .wanted import RUN_SITE

#: File systems in memory, and block devices that are.
_IN_MEMORY = ("tmpfs", "ramfs", "rootfs")
_MEMORY_DEVICE = re.compile(r"/dev/(z?ram)\d+$")


def data_root(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """Required where a data-root is wanted, else only told. Whether that place can be does not hang on any daemon."""
    wanted, reading = desired.daemon.get("data-root"), evidence.docker_root
    cannot_be = _cannot_be(str(wanted), reading.value) if wanted is not None and reading.value else []
    if cannot_be:
        return cannot_be
    not_ours = which_daemon.not_ours(evidence)
    if not_ours:
        return [not_ours]
    if reading.value is None:
        return [unknown("docker_root: %s" % reading.error, required=wanted is not None)]
    there = reading.value
    if there.moves:
        return [_elsewhere(there)]
    why = _passes_away(there.on)
    if why:
        return [_not_kept(there.path, there.on, why, keeps="keeps", required=False)]
    return [passed("%s, on %s (%s)" % (there.path, there.on.point, there.on.file_system))]


def _cannot_be(wanted: str, there: DockerRoot) -> t.List[Finding]:
    if there.wanted != wanted:
        return [_link(wanted, there)]
    why = _passes_away(there.wanted_on) if there.wanted_on else ""
    keeps = "would keep" if there.moves else "keeps"
    return [_not_kept(wanted, there.wanted_on, why, keeps, required=True)] if there.wanted_on and why else []


def _not_kept(path: str, on: Mounted, why: str, keeps: str, required: bool) -> Finding:
    return failed(
        path,
        expected="a file system that is kept over a reboot",
        actual="%s on %s (%s)" % (on.file_system, on.point, on.device),
        cause="Docker %s images, containers and volumes in %s, and %s." % (keeps, path, why),
        fix="Set docker_data_root to a directory on a persistent volume that is mounted.",
        repair="manual",
        required=required,
    )


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


def _passes_away(on: Mounted) -> str:
    if on.file_system in _IN_MEMORY or _MEMORY_DEVICE.match(on.device):
        return "that is in memory: a reboot empties it"
    if on.file_system == "overlay":
        return "that is an overlay, as a live system or a container has it: a reboot may empty it"
    return ""
