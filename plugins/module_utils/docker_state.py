# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Docker as it stands on a node before anything is changed: its unit, the flags of its next start, and the engine."""

from __future__ import annotations

import dataclasses
import typing as t

from . import dockerd_flags
from .docker_record import UNIT
from .model import DockerEngine
from .probe import docker
from .system import System, known, said
from .version import version_numbers

COMMAND_TIMEOUT = 20.0

_PROPERTIES = (
    "LoadState",
    "ActiveState",
    "InvocationID",
    "ExecMainStartTimestampMonotonic",
    "ExecStart",
    "Environment",
    "EnvironmentFiles",
    "NeedDaemonReload",
)


class DockerConfigError(Exception):
    """The settings cannot be brought in, or Docker does not take them. The message says what to do."""


@dataclasses.dataclass(frozen=True)
class Unit:
    """docker.service as systemd has it loaded."""

    loaded: bool
    active: bool
    state: str
    invocation: str
    started_at: t.Optional[float]  # seconds since the epoch, by the clock of now
    arguments: t.Tuple[str, ...]
    needs_reload: bool
    later: t.Tuple[str, ...] = ()  # the arguments once systemd has read its units again, where these have changed


@dataclasses.dataclass(frozen=True)
class Daemon:
    """Docker as it stands on the node before anything is changed."""

    version: t.Optional[t.Tuple[int, ...]]  # of the installed dockerd; None: it is not installed
    unit: Unit
    engine: t.Optional[DockerEngine]
    silence: str = ""  # why it says nothing


def look(system: System) -> Daemon:
    """What is installed and what runs. Nothing is started by looking, and no user's docker context is followed."""
    unit = read_unit(system)
    version = _version(system, program_of(unit))
    if not unit.active:
        return Daemon(version, unit, None, "%s is %s" % (UNIT, unit.state))
    engine, silence = ask_engine(system)
    return Daemon(version, unit, engine, silence)


def program_of(unit: Unit) -> str:
    """The dockerd that the next start of the unit runs."""
    return unit.arguments[0] if unit.arguments else "dockerd"


def _version(system: System, program: str) -> t.Optional[t.Tuple[int, ...]]:
    ran = system.run([program, "--version"], COMMAND_TIMEOUT)
    if ran.missing:
        return None
    version = version_numbers(ran.stdout.partition("version ")[2])
    if not version:
        raise DockerConfigError("the version of dockerd cannot be read: %s" % said(ran))
    return version


def read_unit(system: System) -> Unit:
    ran = system.run(["systemctl", "show", UNIT, "--property", ",".join(_PROPERTIES)], COMMAND_TIMEOUT)
    if ran.rc != 0:
        raise DockerConfigError("the state of %s cannot be read: %s" % (UNIT, said(ran)))
    shown: t.Dict[str, t.List[str]] = {}
    for line in ran.stdout.splitlines():
        name, _equals, value = line.partition("=")
        shown.setdefault(name, []).append(value)
    first = {name: values[0] for name, values in shown.items()}
    state = first.get("ActiveState", "")
    arguments = _arguments(system, dockerd_flags.loaded(shown))
    needs_reload = first.get("NeedDaemonReload") == "yes"
    return Unit(
        loaded=first.get("LoadState") == "loaded",
        active=state == "active",
        state=state,
        invocation=first.get("InvocationID", ""),
        started_at=_started_at(system, first.get("ExecMainStartTimestampMonotonic", "")),
        arguments=arguments,
        needs_reload=needs_reload,
        later=_arguments_on_disk(system) if needs_reload else arguments,
    )


def _arguments_on_disk(system: System) -> t.Tuple[str, ...]:
    ran = system.run(["systemctl", "cat", UNIT], COMMAND_TIMEOUT)
    if ran.rc != 0:
        raise DockerConfigError("the files of %s cannot be read: %s" % (UNIT, said(ran)))
    return _arguments(system, dockerd_flags.on_disk(ran.stdout))


def _started_at(system: System, monotonic: str) -> t.Optional[float]:
    """By way of the monotonic clock: the wall clock may have been set since then."""
    if not monotonic.isdigit() or monotonic == "0":
        return None
    return system.now() - (system.monotonic() - int(monotonic) / 1e6)


def _arguments(system: System, service: dockerd_flags.Service) -> t.Tuple[str, ...]:
    variables = dict(service.environment)
    for path in service.environment_files:
        variables.update(dockerd_flags.environment(known(system.read(path)) or ""))
    return tuple(dockerd_flags.command_line(service.words, variables))


def ask_engine(system: System) -> t.Tuple[t.Optional[DockerEngine], str]:
    """What the engine says that the probe asks too, or why it says nothing."""
    reading = docker.engine(system)
    return reading.value, reading.error or "docker is not installed, so Docker cannot be asked"
