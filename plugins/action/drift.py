# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action goldennode.gpu.drift: shows of each node what differs from what it was proven for, and since when."""

from __future__ import annotations

import datetime
import typing as t

from ansible.plugins.action import ActionBase

from ansible_collections.goldennode.gpu.plugins.module_utils import drift_text
from ansible_collections.goldennode.gpu.plugins.module_utils.drift_text import Case
from ansible_collections.goldennode.gpu.plugins.module_utils.model import SCHEMA, to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.version import VERSION
from ansible_collections.goldennode.gpu.plugins.plugin_utils import drifts, json_file, terminal
from ansible_collections.goldennode.gpu.plugins.plugin_utils.plain import plain

Plain = t.Mapping[str, t.Any]


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: t.Any = None, task_vars: t.Optional[t.Dict[str, t.Any]] = None) -> t.Dict[str, t.Any]:
        result: t.Dict[str, t.Any] = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(
            {
                "hosts": {"type": "list", "elements": "str", "required": True},
                "result_file": {"type": "str"},
            },
        )
        given, variables = plain(arguments), task_vars or {}
        hostvars = variables.get("hostvars", {})
        alive = plain(variables.get("ansible_play_hosts", given["hosts"]))
        cases = [_case(host, hostvars[host], host not in alive) for host in given["hosts"]]
        # Straight to the terminal, with no JSON around it; and before a file may fail.
        text = drift_text.render(cases, terminal.width(self._display), terminal.paint)
        self._display.display("\n%s\n" % text)
        nodes = {case.node: _plain(case) for case in cases}
        if given["result_file"]:
            _write(given["result_file"], nodes)
        result.update(
            changed=False,
            nodes=nodes,
            not_well=[case.node for case in cases if not case.well],
            messages={case.node: case.message for case in cases},
        )
        return result


def _case(host: str, variables: Plain, lost: bool) -> Case:
    look, failure, bundle = (
        plain(variables.get("__goldennode_%s" % name)) for name in ("drift_look", "failure", "bundle")
    )
    bundle = bundle if (bundle or {}).get("desired") is not None else None
    return drifts.case(host, look, failure, bundle, plain(variables.get("ansible_user")), lost)


def _plain(case: Case) -> t.Dict[str, t.Any]:
    """For machines."""
    found = to_plain(case)
    found.pop("node")
    return {"drifted": any(row["status"] == "drifted" for row in case.rows), "well": case.well, **found}


def _write(path: str, nodes: Plain) -> None:
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    content = {"schema": SCHEMA, "generated_at": now, "collection": VERSION, "nodes": nodes}
    json_file.write(path, content, "goldennode_result_file=%s" % path)
