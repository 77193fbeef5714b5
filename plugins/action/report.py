# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action goldennode.gpu.report: prints the table of the pool straight to the terminal, and says who is golden."""

from __future__ import annotations

import json
import pathlib
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.goldennode.gpu.plugins.module_utils.table import Row
from ansible_collections.goldennode.gpu.plugins.plugin_utils import pool, terminal, whole_file
from ansible_collections.goldennode.gpu.plugins.plugin_utils.plain import plain

_ROW = {
    "node": {"type": "str", "required": True},
    "verdict": {"type": "str", "required": True},
    "gpus": {"type": "int"},
    "expected_gpus": {"type": "int"},
    "driver": {"type": "str"},
    "toolkit": {"type": "str"},
    "docker": {"type": "str"},
    "layer": {"type": "str", "default": ""},
    "reason": {"type": "str", "default": ""},
    "fix": {"type": "str", "default": ""},
}


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: t.Any = None, task_vars: t.Optional[t.Dict[str, t.Any]] = None) -> t.Dict[str, t.Any]:
        result: t.Dict[str, t.Any] = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(
            {
                "hosts": {"type": "list", "elements": "str"},
                "rows": {"type": "list", "elements": "dict", "options": _ROW},
                "path": {"type": "path"},
            },
            mutually_exclusive=[["hosts", "rows"]],
            required_one_of=[["hosts", "rows"]],
        )
        hostvars = (task_vars or {}).get("hostvars", {})
        alive = plain((task_vars or {}).get("ansible_play_hosts", arguments["hosts"]))
        rows = [Row(**plain(row)) for row in arguments["rows"] or ()]
        rows += [_row(plain(host), hostvars[host], host not in alive) for host in arguments["hosts"] or ()]
        terminal.show(rows, self._display)
        nodes = {row.node: _node(row) for row in rows}
        for host in arguments["hosts"] or ():
            nodes[plain(host)]["findings"] = pool.not_passed(plain(hostvars[host].get("__goldennode_look")))
        result.update(changed=False, nodes=nodes)
        if arguments["path"]:
            _write(arguments["path"], {"nodes": nodes})
        return result


def _row(host: str, variables: t.Mapping[str, t.Any], lost: bool) -> Row:
    look, failure = plain(variables.get("__goldennode_look")), plain(variables.get("__goldennode_failure"))
    prepared = variables.get("__goldennode_bundle")
    expected = plain(prepared.get("expected_gpus")) if prepared else None
    return pool.row(host, look, failure, expected, plain(variables.get("ansible_user")), lost)


def _write(path: str, report: t.Dict[str, t.Any]) -> None:
    """For machines: the same rows as JSON."""
    try:
        whole_file.write(pathlib.Path(path), (json.dumps(report, indent=1) + "\n").encode("utf-8"))
    except OSError as error:
        raise AnsibleActionFail(
            "path: %s cannot be written: %s. Name a file in a folder that is yours" % (path, error.strerror)
        ) from error


def _node(row: Row) -> t.Dict[str, t.Any]:
    message = "%s: %s. %s" % (row.node, row.verdict, row.explanation)
    return {
        "golden": row.golden,
        "failed": row.verdict not in ("golden", "not golden"),
        "verdict": row.verdict,
        "layer": row.layer,
        "reason": row.reason,
        "fix": row.fix,
        "message": message.strip(),
    }
