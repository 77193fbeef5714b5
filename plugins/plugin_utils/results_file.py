# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A result file as somebody hands it in: read whole, or refused with the place that is wrong. Controller only."""

from __future__ import annotations

import json
import pathlib
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import MISSING, Problem
from ansible_collections.goldennode.gpu.plugins.plugin_utils import results

_STATUSES = ("pass", "fail", "unknown", "skip")
_FIX = "Give the file that diagnose.yml or report.yml wrote (goldennode_result, goldennode_report_json), as it is"
_TEXT, _FLAG, _LIST, _OBJECT = (str,), (bool,), (list,), (dict,)
_MAYBE: t.Tuple[t.Type[t.Any], ...] = (str, type(None))

#: Name of a field -> its types, and what stands for it where it is left out. ``...``: it must be there.
_NODE: t.Dict[str, t.Tuple[t.Tuple[t.Type[t.Any], ...], t.Any]] = {
    "golden": (_FLAG, ...),
    "works": (_FLAG, False),
    "verdict": (_TEXT, ...),
    "first_broken": (_MAYBE, None),
    "layers": (_OBJECT, {}),
    "action": ((dict, type(None)), None),
    "findings": (_LIST, []),
    "not_proven": (_LIST, []),
    "table": (_OBJECT, {}),
    "platform": (_MAYBE, ""),
    "collected_at": (_MAYBE, None),
    "desired_digest": (_MAYBE, None),
    "error": (_MAYBE, ""),
}
_ACTION = dict.fromkeys(("text", "id", "finding", "repair"), (_TEXT, ""))
_FINDING = {
    **dict.fromkeys(("id", "layer", "status"), (_TEXT, ...)),
    **dict.fromkeys(("entity", "expected", "actual", "cause", "fix", "repair", "waived"), (_TEXT, "")),
    "required": (_FLAG, True),
}
_TOP = {"generated_at": (_TEXT, ""), "collection": (_TEXT, ""), "nodes": (_OBJECT, ...)}
_NAMES = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}


class ResultsError(ValueError):
    """A file that holds no results."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


def read(path: pathlib.Path) -> results.Plain:
    """:raises ResultsError: when it cannot be read, is not JSON, or is not what a report is made of"""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # of a pipe nothing would ever come
            raise _error(path, "is no file", "Name the file of results that is to be shown")
        raw = path.read_bytes()
    except OSError as error:
        raise _error(
            path, "cannot be read: %s" % error.strerror, "Name the file of results that is to be shown"
        ) from error
    try:
        found = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise _error(path, "is not UTF-8: byte %d cannot be read" % error.start, _FIX) from error
    except RecursionError as error:
        raise _error(path, "is nested too deep", _FIX) from error
    except ValueError as error:
        raise _error(path, "is not JSON: %s" % error, _FIX) from error
    try:
        return check(found)
    except ValueError as error:
        raise _error(path, "holds no results: %s" % error, _FIX) from error


def check(found: t.Any) -> results.Plain:
    """The results with every field in its place. What is not known of a later version is left out.

    :raises ValueError: naming the place and what was expected there
    """
    _expect(found, _OBJECT, "the file")
    schema = found.get("schema")
    if isinstance(schema, bool) or schema != results.SCHEMA:
        raise ValueError("schema: %d is expected, not %s" % (results.SCHEMA, _shown(schema)))
    top = _fields(found, _TOP, "")
    nodes = {str(name): _node(one, "nodes[%s]" % _shown(name)) for name, one in top["nodes"].items()}
    return {"schema": results.SCHEMA, **top, "nodes": nodes}


def _node(value: t.Any, where: str) -> results.Plain:
    one = _fields(value, _NODE, where)
    for name in ("platform", "error"):
        one[name] = one[name] or ""
    for layer, status in one["layers"].items():
        _status(status, "%s.layers[%s]" % (where, _shown(layer)))
    if one["action"] is not None:
        action = _fields(one["action"], _ACTION, where + ".action")
        # The id of the finding has two names.
        one["action"] = {"text": action["text"], "id": action["id"] or action["finding"], "repair": action["repair"]}
        one["action"] = one["action"] if one["action"]["text"] else None
    one["findings"] = [_finding(f, "%s.findings[%d]" % (where, i)) for i, f in enumerate(one["findings"])]
    for i, text in enumerate(one["not_proven"]):
        _expect(text, _TEXT, "%s.not_proven[%d]" % (where, i))
    one["table"] = {
        name: _cell(one["table"].get(name), "%s.table.%s" % (where, name))
        for name in (*results.TABLE, results.EXPECTED)
    }
    return one


def _finding(value: t.Any, where: str) -> results.Plain:
    finding = _fields(value, _FINDING, where)
    _status(finding["status"], where + ".status")
    return finding


def _fields(value: t.Any, spec: t.Mapping[str, t.Tuple[t.Any, t.Any]], where: str) -> results.Plain:
    _expect(value, _OBJECT, where)
    dot, found = where + "." if where else "", {}
    for name, (kinds, default) in spec.items():
        if name not in value and default is ...:
            raise ValueError("%s%s is missing" % (dot, name))
        # A copy, so that no two nodes share a list.
        found[name] = value[name] if name in value else type(default)(default) if default else default
        if name in value:
            _expect(value[name], kinds, dot + name)
    return found


def _status(value: t.Any, where: str) -> None:
    if not isinstance(value, str) or value not in _STATUSES:
        raise ValueError("%s: one of %s is expected, not %s" % (where, ", ".join(_STATUSES), _shown(value)))


def _cell(value: t.Any, where: str) -> t.Any:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (str, int))):
        raise ValueError("%s: text, a whole number or null is expected, not %s" % (where, _shown(value)))
    return value


def _expect(value: t.Any, kinds: t.Tuple[t.Type[t.Any], ...], where: str) -> None:
    if not isinstance(value, kinds):
        raise ValueError("%s: %s is expected, not %s" % (where, " or ".join(_NAMES[k] for k in kinds), _shown(value)))


def _shown(value: t.Any) -> str:
    """A value as JSON, short."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _error(path: pathlib.Path, message: str, fix: str) -> ResultsError:
    return ResultsError(Problem(str(path), MISSING, message, fix))
