# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays the boot loader: reads the grub.cfg that the real grub-mkconfig wrote, and boots the entry that GRUB would.

Of GRUB's language only what decides is understood: menu entries and submenus, which entry is the default, and the
variables that grub-reboot, grub-set-default and GRUB_SAVEDEFAULT keep in grubenv.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
import subprocess
import typing as t
from pathlib import Path

DIRECTORY = Path("/boot/grub")
CONFIG = DIRECTORY / "grub.cfg"
ENVIRONMENT = DIRECTORY / "grubenv"

SET_DEFAULT = re.compile(r"""set default=(?:"(.*)"|'(.*)'|(\S*))$""")
#: grub-mkconfig's own correction of titles from before version 2.
OLD_TITLE = re.compile(r"""if \[ "x\$default" = '([^']*)' \]; then default='([^']*)'; fi;""")


@dataclasses.dataclass
class Entry:
    """A menu entry; a submenu has entries of its own and boots nothing."""

    title: str
    id: str = ""
    entries: t.List[Entry] = dataclasses.field(default_factory=list)
    #: words of the line ``linux``: the kernel's path and its command line
    linux: t.List[str] = dataclasses.field(default_factory=list)
    initrd: str = ""
    #: becomes the saved entry when it is booted (GRUB_SAVEDEFAULT)
    saves: bool = False
    submenu: bool = False

    @property
    def kernel(self) -> str:
        """The release in the name of the kernel's file."""
        return self.linux[0].rpartition("/vmlinuz-")[2] if self.linux else ""

    @property
    def command_line(self) -> str:
        return " ".join(["BOOT_IMAGE=" + self.linux[0], *self.linux[1:]])


# --- grub.cfg ------------------------------------------------------------------------------------------------------


def read_menu(text: str) -> t.List[Entry]:
    top = Entry("")
    open_blocks: t.List[t.Optional[Entry]] = [top]
    for line in text.splitlines():
        line = line.strip()
        if line == "}":
            open_blocks.pop()
        elif line.startswith(("menuentry ", "submenu ")) and line.endswith("{"):
            entry = _read_entry(shlex.split(line))
            _innermost(open_blocks).entries.append(entry)
            open_blocks.append(entry)
        elif line.startswith("function ") and line.endswith("{"):
            open_blocks.append(None)
        else:
            _read_command(line, _innermost(open_blocks))
    return top.entries


def _innermost(open_blocks: t.Sequence[t.Optional[Entry]]) -> Entry:
    return next(block for block in reversed(open_blocks) if block is not None)


def _read_entry(words: t.List[str]) -> Entry:
    name = next((words[i + 1] for i, word in enumerate(words) if word in ("$menuentry_id_option", "--id")), "")
    return Entry(words[1], name, submenu=words[0] == "submenu")


def _read_command(line: str, entry: Entry) -> None:
    command, _, rest = line.partition("\t" if "\t" in line else " ")
    if command == "linux":
        entry.linux = shlex.split(rest)
    elif command == "initrd":
        entry.initrd = shlex.split(rest)[-1]
    elif command == "savedefault":
        entry.saves = True


# --- which entry ---------------------------------------------------------------------------------------------------


def default_of(text: str, variables: t.Mapping[str, str]) -> str:
    """The value of ``default`` when the menu is shown; an entry chosen for one boot (next_entry) is before all."""
    if variables.get("next_entry"):
        return variables["next_entry"]
    default = ""
    for line in text.splitlines():
        found = SET_DEFAULT.match(line.strip())
        if found and "next_entry" not in line:
            default = next(value for value in found.groups() if value is not None)
        for old, new in OLD_TITLE.findall(line):
            default = new if default == old else default
    return default.replace("${saved_entry}", variables.get("saved_entry", ""))


def find(entries: t.Sequence[Entry], default: str) -> t.List[Entry]:
    """The way to the entry that GRUB boots, submenus first: the first of a menu where ``default`` names none.

    GRUB says nothing about a name that it does not know: a default that points to a removed kernel boots the newest.
    """
    if not entries:
        return []
    name, rest = _split(default)
    chosen = entries[0]
    if name.isdigit():
        chosen = entries[int(name)] if int(name) < len(entries) else entries[0]
    else:
        chosen = next((entry for entry in entries if name and name in (entry.title, entry.id)), entries[0])
    return [chosen, *find(chosen.entries, rest)]


def _split(default: str) -> t.Tuple[str, str]:
    """The first name of a path, and the rest; >> is a > within a name."""
    match = re.match(r"((?:[^>]|>>)*)>?(.*)$", default, re.DOTALL)
    assert match is not None
    return match[1].replace(">>", ">"), match[2]


# --- a boot --------------------------------------------------------------------------------------------------------


def choose() -> t.Optional[Entry]:
    """The entry that this boot takes, None where there is no boot loader; grubenv is changed as GRUB changes it."""
    if not CONFIG.exists():
        return None
    text, variables = CONFIG.read_text(), read_environment()
    way = find(read_menu(text), default_of(text, variables))
    once = bool(variables.get("next_entry"))
    if once:
        _save("next_entry", "")
    if not way or not way[-1].linux:
        return None
    if way[-1].saves and not once:
        _save("saved_entry", ">".join((entry.id or entry.title).replace(">", ">>") for entry in way))
    return way[-1]


def entry_of(kernel: str) -> t.Optional[Entry]:
    """The first entry that boots this kernel: what a person at the menu would choose."""
    entries = read_menu(CONFIG.read_text()) if CONFIG.exists() else []
    return next((entry for entry in _all(entries) if entry.kernel == kernel), None)


def _all(entries: t.Iterable[Entry]) -> t.Iterator[Entry]:
    for entry in entries:
        yield entry
        yield from _all(entry.entries)


def read_environment() -> t.Dict[str, str]:
    if not ENVIRONMENT.exists():
        return {}
    lines = ENVIRONMENT.read_text(errors="replace").splitlines()
    return {name: value for name, equals, value in (line.partition("=") for line in lines) if equals and name[0] != "#"}


def _save(name: str, value: str) -> None:
    subprocess.run(["grub-editenv", str(ENVIRONMENT), "set", "%s=%s" % (name, value)], check=True)
