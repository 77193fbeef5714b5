# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the device_access role derives from what it has looked up, with the real templating."""

from __future__ import annotations

import base64
import dataclasses
import pathlib
import typing as t

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.goldennode.gpu.plugins.module_utils.model import to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.security import BOOLEANS
from ansible_collections.goldennode.gpu.tests.unit import actions, healthy

ROLE = pathlib.Path(__file__).parents[3] / "roles" / "device_access"
NARROW, WIDE = BOOLEANS


def derived(name: str, **registered: t.Any) -> t.Any:
    loader = DataLoader()
    variables = actions.trusted(loader.load_from_file(str(ROLE / "vars" / "main.yml")))
    variables.update({"device_access_group": "gpu", "device_access_mode": "0660", **registered})
    return Templar(loader=loader, variables=variables).template(variables[name])


def group(*fields: str) -> t.Dict[str, t.Any]:
    """What getent says of the group gpu; nothing where there is none."""
    return {"ansible_facts": {"getent_group": {"gpu": list(fields) or None}}}


@pytest.mark.parametrize(
    ("fields", "number", "members"),
    [(("x", "2001", "alice,bob"), "2001", ["alice", "bob"]), (("x", "2001", ""), "2001", [""]), ((), None, [""])],
)
def test_the_group_of_the_node(fields: t.Tuple[str, ...], number: t.Optional[str], members: t.List[str]) -> None:
    assert derived("device_access_group_is", device_access_group_seen=group(*fields)) == number
    assert derived("device_access_members", device_access_group_seen=group(*fields)) == members


def test_a_group_that_only_a_directory_has() -> None:
    assert derived("device_access_group_elsewhere", device_access_group_anywhere=group("*", "70001", "")) == "70001"
    assert derived("device_access_group_elsewhere", device_access_group_anywhere=group()) is None


@pytest.mark.parametrize(("seen", "name"), [({"render": ["x", "105", ""]}, "render"), ({"105": None}, None)])
def test_whose_a_number_is(seen: t.Dict[str, t.Any], name: t.Optional[str]) -> None:
    assert derived("device_access_gid_is", device_access_gid_seen={"ansible_facts": {"getent_group": seen}}) == name


def tasks(file: str) -> t.Dict[str, t.Dict[str, t.Any]]:
    return {task["name"]: task for task in yaml.safe_load((ROLE / "tasks" / file).read_text(encoding="utf-8"))}


def test_nothing_is_changed_before_everything_is_refused() -> None:
    modules = [next(key for key in task if "." in key) for task in tasks("main.yml").values()]
    changing = ("ansible.builtin.group", "ansible.builtin.command", "ansible.builtin.user", "ansible.builtin.file")
    first = min(at for at, module in enumerate(modules) if module in changing)
    assert max(at for at, module in enumerate(modules) if module == "ansible.builtin.fail") < first


def test_only_users_are_added_who_are_not_in_the_nodes_own_list() -> None:
    task = tasks("main.yml")["Put the users into the group"]
    assert task["ansible.builtin.command"]["argv"][:2] == ["gpasswd", "--add"]
    users = derived(
        "left",
        left=actions.trusted(task["loop"]),
        device_access_users=["alice", "carol@example.org"],
        device_access_group_seen=group("x", "2001", "alice,bob"),
    )
    assert users == ["carol@example.org"]


def files(*names: str) -> t.Dict[str, t.Any]:
    return {"files": [{"path": "/sys/fs/selinux/booleans/" + name} for name in names]}


def contents(*values: str) -> t.Dict[str, t.Any]:
    return {"results": [{"content": base64.b64encode(value.encode()).decode()} for value in values]}


@pytest.mark.parametrize(
    ("there", "boolean"),
    [(files(NARROW, WIDE), NARROW), (files(WIDE, NARROW), NARROW), (files(WIDE), WIDE), (files(), ""), ({}, "")],
)
def test_the_narrowest_boolean_of_the_policy(there: t.Dict[str, t.Any], boolean: str) -> None:
    assert derived("device_access_boolean", device_access_booleans_there=there) == boolean
    assert derived("device_access_booleans") == list(BOOLEANS), "role and probe know the same"


@pytest.mark.parametrize(
    ("values", "on"),
    [(("0 0",), False), (("1 1",), True), (("0 0", "1 1"), True), (("0 1",), False), ((), False)],
)
def test_a_boolean_that_is_on(values: t.Tuple[str, ...], on: bool) -> None:
    assert derived("device_access_boolean_on", device_access_booleans_read=contents(*values)) is on


@pytest.mark.parametrize(
    ("options", "daemon", "ours", "wanted"),
    [
        (["name=selinux"], {}, True, True),
        ([], {"selinux-enabled": True}, True, True),
        ([], {}, True, False),
        (["name=apparmor"], {"selinux-enabled": False}, True, False),
        (["name=selinux"], {"selinux-enabled": True}, False, False),
        (None, {"selinux-enabled": True}, True, True),  # no Docker yet
        (None, {}, True, False),
    ],
)
def test_the_boolean_is_switched_only_where_docker_confines(
    options: t.Optional[t.List[str]], daemon: t.Dict[str, t.Any], ours: bool, wanted: bool
) -> None:
    node = healthy.evidence()
    assert node.docker.value is not None
    engine = None if options is None else dataclasses.replace(node.docker.value, security_options=tuple(options))
    found = derived(
        "device_access_selinux_wanted",
        device_access_selinux_boolean=ours,
        __goldennode_desired={"daemon": daemon},
        __goldennode_look={"evidence": to_plain(healthy.known(node, docker=engine))},
    )
    assert found is wanted


def test_selinux_is_never_switched_off() -> None:
    for path in ROLE.rglob("*.yml"):
        text = path.read_text(encoding="utf-8").lower()
        for never in ("setenforce", "label=disable", "ansible.posix.selinux", "semanage permissive"):
            assert never not in text, path
    command = tasks("selinux.yml")["Let confined containers use the device nodes of the GPUs"]
    assert command["ansible.builtin.command"]["argv"] == ["setsebool", "-P", "{{ device_access_boolean }}", "on"]
