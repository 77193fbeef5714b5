# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action goldennode.gpu.diagnose: says of each node which link is broken first, why, and what to do next."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.goldennode.gpu.plugins.module_utils import compare, diagnosis, diagnosis_text
from ansible_collections.goldennode.gpu.plugins.module_utils.diagnosis import Case
from ansible_collections.goldennode.gpu.plugins.module_utils.model import SCHEMA, Evidence, Verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import evidence_from_plain, from_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.version import VERSION
from ansible_collections.goldennode.gpu.plugins.plugin_utils import captures, pool, terminal, whole_file
from ansible_collections.goldennode.gpu.plugins.plugin_utils.plain import plain

Plain = t.Mapping[str, t.Any]
Differences = t.Dict[str, t.List[compare.Difference]]


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: t.Any = None, task_vars: t.Optional[t.Dict[str, t.Any]] = None) -> t.Dict[str, t.Any]:
        result: t.Dict[str, t.Any] = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(
            {
                "hosts": {"type": "list", "elements": "str"},
                "capture": {"type": "str"},
                "expected_gpus": {"type": "int"},
                "image": {"type": "str", "default": ""},
                "capture_to": {"type": "str"},
                "compare": {"type": "str"},
                "result": {"type": "str"},
            },
            mutually_exclusive=[["hosts", "capture"], ["capture", "capture_to"]],
            required_one_of=[["hosts", "capture"]],
        )
        given = plain(arguments)
        troubles = _Troubles()
        try:
            found = self._cases(given, task_vars or {})
        except captures.CaptureError as error:
            raise AnsibleActionFail(str(error)) from error
        # The looks may have taken minutes: what was found is told and kept first, whatever else is wrong.
        good = troubles.of(_known_good, given["compare"], found) if given["compare"] else None
        differing = _differing(given["compare"], good, found) if good is not None else {}
        saved = _saved(given["capture_to"], found, troubles) if given["capture_to"] else {}
        self._show(found, differing, given["compare"] or "", saved)
        nodes = {case.node: diagnosis.plain(case) for case in found}
        for name, differences in differing.items():
            nodes[name]["differences"] = [one._asdict() for one in differences]
        if given["result"]:
            troubles.of(_write, given["result"], nodes)
        troubles.end()
        broken = [case for case in found if not (case.golden or case.works)]
        messages = {case.node: diagnosis.message(case) for case in found}
        result.update(
            changed=False, nodes=nodes, messages=messages, broken=[case.node for case in broken], captures=saved
        )
        return result

    def _cases(self, given: Plain, task_vars: Plain) -> t.List[Case]:
        if given["capture"]:
            return captures.cases(given["capture"], given["expected_gpus"], given["image"])
        hostvars = task_vars.get("hostvars", {})
        alive = plain(task_vars.get("ansible_play_hosts", given["hosts"]))
        return [_case(host, hostvars[host], host not in alive) for host in given["hosts"]]

    def _show(self, found: t.Sequence[Case], differing: Differences, good: str, saved: t.Mapping[str, str]) -> None:
        """Straight to the terminal, with no JSON around it. What is well comes first, so that the worst stands last."""
        width = terminal.width(self._display)
        parts = []
        for case in sorted(found, key=lambda case: not (case.golden or case.works)):
            text = diagnosis_text.render(case, width, terminal.paint)
            if case.node in differing:
                text += "\n" + diagnosis_text.compared(case.node, good, differing[case.node], width)
            if case.node in saved:
                text += "\n  CAPTURE     %s" % saved[case.node]
            parts.append(text)
        parts.append(diagnosis_text.total(found, terminal.paint))
        self._display.display("\n%s\n" % "\n\n".join(parts))


class _Troubles:
    """What went wrong on the side, kept until the nodes are told of."""

    def __init__(self) -> None:
        self._said: t.Dict[str, None] = {}

    def of(self, function: t.Callable[..., t.Any], *arguments: t.Any) -> t.Any:
        """What the function gives; None where it says what is wrong, which is said at the end, and once."""
        try:
            return function(*arguments)
        except (captures.CaptureError, AnsibleActionFail) as error:
            self._said.setdefault(str(error))
            return None

    def end(self) -> None:
        """:raises AnsibleActionFail: when anything went wrong"""
        if self._said:
            raise AnsibleActionFail("\n".join(self._said))


def _case(host: str, variables: Plain, lost: bool) -> Case:
    """One host of the play, by what its look said, or by why there is none."""
    look, failure = plain(variables.get("__goldennode_look")) or {}, plain(variables.get("__goldennode_failure"))
    prepared = plain(variables.get("__goldennode_bundle")) or {}
    expected = plain(variables.get("golden_expected_gpus"))
    expected = int(expected) if str(expected).isdecimal() else None
    if "verdict" not in look or failure or lost:
        row = pool.row(host, look, failure, expected, plain(variables.get("ansible_user")), lost)
        word = diagnosis.UNREACHABLE if row.verdict == "unreachable" else diagnosis.FAILED
        return Case(host, word=word, error=row.reason, fix=row.fix, expected_gpus=expected)
    wanted = (prepared.get("desired") or {}).get(look.get("platform")) or {}
    return Case(
        host,
        t.cast(Verdict, from_plain(Verdict, look["verdict"], "verdict")),
        evidence_from_plain(look["evidence"]) if look.get("evidence") else Evidence(),
        look.get("capture"),
        golden=bool(look.get("golden")),
        inferred=bool(look.get("inferred")),
        mark_objection=str(look.get("mark_objection") or ""),
        desired_digest=str(wanted.get("digest") or ""),
        expected_gpus=expected,
    )


def _known_good(name: str, found: t.Sequence[Case]) -> Evidence:
    """What was read off the node that the others are compared with: one of this run, or of a capture."""
    here = next((case for case in found if case.node == name), None)
    if here is not None and here.verdict is not None:
        return here.evidence
    if here is not None:
        raise AnsibleActionFail("goldennode_compare=%s cannot be compared with: %s" % (name, here.error))
    if not os.path.exists(os.path.expanduser(name)):
        raise AnsibleActionFail(
            "goldennode_compare=%s is neither a host of this run (%s) nor a file. Add the host to -l, or name a capture"
            " of it" % (name, ", ".join(case.node for case in found[:10]))
        )
    return captures.evidence(name, "goldennode_compare")


def _differing(name: str, good: Evidence, found: t.Sequence[Case]) -> Differences:
    others = [case for case in found if case.node != name and case.verdict is not None]
    return {case.node: compare.differences(case.evidence, good) for case in others}


def _saved(folder: str, found: t.Sequence[Case], troubles: _Troubles) -> t.Dict[str, str]:
    kept = {
        case.node: troubles.of(captures.save, folder, case.node, dict(case.capture))
        for case in found
        if case.capture is not None
    }
    return {node: path for node, path in kept.items() if path is not None}


def _write(path: str, nodes: t.Dict[str, t.Any]) -> None:
    """For machines."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    text = json.dumps({"schema": SCHEMA, "generated_at": now, "collection": VERSION, "nodes": nodes}, indent=1)
    try:
        whole_file.write(pathlib.Path(os.path.expanduser(path)), (text + "\n").encode("utf-8"))
    except OSError as error:
        raise AnsibleActionFail(
            "goldennode_result=%s cannot be written: %s. Name a file in a folder that is yours" % (path, error.strerror)
        ) from error
