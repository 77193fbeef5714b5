# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter's side of file_changes: what it takes from a play, and what it refuses. The rest is test_plan.py's."""

from __future__ import annotations

import collections
import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.goldennode.gpu.plugins.filter import file_changes as plugin

PATH = "/etc/modprobe.d/goldennode-blacklist.conf"
WANTED = {PATH: {"sha256": "a", "mode": 0o644}}
FILTERS = plugin.FilterModule().filters()


def file_changes(there: t.Any, wanted: t.Any) -> t.Any:
    return FILTERS["file_changes"](there, wanted)


def test_it_is_the_only_filter_of_its_file() -> None:
    assert list(FILTERS) == ["file_changes"]


def test_dictionaries_of_a_kind_of_their_own_count_as_plain_ones() -> None:
    right = {PATH: {"sha256": "a", "mode": 0o644, "uid": 0, "gid": 0}}
    assert file_changes(collections.ChainMap(right), collections.ChainMap(WANTED)) == []
    assert file_changes(None, WANTED) == [PATH]


@pytest.mark.parametrize(
    ("there", "wanted", "got"), [([], {}, "list and dict"), ({}, None, "dict and NoneType"), ("", {}, "str and dict")]
)
def test_what_is_no_dictionary_is_refused_by_its_type(there: t.Any, wanted: t.Any, got: str) -> None:
    with pytest.raises(AnsibleFilterError) as refused:
        file_changes(there, wanted)
    assert str(refused.value) == "file_changes compares two dictionaries, got %s" % got
