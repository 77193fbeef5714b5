# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every field case, from what the tools printed to what is said of it: layer, cause, what to do, what not to do."""

from __future__ import annotations

import functools
import re
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks.registry import CHECKS
from ansible_collections.goldennode.gpu.plugins.module_utils.model import LAYERS, REPAIRS, Finding, Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.capture import Replay
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.look import look
from ansible_collections.goldennode.gpu.tests.unit import healthy
from ansible_collections.goldennode.gpu.tests.unit.cases import cases, mapping
from ansible_collections.goldennode.gpu.tests.unit.cases.machine import Machine

ALL = cases.every()
judged = functools.lru_cache(maxsize=None)(lambda name: cases.judged(next(one for one in ALL if one.name == name)))


def each(what: str, chosen: t.Iterable[cases.Case] = ALL) -> t.Any:
    """A parameter for each case; one that needs what is not read yet must fail, and says so once it does not."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(
                one,
                id=one.name,
                marks=pytest.mark.xfail(strict=True, reason=one.xfail) if one.xfail and what in one.xfail_of else (),
            )
            for one in chosen
        ],
    )


def words(finding: Finding) -> str:
    return " ".join((finding.entity, finding.expected, finding.actual, finding.cause))


def finding_of(case: cases.Case) -> Finding:
    found = [
        one
        for one in judged(case.name).problems
        if one.id == case.expected.check and case.expected.entity in ("", one.entity)
    ]
    assert found, [(one.id, one.entity, one.cause or one.actual) for one in judged(case.name).problems]
    return found[0]


@each("layer")
def test_the_layer_is_named(case: cases.Case) -> None:
    found = judged(case.name).verdict
    broken = [(one.id, one.actual, one.cause) for one in found.broken]
    assert (found.golden, found.first_broken) == (case.expected.golden, case.expected.layer or None), broken


@each("cause", [one for one in ALL if one.expected.check])
def test_cause_and_action_are_named(case: cases.Case) -> None:
    finding = finding_of(case)
    for said in case.expected.says:
        assert said in words(finding)
    for said in case.expected.do:
        assert said in finding.fix
    assert finding.repair == case.expected.repair


@pytest.mark.parametrize("case", [one for one in ALL if one.must_not], ids=lambda case: case.name)
def test_what_must_not_be_said_is_not_said(case: cases.Case) -> None:
    problems = judged(case.name).problems
    for one in case.must_not:
        assert not one.pattern or not [
            problem for problem in problems if re.search(one.pattern, problem.cause + " " + problem.fix)
        ], one.what
        assert one.check not in {problem.id for problem in problems}, one.what
        assert not one.repair or one.repair not in {problem.repair for problem in problems}, one.what


@pytest.mark.parametrize("case", [one for one in ALL if one.expected.evidence], ids=lambda case: case.name)
def test_what_is_read_is_what_the_tool_said(case: cases.Case) -> None:
    for name, value in case.expected.evidence.items():
        reading, _dot, field = name.partition(".")
        found = getattr(judged(case.name).evidence, reading)
        assert isinstance(found, Reading)
        assert found.error is None
        assert (getattr(found.value, field) if field else found.value) == value


# --- the cases themselves --------------------------------------------------------------------------------------------


def test_the_machine_of_the_cases_is_healthy() -> None:
    for profile in ("a10", "h100x8"):
        wanted = healthy.desired(profile)
        machine = Machine(wanted, healthy.evidence(profile, wanted).pci.value or ())
        evidence = look(Replay(machine.capture()), wanted, single_gpus=True)
        found = verdict.run(wanted, evidence, healthy.PROFILES[profile])
        assert [(one.id, one.actual) for one in found.findings if one.status != "pass"] == []
        assert (found.golden, found.not_proven) == (True, ())


def test_a_key_without_a_mapping_is_refused() -> None:
    with pytest.raises(KeyError, match="no mapping for nvidia_smi_stdout"):
        mapping.apply(Machine(healthy.desired()), {"nvidia_smi_rc": 0, "nvidia_smi_stdout": "x"})


def test_every_mapping_is_used_and_every_context_has_its_reason() -> None:
    used = {key for case in ALL for key in (*case.input, *case.filled_in)}
    tables: t.Tuple[t.Mapping[str, t.Any], ...] = (mapping.MAPPING, mapping.CONTEXT, mapping.WAITING)
    assert sorted(key for table in tables for key in table) == sorted(used)
    assert all(len(reason) > 10 for table in tables[1:] for reason in table.values())


def test_only_a_case_that_waits_has_what_nobody_asks_for() -> None:
    for case in ALL:
        assert bool(case.xfail) == bool(set(mapping.WAITING) & set(case.input)), case.name


def test_the_cases_are_whole() -> None:
    names = [case.name for case in ALL]
    assert sorted(set(names)) == sorted(names)
    known = {check.id for check in CHECKS}
    for case in ALL:
        assert case.about, case.name
        assert case.input, case.name
        assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", source) for source in case.source), case.name
        assert case.source, case.name
        expected = case.expected
        assert expected.golden or expected.layer in LAYERS, case.name
        assert expected.golden or (expected.says and expected.do), case.name
        assert expected.check in known or case.xfail or (expected.golden and not expected.check), case.name
        assert expected.repair in (*REPAIRS, ""), case.name


@pytest.mark.parametrize("case", [one for one in ALL if one.must_not], ids=lambda case: case.name)
def test_what_must_not_be_said_would_be_found(case: cases.Case) -> None:
    known = {check.id for check in CHECKS}
    for one in case.must_not:
        assert one.pattern or one.check or one.repair, one.what
        assert not one.pattern or re.search(one.pattern, one.example), one.what
        assert not one.check or one.check in known, one.what
        assert not one.repair or one.repair in REPAIRS, one.what


def test_one_text_with_two_causes_has_two_answers() -> None:
    """Groups of cases that print the same and are something else."""
    by_words: t.Dict[str, t.Set[t.Tuple[str, str]]] = {}
    for case in ALL:
        for text in ("No devices were found", "Driver/library version mismatch", "failed to add device rules",
                     "could not select device driver", "unresolvable CDI devices"):  # fmt: skip
            if any(text in str(value) for value in case.input.values()) and not case.xfail:
                finding = finding_of(case)
                by_words.setdefault(text, set()).add((finding.id, finding.cause))
    assert {text for text, answers in by_words.items() if len(answers) > 1} == set(by_words)
