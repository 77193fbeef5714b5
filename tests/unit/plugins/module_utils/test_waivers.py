# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waivers: what they cover, that they end by themselves, and what is said of one that cannot be meant."""

from __future__ import annotations

import dataclasses
import datetime
import pathlib
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import mark as marks
from ansible_collections.goldennode.gpu.plugins.module_utils import verdict, waivers
from ansible_collections.goldennode.gpu.plugins.module_utils.checks.registry import CHECKS
from ansible_collections.goldennode.gpu.plugins.module_utils.mark import MarkRefused, State, Stored
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Boot, Desired, Evidence
from ansible_collections.goldennode.gpu.plugins.plugin_utils import pool
from ansible_collections.goldennode.gpu.tests.unit import healthy

TODAY = datetime.date(2026, 11, 30)
UNIT = "nvidia-persistenced.service"
REASON = "the image of this site has no persistenced, see INFRA-17"
WAIVER = {"id": "host_driver.units", "entity": UNIT, "reason": REASON, "until": "2027-03-31"}
TEXT = "waived until 2027-03-31: %s" % REASON
RUN = "20261130T120000Z-controller-1-abcdef"


def wanted(*given: t.Dict[str, t.Any]) -> Desired:
    return healthy.desired(golden_waivers=list(given))


def stopped(name: str = UNIT, of: t.Optional[Evidence] = None) -> Evidence:
    """A node on which one unit does not run."""
    there = of or healthy.evidence("a10")
    units = dict(there.units.value or {})
    units[name] = dataclasses.replace(units[name], active="inactive", started_at=None)
    return healthy.known(there, units=units)


def on(day: str, evidence: Evidence) -> Evidence:
    return dataclasses.replace(evidence, collected_at=day + "T00:00:05+00:00")


# --- what they cover --------------------------------------------------------------------------------------------


def test_a_waived_finding_stays_what_it_is_and_does_not_stand_in_the_way() -> None:
    without = verdict.run(wanted(), stopped(), 1)
    found = verdict.run(wanted(WAIVER), stopped(), 1)
    assert (without.golden, without.first_broken) == (False, "host_driver")
    assert (found.golden, found.first_broken) == (True, None)
    (was,) = [finding for finding in without.findings if finding.status == "fail"]
    (now,) = [finding for finding in found.findings if finding.status == "fail"]
    assert now == dataclasses.replace(was, required=False, waived=TEXT)


def test_it_is_said_with_reason_and_day_in_verdict_mark_and_table(tmp_path: pathlib.Path) -> None:
    desired, evidence = wanted(WAIVER), stopped()
    found = verdict.run(desired, evidence, 1)
    said = "host_driver.units: %s is not active. (%s)" % (UNIT, TEXT)
    assert found.not_proven == (said,)
    mark = _marked(State(str(tmp_path), str(tmp_path / "lock")), desired, evidence)
    assert (mark.not_proven, mark.waived_until) == ((said,), "2027-03-31")
    assert mark.reason == "every required check passed, but for what is waived until 2027-03-31"
    look = {"golden": True, "verdict": {"not_proven": list(found.not_proven)}}
    assert pool.row("n1", look, None, 1).reason == "Not proven: " + said


@pytest.mark.parametrize(
    ("changes", "golden"),
    [
        pytest.param({}, True, id="as it is"),
        pytest.param({"entity": "docker.service"}, False, id="of another unit"),
        pytest.param({"entity": None}, True, id="of every unit"),
        pytest.param({"entity": ""}, True, id="of every unit, by an empty name"),
        pytest.param({"id": "policy.units"}, False, id="of another check"),
        pytest.param({"until": "2026-11-30"}, True, id="on its last day"),
        pytest.param({"until": "2026-11-29"}, False, id="over"),
        pytest.param({"until": "tomorrow"}, False, id="without a day"),
        pytest.param({"reason": ""}, False, id="without a reason"),
    ],
)
def test_what_a_waiver_covers(changes: t.Dict[str, t.Any], golden: bool) -> None:
    assert verdict.run(wanted({**WAIVER, **changes}), stopped(), 1).golden is golden


def test_it_covers_what_is_unknown_and_not_what_is_behind_it() -> None:
    waiver = {"id": "host_driver.nvidia_smi", "reason": "r", "until": "2027-03-31"}
    unread = healthy.unreadable(healthy.evidence("a10"), "smi")
    assert verdict.run(wanted(), unread, 1).first_broken == "host_driver"
    assert verdict.run(wanted(waiver), unread, 1).golden
    nodes = {"id": "device_nodes.modes", "reason": "r", "until": "2027-03-31"}
    there = healthy.evidence("a10")
    opened = tuple(dataclasses.replace(node, mode=0o666) for node in there.device_nodes.value or ())
    behind = healthy.unreadable(healthy.known(there, device_nodes=opened), "smi")
    found = verdict.run(wanted(nodes), behind, 1)
    assert not found.golden
    assert {finding.id for finding in found.findings if finding.waived} == {"device_nodes.modes"}


def test_what_never_stood_in_the_way_is_not_called_waived() -> None:
    """A check that is required has findings that are not: somebody's choice of a kernel for one boot is told."""
    boot = healthy.evidence("a10").boot_default.value
    assert boot is not None
    chosen = healthy.known(healthy.evidence("a10"), boot_default=dataclasses.replace(boot, once="6.12.63+deb13-amd64"))
    found = verdict.run(wanted({"id": "host_driver.boot_default", "reason": "r", "until": "2027-03-31"}), chosen, 1)
    assert [(finding.id, finding.waived) for finding in found.findings if finding.status == "fail"] == [
        ("host_driver.boot_default", "")
    ]


@pytest.mark.parametrize("collected_at", ["", "yesterday", "2026-13-01T00:00:00+00:00"])
def test_none_counts_in_a_look_of_which_no_day_is_known(collected_at: str) -> None:
    evidence = dataclasses.replace(stopped(), collected_at=collected_at)
    assert not verdict.run(wanted(WAIVER), evidence, 1).golden


def test_a_wanted_state_that_is_older_than_waivers_has_none() -> None:
    desired = wanted()
    del desired.settings["golden"]["golden_waivers"]
    assert waivers.of(desired) == ()
    assert verdict.run(desired, healthy.evidence("a10"), 1).golden


@pytest.mark.parametrize("check", sorted(waivers.NEVER))
def test_what_cannot_be_waived_counts_whatever_a_node_has_been_told(check: str) -> None:
    waiver = {"id": check, "reason": "r", "until": "2027-03-31"}
    assert waivers.on_day(wanted(waiver), TODAY) == ()


def test_a_waiver_is_nothing_to_what_is_refused_before_a_role_changes_anything() -> None:
    waiver = {"id": "host_driver.kernel", "reason": "r", "until": "2027-03-31"}
    platform = healthy.evidence("a10").platform.value
    assert platform is not None
    wsl = healthy.known(healthy.evidence("a10"), platform=dataclasses.replace(platform, wsl=True))
    assert [finding.id for finding in verdict.refusals(wanted(waiver), wsl, 1)] == ["host_driver.kernel"]
    assert not verdict.run(wanted(waiver), wsl, 1).golden


def test_of_what_is_refused_only_the_kernel_can_be_waived_and_that_as_a_kernel_alone() -> None:
    assert set(verdict._PRECONDITIONS) - set(waivers.NEVER) == {"host_driver.kernel"}
    required = {check.id for check in CHECKS if check.required}
    assert set(waivers.NEVER) <= required


def test_waivers_count_in_the_digest() -> None:
    assert wanted(WAIVER).digest != wanted().digest
    assert wanted({**WAIVER, "until": "2027-04-01"}).digest != wanted(WAIVER).digest


# --- how they end -----------------------------------------------------------------------------------------------


def _marked(state: State, desired: Desired, evidence: Evidence) -> marks.Mark:
    marks.revoke(state, RUN, "r")
    marks.prepare(state, RUN, Stored(desired, 1))
    marks.golden(state, RUN, desired, verdict.run(desired, evidence, 1), evidence)
    found = state.mark().value
    assert found is not None
    return found


@pytest.fixture
def node(tmp_path: pathlib.Path) -> State:
    state = State(str(tmp_path / "goldennode"), str(tmp_path / "lock"))
    _marked(state, wanted(WAIVER), stopped())
    return state


def fact(state: State, evidence: Evidence) -> marks.Status:
    cheap = healthy.cheap(evidence)
    return marks.status(state.mark(), state.stored(), cheap, verdict.run(wanted(WAIVER), cheap, 1))


def test_the_local_fact_says_that_a_waiver_is_over_although_it_cannot_judge_the_finding(node: State) -> None:
    assert fact(node, on("2027-03-31", stopped())).golden
    found = fact(node, on("2027-04-01", stopped()))
    assert (found.golden, found.reason) == (
        False,
        "what the mark rests on was waived until 2027-03-31, which is over",
    )
    assert found.fix.startswith("Mend what was waived and take the waiver out of golden_waivers")


def test_the_agent_suspends_when_a_waiver_is_over_and_the_finding_is_still_there(node: State) -> None:
    evidence = on("2027-04-01", stopped())
    with pytest.raises(MarkRefused, match="the verdict is not golden: the layer host_driver is broken"):
        marks.restore(node, wanted(WAIVER), verdict.run(wanted(WAIVER), evidence, 1), evidence)


def test_the_agent_keeps_the_mark_where_the_finding_is_gone(node: State) -> None:
    evidence = on("2027-04-01", healthy.evidence("a10"))
    change = marks.restore(node, wanted(WAIVER), verdict.run(wanted(WAIVER), evidence, 1), evidence)
    assert change.changed
    mark = node.mark().value
    assert mark is not None
    assert (mark.state, mark.not_proven, mark.waived_until) == ("golden", (), "")
    assert fact(node, evidence).golden


def test_the_agent_gives_a_waived_node_its_mark_back_after_a_reboot(node: State) -> None:
    boot = Boot("99999999-2222-4333-8444-555555555555", healthy.KERNEL, 5000.0)
    evidence = on("2026-12-24", healthy.known(stopped(), boot=boot))
    assert marks.restore(node, wanted(WAIVER), verdict.run(wanted(WAIVER), evidence, 1), evidence).changed
    mark = node.mark().value
    assert mark is not None
    assert (mark.state, mark.waived_until) == ("golden", "2027-03-31")


def test_a_node_is_not_golden_any_more_for_a_run_either(node: State) -> None:
    evidence = on("2027-04-01", stopped())
    said = marks.objection(node.mark(), node.stored(), wanted(WAIVER), evidence)
    assert said == "what the mark rests on was waived until 2027-03-31, which is over"


def test_the_mark_holds_until_the_first_of_the_waivers_that_it_rests_on_is_over() -> None:
    sooner = {"id": "policy.units", "reason": "r", "until": "2027-01-31"}
    unused = {"id": "packages.holds", "reason": "r", "until": "2026-12-01"}
    desired, evidence = wanted(WAIVER, sooner, unused), stopped("goldennode-agent.service", stopped())
    units = dict(evidence.units.value or {})
    units["goldennode-agent.service"] = dataclasses.replace(units["goldennode-agent.service"], enabled="disabled")
    evidence = healthy.known(evidence, units=units)
    found = verdict.run(desired, evidence, 1)
    assert found.golden
    assert {finding.id for finding in found.findings if finding.waived} == {"host_driver.units", "policy.units"}
    assert waivers.ends(desired, evidence, found.findings) == "2027-01-31"
    assert waivers.ends(desired, healthy.evidence("a10"), verdict.run(desired, evidence, 1).findings[:1]) == ""


# --- what is wrong with them ------------------------------------------------------------------------------------


def said(**changes: t.Any) -> t.List[str]:
    return [str(problem) for problem in waivers.problems([{**WAIVER, **changes}], TODAY)]


def test_one_that_says_all_is_fine() -> None:
    assert said() == []
    assert said(until="2026-11-30") == []
    assert said(until="2027-12-01") == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"id": "host_driver.unit"},
            "golden_waivers[0].id: 'host_driver.unit' is no check. Did you mean host_driver.units?",
        ),
        ({"id": "x"}, "golden_waivers[0].id: 'x' is no check. Take the id from a finding, such as policy.units."),
        (
            {"id": "packages.kept"},
            "golden_waivers[0].id: 'packages.kept' needs no waiver: it never keeps a node from being golden. Take the "
            "waiver out.",
        ),
        (
            {"id": "container_runtime.data_root"},
            "golden_waivers[0].id: 'container_runtime.data_root' cannot be waived: a run must not go on over what "
            "somebody keeps there. Set docker_data_root to where Docker's data is.",
        ),
        (
            {"id": "image.cuda"},
            "golden_waivers[0].id: 'image.cuda' cannot be waived: it is the proof that golden stands for: a node "
            "without it is not golden, whatever is known of it. Set image.cuda_check to optional in the bundle, and it "
            "is told as not proven.",
        ),
        (
            {"reason": " \n"},
            "golden_waivers[0].reason is not set. Say why this node may be golden without host_driver.units, for "
            "whoever reads it in half a year.",
        ),
        (
            {"until": "31.3.2027"},
            "golden_waivers[0].until: '31.3.2027' is not a day of the calendar. Write it as YYYY-MM-DD, like "
            "2027-03-31.",
        ),
        (
            {"until": "2027-02-30"},
            "golden_waivers[0].until: '2027-02-30' is not a day of the calendar. Write it as YYYY-MM-DD, like "
            "2027-03-31.",
        ),
        (
            {"until": "2026-11-29"},
            "golden_waivers[0].until: '2026-11-29' is over, and host_driver.units counts again. Mend what it was for "
            "and take the waiver out; or look at it again, and give it another day.",
        ),
        (
            {"until": "2027-12-02"},
            "golden_waivers[0].until: '2027-12-02' is more than 366 days away: a waiver without an end in sight is "
            "none. Choose a day within a year, and look at it again then.",
        ),
    ],
)
def test_one_that_cannot_be_meant_is_one_clear_error(changes: t.Dict[str, t.Any], text: str) -> None:
    assert said(**changes) == [text]


@pytest.mark.parametrize("check", sorted(waivers.NEVER))
def test_each_that_cannot_be_waived_says_why_and_what_to_do(check: str) -> None:
    (problem,) = waivers.problems([{**WAIVER, "id": check}], TODAY)
    assert problem.message.startswith("cannot be waived: ")
    assert problem.fix.startswith("Set ")


def test_two_for_the_same_are_told() -> None:
    (problem,) = waivers.problems([WAIVER, dict(WAIVER, until="2027-01-01")], TODAY)
    assert str(problem) == (
        "golden_waivers[1]: 'host_driver.units nvidia-persistenced.service' is waived twice. Take one of the two out."
    )
    assert waivers.problems([WAIVER, dict(WAIVER, entity="docker.service")], TODAY) == []
