# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a run asks whether the packages of its lock can be had, and for which of them."""

from __future__ import annotations

import typing as t

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.goldennode.gpu.tests.unit import actions
from ansible_collections.goldennode.gpu.tests.unit.plugins.module_utils.test_lock import made
from ansible_collections.goldennode.gpu.tests.unit.roles.test_conditions import ROOT, holds, task

ASK = "Ask whether the packages of the lock that this node lacks can be had"
MANAGER = "nvidia-fabricmanager"


def asking() -> t.Dict[str, t.Any]:
    return task("playbooks/tasks/available.yml", ASK)


def variables(
    present: t.Optional[t.Dict[str, str]], switches: bool = False, pin: bool = True, **more: t.Any
) -> t.Dict[str, t.Any]:
    there = {name: {"name": name, "version": full} for name, full in present.items()} if present is not None else None
    pci = [{"nvswitch": False}, {"nvswitch": switches}, {"nvswitch": None}]
    return {
        "__goldennode_desired": {"lock": more.pop("lock", made()), "settings": {"kernel": {"kernel_pin": pin}}},
        "__goldennode_look": {"evidence": {"packages": {"value": there}, "pci": {"value": more.pop("pci", pci)}}},
        **more,
    }


def whole(*without: str) -> t.Dict[str, str]:
    axes = ("kernel", "driver", "fabric_manager", "toolkit", "docker")
    found = {name: full for axis in axes for name, full in made()[axis]["packages"].items()}
    return {name: full for name, full in found.items() if name not in without}


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (variables(whole()), False),
        (variables({**whole(), "bash": "5.2"}), False),
        (variables(whole(MANAGER)), False),
        (variables(whole(MANAGER), switches=True), True),
        (variables(whole("docker-ce")), True),
        (variables({**whole(), "docker-ce": "5:26.1.5-1"}), True),
        (variables(whole("linux-image-6.12.57+deb13-amd64")), True),
        (variables(whole("linux-image-6.12.57+deb13-amd64"), pin=False), False),
        (variables({}), True),
        (variables(None), True),
        (variables({}, bundle_resolved={"skipped": True}), False),
        (variables(whole(), pci=None), False),
        (variables(whole(MANAGER), switches=True, lock=dict(made(), fabric_manager=None)), False),
    ],
)
def test_a_node_that_has_all_packages_asks_nobody(given: t.Dict[str, t.Any], asked: bool) -> None:
    assert holds(asking(), **given) is asked


def test_it_asks_for_the_packages_that_this_node_shall_have() -> None:
    def wanted(**more: t.Any) -> t.Any:
        found = asking()
        values = {**actions.trusted(dict(found["vars"])), **variables({}, **more)}
        templar = Templar(loader=DataLoader(), variables=values)
        return templar.template(actions.trusted(found["goldennode.gpu.lock_available"]["packages"]))

    assert wanted() == whole(MANAGER)
    assert wanted(switches=True) == whole()
    assert wanted(pin=False) == whole(MANAGER, "linux-image-6.12.57+deb13-amd64")


def test_it_is_asked_before_the_mark_is_revoked() -> None:
    tasks = [one["name"] for one in DataLoader().load_from_file(str(ROOT / "playbooks/tasks/converge.yml"))]
    asked = tasks.index("Refuse a lock whose packages cannot be had any more")
    assert tasks.index("Resolve what this node is wanted to be") < asked
    assert asked < tasks.index("Revoke the golden mark before anything is changed")
