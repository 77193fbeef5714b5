# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every one of the forty field cases is a test: here as a capture, or where what it asks is no diagnosis of a node."""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest

from ansible_collections.goldennode.gpu.tests.unit.cases import cases

UNIT = pathlib.Path(__file__).parent.parent

FORTY = [
    "001",
    "002",
    "004",
    "005",
    "006",
    "007",
    "008",
    "009",
    "012",
    "014",
    "015",
    "017",
    "019",
    "020",
    "021",
    "023",
    "024",
    "027",
    "029",
    "031",
    "032",
    "033",
    "035",
    "036",
    "037",
    "039",
    "040",
    "041",
    "042",
    "045",
    "048",
    "049",
    "050",
    "052",
    "053",
    "055",
    "056",
    "058",
    "059",
    "061",
]

MODULE_UTILS = "plugins/module_utils/"

#: Case: what it asks instead, and the tests that answer, as FILE::FUNCTION.
ELSEWHERE: t.Dict[str, t.Tuple[str, t.Tuple[str, ...]]] = {
    "032": (
        "what a merge into daemon.json keeps",
        (MODULE_UTILS + "test_docker_config.py::test_case_032_features_stay_and_cdi_comes_into_force",),
    ),
    "035": (
        "what a merge into daemon.json keeps",
        (MODULE_UTILS + "test_docker_config.py::test_case_035_everything_else_stays",),
    ),
    "037": (
        "how one transaction replaces a branch by another",
        (MODULE_UTILS + "test_package_set.py::test_an_older_branch_goes_in_the_same_transaction",),
    ),
    "040": (
        "a bundle's key that a platform does not take",
        (
            MODULE_UTILS
            + "test_source_keys.py::test_case_040_a_key_bound_by_sha1_is_refused_for_debian_13_with_the_way_out",
        ),
    ),
    "042": (
        "locks of dnf, which the collection does not drive yet; that an epoch counts is judged",
        (MODULE_UTILS + "checks/test_causes.py::test_an_epoch_is_part_of_the_version",),
    ),
    "045": (
        "a second and a third run over a held package",
        (
            MODULE_UTILS + "test_package_set.py::test_only_a_hold_is_missing",
            MODULE_UTILS + "test_package_set.py::test_a_hold_that_does_not_stay_is_an_error",
        ),
    ),
}

#: Manifests of workloads, which nothing reads yet: no test of the nodes can answer for them.
NOT_YET = ("050", "052", "053", "055")


def test_each_of_the_forty_is_somewhere() -> None:
    here = {case.id for case in cases.every()}
    assert sorted(here & set(FORTY) | set(ELSEWHERE) | set(NOT_YET)) == FORTY
    assert not here & set(ELSEWHERE)
    assert not here & set(NOT_YET)


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_the_tests_that_are_named_exist(name: str) -> None:
    reason, tests = ELSEWHERE[name]
    assert reason
    for place in tests:
        path, _colons, function = place.partition("::")
        assert re.search(r"(?m)^def %s\(" % function, (UNIT / path).read_text(encoding="utf-8")), place
