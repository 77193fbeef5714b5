# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a rollout on this node: read, and moved from state to state under the node lock."""

from __future__ import annotations

import datetime
import typing as t

from . import mark as marks
from . import rollout
from .mark import Change, State, Stored
from .model import Boot, Desired, Reading, to_plain
from .rollout import MoveRefused, Record
from .system import System

#: Why there is no way back, where nothing is wrong with what is kept.
NEVER = "it was never golden for another lock"


def read(state: State, system: t.Optional[System] = None) -> Reading[Record]:
    """None: no rollout has been here. Unknown: the record cannot be understood."""
    text = (system or System()).read(state.path(rollout.FILE))
    return rollout.parse(text.value) if text.known else Reading.unknown(text.error or "")


def enter(
    state: State, boot: Boot, *, rollout_id: str, run: str, wave: str, wanted: Desired, found_run: str = ""
) -> Change:
    """The node takes part in a rollout: pending, with the way back that it has now.

    :raises MoveRefused: where the record on the node cannot be understood, or the node stands in the middle of it
    """
    old = _known(state)
    proven = marks.way_back(state, lambda desired: desired.digest != wanted.digest).value
    record = rollout.begin(
        old,
        rollout=rollout_id,
        run=run,
        wave=wave,
        now=marks.now(),
        boot_id=boot.boot_id,
        target=(str(wanted.lock["id"]), wanted.digest),
        proven=_ids(proven),
        found_run=found_run,
    )
    return _put(state, old, record)


def leave(state: State, boot: Boot, *, run: str, reason: str, found_run: str = "") -> Change:
    """The node goes back by itself, to what ``previous`` says.

    :raises MoveRefused: where there is no way back, or the node is another run's
    """
    old, back_to = _known(state), previous(state)
    if back_to.value is None:
        raise MoveRefused("there is no way back: %s" % (back_to.error or NEVER))
    record = rollout.left(
        old,
        run=run,
        now=marks.now(),
        boot_id=boot.boot_id,
        there=_ids(state.stored().value),
        back_to=_ids(back_to.value),
        reason=reason,
        found_run=found_run,
    )
    return _put(state, old, record)


def move(
    state: State,
    boot: Boot,
    to: str,
    *,
    rollout_id: str,
    run: str,
    reason: str = "",
    back_within: int = 0,
    found_run: str = "",
) -> Change:
    """One step.

    :arg back_within: seconds from now in which the node must be back from the reboot that may follow; 0: none does
    :raises MoveRefused: where the node is not in this rollout, or may not be moved like this
    """
    old = _known(state)
    if old is None or old.rollout != rollout_id:
        there = "is in no rollout" if old is None else "is in the rollout %s" % old.rollout
        raise MoveRefused("the node %s, and not in %s; run rollout.yml again" % (there, rollout_id))
    now = marks.now()
    deadline = rollout.after(now, back_within) if back_within else ""
    record = rollout.moved(
        old, to, run=run, now=now, boot_id=boot.boot_id, reason=reason, deadline=deadline, found_run=found_run
    )
    return _put(state, old, record)


def base(state: State, record: Record) -> Reading[Stored]:
    """What the node was proven for before the rollout of its record."""
    if not record.base_digest:
        return Reading(None)
    found = marks.way_back(state, lambda desired: desired.digest == record.base_digest)
    if found.known and found.value is None:
        return Reading.unknown("the state %s, to which it would go back, is not kept any more" % record.base_digest)
    return found


def previous(state: State) -> Reading[Stored]:
    """What the node was proven for before the lock that it has, or before the rollout in the middle of which it is."""
    read_record = read(state)
    record = read_record.value
    if not read_record.known:
        return Reading.unknown(read_record.error or "")
    if record is not None and record.in_flight and record.base_digest:
        return base(state, record)
    stored = state.stored().value
    there = str(stored.desired.lock["id"]) if stored else ""
    return marks.way_back(state, lambda desired: desired.lock["id"] != there)


def booted_at(boot: Boot) -> str:
    """As records have times."""
    return datetime.datetime.fromtimestamp(boot.booted_at, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _known(state: State) -> t.Optional[Record]:
    found = read(state)
    if not found.known:
        raise MoveRefused(
            "%s: %s. Look at the file; remove it where the rollout is over." % (state.path(rollout.FILE), found.error)
        )
    return found.value


def _put(state: State, old: t.Optional[Record], record: Record) -> Change:
    change = Change(to_plain(old), to_plain(record))
    if change.changed and not state.dry:
        System().write(state.path(rollout.FILE), rollout.text_of(record).encode("utf-8"))
    return change


def _ids(stored: t.Optional[Stored]) -> t.Tuple[str, str]:
    return (str(stored.desired.lock["id"]), stored.desired.digest) if stored else ("", "")
