# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout as one node records it: its states, which may follow which, and who may move it. Pure.

The record is all the state that a rollout has. So a run that was killed anywhere is continued by the same command, and
another rollout sees that this one is not finished.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import typing as t

from .bundle import digest_of
from .model import SCHEMA, Reading, to_plain
from .plain import from_plain

FILE = "rollout.json"

#: What stands for rollout and wave where a node goes back from what no rollout has brought.
ALONE = "rollback"

PENDING, DRAINING, CONVERGING, VERIFYING, SOAKING = "pending", "draining", "converging", "verifying", "soaking"
GOLDEN, ROLLING_BACK, ROLLED_BACK = "golden", "rolling_back", "rolled_back"
FAILED, STOPPED = "failed", "stopped"

#: The node is being worked on. What a killed run has left in one of these begins again at draining.
WORKING = (DRAINING, CONVERGING, VERIFYING, SOAKING)
#: Work has begun and has not come to its end, forth or back.
IN_FLIGHT = (*WORKING, ROLLING_BACK)
TERMINAL = (GOLDEN, ROLLED_BACK, FAILED, STOPPED)
STATES = (PENDING, *IN_FLIGHT, *TERMINAL)

#: Forward and back within one rollout. To begin again is always DRAINING, and PENDING from an end.
_MOVES: t.Dict[str, t.Tuple[str, ...]] = {
    PENDING: (PENDING, DRAINING, STOPPED),
    DRAINING: (DRAINING, CONVERGING, PENDING, ROLLING_BACK, FAILED),
    CONVERGING: (CONVERGING, VERIFYING, DRAINING, ROLLING_BACK, FAILED),
    VERIFYING: (VERIFYING, SOAKING, DRAINING, ROLLING_BACK, FAILED),
    SOAKING: (SOAKING, GOLDEN, DRAINING, ROLLING_BACK, FAILED),
    ROLLING_BACK: (ROLLING_BACK, ROLLED_BACK, FAILED),
    GOLDEN: (PENDING, GOLDEN),
    ROLLED_BACK: (PENDING, ROLLED_BACK),
    FAILED: (PENDING, FAILED),
    STOPPED: (PENDING, STOPPED),
}

#: Another run may enter these: it goes on from where a killed one stood. All others are for the run that owns the node.
#: It must have seen whose the node was: a run from which it was taken since may not take it back.
_ENTRIES = (PENDING, DRAINING, ROLLING_BACK, STOPPED)

_TIME = "%Y-%m-%dT%H:%M:%SZ"


class MoveRefused(Exception):
    """The node may not be moved like this; the message says why and what to do."""


@dataclasses.dataclass(frozen=True)
class Record:
    """rollout.json. Times are UTC; ``deadline`` and the ``base_`` fields are "" where there is none."""

    schema: int
    rollout: str
    state: str
    run: str  # the run that may move it
    wave: str  # canary-1, wave-2
    started: str
    since: str  # when this state began
    reason: str = ""
    target_lock: str = ""
    target_digest: str = ""
    base_lock: str = ""
    base_digest: str = ""  # "": the node was never golden, and there is no way back
    deadline: str = ""  # until when a reboot must have come back
    boot_id: str = ""  # of when this state began

    @property
    def terminal(self) -> bool:
        return self.state in TERMINAL

    @property
    def in_flight(self) -> bool:
        return self.state in IN_FLIGHT


@dataclasses.dataclass(frozen=True)
class Known:
    """What the controller knows of one host when it plans."""

    name: str
    reachable: bool
    record: t.Optional[Record] = None
    record_error: str = ""  # why the record on the node cannot be understood
    platform: t.Optional[str] = None
    platform_known: bool = False  # the bundle has it
    golden_for_target: bool = False  # its mark is golden for what is wanted, and nothing objects
    base: bool = False  # it has a proven state to go back to
    boot_id: str = ""
    booted_at: str = ""  # UTC
    lock: str = ""  # id of the lock on the node
    failure: str = ""  # why it cannot be asked although it answers, or why it cannot be reached

    @property
    def came_back_late(self) -> bool:
        """Whether it was lost: its reboot came back after the deadline. Where the time is not known, it was."""
        record = self.record
        if record is None or not record.deadline or not record.in_flight or self.boot_id == record.boot_id:
            return False
        booted, deadline = moment(self.booted_at), moment(record.deadline)
        return booted is None or deadline is None or booted > deadline


def rollout_id(bundle: str, locks: t.Mapping[str, str]) -> str:
    """The same bundle and locks are the same rollout, whoever starts it.

    :arg locks: the lock's id by platform
    """
    return "%s-%s" % (bundle, digest_of(dict(locks)).rpartition(":")[2][:12])


def parse(text: t.Optional[str]) -> Reading[Record]:
    """The record out of its file; None where there is no file. What is not understood is unknown, never absent."""
    if text is None:
        return Reading(None)
    try:
        record = t.cast(Record, from_plain(Record, json.loads(text), FILE))
    except (ValueError, RecursionError) as error:
        return Reading.unknown("%s cannot be understood: %s" % (FILE, error))
    problem = _problem(record)
    return Reading.unknown("%s cannot be understood: %s" % (FILE, problem)) if problem else Reading(record)


def _problem(record: Record) -> str:
    if record.schema != SCHEMA or record.state not in STATES:
        return "schema %r, state %r are not known" % (record.schema, record.state)
    if not record.rollout:
        return "it does not say which rollout it is of"
    for name in ("started", "since", "deadline"):
        value = getattr(record, name)
        if moment(value) is None and (value or name != "deadline"):
            return "%s is %r, which is no time" % (name, value)
    return ""


def text_of(record: Record) -> str:
    """The content of the file."""
    return json.dumps(to_plain(record), indent=1, sort_keys=True) + "\n"


def begin(
    old: t.Optional[Record],
    *,
    rollout: str,
    run: str,
    wave: str,
    now: str,
    boot_id: str,
    target: t.Tuple[str, str],
    proven: t.Tuple[str, str],
    found_run: str = "",
) -> Record:
    """The record with which a node enters a rollout: pending.

    Its way back is what it was proven for last, which may be newer than what an old record says: it came to the lock
    by this very rollout and has other role variables now, or was rolled back with another version of the agent. Where
    nothing proven is kept, it is the one that was known when the work on the node began.

    :arg target: the lock's id and the desired digest that are wanted
    :arg proven: the same of what the node was proven for last, but for the target; empty where there is none
    :arg found_run: the run that had the node when this one has read it
    :raises MoveRefused: where the node stands in the middle of this very rollout: that begins again at draining
    """
    base = proven
    if old is not None and old.rollout == rollout:
        _need_move(old, run, PENDING, found_run)
        base = proven if proven[1] else (old.base_lock, old.base_digest)
    elif old is not None:
        _need_own(old, run, PENDING, found_run)
        if not proven[1] and old.state in (*IN_FLIGHT, FAILED):
            base = (old.base_lock, old.base_digest)
    same = old is not None and old.rollout == rollout
    return Record(
        schema=SCHEMA,
        rollout=rollout,
        state=PENDING,
        run=run,
        wave=wave,
        started=old.started if old is not None and same else now,
        since=now,
        target_lock=target[0],
        target_digest=target[1],
        base_lock=base[0],
        base_digest=base[1],
        boot_id=boot_id,
    )


def moved(
    record: Record,
    state: str,
    *,
    run: str,
    now: str,
    boot_id: str,
    reason: str = "",
    deadline: str = "",
    found_run: str = "",
) -> Record:
    """The record after one step.

    :arg deadline: until when the node must be back, where this step reboots it
    :arg found_run: the run that had the node when this one has read it
    :raises MoveRefused: when the state may not follow, or the node is another run's
    """
    _need_move(record, run, state, found_run)
    return dataclasses.replace(
        record, state=state, run=run, since=now, boot_id=boot_id, reason=reason, deadline=deadline
    )


def left(
    old: t.Optional[Record],
    *,
    run: str,
    now: str,
    boot_id: str,
    there: t.Tuple[str, str],
    back_to: t.Tuple[str, str],
    reason: str,
    found_run: str = "",
) -> Record:
    """The record with which a node goes back by itself: rolling_back, out of the rollout that brought what it has.

    So a way back that is cut off is gone on with, and one that came to its end is not gone again.

    :arg there: the lock's id and the desired digest of what the node has now
    :arg back_to: the same of what it goes back to
    :raises MoveRefused: when the node is another run's
    """
    if old is not None and old.in_flight and old.base_digest:
        return moved(old, ROLLING_BACK, run=run, now=now, boot_id=boot_id, reason=reason, found_run=found_run)
    if old is not None:
        _need_own(old, run, ROLLING_BACK, found_run)
    brought = old is not None and old.state == GOLDEN and old.target_lock == there[0]
    return Record(
        schema=SCHEMA,
        rollout=old.rollout if old is not None and brought else ALONE,
        state=ROLLING_BACK,
        run=run,
        wave=old.wave if old is not None and brought else ALONE,
        started=now,
        since=now,
        reason=reason,
        target_lock=there[0],
        target_digest=there[1],
        base_lock=back_to[0],
        base_digest=back_to[1],
        boot_id=boot_id,
    )


def _need_move(record: Record, run: str, state: str, found_run: str) -> None:
    refused = refusal(record, run, state, found_run)
    if refused:
        raise MoveRefused(refused)


def _need_own(record: Record, run: str, state: str, found_run: str) -> None:
    refused = _of_another(record, run, state, found_run)
    if refused:
        raise MoveRefused(refused)


def refusal(record: Record, run: str, state: str, found_run: str = "") -> str:
    """Why this run may not bring the node to this state; "" when it may."""
    if state not in STATES:
        return "%r is no state of a rollout; these are: %s" % (state, ", ".join(STATES))
    # Before what may follow: where another run has moved the node on meanwhile, that is what is to be said.
    refused = _of_another(record, run, state, found_run)
    if refused:
        return refused
    if state not in _MOVES[record.state]:
        return "a node that is %s cannot become %s; run rollout.yml again: it goes on from what it finds" % (
            record.state,
            state,
        )
    if state == ROLLING_BACK and not record.base_digest:
        return "the node was never golden before this rollout, so there is no way back: it can only become failed"
    if state == FAILED and record.state in WORKING and record.base_digest:
        return "the node has a way back, to lock %s: it goes to rolling_back, not to failed" % record.base_lock
    return ""


def _of_another(record: Record, run: str, state: str, found_run: str) -> str:
    """Why a node that another run has is not this one's; "" where it is, or may be taken over."""
    # Without a way back there is nothing but the end that a run could take over.
    entry = state in _ENTRIES or (state == FAILED and not record.base_digest)
    if record.run == run or (entry and record.run == found_run):
        return ""
    return (
        "run %s may not make the node %s: run %s has it since %s. If that run has taken the node over, let it "
        "finish; else run rollout.yml again." % (run, state, record.run, record.since)
    )


# --- times --------------------------------------------------------------------------------------------------------


def moment(text: str) -> t.Optional[datetime.datetime]:
    """A time as records have it; None when it is none."""
    try:
        return datetime.datetime.strptime(text, _TIME).replace(tzinfo=datetime.timezone.utc)
    except ValueError:
        return None


def after(text: str, seconds: int) -> str:
    """The time so many seconds later, for a deadline."""
    begun = moment(text)
    if begun is None:
        raise ValueError("%r is no time" % text)
    return (begun + datetime.timedelta(seconds=seconds)).strftime(_TIME)
