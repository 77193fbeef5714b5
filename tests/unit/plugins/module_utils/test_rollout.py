# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a rollout on a node: read from any text, moved only as a rollout moves, and only by its run."""

from __future__ import annotations

import dataclasses
import itertools
import json

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import rollout
from ansible_collections.goldennode.gpu.plugins.module_utils.rollout import Known, MoveRefused, Record
from ansible_collections.goldennode.gpu.tests.unit import rollouts

T0 = rollouts.T0

#: What may follow what, written out: the picture in docs/architecture.md.
ALLOWED = {
    "pending": "pending draining stopped",
    "draining": "draining converging pending rolling_back failed",
    "converging": "converging verifying draining rolling_back failed",
    "verifying": "verifying soaking draining rolling_back failed",
    "soaking": "soaking golden draining rolling_back failed",
    "rolling_back": "rolling_back rolled_back failed",
    "golden": "golden pending",
    "rolled_back": "rolled_back pending",
    "failed": "failed pending",
    "stopped": "stopped pending",
}


def move(record, state, run="run-1", **more):
    return rollout.moved(record, state, run=run, now=rollouts.later(1), boot_id="boot-1", **more)


# --- moves --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("state", "then"), list(itertools.product(rollout.STATES, rollout.STATES)))
def test_only_what_the_picture_shows_may_follow(state, then):
    # A base forbids to give up, and none forbids to go back: whichever allows more is asked.
    record = rollouts.record(state, base="" if then == "failed" else "sha256:base")
    assert (rollout.refusal(record, "run-1", then) == "") is (then in ALLOWED[state].split())


def test_the_way_of_a_node_that_all_goes_well_for():
    record = rollouts.record("pending")
    for state in ("draining", "converging", "verifying", "soaking", "golden"):
        record = move(record, state)
    assert (record.state, record.since, record.base_lock) == ("golden", rollouts.later(1), "sha256:base")
    assert record.terminal


@pytest.mark.parametrize("state", rollout.WORKING)
def test_a_node_with_a_way_back_takes_it_and_one_without_has_failed(state):
    assert rollout.refusal(rollouts.record(state), "run-1", "failed") == (
        "the node has a way back, to lock sha256:base: it goes to rolling_back, not to failed"
    )
    assert rollout.refusal(rollouts.record(state, base=""), "run-1", "rolling_back") == (
        "the node was never golden before this rollout, so there is no way back: it can only become failed"
    )


@pytest.mark.parametrize(("state", "then"), [(a, b) for a, all_b in ALLOWED.items() for b in all_b.split()])
def test_another_run_enters_a_node_and_never_takes_it_a_step_further(state, then):
    record = rollouts.record(state, base="" if then == "failed" and state != "rolling_back" else "sha256:base")
    refused = (
        "run run-2 may not make the node %s: run run-1 has it since %s. If that run has taken the node over, let "
        "it finish; else run rollout.yml again." % (then, T0)
    )
    entered = then in ("pending", "draining", "rolling_back", "stopped") or (
        then == "failed" and not record.base_digest
    )
    assert rollout.refusal(record, "run-2", then, found_run="run-1") == ("" if entered else refused)
    # It has read the node before run-1 took it.
    assert rollout.refusal(record, "run-2", then, found_run="run-0") == refused
    assert rollout.refusal(record, "run-2", then) == refused


def test_a_run_from_which_a_node_was_taken_does_not_take_it_back():
    record = move(move(rollouts.record("converging", run="run-0"), "draining", found_run="run-0"), "converging")
    for state in ("verifying", "draining", "rolling_back"):
        assert "run run-1 has it since" in rollout.refusal(record, "run-0", state, found_run="run-older")


def test_a_run_is_told_that_another_has_the_node_wherever_that_has_brought_it():
    said = rollout.refusal(rollouts.record("golden"), "run-0", "verifying", found_run="run-0")
    assert said.startswith("run run-0 may not make the node verifying: run run-1 has it since ")


def test_another_rollout_does_not_write_over_one_that_has_begun_meanwhile():
    old = rollouts.record("pending", identity="R-old")
    with pytest.raises(MoveRefused, match="run run-2 may not make the node pending: run run-1 has it since"):
        begin(old, found_run="")
    assert begin(old, found_run="run-1").rollout == "R-new"


def test_a_move_that_is_refused_says_why():
    with pytest.raises(MoveRefused, match="a node that is golden cannot become soaking; run rollout.yml again"):
        move(rollouts.record("golden"), "soaking")
    with pytest.raises(MoveRefused, match="'gone' is no state of a rollout; these are: pending, draining, "):
        move(rollouts.record("golden"), "gone")


def test_a_step_forgets_the_deadline_and_the_reason_of_the_one_before():
    record = rollouts.record("converging", deadline=rollouts.later(2), reason="because")
    done = move(record, "verifying")
    assert (done.deadline, done.reason) == ("", "")
    again = move(record, "draining", run="run-2", deadline=rollouts.later(3), found_run="run-1")
    assert (again.run, again.deadline) == ("run-2", rollouts.later(3))


# --- beginning ----------------------------------------------------------------------------------------------------


def begin(old, identity="R-new", proven=("sha256:now", "digest-now"), run="run-2", found_run="run-1"):
    return rollout.begin(
        old,
        rollout=identity,
        run=run,
        wave="wave-1",
        now=rollouts.later(5),
        boot_id="boot-5",
        target=("sha256:new", "digest-new"),
        proven=proven,
        found_run=found_run,
    )


def test_a_node_enters_with_what_it_is_golden_for_as_its_way_back():
    record = begin(None)
    assert (record.state, record.base_lock, record.base_digest) == ("pending", "sha256:now", "digest-now")
    assert (record.started, record.wave, record.target_digest) == (rollouts.later(5), "wave-1", "digest-new")
    assert begin(None, proven=("", "")).base_digest == ""


@pytest.mark.parametrize(
    ("state", "proven", "base"),
    [
        ("converging", ("", ""), "sha256:base"),
        ("rolling_back", ("", ""), "sha256:base"),
        ("failed", ("", ""), "sha256:base"),
        ("pending", ("", ""), ""),  # nothing was done to it, and it is golden for nothing
        ("rolled_back", ("", ""), ""),
        ("converging", ("sha256:now", "digest-now"), "sha256:now"),
        ("golden", ("sha256:now", "digest-now"), "sha256:now"),
    ],
)
def test_the_way_back_is_kept_when_another_rollout_gives_way(state, proven, base):
    record = begin(rollouts.record(state, identity="R-old"), proven=proven)
    assert (record.rollout, record.base_lock) == ("R-new", base)


@pytest.mark.parametrize("state", ["rolled_back", "failed", "stopped", "pending", "golden"])
def test_a_retry_goes_back_to_what_was_proven_last_and_keeps_when_it_all_began(state):
    """Golden: the lock is the same, and role variables are others. What came before the lock is a step too far back."""
    old = rollouts.record(state, identity="R-new", started=T0)
    record = begin(old)
    assert (record.base_lock, record.base_digest) == ("sha256:now", "digest-now")
    assert (record.started, record.run) == (T0, "run-2")
    assert begin(old, proven=("", "")).base_lock == "sha256:base"


# --- back without a rollout ---------------------------------------------------------------------------------------


def leave(old, found_run="run-1"):
    return rollout.left(
        old,
        run="run-2",
        now=rollouts.later(5),
        boot_id="boot-5",
        there=("sha256:new", "digest-new"),
        back_to=("sha256:now", "digest-now"),
        reason="wanted",
        found_run=found_run,
    )


def test_a_node_that_no_rollout_has_brought_to_its_lock_goes_back_by_itself():
    for old in (None, rollouts.record("golden", target_lock="sha256:older"), rollouts.record("stopped")):
        record = leave(old)
        assert (record.rollout, record.wave) == ("rollback", "rollback")
        assert (record.state, record.run) == ("rolling_back", "run-2")
        assert (record.target_lock, record.base_lock, record.reason) == ("sha256:new", "sha256:now", "wanted")


def test_a_node_leaves_the_rollout_that_has_brought_its_lock_so_that_this_is_not_brought_again():
    record = leave(rollouts.record("golden", target_lock="sha256:new"))
    assert (record.rollout, record.wave, record.base_lock) == (rollouts.ID, "wave-1", "sha256:now")


def test_a_node_in_the_middle_of_a_rollout_goes_back_to_what_it_was_before_that():
    record = leave(rollouts.record("converging"))
    assert (record.rollout, record.state, record.base_lock) == (rollouts.ID, "rolling_back", "sha256:base")
    assert leave(rollouts.record("converging", base="")).base_lock == "sha256:now"


@pytest.mark.parametrize("state", ["converging", "golden"])
def test_a_node_that_another_run_has_taken_meanwhile_is_not_taken_back(state):
    with pytest.raises(MoveRefused, match="run run-2 may not make the node rolling_back: run run-1 has it"):
        leave(rollouts.record(state), found_run="run-0")


def test_what_stands_in_the_middle_of_this_rollout_is_not_begun_anew():
    with pytest.raises(MoveRefused, match="a node that is soaking cannot become pending"):
        begin(rollouts.record("soaking", identity="R-new"))


# --- the file -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", rollout.STATES)
def test_a_record_comes_back_as_it_was_written(state):
    record = rollouts.record(state, reason="\u00fc \u202e\n", deadline=rollouts.later(1))
    assert rollout.parse(rollout.text_of(record)).value == record


def test_no_file_is_known_to_be_no_record():
    found = rollout.parse(None)
    assert (found.value, found.known) == (None, True)


GOOD = dataclasses.asdict(rollouts.record("soaking"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "rollout.json cannot be understood: Expecting value"),
        ("[" * 100000, "rollout.json cannot be understood: "),
        ("null", "rollout.json: an object is expected, not None"),
        ("[]", "rollout.json: an object is expected, not []"),
        ("{}", "missing 7 required positional arguments"),
        (json.dumps({**GOOD, "state": "lost"}), "schema 1, state 'lost' are not known"),
        (json.dumps({**GOOD, "schema": 2}), "schema 2, state 'soaking' are not known"),
        (json.dumps({**GOOD, "schema": True}), "rollout.json.schema: int is expected, not True"),
        (json.dumps({**GOOD, "rollout": ""}), "it does not say which rollout it is of"),
        (json.dumps({**GOOD, "since": "yesterday"}), "since is 'yesterday', which is no time"),
        (json.dumps({**GOOD, "started": ""}), "started is '', which is no time"),
        (json.dumps({**GOOD, "deadline": "soon"}), "deadline is 'soon', which is no time"),
        (json.dumps({**GOOD, "more": 1}), "Record has no field more"),
        (json.dumps({**GOOD, "reason": ["x"]}), "rollout.json.reason: str is expected, not ['x']"),
        (json.dumps(GOOD)[:-1], "rollout.json cannot be understood: "),
    ],
)
def test_what_is_not_understood_is_unknown_and_says_why(text, said):
    found = rollout.parse(text)
    assert found.value is None
    assert not found.known
    assert said in found.error


# --- lost and late ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "deadline", "boot", "booted", "late"),
    [
        ("converging", 10, "boot-2", 11, True),
        ("converging", 10, "boot-2", 10, False),
        ("converging", 10, "boot-1", 11, False),  # it has not rebooted since
        ("converging", None, "boot-2", 11, False),  # nobody waited for it
        ("rolling_back", 10, "boot-2", 11, True),
        ("pending", 10, "boot-2", 11, False),
        ("golden", 10, "boot-2", 11, False),
        ("soaking", 10, "boot-2", None, True),  # when it booted is not known: unknown never passes
        ("soaking", 10, "", None, True),
    ],
)
def test_a_node_that_came_back_after_its_deadline_was_lost(state, deadline, boot, booted, late):
    record = rollouts.record(state, deadline=rollouts.later(deadline) if deadline else "")
    known = Known(
        "n", True, record=record, boot_id=boot, booted_at=rollouts.later(booted) if booted is not None else ""
    )
    assert known.came_back_late is late
    assert Known("n", True).came_back_late is False


# --- ids and times ------------------------------------------------------------------------------------------------


def test_the_same_bundle_and_locks_are_the_same_rollout():
    one = rollout.rollout_id("pool", {"a": "sha256:1", "b": "sha256:2"})
    assert one == rollout.rollout_id("pool", {"b": "sha256:2", "a": "sha256:1"})
    assert one.startswith("pool-")
    assert len(one) == len("pool-") + 12
    others = {
        rollout.rollout_id("pool", {"a": "sha256:2", "b": "sha256:1"}),
        rollout.rollout_id("pool", {"a": "sha256:1"}),
        rollout.rollout_id("pool2", {"a": "sha256:1", "b": "sha256:2"}),
    }
    assert len(others) == 3
    assert one not in others


def test_a_deadline_is_so_many_seconds_later():
    assert rollout.after("2026-12-31T23:59:30Z", 45) == "2027-01-01T00:00:15Z"
    with pytest.raises(ValueError, match="'now' is no time"):
        rollout.after("now", 1)


def test_a_record_has_all_fields_of_the_documentation():
    assert [field.name for field in dataclasses.fields(Record)] == [
        *("schema", "rollout", "state", "run", "wave", "started", "since", "reason"),
        *("target_lock", "target_digest", "base_lock", "base_digest", "deadline", "boot_id"),
    ]
