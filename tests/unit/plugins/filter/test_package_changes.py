# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter package_changes as a play calls it: by its full name, on what templating gives."""

from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.goldennode.gpu.tests.unit.actions import trusted

TOOLKIT = {"name": "nvidia-container-toolkit", "version": "1.19.1-1", "held": True, "status": "installed"}


def template(present: t.Any, wanted: t.Any) -> t.Any:
    templar = Templar(loader=DataLoader(), variables=trusted({"present": present, "wanted": wanted}))
    return templar.template(trust_as_template("{{ present | goldennode.gpu.package_changes(wanted) }}"))


def test_a_list_of_sentences() -> None:
    found = template(
        {"nvidia-container-toolkit": TOOLKIT}, {"nvidia-container-toolkit": "1.20.0-1", "docker-ce": "5:28"}
    )
    assert found == [
        "docker-ce: install 5:28 and hold it",
        "nvidia-container-toolkit: 1.19.1-1 -> 1.20.0-1, and hold it",
    ]


def test_versions_may_come_from_templates() -> None:
    variables = trusted({"version": "1.19.1-1", "wanted": {"nvidia-container-toolkit": "{{ version }}"}})
    templar = Templar(loader=DataLoader(), variables={**variables, "present": {"nvidia-container-toolkit": TOOLKIT}})
    assert templar.template(trust_as_template("{{ present | goldennode.gpu.package_changes(wanted) }}")) == []


def test_a_look_that_could_not_read_the_packages() -> None:
    assert template(None, {"docker-ce": "5:28"}) == ["docker-ce: wanted is 5:28, held; what is installed is not known"]


@pytest.mark.parametrize(
    ("present", "wanted", "got"),
    [
        ([], {}, "list and dict"),
        ("", {}, "str and dict"),
        ({}, None, "dict and NoneType"),
        ({}, ["docker-ce"], "dict and list"),
    ],
)
def test_other_types_are_named(present: t.Any, wanted: t.Any, got: str) -> None:
    with pytest.raises(AnsibleError, match="package_changes compares two dictionaries, got %s" % got):
        template(present, wanted)
