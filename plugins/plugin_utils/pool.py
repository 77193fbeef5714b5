# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One host's row of the table: from what its look said, or from why there is none.

Controller only; plain data in, rows out.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Finding
from ansible_collections.goldennode.gpu.plugins.module_utils.table import GOLDEN, Row
from ansible_collections.goldennode.gpu.plugins.plugin_utils.task_message import bare

Plain = t.Mapping[str, t.Any]


def row(
    node: str,
    look: t.Optional[Plain],
    failure: t.Optional[Plain],
    expected: t.Optional[int],
    user: t.Optional[str] = None,
    lost: bool = False,
) -> Row:
    """The row of one host.

    :arg look: the last result of goldennode.gpu.node_verify, if there is one
    :arg failure: ``task`` and ``message`` of the task that failed, if one has
    :arg expected: how many GPUs the host shall have, if that is known
    :arg user: who connects, if the inventory says so
    :arg lost: whether the host could be reached at first and not to the end
    """
    look = look or {}
    if look.get("unreachable"):
        fix = "Check that the host is up, and name, port, user and key in the inventory"
        return Row(node, "unreachable", expected_gpus=expected, reason=bare(look.get("msg")), fix=fix)
    seen = {name: value for name, value in (look.get("table") or {}).items() if name in _SHOWN}
    seen["expected_gpus"] = expected
    if lost:
        reason = "The node was lost while the run was at work on it; its mark stays revoked"
        fix = "Bring it back and run again: a run goes on from what it finds"
        return Row(node, "unreachable", reason=reason, fix=fix, **seen)
    if failure:
        layer = str(to_mend_first(look).get("layer", ""))
        reason = "%s: %s" % (failure["task"], bare(failure["message"]))
        return Row(node, "failed", layer=layer, reason=reason, fix=_first_aid(failure["message"], user), **seen)
    if not look:
        fix = "Look at the first error of the run"
        return Row(node, "not looked at", reason="The run ended before this host's turn", fix=fix, **seen)
    if "verdict" not in look:
        return Row(node, "failed", reason=bare(look.get("msg")) or "The look gave no verdict", **seen)
    if look.get("golden"):
        unproven = look["verdict"].get("not_proven") or []
        return Row(node, GOLDEN, reason="Not proven: %s" % "; ".join(unproven) if unproven else "", **seen)
    if look.get("verified"):
        return Row(node, "not golden", layer="mark", **_unmarked(look), **seen)
    broken = to_mend_first(look)
    if not broken:
        return Row(node, "not golden", reason="The look gave no reason", **seen)
    first = Finding(**broken)
    return Row(node, "not golden", layer=first.layer, reason=first.words, fix=first.fix, page=first.page, **seen)


#: What Ansible itself says when a module cannot even start on a node -> what to do. Its words, of core 2.19 to 2.21.
_FIRST_AID = (
    (
        r"\bsudo\b|\bbecome\b|\bsu: |doas|password is required",
        "%s cannot become root there. Allow it sudo, give its password by --ask-become-pass or "
        "ansible_become_password, or connect as root",
    ),
    (
        r"interpreter .* was not found|No python interpreters found|python3?: (command )?not found",
        "Install Python 3.9 or newer on the node, on Debian and Ubuntu by: ansible NODE -b -m ansible.builtin.raw "
        "-a 'apt-get update && apt-get install -y python3'; or set ansible_python_interpreter",
    ),
)


def _first_aid(message: str, user: t.Optional[str]) -> str:
    """What to do about a failure that is Ansible's own; empty for ours, which say it themselves."""
    for pattern, fix in _FIRST_AID:
        if re.search(pattern, message):
            return fix.replace("%s", user or "The user who connects")
    return ""


_SHOWN = ("gpus", "driver", "toolkit", "docker")


def not_passed(look: t.Optional[Plain]) -> t.List[Plain]:
    """The findings of a look that did not pass and were judged, for machines, each with its page of documentation."""
    findings = ((look or {}).get("verdict") or {}).get("findings", ())
    broken = (finding for finding in findings if finding["status"] in ("fail", "unknown"))
    return [{**finding, "page": Finding(**finding).page} for finding in broken]


def to_mend_first(look: Plain) -> Plain:
    """What stands in the way of every role, else the first broken layer.

    A bare node lacks packages, which a run would install; a key that is not enrolled forbids that run to begin.
    """
    return next(iter(look.get("refusals") or ()), None) or _first_broken(look)


def _first_broken(look: Plain) -> Plain:
    """The first finding of the first broken layer."""
    verdict = look.get("verdict") or {}
    for finding in verdict.get("findings", ()):
        broken = finding["required"] and finding["status"] in ("fail", "unknown")
        if broken and finding["layer"] == verdict.get("first_broken"):
            return t.cast(Plain, finding)
    return {}


def _unmarked(look: Plain) -> t.Dict[str, str]:
    """Everything verifies, and yet the node is not golden: why, and what to do."""
    said = look.get("mark_objection") or "the node has no golden mark for what is wanted"
    fix = "Run the play without --tags verify: it writes the mark"
    return {"reason": "Everything verifies, but %s" % said, "fix": fix}
