# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stop the containers that have GPUs, and start exactly these again.

They are remembered on the node before the first is stopped and forgotten after the last runs, so that a run that is
killed in between loses none.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import datetime
import typing as t

from . import drained
from .drained import PATH, Drained, Inspected
from .model import RunningContainer
from .parse.text import last_line
from .probe import running
from .probe.docker import DOCKER
from .system import System, SystemFailure

_LOOK_SECONDS = 30.0

#: At once: the engine stops them side by side, and a node has few processors to spare for clients.
_AT_ONCE = 8

#: One that is started anew meanwhile, by its restart policy or by hand, is seen in the next round.
_ROUNDS = 3

#: So many ids are named in one command.
_BATCH = 500

_GONE = ("No such container", "No such object")


@dataclasses.dataclass(frozen=True)
class Drain:
    """``stopped`` were stopped or would be; ``left`` are not ours to stop, each with the reason; ``problems``: what of
    the rest did not stop, in words.
    """

    changed: bool
    stopped: t.Tuple[str, ...] = ()
    left: t.Tuple[t.Dict[str, str], ...] = ()
    problems: t.Tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Undrain:
    """``running`` ran already, ``gone`` are not there any more, ``problems`` says which did not start, and why."""

    changed: bool
    started: t.Tuple[str, ...] = ()
    running: t.Tuple[str, ...] = ()
    gone: t.Tuple[str, ...] = ()
    problems: t.Tuple[str, ...] = ()


def drain(system: System, margin: float, check_mode: bool = False) -> Drain:
    """:arg margin: seconds that Docker may take beyond a container's own time to stop

    :raises SystemFailure: where it is not known what runs, or what was stopped before
    """
    stopped: t.Dict[str, None] = {}
    failed: t.Dict[str, str] = {}
    changed = False
    ours, left = _to_stop(system)
    if check_mode:
        return Drain(bool(ours), tuple(one.label for one, _seen in ours), left)
    for _round in range(_ROUNDS):
        if not ours or failed:
            break
        changed = _remember(system, [one for one, _seen in ours]) or changed
        failed = _each(lambda pair: _stop(system, pair[1], margin), {one.label: (one, seen) for one, seen in ours})
        stopped.update(dict.fromkeys(one.label for one, _seen in ours))
        ours, left = _to_stop(system)
    there = {one.label: failed.get(one.label, "it was started again") for one, _seen in ours}
    names = tuple(label for label in stopped if label not in there)
    return Drain(changed or bool(names), names, left, tuple("%s: %s" % pair for pair in there.items()))


def _to_stop(
    system: System,
) -> t.Tuple[t.List[t.Tuple[RunningContainer, Inspected]], t.Tuple[t.Dict[str, str], ...]]:
    """The containers that a drain stops, and those that it leaves, with the reason."""
    found = running.containers(system)
    if not found.known:
        raise SystemFailure("it is not known which containers have GPUs: %s" % found.error)
    there = _inspect(system, [one.id for one in found.value or ()])
    ours: t.List[t.Tuple[RunningContainer, Inspected]] = []
    left: t.List[t.Dict[str, str]] = []
    for one in found.value or ():
        seen = there.get(one.id)
        if seen is None or not seen.running:
            continue  # it has ended meanwhile
        why = drained.why_left(one, seen)
        if why:
            left.append({"container": one.label, "why": why})
        else:
            ours.append((one, seen))
    return ours, tuple(left)


def _inspect(system: System, identities: t.Sequence[str]) -> t.Dict[str, Inspected]:
    found: t.Dict[str, Inspected] = {}
    for at in range(0, len(identities), _BATCH):
        some = identities[at : at + _BATCH]
        command = system.run([*DOCKER, "container", "inspect", "--format", drained.FORMAT, *some], _LOOK_SECONDS)
        complaints = [line for line in command.stderr.splitlines() if line.strip()]
        only_gone = bool(complaints) and all(any(words in line for words in _GONE) for line in complaints)
        if command.error is not None or (command.rc != 0 and not only_gone):
            said = command.error or last_line(command.stderr) or "rc %s" % command.rc
            raise SystemFailure("it is not known what becomes of %d containers: %s" % (len(some), said))
        described = drained.inspected(command.stdout)
        if not described.known:
            raise SystemFailure(described.error)
        found.update(described.value or {})
    return found


def _remembered(system: System) -> t.Tuple[Drained, ...]:
    text = system.read(PATH)
    if not text.known:
        raise SystemFailure("it is not known what was stopped before: %s" % text.error)
    if text.value is None:
        return ()
    found = drained.parse(text.value)
    if not found.known:
        raise SystemFailure("it is not known what was stopped before: %s" % found.error)
    return found.value or ()


def _remember(system: System, containers: t.Sequence[RunningContainer]) -> bool:
    """Before one of them is stopped. Whether there were any that were not in the file."""
    now = datetime.datetime.fromtimestamp(system.now(), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    before = _remembered(system)
    after = drained.added(before, (Drained(one.id, one.name, one.image, now) for one in containers))
    if after != before:
        system.write(PATH, drained.text_of(after).encode("utf-8"))
    return after != before


T = t.TypeVar("T")


def _each(work: t.Callable[[T], str], items: t.Mapping[str, T]) -> t.Dict[str, str]:
    """What went wrong, by item; what went well is left out."""
    with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        said = list(pool.map(work, items.values()))
    return {label: words for label, words in zip(items, said) if words}


def _stop(system: System, seen: Inspected, margin: float) -> str:
    """By Docker's own reckoning: the container's stop signal, its time to stop, then SIGKILL."""
    command = system.run([*DOCKER, "container", "stop", seen.id], seen.stop_seconds + margin)
    if command.rc == 0 or any(words in command.stderr for words in _GONE):
        return ""
    return command.error or "docker container stop: %s" % (last_line(command.stderr) or "rc %s" % command.rc)


def undrain(system: System, timeout: float, check_mode: bool = False) -> Undrain:
    """:arg timeout: seconds that the start of one container may take

    :raises SystemFailure: where it is not known what was stopped, or what of it runs
    """
    kept = _remembered(system)
    there = _inspect(system, [one.id for one in kept]) if kept else {}
    runs = [one for one in kept if one.id in there and there[one.id].running]
    gone = [one for one in kept if one.id not in there]
    due = {one.label: one for one in kept if one.id in there and not there[one.id].running}
    failed: t.Dict[str, str] = {}
    if not check_mode:
        failed = _each(lambda one: _start(system, one, timeout), due)
        # One that lives in another's network is refused as long as that one does not run.
        failed = _each(lambda one: _start(system, one, timeout), {label: due[label] for label in failed})
        _forget_but(system, [one for one in kept if one.label in failed])
    return Undrain(
        changed=bool(kept) and (check_mode or len(failed) < len(kept)),
        started=tuple(label for label in due if label not in failed),
        running=tuple(one.label for one in runs),
        gone=tuple(one.label for one in gone),
        problems=tuple("%s: %s" % pair for pair in failed.items()),
    )


def _start(system: System, one: Drained, timeout: float) -> str:
    command = system.run([*DOCKER, "container", "start", one.id], timeout)
    if command.rc == 0:
        return ""
    return command.error or "docker container start: %s" % (last_line(command.stderr) or "rc %s" % command.rc)


def _forget_but(system: System, left: t.Sequence[Drained]) -> None:
    """Last of all. Also where there is no file: it costs nothing."""
    if left:
        system.write(PATH, drained.text_of(left).encode("utf-8"))
    else:
        system.remove(PATH)
