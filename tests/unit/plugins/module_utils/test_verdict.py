# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From findings to a verdict: the first broken layer, what is not judged behind it, and that only a pass is golden."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks import outcome
from ansible_collections.goldennode.gpu.plugins.module_utils.checks.registry import CHECKS, Check
from ansible_collections.goldennode.gpu.plugins.module_utils.model import LAYERS, Evidence, Finding, Reading
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)


def finding(status: str, layer: str = "hardware", required: bool = True, **fields: t.Any) -> Finding:
    return Finding(id="%s.check" % layer, layer=layer, status=status, required=required, **fields)


@pytest.mark.parametrize("status", ["fail", "unknown", "skip"])
def test_a_required_finding_that_is_no_pass_is_not_golden(status: str) -> None:
    found = verdict.conclude([finding("pass"), finding(status, "image")])
    assert not found.golden
    assert found.first_broken == "image"


def test_nothing_judged_is_not_golden() -> None:
    assert not verdict.conclude([]).golden
    assert not verdict.conclude([finding("pass", required=False)]).golden


@pytest.mark.parametrize("status", ["fail", "unknown"])
def test_an_informational_finding_is_listed_as_not_proven(status: str) -> None:
    found = verdict.conclude([finding("pass"), finding(status, "image", required=False, cause="Not proven.")])
    assert found.golden
    assert found.not_proven == ("image.check: Not proven.",)


def test_a_skip_does_not_break_the_layer_before_the_one_it_points_to() -> None:
    found = verdict.conclude([finding("skip", "host_driver"), finding("fail", "device_nodes")])
    assert found.first_broken == "device_nodes"
    assert [f.layer for f in found.broken] == ["device_nodes"]


@pytest.mark.parametrize("layer", LAYERS)
def test_what_stands_behind_a_broken_layer_is_not_judged(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_desired: t.Any, _evidence: Evidence, _gpus: t.Optional[int]) -> t.List[Finding]:
        return [outcome.failed(expected="a", actual="b", cause="c", fix="d", repair="manual")]

    broken = tuple(dataclasses.replace(c, function=failing) if c.layer == layer else c for c in CHECKS)
    monkeypatch.setattr(verdict, "CHECKS", broken)
    found = verdict.run(WANTED, NODE, 1)
    place = LAYERS.index(layer)
    assert found.first_broken == layer
    for one in found.findings:
        if LAYERS.index(one.layer) < place:
            assert one.status == "pass"
        elif one.layer == layer:
            assert one.status == "fail"
        else:
            assert (one.status, one.actual) == ("skip", "not judged: %s is broken" % layer)
    assert {one.id for one in found.findings} == {check.id for check in CHECKS if not check.on_request}


def test_an_unknown_need_says_why() -> None:
    found = verdict.run(WANTED, healthy.unreadable(NODE, "initramfs"), 1)
    assert [(f.id, f.status, f.actual) for f in found.broken] == [
        ("host_driver.initramfs", "unknown", "initramfs: initramfs was unreadable")
    ]


def test_a_check_that_says_nothing_is_a_defect() -> None:
    silent = Check("hardware.silent", lambda desired, evidence, gpus: [], ("pci",))
    with pytest.raises(AssertionError, match="hardware.silent gave no finding"):
        verdict.judge(silent, WANTED, NODE, 1)


def test_the_local_fact_leaves_out_what_it_cannot_answer() -> None:
    found = verdict.run(WANTED, healthy.cheap(NODE), 1)
    assert {f.id for f in found.findings} == {check.id for check in CHECKS if check.cheap}
    assert {f.status for f in found.findings} == {"pass"}
    asked = [f.id for f in found.findings if f.id != "image.fits_gpus"]  # which is by PCI ids alone
    assert not any(name.startswith(("image.", "host_driver.nv", "host_driver.cuda")) for name in asked)


def test_a_cheap_look_refuses_nothing_for_what_it_has_not_read() -> None:
    assert verdict.refusals(WANTED, healthy.cheap(NODE), 1) == ()
    assert [f.id for f in verdict.refusals(WANTED, healthy.cheap(NODE), 2)] == ["hardware.gpu_count"]


def test_a_look_without_containers_is_never_golden() -> None:
    found = verdict.run(WANTED, dataclasses.replace(NODE, scope="host", containers={}), 1)
    assert not found.golden
    assert found.first_broken == "container_runtime"


def test_the_digest_of_the_findings_follows_what_was_found() -> None:
    first = verdict.run(WANTED, NODE, 1)
    assert verdict.findings_digest(first.findings) == verdict.findings_digest(verdict.run(WANTED, NODE, 1).findings)
    other = verdict.run(WANTED, dataclasses.replace(NODE, smi=Reading.unknown("x")), 1)
    assert verdict.findings_digest(first.findings) != verdict.findings_digest(other.findings)
    assert verdict.findings_digest(first.findings).startswith("sha256:")


def test_a_repair_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="wizard"):
        outcome.failed(expected="", actual="", cause="", fix="", repair="wizard")
