# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of what has drifted, as people read it."""

from __future__ import annotations

import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.drift_text import Case, render

HOLD: t.Dict[str, t.Any] = {
    "what": "hold", "id": "packages.holds", "layer": "packages", "status": "drifted", "entity": "libcuda1",
    "was": "held", "is": "not held", "cause": "Nothing keeps an upgrade from moving libcuda1.",
    "fix": "Run site.yml on this node.", "repair": "roles", "waived": "",
    "since": {"how": "after", "at": "2026-12-01T09:30:00Z", "told_by": "the last look that found it whole"},
}  # fmt: skip
UNREAD = {
    **HOLD,
    "status": "unknown",
    "entity": "",
    "was": "",
    "is": "packages: dpkg-query ended with code 2",
    "cause": "",
    "fix": "",
    "since": {"how": "", "at": "", "told_by": ""},
}
GOOD = Case("gpu01", "no drift")


def shown(*cases: Case, width: int = 120) -> str:
    return render(cases, width, lambda text, kind: "<%s>%s</>" % (kind, text))


def test_a_table() -> None:
    assert shown(GOOD, Case("gpu02", "drifted", (HOLD,))) == "\n".join(
        [
            "NODE   WHAT           WAS   IS        SINCE",
            "-----  -------------  ----  --------  -----------------------",
            "gpu01  <good>no drift</>",
            "gpu02  hold libcuda1  held  not held  after 2026-12-01 09:30Z",
            "    packages.holds: Nothing keeps an upgrade from moving libcuda1. Run site.yml on this node.",
            "",
            "<bad>1 of 2 nodes have drifted, in 1 thing.</>",
        ]
    )


def test_where_it_is_too_narrow_the_cells_stand_below() -> None:
    text = shown(GOOD, Case("gpu02", "drifted", (HOLD,)), width=50)
    assert "gpu02  hold libcuda1\n" in text
    assert "Was: held; is: not held; since: after" in " ".join(text.split())
    assert max(len(line) for line in text.splitlines()) <= 50


def test_a_long_cell_is_cut_and_stands_below_whole() -> None:
    long = "x" * 90
    text = shown(Case("gpu02", "drifted", ({**HOLD, "is": long},)))
    assert "x...  after 2026-12-01 09:30Z\n" in text
    assert max(len(line) for line in text.splitlines()) <= 120
    assert "Was: held; is: %s." % long in " ".join(text.split())


def test_a_long_name_has_a_line_to_itself() -> None:
    path = "/etc/apt/sources.list.d/goldennode-of-somebody.sources"
    text = shown(Case("gpu02", "drifted", (HOLD, {**HOLD, "what": "managed file", "entity": path})))
    assert "gpu02  managed file %s\n" % path in text
    assert "\n%sheld  not held  after 2026-12-01 09:30Z\n" % (" " * (len("gpu02") + 2 + 36 + 2)) in text


def test_what_told_it_is_said_where_it_is_not_the_last_good_look() -> None:
    told = {"how": "at", "at": "2026-12-01T09:30:00Z", "told_by": "the boot"}
    text = shown(Case("gpu02", "drifted", ({**HOLD, "since": told},)))
    assert "at 2026-12-01 09:30Z" in text
    assert "Since when: told by the boot." in text
    nothing = {"how": "", "at": "", "told_by": ""}
    assert "not held  not known\n" in shown(Case("gpu02", "drifted", ({**HOLD, "since": nothing},)))


def test_what_is_not_known_is_no_drift_and_not_well() -> None:
    text = shown(GOOD, Case("gpu02", "not known", (UNREAD,)))
    assert "packages.holds: It is not known." in text
    assert text.endswith("<bad>0 of 2 nodes have drifted. Of 1 it is not known: gpu02.</>")


def test_a_node_without_rows_says_why() -> None:
    text = shown(Case("gpu03", "unreachable", note="no route to host", fix="Check that the host is up"))
    assert "gpu03  <bad>unreachable</>\n    no route to host. Check that the host is up.\n" in text


def test_numbers_are_said_as_people_do() -> None:
    text = shown(Case("gpu02", "drifted", (HOLD, HOLD), waits="x"), Case("gpu03", "drifted", (HOLD,), waits="x"))
    assert "<bad>2 of 2 nodes have drifted, in 3 things.</>\n2 wait for what the bundle says now: gpu02, gpu03." in text


def test_what_is_no_drift_is_said_to_be_none() -> None:
    text = shown(Case("gpu01", "no drift", waits="it waits for another lock", others=("hardware.xid: Xid 79",)))
    assert "    Not drift, and not golden for it: hardware.xid: Xid 79\n" in text
    assert "    Not drift: it waits for another lock.\n" in text
    assert text.endswith("<good>None of 1 node has drifted.</>\n1 waits for what the bundle says now: gpu01.")


def test_a_waiver_is_told() -> None:
    assert "It is waived until 2027-03-31: r." in shown(
        Case("gpu02", "drifted", ({**HOLD, "waived": "waived until 2027-03-31: r"},)), width=300
    )


def test_names_of_nodes_cannot_move_the_cursor() -> None:
    assert "\x1b" not in shown(Case("gpu\x1b[2J", "drifted", ({**HOLD, "entity": "\x1b[2J"},)))


def test_the_message_of_an_error() -> None:
    assert Case("gpu02", "drifted", (HOLD,)).message == "gpu02: drifted. hold libcuda1: not held, was held"
    assert Case("gpu03", "unreachable", note="no route").message == "gpu03: unreachable. no route."
    many = Case("gpu02", "drifted", (UNREAD, *[HOLD] * 4)).message
    assert many.startswith("gpu02: drifted. hold: packages: dpkg-query ended with code 2; hold libcuda1: not held, was")
    assert many.endswith("; and 2 more")
