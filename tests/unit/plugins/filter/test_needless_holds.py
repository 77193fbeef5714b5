# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter's side of needless_holds: what it takes from a play, and what it refuses. The rest is the check's."""

from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.goldennode.gpu.plugins.filter import needless_holds as plugin
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Package, Reading, to_plain
from ansible_collections.goldennode.gpu.tests.unit import healthy

OLD = "linux-image-6.12.48+deb13-amd64"
WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)


def needless_holds(evidence: t.Any, desired: t.Any) -> t.Any:
    return plugin.FilterModule().filters()["needless_holds"](evidence, desired)


def test_it_is_the_only_filter_of_its_file() -> None:
    assert list(plugin.FilterModule().filters()) == ["needless_holds"]


def test_the_kernel_of_an_earlier_lock() -> None:
    there = {**(NODE.packages.value or {}), OLD: Package(OLD, "6.12.48-1", held=True)}
    evidence = healthy.known(NODE, packages=there, own_holds=(*(NODE.own_holds.value or ()), OLD))
    assert needless_holds(to_plain(evidence), to_plain(WANTED)) == [OLD]


@pytest.mark.parametrize("field", ["packages", "own_holds"])
def test_what_could_not_be_read_is_not_released(field: str) -> None:
    evidence = {**to_plain(NODE), field: to_plain(Reading.unknown("no answer"))}
    assert needless_holds(evidence, to_plain(WANTED)) == []


@pytest.mark.parametrize(("evidence", "desired"), [(None, to_plain(WANTED)), (to_plain(NODE), {}), ({"x": 1}, None)])
def test_what_is_no_look_and_no_wanted_state_is_refused(evidence: t.Any, desired: t.Any) -> None:
    with pytest.raises(AnsibleFilterError, match="needless_holds takes the evidence of a look and a wanted state: "):
        needless_holds(evidence, desired)
