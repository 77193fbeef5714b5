# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From JSON back to the types of ``model``: the other half of ``model.to_plain``. Pure.

What does not fit a type is an error that names its place: evidence or a wanted state must never be half understood.
"""

# Subclasses, such as Ansible's tagged values, are what this turns into plain types.
# pylint: disable=unidiomatic-typecheck

from __future__ import annotations

import dataclasses
import functools
import typing as t

from .model import Desired, Evidence

_SIMPLE = (str, int, float, bool)


def desired_from_plain(plain: t.Mapping[str, t.Any]) -> Desired:
    return t.cast(Desired, from_plain(Desired, plain, "desired"))


def evidence_from_plain(plain: t.Mapping[str, t.Any]) -> Evidence:
    return t.cast(Evidence, from_plain(Evidence, plain, "evidence"))


def from_plain(kind: t.Any, value: t.Any, where: str = "value") -> t.Any:
    """A value of the type ``kind``: a dataclass of ours, a container from typing, or a simple type."""
    if kind is t.Any:
        return value
    origin, parts = t.get_origin(kind) or kind, t.get_args(kind)
    if origin is t.Union:
        return _optional(parts, value, where)
    if dataclasses.is_dataclass(origin):
        return _object(origin, parts, value, where)
    if origin is tuple:
        return _tuple(parts, value, where)
    if origin is dict:
        _expect(dict, value, where)
        return {str(key): from_plain(parts[1], item, "%s[%r]" % (where, key)) for key, item in value.items()}
    if origin in _SIMPLE:
        return _simple(origin, value, where)
    if isinstance(origin, t.TypeVar):
        return value
    raise TypeError("%s: no way is known to read the type %s" % (where, kind))


def _optional(parts: t.Sequence[t.Any], value: t.Any, where: str) -> t.Any:
    if value is None:
        return None
    return from_plain(next(part for part in parts if part is not type(None)), value, where)


def _object(kind: t.Any, parts: t.Sequence[t.Any], value: t.Any, where: str) -> t.Any:
    _expect(dict, value, where)
    types = _fields(kind)
    unknown = sorted(str(name) for name in value if name not in types)
    if unknown:
        raise ValueError("%s: %s has no field %s" % (where, kind.__name__, ", ".join(unknown)))
    arguments = {}
    for name, item in value.items():
        # The one generic type is Reading[T], whose value is an optional T.
        field = t.Optional[parts[0]] if parts and name == "value" else types[name]
        arguments[name] = from_plain(field, item, "%s.%s" % (where, name))
    try:
        return kind(**arguments)
    except TypeError as error:
        raise ValueError("%s: %s" % (where, error)) from error


@functools.cache
def _fields(kind: t.Any) -> t.Dict[str, t.Any]:
    hints = t.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _tuple(parts: t.Sequence[t.Any], value: t.Any, where: str) -> t.Tuple[t.Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueError("%s: a list is expected, not %r" % (where, value))
    if len(parts) == 2 and parts[1] is Ellipsis:
        parts = [parts[0]] * len(value)
    if len(parts) != len(value):
        raise ValueError("%s: %d items are expected, not %d" % (where, len(parts), len(value)))
    return tuple(from_plain(part, item, "%s[%d]" % (where, i)) for i, (part, item) in enumerate(zip(parts, value)))


def _simple(kind: t.Any, value: t.Any, where: str) -> t.Any:
    # JSON has one kind of number: 1.0 may come back as 1.
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        # Text may be of a subclass, as it is when it has come through a template.
        if kind is str and isinstance(value, str):
            return str(value)
        raise ValueError("%s: %s is expected, not %r" % (where, kind.__name__, value))
    return value


def _expect(kind: type, value: t.Any, where: str) -> None:
    if not isinstance(value, kind):
        raise ValueError("%s: an object is expected, not %r" % (where, value))
