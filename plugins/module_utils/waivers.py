# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waivers: findings that somebody has decided to live with for a time, with the reason and the last day. Pure.

A waived finding stays what it is. It does not stand in the way of golden, and is said wherever the node is. What could
not be judged because of it is not proven, and no waiver covers that. The day is the look's own, so that a mark, a
capture and the agent on the node come to the same answer, and a waiver ends without anybody doing anything.
"""

from __future__ import annotations

import dataclasses
import datetime
import difflib
import re
import typing as t

from .checks.registry import CHECKS
from .model import Desired, Evidence, Finding
from .problem import MISSING, Problem

VARIABLE = "golden_waivers"

#: As for the waiver of a toolkit: what is waived is looked at again.
LONGEST_DAYS = 366

_BROKEN = ("fail", "unknown")

_DEVICES = "it says whether the GPUs are there, whole and the node's own; a job would meet the missing one. Set %s"
_PROOF = "it is the proof that golden stands for: a node without it is not golden, whatever is known of it. Set %s"
_DATA = "a run must not go on over what somebody keeps there. Set %s"

#: Checks of which no waiver is taken, and why: "<id> cannot be waived: <why>".
NEVER: t.Dict[str, str] = {
    "hardware.gpu_present": _DEVICES % "golden_expected_gpus for what is there, or take the host out of the group",
    "hardware.gpu_count": _DEVICES % "golden_expected_gpus to the number that this host has for now",
    "hardware.gpu_healthy": _DEVICES % "the broken GPU aside and golden_expected_gpus to what is left",
    "hardware.vgpu": _DEVICES % "the host aside: a bundle's driver does not drive a vGPU",
    "packages.platform": "without it nothing is known of what the node is wanted to be. Set platforms in the bundle",
    "host_driver.secure_boot": "a run would install a driver that the kernel refuses. Set up its key, or take signed "
    "packages",
    "host_driver.flavour": "a run would install a driver that does not drive these GPUs. Set driver in the bundle",
    "host_driver.nvswitch": "no CUDA program runs on such a node. Set fabric_manager in the bundle",
    "host_driver.loaded": _PROOF % "driver in the bundle to what shall be loaded",
    "host_driver.nvml": _PROOF % "it right by what the finding says",
    "host_driver.cuda": _PROOF % "it right by what the finding says",
    "container_runtime.daemon_config": _DATA % "daemon.json right, or docker_daemon_options to what it says",
    "container_runtime.daemon": _DATA % "the other daemon aside: it keeps containers and volumes of its own",
    "container_runtime.data_root": _DATA % "docker_data_root to where Docker's data is",
    "container_runtime.toolkit_config": _DATA % "config.toml right, or toolkit_config_options to what it says",
    "container_runtime.engine": _PROOF % "docker in the bundle to what shall run",
    "container_runtime.injection": _PROOF % "golden_container_injections to the ways that are in use",
    "image.gpus": _PROOF % "golden_container_injections to the ways that are in use",
    "image.cuda": _PROOF % "image.cuda_check to optional in the bundle, and it is told as not proven",
}


@dataclasses.dataclass(frozen=True)
class Waiver:
    """``entity`` "" is every entity of the check; ``until`` is the last day on which it counts, as YYYY-MM-DD."""

    id: str
    reason: str
    until: str
    entity: str = ""

    def covers(self, finding: Finding) -> bool:
        return self.id == finding.id and self.entity in ("", finding.entity)

    @property
    def text(self) -> str:
        return "waived until %s: %s" % (self.until, self.reason)


# --- on the controller: what is wrong with them -------------------------------------------------------------------


def problems(given: t.Iterable[t.Mapping[str, t.Any]], today: datetime.date) -> t.List[Problem]:
    """What is wrong with the waivers of one host. All of it is said before anything is changed."""
    found: t.List[Problem] = []
    seen: t.Set[t.Tuple[str, str]] = set()
    for at, plain in enumerate(given):
        waiver, path = _read(plain), "%s[%d]" % (VARIABLE, at)
        found += [problem for judge in (_id, _reason, _until) for problem in judge(path, waiver, today)]
        if (waiver.id, waiver.entity) in seen:
            name = "%s %s" % (waiver.id, waiver.entity)
            found.append(Problem(path, name.strip(), "is waived twice", "Take one of the two out"))
        seen.add((waiver.id, waiver.entity))
    return found


def _id(path: str, waiver: Waiver, today: datetime.date) -> t.Iterator[Problem]:
    known = {check.id: check for check in CHECKS}
    if waiver.id not in known:
        close = difflib.get_close_matches(waiver.id, known, n=1)
        fix = "Did you mean %s?" % close[0] if close else "Take the id from a finding, such as policy.units"
        yield Problem(path + ".id", waiver.id, "is no check", fix)
    elif waiver.id in NEVER:
        why, _dot, fix = NEVER[waiver.id].partition(". ")
        yield Problem(path + ".id", waiver.id, "cannot be waived: %s" % why, fix)
    elif not known[waiver.id].required:
        message = "needs no waiver: it never keeps a node from being golden"
        yield Problem(path + ".id", waiver.id, message, "Take the waiver out")


def _reason(path: str, waiver: Waiver, today: datetime.date) -> t.Iterator[Problem]:
    if not waiver.reason:
        fix = "Say why this node may be golden without %s, for whoever reads it in half a year" % (waiver.id or "it")
        yield Problem(path + ".reason", MISSING, "is not set", fix)


def _until(path: str, waiver: Waiver, today: datetime.date) -> t.Iterator[Problem]:
    path, until = path + ".until", day(waiver.until)
    if until is None:
        yield Problem(path, waiver.until, "is not a day of the calendar", "Write it as YYYY-MM-DD, like 2027-03-31")
    elif until < today:
        fix = "Mend what it was for and take the waiver out; or look at it again, and give it another day"
        yield Problem(path, waiver.until, "is over, and %s counts again" % waiver.id, fix)
    elif (until - today).days > LONGEST_DAYS:
        message = "is more than %d days away: a waiver without an end in sight is none" % LONGEST_DAYS
        yield Problem(path, waiver.until, message, "Choose a day within a year, and look at it again then")


def day(text: str) -> t.Optional[datetime.date]:
    """A day as YYYY-MM-DD; newer versions of Python would read more forms than that."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def _read(plain: t.Mapping[str, t.Any]) -> Waiver:
    def text(name: str) -> str:
        value = plain.get(name)
        return " ".join(str(value).split()) if value is not None else ""

    return Waiver(text("id"), text("reason"), text("until"), text("entity"))


# --- on the node: what they cover ---------------------------------------------------------------------------------


def of(desired: Desired) -> t.Tuple[Waiver, ...]:
    """The waivers that the node is wanted to have; none in a wanted state that is older than them."""
    given = desired.settings.get("golden", {}).get(VARIABLE) or ()
    return tuple(_read(plain) for plain in given if isinstance(plain, dict))


def on_day(desired: Desired, today: t.Optional[datetime.date]) -> t.Tuple[Waiver, ...]:
    """Those that count on a day. On a day that nobody knows none does, nor does one that should have been refused."""
    if today is None:
        return ()
    return tuple(
        waiver
        for waiver in of(desired)
        if waiver.reason and waiver.id not in NEVER and (day(waiver.until) or datetime.date.min) >= today
    )


def day_of(evidence: Evidence) -> t.Optional[datetime.date]:
    """The day of a look, in UTC."""
    return day(evidence.collected_at[:10])


def applied(findings: t.Iterable[Finding], waivers: t.Sequence[Waiver]) -> t.List[Finding]:
    """The findings, with those that are covered told as waived: no longer required, and else as they were."""
    return [_applied(finding, waivers) for finding in findings]


def _applied(finding: Finding, waivers: t.Sequence[Waiver]) -> Finding:
    if not finding.required or finding.status not in _BROKEN:
        return finding
    waiver = next((waiver for waiver in waivers if waiver.covers(finding)), None)
    return dataclasses.replace(finding, required=False, waived=waiver.text) if waiver else finding


def ends(desired: Desired, evidence: Evidence, findings: t.Iterable[Finding]) -> str:
    """The last day on which the first of the waivers counts that a verdict rests on; "" where it rests on none."""
    covered = [finding for finding in findings if finding.waived]
    waivers = (waiver for waiver in on_day(desired, day_of(evidence)) if any(map(waiver.covers, covered)))
    return min((waiver.until for waiver in waivers), default="")
