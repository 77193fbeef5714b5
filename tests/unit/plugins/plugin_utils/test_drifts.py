# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of each host: one that cannot be looked at, or held against nothing, is never said to be well."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.plugin_utils import drifts

STORED = {"digest": "sha256:d", "lock": "sha256:one", "bundle": "sim-a", "platform": "debian-13-x86_64"}
ROW = {"status": "drifted", "what": "hold", "entity": "x", "was": "held", "is": "not held"}


def look(*rows: t.Any, **more: t.Any) -> t.Dict[str, t.Any]:
    found = {"state": "prepared", "error": "", "rows": list(rows), "others": [], "stored": STORED, "last_whole": "w"}
    return {**found, "mark": {"state": "golden"}, "mark_objection": "", "collected_at": "c", **more}


def bundle(**wanted: t.Any) -> t.Dict[str, t.Any]:
    there = {"digest": "sha256:d", "lock": {"id": "sha256:one", "bundle": "sim-a"}, **wanted}
    return {"desired": {"debian-13-x86_64": there}}


def said(given: t.Any, failure: t.Any = None, **more: t.Any) -> t.Tuple[str, str, bool]:
    case = drifts.case("n", given, failure, None, **more)
    return case.word, case.note, case.well


def test_words() -> None:
    assert said(look()) == ("no drift", "", True)
    assert said(look(ROW)) == ("drifted", "", False)
    assert said(look({**ROW, "status": "unknown"})) == ("not known", "", False)
    assert said(look(ROW, {**ROW, "status": "unknown"}))[0] == "drifted"
    nothing = {"stored": None, "mark": None}
    assert said(look(state="never prepared", **nothing)) == (
        "never prepared",
        "No run has kept on it what it is wanted to be",
        False,
    )
    assert said(look(state="unreadable", error="desired.json is not JSON: x", **nothing)) == (
        "unreadable",
        "What it was proven for cannot be read: desired.json is not JSON: x",
        False,
    )


def test_hosts_that_could_not_be_looked_at() -> None:
    assert said({"unreachable": True, "msg": "no route"}) == ("unreachable", "no route", False)
    assert said(None, {"task": "Look", "message": "needs root"}) == ("failed", "Look: needs root", False)
    assert said({"failed": True, "msg": "boom"})[0::2] == ("failed", False)
    assert said(None) == ("not looked at", "The run ended before this host's turn", False)
    assert said(None, lost=True)[0::2] == ("unreachable", False)


@pytest.mark.parametrize("rows", [(), (ROW,)])
@pytest.mark.parametrize("mark", [None, {"state": "revoked"}])
def test_a_run_that_was_not_finished_proves_nothing(mark: t.Any, rows: t.Tuple[t.Any, ...]) -> None:
    word, note, well = said(look(*rows, mark=mark, mark_objection="revoked by run 7: it is being changed"))
    assert (word, well) == ("not proven", False)
    assert note == "It was not proven for what it is wanted to be: revoked by run 7: it is being changed"


def test_a_suspended_mark_without_drift_is_told() -> None:
    suspended = {"mark": {"state": "suspended"}, "mark_objection": "suspended by the agent: hardware.xid"}
    assert said(look(**suspended)) == ("no drift", "Its mark is suspended by the agent: hardware.xid", True)
    assert said(look(ROW, **suspended))[:2] == ("drifted", "")


def test_waiting_for_a_bundle_is_no_drift() -> None:
    assert drifts.case("n", look(), None, bundle()).waits == ""
    other = drifts.case("n", look(), None, bundle(digest="sha256:e", lock={"id": "sha256:two", "bundle": "sim-b"}))
    assert (other.word, other.well) == ("no drift", True)
    assert other.waits == "it waits for another lock, of bundle sim-b (sha256:two)"
    variables = drifts.case("n", look(), None, bundle(digest="sha256:e")).waits
    assert variables == "it waits for other variables of the roles, with the same lock"
    assert drifts.case("n", look(), None, {"desired": {}}).waits == "the bundle has no lock for debian-13-x86_64 yet"
