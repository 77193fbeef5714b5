# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of our own holds: read back as written, and any text is taken."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.parse import own_holds


def test_what_is_written_is_read_back():
    assert own_holds.parse(own_holds.render(["b", "a", "b"])) == ("a", "b")


@pytest.mark.parametrize(
    "text",
    [None, "", "{", "[]", "3", "null", '{"schema": 2, "names": ["a"]}', '{"schema": 1}', '{"schema": 1, "names": 3}'],
)
def test_what_is_not_understood_makes_no_hold_ours(text):
    assert own_holds.parse(text) == ()


def test_what_is_no_name_is_none():
    assert own_holds.parse('{"schema": 1, "names": ["a", 3, null]}') == ("a",)
