# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One status for each layer."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import chain
from ansible_collections.goldennode.gpu.plugins.module_utils.model import LAYERS, Finding


def finding(layer: str, status: str, required: bool = True) -> Finding:
    return Finding(id=layer + ".one", layer=layer, status=status, required=required)


def test_every_layer_has_a_status_in_the_order_of_the_chain() -> None:
    found = [finding(layer, "pass") for layer in reversed(LAYERS)]
    assert list(chain.statuses(found)) == list(LAYERS)
    assert set(chain.statuses(found).values()) == {"pass"}


@pytest.mark.parametrize(
    ("statuses", "wanted"),
    [
        (("pass", "fail", "unknown"), "fail"),
        (("pass", "unknown", "skip"), "unknown"),
        (("pass", "skip"), "skip"),
        (("pass", "pass"), "pass"),
    ],
)
def test_a_layer_is_as_its_worst_required_finding(statuses: tuple[str, ...], wanted: str) -> None:
    assert chain.statuses([finding("image", status) for status in statuses])["image"] == wanted


def test_what_is_informational_does_not_count_and_nothing_asked_is_no_pass() -> None:
    assert chain.statuses([finding("image", "pass"), finding("image", "fail", required=False)])["image"] == "pass"
    assert chain.statuses([finding("image", "pass", required=False)])["image"] == "skip"
    assert chain.statuses([])["policy"] == "skip"
