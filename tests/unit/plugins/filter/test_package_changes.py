# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter's side of package_changes: what it takes from a play, and what it refuses. The rest is test_plan.py's."""

from __future__ import annotations

import collections
import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.goldennode.gpu.plugins.filter import package_changes as plugin

TOOLKIT = {"name": "nvidia-container-toolkit", "version": "1.19.1-1", "held": True, "status": "installed"}
FILTERS = plugin.FilterModule().filters()


class Text(str):
    """As Ansible's tagged strings are."""


def package_changes(present: t.Any, wanted: t.Any) -> t.Any:
    return FILTERS["package_changes"](present, wanted)


def test_it_is_the_only_filter_of_its_file() -> None:
    assert list(FILTERS) == ["package_changes"]


def test_a_sentence_for_each_difference() -> None:
    wanted = {"nvidia-container-toolkit": "1.20.0-1", "docker-ce": "5:28"}
    assert package_changes({"nvidia-container-toolkit": TOOLKIT}, wanted) == [
        "docker-ce: install 5:28 and hold it",
        "nvidia-container-toolkit: 1.19.1-1 -> 1.20.0-1, and hold it",
    ]


def test_dictionaries_and_strings_of_a_kind_of_their_own_count_as_plain_ones() -> None:
    wanted = collections.ChainMap({Text("nvidia-container-toolkit"): Text("1.20.0-1")})
    (told,) = package_changes(collections.ChainMap({Text("nvidia-container-toolkit"): TOOLKIT}), wanted)
    assert told == "nvidia-container-toolkit: 1.19.1-1 -> 1.20.0-1, and hold it"
    assert told.__class__ is str


def test_packages_that_the_look_could_not_read_are_not_called_missing() -> None:
    told = package_changes(None, {"docker-ce": "5:28"})
    assert told == ["docker-ce: wanted is 5:28, held; what is installed is not known"]


@pytest.mark.parametrize(
    ("present", "wanted", "got"),
    [
        ([], {}, "list and dict"),
        ("", {}, "str and dict"),
        (False, {}, "bool and dict"),
        ({}, None, "dict and NoneType"),
        (None, ["docker-ce"], "NoneType and list"),
    ],
)
def test_what_is_no_dictionary_is_refused_by_its_type(present: t.Any, wanted: t.Any, got: str) -> None:
    with pytest.raises(AnsibleFilterError) as refused:
        package_changes(present, wanted)
    assert str(refused.value) == "package_changes compares two dictionaries, got %s" % got
