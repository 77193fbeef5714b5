# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of ours that a newer toolkit does not need are stopped before their files go: systemd watches on without."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible.parsing.dataloader import DataLoader

from ansible_collections.goldennode.gpu.plugins.module_utils.model import to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.toolkit_wanted import DROP_IN, OWN_UNITS, VENDOR_UNITS
from ansible_collections.goldennode.gpu.tests.unit import actions, healthy

ROLE = pathlib.Path(__file__).parents[3] / "roles" / "toolkit"
FOLDER = "/etc/systemd/system/"
LINKS = FOLDER + "multi-user.target.wants/"


def derived(name: str, toolkit: str = "1.20.0", found: t.Any = None, **settings: t.Any) -> t.Any:
    wanted = healthy.desired(of_lock=healthy.lock(toolkit={"version": toolkit}), **settings)
    variables = actions.trusted(DataLoader().load_from_file(str(ROLE / "vars" / "main.yml")))
    variables["__goldennode_desired"] = to_plain(wanted)
    variables["toolkit_units_found"] = found or {"skipped": True}
    return actions.with_filters(variables).template(variables[name])


def test_the_role_knows_the_same_files_and_units():
    assert derived("toolkit_drop_in") == DROP_IN
    assert derived("toolkit_own_units") == list(OWN_UNITS)


@pytest.mark.parametrize(
    ("toolkit", "settings", "used", "unwanted", "files"),
    [
        ("1.20.0", {}, VENDOR_UNITS, OWN_UNITS, [FOLDER + unit for unit in OWN_UNITS]),
        ("1.17.9", {}, OWN_UNITS, (), [DROP_IN]),
        ("1.20.0", {"toolkit_cdi": False}, (), OWN_UNITS, [DROP_IN, *(FOLDER + unit for unit in OWN_UNITS)]),
    ],
)
def test_what_a_node_does_not_want_any_more(toolkit, settings, used, unwanted, files):
    assert sorted(derived("toolkit_cdi_units", toolkit, **settings)) == sorted(used)
    assert sorted(derived("toolkit_units_not_wanted", toolkit, **settings)) == sorted(unwanted)
    links = [LINKS + unit for unit in unwanted]
    assert sorted(derived("toolkit_files_not_wanted", toolkit, **settings)) == sorted([*files, *links])


def test_only_units_that_are_there_are_stopped():
    assert derived("toolkit_units_left") == []
    found = {"files": [{"path": FOLDER + unit} for unit in reversed(OWN_UNITS)]}
    assert derived("toolkit_units_left", found=found) == sorted(OWN_UNITS)


def test_they_are_stopped_before_their_files_go():
    names = [one["name"] for one in DataLoader().load_from_file(str(ROLE / "tasks" / "main.yml"))]
    stopped = names.index("Stop the units of the CDI specification that are not wanted any more")
    assert stopped < names.index("Remove the units and settings of the CDI specification that are not wanted any more")
