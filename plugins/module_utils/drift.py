# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between a node and what it was proven for: a view of what the checks find, one row for each. Pure.

A verdict stops at the first broken layer, since what stands behind it would be consequences. Drift does not: a hold
that was lifted says nothing of a file that was edited. So each check that holds the node against the lock, or against
what a role manages, is asked by itself; whether anything works is not asked here.
"""

from __future__ import annotations

import dataclasses
import typing as t

from . import drift_since, verdict, waivers
from .checks.registry import CHECKS, Check
from .checks.wanted import RUN_SITE
from .drift_since import Known, Since
from .model import Desired, Evidence, Finding
from .package_names import axis_of, bare

#: Checks whose findings are drift, and what of the node each is about.
AXES: t.Dict[str, str] = {
    "hardware.gpu_count": "GPUs",
    "packages.platform": "platform",
    "packages.sources": "package source",
    "packages.files": "managed file",
    "packages.versions": "package",
    "packages.set": "driver package",
    "packages.holds": "hold",
    "host_driver.kernel": "kernel",
    "host_driver.boot_default": "next kernel",
    "host_driver.kernel_arguments": "kernel argument",
    "host_driver.files": "managed file",
    "host_driver.nouveau": "nouveau",
    "host_driver.initramfs": "initramfs",
    "host_driver.module_on_disk": "driver on disk",
    "host_driver.loaded": "driver loaded",
    "host_driver.libraries": "driver library",
    "host_driver.units": "unit",
    "device_nodes.files": "managed file",
    "device_nodes.params": "driver parameter",
    "device_nodes.present": "device node",
    "device_nodes.uvm": "device node",
    "device_nodes.modes": "device mode",
    "device_nodes.dev_char": "device link",
    "device_nodes.users": "group",
    "container_runtime.daemon_config": "Docker setting",
    "container_runtime.files": "managed file",
    "container_runtime.engine": "Docker",
    "container_runtime.daemon_current": "Docker in force",
    "container_runtime.units": "unit",
    "container_runtime.toolkit_config": "toolkit setting",
    "container_runtime.cdi_spec": "CDI spec",
    "container_runtime.program": "runtime",
    "container_runtime.cgroup_mode": "cgroup mode",
    "image.present": "image",
    "policy.files": "managed file",
    "policy.units": "unit",
    "policy.selinux": "SELinux",
}

#: The id of what only the mark can tell: no lock names it, and it was proven with this one alone.
MARK = "mark"

DRIFTED, UNKNOWN = "drifted", "unknown"

_STATUS = {"fail": DRIFTED, "unknown": UNKNOWN}
_MEMBERS = {"kernel": "kernel package", "toolkit": "toolkit package", "docker": "Docker package"}
#: A digest is told apart by its beginning, as in git.
_DIGEST = len("sha256 ") + 12


@dataclasses.dataclass(frozen=True)
class Row:
    """One thing that differs, or that could not be read: ``what`` of the node, and which one (``entity``).

    ``was`` is what the node was proven for, ``now`` what was found, or why it is not known.
    """

    what: str
    id: str
    layer: str
    status: str
    was: str
    now: str
    since: Since
    entity: str = ""
    cause: str = ""
    fix: str = ""
    repair: str = ""
    waived: str = ""


def rows(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int], known: Known) -> t.List[Row]:
    """Every difference, in the order of the layers. From the evidence of the local fact those that it can tell."""
    waived = waivers.on_day(desired, waivers.day_of(evidence))
    found = [
        _row(finding, desired, evidence, known)
        for check in _asked(evidence)
        for finding in waivers.applied(verdict.judge(check, desired, evidence, expected_gpus), waived)
        if finding.status in _STATUS and (finding.required or finding.waived)
    ]
    return found + _of_mark(desired, evidence, known, {row.what for row in found})


def witnesses(found: t.Iterable[Row], evidence: Evidence) -> t.List[str]:
    """Paths whose times tell since when: those that the probe is to ask for, of what has drifted alone."""
    drifted = (row for row in found if row.status == DRIFTED)
    return sorted({path for row in drifted for path in drift_since.witnesses(row.id, row.entity, evidence)})


def _asked(evidence: Evidence) -> t.List[Check]:
    return [check for check in CHECKS if check.id in AXES and (evidence.scope != "fact" or check.cheap)]


def _row(finding: Finding, desired: Desired, evidence: Evidence, known: Known) -> Row:
    drifted = finding.status == "fail"
    return Row(
        what=_what(finding),
        id=finding.id,
        layer=finding.layer,
        status=_STATUS[finding.status],
        entity=finding.entity,
        was=_short(finding.expected),
        now=_short(finding.actual),
        since=drift_since.of(finding, evidence, known) if drifted else Since(),
        cause=finding.cause,
        fix=finding.fix,
        repair=finding.repair,
        waived=finding.waived,
    )


def _what(finding: Finding) -> str:
    if finding.id == "packages.versions":
        return _MEMBERS.get(axis_of(bare(finding.entity)) or "", "driver package" if finding.entity else "package")
    if finding.id == "container_runtime.cgroup_mode" and finding.entity:
        return finding.entity
    return AXES[finding.id]


def _short(text: str) -> str:
    return text[:_DIGEST] if text.startswith("sha256 ") else text


def _of_mark(desired: Desired, evidence: Evidence, known: Known, told: t.Collection[str]) -> t.List[Row]:
    """What the lock leaves open and the proof does not: the kernel where it is not pinned, and which GPUs they were.

    Only where no check has told of the same.
    """
    mark, boot, driver = evidence.mark.value or {}, evidence.boot.value, evidence.driver.value
    pairs = [
        ("kernel", mark.get("kernel"), boot.kernel if boot else None),
        ("driver loaded", mark.get("driver"), driver.version if driver else None),
        ("GPUs", _joined(mark.get("gpus")), _uuids(evidence)),
        ("wanted state", mark.get("desired_digest"), desired.digest),
    ]
    return [
        Row(
            what=what,
            id=MARK,
            layer=MARK,
            status=DRIFTED,
            was=str(was),
            now=now,
            since=drift_since.of_mark(what, evidence, known),
            cause="The node was proven with another %s." % ("set of GPUs" if what == "GPUs" else what),
            fix=RUN_SITE,
            repair="roles",
        )
        for what, was, now in pairs
        if was and now and str(was) != now and what not in told
    ]


def _joined(gpus: t.Any) -> str:
    """Of a mark that somebody may have edited."""
    return " ".join(sorted(map(str, gpus))) if isinstance(gpus, (list, tuple)) else ""


def _uuids(evidence: Evidence) -> t.Optional[str]:
    """In the words of the mark; None where nothing was asked, or no GPU answers: checks say that."""
    answer = evidence.nvml.value or evidence.smi.value
    return " ".join(sorted(gpu.uuid for gpu in answer.gpus if gpu.uuid)) if answer else None


def others(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.List[str]:
    """What else keeps the node from being golden: it is none of the lock's business, and stands with verify.yml."""
    broken = [f for f in verdict.run(desired, evidence, expected_gpus).findings if f.status == "fail" and f.required]
    return ["%s: %s" % (finding.id, finding.words) for finding in broken if finding.id not in AXES]


def plain(row: Row) -> t.Dict[str, t.Any]:
    """For machines: ``was``, ``is`` and ``since``, and all else by its name."""
    found = dataclasses.asdict(row)
    found["is"] = found.pop("now")
    return found


def brief(row: Row) -> t.Dict[str, t.Any]:
    """For the local fact, which every play gathers: without the sentences, which a look tells."""
    shown = ("what", "id", "status", "entity", "was", "is", "since")
    return {name: value for name, value in plain(row).items() if name in shown}
