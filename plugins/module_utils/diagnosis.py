# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One node at 3 a.m.: the chain, the first broken link with its cause, the one next action, and what says so. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from . import behind, chain
from .checks.registry import CHECKS
from .checks.wanted import RUN_SITE
from .inferred_verdict import NO_BUNDLE
from .model import LAYERS, Evidence, Finding, Verdict, to_plain
from .printable import printable
from .summary import table

#: The words of a verdict. ``works``: every link is proven, and the node is not marked, or nobody has said what it shall
#: be. ``not proven``: the first link in question is not known to be broken.
GOLDEN, WORKS, BROKEN, NOT_PROVEN = "golden", "works", "broken", "not proven"
UNREACHABLE, FAILED = "unreachable", "not judged"

#: Of each layer the check whose words say most of it where all is well.
_TELLING = (
    *("hardware.gpu_count", "hardware.gpu_present", "packages.versions", "packages.platform", "host_driver.loaded"),
    *("device_nodes.present", "container_runtime.engine", "image.cuda", "image.gpus", "image.present"),
    *("policy.container_devices", "policy.selinux"),
)
#: What their failed findings say is no gap in the proof.
_ADVICE = frozenset(check.id for check in CHECKS if check.advice)
_NEEDS_BUNDLE = "It needs a bundle: copy one of the collection's bundles/, and name it in bundle_file."
_READ_AGAIN = "Mend what keeps it from being read, and look again."


@dataclasses.dataclass(frozen=True)
class Case:
    """One node and what is known of it. Without a verdict ``error`` says why there is none, and ``fix`` what to do."""

    node: str
    verdict: t.Optional[Verdict] = None
    evidence: Evidence = dataclasses.field(default_factory=Evidence)
    capture: t.Optional[t.Mapping[str, t.Any]] = None
    golden: bool = False
    inferred: bool = False
    mark_objection: str = ""
    desired_digest: str = ""
    expected_gpus: t.Optional[int] = None
    word: str = ""
    error: str = ""
    fix: str = ""

    @property
    def works(self) -> bool:
        """Every link that could be judged is proven."""
        return self.verdict is not None and self.verdict.first_broken is None and bool(self.verdict.findings)

    @property
    def said(self) -> str:
        """The verdict in a word or two."""
        if self.verdict is None:
            return self.word or FAILED
        if self.golden:
            return GOLDEN
        if self.works:
            return WORKS
        return BROKEN if any(one.status == "fail" for one in self.verdict.broken) else NOT_PROVEN

    @property
    def first(self) -> t.Optional[Finding]:
        """What to mend first: of the first broken layer what is known to be broken, else what is not known."""
        if self.verdict is None:
            return None
        broken = self.verdict.broken
        return next((one for one in broken if one.status == "fail"), next(iter(broken), None))

    @property
    def others(self) -> t.List[Finding]:
        """What else is wrong in that layer."""
        first, broken = self.first, self.verdict.broken if self.verdict else ()
        # What could not be read is said once, however many checks would have needed it.
        return [one for one in broken if first is not None and one is not first and first.actual not in one.actual]


class Action(t.NamedTuple):
    """The one thing to do next, the finding that asks for it, and who mends it."""

    text: str
    finding: str = ""
    repair: str = ""


def action(case: Case) -> Action:
    first = case.first
    if case.verdict is None:
        return Action(case.fix or "Look at the first error of the run.")
    if first is not None:
        text = first.fix or _READ_AGAIN
        if case.inferred and RUN_SITE.rstrip(".") in text:
            text = "%s %s" % (text, _NEEDS_BUNDLE)
        return Action(text, first.id, first.repair)
    if not case.works:
        broken = str(case.verdict.first_broken)
        return Action("Look at the layer %s. Not all of it was judged: %s." % (broken, reason(case, broken)))
    if case.golden:
        return Action("Nothing is to be done.")
    if case.inferred:
        return Action("Nothing is broken. %s site.yml then proves the node and marks it." % _NEEDS_BUNDLE)
    return Action("%s It writes the golden mark (%s)." % (RUN_SITE, case.mark_objection or "there is none"))


def layers(case: Case) -> t.Dict[str, str]:
    """Status by layer; nothing is known of a node that was not judged."""
    return chain.statuses(case.verdict.findings) if case.verdict else {}


def reason(case: Case, layer: str) -> str:
    """One line on a layer."""
    findings = [one for one in case.verdict.findings if one.layer == layer] if case.verdict else []
    if case.first is not None and case.first.layer == layer:
        return case.first.cause or case.first.actual
    status = layers(case)[layer]
    told = [one for one in findings if one.status == status and (one.required or status == "skip")]
    known = {one.id: one for one in reversed(told)}
    best = next((known[name] for name in _TELLING if name in known), told[0] if told else None)
    return best.actual if best else ""


def not_judged(case: Case) -> t.List[str]:
    """The layers that were left alone since a lower one is broken."""
    broken = case.verdict.first_broken if case.verdict else None
    return list(LAYERS[LAYERS.index(broken) + 1 :]) if broken in LAYERS else []


def informational(case: Case) -> t.List[Finding]:
    """What golden does not need and is not as it should be."""
    findings = case.verdict.findings if case.verdict else ()
    return [one for one in findings if not one.required and one.status in ("fail", "unknown")]


def is_advice(finding: Finding) -> bool:
    """It says what could be better. What is not known stays a gap in the proof."""
    return finding.status == "fail" and finding.id in _ADVICE


def left_out(case: Case) -> t.List[str]:
    """Why checks that golden does not need were left out in layers that were judged, each reason once."""
    findings = case.verdict.findings if case.verdict else ()
    blocked = not_judged(case)
    told = (one for one in findings if one.status == "skip" and not one.required and one.layer not in blocked)
    return [why for why in dict.fromkeys(one.actual for one in told) if not (case.inferred and why == NO_BUNDLE)]


def plain(case: Case) -> t.Dict[str, t.Any]:
    """The node for machines."""
    verdict, evidence, todo = case.verdict, case.evidence, action(case)
    platform = evidence.platform.value
    return {
        "golden": case.golden,
        "works": case.works,
        "verdict": case.said,
        "first_broken": verdict.first_broken if verdict else None,
        "layers": layers(case),
        "action": None if case.golden else {"text": todo.text, "id": todo.finding, "repair": todo.repair},
        "findings": to_plain(verdict.findings) if verdict else [],
        "not_proven": list(verdict.not_proven) if verdict else [],
        "table": {**table(evidence), "expected_gpus": case.expected_gpus},
        "platform": platform.key if platform else "",
        "collected_at": evidence.collected_at,
        "desired_digest": case.desired_digest,
        "error": case.error,
    }


def message(case: Case) -> str:
    """The node in a sentence or two, for the end of a run."""
    said, todo, first = "%s: %s" % (case.node, case.said), action(case).text, case.first
    if case.verdict is None:
        said += ". " + case.error
    elif first is not None:
        said += ", %s. %s" % (first.layer, first.words)
    return printable("%s. %s" % (said.rstrip("."), todo))


def raw(case: Case) -> t.List[behind.Source]:
    """The lines that say so."""
    return behind.sources(case.first, case.evidence, case.capture) if case.first else []
