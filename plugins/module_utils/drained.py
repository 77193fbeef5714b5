# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a drain has stopped, as it is kept on the node until that runs again, and how Docker describes it. Pure."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from .model import SCHEMA, Reading, RunningContainer, to_plain
from .parse.json_lines import parse_object
from .plain import from_plain

PATH = "/var/lib/goldennode/drained.json"

#: Where one that cannot be understood came from only a person knows.
_MEND = "Look at it: it lists the containers that were stopped. Start them by hand (docker start), and move it away."

_FIELDS = (
    ("id", ".Id"),
    ("running", ".State.Running"),
    ("auto_remove", ".HostConfig.AutoRemove"),
    ("stop_timeout", ".Config.StopTimeout"),
)
#: Only what is judged: the whole answer has the container's environment, and people keep passwords in it.
FORMAT = "{%s}" % ",".join('"%s":{{json %s}}' % field for field in _FIELDS)

#: Docker's own, where a container has none, in seconds.
_STOP_TIMEOUT = 10

#: For one that Docker is to wait for without end (-1): we do not.
_FOR_EVER = 600


@dataclasses.dataclass(frozen=True)
class Drained:
    """A container that a drain has stopped or was about to stop. ``since`` is UTC."""

    id: str
    name: str
    image: str = ""
    since: str = ""

    @property
    def label(self) -> str:
        return "%s %s" % (self.name, self.id[:12])


@dataclasses.dataclass(frozen=True)
class Inspected:
    """What decides how a container is stopped. ``stop_seconds``: how long Docker waits before it kills it."""

    id: str
    running: bool
    auto_remove: bool = False
    stop_seconds: int = _STOP_TIMEOUT


def parse(text: str) -> Reading[t.Tuple[Drained, ...]]:
    """drained.json."""
    plain = parse_object(text, PATH)
    if plain.value is None:
        return Reading.unknown("%s. %s" % (plain.error, _MEND))
    if plain.value.get("schema") != SCHEMA:
        return Reading.unknown(
            "%s has schema %r, and %d is known. %s" % (PATH, plain.value.get("schema"), SCHEMA, _MEND)
        )
    try:
        found = from_plain(t.Tuple[Drained, ...], plain.value.get("containers"), "containers of %s" % PATH)
    except ValueError as error:
        return Reading.unknown("%s. %s" % (error, _MEND))
    return Reading(t.cast(t.Tuple[Drained, ...], found))


def text_of(containers: t.Iterable[Drained]) -> str:
    return json.dumps({"schema": SCHEMA, "containers": to_plain(list(containers))}, indent=1, sort_keys=True) + "\n"


def added(before: t.Iterable[Drained], more: t.Iterable[Drained]) -> t.Tuple[Drained, ...]:
    """All of them, each once, in the order in which they were stopped."""
    found: t.Dict[str, Drained] = {}
    for one in (*before, *more):
        found.setdefault(one.id, one)
    return tuple(found.values())


def inspected(stdout: str) -> Reading[t.Dict[str, Inspected]]:
    """One line of ``FORMAT`` for each container that is there."""
    found: t.Dict[str, Inspected] = {}
    for line in stdout.splitlines():
        if not line.strip():
            continue
        fields = parse_object(line, "a line of docker container inspect")
        if fields.value is None:
            return Reading.unknown(fields.error or "")
        identity, running = fields.value.get("id"), fields.value.get("running")
        auto_remove, seconds = fields.value.get("auto_remove"), fields.value.get("stop_timeout")
        if not isinstance(identity, str) or not isinstance(running, bool) or not isinstance(auto_remove, bool):
            return Reading.unknown("docker container inspect describes a container as %r" % line[:200])
        found[identity] = Inspected(identity, running, auto_remove, _seconds(seconds))
    return Reading(found)


def _seconds(given: t.Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        return _STOP_TIMEOUT
    return given if given >= 0 else _FOR_EVER


#: Whoever starts such a container anew when it is stopped, and what is typed for it.
_OWNERS = {
    "kubernetes": "Kubernetes starts its pod anew: drain the node by kubectl drain",
    "swarm": "swarm starts its task anew: docker node update --availability drain on a manager",
}


def why_left(one: RunningContainer, inspected_as: t.Optional[Inspected]) -> str:
    """Why a container that has GPUs is not stopped by a drain; "" for one that is.

    Only what can be given back as it was is stopped.
    """
    if one.owner in _OWNERS:
        return "%s (%s)" % (_OWNERS[one.owner], one.owner_name)
    if one.error:
        return "whether it has GPUs is not known: %s" % one.error
    if one.own_mounts:
        return (
            "the driver's files are bound into it by their names, so that it cannot start with another driver: whoever "
            "created it must end it, and create it anew"
        )
    if inspected_as is not None and inspected_as.auto_remove:
        return "it was started with --rm, and would be gone: whoever started it must end it"
    return ""
