# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From JSON back to the types: exactly what was written, or an error that names the place."""

from __future__ import annotations

import json

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    Evidence,
    Gpu,
    GpuTool,
    Reading,
    Unit,
    to_plain,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import desired_from_plain, evidence_from_plain
from ansible_collections.goldennode.gpu.tests.unit import healthy, recorded


def through_json(value):
    return json.loads(json.dumps(to_plain(value)))


def test_what_is_wanted_comes_back_the_same():
    wanted = recorded.desired()
    assert desired_from_plain(through_json(wanted)) == wanted


@pytest.mark.parametrize("profile", sorted(healthy.PROFILES))
def test_evidence_comes_back_the_same(profile):
    evidence = healthy.evidence(profile)
    assert evidence_from_plain(through_json(evidence)) == evidence


def test_unknown_absent_and_empty_stay_apart():
    evidence = Evidence(
        smi=Reading.unknown("it hung"),
        nvml=Reading(None),
        cuda=Reading(None),
        device_nodes=Reading(()),
        mark=Reading({}),
    )
    again = evidence_from_plain(through_json(evidence))
    assert again == evidence
    assert (again.smi.known, again.nvml.known, again.device_nodes.value, again.mark.value) == (False, True, (), {})


def test_a_whole_number_may_stand_for_a_float():
    plain = through_json(Evidence(units=Reading({"x": Unit("x", "loaded", "active", "enabled", 12.0)})))
    plain["units"]["value"]["x"]["started_at"] = 12
    started = evidence_from_plain(plain).units.value["x"].started_at
    assert (started, type(started)) == (12.0, float)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"smi": 1}, "evidence.smi: an object is expected, not 1"),
        ({"colour": "red"}, "evidence: Evidence has no field colour"),
        ({"host": 7}, "evidence.host: str is expected, not 7"),
        ({"device_nodes": {"value": "x", "error": None}}, "evidence.device_nodes.value: a list is expected, not 'x'"),
        (
            {"smi": {"value": {"gpus": [{"index": True}]}, "error": None}},
            r"evidence.smi.value.gpus\[0\].index: int is expected, not True",
        ),
        ({"smi": {"value": {"gpus": [{}]}, "error": None}}, r"evidence.smi.value.gpus\[0\]: .*index"),
        (
            {"groups": {"value": {"video": [44]}, "error": None}},
            r"evidence.groups.value\['video'\]: 2 items are expected, not 1",
        ),
    ],
)
def test_what_does_not_fit_names_its_place(change, why):
    plain = through_json(Evidence(smi=Reading(GpuTool(gpus=(Gpu(0),)))))
    plain.update(change)
    with pytest.raises(ValueError, match="^%s" % why):
        evidence_from_plain(plain)
