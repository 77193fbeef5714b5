# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From evidence to a verdict: golden or not, with the first broken layer. Pure.

What stands behind a broken layer is not judged: its findings would be consequences, and would hide the cause.
A finding that is waived breaks no layer; no waiver counts for what is refused before a role changes anything.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing as t

from . import waivers
from .checks.registry import CHECKS, Check
from .model import LAYERS, Desired, Evidence, Finding, Reading, Verdict, to_plain

_BROKEN = ("fail", "unknown")

#: Checks that compare the node with nothing but the declared number of GPUs.
_WITHOUT_DESIRED = ("hardware.gpu_present", "hardware.vgpu", "hardware.gpu_count")

#: Checks that need of the wanted state only what the bundle names before there is a lock.
_OF_BUNDLE = ("host_driver.secure_boot", "host_driver.flavour", "host_driver.nvswitch", "image.fits_gpus")

#: Checks of what was on the node before us: what of it only a person can mend needs no wanted state to be seen.
_OF_BEFORE = ("container_runtime.daemon_config", "container_runtime.daemon", "container_runtime.toolkit_config")

#: Where Docker's data shall be: a place that a reboot empties is said before anything is put there.
_OF_WISHES = ("container_runtime.data_root",)

#: What must be right before a role may begin, in whatever layer it stands.
_PRECONDITIONS = (
    *_WITHOUT_DESIRED,
    "hardware.gpu_healthy",
    "packages.platform",
    "host_driver.kernel",
    *_OF_BUNDLE,
    *_OF_BEFORE,
    *_OF_WISHES,
)

#: What their failed findings say is no gap in the proof.
_ADVICE = frozenset(check.id for check in CHECKS if check.advice)

_NOTHING = Desired(digest="", platform="", lock={}, settings={}, files={}, daemon={}, units={})

#: On WSL there is no GPU on PCI and no driver of its own. This check says so, and what the others would say of such a
#: node would be its consequences: nvidia-smi speaks of a denial there.
_OF_WSL = "host_driver.kernel"


def run(
    desired: Desired,
    evidence: Evidence,
    expected_gpus: t.Optional[int],
    instead: t.Optional[t.Mapping[str, t.Sequence[Finding]]] = None,
) -> Verdict:
    """Judge a node. For evidence of scope ``fact`` only the checks that such a look can answer are asked.

    :arg instead: what is found in place of asking a check, by its id
    """
    given = instead or {}
    checks = _answerable(evidence)
    waived = waivers.on_day(desired, waivers.day_of(evidence))
    findings: t.List[Finding] = []
    broken: t.Optional[str] = None
    for layer in LAYERS:
        mine = [check for check in checks if check.layer == layer]
        if broken:
            findings.extend(_not_judged(check, "not judged: %s is broken" % broken) for check in mine)
            continue
        judged = (
            finding
            for check in mine
            for finding in (
                [_stamp(check, one) for one in given[check.id]]
                if check.id in given
                else judge(check, desired, evidence, expected_gpus)
            )
        )
        found = waivers.applied(judged, waived)
        findings.extend(found)
        if any(finding.required and finding.status in _BROKEN for finding in found):
            broken = layer
    return conclude(findings)


def without_desired(evidence: Evidence, expected_gpus: t.Optional[int], platform: Finding) -> Verdict:
    """Judge a node of whose platform no wanted state is known; ``platform`` is the finding that says so.

    Whether there are GPUs at all can be said, and is to be said before anybody resolves a lock.
    """
    findings: t.List[Finding] = []
    for check in CHECKS:
        if not check.asked(evidence):
            continue
        if check.id in _WITHOUT_DESIRED:
            findings.extend(judge(check, _NOTHING, evidence, expected_gpus))
        elif check.id != "packages.platform":
            findings.append(_not_judged(check, "not judged: it is not known what this node is wanted to be"))
        elif any(finding.status in _BROKEN for finding in findings):
            findings.append(_not_judged(check, "not judged: hardware is broken"))
        else:
            findings.append(_stamp(check, platform))
    return conclude(findings)


def refusals(
    desired: t.Optional[Desired],
    evidence: Evidence,
    expected_gpus: t.Optional[int],
    bundle: t.Optional[t.Mapping[str, t.Any]] = None,
) -> t.Tuple[Finding, ...]:
    """What only a person can mend, or nobody knows, and what is to be said before a role changes anything.

    :arg bundle: what the bundle says for the node's platform, for a node whose lock is not resolved yet

    A verdict names the first broken layer alone. A bare node is broken early, and a malformed daemon.json must not come
    up after the driver was installed. Nor may a driver go on a machine of which nobody knows whether it has a GPU.
    """
    ids: t.Tuple[str, ...] = _PRECONDITIONS
    if desired is None:
        ids = (*_WITHOUT_DESIRED, *_OF_BEFORE)
        if bundle and bundle.get("driver"):
            ids = (*ids, *_OF_BUNDLE)
            lock = {axis: bundle.get(axis) for axis in ("driver", "fabric_manager", "image")}
            desired = dataclasses.replace(_NOTHING, platform=str(bundle.get("platform", "")), lock=lock)
    found = (
        finding
        for check in _answerable(evidence)
        if check.id in ids
        for finding in judge(check, desired or _NOTHING, evidence, expected_gpus)
    )
    return tuple(
        _refusal(finding)
        for finding in found
        if finding.required
        and (finding.status == "unknown" or (finding.status == "fail" and finding.repair == "manual"))
    )


def _answerable(evidence: Evidence) -> t.List[Check]:
    """For evidence of scope ``fact`` only the checks that such a look can answer."""
    return [check for check in CHECKS if check.asked(evidence) and (evidence.scope != "fact" or check.cheap)]


def _refusal(finding: Finding) -> Finding:
    """With words for people, which an unknown finding need not have."""
    return dataclasses.replace(
        finding,
        cause=finding.cause or "%s is not known: %s." % (finding.id, finding.actual),
        fix=finding.fix or "Mend what keeps it from being read; until then nothing is changed on this node.",
    )


def conclude(findings: t.Sequence[Finding]) -> Verdict:
    """Golden only if every required finding is a pass: neither unknown nor skip is one, nor is no finding at all."""
    required = [finding for finding in findings if finding.required]
    golden = bool(required) and all(finding.status == "pass" for finding in required)
    # A skip points to a finding that failed elsewhere; where none did, the skip itself is what stands in the way.
    broken = [f for f in required if f.status in _BROKEN] or [f for f in required if f.status != "pass"]
    return Verdict(
        golden=golden,
        first_broken=min((f.layer for f in broken), key=LAYERS.index) if broken else None,
        findings=tuple(findings),
        not_proven=tuple(dict.fromkeys(_said(f) for f in findings if _unproven(f))),
    )


def _unproven(finding: Finding) -> bool:
    """What is not known always is. A busy disk and the limits of somebody's container are not: they are told apart."""
    if finding.required or finding.status not in _BROKEN:
        return False
    return finding.status == "unknown" or finding.id not in _ADVICE


def _said(finding: Finding) -> str:
    said = finding.cause or finding.actual
    return "%s: %s%s" % (finding.id, said, " (%s)" % finding.waived if finding.waived else "")


def judge(check: Check, desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.List[Finding]:
    """Ask one check. It is asked only when what it needs is known; unknown never passes."""
    platform = evidence.platform.value
    if platform is not None and platform.wsl and check.id != _OF_WSL:
        return [_not_judged(check, "not judged: the node is WSL, see %s" % _OF_WSL)]
    missing = [
        text for text in (_missing(evidence, field) for field in check.needs if field not in check.interprets) if text
    ]
    if missing:
        return [_stamp(check, Finding(id="", layer="", status="unknown", actual="; ".join(missing)))]
    found = list(check.function(desired, evidence, expected_gpus))
    if not found:
        raise AssertionError("check %s gave no finding; a check says pass where all is well" % check.id)
    return [_stamp(check, finding) for finding in found]


def findings_digest(findings: t.Iterable[Finding]) -> str:
    """Digest of what was found, so that a mark can be held against the report that led to it."""
    text = json.dumps(to_plain(tuple(findings)), sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()


def _missing(evidence: Evidence, field: str) -> t.Optional[str]:
    """Why a field of the evidence cannot be used; None when it can."""
    reading = getattr(evidence, field)
    if isinstance(reading, Reading) and not reading.known:
        return "%s: %s" % (field, reading.error)
    return None


def _stamp(check: Check, finding: Finding) -> Finding:
    return dataclasses.replace(finding, id=check.id, layer=check.layer, required=finding.required and check.required)


def _not_judged(check: Check, why: str) -> Finding:
    return _stamp(check, Finding(id="", layer="", status="skip", actual=why))
