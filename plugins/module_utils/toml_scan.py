# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TOML 1.0 as spans: what a file says, and where each part of it stands. Pure.

Python has a TOML reader since 3.11 and no writer, and nodes may have 3.9. What is here reads the whole language, since
a file that is not understood cannot be edited; what may not stand together is refused as a TOML reader refuses it.
"""

from __future__ import annotations

import codecs
import dataclasses
import json
import re
import typing as t

from .trees import MAX_DEPTH, Path

_BOM = "\ufeff"
_BLANK = re.compile(r"[ \t]*")
_NEWLINE = re.compile(r"\r?\n")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_COMMENT = re.compile(r"#[^\x00-\x08\x0a-\x1f\x7f]*")
_BASIC = re.compile(r'"((?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[btnfr"\\]|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8})*)"')
_LITERAL = re.compile(r"'([^'\x00-\x08\x0a-\x1f\x7f]*)'")
_LONG_BASIC = re.compile(
    r'"""(?:\r?\n)?((?:"{0,2}(?:[^"\\\x00-\x08\x0b-\x1f\x7f]|\r\n|\\[btnfr"\\]|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}'
    r'|\\[ \t]*\r?\n))*"{0,2})"""'
)
_LONG_LITERAL = re.compile(r"'''(?:\r?\n)?((?:'{0,2}(?:[^'\x00-\x08\x0b-\x1f\x7f]|\r\n))*'{0,2})'''")
_ESCAPE = re.compile(r"\\(?:([btnfr\"\\])|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[ \t]*\r?\n[ \t\r\n]*)")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}

_DATE = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?"
_MOMENT = re.compile(r"%s(?:[Tt ]%s(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?)?|%s" % (_DATE, _TIME, _TIME))
_INTEGER = re.compile(r"[+-]?(?:0|[1-9](?:_?[0-9])*)")
_OTHER_BASE = re.compile(r"0x[0-9a-fA-F](?:_?[0-9a-fA-F])*|0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*")
_FLOAT = re.compile(
    r"[+-]?(?:inf|nan|(?:0|[1-9](?:_?[0-9])*)(?:\.[0-9](?:_?[0-9])*(?:[eE][+-]?[0-9](?:_?[0-9])*)?"
    r"|[eE][+-]?[0-9](?:_?[0-9])*))"
)
_WORD = re.compile(r"[^\s,\]}#=]+")


class TomlError(ValueError):
    """The text is not TOML, or cannot take a setting. The message names place, value and fix."""


class Moment(str):
    """A date or a time as it is written: nothing here compares them in any other way."""


@dataclasses.dataclass(frozen=True)
class Value:
    """One value and the span of text that spells it."""

    kind: str  # string | number | boolean | moment | list | table
    start: int
    end: int
    plain: t.Any = None  # of an inline table: see ``members``
    members: t.Tuple[Member, ...] = ()


@dataclasses.dataclass(frozen=True)
class Member:
    """One ``key = value``: ``keys`` are the parts of a dotted key, ``start`` to ``key_end`` the span that spells it."""

    keys: Path
    start: int
    key_end: int
    value: Value


@dataclasses.dataclass
class Table:
    """A table of the document and all that is in it, wherever that is written.

    ``kind``: ``root``, ``header`` ([a] or an item of [[a]]), ``implied`` (the a of [a.b]) or ``dotted`` (the a of
    a.b = 1). Of a dotted one, ``last`` is the last key that leads into it, and ``parts`` how much of that key does.
    """

    kind: str
    at: int
    last: t.Optional[Member] = None
    parts: int = 0
    children: t.Dict[str, t.Any] = dataclasses.field(default_factory=dict)  # Table | Tables | Member


@dataclasses.dataclass
class Tables:
    """A list of tables: each [[a]] adds one."""

    at: int
    items: t.List[Table] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Section:
    """A stretch of the text: the header's line, and what follows it up to the next. The first has no header."""

    path: Path
    table: Table
    start: int
    body: int  # where the line after the header's begins
    end: int = 0
    members: t.List[Member] = dataclasses.field(default_factory=list)
    comments: t.List[t.Tuple[int, int]] = dataclasses.field(default_factory=list)  # that have a line of their own


@dataclasses.dataclass(frozen=True)
class Document:
    text: str
    root: Table
    sections: t.Tuple[Section, ...]


def decode(raw: bytes) -> str:
    """The file's text; a byte order mark of UTF-8 stays in it."""
    for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        if raw.startswith(mark):
            raise TomlError("the file is UTF-16, and TOML is UTF-8; save it as UTF-8")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TomlError(
            "byte %d is not UTF-8 (%s); save the file as UTF-8" % (error.start + 1, error.reason)
        ) from error


def scan(text: str) -> Document:
    return _Scanner(text).document()


def plain(document: Document) -> t.Dict[str, t.Any]:
    """What the document says, as plain data."""
    return _plain_table(document.root)


def beginning(text: str) -> int:
    """Where the text begins, behind a byte order mark."""
    return len(_BOM) if text.startswith(_BOM) else 0


def spelled_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False).replace("\x7f", "\\u007f")


def dotted(path: t.Iterable[str]) -> str:
    return ".".join(spelled_key(key) for key in path)


def error_at(text: str, at: int, what: str) -> TomlError:
    before = text[beginning(text) : at]
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    return TomlError("line %d column %d: %s" % (line, column, what))


def _plain_table(table: Table) -> t.Dict[str, t.Any]:
    found: t.Dict[str, t.Any] = {}
    for key, child in table.children.items():
        if isinstance(child, Table):
            found[key] = _plain_table(child)
        elif isinstance(child, Tables):
            found[key] = [_plain_table(item) for item in child.items]
        else:
            found[key] = plain_value(child.value)
    return found


def plain_value(value: Value) -> t.Any:
    if value.kind != "table":
        return value.plain
    found: t.Dict[str, t.Any] = {}
    for member in value.members:
        inner = found
        for key in member.keys[:-1]:
            inner = inner.setdefault(key, {})
        inner[member.keys[-1]] = plain_value(member.value)
    return found


class _Scanner:
    """Reads the text once, from the front."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = beginning(text)

    def document(self) -> Document:
        root = Table("root", self._at)
        sections = [Section((), root, self._at, self._at)]
        while self._at < len(self._text):
            self._blank()
            if self._text.startswith("[", self._at):
                start = self._line_start()
                sections[-1].end = start
                path, table = self._header(root)
                sections.append(Section(path, table, start, self._at))
            elif self._text.startswith("#", self._at):
                begins = self._at
                self._end_of_line()
                sections[-1].comments.append((begins, self._at))
            elif self._at < len(self._text) and not _NEWLINE.match(self._text, self._at):
                member = self._member(0)
                _define(self._text, sections[-1].table, member)
                sections[-1].members.append(member)
                self._end_of_line()
            else:
                self._end_of_line()
        sections[-1].end = len(self._text)
        return Document(self._text, root, tuple(sections))

    # --- the parts of a line ---

    def _blank(self) -> None:
        match = _BLANK.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _line_start(self) -> int:
        return max(self._text.rfind("\n", 0, self._at) + 1, beginning(self._text))

    def _end_of_line(self) -> None:
        """White space, a comment, and the end of the line or of the file: nothing else."""
        self._blank()
        comment = _COMMENT.match(self._text, self._at)
        if comment:
            self._at = comment.end()
        newline = _NEWLINE.match(self._text, self._at)
        if newline:
            self._at = newline.end()
        elif self._at < len(self._text):
            if comment:
                raise self._error("this character may not stand in a comment; remove it")
            raise self._expected("the end of the line")

    def _header(self, root: Table) -> t.Tuple[Path, Table]:
        start, listed = self._at, self._text.startswith("[[", self._at)
        self._at += 2 if listed else 1
        self._blank()
        path, _key_start, _key_end = self._key()
        self._blank()
        closing = "]]" if listed else "]"
        if not self._text.startswith(closing, self._at):
            raise self._expected('"%s" after the name of the table' % closing)
        self._at += len(closing)
        self._end_of_line()
        return path, _open(self._text, root, path, start, listed)

    def _member(self, depth: int) -> Member:
        path, start, end = self._key()
        self._blank()
        if not self._text.startswith("=", self._at):
            raise self._expected('"=" after the key %s' % dotted(path))
        self._at += 1
        self._blank()
        return Member(path, start, end, self._value(depth))

    def _key(self) -> t.Tuple[Path, int, int]:
        start = self._at
        keys = [self._simple_key()]
        while True:
            end = self._at
            self._blank()
            if not self._text.startswith(".", self._at):
                self._at = end
                return tuple(keys), start, end
            self._at += 1
            self._blank()
            keys.append(self._simple_key())

    def _simple_key(self) -> str:
        bare = _BARE_KEY.match(self._text, self._at)
        if bare:
            self._at = bare.end()
            return bare.group()
        if self._text.startswith(('"""', "'''"), self._at):
            raise self._error("a key cannot be text of several lines; write it with one quote")
        for pattern in (_BASIC, _LITERAL):
            quoted = pattern.match(self._text, self._at)
            if quoted:
                key = self._unescaped(quoted.group(1)) if pattern is _BASIC else quoted.group(1)
                self._at = quoted.end()
                return key
        raise self._expected("a key")

    # --- values ---

    def _value(self, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise self._error("values are nested deeper than %d levels" % MAX_DEPTH)
        first = self._text[self._at : self._at + 1]
        if first == "[":
            return self._list(depth)
        if first == "{":
            return self._inline_table(depth)
        if first and first in "\"'":
            return self._string()
        return self._scalar()

    def _string(self) -> Value:
        start, first = self._at, self._text[self._at]
        long = self._text.startswith(first * 3, start)
        basic = first == '"'
        pattern = (_LONG_BASIC if basic else _LONG_LITERAL) if long else (_BASIC if basic else _LITERAL)
        match = pattern.match(self._text, start)
        if match is None:
            where = "" if long else " on its line"
            raise self._error("this text has no closing quote%s, or a bad escape or control character in it" % where)
        text = self._unescaped(match.group(1)) if basic else match.group(1)
        self._at = match.end()
        return Value("string", start, self._at, text.replace("\r\n", "\n") if long else text)

    def _unescaped(self, text: str) -> str:
        def meaning(match: t.Match[str]) -> str:
            short, four, eight = match.groups()
            if short:
                return _ESCAPES[short]
            if not (four or eight):
                return ""  # a backslash at the end of a line: the text goes on with the next word
            number = int(four or eight, 16)
            if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
                raise self._error("the escape %s in this text is no character" % match.group())
            return chr(number)

        return _ESCAPE.sub(meaning, text)

    def _scalar(self) -> Value:
        start = self._at
        moment = _MOMENT.match(self._text, start)
        word = _WORD.match(self._text, start)
        spelled = moment.group() if moment else word.group() if word else ""
        self._at = start + len(spelled)
        after = self._text[self._at : self._at + 1]
        if moment and (not after or after in " \t\r\n,]}#"):
            return Value("moment", start, self._at, Moment(spelled))
        spelled = word.group() if word else ""
        self._at = start + len(spelled)
        if spelled in ("true", "false"):
            return Value("boolean", start, self._at, spelled == "true")
        if _INTEGER.fullmatch(spelled):
            return Value("number", start, self._at, _integer(spelled))
        if _OTHER_BASE.fullmatch(spelled):
            return Value("number", start, self._at, int(spelled.replace("_", ""), 0))
        if _FLOAT.fullmatch(spelled):
            return Value("number", start, self._at, float(spelled.replace("_", "")))
        self._at = start
        raise self._expected("a value (text stands in quotes)")

    def _list(self, depth: int) -> Value:
        start, found = self._at, []
        self._at += 1
        self._between()
        while not self._text.startswith("]", self._at):
            found.append(plain_value(self._value(depth + 1)))
            self._between()
            if self._text.startswith(",", self._at):
                self._at += 1
                self._between()
            elif not self._text.startswith("]", self._at):
                raise self._expected('a comma or "]"')
        self._at += 1
        return Value("list", start, self._at, found)

    def _between(self) -> None:
        """White space, lines and comments between the items of a list."""
        while True:
            self._blank()
            if self._at >= len(self._text):
                return
            if self._text.startswith("#", self._at) or _NEWLINE.match(self._text, self._at):
                self._end_of_line()
            else:
                return

    def _inline_table(self, depth: int) -> Value:
        start, members, inside = self._at, [], Table("header", self._at)
        self._at += 1
        self._blank()
        if not self._text.startswith("}", self._at):
            while True:
                member = self._member(depth + 1)
                _define(self._text, inside, member)
                members.append(member)
                self._blank()
                if not self._text.startswith(",", self._at):
                    break
                self._at += 1
                self._blank()
            if not self._text.startswith("}", self._at):
                raise self._expected('a comma or "}" (a table in braces stands on one line)')
        self._at += 1
        return Value("table", start, self._at, members=tuple(members))

    # --- errors ---

    def _error(self, what: str) -> TomlError:
        return error_at(self._text, self._at, what)

    def _expected(self, wanted: str) -> TomlError:
        if self._at >= len(self._text):
            return self._error("the file ends where %s is expected" % wanted)
        there = re.split(r"[\r\n]", self._text[self._at : self._at + 12])[0]
        return self._error("%s is expected, not %s" % (wanted, json.dumps(there) if there else "the end of the line"))


def _integer(spelled: str) -> t.Any:
    # int() refuses more than 4300 digits; a number like that equals none of ours, so its spelling can stand for it.
    try:
        return int(spelled.replace("_", ""))
    except ValueError:
        return spelled


# --- what may stand beside each other -----------------------------------------------------------------------------


def _open(text: str, root: Table, path: Path, at: int, listed: bool) -> Table:
    """The table that a header begins."""
    child: t.Any
    table = root
    for depth, key in enumerate(path[:-1]):
        child = table.children.setdefault(key, Table("implied", at))
        if isinstance(child, Tables):
            table = child.items[-1]
        elif isinstance(child, Table):
            table = child
        else:
            raise _no_table(text, at, path[: depth + 1], child)
    child = table.children.get(path[-1])
    if listed:
        if child is None:
            child = table.children[path[-1]] = Tables(at)
        if not isinstance(child, Tables):
            raise _twice(text, at, "the list of tables", path, child)
        child.items.append(Table("header", at))
        return child.items[-1]
    if child is None:
        child = table.children[path[-1]] = Table("header", at)
    elif isinstance(child, Table) and child.kind == "implied":
        child.kind, child.at = "header", at
    else:
        raise _twice(text, at, "the table", path, child)
    begun: Table = child
    return begun


def _define(text: str, table: Table, member: Member) -> None:
    for depth, key in enumerate(member.keys[:-1]):
        child = table.children.setdefault(key, Table("dotted", member.start))
        if not isinstance(child, Table):
            raise _no_table(text, member.start, member.keys[: depth + 1], child)
        if child.kind not in ("dotted", "implied"):
            raise _twice(text, member.start, "the table", member.keys[: depth + 1], child)
        child.kind, child.last, child.parts = "dotted", member, depth + 1
        table = child
    child = table.children.get(member.keys[-1])
    if child is not None:
        raise _twice(text, member.start, "the key", member.keys, child)
    table.children[member.keys[-1]] = member


def _position(child: t.Any) -> int:
    return int(child.start if isinstance(child, Member) else child.at)


def _twice(text: str, at: int, what: str, path: Path, child: t.Any) -> TomlError:
    before = text[beginning(text) : _position(child)]
    return error_at(
        text,
        at,
        "%s %s is given twice, first on line %d; keep one of them" % (what, dotted(path), before.count("\n") + 1),
    )


def _no_table(text: str, at: int, path: Path, child: t.Any) -> TomlError:
    before = text[beginning(text) : _position(child)]
    return error_at(
        text,
        at,
        "%s cannot be added to here: it got its value on line %d; put all of it in one place"
        % (dotted(path), before.count("\n") + 1),
    )
