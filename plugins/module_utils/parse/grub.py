# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GRUB's generated configuration (grub.cfg) and its environment block: which entry is started when nobody chooses.

Only what decides that is followed: variables that are set, conditions on them, menus and the line that names the
kernel. It is followed as GRUB does it: a default by number, id or title, ``>`` between a submenu and its entry, and the
first entry where the default names none.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
import typing as t

from ..model import Reading

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_SETS = re.compile(r"(?:set\s+)?(\w+)=(.*)")
_CONDITION = re.compile(r"(?:if|elif)\s+(.+?)\s*;?\s*then")
_TEST = re.compile(r'\[\s+x?"?(\$\{?\w+\}?)"?(?:\s*(==?|!=)\s*x?"?([^"\]\s]*)"?)?\s+\]')
_KERNEL = re.compile(r"(?:^|/)(?:vmlinu[xz]|kernel|Image)-([^/]+)$")
_LOADS = ("linux", "linux16", "linuxefi", "module", "module2")
#: The generator's own correction of a title that names an entry of the submenu.
_CORRECTION = re.compile(r"""if \[ "x\$default" = ('(?:[^']|'\\'')*') \]; then default=('(?:[^']|'\\'')*'); fi;""")
_NUMBER = re.compile(r"\s*(0[xX][0-9a-fA-F]+|[0-9]+)")


@dataclasses.dataclass(frozen=True)
class Entry:
    """One entry of a menu. ``kernel`` is the release that it starts, None where its name does not tell.

    ``sure`` is False where a condition that is not understood decides whether it is in the menu.
    """

    title: str
    id: str = ""
    kernel: t.Optional[str] = None
    arguments: t.Tuple[str, ...] = ()
    entries: t.Optional[t.Tuple[Entry, ...]] = None  # of a submenu
    sure: bool = True


@dataclasses.dataclass(frozen=True)
class Menu:
    """``default`` as the configuration sets it, variables put in. ``bls``: further entries stand in files elsewhere."""

    entries: t.Tuple[Entry, ...]
    default: str
    bls: bool = False


def parse(text: str, environment: t.Mapping[str, str]) -> Reading[Menu]:
    """:arg environment: the variables that GRUB keeps, from ``environment_block``"""
    reader = _Reader(environment)
    for number, line in enumerate(text.splitlines(), 1):
        reader.line(line.strip())
        if reader.unclear:
            return Reading.unknown("grub.cfg line %d: %s" % (number, reader.unclear))
    return Reading(Menu(reader.whole(), reader.variables.get("default", ""), reader.bls))


def environment_block(text: str) -> t.Dict[str, str]:
    """The variables of a grubenv file; whatever else it holds is passed over, as GRUB does."""
    lines = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    return {name: value for name, equals, value in lines if equals and name}


def chosen(menu: Menu) -> Reading[t.Tuple[Entry, ...]]:
    """The entry that is started, with the submenus that lead to it; none where the menu is empty."""
    path: t.List[Entry] = []
    entries: t.Optional[t.Tuple[Entry, ...]] = menu.entries
    default = menu.default
    while entries:
        head, default = _split(default)
        index, counted = _index(entries, head)
        if index >= len(entries):
            index, counted = 0, True  # GRUB takes the first where the default names none
        unsure = next((entry for entry in entries[0 if counted else index : index + 1] if not entry.sure), None)
        if unsure is not None:
            why = "whether the entry %r is in GRUB's menu depends on a condition that is not understood"
            return Reading.unknown(why % unsure.title)
        path.append(entries[index])
        entries = entries[index].entries
    return Reading(tuple(path))


def default_for(menu: Menu, kernel: str) -> t.Optional[str]:
    """What GRUB_DEFAULT must be so that ``kernel`` is started, by ids, whose names hold the kernel's release.

    None where no entry of it has one. Entries of rescue and of another init are no candidates.
    """
    return next(_defaults_for(menu.entries, kernel), None)


def _defaults_for(entries: t.Iterable[Entry], kernel: str) -> t.Iterator[str]:
    for entry in entries:
        name = entry.id.replace(">", ">>")
        if entry.entries is not None and entry.id:
            yield from ("%s>%s" % (name, below) for below in _defaults_for(entry.entries, kernel))
        elif entry.kernel == kernel and kernel in entry.id and not re.search("-(?:recovery|init-[^-]+)-", entry.id):
            yield name


def _split(default: str) -> t.Tuple[str, str]:
    """The part before the first ``>`` and the part behind it; ``>>`` stands for the sign itself."""
    parts = re.match(r"((?:[^>]|>>)*)(?:>(.*))?", default, re.DOTALL)
    head, rest = parts.groups() if parts else (default, None)
    return head.replace(">>", ">"), rest or ""


def _index(entries: t.Sequence[Entry], name: str) -> t.Tuple[int, bool]:
    """Which entry ``name`` is, and whether that was counted; past the end where it is none."""
    number = _NUMBER.match(name)
    if number:  # GRUB takes digits at the start for a number, whatever follows them
        digits = number.group(1)
        octal = len(digits) > 1 and digits[0] == "0" and set(digits) <= set("01234567")
        return int(digits, 16 if digits[:2] in ("0x", "0X") else 8 if octal else 10), True
    named = (index for index, entry in enumerate(entries) if name in (entry.id, entry.title))
    return next(named, len(entries)), False


class _Block:
    """Something that is open: a menu entry, a function, or an ``if`` with what is known of its conditions."""

    def __init__(self, kind: str, title: str = "", name: str = "", sure: bool = True) -> None:
        self.kind = kind  # menuentry | submenu | function | if
        self.title = title
        self.id = name
        self.sure = sure
        self.kernel: t.Optional[str] = None
        self.arguments: t.Tuple[str, ...] = ()
        self.loaded = False
        self.entries: t.List[Entry] = []
        self.holds: t.Optional[bool] = True  # of an if: the branch that is being read; None: not known
        self.taken: t.Optional[bool] = False  # of an if: a branch before this one

    def branch(self, holds: t.Optional[bool]) -> None:
        """The next branch of an ``if`` begins; ``holds`` is its own condition."""
        if self.taken is True or holds is False:
            self.holds = False
            return
        self.holds = holds if self.taken is False else None
        self.taken = True if holds else None

    def entry(self) -> Entry:
        below = tuple(self.entries) if self.kind == "submenu" else None
        return Entry(self.title, self.id, self.kernel, self.arguments, below, self.sure)


class _Reader:
    """Takes one line after the other, as grub-mkconfig writes them: a command on each."""

    def __init__(self, environment: t.Mapping[str, str]) -> None:
        self.variables = dict(environment)
        self.top = _Block("submenu")
        self.open: t.List[_Block] = []
        self.bls = False
        self.unclear = ""

    def whole(self) -> t.Tuple[Entry, ...]:
        return tuple(self.top.entries)

    def line(self, line: str) -> None:
        word = re.split(r"[\s;]", line, maxsplit=1)[0]
        if _CORRECTION.match(line):
            self._corrects(line)
        elif word in ("if", "elif", "else", "fi"):
            self._condition(word, line)
        elif word in ("menuentry", "submenu"):
            self._opens(word, line)
            if re.search(r"[\s;{}]\}$", line):  # a whole entry on one line; what it starts is not read
                self._closes()
        elif word == "}":
            self._closes()
        elif line.endswith("{") and not line.startswith("#"):
            self.open.append(_Block("function"))
        elif word in _LOADS:
            self._loads(line)
        elif self._active() is False or any(block.kind != "if" for block in self.open):
            pass  # what an entry or a function does when it is started decides nothing before
        elif word == "blscfg":
            self.bls = True
        else:
            self._sets(line)

    def _active(self) -> t.Optional[bool]:
        """Whether GRUB comes to this line; None where that is not known."""
        states = [block.holds for block in self.open if block.kind == "if"]
        if False in states:
            return False
        return None if None in states else True

    def _condition(self, word: str, line: str) -> None:
        if word == "if":
            self.open.append(_Block("if"))
        if not self.open or self.open[-1].kind != "if":
            return
        if word == "fi":
            self.open.pop()
            return
        self.open[-1].branch(True if word == "else" else self._holds(line))
        if re.search(r"[\s;]fi\s*;?$", line):  # a whole condition on one line
            self.open.pop()

    def _corrects(self, line: str) -> None:
        for old, new in _CORRECTION.findall(line):
            if [self.variables.get("default", "")] == _words(old):
                self.variables["default"] = " ".join(_words(new))

    def _holds(self, line: str) -> t.Optional[bool]:
        condition = _CONDITION.match(line)
        test = _TEST.fullmatch(condition.group(1)) if condition else None
        if test is None:
            return None
        name = test.group(1).strip("${}")
        # What GRUB itself sets (feature_…, grub_platform) is not known here.
        if name not in self.variables and name not in ("next_entry", "saved_entry", "prev_saved_entry"):
            return None
        value, operator, other = self.variables.get(name, ""), test.group(2), test.group(3)
        if operator is None:
            return bool(value)
        return (value == other) is (operator != "!=")

    def _opens(self, kind: str, line: str) -> None:
        words = _words(line)
        option = next((i for i, word in enumerate(words) if word in ("--id", "$menuentry_id_option")), -1)
        name = words[option + 1] if 0 < option < len(words) - 1 else ""
        self.open.append(_Block(kind, words[1] if len(words) > 1 else "", name, self._active() is True))

    def _closes(self) -> None:
        while self.open and self.open[-1].kind == "if":
            self.open.pop()  # not as grub-mkconfig writes it; the entry ends all the same
        if not self.open:
            return
        block = self.open.pop()
        if block.kind == "function" or self._active() is False:
            return
        menu = next((b for b in reversed(self.open) if b.kind == "submenu"), self.top)
        menu.entries.append(block.entry())

    def _loads(self, line: str) -> None:
        block = next((b for b in reversed(self.open) if b.kind != "if"), None)
        if block is None or block.kind != "menuentry" or block.loaded:
            return
        words = _words(line)
        found = _KERNEL.search(words[1]) if len(words) > 1 else None
        if found is None and words[0].startswith("module"):
            return  # of Xen's modules, the first is the kernel and the others are not
        block.loaded = True
        block.kernel = found.group(1) if found else None
        block.arguments = tuple(words[2:])

    def _sets(self, line: str) -> None:
        found = _SETS.fullmatch(line)
        if found is None:
            return
        name, value = found.group(1), " ".join(_words(found.group(2)))
        if self._active() is None:
            if name == "default":
                self.unclear = "the default is set under a condition that is not understood"
            return
        self.variables[name] = _VARIABLE.sub(lambda m: self.variables.get(m.group(1) or m.group(2), ""), value)


def _words(line: str) -> t.List[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quote is not closed
        return line.split()
