# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Put settings into a TOML file and leave every other byte as its owner wrote it. Pure: text in, text out.

Only the spans of missing or different values are edited. A missing key goes where a reader would look for it: below the
comment that shows it switched off, else behind the last key of its table, else into a table of its own at the end.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from . import trees
from .toml_scan import (
    Document,
    Member,
    Section,
    Table,
    Tables,
    TomlError,
    Value,
    beginning,
    decode,
    dotted,
    error_at,
    plain,
    scan,
    spelled_key,
)
from .trees import Path

_ESCAPED = re.compile(r'[\x00-\x1f\x7f"\\]')
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_SEPARATOR = re.compile(r"[ \t]*=[ \t]*")
_WHITE = re.compile(r"[ \t]*")
_LONE_COMMENT = re.compile(r"(?:[ \t]*#[^\n]*\n)+[ \t]*\r?\n")
_KINDS = {
    "string": "text",
    "number": "a number",
    "boolean": "true or false",
    "list": "a list",
    "moment": "a date or time",
}


@dataclasses.dataclass(frozen=True)
class _Edit:
    start: int
    end: int
    text: str


def load(raw: t.Optional[bytes]) -> t.Dict[str, t.Any]:
    """What the file says, as plain data. No file and an empty one say nothing: ``{}``."""
    return plain(scan(decode(raw or b"")))


def merge(raw: t.Optional[bytes], settings: t.Mapping[str, t.Any]) -> bytes:
    """The file's bytes with ``settings`` in it: the very same bytes when they are in it already."""
    check_settings(settings)
    text = decode(raw or b"")
    editor = _Editor(scan(text))
    for path, wanted in _leaves(settings):
        editor.put(path, wanted)
    edits = editor.edits()
    if not edits:
        return raw or b""
    for edit in reversed(edits):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text.encode("utf-8")


def check_settings(settings: t.Any) -> None:
    """Refuse settings that TOML cannot carry."""
    try:
        trees.check_carried(settings, "TOML", has_null=False)
    except trees.SettingError as error:
        raise TomlError(str(error)) from error


def _leaves(settings: t.Mapping[str, t.Any], path: Path = ()) -> t.Iterator[t.Tuple[Path, t.Any]]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


class _Editor:
    """Collects the edits of one document: no two of them touch."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._text = document.text
        self._newline = "\r\n" if "\r\n" in document.text else "\n"
        self._replaced: t.List[_Edit] = []
        self._lines: t.Dict[int, t.List[str]] = {}  # new lines, by the place where they go in
        self._braces: t.Dict[int, t.Tuple[Value, t.List[str]]] = {}  # new members of tables in braces
        self._tables: t.Dict[Path, t.List[str]] = {}  # lines of tables that are new

    def put(self, path: Path, wanted: t.Any) -> None:
        place: t.Any = self._document.root
        there: Path = ()
        for depth, key in enumerate(path):
            if isinstance(place, Tables):
                break
            child = place.children.get(key)
            if child is None:
                self._add(path, depth, place, wanted)
                return
            if isinstance(child, Member):
                self._into_value(child.value, path, depth + 1, wanted)
                return
            place, there = child, path[: depth + 1]
        what = "a list of tables" if isinstance(place, Tables) else "a table"
        self._refuse(place.at, there, what, path, wanted)

    def edits(self) -> t.List[_Edit]:
        """All of them, in the order of the text."""
        edits = list(self._replaced)
        edits += [_Edit(at, at, self._joined(at, lines)) for at, lines in self._lines.items()]
        edits += [_in_braces(value, members) for value, members in self._braces.values()]
        edits.sort(key=lambda edit: edit.start)
        if self._tables:
            edits.append(self._at_the_end(edits[-1] if edits else None))
        return edits

    # --- a value that is there ---

    def _into_value(self, value: Value, path: Path, depth: int, wanted: t.Any) -> None:
        """``value`` is the one under ``path[:depth]``."""
        rest = path[depth:]
        if not rest and value.kind != "table":
            if not trees.same(value.plain, wanted):
                self._replaced.append(_Edit(value.start, value.end, _spelled(wanted)))
            return
        if value.kind != "table":
            words = "%s is %s, but a table is needed there for %s; remove the key"
            raise error_at(self._text, value.start, words % (dotted(path[:depth]), _KINDS[value.kind], dotted(rest)))
        for member in value.members:
            if rest[: len(member.keys)] == member.keys:
                self._into_value(member.value, path, depth + len(member.keys), wanted)
                return
        if any(member.keys[: len(rest)] == rest for member in value.members) or not rest:
            self._refuse(value.start, path, "a table", path, wanted)
        self._braces.setdefault(value.start, (value, []))[1].append("%s = %s" % (dotted(rest), _spelled(wanted)))

    # --- a key that is not there ---

    def _add(self, path: Path, depth: int, place: Table, wanted: t.Any) -> None:
        """``place`` is the table under ``path[:depth]``, and has no ``path[depth]``."""
        if place.last is not None:  # a header for it is not allowed; keys beside its other keys are
            keys = place.last.keys[: place.parts] + path[depth:]
            self._line(self._behind(place.last), keys, wanted, like=place.last)
        elif depth == len(path) - 1 and place.kind in ("root", "header"):
            self._into_section(next(one for one in self._document.sections if one.table is place), path[-1], wanted)
        else:
            line = "%s = %s" % (spelled_key(path[-1]), _spelled(wanted))
            self._tables.setdefault(path[:-1], []).append(line)

    def _into_section(self, section: Section, key: str, wanted: t.Any) -> None:
        shown = re.compile(r"#[ \t]*%s[ \t]*=" % re.escape(spelled_key(key)))
        switched_off = next((one for one in section.comments if shown.match(self._text, one[0])), None)
        if switched_off is not None:
            self._line(switched_off[1], (key,), wanted, indent=self._indent(switched_off[0]))
        elif section.members:
            self._line(self._behind(section.members[-1]), (key,), wanted, like=section.members[-1])
        elif section.path:
            self._line(section.body, (key,), wanted, indent=self._indent(section.start))
        else:
            self._line(self._top(section), (key,), wanted)

    def _top(self, section: Section) -> int:
        """In front of the first table, behind a comment that stands alone there: it is about the whole file."""
        match = _LONE_COMMENT.match(self._text, section.start)
        return match.end() if match else section.start

    # --- lines ---

    def _line(self, at: int, keys: Path, wanted: t.Any, like: t.Optional[Member] = None, indent: str = "") -> None:
        separator = " = "
        if like is not None:
            between = self._text[like.key_end : like.value.start]
            separator = between if _SEPARATOR.fullmatch(between) else separator
            indent = self._indent(like.start)
        self._lines.setdefault(at, []).append(indent + dotted(keys) + separator + _spelled(wanted))

    def _joined(self, at: int, lines: t.List[str]) -> str:
        joined = self._newline.join(lines)
        if at == len(self._text) and self._said() and not self._text.endswith("\n"):
            return self._newline + joined  # a file whose last line has no end goes on having none
        first = self._document.sections[0]
        alone = not first.members and at == self._top(first) and self._text.startswith("[", at)
        return joined + self._newline * (2 if alone else 1)

    def _at_the_end(self, last: t.Optional[_Edit]) -> _Edit:
        end = len(self._text)
        before = self._said() + (last.text if last and last.start == end else "")
        parts: t.List[str] = []
        for path, lines in self._tables.items():
            gap = self._newline if parts or (before.strip() and not before.endswith(self._newline * 2)) else ""
            parts.append(gap + self._newline.join(["[%s]" % dotted(path), *lines, ""]))
        return _Edit(end, end, (self._newline if before and not before.endswith("\n") else "") + "".join(parts))

    def _said(self) -> str:
        return self._text[beginning(self._text) :]

    def _behind(self, member: Member) -> int:
        """Where the line after the member's begins."""
        newline = self._text.find("\n", member.value.end)
        return len(self._text) if newline < 0 else newline + 1

    def _indent(self, at: int) -> str:
        """The white space in front of the line on which ``at`` is."""
        start = max(self._text.rfind("\n", 0, at) + 1, beginning(self._text))
        match = _WHITE.match(self._text, start)
        return match.group() if match else ""

    def _refuse(self, at: int, there: Path, what: str, path: Path, wanted: t.Any) -> t.NoReturn:
        words = "%s is %s, but %s = %s is wanted; remove it or the setting"
        raise error_at(self._text, at, words % (dotted(there), what, dotted(path), _spelled(wanted)))


def _in_braces(value: Value, members: t.List[str]) -> _Edit:
    if value.members:
        end = value.members[-1].value.end
        return _Edit(end, end, "".join(", " + member for member in members))
    return _Edit(value.start, value.end, "{ %s }" % ", ".join(members))


def _spelled(value: t.Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(_spelled(item) for item in value)
    if isinstance(value, dict):
        inside = ", ".join("%s = %s" % (spelled_key(key), _spelled(item)) for key, item in value.items())
        return "{ %s }" % inside if inside else "{}"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        return str(value)
    return '"%s"' % _ESCAPED.sub(lambda match: _SHORT.get(match.group(), "\\u%04x" % ord(match.group())), value)
