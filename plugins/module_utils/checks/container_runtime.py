# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer container_runtime: the right engine answers, runs with the wanted settings, and starts a container with GPUs.

File, running daemon and container are three things: a setting in daemon.json says nothing of the daemon that was
started before it, and a daemon that lists the runtime has not started anything with it yet.
"""

from __future__ import annotations

import re
import typing as t

from .. import daemon_in_force, docker_record
from ..daemon_keys import Fault, faults
from ..model import Desired, Evidence, Finding
from ..parse.text import is_secret, without_secrets
from ..problem import MISSING
from ..trees import Path, at, differing, merged, obstacles
from . import daemon_refusals, start_errors, which_daemon
from .outcome import all_passed, failed, passed, skipped, unknown
from .wanted import RUN_SITE, injections

_RESTART = "%s It restarts Docker, which needs docker_allow_restart=true while containers run." % RUN_SITE
#: The reader names the place of what dockerd would not read; a file that could not be opened has none.
_MALFORMED = re.compile(r": (?:line|byte) \d+")


def engine(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    reading, want = evidence.docker, str(desired.lock["docker"]["version"])
    if which_daemon.stranger(evidence):
        return [skipped("another daemon answers: see container_runtime.daemon")]
    if not reading.known:
        return [_silent(reading.error or "", evidence)]
    if reading.value is None:
        return [
            failed(
                expected="Docker %s" % want,
                actual="not installed",
                cause="Docker is not installed.",
                fix=RUN_SITE,
                repair="roles",
            )
        ]
    there = reading.value
    if _plain_version(there.version) != _plain_version(want):
        return [
            failed(
                expected=want,
                actual=there.version,
                cause="The running daemon is of another version than the installed one: it was not restarted since.",
                fix=_RESTART,
                repair="roles",
            )
        ]
    return [passed("Docker %s, root %s" % (there.version, there.root_dir))]


def _silent(words: str, evidence: Evidence) -> Finding:
    unit = (evidence.units.value or {}).get(docker_record.UNIT)
    if unit is None or unit.active == "active":
        return unknown(words, fix="Look at journalctl -u docker.")
    why = daemon_refusals.find(evidence)
    if why is not None:
        return failed(
            expected="an engine that answers",
            actual=words,
            cause="Docker does not start: %s." % why.cause,
            fix=why.fix,
            repair=why.repair,
        )
    return failed(
        expected="an engine that answers",
        actual=words,
        cause="%s is %s." % (docker_record.UNIT, unit.active if unit.load == "loaded" else unit.load),
        fix="%s journalctl -b -u docker says why it does not run." % RUN_SITE,
        repair="roles",
    )


def _plain_version(version: str) -> str:
    """``5:26.1.5+dfsg1-9`` and ``26.1.5+dfsg1`` are the engine 26.1.5: distributions add to the engine's own number."""
    match = re.search(r"\d+\.\d+(?:\.\d+)?", version)
    return match.group() if match else version


def daemon_config(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    reading = evidence.docker_config
    if not reading.known:
        words = reading.error or ""
        if not _MALFORMED.search(words):
            return [unknown(words)]
        return [
            failed(
                expected="JSON that dockerd can read",
                actual=words,
                cause="Docker's configuration cannot be read, and its next restart would fail: %s." % words,
                fix="Mend the file at that place; nothing is written to a file that cannot be read.",
                repair="manual",
            )
        ]
    config = reading.value or {}
    stops = list(_in_the_way(config, desired.daemon)) or faults(merged(config, desired.daemon))
    if stops:
        return [
            failed(
                ".".join(fault.path),
                expected="settings with which dockerd starts",
                actual=str(fault),
                cause="Docker's next start would fail, and stop all containers. In daemon.json: %s." % fault,
                fix="Mend daemon.json there; nothing is written to it before.",
                repair="manual",
            )
            for fault in stops
        ]
    problems = [
        failed(
            ".".join(path),
            expected=_shown(desired.daemon, path),
            actual=_shown(config, path),
            cause="daemon.json does not have %s as wanted: it was edited by hand or never written." % ".".join(path),
            fix=RUN_SITE,
            repair="roles",
        )
        for path in differing(config, desired.daemon)
    ]
    return all_passed(problems, "%d wanted settings are in daemon.json" % len(desired.daemon))


def _in_the_way(config: t.Mapping[str, t.Any], wanted: t.Mapping[str, t.Any]) -> t.Iterator[Fault]:
    for path in obstacles(config, wanted):
        message = "is %s object" % ("no" if isinstance(at(wanted, path), dict) else "an")
        yield Fault(path, at(config, path), message, "take the key out, and the next run writes it")


def _shown(config: t.Mapping[str, t.Any], path: t.Sequence[str]) -> str:
    value = at(config, path, MISSING)
    if value is MISSING:
        return "not set"
    return "not shown" if path and is_secret(path[-1]) else without_secrets(repr(value))


def daemon_current(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """Whether the running daemon has what the file says. Derived from state, so that a run that was killed between the
    write and the restart is finished by the next.
    """
    not_ours = which_daemon.not_ours(evidence)
    if not_ours:
        return [not_ours]
    told = evidence.docker.value.told if evidence.docker.value else {}
    problems = [
        failed(
            ".".join(path),
            expected=_shown(desired.daemon, path),
            actual=_shown(told, path),
            cause="The running daemon has not read its settings.",
            fix=_RESTART,
            repair="roles",
        )
        for path in daemon_in_force.contradicted(told, desired.daemon)
    ]
    stale = _stale(desired, evidence, daemon_in_force.untold(told, desired.daemon))
    if not problems and stale:
        problems.append(
            failed(
                expected="a daemon that was started with the wanted settings",
                actual="daemon.json is newer than the start of Docker",
                cause="daemon.json was written after Docker was started, and Docker does not tell whether it has %s in"
                " force." % daemon_in_force.names(stale),
                fix=_RESTART,
                repair="roles",
            )
        )
    return all_passed(problems, "the running daemon has the wanted settings")


def _stale(desired: Desired, evidence: Evidence, untold: t.Sequence[Path]) -> t.List[Path]:
    file, unit = evidence.docker_config_file.value, (evidence.units.value or {}).get(docker_record.UNIT)
    if file is None:
        return []  # see container_runtime.daemon_config
    started_at, invocation = (unit.started_at, unit.invocation) if unit else (None, "")
    return docker_record.stale(file.mtime, started_at, evidence.docker_record.value, invocation, desired.daemon, untold)


def injection(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """A fresh container with all GPUs starts, by every wanted way. A container that runs already proves nothing."""
    own = {way: (words, error) for way, words, error in start_errors.of_layer("container_runtime", desired, evidence)}
    return [_started(way, evidence, own.get(way)) for way in injections(desired)]


def _started(way: str, evidence: Evidence, own: t.Optional[t.Tuple[str, start_errors.StartError]]) -> Finding:
    reading = evidence.containers.get(way)
    if reading is None or not reading.known:
        return unknown(reading.error or "" if reading else "no container was started in this look", way)
    look = reading.value
    if look is None:
        return unknown("there is no answer of the container", way)
    if look.started:
        return passed("a container with all GPUs starts", way)
    if own is None:
        return skipped("the container did not start for a reason of a later layer: %s" % look.error, way)
    words, error = own
    return failed(
        way,
        expected="a container starts with all GPUs",
        actual=words,
        cause=error.cause,
        fix=error.fix,
        repair=error.repair,
    )
