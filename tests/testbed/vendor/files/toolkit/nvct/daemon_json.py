# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `nvidia-ctk runtime configure --runtime=docker` does to daemon.json, with the real one's habits.

Measured on release 1.20.0: keys are sorted, four spaces, no newline at the end; the file is always rewritten; an empty
file, comments, a trailing comma or an array end with status 1 and leave the file; `"runtimes": null` makes it panic;
enabling CDI drops every other feature; an existing nvidia runtime loses its arguments; numbers pass through a float.
"""

from __future__ import annotations

import json
import typing as t
from decimal import Decimal

from .log import ToolkitError

Config = t.Dict[str, t.Any]


class Panic(Exception):
    """A crash of the real program: status 2."""


def parse(text: str) -> Config:
    """The first JSON value of the text; what follows it is not looked at."""
    if not text.strip():
        raise ToolkitError("unable to load config: EOF")
    decoder = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=_refuse_constant)
    try:
        value, _ = decoder.raw_decode(text.lstrip(" \t\r\n"))
    except json.JSONDecodeError as error:
        raise ToolkitError("unable to load config: invalid character in JSON: %s" % error) from error
    if not isinstance(value, dict):
        raise ToolkitError(
            "unable to load config: json: cannot unmarshal %s into Go value of type docker.Config"
            % type(value).__name__
        )
    return value


def configure(config: Config, name: str, path: str, default: bool, cdi: bool) -> Config:
    """``config`` with the runtime ``name``."""
    runtimes = config.get("runtimes", {})
    if not isinstance(runtimes, dict):
        raise Panic("panic: interface conversion: interface {} is not map[string]interface {}")
    changed = dict(config, runtimes=dict(runtimes, **{name: {"path": path, "args": []}}))
    if default:
        changed["default-runtime"] = name
    if cdi:
        changed["features"] = {"cdi": True}
    return changed


def dump(value: t.Any, indent: int = 0) -> str:
    margin = "    " * (indent + 1)
    closing = "    " * indent
    if isinstance(value, dict) and value:
        lines = ["%s%s: %s" % (margin, _text(key), dump(value[key], indent + 1)) for key in sorted(value)]
        return "{\n%s\n%s}" % (",\n".join(lines), closing)
    if isinstance(value, list) and value:
        return "[\n%s\n%s]" % (",\n".join(margin + dump(item, indent + 1) for item in value), closing)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return _float(value)
    return json.dumps(value)


def _number(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ToolkitError(
            "unable to load config: json: cannot unmarshal number %s into Go value of type float64" % text
        )
    return value


def _refuse_constant(text: str) -> t.NoReturn:
    raise ToolkitError("unable to load config: invalid character '%s' looking for beginning of value" % text[0])


def _text(value: str) -> str:
    quoted = json.dumps(value, ensure_ascii=False)
    for character in ("<", ">", "&", "\u2028", "\u2029"):
        quoted = quoted.replace(character, "\\u%04x" % ord(character))
    return quoted


def _float(value: float) -> str:
    """The shortest digits that give the value back; an exponent only for the very small and the very large."""
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    if 1e-6 <= abs(value) < 1e21:
        digits = format(Decimal(repr(value)), "f")
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    mantissa, exponent = ("%s" % repr(value)).split("e")
    return "%se%s%s" % (
        mantissa.removesuffix(".0"),
        exponent[0] if exponent[0] in "+-" else "+",
        exponent.lstrip("+-").lstrip("0"),
    )
