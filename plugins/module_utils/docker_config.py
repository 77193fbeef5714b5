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
import json
import typing as t

from . import backups, daemon_in_force, daemon_json, docker_record, dockerd_flags, trees
from .daemon_in_force import names
from .docker_record import UNIT
from .docker_refusals import VALIDATES_SINCE, refuse_conflicts, validate
from .docker_state import COMMAND_TIMEOUT, Daemon, DockerConfigError, ask_engine, look, read_unit
from .system import System, known, said
from .trees import Path
from .version import version_numbers

CONSENT = "docker_allow_restart"

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

_POLL = 1.0


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


def apply(system: System, wanted: Wanted) -> Outcome:
    """Bring the file and the daemon to what is wanted, as far as consent goes."""
    raw = known(system.read_bytes(wanted.path))
    candidate = _merged(raw, wanted)
    config = daemon_json.load(candidate)
    daemon = look(system)
    if daemon.version and daemon.version < VALIDATES_SINCE:
        candidate = daemon_json.without_mark(candidate)
    refuse_conflicts(daemon, config, wanted.path)
    validated = validate(system, daemon, raw, candidate, wanted.path)

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

    backup = backups.replace(system, wanted.path, raw, candidate, keep=wanted.backup) if written else None
    if restart:
        _restart(system, wanted, raw, candidate if written else None, backup)
    if daemon.unit.loaded and not refused:
        _remember(system, wanted.settings)
    return dataclasses.replace(outcome, backup_file=backup)


# Before the file is written


def _merged(raw: t.Optional[bytes], wanted: Wanted) -> bytes:
    try:
        return daemon_json.merge(raw, wanted.settings)
    except daemon_json.DaemonJsonError as error:
        raise DockerConfigError("%s, which was left as it is: %s" % (wanted.path, error)) from error


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
    touched = trees.differing(daemon_json.load(raw), wanted.settings)
    pending = [path for path in untold if any(path[: len(start)] == start for start in touched)]
    if pending:
        return "%s changed in %s" % (names(pending), wanted.path)
    stale = _stale(system, daemon, wanted, untold)
    if stale:
        return "%s was changed after Docker was started, and Docker does not tell whether it has %s in force" % (
            wanted.path,
            names(stale),
        )
    return ""


def _stale(system: System, daemon: Daemon, wanted: Wanted, untold: t.Sequence[Path]) -> t.List[Path]:
    if not untold:
        return []
    unit, changed_at = daemon.unit, system.changed_at(wanted.path)
    return docker_record.stale(changed_at, unit.started_at, _recorded(system), unit.invocation, wanted.settings, untold)


def _shaken(
    system: System, daemon: Daemon, config: t.Mapping[str, t.Any], raw: t.Optional[bytes], wanted: Wanted
) -> str:
    """What a restart would, or may, change under running containers so that live-restore cannot keep them, or ""."""
    if daemon.engine is None:
        return ""
    running = version_numbers(daemon.engine.version)
    if running and daemon.version and running[:2] != daemon.version[:2]:
        return "the version of Docker"
    told = daemon.engine.told
    moved = daemon_in_force.contradicted(told, {key: config[key] for key in _LIVE_RESTORE_NEEDS if key in config})
    ours = {key: value for key, value in wanted.settings.items() if key in _LIVE_RESTORE_NEEDS}
    untold = daemon_in_force.untold(told, ours)
    touched = {path[0] for path in trees.differing(daemon_json.load(raw), ours)}
    moved += [path for path in untold if path[0] in touched] or (_stale(system, daemon, wanted, untold) if raw else [])
    return ", ".join(sorted({path[0] for path in moved}))


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


def _restart(
    system: System, wanted: Wanted, raw: t.Optional[bytes], written: t.Optional[bytes], backup: t.Optional[str]
) -> None:
    """:arg written: what this run has put into the file."""
    failed = _start_anew(system, wanted.timeout)
    if not failed:
        failed = _wait(system, wanted.settings, wanted.timeout)
        if failed and ask_engine(system)[0] is not None:
            raise DockerConfigError(
                "Docker was restarted and answers, but not with the wanted settings: %s. Does another unit or wrapper"
                " start dockerd with other flags or another file?" % failed
            )
    if not failed:
        return
    journal = _journal(system)
    if written is None:
        kept = backups.of(system, wanted.path)
        hint = "; the file before the last change is %s" % kept[-1] if kept else ""
        raise DockerConfigError("Docker does not start with %s: %s%s.\n%s" % (wanted.path, failed, hint, journal))
    left = _put_back(system, wanted.path, raw, written, backup)
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


def _put_back(system: System, path: str, raw: t.Optional[bytes], written: bytes, backup: t.Optional[str]) -> str:
    """The file as it was. Returns what is to be said when that cannot be done, a full disk say."""
    there = system.read_bytes(path)
    if there.known and there.value != written:
        return "It was changed by somebody else since, so that it is left as it is now%s. " % (
            "; the old file is %s" % backup if backup else ""
        )
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
    system.run(["systemctl", "reset-failed", UNIT], COMMAND_TIMEOUT)
    ran = system.run(["systemctl", "restart", UNIT], timeout)
    return "" if ran.rc == 0 else said(ran)


def _wait(system: System, settings: t.Mapping[str, t.Any], timeout: float) -> str:
    """Wait until the daemon answers and has the settings in force; what is missing still when time is up."""
    end = system.monotonic() + timeout
    while True:
        engine, missing = ask_engine(system)
        if engine is not None:
            wrong = daemon_in_force.contradicted(engine.told, settings)
            missing = "it does not have %s" % names(wrong) if wrong else ""
            if not wrong:
                return ""
        if system.monotonic() >= end:
            return missing
        system.sleep(_POLL)


def _journal(system: System) -> str:
    ran = system.run(["journalctl", "--unit", UNIT, "--lines", "30", "--no-pager", "--output", "cat"], COMMAND_TIMEOUT)
    return "Its last words:\n%s" % ran.stdout.strip() if ran.rc == 0 else "Its journal cannot be read: %s" % said(ran)


# The record


def _remember(system: System, settings: t.Mapping[str, t.Any]) -> None:
    now = docker_record.fingerprint(read_unit(system).invocation, settings)
    if now["invocation"] and _recorded(system) != now:
        system.write(docker_record.PATH, (json.dumps(now, sort_keys=True) + "\n").encode("utf-8"))


def _recorded(system: System) -> t.Any:
    try:
        return json.loads(t.cast(str, known(system.read(docker_record.PATH)) or "{}"))
    except ValueError:
        return {}  # a record that cannot be read proves nothing; the restart is then due
