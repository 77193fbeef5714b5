# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring settings into daemon.json and into the running Docker daemon, so that no mistake of ours stops it.

Everything that can be known before is asked before the file is written: flags of the unit that collide with the file,
types that dockerd does not take, and dockerd's own validation. Whether a restart is due follows from state, never from
"the file was just written", so a run that died between write and restart is finished by the next one. A daemon that
does not come back gets its old file back.

The daemon tells some of its settings (``docker info``). For the others (log options, say) it is remembered for which
start of the daemon they were known to be in force: see ``docker_record``.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import re
import time
import typing as t

from . import daemon_in_force, daemon_json, daemon_keys, docker_record, dockerd_flags
from .daemon_in_force import names
from .model import DockerEngine
from .probe import docker
from .system import System, known, said
from .version import version_numbers

UNIT = "docker.service"
CONSENT = "docker_allow_restart"

BACKUP_MARK = ".goldennode-"
BACKUPS_KEPT = 3

#: From here on dockerd has --validate, and reads a file with a byte order mark.
_VALIDATES_SINCE = (23,)
#: From here on, one that is started without root's rights says so right after it has read its file, and does nothing.
_STOPS_WITHOUT_RIGHTS_SINCE = (20, 10)
#: Nobody, who may read the file and nothing else.
_WITHOUT_RIGHTS = (
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--inh-caps=-all,+dac_read_search",
    "--ambient-caps=-all,+dac_read_search",
    "--no-new-privs",
)

#: Docker keeps containers through a restart by live-restore only as long as these stay as they are.
_LIVE_RESTORE_NEEDS = (
    "bip",
    "bip6",
    "bridge",
    "containerd",
    "containerd-namespace",
    "data-root",
    "default-address-pools",
    "exec-opts",
    "exec-root",
    "fixed-cidr",
    "fixed-cidr-v6",
    "storage-driver",
    "storage-opts",
    "userns-remap",
)

#: Seconds after which a half-written file is of a run that was killed, and not of one that is writing now.
_LITTER_AGE = 3600

_HINTS = {
    errno.ENOSPC: "make room on its file system",
    errno.EDQUOT: "make room in the quota of its owner",
    errno.EROFS: "its file system is read-only: mount it for writing",
    errno.EPERM: "the file or its folder may be immutable: lsattr -d shows an i then, and chattr -i takes it off",
    errno.EACCES: "the file or its folder may not be written: look at its mode, at SELinux and at AppArmor",
}

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
    later: t.Tuple[str, ...] = ()  # the arguments once systemd has read its units again, where these have changed


@dataclasses.dataclass(frozen=True)
class Daemon:
    """Docker as it stands on the node before anything is changed."""

    version: t.Optional[t.Tuple[int, ...]]  # of the installed dockerd; None: it is not installed
    unit: Unit
    engine: t.Optional[DockerEngine]
    silence: str = ""  # why it says nothing


def apply(system: System, wanted: Wanted) -> Outcome:
    """Bring the file and the daemon to what is wanted, as far as consent goes."""
    raw = known(system.read_bytes(wanted.path))
    candidate = _merged(raw, wanted)
    config = daemon_json.load(candidate)
    daemon = look(system)
    if daemon.version and daemon.version < _VALIDATES_SINCE:
        candidate = daemon_json.without_mark(candidate)
    _refuse_conflicts(daemon, config, wanted.path)
    validated = _validate(system, daemon, raw, candidate, wanted.path)

    reason = _restart_reason(system, daemon, wanted, raw)
    shaken = _shaken(system, daemon, config, raw, wanted)
    refused = _refusal(daemon, config, wanted.restart, shaken) if reason else ""
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

    backup = _replace(system, wanted, raw, candidate) if written else None
    if restart:
        _restart(system, wanted, raw, written, backup)
    if daemon.unit.loaded and not refused:
        _remember(system, wanted.settings)
    return dataclasses.replace(outcome, backup_file=backup)


def look(system: System) -> Daemon:
    """What is installed and what runs. Nothing is started by looking, and no user's docker context is followed."""
    unit = _unit(system)
    version = _version(system, _program(unit))
    if not unit.active:
        return Daemon(version, unit, None, "%s is %s" % (UNIT, unit.state))
    engine, silence = _engine(system)
    return Daemon(version, unit, engine, silence)


# Before the file is written


def _merged(raw: t.Optional[bytes], wanted: Wanted) -> bytes:
    try:
        return daemon_json.merge(raw, wanted.settings)
    except daemon_json.DaemonJsonError as error:
        raise DockerConfigError("%s, which was left as it is: %s" % (wanted.path, error)) from error


def _refuse_conflicts(daemon: Daemon, config: t.Mapping[str, t.Any], path: str) -> None:
    unit = daemon.unit
    _refuse_start(daemon, unit.arguments, config, path, "")
    if unit.later != unit.arguments:
        _refuse_start(daemon, unit.later, config, path, "after the next systemctl daemon-reload or boot, ")


def _refuse_start(
    daemon: Daemon, arguments: t.Sequence[str], config: t.Mapping[str, t.Any], path: str, when: str
) -> None:
    """Refuse when a dockerd with these arguments would read another file, or would not start with this one."""
    if not arguments:
        return
    read = dockerd_flags.config_path(arguments)
    if read != path:
        raise DockerConfigError(
            "%s%s starts dockerd with --config-file %s, so %s would not be read; give that path instead, or take the"
            " flag out of the unit" % (when, UNIT, read, path)
        )
    conflicts = dockerd_flags.conflicts(arguments, config, daemon.version)
    if conflicts:
        stale = not when and daemon.unit.needs_reload
        raise DockerConfigError(
            "%sdockerd would not start: %s given both in %s and as a flag of %s. Nothing was changed. Keep each in one"
            " place: to keep it in the file, run systemctl edit %s, write the three lines [Service], ExecStart= and"
            " ExecStart=%s, and run systemctl daemon-reload.%s"
            % (
                when,
                ", ".join("%s (flag %s) is" % pair for pair in conflicts),
                path,
                UNIT,
                UNIT,
                arguments[0],
                " The unit has changed on disk since: run systemctl daemon-reload first." if stale else "",
            )
        )


def _validate(system: System, daemon: Daemon, raw: t.Optional[bytes], candidate: bytes, path: str) -> bool:
    """Refuse what dockerd would refuse. False when there is no dockerd here, or none that can tell before it starts."""
    config = daemon_json.load(candidate)
    known_before = {fault.path for fault in daemon_keys.faults(daemon_json.load(raw))}
    faults = daemon_keys.faults(config)
    theirs = [fault for fault in faults if fault.path in known_before]
    if theirs:
        raise _file_refused(
            path, raw == candidate, "; ".join("%s: %s" % (_place(raw, fault), fault) for fault in theirs)
        )
    if faults:
        raise _settings_refused(path, "; ".join(map(str, faults)))
    validated, words = _asked(system, daemon, config, candidate, path)
    if not words:
        return validated
    before = "" if raw is None else _asked(system, daemon, config, raw, path)[1]
    if before:
        raise _file_refused(path, raw == candidate, before)
    raise _settings_refused(path, words)


def _place(raw: t.Optional[bytes], fault: daemon_keys.Fault) -> str:
    return daemon_json.place(raw or b"", fault.path)


def _file_refused(path: str, unchanged: bool, words: str) -> DockerConfigError:
    return DockerConfigError(
        "dockerd refuses %s as it is on the node; %s: %s"
        % (
            path,
            "mend the file"
            if unchanged
            else "the fault was there before, and a restart of Docker would stop all containers on it. Nothing was"
            " changed; mend the file first",
            words,
        )
    )


def _settings_refused(path: str, words: str) -> DockerConfigError:
    return DockerConfigError(
        "dockerd refuses %s with the wanted settings in it; nothing was changed, mend the settings: %s" % (path, words)
    )


def _asked(
    system: System, daemon: Daemon, config: t.Mapping[str, t.Any], content: bytes, path: str
) -> t.Tuple[bool, str]:
    """(whether dockerd itself has taken the content, what it says against it)."""
    argv = _validator(daemon, config)
    if not argv:
        return False, ""
    with system.temporary(content) as temporary:
        ran = system.run([*argv, "--config-file", temporary], _COMMAND_TIMEOUT)
    if argv[0] != _WITHOUT_RIGHTS[0]:
        return ran.rc == 0, "" if ran.rc == 0 else said(ran).replace(temporary, path)
    refused = [line for line in ran.stderr.splitlines() if "unable to configure the Docker daemon" in line]
    return "needs to be started with root" in ran.stderr, "; ".join(refused).replace(temporary, path)


def _validator(daemon: Daemon, config: t.Mapping[str, t.Any]) -> t.List[str]:
    """The command that has dockerd read a file and do nothing with it; none where there is no such way."""
    program = _program(daemon.unit)
    if daemon.version is None or daemon.version < _STOPS_WITHOUT_RIGHTS_SINCE:
        return []
    if daemon.version >= _VALIDATES_SINCE:
        return [program, "--validate"]
    return [] if config.get("rootless") else [*_WITHOUT_RIGHTS, program]


# Is a restart due?


def _restart_reason(system: System, daemon: Daemon, wanted: Wanted, raw: t.Optional[bytes]) -> str:
    if not daemon.unit.loaded:
        return ""  # not installed: its first start reads the file
    if not daemon.unit.active:
        return "%s is %s" % (UNIT, daemon.unit.state)
    if daemon.engine is None:
        return daemon.silence
    running = version_numbers(daemon.engine.version)
    if running and daemon.version and running != daemon.version:
        return "Docker %s runs, and %s is installed" % tuple(
            ".".join(map(str, numbers)) for numbers in (running, daemon.version)
        )
    wrong = daemon_in_force.contradicted(daemon.engine.told, wanted.settings)
    if wrong:
        return "the running daemon does not have %s as wanted" % names(wrong)
    untold = daemon_in_force.untold(daemon.engine.told, wanted.settings)
    touched = daemon_json.differing(daemon_json.load(raw), wanted.settings)
    pending = [path for path in untold if any(path[: len(start)] == start for start in touched)]
    if pending:
        return "%s changed in %s" % (names(pending), wanted.path)
    if untold and _is_stale(system, daemon, wanted):
        return "%s was changed after Docker was started, and Docker does not tell whether it has %s in force" % (
            wanted.path,
            names(untold),
        )
    return ""


def _is_stale(system: System, daemon: Daemon, wanted: Wanted) -> bool:
    """The daemon may have started before the settings came into the file."""
    if not _is_newer(system, daemon, wanted.path):
        return False
    return bool(_recorded(system) != docker_record.fingerprint(daemon.unit.invocation, wanted.settings))


def _is_newer(system: System, daemon: Daemon, path: str) -> bool:
    """The file was changed after the daemon was started, or nobody knows."""
    started_at = daemon.unit.started_at
    return started_at is None or system.changed_at(path) >= started_at


def _shaken(
    system: System, daemon: Daemon, config: t.Mapping[str, t.Any], raw: t.Optional[bytes], wanted: Wanted
) -> str:
    """What a restart would, or may, change under running containers so that live-restore cannot keep them, or ""."""
    if daemon.engine is None:
        return ""
    running = version_numbers(daemon.engine.version)
    if running and daemon.version and running[:2] != daemon.version[:2]:
        return "the version of Docker"
    needed = {key: config[key] for key in _LIVE_RESTORE_NEEDS if key in config}
    told = daemon.engine.told
    touched = {path[0] for path in daemon_json.differing(daemon_json.load(raw), wanted.settings)}
    moved = {path[0] for path in daemon_in_force.contradicted(told, needed)}
    moved |= {path[0] for path in daemon_in_force.untold(told, needed) if path[0] in touched}
    if raw is not None and _is_newer(system, daemon, wanted.path):
        moved |= {path[0] for path in daemon_in_force.untold(told, needed)}  # by its owner, perhaps
    return ", ".join(sorted(moved))


def _refusal(daemon: Daemon, config: t.Mapping[str, t.Any], restart: str, shaken: str) -> str:
    """Why a due restart must not be done now; "" when it may be."""
    if restart == "never":
        return "a restart was not asked for (restart: never)"
    if restart == "when_due" or not daemon.unit.active:
        return ""
    engine = daemon.engine
    if engine is None or engine.containers_running is None:
        return "whether containers run is not known; set %s to true to restart Docker anyway" % CONSENT
    if engine.containers_running == 0:
        return ""
    stays = config.get("live-restore") is True or dockerd_flags.switched_on(daemon.unit.arguments, "live-restore")
    kept = engine.live_restore and stays
    if kept and not shaken:
        return ""
    return "%s running, which a restart of Docker would stop%s; stop them, or set %s to true" % (
        "1 container is" if engine.containers_running == 1 else "%d containers are" % engine.containers_running,
        ": live-restore does not keep them where %s changes" % shaken if kept else "",
        CONSENT,
    )


# The change


def _replace(system: System, wanted: Wanted, raw: t.Optional[bytes], candidate: bytes) -> t.Optional[str]:
    """Write the file, with the one before it beside it. Returns where that is kept."""
    _tidy(system, wanted.path)
    backup = _back_up(system, wanted.path, raw) if raw and wanted.backup else None
    try:
        _write(system, wanted.path, candidate)
    except DockerConfigError:
        if backup:
            system.remove(backup)  # of a file that is there still; more of them would push out older ones
        raise
    if backup:
        for old in _backups(system, wanted.path)[:-BACKUPS_KEPT]:
            system.remove(old)
    return backup


def _write(system: System, path: str, content: bytes, like: t.Optional[str] = None) -> None:
    try:
        system.write(path, content, like=like)
    except OSError as error:
        hint = _HINTS.get(error.errno or 0)
        raise DockerConfigError(
            "%s could not be written: %s. The file is as it was%s"
            % (path, error.strerror or error, "; " + hint if hint else "")
        ) from error


def _back_up(system: System, path: str, raw: bytes) -> str:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(system.now()))
    backup = "%s%s%s~" % (path, BACKUP_MARK, stamp)
    _write(system, backup, raw, like=path)
    return backup


def _backups(system: System, path: str) -> t.List[str]:
    folder, _slash, name = path.rpartition("/")
    mine = re.compile(re.escape(name + BACKUP_MARK) + r"[0-9]{8}T[0-9]{6}Z~$")
    return ["%s/%s" % (folder, entry) for entry in known(system.listdir(folder)) or () if mine.match(entry)]


def _tidy(system: System, path: str) -> None:
    """Remove what runs that were killed in the middle of a write have left: ``System.write``'s half files."""
    folder, _slash, name = (known(system.realpath(path)) or path).rpartition("/")
    half = re.compile(r"\.%s(%s[^.]*)?\.[a-z0-9_]{8}\.goldennode$" % (re.escape(name), re.escape(BACKUP_MARK)))
    for entry, status in (known(system.listdir(folder)) or {}).items():
        if half.match(entry) and status.mtime < system.now() - _LITTER_AGE:
            system.remove("%s/%s" % (folder, entry))


def _restart(system: System, wanted: Wanted, raw: t.Optional[bytes], written: bool, backup: t.Optional[str]) -> None:
    failed = _start_anew(system, wanted.timeout)
    if not failed:
        failed = _wait(system, wanted.settings, wanted.timeout)
        if failed and _engine(system)[0] is not None:
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
    left = _put_back(system, wanted.path, raw, backup)
    again = _start_anew(system, wanted.timeout) or _wait(system, {}, wanted.timeout)
    raise DockerConfigError(
        "Docker does not start with the wanted settings in %s: %s. %s%s\n%s"
        % (
            wanted.path,
            failed,
            left or "The old file was put back and ",
            "Docker does not start with it either: %s." % again if again else "Docker runs again.",
            journal,
        )
    )


def _put_back(system: System, path: str, raw: t.Optional[bytes], backup: t.Optional[str]) -> str:
    """The file as it was. Returns what is to be said when that cannot be done, a full disk say."""
    try:
        if raw is None:
            system.remove(known(system.realpath(path)) or path)  # of a link, what it leads to
        else:
            system.write(path, raw)
    except OSError as error:
        kept = "; it is kept as %s" % backup if backup else ""
        return "The old file could not be put back (%s)%s. " % (error.strerror or error, kept)
    return ""


def _start_anew(system: System, timeout: float) -> str:
    """Restart once. Failed starts before are forgotten, or systemd's start limit refuses ours. "" when it went well."""
    system.run(["systemctl", "reset-failed", UNIT], _COMMAND_TIMEOUT)
    ran = system.run(["systemctl", "restart", UNIT], timeout)
    return "" if ran.rc == 0 else said(ran)


def _wait(system: System, settings: t.Mapping[str, t.Any], timeout: float) -> str:
    """Wait until the daemon answers and has the settings in force; what is missing still when time is up."""
    end = system.monotonic() + timeout
    while True:
        engine, missing = _engine(system)
        if engine is not None:
            wrong = daemon_in_force.contradicted(engine.told, settings)
            missing = "it does not have %s" % names(wrong) if wrong else ""
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


def _program(unit: Unit) -> str:
    """The dockerd that the next start of the unit runs."""
    return unit.arguments[0] if unit.arguments else "dockerd"


def _version(system: System, program: str) -> t.Optional[t.Tuple[int, ...]]:
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
    ran = system.run(["systemctl", "cat", UNIT], _COMMAND_TIMEOUT)
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


def _engine(system: System) -> t.Tuple[t.Optional[DockerEngine], str]:
    """What the engine says that the probe asks too, or why it says nothing."""
    reading = docker.engine(system)
    return reading.value, reading.error or "docker is not installed, so Docker cannot be asked"
