# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Put settings into Docker's daemon.json and leave every other byte as its owner wrote it. Pure: text in, text out.

``json.loads`` and ``json.dumps`` lose digits of large numbers, escapes, indentation and doubled keys. So the text is
scanned into nodes that remember where they stand, and only the spans of missing or different values are edited, in
the file's own indentation.
"""

from __future__ import annotations

import codecs
import dataclasses
import json
import re
import typing as t

from . import trees

_SPACES = (" ", "\t", "\r", "\n")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_BLANK_LINES = re.compile(r"(\r?\n)(?:[ \t]*\r?\n)+")
_WORDS: t.Dict[str, t.Any] = {"true": True, "false": False, "null": None}
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DEFAULT_INDENT = "  "


class DaemonJsonError(ValueError):
    """daemon.json cannot be understood, or cannot take the settings. The message names place, value and fix."""


@dataclasses.dataclass(frozen=True)
class _Node:
    """One value and the span of text that spells it."""

    kind: str  # object | array | string | number | true/false/null
    start: int
    end: int
    value: t.Any = None  # plain value of everything but objects
    members: t.Tuple[_Member, ...] = ()

    def plain(self) -> t.Any:
        if self.kind == "object":
            return {m.key: m.node.plain() for m in self.members}
        return self.value


@dataclasses.dataclass(frozen=True)
class _Member:
    key: str
    key_start: int
    key_end: int
    node: _Node


@dataclasses.dataclass(frozen=True)
class _Edit:
    start: int
    end: int
    text: str


def decode(raw: bytes) -> str:
    """The file's text. A byte order mark is honoured and dropped, as dockerd does it."""
    encoding = "utf-8"
    for bom, name in _BOMS:
        if raw.startswith(bom):
            raw, encoding = raw[len(bom) :], name
            break
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise DaemonJsonError(
            "byte %d is not %s (%s); save the file as UTF-8" % (error.start + 1, encoding.upper(), error.reason)
        ) from error


def without_mark(raw: bytes) -> bytes:
    """The same text without a byte order mark, which engines before 23 do not read."""
    return decode(raw).encode("utf-8") if raw.startswith(tuple(bom for bom, _name in _BOMS)) else raw


def load(raw: t.Optional[bytes]) -> t.Dict[str, t.Any]:
    """What the file says, as plain data. No file, an empty file and a blank file say nothing: ``{}``."""
    text = decode(raw or b"")
    return {} if _is_blank(text) else t.cast("t.Dict[str, t.Any]", _scan(text).plain())


def merge(raw: t.Optional[bytes], settings: t.Mapping[str, t.Any]) -> bytes:
    """The file's bytes with ``settings`` in it: the very same bytes when they are in it already."""
    check_settings(settings)
    text = decode(raw or b"")
    if _is_blank(text):
        if not settings:
            return raw or b""
        return (_render(settings, "\n", "", _DEFAULT_INDENT) + "\n").encode("utf-8")
    edits: t.List[_Edit] = []
    root = _scan(text)
    _merge_object(text, root, settings, (), _file_style(text, root), edits)
    if not edits:
        return raw or b""
    for edit in sorted(edits, key=lambda e: e.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text.encode("utf-8")


def place(raw: bytes, path: t.Sequence[str]) -> str:
    """``line 2 column 11``: where the value at the path stands in the file; "" when it is not there."""
    text = decode(raw)
    if _is_blank(text):
        return ""
    node = _scan(text)
    for key in path:
        member = {m.key: m for m in node.members}.get(key)
        if member is None:
            return ""
        node = member.node
    return "line %d column %d" % _place(text, node.start)


def check_settings(settings: t.Any) -> None:
    """Refuse settings that JSON cannot carry."""
    try:
        trees.check_carried(settings, "JSON", has_null=True)
    except trees.SettingError as error:
        raise DaemonJsonError(str(error)) from error


# Scanning


def _is_blank(text: str) -> bool:
    return not text.strip()


def _scan(text: str) -> _Node:
    root = _value(text, _skip(text, 0), 0)
    rest = _skip(text, root.end)
    if rest != len(text):
        raise _at(text, rest, "there is text after the end of the configuration; remove it")
    if root.kind != "object":
        raise _at(text, root.start, "the configuration is %s; it must be an object in braces" % _a(root))
    return root


def _skip(text: str, at: int) -> int:
    """Where the next thing that is not white space stands; the end of the text when there is none."""
    while text[at : at + 1] in _SPACES:
        at += 1
    return at


def _value(text: str, at: int, depth: int) -> _Node:
    if depth > trees.MAX_DEPTH:
        raise _at(text, at, "values are nested deeper than %d levels" % trees.MAX_DEPTH)
    first = text[at : at + 1]
    if first == "{":
        return _object(text, at, depth)
    if first == "[":
        return _array(text, at, depth)
    if first == '"':
        value, end = _string(text, at)
        return _Node("string", at, end, value)
    for word, plain in _WORDS.items():
        if text.startswith(word, at):
            return _Node(word, at, at + len(word), plain)
    number = _NUMBER.match(text, at)
    if number:
        spelled_as_integer = number.group(1) is None and number.group(2) is None
        return _Node("number", at, number.end(), _number(number.group(), spelled_as_integer))
    raise _unexpected(text, at, "a value")


def _number(spelling: str, integer: bool) -> t.Any:
    # int() refuses more than 4300 digits; a number like that equals none of ours, so its spelling can stand for it.
    try:
        return int(spelling) if integer else float(spelling)
    except ValueError:
        return spelling


def _object(text: str, start: int, depth: int) -> _Node:
    members: t.List[_Member] = []
    seen: t.Dict[str, int] = {}
    at = _skip(text, start + 1)
    if text.startswith("}", at):
        return _Node("object", start, at + 1)
    while True:
        if not text.startswith('"', at):
            raise _unexpected(text, at, "a key in double quotes")
        key, key_end = _string(text, at)
        if key in seen:
            first = "line %d column %d" % _place(text, seen[key])
            raise _at(text, at, "the key %s is given twice, first on %s; keep one of them" % (json.dumps(key), first))
        seen[key] = at
        colon = _skip(text, key_end)
        if not text.startswith(":", colon):
            raise _unexpected(text, colon, "a colon after the key %s" % json.dumps(key))
        node = _value(text, _skip(text, colon + 1), depth + 1)
        members.append(_Member(key, at, key_end, node))
        at = _skip(text, node.end)
        if text.startswith("}", at):
            return _Node("object", start, at + 1, members=tuple(members))
        at = _next_item(text, at, "}")


def _array(text: str, start: int, depth: int) -> _Node:
    values: t.List[t.Any] = []
    at = _skip(text, start + 1)
    if text.startswith("]", at):
        return _Node("array", start, at + 1, values)
    while True:
        node = _value(text, at, depth + 1)
        values.append(node.plain())
        at = _skip(text, node.end)
        if text.startswith("]", at):
            return _Node("array", start, at + 1, values)
        at = _next_item(text, at, "]")


def _next_item(text: str, at: int, closer: str) -> int:
    if not text.startswith(",", at):
        raise _unexpected(text, at, 'a comma or "%s"' % closer)
    following = _skip(text, at + 1)
    if text.startswith(closer, following):
        raise _at(text, at, "there is a comma before the closing %s; remove it" % closer)
    return following


def _string(text: str, at: int) -> t.Tuple[str, int]:
    match = _STRING.match(text, at)
    if match is None:
        raise _at(text, at, "this text has no closing quote on its line, or a bad escape or control character in it")
    return json.loads(match.group()), match.end()


def _unexpected(text: str, at: int, wanted: str) -> DaemonJsonError:
    if at >= len(text):
        return _at(text, at, "the file ends where %s is expected" % wanted)
    if text.startswith(("//", "/*", "#"), at):
        return _at(text, at, "there is a comment, which JSON does not have; remove it")
    return _at(text, at, "%s is expected, not %s" % (wanted, json.dumps(text[at : at + 12].split("\n")[0])))


def _at(text: str, at: int, what: str) -> DaemonJsonError:
    return DaemonJsonError("line %d column %d: %s" % (_place(text, at) + (what,)))


def _place(text: str, at: int) -> t.Tuple[int, int]:
    before = text[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1


def _a(node: _Node) -> str:
    return {"array": "a list", "string": "text", "number": "a number"}.get(node.kind, node.kind)


# Editing


@dataclasses.dataclass(frozen=True)
class _Style:
    """How the members of one object are laid out. ``newline`` is "" for an object on one line."""

    newline: str
    indent: str  # before a member, after the newline
    unit: str  # one more level
    colon: str


def _file_style(text: str, root: _Node) -> _Style:
    newline = "\r\n" if "\r\n" in text else "\n"
    return _own_style(text, root, _Style(newline, "", _DEFAULT_INDENT, ": "))


def _own_style(text: str, node: _Node, outer: _Style) -> _Style:
    """The object's own layout where its members show one, else that of the object around it, a level deeper."""
    if not node.members:
        return outer
    first, last = node.members[0], node.members[-1]
    colon = text[last.key_end : last.node.start]
    colon = ": " if "\n" in colon else colon
    gap = text[node.start + 1 : first.key_start]
    if "\n" not in gap:
        return _Style("", "", outer.unit, colon)
    newline = "\r\n" if "\r\n" in gap else "\n"
    indent = gap.rpartition("\n")[2]
    closing = text[last.node.end : node.end - 1].rpartition("\n")[2]
    unit = indent[len(closing) :] if indent.startswith(closing) and indent != closing else outer.unit
    return _Style(newline, indent, unit, colon)


def _merge_object(
    text: str,
    node: _Node,
    settings: t.Mapping[str, t.Any],
    path: t.Tuple[str, ...],
    style: _Style,
    edits: t.List[_Edit],
) -> None:
    present = {m.key: m for m in node.members}
    missing: t.Dict[str, t.Any] = {}
    for key, wanted in settings.items():
        member = present.get(key)
        if member is None:
            missing[key] = wanted
        elif isinstance(wanted, dict):
            _need_object(text, member, path + (key,), wanted)
            inner = _own_style(text, member.node, _deeper(style))
            _merge_object(text, member.node, wanted, path + (key,), inner, edits)
        elif member.node.kind == "object":
            raise _at(
                text,
                member.node.start,
                "%s is an object, but %s is wanted there; remove it or the setting"
                % (_dotted(path + (key,)), json.dumps(wanted)),
            )
        elif not trees.same(member.node.value, wanted):
            spelled = _render(wanted, style.newline, style.indent, style.unit, style.colon)
            edits.append(_Edit(member.node.start, member.node.end, spelled))
    if missing:
        edits.append(_insertion(text, node, missing, style))


def _deeper(style: _Style) -> _Style:
    return dataclasses.replace(style, indent=style.indent + style.unit if style.newline else "")


def _need_object(text: str, member: _Member, path: t.Tuple[str, ...], wanted: t.Mapping[str, t.Any]) -> None:
    if member.node.kind != "object":
        raise _at(
            text,
            member.node.start,
            "%s is %s, but an object is needed there for %s; remove the key, or write it as {...}"
            % (_dotted(path), _a(member.node), ", ".join(json.dumps(k) for k in wanted) or "nothing"),
        )


def _insertion(text: str, node: _Node, missing: t.Mapping[str, t.Any], style: _Style) -> _Edit:
    if not node.members:
        body = _render(missing, style.newline, style.indent[: -len(style.unit)] or "", style.unit, style.colon)
        return _Edit(node.start, node.end, body)
    separator = _separator(text, node, style)
    spelled = "".join(
        separator + _quote(key) + style.colon + _render(value, style.newline, style.indent, style.unit, style.colon)
        for key, value in missing.items()
    )
    at = node.members[-1].node.end
    return _Edit(at, at, spelled)


def _separator(text: str, node: _Node, style: _Style) -> str:
    """What stands between two members: the owner's own way where there are two, blank lines left out."""
    if len(node.members) > 1:
        return _BLANK_LINES.sub(r"\1", text[node.members[-2].node.end : node.members[-1].key_start])
    if style.newline:
        return "," + style.newline + style.indent
    return ", " if style.colon.endswith(" ") else ","


def _render(value: t.Any, newline: str, indent: str, unit: str, colon: str = ": ") -> str:
    """JSON for ``value`` whose first line starts where the caller stands; ``indent`` is that of its last line."""
    if isinstance(value, dict) and value:
        inner = indent + unit if newline else ""
        space = "" if newline or not colon.endswith(" ") else " "
        parts = [_quote(k) + colon + _render(v, newline, inner, unit, colon) for k, v in value.items()]
        return "{" + newline + inner + ("," + newline + inner + space).join(parts) + newline + indent + "}"
    if isinstance(value, (list, tuple)):
        comma = ", " if colon.endswith(" ") else ","
        return "[" + comma.join(_render(v, "", "", unit, colon) for v in value) + "]"
    return _quote(value)


def _quote(value: t.Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _dotted(path: t.Tuple[str, ...]) -> str:
    return '"%s"' % ".".join(path)
