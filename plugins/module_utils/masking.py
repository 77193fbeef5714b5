# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A capture that may be sent around: secrets and personal data are masked, and it is judged as before. Pure.

Names are masked as whole words wherever they stand. One that is also a word of the machinery (a user called docker) is
masked only where a name is expected: nothing that is judged may change its meaning.
"""

from __future__ import annotations

import base64
import json
import re
import typing as t

from . import mask_text
from .mask_text import Masks

Plain = t.Dict[str, t.Any]

GROUPS = "/etc/group"
#: Below it users and their groups are the system's own.
_FIRST_USER, _LAST_USER = 1000, 60000
_SYSTEM_USERS = ("root", "nobody", "daemon", "nogroup")
#: Keys whose text is the name of a user, or of a group that may be a user's own.
_USER_KEYS = ("user", "users", "device_access_users", "device_access_group")
_SERIAL_KEYS = ("serial", "serialnumber", "serial_number", "board_serial", "product_serial")
#: Keys under which versions stand, which are no addresses: axes of a lock, and what dpkg and its kin say.
_VERSION_KEYS = ("packages", "version", "nvidia_ml_py", "cuda")
_VERSION_TOOLS = ("dpkg-query", "dkms", "modinfo", "ldconfig", "modprobe")
#: Tools whose serial numbers are those of certificates, by which a module is judged.
_CERTIFICATE_TOOLS = ("modinfo", "mokutil")
_CONFIG_SPACE = re.compile(r"/sys/bus/pci/devices/[^/]+/config$")
#: Where a name of the machinery may be met that a host or a user has too.
_TOKEN = re.compile(r"[A-Za-z0-9][\w-]*")
_COMMON = frozenset(
    (
        *("admin", "auto", "bin", "boot", "cloud", "cuda", "dev", "docker", "gpu", "gpus", "host", "localhost"),
        *("nvidia", "node", "none", "server", "system", "test", "ubuntu", "debian", "user", "video", "root", "linux"),
        *("kernel", "driver", "runtime", "containerd", "true", "false", "null", "default", "all", "name"),
    )
)


def mask(capture: t.Mapping[str, t.Any], gpu_uuids: bool = False) -> Plain:
    """The capture without what only its owner may know.

    :arg gpu_uuids: whether the UUIDs of GPUs are masked too; they name a card, and nobody
    """
    masks = Masks(_versions(capture), gpu_uuids)
    return t.cast(Plain, _Masking(capture, masks).tree(dict(capture)))


class _Masking:
    """One capture being masked."""

    def __init__(self, capture: t.Mapping[str, t.Any], masks: Masks) -> None:
        self._masks = masks
        self._host = str(capture.get("host") or "")
        self._named = str((capture.get("judged") or {}).get("name") or "")
        technical = _technical(capture)
        self._users = {name: masks.user(name) for name in _users(capture)}
        words = {name: masked for name, masked in self._users.items() if _is_own_word(name, technical)}
        self._words = _pattern(words)
        self._word_masks = words
        hosts = {self._host.partition(".")[0], *([self._named] if "." not in self._named else [])} - {""}
        hosts |= {name for name in (self._host, self._named) if "." in name and not name.replace(".", "").isdigit()}
        found = [name for name in hosts if "." in name or _is_own_word(name, technical)]
        # Volumes, mounts and logs are named after their host: data-gpu17, gpu17-scratch.
        self._hosts = _pattern(found, r"(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*", edge=r"\w")

    def tree(self, value: t.Any, key: str = "", secret: bool = False) -> t.Any:
        """Plain data masked, whatever its shape; ``key`` is that under which it stands."""
        if isinstance(value, dict):
            if "argv" in value and "stdout" in value:
                return self._command(value)
            if set(value) == {"base64"}:
                return self._bytes(value, key)
            return {self.text(str(name)): self._item(str(name), item, secret) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return _arguments([self.tree(item, key, secret) for item in value], self._masks)
        if not isinstance(value, str) or not value:
            return value
        if secret:
            return self._masks.secret(value)
        if key in ("host", "Name", "name") and value in (self._host, self._named):
            return "host-1"
        if key.lower() in _SERIAL_KEYS and any(map(str.isdigit, value)):
            return self._masks.serial(value)
        if key in _USER_KEYS and value in self._users:
            return self._users[value]
        if key == GROUPS:
            return self.text(self._groups(value))
        return self.text(value, addresses=key not in _VERSION_KEYS)

    def _item(self, name: str, item: t.Any, secret: bool) -> t.Any:
        return self.tree(item, name, secret or (not name.startswith("/") and mask_text.is_secret_name(name)))

    def text(self, text: str, addresses: bool = True, serials: bool = True) -> str:
        """One text; JSON in it is masked by its structure, since its values may hold anything."""
        text = "\n".join(self._line(line) for line in text.split("\n")) if '{"' in text else text
        whole = _json(text)
        if isinstance(whole, (dict, list)):
            masked = self.tree(whole)
            return text if masked == whole else json.dumps(masked)
        text = self._hosts.sub("host-1", text) if self._hosts else text
        if self._words:
            text = self._words.sub(lambda found: self._word_masks[found.group()], text)
        return self._masks.plain(text, addresses, serials)

    def _line(self, line: str) -> str:
        """A line that is an object by itself, as docker's and our own children print them."""
        found = _json(line) if line.startswith("{") else None
        if not isinstance(found, dict):
            return line
        masked = self.tree(found)
        return line if masked == found else json.dumps(masked)

    def _command(self, command: t.Mapping[str, t.Any]) -> Plain:
        argv = ["the script\n" if "\n" in str(word) else str(word) for word in command["argv"]]
        tool = argv[0] if argv else ""
        of_users = argv[:3] == ["python3", "-I", "-c"] and "root" in argv[4:]
        shown = [self._users.get(word, word) if of_users and at > 3 else word for at, word in enumerate(argv)]
        said = {name: value for name, value in command.items() if name not in ("argv", "stdout", "stderr")}
        addresses, serials = tool not in _VERSION_TOOLS, tool not in _CERTIFICATE_TOOLS
        return {
            **{name: self.tree(value) for name, value in said.items()},
            "argv": _arguments([self.text(word) for word in shown], self._masks),
            **{name: self.text(str(command.get(name, "")), addresses, serials) for name in ("stdout", "stderr")},
        }

    def _bytes(self, value: t.Mapping[str, t.Any], path: str) -> Plain:
        raw = base64.b64decode(str(value["base64"]))
        if _CONFIG_SPACE.search(path):
            return {"base64": base64.b64encode(_without_serial(raw)).decode("ascii")}
        if b"\0" in raw:  # no text
            return dict(value)
        text = self.text(raw.decode("utf-8", "surrogateescape"))
        return {"base64": base64.b64encode(text.encode("utf-8", "surrogateescape")).decode("ascii")}

    def _groups(self, text: str) -> str:
        """/etc/group: names are expected there, so also those that are words of the machinery are masked."""
        return "\n".join(self._group(line) for line in text.split("\n"))

    def _group(self, line: str) -> str:
        fields = line.split(":")
        if len(fields) != 4:
            return line
        fields[0] = self._users.get(fields[0], fields[0]) if _is_personal(fields) else fields[0]
        fields[3] = ",".join(self._users.get(name, name) for name in fields[3].split(","))
        return ":".join(fields)


def _arguments(argv: t.Sequence[t.Any], masks: Masks) -> t.List[t.Any]:
    """A secret may be a word by itself, behind the option that it belongs to."""
    found = list(argv)
    for at in range(1, len(found)):
        option = found[at - 1]
        if not (isinstance(option, str) and isinstance(found[at], str)):
            continue
        if option.startswith("--") and "=" not in option and mask_text.is_secret_name(option.strip("-")):
            found[at] = masks.secret(found[at])
    return found


def _users(capture: t.Mapping[str, t.Any]) -> t.List[str]:
    """Names of people: members of groups, groups of one user, and the users that are wanted."""
    text = (capture.get("files") or {}).get(GROUPS)
    rows = [line.split(":") for line in str(text or "").split("\n")]
    rows = [row for row in rows if len(row) == 4]
    system = {row[0] for row in rows if not _is_personal(row)} | set(_SYSTEM_USERS)
    names = [row[0] for row in rows if _is_personal(row) and not row[3].strip()]
    names += [name.strip() for row in rows for name in row[3].split(",")]
    desired = (capture.get("judged") or {}).get("desired") or {}
    access = (desired.get("settings") or {}).get("device_access") or {}
    names += [str(name) for name in access.get("device_access_users") or ()]
    return [name for name in dict.fromkeys(names) if name and name not in system]


def _is_personal(row: t.Sequence[str]) -> bool:
    return row[2].isdigit() and _FIRST_USER <= int(row[2]) < _LAST_USER


def _technical(capture: t.Mapping[str, t.Any]) -> t.Set[str]:
    """Words that paths, programs and packages of the node have: a name among them says nothing by itself."""
    found: t.Set[str] = set()
    for section in ("files", "dirs", "stats", "links", "states"):
        for path in capture.get(section) or {}:
            if not str(path).startswith("/home/"):
                found.update(_TOKEN.findall(str(path)))
    for command in capture.get("commands") or ():
        argv = [str(word) for word in command.get("argv") or () if "\n" not in str(word)]
        if argv[:3] != ["python3", "-I", "-c"]:
            found.update(token for word in argv for token in _TOKEN.findall(word))
        if argv and argv[0] == "dpkg-query":
            names = (line.partition("\t")[0] for line in str(command.get("stdout", "")).split("\n"))
            found.update(part for name in names for part in (name, *name.split("-")))
    return found


def _is_own_word(name: str, technical: t.Container[str]) -> bool:
    return len(name) > 2 and name.lower() not in _COMMON and name not in technical and not name.isdigit()


def _pattern(names: t.Iterable[str], suffix: str = "", edge: str = r"\w-") -> t.Optional[t.Pattern[str]]:
    """The names as whole words, the longest first. ``edge``: characters beside which a name is part of another word."""
    parts = [re.escape(name) for name in sorted(names, key=len, reverse=True)]
    return re.compile(r"(?<![%s])(?:%s)%s(?![%s])" % (edge, "|".join(parts), suffix, edge)) if parts else None


def _versions(capture: t.Mapping[str, t.Any]) -> t.Set[str]:
    """Versions of four numbers that the node or its lock names."""
    found: t.Set[str] = set()
    for command in capture.get("commands") or ():
        if (command.get("argv") or [""])[0] in _VERSION_TOOLS:
            found |= mask_text.quads(str(command.get("stdout", "")))
    lock = ((capture.get("judged") or {}).get("desired") or {}).get("lock") or {}
    for axis in lock.values():
        if isinstance(axis, dict):
            found |= mask_text.quads(json.dumps([axis.get("version"), axis.get("packages")]))
    return found


def _without_serial(raw: bytes) -> bytes:
    """A PCI configuration space without the device's serial number, which is the extended capability 3."""
    found, at, seen = bytearray(raw), 0x100, set()
    while 0x100 <= at <= len(found) - 12 and at not in seen:
        seen.add(at)
        header = int.from_bytes(found[at : at + 4], "little")
        if header & 0xFFFF == 3:
            found[at + 4 : at + 12] = bytes(8)
        at = header >> 20
    return bytes(found)


def _json(text: str) -> t.Any:
    """The value, where writing it anew loses nothing: a key that stands twice would be lost."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None


def _unique(pairs: t.List[t.Tuple[str, t.Any]]) -> Plain:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found
