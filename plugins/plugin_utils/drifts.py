# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of the drift of one host: from what its look returned, or from why there is none.

Controller only; plain data in, a case out.
"""

from __future__ import annotations

import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.drift_text import (
    DRIFTED,
    NONE,
    NOT_KNOWN,
    UNFINISHED,
    Case,
)
from ansible_collections.goldennode.gpu.plugins.plugin_utils import pool

Plain = t.Mapping[str, t.Any]

_SITE = "Run site.yml on this node"


def case(
    node: str,
    look: t.Optional[Plain],
    failure: t.Optional[Plain],
    bundle: t.Optional[Plain],
    user: t.Optional[str] = None,
    lost: bool = False,
) -> Case:
    """:arg look: what goldennode.gpu.node_drift returned
    :arg failure: ``task`` and ``message`` of the task that failed, if one has
    :arg bundle: what the action goldennode.gpu.desired returned, where a bundle was given
    """
    look = look or {}
    if "state" not in look:
        row = pool.row(node, dict(look), failure, None, user, lost)
        return Case(node, row.verdict, note=row.reason, fix=row.fix)
    if look["state"] == "never prepared":
        return Case(node, "never prepared", note="No run has kept on it what it is wanted to be", fix=_SITE)
    if look["state"] == "unreadable":
        note = "What it was proven for cannot be read: %s" % look["error"]
        return Case(node, "unreadable", note=note, fix="%s, which writes it again" % _SITE)
    rows, mark = tuple(look["rows"]), look["mark"] or {}
    found = {
        "rows": rows,
        "others": tuple(look["others"]),
        "waits": waits(look["stored"], bundle) if bundle else "",
        "bundle": str(look["stored"]["bundle"]),
        "lock": str(look["stored"]["lock"]),
        "last_whole": str(look["last_whole"]),
        "collected_at": str(look["collected_at"]),
    }
    if mark.get("state") not in ("golden", "suspended"):
        note = "It was not proven for what it is wanted to be: %s" % look["mark_objection"]
        return Case(node, UNFINISHED, note=note, fix=_SITE, **found)
    if any(row["status"] == "drifted" for row in rows):
        return Case(node, DRIFTED, **found)
    if rows:
        return Case(node, NOT_KNOWN, **found)
    # What the agent suspended it for may be no drift; then the node is not golden all the same.
    note = "Its mark is %s" % look["mark_objection"] if mark["state"] == "suspended" else ""
    return Case(node, NONE, note=note, **found)


def waits(stored: Plain, bundle: Plain) -> str:
    """In words, for what the node waits that the bundle says now; "" where it has it. That is no drift."""
    wanted = (bundle.get("desired") or {}).get(stored["platform"])
    if wanted is None:
        return "the bundle has no lock for %s yet" % stored["platform"]
    if wanted["digest"] == stored["digest"]:
        return ""
    lock = wanted["lock"]
    if str(lock["id"]) == stored["lock"]:
        return "it waits for other variables of the roles, with the same lock"
    return "it waits for another lock, of bundle %s (%s)" % (lock["bundle"], str(lock["id"])[:19])
