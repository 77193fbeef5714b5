# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/etc/nvidia-container-runtime/config.toml: read as TOML, edited as lines so that comments stay."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import tomllib

from .log import ToolkitError

PATH = Path("/etc/nvidia-container-runtime/config.toml")


def load(path: Path = PATH) -> t.Dict[str, t.Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except tomllib.TOMLDecodeError as error:
        raise ToolkitError("could not read config file %s: %s" % (path, error)) from error


def get(config: t.Mapping[str, t.Any], key: str, default: t.Any) -> t.Any:
    """The value under a dotted key."""
    value: t.Any = config
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            return default
        value = value[part]
    return value


def set_value(text: str, key: str, value: str) -> str:
    """The file's text with a dotted key set; bare words become booleans, numbers or text."""
    section, _, name = key.rpartition(".")
    literal = value if value in ("true", "false") or value.isdigit() else '"%s"' % value
    line = "%s = %s\n" % (name, literal)
    lines = text.splitlines(keepends=True)
    start, end = _section(lines, section)
    for number in range(start, end):
        if re.match(r"\s*#?\s*%s\s*=" % re.escape(name), lines[number]):
            lines[number] = line
            return "".join(lines)
    if start == len(lines) and section:
        return "%s\n[%s]\n%s" % (text, section, line)
    return "".join([*lines[:start], line, *lines[start:]])


def _section(lines: t.Sequence[str], name: str) -> t.Tuple[int, int]:
    """First line after the head of a section, and the line after its last."""
    heads = [number for number, line in enumerate(lines) if line.startswith("[")] + [len(lines)]
    if not name:
        return 0, heads[0]
    for head, following in zip(heads, heads[1:]):
        if lines[head].strip() == "[%s]" % name:
            return head + 1, following
    return len(lines), len(lines)
