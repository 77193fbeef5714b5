# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JUnit as CI systems read it: with a real parser, and held against the shape that they agree on."""

from __future__ import annotations

import re
import typing as t
from xml.etree import ElementTree

import pytest

from ansible_collections.goldennode.gpu.plugins.plugin_utils import junit
from ansible_collections.goldennode.gpu.tests.unit import reports

Element = ElementTree.Element

#: Element -> attributes that it has, attributes that it may have, children in their order. What CI systems read.
_SHAPE: t.Dict[str, t.Tuple[t.Set[str], t.Set[str], t.List[str]]] = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped"}, set(), ["testsuite"]),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time"},
        {"timestamp"},
        ["properties", "testcase"],
    ),
    "properties": (set(), set(), ["property"]),
    "property": ({"name", "value"}, set(), []),
    "testcase": ({"name", "classname", "time"}, set(), ["skipped", "error", "failure", "system-out"]),
    "failure": ({"message", "type"}, set(), []),
    "error": ({"message", "type"}, set(), []),
    "skipped": ({"message"}, set(), []),
    "system-out": (set(), set(), []),
}


def parsed(found: t.Dict[str, t.Any]) -> Element:
    root = ElementTree.fromstring(junit.junit(found))
    check(root)
    return root


def check(element: Element) -> None:
    must, may, children = _SHAPE[element.tag]
    assert must <= set(element.keys()) <= must | may, element.tag
    places = [children.index(child.tag) for child in element]
    assert places == sorted(places), element.tag
    if element.tag == "testcase":
        assert len(element) <= 1
    if element.tag in ("testsuites", "testsuite"):
        cases = list(element.iter("testcase"))
        assert element.get("tests") == str(len(cases))
        for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert element.get(count) == str(sum(case.find(tag) is not None for case in cases))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", element.get("timestamp", reports.WRITTEN[:19]))
    for child in element:
        check(child)


def suite(kind: str) -> Element:
    found = parsed(reports.of({kind: reports.kinds()[kind]}))
    return found[0]


def case(kind: str, name: str) -> Element:
    (found,) = (one for one in suite(kind) if one.get("name") == name)
    return found


def test_a_suite_for_each_node_and_a_case_for_each_finding() -> None:
    found = reports.every_kind()
    root = parsed(found)
    assert [one.get("name") for one in root] == sorted(found["nodes"])
    for one in root:
        wanted = 1 + len(found["nodes"][one.get("name", "")]["findings"])
        assert one.get("tests") == str(wanted)


def test_a_golden_node_is_green() -> None:
    one = suite("golden")
    assert (one.get("failures"), one.get("errors")) == ("0", "0")
    known = {p.get("name"): p.get("value") for p in one.iter("property")}
    assert known["driver"] == "580.159.03"
    assert known["platform"] == "debian-13-x86_64"


def test_what_fails_is_a_failure_with_cause_and_fix() -> None:
    failure = case("driver", "host_driver.loaded").find("failure")
    assert failure is not None
    assert failure.get("message", "").startswith("The nvidia module is on disk and not loaded.")
    assert (failure.text or "").splitlines() == [
        "cause: The nvidia module is on disk and not loaded.",
        "wanted: 580.159.03",
        "found: not loaded",
        "fix: Run site.yml on this node. It loads the module.",
    ]
    assert case("driver", "host_driver.loaded").get("classname") == "driver.host_driver"


def test_what_is_unknown_is_an_error_and_what_was_not_judged_is_skipped() -> None:
    error = case("nvml", "host_driver.nvml").find("error")
    assert error is not None
    assert error.get("message") == "nvml was unreadable"
    skipped = case("nvml", "image.present").find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "not judged: host_driver is broken"


def test_what_golden_does_not_need_fails_no_pipeline_and_is_told() -> None:
    one = suite("unproven")
    assert (one.get("failures"), one.get("errors")) == ("0", "0")
    told = case("unproven", "packages.kept").find("system-out")
    assert told is not None
    assert (told.text or "").startswith("informational: ")


def test_a_waiver_is_told_where_the_finding_is() -> None:
    one = reports.kinds()["unproven"]
    waived = {"status": "fail", "required": False, "waived": "waived until 2027-03-31: spare part is ordered"}
    one["findings"] = [{**one["findings"][-1], **waived}]
    found = parsed(reports.of({"a": one}))
    told = found[0][-1].find("system-out")
    assert told is not None
    assert (told.text or "").splitlines()[-1] == "waived: waived until 2027-03-31: spare part is ordered"


def test_a_node_without_a_look_is_an_error_and_one_without_a_mark_a_failure() -> None:
    error = case("unreachable", "verdict").find("error")
    assert error is not None
    assert error.get("message") == "ssh: connect to host 10.0.0.3 port 22: timed out"
    assert error.text == "Check that the host is up, and name, port, user and key in the inventory"
    failure = case("unmarked", "verdict").find("failure")
    assert failure is not None
    assert failure.get("message") == "not golden"


def test_hostile_text_is_text_in_any_field() -> None:
    found = reports.hostile()
    root = parsed(found)
    assert len(root) == len(reports.HOSTILE)
    assert any("nul\ufffd bell\ufffd esc\ufffd" in one.get("name", "") for one in root)
    assert any(one.get("name", "").startswith("</script>") for one in root)


def test_the_same_results_are_the_same_bytes() -> None:
    assert junit.junit(reports.hostile()) == junit.junit(reports.hostile())
    turned = {**reports.every_kind(), "nodes": dict(reversed(reports.every_kind()["nodes"].items()))}
    assert junit.junit(turned) == junit.junit(reports.every_kind())


@pytest.mark.parametrize(
    ("written", "timestamp"),
    [
        ("2026-12-01T09:30:00+00:00", "2026-12-01T09:30:00"),
        ("2026-12-01T09:30:00.123456+02:00", "2026-12-01T07:30:00"),
        ("2026-12-01T09:30:00", "2026-12-01T09:30:00"),
        ("0001-01-01T00:00:00+14:00", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_the_time_is_utc_without_a_zone(written: str, timestamp: str) -> None:
    found = {**reports.of({"a": reports.kinds()["none"]}), "generated_at": written}
    assert parsed(found)[0].get("timestamp") == timestamp
