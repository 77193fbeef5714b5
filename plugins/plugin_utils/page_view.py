# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the page of a pool shows, and in which order: plain data for its template. Nothing is escaped here.

Controller only.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Finding
from ansible_collections.goldennode.gpu.plugins.plugin_utils import results
from ansible_collections.goldennode.gpu.plugins.plugin_utils.results import Plain

#: repair -> who or what mends it.
_MENDED_BY = {
    "roles": "a run of site.yml",
    "reboot": "a reboot",
    "reload": "loading the driver anew",
    "agent": "the agent on the node",
    "manual": "a person",
}
#: Kind of a node -> how the page calls it.
_WORDS = {"golden": "golden", "works": "work without a mark", "broken": "not golden", "lost": "without a look"}

#: Kinds in the order in which they want somebody's attention.
_ORDER = ("broken", "lost", "works", "golden")

_BROKEN = ("fail", "unknown")

#: How the judge begins what it says of a check that it did not ask; the page says it once.
_SKIPPED = "not judged: "

#: The bar at the top is drawn on a grid of this width.
_BAR = 1000


def view(found: Plain) -> Plain:
    """Everything that the template needs; nodes that want somebody's attention come first."""
    layers = results.layers(found)
    ordered = sorted(found["nodes"].items(), key=lambda item: (_rank(item[1]), natural(item[0])))
    nodes = [_node(number, name, one, layers) for number, (name, one) in enumerate(ordered, 1)]
    return {
        "generated_at": found["generated_at"],
        "collection": found["collection"],
        "layers": [{"id": layer, "label": layer.replace("_", " ")} for layer in layers],
        "nodes": nodes,
        "wall": sorted(nodes, key=lambda node: natural(node["name"])),
        "golden": sum(node["golden"] for node in nodes),
        "kinds": _kinds(nodes),
        "verdicts": sorted({node["verdict"] for node in nodes}),
        "groups": _groups(nodes),
        "versions": _versions(nodes),
        "unproven": _together(nodes, lambda node: node["not_proven"]),
    }


def natural(name: str) -> t.List[t.Tuple[int, int, str]]:
    """node2 before node10."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    digits = [part.lstrip("0") or "0" if part[0] in "0123456789" else "" for part in parts]
    return [(0, len(number), number) if number else (1, 0, part) for number, part in zip(digits, parts)] + [
        (2, 0, name)
    ]


def _rank(one: Plain) -> int:
    return _ORDER.index(_kind(one))


def _kind(one: Plain) -> str:
    if one["golden"]:
        return "golden"
    return "lost" if one["error"] else "works" if results.unmarked(one) else "broken"


def _node(number: int, name: str, one: Plain, layers: t.Sequence[str]) -> Plain:
    cause = results.first_cause(one)
    statuses = [one["layers"].get(layer, "unknown") for layer in layers]
    others = [f for f in one["findings"] if f["status"] in _BROKEN and f is not cause]
    return {
        "id": "node-%d" % number,
        "name": name,
        "kind": _kind(one),
        **{key: one[key] for key in ("golden", "works", "verdict", "first_broken", "error", "not_proven", "table")},
        **{key: one[key] for key in ("platform", "collected_at", "desired_digest")},
        # A layer that nobody can speak for is unknown, and unknown is not absent.
        "cells": [
            {"layer": layer, "status": status, "first": layer == one["first_broken"]}
            for layer, status in zip(layers, statuses)
        ],
        "gpus": _gpus(one["table"]),
        "well": one["golden"] and all(status == "pass" for status in statuses),
        "why": one["error"] or (Finding(**cause).words if cause else results.UNMARKED if results.unmarked(one) else ""),
        "cause": _finding(cause) if cause else None,
        "action": one["action"] and not one["golden"] and {**one["action"], "by": _by(one["action"]["repair"])},
        "required": [_finding(f) for f in others if f["required"]],
        "informational": [_finding(f) for f in others if not f["required"]],
        "passed": _ids(f for f in one["findings"] if f["status"] == "pass"),
        "skipped": _skipped(one["findings"]),
    }


def _gpus(table: Plain) -> str:
    found, expected = (table.get(name) for name in ("gpus", results.EXPECTED))
    told = "?" if found is None else str(found)
    return told if expected is None else "%s of %s" % (told, expected)


def _finding(finding: Plain) -> Plain:
    return {**finding, "words": finding["cause"] or finding["actual"], "by": _by(finding["repair"])}


def _by(repair: str) -> str:
    return _MENDED_BY.get(repair, repair)


def _ids(findings: t.Iterable[Plain]) -> t.List[Plain]:
    """Each id once, with how often it stands there."""
    counts: t.Dict[str, int] = {}
    for finding in findings:
        counts[finding["id"]] = counts.get(finding["id"], 0) + 1
    return [{"id": name, "count": count} for name, count in counts.items()]


def _skipped(findings: t.Iterable[Plain]) -> t.List[Plain]:
    """What was not judged, by the reason why."""
    reasons: t.Dict[str, t.List[Plain]] = {}
    for finding in findings:
        if finding["status"] == "skip":
            why = finding["actual"][len(_SKIPPED) :] if finding["actual"].startswith(_SKIPPED) else finding["actual"]
            reasons.setdefault(why or "no reason is given", []).append(finding)
    ids = {why: _ids(mine) for why, mine in reasons.items()}
    return [{"why": why, "ids": mine, "count": len(mine)} for why, mine in ids.items()]


def _kinds(nodes: t.Sequence[Plain]) -> t.List[Plain]:
    """Parts of the bar. One that has a node is never too thin to be seen."""
    counts = {kind: sum(node["kind"] == kind for node in nodes) for kind in _WORDS}
    widths = {kind: max(count * _BAR // len(nodes), 6) if count else 0 for kind, count in counts.items()}
    if nodes:
        widths[max(counts, key=lambda kind: counts[kind])] += _BAR - sum(widths.values())
    found, at = [], 0
    for kind, word in _WORDS.items():
        found.append({"kind": kind, "word": word, "count": counts[kind], "x": at, "width": widths[kind]})
        at += widths[kind]
    return found


def _groups(nodes: t.Sequence[Plain]) -> t.List[Plain]:
    """What to do next, one entry for all nodes with the same finding and the same action, the most nodes first."""
    found: t.Dict[t.Tuple[str, str], Plain] = {}
    for node in nodes:
        if node["golden"] or (node["kind"] == "works" and not node["action"]):
            continue
        what = node["cause"]["id"] if node["cause"] else node["verdict"]
        text = node["action"]["text"] if node["action"] else ""
        entry = {
            "what": what,
            "why": node["why"],
            "action": node["action"],
            "nodes": [],
            "same": True,
            "kind": node["kind"],
        }
        group = found.setdefault((what, text), entry)
        group["same"] = group["same"] and group["why"] == node["why"]
        group["nodes"].append(node)
    return sorted(found.values(), key=lambda group: -len(group["nodes"]))


def _versions(nodes: t.Sequence[Plain]) -> t.List[Plain]:
    """How many nodes have which version, so that the odd one is seen at once."""
    found = []
    for column in ("platform", *results.TABLE):
        values = _together(nodes, lambda node, column=column: [_value(node, column)])  # type: ignore[misc]
        found.append({"name": "GPUs" if column == "gpus" else column, "found": values})
    return found


def _value(node: Plain, column: str) -> str:
    value = node["platform"] if column == "platform" else node["table"][column]
    return "?" if value is None or value == "" else str(value)


def _together(nodes: t.Sequence[Plain], of: t.Callable[[Plain], t.Iterable[str]]) -> t.List[Plain]:
    """Each text with the nodes that have it, the most first."""
    found: t.Dict[str, t.List[Plain]] = {}
    for node in nodes:
        for text in dict.fromkeys(of(node)):
            found.setdefault(text, []).append(node)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), natural(item[0])))
    return [{"text": text, "nodes": mine} for text, mine in ordered]
