# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a YAML file that people write: every way in which the text itself can be wrong becomes one clear message.

Controller only (PyYAML). A key that stands twice is an error here, while YAML readers silently take the last one; and a
number keeps the text it was written as, so that a message can show 1.20 and not 1.2.
"""

from __future__ import annotations

import codecs
import pathlib
import typing as t

import yaml

from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import MISSING, Problem

_BASE: t.Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OTHER_ENCODINGS = ((codecs.BOM_UTF16_LE, "UTF-16"), (codecs.BOM_UTF16_BE, "UTF-16"))


class YamlError(ValueError):
    """A file that is no readable YAML."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


class Number(float):
    """A number with a fraction that remembers how it was written."""

    as_written: str = ""


class _Loader(_BASE):  # type: ignore[misc]
    pass


def _mapping(loader: t.Any, node: t.Any) -> t.Dict[t.Any, t.Any]:
    """A mapping whose own keys each stand once; what a merge key (<<) brings may be replaced, as it is meant to be."""
    lines: t.Dict[t.Any, int] = {}
    for key_node, _value_node in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge":
            continue
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, t.Hashable):
            raise yaml.constructor.ConstructorError(None, None, "this key is not plain text", key_node.start_mark)
        if key in lines:
            message = "the key %s stands twice, here and in line %d" % (key, lines[key])
            raise yaml.constructor.ConstructorError(None, None, message, key_node.start_mark)
        lines[key] = key_node.start_mark.line + 1
    loader.flatten_mapping(node)
    return {
        loader.construct_object(key, deep=True): loader.construct_object(item, deep=True) for key, item in node.value
    }


def _number(loader: t.Any, node: t.Any) -> Number:
    number = Number(loader.construct_yaml_float(node))
    number.as_written = node.value
    return number


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:float", _number)


def read(path: pathlib.Path) -> t.Any:
    """The plain data of one YAML file.

    :raises YamlError: when it cannot be read, decoded or parsed
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise _error(path, "cannot be read: %s" % error.strerror, "Check the path and the permissions") from error
    return parse(raw, path)


def parse(raw: bytes, path: pathlib.Path) -> t.Any:
    """The plain data of the bytes of one YAML file; a byte order mark of UTF-8 is not held against it."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = [name for mark, name in _OTHER_ENCODINGS if raw.startswith(mark)]
        what = "looks like %s" % found[0] if found else "byte %d cannot be read" % error.start
        raise _error(path, "is not UTF-8: %s" % what, "Save the file as UTF-8") from error
    try:
        # A safe loader, with two constructors of its own.
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise _error(path, "is not valid YAML: %s" % _place(error), "Mend that line") from error


def _error(path: pathlib.Path, message: str, fix: str) -> YamlError:
    return YamlError(Problem(str(path), MISSING, message, fix))


def _place(error: yaml.YAMLError) -> str:
    """``line 3, column 5: …`` in one line, instead of the library's four."""
    mark = getattr(error, "problem_mark", None)
    words = ", ".join(word for word in (getattr(error, "context", None), getattr(error, "problem", None)) if word)
    if mark is None:
        return words or " ".join(str(error).split())
    return "line %d, column %d: %s" % (mark.line + 1, mark.column + 1, words or "it cannot be parsed")
