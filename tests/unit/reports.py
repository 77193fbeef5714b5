# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of pools for the tests of reports: nodes as the judge judges them, hostile ones, and pools of any size."""

from __future__ import annotations

import copy
import functools
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils import summary, verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Evidence, Verdict, to_plain
from ansible_collections.goldennode.gpu.plugins.plugin_utils import pool, results
from ansible_collections.goldennode.gpu.tests.unit import healthy

Plain = t.Dict[str, t.Any]

WRITTEN = "2026-12-01T09:30:00+00:00"

#: What a node, or whoever names one, may say to break out of a page, turn it around or fill it.
HOSTILE = (
    "</script><script>window.broken=1</script>",
    "</style><style>body{display:none}</style>",
    "\"'><img src=x onerror=window.broken=1>",
    "<!--<script>",
    "]]>&lt;&amp;&#0;",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:window.broken=1",
    "\u202egnp.exe\u2066 \u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd",
    "nul\x00 bell\x07 esc\x1b[31m del\x7f half\ud800 none\uffff",
    "\u200b\u00ad\ufeff",
    "x" * 5000,
    "word " * 3000,
    "\r\n\t",
    "",
)


def look(evidence: Evidence, golden: bool = False, **fields: t.Any) -> Plain:
    """The result of node_verify for this evidence."""
    wanted = healthy.desired()
    judged: Verdict = verdict.run(wanted, evidence, 1)
    return {
        "golden": golden and judged.golden,
        "verified": judged.golden,
        "verdict": to_plain(judged),
        "refusals": to_plain(verdict.refusals(wanted, evidence, 1)),
        "mark_objection": "" if golden else "the node has no mark",
        "platform": evidence.platform.value.key if evidence.platform.value else "",
        "collected_at": WRITTEN,
        "table": summary.table(evidence),
        **fields,
    }


def node(seen: t.Optional[Plain], failure: t.Optional[Plain] = None, lost: bool = False) -> Plain:
    desired = {"debian-13-x86_64": to_plain(healthy.desired())}
    return results.node(pool.row("node", seen, failure, 1, lost=lost), seen, desired)


@functools.cache
def _kinds() -> t.Dict[str, Plain]:
    well = healthy.evidence()
    evidence = {
        "golden": well,
        "nvml": healthy.unreadable(well, "nvml"),
        "docker": healthy.unreadable(well, "docker"),
        "driver": healthy.known(well, driver=None),
        "pci": healthy.known(well, pci=()),
    }
    kinds = {name: node(look(one, golden=True)) for name, one in evidence.items()}
    kinds["unmarked"] = node(look(well))
    kinds["unproven"] = node(look(healthy.unreadable(well, "kept_packages"), golden=True))
    kinds["unreachable"] = node({"unreachable": True, "msg": "ssh: connect to host 10.0.0.3 port 22: timed out"})
    kinds["failed"] = node(None, {"task": "Look at the whole chain", "message": "sudo: a password is required"})
    kinds["none"] = node(None)
    return kinds


def kinds() -> t.Dict[str, Plain]:
    """One node of each kind."""
    return copy.deepcopy(_kinds())


def of(nodes: t.Mapping[str, Plain]) -> Plain:
    return results.results(nodes, WRITTEN)


def every_kind() -> Plain:
    return of({"gpu-%s.example.com" % name: one for name, one in kinds().items()})


def many(count: int) -> Plain:
    """A pool of which nine in ten are golden."""
    found = kinds()
    others = [name for name in found if name not in ("golden", "unproven")]
    chosen = [others[i // 10 % len(others)] if i % 10 == 7 else "golden" for i in range(count)]
    return of({"gpu%04d.cluster-3.example.com" % i: found[name] for i, name in enumerate(chosen)})


def hostile() -> Plain:
    """Each hostile text as the name of a node, and in every field of it that holds text."""
    nodes = {}
    for number, text in enumerate(HOSTILE):
        one = _poisoned(kinds()["nvml" if number % 2 else "failed"], text)
        one["layers"] = dict.fromkeys((*kinds()["nvml"]["layers"], text), "fail")
        one["table"] = dict.fromkeys((*results.TABLE, results.EXPECTED), text)
        one["first_broken"], one["not_proven"], one["verdict"] = text, [text], text or "not golden"
        nodes["%s %d" % (text, number)] = one
    return of(nodes)


def _poisoned(value: t.Any, text: str, key: str = "") -> t.Any:
    if isinstance(value, dict):
        return {name: _poisoned(item, text, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_poisoned(item, text) for item in value]
    return text if isinstance(value, str) and key != "status" else value
