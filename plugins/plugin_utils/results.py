# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of a pool as plain data: the shape that every report is made of, and that diagnose.yml writes as well.

Controller only; plain data in, plain data out. ``nodes`` holds for each name: ``golden``, ``works`` (all that was asked
passes, whatever the mark says), ``verdict`` (a word or two), ``first_broken``, ``layers`` (layer: status), ``action``
(``text``, ``id`` of the finding, ``repair``; null where nothing is to be done), ``findings``, ``not_proven``,
``table``, ``platform``, ``collected_at``, ``desired_digest``, and ``error``: why there is no look, for a node without
one.
"""

from __future__ import annotations

import json
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils import chain
from ansible_collections.goldennode.gpu.plugins.module_utils.model import LAYERS, Finding
from ansible_collections.goldennode.gpu.plugins.module_utils.table import Row
from ansible_collections.goldennode.gpu.plugins.module_utils.version import VERSION
from ansible_collections.goldennode.gpu.plugins.plugin_utils import pool

Plain = t.Dict[str, t.Any]

SCHEMA = 1

#: What a table shows of a node, in the order in which people read it; beside it, how many GPUs it shall have.
TABLE = ("gpus", "driver", "toolkit", "docker", "kernel")
EXPECTED = "expected_gpus"

UNMARKED = "Everything that was asked passes, but there is no golden mark that holds"

#: The verdicts of a node that was looked at; any other says why there is no look to go by.
_LOOKED = ("golden", "not golden")


def results(nodes: t.Mapping[str, Plain], generated_at: str) -> Plain:
    return {"schema": SCHEMA, "generated_at": generated_at, "collection": VERSION, "nodes": dict(nodes)}


def node(row: Row, look: t.Optional[pool.Plain], desired: t.Optional[t.Mapping[str, t.Any]]) -> Plain:
    """One node.

    :arg row: what the table says of it
    :arg look: the last result of goldennode.gpu.node_verify, if there is one
    :arg desired: the wanted states by platform, if they are known
    """
    look = look or {}
    verdict = look.get("verdict") or {}
    findings = [dict(finding) for finding in verdict.get("findings") or ()]
    platform = str(look.get("platform") or "")
    return {
        "golden": row.golden,
        "works": bool(look.get("verified")),
        "verdict": row.verdict,
        "first_broken": verdict.get("first_broken"),
        "layers": chain.statuses(Finding(**finding) for finding in findings) if findings else {},
        "action": None if row.golden else _action(row, look),
        "findings": findings,
        "not_proven": list(verdict.get("not_proven") or ()),
        "table": {**{name: (look.get("table") or {}).get(name) for name in TABLE}, EXPECTED: row.expected_gpus},
        "platform": platform,
        "collected_at": look.get("collected_at") or (look.get("evidence") or {}).get("collected_at") or None,
        "desired_digest": ((desired or {}).get(platform) or {}).get("digest") or None,
        "error": "" if row.verdict in _LOOKED else row.reason,
    }


def _action(row: Row, look: pool.Plain) -> t.Optional[Plain]:
    """The one thing to do next, as the table says it."""
    if not row.fix:
        return None
    finding = pool.to_mend_first(look) if row.verdict == "not golden" and not look.get("verified") else {}
    repair = finding.get("repair", "") if finding else "roles" if look.get("verified") else "manual"
    return {"text": row.fix, "id": finding.get("id", ""), "repair": repair}


def to_json(found: Plain) -> bytes:
    """ASCII, so that half a character in what a node said is no error, and the same bytes for the same input."""
    return (json.dumps(found, indent=1, sort_keys=True) + "\n").encode("ascii")


def row(name: str, one: Plain) -> Row:
    """A node of a result file as the table shows it."""
    broken = first_cause(one)
    reason = one["error"] or (Finding(**broken).words if broken else UNMARKED if unmarked(one) else "")
    if one["golden"]:
        reason = "Not proven: %s" % "; ".join(one["not_proven"]) if one["not_proven"] else ""
    known = {column: one["table"].get(column) for column in ("gpus", EXPECTED, "driver", "toolkit", "docker")}
    fix = "" if one["golden"] else (one["action"] or {}).get("text", "")
    page = Finding(**broken).page if broken and not one["error"] and not one["golden"] else ""
    return Row(name, one["verdict"], layer=one["first_broken"] or "", reason=reason, fix=fix, page=page, **known)


def unmarked(one: Plain) -> bool:
    """Whether everything that was asked passes, and the node is not golden all the same."""
    return bool(one["works"]) and not one["golden"] and not one["error"]


def first_cause(one: Plain) -> Plain:
    """The finding that stands behind the next action, else the first broken one; empty where there is none."""
    wanted = (one["action"] or {}).get("id")
    broken = [finding for finding in one["findings"] if finding["status"] in ("fail", "unknown")]
    mine = [f for f in broken if f["required"] and f["layer"] == one["first_broken"]]
    return next((f for f in broken if wanted and f["id"] == wanted), next(iter(mine), {}))


def layers(found: Plain) -> t.List[str]:
    """Every layer that a node has a status for, in the order of the chain."""
    seen = {layer for one in found["nodes"].values() for layer in one["layers"]}
    return [*LAYERS, *sorted(seen - set(LAYERS))]
