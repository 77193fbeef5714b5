# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions of tasks that decide from evidence, with the real templating of Ansible."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.goldennode.gpu.tests.unit import actions

ROOT = pathlib.Path(__file__).parents[3]


def task(path: str, name: str) -> t.Dict[str, t.Any]:
    """The task of that name, in whatever block of the file."""

    def within(tasks: t.Iterable[t.Dict[str, t.Any]]) -> t.Iterator[t.Dict[str, t.Any]]:
        for one in tasks:
            yield one
            for key in ("tasks", "block"):
                yield from within(one.get(key, ()))

    (found,) = [one for one in within(DataLoader().load_from_file(str(ROOT / path))) if one.get("name") == name]
    return found


def holds(found: t.Mapping[str, t.Any], **variables: t.Any) -> bool:
    """Whether all conditions of the task are true."""
    values = {**actions.trusted(dict(found.get("vars", {}))), **variables}
    templar = Templar(loader=DataLoader(), variables=values)
    conditions = found["when"] if isinstance(found["when"], list) else [found["when"]]
    return all(templar.evaluate_conditional(actions.trusted(condition)) for condition in conditions)


# --- site.yml: what was left for want of consent ---------------------------------------------------------------------

OLD = {"id": "container_runtime.containers", "repair": "roles"}
OWNERS = {"id": "container_runtime.containers", "repair": "manual"}
UNPROVEN = "container_runtime.daemon_reload: it was not tried"


def left(*findings: t.Dict[str, str], unproven: t.Sequence[str] = (), golden: bool = True, **consent: bool) -> bool:
    settings = {
        "docker": {"docker_allow_container_restart": consent.get("restart", False)},
        "golden": {"golden_allow_daemon_reload": consent.get("reload", False)},
    }
    look = {"golden": golden, "verdict": {"findings": list(findings)}, "mark": {"not_proven": list(unproven)}}
    return holds(
        task("playbooks/site.yml", "Do what was left for want of consent"),
        __goldennode_bundle={"settings": settings},
        __goldennode_look=look if golden else {"golden": False},
        ansible_run_tags=["verify"] if consent.get("looking") else ["all"],
        ansible_check_mode=consent.get("checking", False),
    )


@pytest.mark.parametrize("consent", [{}, {"restart": True}, {"reload": True}, {"restart": True, "reload": True}])
def test_a_golden_node_of_which_nothing_was_left_is_left_alone(consent: t.Dict[str, bool]) -> None:
    assert not left(**consent)
    assert not left(OWNERS, unproven=["packages.kept: a file is missing"], **consent)


def test_what_was_left_is_done_by_its_own_consent_alone() -> None:
    assert not left(OLD, unproven=[UNPROVEN])
    assert left(OLD, restart=True)
    assert not left(OLD, reload=True)
    assert left(unproven=["packages.kept: x", UNPROVEN], reload=True)
    assert not left(unproven=[UNPROVEN], restart=True)


def test_looking_and_check_mode_do_nothing_of_it() -> None:
    assert not left(OLD, restart=True, looking=True)
    assert not left(OLD, restart=True, checking=True)


def test_a_node_that_is_not_golden_goes_through_the_roles() -> None:
    assert not left(golden=False, restart=True, reload=True)


# --- the driver role: links in /dev/char -----------------------------------------------------------------------------

SEEN = ["nvidia", "nvidia-uvm", "nvidiactl"]
WELL = {"/dev/nvidia0": "/dev/nvidia0", "/dev/nvidiactl": "/dev/nvidiactl"}


@pytest.mark.parametrize(
    ("links", "seen", "due"),
    [
        (WELL, SEEN, False),
        ({**WELL, "/dev/nvidia0": None}, SEEN, True),
        ({**WELL, "/dev/nvidia0": "/dev/null"}, SEEN, True),
        (None, SEEN, False),
        ({}, SEEN[:2], True),
    ],
)
def test_the_unit_that_makes_links_is_started_where_one_is_missing(links: t.Any, seen: t.List[str], due: bool) -> None:
    found = task("roles/driver/tasks/load.yml", "Load the driver and make its device nodes")
    look = {"evidence": {"dev_char": {"value": links}}}
    assert holds(found, __goldennode_look=look, driver_seen=seen, driver_in_the_way=[], ansible_check_mode=False) is due


# --- daemon-reload where a unit has changed --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("results", "due"),
    [
        ([{"status": {"NeedDaemonReload": "no"}}, {"status": {"NeedDaemonReload": "yes"}}], True),
        ([{"status": {"NeedDaemonReload": "no"}}], False),
        ([{"skipped": True}, {"status": {}}], False),
    ],
)
def test_systemd_reads_units_of_the_driver_that_have_changed(results: t.Any, due: bool) -> None:
    found = task("roles/driver/tasks/load.yml", "Have systemd read the units that have changed")
    assert holds(found, driver_enabled={"results": results}) is due


@pytest.mark.parametrize(
    ("enabled", "due"),
    [
        ({"status": {"NeedDaemonReload": "yes"}}, True),
        ({"status": {"NeedDaemonReload": "no"}}, False),
        ({"skipped": True}, False),
    ],
)
def test_systemd_reads_the_unit_of_the_agent_where_it_has_changed(enabled: t.Any, due: bool) -> None:
    found = task("roles/golden/tasks/agent.yml", "Have systemd read the unit of the agent where it has changed")
    assert holds(found, golden_agent_enabled=enabled) is due
