# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Since when something of a node differs, as far as anything on the node tells it. Pure; nothing is guessed.

Three things can be known. ``at``: it began then (a boot, the start of a daemon, a package that was unpacked). ``by``:
it began then at the latest, since the file that differs was changed last then, and may have differed before.
``after``: it began later than that, when the node was last seen whole. Where nothing tells, nothing is said.
"""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from .docker_record import UNIT
from .dockerd_flags import DEFAULT_CONFIG as DAEMON_JSON
from .model import Evidence, Finding
from .toolkit_wanted import CONFIG as TOOLKIT_TOML

AT, BY, AFTER = "at", "by", "after"

_FILES = frozenset(
    "%s.files" % layer for layer in ("packages", "host_driver", "device_nodes", "container_runtime", "policy")
)
_PACKAGES = ("packages.versions", "packages.set")
#: What a boot makes anew: it cannot have begun before.
_RUNNING = (
    *("host_driver.nouveau", "host_driver.loaded", "host_driver.units"),
    *("device_nodes.params", "device_nodes.present", "device_nodes.uvm", "device_nodes.modes", "device_nodes.dev_char"),
    *("container_runtime.units", "container_runtime.cdi_spec", "policy.units", "policy.selinux"),
)
#: What a boot decides, and nothing else can.
_BOOTED = ("host_driver.kernel", "container_runtime.cgroup_mode")
#: What a start of Docker decides.
_STARTED = ("container_runtime.engine", "container_runtime.daemon_current")
_DPKG = "/var/lib/dpkg/info/"


@dataclasses.dataclass(frozen=True)
class Since:
    """``at`` in UTC as 2026-12-01T09:30:00Z; all are "" where nothing tells. ``told_by``: what does."""

    how: str = ""
    at: str = ""
    told_by: str = ""


@dataclasses.dataclass(frozen=True)
class Known:
    """What is known of times beside the evidence: when the node was last seen whole, "" where that is not known, and
    by path when a file was changed last.
    """

    whole: str = ""
    changed: t.Mapping[str, float] = dataclasses.field(default_factory=dict)


def last_whole(mark: t.Optional[t.Mapping[str, t.Any]], last: t.Optional[t.Mapping[str, t.Any]]) -> str:
    """When the node was last seen whole: when the mark was given, or at the agent's last good look."""
    times = []
    if mark and mark.get("state") == "golden":
        times.append(str(mark.get("since") or ""))
    if last and last.get("golden") is True:
        times.append(str(last.get("at") or ""))
    return max(times, default="")


def witnesses(finding_id: str, entity: str, evidence: Evidence) -> t.List[str]:
    """Paths of which the first that is there tells by its time: one stat, for a thing that differs."""
    if finding_id in _PACKAGES and entity:
        name, _colon, arch = entity.partition(":")
        return ["%s%s.list" % (_DPKG, entity), *("%s%s:%s.list" % (_DPKG, name, one) for one in _ARCHES if not arch)]
    if finding_id == "packages.sources":
        return [entity.rpartition(":")[0]]
    if finding_id in ("device_nodes.modes", "device_nodes.present", "device_nodes.uvm") and entity.startswith("/dev/"):
        return [entity]
    if finding_id == "container_runtime.toolkit_config":
        return [TOOLKIT_TOML]
    if finding_id == "container_runtime.cdi_spec":
        return [evidence.cdi_target.value] if evidence.cdi_target.value else []
    if finding_id == "host_driver.libraries":
        library = (evidence.libraries.value or {}).get(entity)
        return [library.target] if library and library.target.startswith("/") else []
    return []


#: As dpkg names them: a package that may be installed for several has its own in the name of the file.
_ARCHES = ("amd64", "arm64")


def of(finding: Finding, evidence: Evidence, known: Known) -> Since:
    """The strongest thing that can be said of a finding that failed."""
    exact = _exact(finding, evidence, known)
    # What is older than the last look that found all whole is not what has changed since.
    return exact if exact and exact.at >= known.whole else _bound(finding, evidence, known)


def of_mark(what: str, evidence: Evidence, known: Known) -> Since:
    """Of what only the mark can tell."""
    if what == "kernel" and evidence.boot.value:
        return Since(AT, utc(evidence.boot.value.booted_at), "the boot")
    return _after(known, evidence if what == "driver loaded" else None)


def _exact(finding: Finding, evidence: Evidence, known: Known) -> t.Optional[Since]:
    boot, seen = evidence.boot.value, _seen(finding, evidence, known)
    if finding.id in _STARTED or (finding.id == "container_runtime.cgroup_mode" and finding.entity):
        unit = (evidence.units.value or {}).get(UNIT)
        return Since(AT, utc(unit.started_at), "the start of Docker") if unit and unit.started_at else None
    if finding.id in _BOOTED and boot:
        return Since(AT, utc(boot.booted_at), "the boot")
    if seen is None:
        return None
    if finding.id in _PACKAGES:
        return Since(AT, utc(seen[1]), "the package's list of files")
    return Since(BY, utc(seen[1]), "the last change of %s" % seen[0])


def _seen(finding: Finding, evidence: Evidence, known: Known) -> t.Optional[t.Tuple[str, float]]:
    """Path and time of the file that tells."""
    if finding.id in _FILES:
        file = (evidence.files.value or {}).get(finding.entity)
        return (file.path, file.mtime) if file else None
    if finding.id == "container_runtime.daemon_config":
        config = evidence.docker_config_file.value
        return (DAEMON_JSON, config.mtime) if config else None
    if finding.id == "container_runtime.program":
        program = evidence.runtime_program.value
        return (program.path, program.mtime) if program else None
    if finding.id == "host_driver.module_on_disk":
        module = evidence.module_on_disk.value
        return (module.path, module.modified) if module and module.modified else None
    there = (path for path in witnesses(finding.id, finding.entity, evidence) if path in known.changed)
    return next(((path, known.changed[path]) for path in there), None)


def _bound(finding: Finding, evidence: Evidence, known: Known) -> Since:
    mark = evidence.mark.value or {}
    if finding.waived:  # it may have been there while the node was golden
        return Since()
    if mark.get("state") == "suspended" and mark.get("by") == "agent" and finding.id in str(mark.get("reason")):
        return Since(BY, str(mark.get("since") or ""), "the agent, which suspended the mark for it")
    return _after(known, evidence if finding.id in _RUNNING else None)


def _after(known: Known, booted: t.Optional[Evidence]) -> Since:
    """Not before the node was last seen whole; nor before its boot, where that has made it."""
    boot = booted.boot.value if booted else None
    start = utc(boot.booted_at) if boot else ""
    if start > known.whole:
        return Since(AFTER, start, "the boot")
    return Since(AFTER, known.whole, "the last look that found it whole") if known.whole else Since()


def utc(seconds: t.Optional[float]) -> str:
    """A time that is none, as of a clock that was never set, is no time."""
    try:
        moment = datetime.datetime.fromtimestamp(seconds or 0.0, datetime.timezone.utc)
    except (OverflowError, OSError, ValueError):
        return ""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
