# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would stop Docker, found before daemon.json is written: flags that collide with it, and what dockerd refuses."""

from __future__ import annotations

import typing as t

from . import daemon_json, daemon_keys, dockerd_flags
from .docker_record import UNIT
from .docker_state import COMMAND_TIMEOUT, Daemon, DockerConfigError, program_of
from .system import System, said

#: From here on dockerd has --validate, and reads a file with a byte order mark.
VALIDATES_SINCE = (23,)
#: From here on, one that is started without root's rights says so right after it has read its file, and does nothing.
_STOPS_WITHOUT_RIGHTS_SINCE = (20, 10)
#: So many faults of a file are told at once.
_TOLD = 10

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


def refuse_conflicts(daemon: Daemon, config: t.Mapping[str, t.Any], path: str) -> None:
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


def validate(system: System, daemon: Daemon, raw: t.Optional[bytes], candidate: bytes, path: str) -> bool:
    """Refuse what dockerd would refuse. False when there is no dockerd here, or none that can tell before it starts."""
    config = daemon_json.load(candidate)
    known_before = {fault.path for fault in daemon_keys.faults(daemon_json.load(raw))}
    faults = daemon_keys.faults(config)
    theirs = [fault for fault in faults if fault.path in known_before]
    if theirs:
        raise _file_refused(
            path,
            raw == candidate,
            _some(theirs, lambda fault: "%s: %s" % (daemon_json.place(raw or b"", fault.path), fault)),
        )
    if faults:
        raise _settings_refused(path, _some(faults, str))
    validated, words = _asked(system, daemon, config, candidate, path)
    if not words:
        return validated
    before = "" if raw is None else _asked(system, daemon, config, raw, path)[1]
    if before:
        raise _file_refused(path, raw == candidate, before)
    raise _settings_refused(path, words)


def _some(faults: t.Sequence[daemon_keys.Fault], spell: t.Callable[[daemon_keys.Fault], str]) -> str:
    """The first of them: nobody reads a thousand, and to find the place of each takes its time."""
    words = [spell(fault) for fault in faults[:_TOLD]]
    return "; ".join(words + ["and %d more" % (len(faults) - _TOLD)] * (len(faults) > _TOLD))


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
        ran = system.run([*argv, "--config-file", temporary], COMMAND_TIMEOUT)
    if argv[0] != _WITHOUT_RIGHTS[0]:
        return ran.rc == 0, "" if ran.rc == 0 else said(ran).replace(temporary, path)
    refused = [line for line in ran.stderr.splitlines() if "unable to configure the Docker daemon" in line]
    return "needs to be started with root" in ran.stderr, "; ".join(refused).replace(temporary, path)


def _validator(daemon: Daemon, config: t.Mapping[str, t.Any]) -> t.List[str]:
    """The command that has dockerd read a file and do nothing with it; none where there is no such way."""
    program = program_of(daemon.unit)
    if daemon.version is None or daemon.version < _STOPS_WITHOUT_RIGHTS_SINCE:
        return []
    if daemon.version >= VALIDATES_SINCE:
        return [program, "--validate"]
    return [] if config.get("rootless") else [*_WITHOUT_RIGHTS, program]
