# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the packages role derives from the wanted state, with the real templating of Ansible."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.goldennode.gpu.plugins.module_utils.model import to_plain
from ansible_collections.goldennode.gpu.tests.unit import actions, healthy

ROLE = pathlib.Path(__file__).parents[3] / "roles" / "packages"
VARIABLES = ROLE / "vars" / "main.yml"


def derived(name: str) -> t.Any:
    loader = DataLoader()
    variables = actions.trusted(loader.load_from_file(str(VARIABLES)))
    variables["__goldennode_desired"] = to_plain(healthy.desired())
    return Templar(loader=loader, variables=variables).template(variables[name])


def test_the_bundles_own_sources_files_are_given_with_their_text():
    files = healthy.desired().files
    assert derived("packages_sources") == {
        path: files[path].content for path in ["/etc/apt/sources.list.d/goldennode-nvidia.sources"]
    }


@pytest.mark.parametrize(
    ("remembered", "due"),
    [({}, True), ({"packages_prepared_for": "another"}, True), ({"packages_prepared_for": "this"}, False)],
    ids=["first", "another bundle in the same play", "next axis"],
)
def test_the_package_manager_is_prepared_once_for_each_wanted_state(remembered, due):
    """A second import of site.yml with another bundle has other sources and pins."""
    loader = DataLoader()
    tasks = loader.load_from_file(str(ROLE / "tasks" / "install.yml"))
    variables = {"__goldennode_desired": {"digest": "this"}, **remembered}
    prepare, remember = tasks[:2]
    assert prepare["ansible.builtin.include_tasks"] == "main.yml"
    for task in (prepare, remember):
        condition = actions.trusted("{{ %s }}" % task["when"])
        assert Templar(loader=loader, variables=variables).template(condition) is due
    fact = actions.trusted(remember["ansible.builtin.set_fact"]["packages_prepared_for"])
    assert Templar(loader=loader, variables=variables).template(fact) == "this"
