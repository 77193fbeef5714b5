# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring settings into daemon.json and into the running Docker daemon, so that no mistake of ours stops it.

Everything that can be known before is asked before the file is written: flags of the unit that collide with the file,
and dockerd's own validation. Whether a restart is due follows from state, never from "the file was just written", so
a run that died between write and restart is finished by the next one. A daemon that does not come back gets its old
file back.

The daemon tells some of its settings (``docker info``). For the others (log options, say) it is remembered for which
start of the daemon they were known to be in force: see ``docker_record``.
"""

from __future__ import annotations

import dataclasses
import json
import re
import time
import typing as t

from . import daemon_json, docker_record, dockerd_flags
from .probe.docker import DOCKER
from .probe.host import Command
from .system import System, known, said
from .version import version_numbers

UNIT = "docker.service"
CONSENT = "docker_allow_restart"

BACKUP_MARK = ".goldennode-"
BACKUPS_KEPT = 3

_VALIDATES_SINCE = (23,)
_RESERVED_RUNTIMES = ("runc",)
_TELLS_CDI_SINCE = (25,)
_COMMAND_TIMEOUT = 20.0
_POLL = 1.0

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

Path = t.Tuple[str, ...]


class DockerConfigError(Exception):
    """The settings cannot be brought in, or Docker does not take them. The message says what to do."""


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What the caller asks for. ``restart``: ``never``, ``when_idle`` or ``when_due``; ``timeout`` in seconds."""

    settings: t.Dict[str, t.Any]
    path: str = dockerd_flags.DEFAULT_CONFIG
    restart: str = "when_idle"
    timeout: float = 60.0
    backup: bool = True
    check_mode: bool = False


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What was done, or in check mode would be done. ``restart_due``: it still is, for want of consent."""

    changed: bool
    before: str
    after: str
    validated: bool
    restart_due: bool = False
    restarted: bool = False
    reason: str = ""  # why a restart was or is due
    refused: str = ""  # why it was not done
    backup_file: t.Optional[str] = None


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


@dataclasses.dataclass(frozen=True)
class Daemon:
    """Docker as it stands on the node before anything is changed."""

    version: t.Optional[t.Tuple[int, ...]]  # of the installed dockerd; None: it is not installed
    unit: Unit
    info: t.Optional[t.Dict[str, t.Any]]
    silence: str = ""  # why there is no info


def apply(system: System, wanted: Wanted) -> Outcome:
    """Bring the file and the daemon to what is wanted, as far as consent goes."""
    raw = known(system.read_bytes(wanted.path))
    candidate = _merged(raw, wanted)
    config = daemon_json.load(candidate)
    daemon = look(system)
    _refuse_conflicts(daemon, config, wanted.path)
    validated = _validate(system, daemon, raw, candidate, wanted.path)

    reason = _restart_reason(system, daemon, wanted, raw)
    refused = _refusal(daemon, config, wanted.restart) if reason else ""
    written = candidate != (raw or b"")
    restart = bool(reason) and not refused
    outcome = Outcome(
        changed=written or restart,
        before=daemon_json.decode(raw or b""),
        after=daemon_json.decode(candidate),
        validated=validated,
        restart_due=bool(refused),
        restarted=restart,
        reason=reason,
        refused=refused,
    )
    if wanted.check_mode:
        return outcome

    backup = _back_up(system, wanted.path, raw) if written and raw and wanted.backup else None
    if written:
        system.write(wanted.path, candidate)
    if restart:
        _restart(system, wanted, config, raw, written)
    if daemon.unit.loaded and not refused:
        _remember(system, wanted.settings)
    return dataclasses.replace(outcome, backup_file=backup)


def look(system: System) -> Daemon:
    """What is installed and what runs. Nothing is started by looking, and no user's docker context is followed."""
    unit = _unit(system)
    version = _version(system, unit.arguments[0] if unit.arguments else "dockerd")
    if not unit.active:
        return Daemon(version, unit, None, "%s is %s" % (UNIT, unit.state))
    info, silence = _info(system)
    return Daemon(version, unit, info, silence)


# Before the file is written


def _merged(raw: t.Optional[bytes], wanted: Wanted) -> bytes:
    try:
        return daemon_json.merge(raw, wanted.settings)
    except daemon_json.DaemonJsonError as error:
        raise DockerConfigError("%s, which was left as it is: %s" % (wanted.path, error)) from error


def _refuse_conflicts(daemon: Daemon, config: t.Mapping[str, t.Any], path: str) -> None:
    arguments = daemon.unit.arguments
    if not arguments:
        return
    read = dockerd_flags.config_path(arguments)
    if read != path:
        raise DockerConfigError(
            "%s starts dockerd with --config-file %s, so %s would not be read; give that path instead, or take the flag"
            " out of the unit" % (UNIT, read, path)
        )
    conflicts = dockerd_flags.conflicts(arguments, config, daemon.version)
    if conflicts:
        stale = (
            " The unit has changed on disk since: run systemctl daemon-reload first."
            if daemon.unit.needs_reload
            else ""
        )
        raise DockerConfigError(
            "dockerd would not start: %s given both in %s and as a flag of %s. Nothing was changed. Keep each in one"
            " place: to keep it in the file, run systemctl edit %s, write the three lines [Service], ExecStart= and"
            " ExecStart=%s, and run systemctl daemon-reload.%s"
            % (
                ", ".join("%s (flag %s) is" % pair for pair in conflicts),
                path,
                UNIT,
                UNIT,
                arguments[0],
                stale,
            )
        )


def _validate(system: System, daemon: Daemon, raw: t.Optional[bytes], candidate: bytes, path: str) -> bool:
    """Refuse what dockerd would refuse. False when there is no dockerd here, or none that can tell before it starts."""
    validates = daemon.version is not None and daemon.version >= _VALIDATES_SINCE
    words = _complaint(system, validates, candidate, path)
    if words is None:
        return validates
    if raw == candidate:
        raise DockerConfigError("dockerd refuses %s as it is on the node; mend the file: %s" % (path, words))
    if raw is not None and _complaint(system, validates, raw, path) is not None:
        raise DockerConfigError(
            "dockerd refuses %s as it is on the node; the fault was there before, and a restart of Docker would stop"
            " all containers on it. Nothing was changed; mend the file first: %s" % (path, words)
        )
    raise DockerConfigError(
        "dockerd refuses %s with the wanted settings in it; nothing was changed, mend the settings: %s" % (path, words)
    )


def _complaint(system: System, validates: bool, content: bytes, path: str) -> t.Optional[str]:
    faults = unstartable(daemon_json.load(content))
    if faults or not validates:
        return "; ".join(faults) or None
    with system.temporary(content) as temporary:
        ran = system.run(["dockerd", "--validate", "--config-file", temporary], _COMMAND_TIMEOUT)
        return None if ran.rc == 0 else said(ran).replace(temporary, path)


def unstartable(config: t.Mapping[str, t.Any]) -> t.List[str]:
    """What dockerd finds only when it starts: its validation (measured with 26.1) lets these pass."""
    runtimes = config.get("runtimes")
    if not isinstance(runtimes, dict):
        return []
    faults = ["the runtime name %s is reserved; take it out" % name for name in _RESERVED_RUNTIMES if name in runtimes]
    for name, runtime in runtimes.items():
        if isinstance(runtime, dict) and bool(runtime.get("path")) == bool(runtime.get("runtimeType")):
            faults.append("the runtime %s needs either a path or a runtimeType, and not both" % name)
    return faults


# Is a restart due?


def _restart_reason(system: System, daemon: Daemon, wanted: Wanted, raw: t.Optional[bytes]) -> str:
    if not daemon.unit.loaded:
        return ""  # not installed: its first start reads the file
    if not daemon.unit.active:
        return "%s is %s" % (UNIT, daemon.unit.state)
    if daemon.info is None:
        return "docker info does not answer: %s" % daemon.silence
    running = version_numbers(str(daemon.info.get("ServerVersion")))
    if running and daemon.version and running != daemon.version:
        return "Docker %s runs, and %s is installed" % tuple(
            ".".join(map(str, numbers)) for numbers in (running, daemon.version)
        )
    told = in_force(daemon.info, wanted.settings)
    wrong = [path for path, value in told.items() if value is False]
    if wrong:
        return "the running daemon does not have %s as wanted" % _names(wrong)
    untold = [path for path in _leaves(wanted.settings) if told.get(path) is None]
    touched = daemon_json.differing(daemon_json.load(raw), wanted.settings)
    pending = [path for path in untold if any(path[: len(start)] == start for start in touched)]
    if pending:
        return "%s changed in %s" % (_names(pending), wanted.path)
    if untold and _is_stale(system, daemon, wanted):
        return "%s was changed after Docker was started, and Docker does not tell whether it has %s in force" % (
            wanted.path,
            _names(untold),
        )
    return ""


def _is_stale(system: System, daemon: Daemon, wanted: Wanted) -> bool:
    """The daemon may have started before the settings came into the file."""
    started_at = daemon.unit.started_at
    if started_at is not None and system.changed_at(wanted.path) < started_at:
        return False
    return bool(_recorded(system) != docker_record.fingerprint(daemon.unit.invocation, wanted.settings))


def in_force(info: t.Mapping[str, t.Any], settings: t.Mapping[str, t.Any]) -> t.Dict[Path, t.Optional[bool]]:
    """For each setting: does ``docker info`` say that it is in force in the running daemon? None: it does not tell."""
    told: t.Dict[Path, t.Optional[bool]] = {}
    for path in _leaves(settings):
        value = _at(settings, path)
        if path[0] == "runtimes":
            told[path] = _runtime_in_force(info.get("Runtimes"), path, value)
        elif path == ("default-runtime",):
            told[path] = info.get("DefaultRuntime") == value
        elif path == ("features", "cdi"):
            tells = version_numbers(str(info.get("ServerVersion"))) >= _TELLS_CDI_SINCE
            told[path] = bool(info.get("CDISpecDirs")) == value if tells else None
        elif path == ("live-restore",):
            told[path] = info.get("LiveRestoreEnabled") == value
        elif path == ("log-driver",):
            told[path] = info.get("LoggingDriver") == value
        elif path == ("data-root",):
            told[path] = info.get("DockerRootDir") == value
        else:
            told[path] = None
    return told


def _runtime_in_force(runtimes: t.Any, path: Path, value: t.Any) -> t.Optional[bool]:
    """Engines tell a runtime's name and path; they leave out empty arguments, and older ones leave out all."""
    runtime = runtimes.get(path[1]) if isinstance(runtimes, dict) and len(path) > 1 else None
    if not isinstance(runtime, dict):
        return False
    if path[2:] == ("path",):
        return bool(runtime.get("path") == value)
    if path[2:] == ("args",) or path[2:] == ("runtimeArgs",):
        return bool((runtime.get("runtimeArgs") or []) == value)
    return None


def _refusal(daemon: Daemon, config: t.Mapping[str, t.Any], restart: str) -> str:
    """Why a due restart must not be done now; "" when it may be."""
    if restart == "never":
        return "a restart was not asked for (restart: never)"
    if restart == "when_due" or not daemon.unit.active:
        return ""
    if daemon.info is None:
        return "whether containers run is not known; set %s to true to restart Docker anyway" % CONSENT
    running = daemon.info.get("ContainersRunning")
    if running == 0 or (daemon.info.get("LiveRestoreEnabled") is True and config.get("live-restore") is True):
        return ""
    return "%s running, which a restart of Docker would stop; stop them, or set %s to true" % (
        "1 container is" if running == 1 else "%s containers are" % running,
        CONSENT,
    )


# The change


def _back_up(system: System, path: str, raw: bytes) -> str:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(system.now()))
    backup = "%s%s%s~" % (path, BACKUP_MARK, stamp)
    system.write(backup, raw, like=path)
    for old in _backups(system, path)[:-BACKUPS_KEPT]:
        system.remove(old)
    return backup


def _backups(system: System, path: str) -> t.List[str]:
    folder, _slash, name = path.rpartition("/")
    mine = re.compile(re.escape(name + BACKUP_MARK) + r"[0-9]{8}T[0-9]{6}Z~$")
    return ["%s/%s" % (folder, entry) for entry in known(system.listdir(folder)) or () if mine.match(entry)]


def _restart(
    system: System, wanted: Wanted, config: t.Mapping[str, t.Any], raw: t.Optional[bytes], written: bool
) -> None:
    failed = _start_anew(system, wanted.timeout)
    if not failed:
        failed = _wait(system, wanted.settings, wanted.timeout)
        if failed and _info(system)[0] is not None:
            raise DockerConfigError(
                "Docker was restarted and answers, but not with the wanted settings: %s. Does another unit or wrapper"
                " start dockerd with other flags or another file?" % failed
            )
    if not failed:
        return
    journal = _journal(system)
    if not written:
        backups = _backups(system, wanted.path)
        hint = "; the file before the last change is %s" % backups[-1] if backups else ""
        raise DockerConfigError("Docker does not start with %s: %s%s.\n%s" % (wanted.path, failed, hint, journal))
    if raw is None:
        system.remove(wanted.path)
    else:
        system.write(wanted.path, raw)
    again = _start_anew(system, wanted.timeout) or _wait(system, {}, wanted.timeout)
    raise DockerConfigError(
        "Docker does not start with the wanted settings in %s: %s. The old file was put back and %s\n%s"
        % (
            wanted.path,
            failed,
            "Docker does not start with it either: %s." % again if again else "Docker runs again.",
            journal,
        )
    )


def _start_anew(system: System, timeout: float) -> str:
    """Restart once. Failed starts before are forgotten, or systemd's start limit refuses ours. "" when it went well."""
    system.run(["systemctl", "reset-failed", UNIT], _COMMAND_TIMEOUT)
    ran = system.run(["systemctl", "restart", UNIT], timeout)
    return "" if ran.rc == 0 else said(ran)


def _wait(system: System, settings: t.Mapping[str, t.Any], timeout: float) -> str:
    """Wait until the daemon answers and has the settings in force; what is missing still when time is up."""
    end = system.monotonic() + timeout
    while True:
        info, missing = _info(system)
        if info is not None:
            wrong = [path for path, value in in_force(info, settings).items() if value is False]
            missing = "it does not have %s" % _names(wrong) if wrong else ""
            if not wrong:
                return ""
        if system.monotonic() >= end:
            return missing
        system.sleep(_POLL)


def _journal(system: System) -> str:
    ran = system.run(["journalctl", "--unit", UNIT, "--lines", "30", "--no-pager", "--output", "cat"], _COMMAND_TIMEOUT)
    return "Its last words:\n%s" % ran.stdout.strip() if ran.rc == 0 else "Its journal cannot be read: %s" % said(ran)


# The record


def _remember(system: System, settings: t.Mapping[str, t.Any]) -> None:
    now = docker_record.fingerprint(_unit(system).invocation, settings)
    if now["invocation"] and _recorded(system) != now:
        system.write(docker_record.PATH, (json.dumps(now, sort_keys=True) + "\n").encode("utf-8"))


def _recorded(system: System) -> t.Any:
    try:
        return json.loads(t.cast(str, known(system.read(docker_record.PATH)) or "{}"))
    except ValueError:
        return {}  # a record that cannot be read proves nothing; the restart is then due


# Reading


def _version(system: System, program: str) -> t.Optional[t.Tuple[int, ...]]:
    """Of the program that the next start of the unit runs."""
    ran = system.run([program, "--version"], _COMMAND_TIMEOUT)
    if ran.missing:
        return None
    version = version_numbers(ran.stdout.partition("version ")[2])
    if not version:
        raise DockerConfigError("the version of dockerd cannot be read: %s" % said(ran))
    return version


def _unit(system: System) -> Unit:
    ran = system.run(["systemctl", "show", UNIT, "--property", ",".join(_PROPERTIES)], _COMMAND_TIMEOUT)
    if ran.rc != 0:
        raise DockerConfigError("the state of %s cannot be read: %s" % (UNIT, said(ran)))
    shown: t.Dict[str, t.List[str]] = {}
    for line in ran.stdout.splitlines():
        name, _equals, value = line.partition("=")
        shown.setdefault(name, []).append(value)
    first = {name: values[0] for name, values in shown.items()}
    state = first.get("ActiveState", "")
    return Unit(
        loaded=first.get("LoadState") == "loaded",
        active=state == "active",
        state=state,
        invocation=first.get("InvocationID", ""),
        started_at=_started_at(system, first.get("ExecMainStartTimestampMonotonic", "")),
        arguments=tuple(_arguments(system, shown)),
        needs_reload=first.get("NeedDaemonReload") == "yes",
    )


def _started_at(system: System, monotonic: str) -> t.Optional[float]:
    """By way of the monotonic clock: the wall clock may have been set since then."""
    if not monotonic.isdigit() or monotonic == "0":
        return None
    return system.now() - (system.monotonic() - int(monotonic) / 1e6)


def _arguments(system: System, shown: t.Mapping[str, t.Sequence[str]]) -> t.List[str]:
    variables: t.Dict[str, str] = {}
    for value in shown.get("Environment", ()):
        variables.update(dockerd_flags.environment_of_unit(value))
    for path in dockerd_flags.environment_files(shown.get("EnvironmentFiles", ())):
        variables.update(dockerd_flags.environment(known(system.read(path)) or ""))
    return dockerd_flags.command_line("".join(shown.get("ExecStart", ())[:1]), variables)


def _info(system: System) -> t.Tuple[t.Optional[t.Dict[str, t.Any]], str]:
    """docker info of the engine that the probe asks too, or why there is none."""
    ran = system.run([*DOCKER, "info", "--format", "{{json .}}"], _COMMAND_TIMEOUT)
    try:
        info = json.loads(ran.stdout) if ran.stdout else None
    except ValueError:
        return None, "it said what is not JSON: %s" % said(ran)
    # The client answers with rc 0 and ServerErrors when the daemon does not.
    if not isinstance(info, dict) or not info.get("ServerVersion"):
        return None, _why_no_info(ran, info)
    return info, ""


def _why_no_info(ran: Command, info: t.Any) -> str:
    errors = info.get("ServerErrors") if isinstance(info, dict) else None
    return "; ".join(errors) if errors else said(ran)


# Settings as paths


def _leaves(settings: t.Mapping[str, t.Any], path: Path = ()) -> t.List[Path]:
    found: t.List[Path] = []
    for key, value in settings.items():
        found.extend(_leaves(value, path + (key,)) if isinstance(value, dict) and value else [path + (key,)])
    return found


def _at(settings: t.Mapping[str, t.Any], path: Path) -> t.Any:
    value: t.Any = settings
    for key in path:
        value = value[key]
    return value


def _names(paths: t.Iterable[Path]) -> str:
    return ", ".join(".".join(path) for path in paths)
