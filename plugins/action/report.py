# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action goldennode.gpu.report: prints the table of the pool straight to the terminal, and says who is golden.

It also writes what it knows to files: a page for people, JSON for machines, JUnit for CI systems.
"""

from __future__ import annotations

import datetime
import functools
import json
import pathlib
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.goldennode.gpu.plugins.module_utils.table import Row
from ansible_collections.goldennode.gpu.plugins.plugin_utils import (
    junit,
    page,
    pool,
    results,
    results_file,
    terminal,
    whole_file,
)
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


#: Option -> the bytes of the file that it names.
_FORMATS: t.Dict[str, t.Callable[[results.Plain], bytes]] = {
    "html": page.render,
    "json": results.to_json,
    "junit": junit.junit,
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
                "results": {"type": "path"},
                **{name: {"type": "path"} for name in ("path", *_FORMATS)},
            },
            mutually_exclusive=[["hosts", "rows", "results"], *(["rows", name] for name in _FORMATS)],
            required_one_of=[["hosts", "rows", "results"]],
        )
        rows, found = self._known(arguments, task_vars or {})
        terminal.show(rows, self._display)
        nodes = {row.node: _node(row) for row in rows}
        for name, one in found["nodes"].items():
            nodes[name]["findings"] = pool.not_passed({"verdict": one})
        result.update(changed=False, nodes=nodes)
        made: t.Dict[str, t.Callable[[], bytes]] = {"path": lambda: _table_file(nodes)}
        made.update({name: functools.partial(form, found) for name, form in _FORMATS.items()})
        # One that cannot be written keeps no other from being there.
        troubles = [_write(name, arguments[name], make()) for name, make in made.items() if arguments[name]]
        if any(troubles):
            raise AnsibleActionFail("\n".join(filter(None, troubles)))
        return result

    def _known(
        self, arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any]
    ) -> t.Tuple[t.List[Row], results.Plain]:
        """The rows of the table, and the results behind them; those of rows that were given are not known."""
        if arguments["results"]:
            found = _read(arguments["results"])
            return [results.row(name, one) for name, one in found["nodes"].items()], found
        hostvars = task_vars.get("hostvars", {})
        alive = plain(task_vars.get("ansible_play_hosts", arguments["hosts"]))
        rows, nodes = [Row(**plain(row)) for row in arguments["rows"] or ()], {}
        for host in plain(arguments["hosts"] or ()):
            row = _row(host, hostvars[host], host not in alive)
            desired = (hostvars[host].get("__goldennode_bundle") or {}).get("desired")
            nodes[host] = results.node(row, plain(hostvars[host].get("__goldennode_look")), plain(desired))
            rows.append(row)
        return rows, results.results(nodes, _now())


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def _row(host: str, variables: t.Mapping[str, t.Any], lost: bool) -> Row:
    look, failure = plain(variables.get("__goldennode_look")), plain(variables.get("__goldennode_failure"))
    prepared = variables.get("__goldennode_bundle")
    expected = plain(prepared.get("expected_gpus")) if prepared else None
    return pool.row(host, look, failure, expected, plain(variables.get("ansible_user")), lost)


def _read(path: str) -> results.Plain:
    try:
        return results_file.read(pathlib.Path(path))
    except results_file.ResultsError as error:
        raise AnsibleActionFail("results: %s" % error) from None  # said whole; Ansible would say the cause again


def _table_file(nodes: t.Mapping[str, t.Any]) -> bytes:
    return (json.dumps({"nodes": nodes}, indent=1) + "\n").encode("utf-8")


def _write(option: str, path: str, content: bytes) -> str:
    """Why the file could not be written; "" where it was."""
    try:
        whole_file.write(pathlib.Path(path), content)
    except OSError as error:
        words = "%s: %s cannot be written: %s. Name a file in a folder that is yours"
        return words % (option, path, error.strerror)
    return ""


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
