# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation that is made from the checks: whole, as the checks are now, and with no page too many."""

from __future__ import annotations

import dataclasses
import pathlib
import re

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.checks.registry import CHECKS
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Finding
from ansible_collections.goldennode.gpu.scripts.docpages import case, markdown, pages, steps, symptoms, tables

ROOT = pathlib.Path(__file__).resolve().parents[3]
IDS = [check.id for check in CHECKS]
CASES = case.load()


@pytest.fixture(scope="module")
def made():
    return pages.everything()


# --- what a new check owes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", IDS)
def test_every_check_has_a_page_of_its_own_words(check):
    """It fails with what is to be written, and where."""
    meaning, by_hand = pages.note(check)
    assert len(meaning) > 40
    assert by_hand.startswith("```sh\n")
    pages.cases_of(check)


def test_every_page_has_a_check():
    notes = {path.stem for path in (ROOT / "scripts" / "docpages" / "notes").glob("*.md")}
    there = {path.stem for path in (ROOT / "docs" / "checks").glob("*.md")} - {"README"}
    assert notes == set(IDS)
    assert there == set(IDS)


def test_a_check_without_its_part_is_told_what_it_lacks(monkeypatch, tmp_path):
    monkeypatch.setattr(pages, "_NOTES", tmp_path)
    wanted = (
        "scripts/docpages/notes/policy.units.md: write what the check means, then a block of ```sh with what to type"
    )
    with pytest.raises(pages.NoteError) as caught:
        pages.note("policy.units")
    assert str(caught.value) == "policy.units has no page. Add " + wanted
    (tmp_path / "policy.units.md").write_text("It is about units.\n")
    with pytest.raises(pages.NoteError) as caught:
        pages.note("policy.units")
    assert str(caught.value) == "The page of policy.units is not whole. Mend " + wanted
    with pytest.raises(pages.NoteError, match=r"^policy\.none fails in no example\. Add a Case to a file"):
        pages.cases_of("policy.none")


# --- the examples -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", CASES, ids=lambda one: "%s-%s" % (one.check, one.what))
def test_the_judge_names_each_example_as_it_is_meant(one):
    found = case.finding(one)
    assert (found.id, found.status in ("fail", "unknown")) == (one.check, True)
    assert set(one.symptoms) <= set(symptoms.SYMPTOMS)


def test_an_example_that_the_judge_names_otherwise_is_an_error():
    other = dataclasses.replace(CASES[0], check="policy.units")
    with pytest.raises(case.CaseError, match=r"^policy\.units \(.*\): the judge names hardware\.gpu_count: "):
        case.finding(dataclasses.replace(other, node=next(one for one in CASES if "missing" in one.what).node))
    with pytest.raises(case.CaseError, match=r"the judge names nothing$"):
        case.finding(dataclasses.replace(other, node=case.node))
    with pytest.raises(case.CaseError, match=r"the example cannot be judged: KeyError: 'h100x1'$"):
        case.finding(dataclasses.replace(other, node=lambda: case.node("h100x1")))


def test_no_two_examples_of_a_check_are_called_the_same():
    names = [(one.check, one.what) for one in CASES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("key", symptoms.SYMPTOMS)
def test_every_symptom_has_its_causes_as_soon_as_their_checks_are_there(key):
    symptom = symptoms.SYMPTOMS[key]
    causes = {one.check for one in CASES if key in one.symptoms}
    due = {check for check in symptom.waits if check in IDS} - causes
    assert not due, "add a Case with the symptom %r for %s to a file of scripts/docpages/cases" % (key, sorted(due))
    assert causes or symptom.waits, "nothing causes %r" % key


@pytest.mark.parametrize(
    "words",
    [
        *("is_available() returns False", "list_physical_devices", "nvidia-smi: command not found"),
        *("Driver/library version mismatch", "Unknown Error", "Insufficient Permissions", "NVML: Not Found"),
        *("GPU access blocked by the operating system", "The container starts, and has no GPU", "works as root only"),
        *("stopped after an upgrade", "The wrong GPU", "could not select device driver", "Operation not permitted"),
        *("CUDA driver version is insufficient", "unsatisfied condition: cuda>=", "Error 803", "Error 804"),
        *("No devices were found", "couldn't communicate with the NVIDIA driver", "Torch not compiled with CUDA"),
        *("no kernel image is available", "killed by signal: Bus error", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"),
        *("It is slow", "NUMA node", "governor", "swap", "/dev/shm"),
    ],
)
def test_the_symptoms_that_people_look_for_are_on_the_page(made, words):
    assert words in made["docs/symptoms.md"]


# --- the sixteen steps ------------------------------------------------------------------------------------------


def test_each_of_the_sixteen_steps_is_answered_by_checks_that_there_are():
    assert len(steps.STEPS) == 16
    for step in steps.STEPS:
        assert step.commands
        assert step.checks
        assert set(step.checks) <= set(IDS), step.title


# --- what is written --------------------------------------------------------------------------------------------


def test_the_pages_are_as_they_would_be_made_now(made):
    stale = [path for path, content in made.items() if _text(path) != content]
    assert not stale, "run make docs: %s" % ", ".join(stale)


def _text(path):
    return (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).exists() else None


def test_a_finding_leads_to_its_page(made):
    for check in IDS:
        assert Finding(id=check, layer="", status="fail").page in made


def test_every_link_leads_somewhere(made):
    for path, content in made.items():
        anchors = set(re.findall(r'<a id="([a-z_]+)">', content))
        for target in re.findall(r"\]\(([^)\s]+)\)", content):
            if target.startswith("https://"):  # sources of the vendors, on the page of compatibility
                assert path == "docs/compatibility.md"
                continue
            name, _hash, anchor = target.partition("#")
            where = str(pathlib.PurePosixPath(path).parent / name) if name else path
            where = where.replace("docs/checks/../", "docs/")
            assert where in made, (path, target)
            there = anchors if where == path else set(re.findall(r'<a id="([a-z_]+)">', made[where]))
            assert not anchor or anchor in there, (path, target)


def test_every_row_of_a_table_has_as_many_cells_as_its_head(made):
    for path, content in made.items():
        width = 0
        for line in content.splitlines():
            cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
            assert not (width and cells) or cells == width, (path, line)
            width = cells


def test_tables_of_words_are_whole_on_the_pages_of_their_checks(made):
    for check, layer in tables._START_ERRORS.items():
        for cause, _fix in tables.start_rows(layer):
            assert markdown.text(cause) in made["docs/checks/%s.md" % check]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("/dev/nvidia* and a | b", r"/dev/nvidia\* and a \| b"),
        ("[[gpu]]\n <x>", r"\[\[gpu\]\] \<x>"),
    ],
)
def test_words_are_shown_as_they_are(words, text):
    assert markdown.text(words) == text
