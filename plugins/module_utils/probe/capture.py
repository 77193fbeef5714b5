# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A look that can be taken along: ``Recorder`` writes what a host answers into a capture, ``Replay`` answers from one.

A capture is one JSON object, so that a node can be judged elsewhere and later by the same parsers and checks.
"""

from __future__ import annotations

import base64
import dataclasses
import re
import threading
import typing as t

from ..model import SCHEMA, FileState, Reading, to_plain
from ..parse import engine_kept
from ..parse.text import without_users
from ..plain import from_plain
from .host import FILE_LIMIT, Command, Host, Stat, decoded

NOT_CAPTURED = "not in the capture"

#: Package sources; apt lets them have passwords, which a capture that is sent around must not.
_SOURCES = "/etc/apt/sources.list"

#: What a capture holds of paths: text, entries, one entry, the end of a link, digest.
SECTIONS = ("files", "dirs", "stats", "links", "states")

_PROBE_NAME = re.compile(r"goldennode-probe-[0-9a-f]+")


def key(where: str, argv: t.Sequence[str]) -> t.Tuple[str, ...]:
    """What makes two commands the same question.

    A script counts by its place and not by its text, so that a capture outlives a new version of the script; the
    container of the probe has a new name in each look.
    """
    return (where, *("SCRIPT" if "\n" in word else _PROBE_NAME.sub("goldennode-probe", word) for word in argv))


class Recorder:
    """Asks another host, and keeps every answer."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = threading.Lock()  # the readers of one look run side by side
        self._commands: t.List[Command] = []
        self._paths: t.Dict[str, t.Dict[str, Reading[t.Any]]] = {}

    def capture(self) -> t.Dict[str, t.Any]:
        """The capture so far, as plain data. ``errors`` holds the reasons of paths that could not be read."""
        with self._lock:
            sections: t.Dict[str, t.Dict[str, t.Any]] = {
                "files": {},
                "dirs": {},
                "stats": {},
                "links": {},
                "states": {},
            }
            errors: t.Dict[str, t.Dict[str, str]] = {}
            for name, readings in self._paths.items():
                for path, reading in sorted(readings.items()):
                    if reading.error is not None:
                        errors.setdefault(name, {})[path] = reading.error
                    else:
                        sections[name][path] = _carried(reading.value)
            return {
                "schema": SCHEMA,
                "collected_at": self._host.now(),
                "host": self._host.hostname(),
                "machine": self._host.machine(),
                "commands": [to_plain(command) for command in self._commands],
                **sections,
                "errors": errors,
            }

    def run(
        self,
        argv: t.Sequence[str],
        timeout: float,
        unprivileged: bool = False,
        groups: t.Sequence[int] = (),
        where: str = "host",
    ) -> Command:
        command = self._host.run(argv, timeout, unprivileged, groups, where)
        with self._lock:
            self._commands.append(command)
        return command

    def read(self, path: str, limit: int = FILE_LIMIT) -> Reading[str]:
        return decoded(self.read_bytes(path, limit))  # as bytes, so that the capture loses none

    def read_bytes(self, path: str, limit: int = FILE_LIMIT) -> Reading[bytes]:
        reading = self._host.read_bytes(path, limit)
        kept = _without_passwords(reading) if path.startswith(_SOURCES) else reading
        self._keep("files", path, engine_kept.kept(kept, path) if path.startswith(engine_kept.FOLDERS) else kept)
        return reading

    def stat(self, path: str) -> Reading[Stat]:
        return self._keep("stats", path, self._host.stat(path))

    def listdir(self, path: str) -> Reading[t.Dict[str, Stat]]:
        return self._keep("dirs", path, self._host.listdir(path))

    def realpath(self, path: str) -> Reading[str]:
        return self._keep("links", path, self._host.realpath(path))

    def file_state(self, path: str) -> Reading[FileState]:
        return self._keep("states", path, self._host.file_state(path))

    def hostname(self) -> str:
        return self._host.hostname()

    def machine(self) -> str:
        return self._host.machine()

    def now(self) -> float:
        return self._host.now()

    def _keep(self, section: str, path: str, reading: Reading[t.Any]) -> Reading[t.Any]:
        with self._lock:
            self._paths.setdefault(section, {})[path] = reading
        return reading


class Replay:
    """A host that is a capture. What was not captured is unknown, never absent, and so is what does not fit in it.

    What is no capture at all, or not of this schema, is a ValueError.
    """

    def __init__(self, capture: t.Mapping[str, t.Any]) -> None:
        _refuse_what_is_none(capture)
        if capture.get("schema") != SCHEMA:
            raise ValueError(
                "the capture has schema %r; this version reads schema %d" % (capture.get("schema"), SCHEMA)
            )
        self._capture = capture
        commands = [command for command in map(_command, capture["commands"]) if command]
        self._commands = {key(command.where, command.argv): command for command in commands}

    def run(
        self,
        argv: t.Sequence[str],
        timeout: float,
        unprivileged: bool = False,
        groups: t.Sequence[int] = (),
        where: str = "host",
    ) -> Command:
        found = self._commands.get(key(where, argv))
        return found or Command(where, tuple(argv), error="%s: %s" % (argv[0], NOT_CAPTURED))

    def read(self, path: str, limit: int = FILE_LIMIT) -> Reading[str]:
        return decoded(self.read_bytes(path, limit))

    def read_bytes(self, path: str, limit: int = FILE_LIMIT) -> Reading[bytes]:
        found = self._find("files", path)
        if found.value is None:
            return Reading(None, found.error)
        try:
            if isinstance(found.value, dict):
                return Reading(base64.b64decode(found.value["base64"], validate=True))
            return Reading(from_plain(str, found.value).encode("utf-8", "surrogateescape"))
        except (ValueError, TypeError, KeyError):  # not base64, or no text
            return _misfit("files", path)

    def stat(self, path: str) -> Reading[Stat]:
        return self._find("stats", path, Stat)

    def listdir(self, path: str) -> Reading[t.Dict[str, Stat]]:
        return self._find("dirs", path, t.Dict[str, Stat])

    def realpath(self, path: str) -> Reading[str]:
        return self._find("links", path, str)

    def file_state(self, path: str) -> Reading[FileState]:
        return self._find("states", path, FileState)

    def hostname(self) -> str:
        return str(self._capture["host"])

    def machine(self) -> str:
        return str(self._capture["machine"])

    def now(self) -> float:
        return float(self._capture["collected_at"])

    def _find(self, section: str, path: str, kind: t.Any = t.Any) -> Reading[t.Any]:
        error = _section(self._capture.get("errors"), section).get(path)
        if error is not None:
            return Reading.unknown(str(error) or "%s could not be read" % path)
        there = _section(self._capture, section)
        if path not in there:
            return Reading.unknown("%s: %s" % (path, NOT_CAPTURED))
        try:
            return Reading(None if there[path] is None else from_plain(kind, there[path]))
        except ValueError:
            return _misfit(section, path)


def _refuse_what_is_none(capture: t.Any) -> None:
    if not isinstance(capture, dict):
        raise ValueError("this is no capture: a JSON object is expected, not %.60r" % (capture,))
    wanted: t.Dict[str, t.Any] = {"commands": list, "host": str, "machine": str, "collected_at": (int, float)}
    for name, kinds in wanted.items() if capture.get("schema") == SCHEMA else ():
        if not isinstance(capture.get(name), kinds) or isinstance(capture[name], bool):
            raise ValueError("this is no capture: its %s is %.60r" % (name, capture.get(name)))


def _section(whole: t.Any, name: str) -> t.Mapping[str, t.Any]:
    found = whole.get(name) if isinstance(whole, dict) else None
    return found if isinstance(found, dict) else {}


def _command(plain: t.Any) -> t.Optional[Command]:
    """None of one that is not written as we do it: then it was not captured."""
    try:
        command = t.cast(Command, from_plain(Command, plain))
    except ValueError:
        return None
    ended = command.rc is not None or command.error
    return command if ended else dataclasses.replace(command, error="the capture does not say how it ended")


def _misfit(section: str, path: str) -> Reading[t.Any]:
    return Reading.unknown("%s: what the capture has of it (%s) is not understood" % (path, section))


def _without_passwords(reading: Reading[bytes]) -> Reading[bytes]:
    """Judged as before: the parser leaves users out of addresses too."""
    if reading.value is None:
        return reading
    text = reading.value.decode("utf-8", "surrogateescape")
    return Reading(without_users(text).encode("utf-8", "surrogateescape"))


def _carried(value: t.Any) -> t.Any:
    """A value as JSON can carry it; bytes that are no UTF-8 text become base64."""
    if not isinstance(value, bytes):
        return to_plain(value)
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode("ascii")}
