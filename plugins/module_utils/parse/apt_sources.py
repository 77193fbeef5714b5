# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""apt's sources files, one-line (.list) and deb822 (.sources): their entries, and how one of them is switched off.

Read as apt 2.6 and 3.0 were seen to read them: what one of them takes for a comment, a disabled entry or an error is
that here too.
"""

from __future__ import annotations

import hashlib
import re
import typing as t

from ..model import AptSource
from .text import without_users

#: How the files of this collection begin.
MANAGED = "# Managed by goldennode.gpu"
#: What is written before an entry that is switched off.
SET_ASIDE = "# set aside by goldennode.gpu"

#: Stands for the address of every disc.
CDROM = "cdrom:"

_TYPES = ("deb", "deb-src")
#: What apt takes for no; anything else, nonsense too, is yes.
_NO = ("no", "false", "without", "off", "disable", "0")
_BOM = "\ufeff"


def parse(path: str, text: str, architecture: str) -> t.Tuple[AptSource, ...]:
    """The entries of one file, by its extension, disabled and broken ones too; comments are none.

    An address is without user and password: entries are shown, reported and kept, and compare without these.

    :arg architecture: Debian's name of it, which stands for ``$(ARCH)``
    """
    found = _stanzas(path, text) if path.endswith(".sources") else _lines(path, text)
    managed = text.startswith(MANAGED)
    return tuple(_complete(entry, architecture, managed) for entry in found)


def _complete(entry: t.Dict[str, t.Any], architecture: str, managed: bool) -> AptSource:
    for field in ("uris", "suites"):
        words = (word.replace("$(ARCH)", architecture) for word in entry.get(field, ()))
        entry[field] = tuple(without_users(word) for word in words)
    return AptSource(managed=managed, **entry)


# --- one line for each entry --------------------------------------------------------------------------------------

_CDROM = re.compile(r"deb(-src)?\s+(\[[^\]]*\]\s+)?cdrom:")
_ENTRY = re.compile(r"(\S+)\s+(?:\[([^\]]*)\]\s*)?(\S+)\s+(\S+)(.*)")


def _lines(path: str, text: str) -> t.Iterator[t.Dict[str, t.Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        said = _without_comment(line).strip()
        if said:
            yield {"file": path, "line": number, "last": number, **_line(said)}


def _without_comment(line: str) -> str:
    match = re.match(r"(?:\[[^\]]*\]|[^#])*", line)
    return match.group(0) if match else line


def _line(said: str) -> t.Dict[str, t.Any]:
    if _CDROM.match(said):  # its address may hold blanks, and nothing more is asked about it
        return {"types": ("deb",), "uris": (CDROM,)}
    kind = (said.lstrip(_BOM).split(None, 1) or [said])[0]
    if kind not in _TYPES:
        return {"broken": "its type %r is not known" % without_users(kind)[:40]}
    match = _ENTRY.fullmatch(said.lstrip(_BOM))
    if not match:
        return {"broken": "it has no address and suite"}
    _kind, bracket, uri, suite, rest = match.groups()
    options = [option.partition("=") for option in (bracket or "").split()]
    if any(not equals for _name, equals, _value in options):
        return {"broken": "an option in its brackets has no value"}
    signed_by = [value for name, _equals, value in options if name.lower() == "signed-by"]
    return {
        "types": (kind,),
        "uris": (uri.strip("\"'"),),
        "suites": (suite,),
        "components": tuple(rest.split()),
        "signed_by": _signed_by(signed_by[-1] if signed_by else ""),
        "broken": "it begins with a byte order mark" if said.startswith(_BOM) else "",
    }


# --- stanzas ------------------------------------------------------------------------------------------------------


def _stanzas(path: str, text: str) -> t.Iterator[t.Dict[str, t.Any]]:
    stanza: t.List[t.Tuple[int, str]] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        line = line.rstrip("\r")
        if line:
            if not line.startswith("#"):
                stanza.append((number, line))
            continue
        if stanza:
            yield {"file": path, "line": stanza[0][0], "last": stanza[-1][0], **_stanza([said for _n, said in stanza])}
        stanza = []


def _stanza(lines: t.Sequence[str]) -> t.Dict[str, t.Any]:
    fields = _fields(lines)
    words = {name: tuple(fields.get(name, "").split()) for name in ("types", "uris", "suites", "components")}
    lacking = [name for name in ("types", "uris", "suites") if not words[name]]
    if lacking:
        return {"broken": "it has no %s" % " and no ".join(lacking)}
    strange = [kind for kind in words["types"] if kind not in _TYPES]
    if strange:
        return {"broken": "its type %r is not known" % without_users(strange[0])[:40]}
    enabled = fields.get("enabled", "yes").strip().lower() not in _NO
    return {**words, "signed_by": _signed_by(fields.get("signed-by", "")), "enabled": enabled}


def _fields(lines: t.Sequence[str]) -> t.Dict[str, str]:
    """Value by name in lower case; of one that stands twice, the last."""
    fields: t.Dict[str, str] = {}
    name = ""
    for line in lines:
        if line[0] in " \t":
            fields[name] = fields.get(name, "") + "\n" + line.strip()
        else:
            name, _colon, value = line.partition(":")
            name = name.lstrip(_BOM).strip().lower()
            fields[name] = value.strip()
    return fields


def _signed_by(value: str) -> str:
    """apt compares a key inside the entry by its text; blanks around its lines are no part of it."""
    if "-----BEGIN" in value:
        key = "\n".join(line.strip() for line in value.split("\n") if line.strip() not in ("", "."))
        return "key sha256:" + hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
    return ",".join(word for word in re.split(r"[\s,]+", value) if word)


# --- writing ------------------------------------------------------------------------------------------------------


def for_packages(text: str, entry: AptSource) -> str:
    """The entry's own text, for binary packages alone and without comments."""
    lines = [line.rstrip("\r") for line in text.split("\n")[entry.line - 1 : entry.last]]
    if not entry.file.endswith(".sources"):
        return lines[0].strip()
    kept = [line for line in lines if not line.startswith("#")]
    return "\n".join("Types: deb" if line.lower().startswith("types:") else line for line in kept)


def switched_off(text: str, entries: t.Iterable[AptSource]) -> str:
    """The file's text with these entries disabled, and not a byte else changed."""
    lines = text.split("\n")
    for entry in sorted(entries, key=lambda one: one.line, reverse=True):
        own = lines[entry.line - 1 : entry.last]
        end = "\r" if own[0].endswith("\r") else ""
        if entry.file.endswith(".sources") and not entry.broken:
            own = [line for line in own if not line.lower().startswith("enabled:")]
            own = [SET_ASIDE + end, "Enabled: no" + end, *own]
        elif entry.broken:
            own = ["%s: %s" % (SET_ASIDE, line) for line in own]
        else:
            own = ["%s: %s" % (SET_ASIDE, own[0])]
        lines[entry.line - 1 : entry.last] = own
    return "\n".join(lines)
