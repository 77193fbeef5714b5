# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""node_info returns what the look read, and what it read it from; it never changes anything."""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Evidence, to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import evidence_from_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.capture import Replay
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.look import SCOPES, look
from ansible_collections.goldennode.gpu.plugins.modules import node_info
from ansible_collections.goldennode.gpu.tests.unit import recorded

WANTED = {"debian-13-x86_64": to_plain(recorded.desired())}


@pytest.fixture
def ask(monkeypatch, capsys) -> t.Callable[..., t.Dict[str, t.Any]]:
    monkeypatch.setattr(node_info, "LocalHost", recorded.Node)

    def call(**arguments: t.Any) -> t.Dict[str, t.Any]:
        with patch_module_args(arguments), pytest.raises(SystemExit):
            node_info.main()
        return t.cast("t.Dict[str, t.Any]", json.loads(capsys.readouterr().out))

    return call


def test_the_evidence_of_a_look(ask):
    result = ask(desired=WANTED)
    assert result["changed"] is False
    assert "capture" not in result
    assert evidence_from_plain(result["evidence"]) == look(recorded.Node(), recorded.desired())


def test_nothing_is_wanted_of_another_platform(ask):
    result = ask(desired={"ubuntu-24.04-x86_64": WANTED["debian-13-x86_64"]})
    assert result["evidence"]["containers"] == {}
    assert result["evidence"]["files"]["error"] == "not read in this look"


def test_the_capture_gives_the_same_evidence_elsewhere(ask):
    result = ask(desired=WANTED, capture=True, scope="host")
    again = look(Replay(result["capture"]), recorded.desired(), "host")
    assert to_plain(again) == result["evidence"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"timeout": 0}, "timeout is 0; a look needs at least 1 second"),
        (
            {"desired": {"debian-13-x86_64": {"colour": "red"}}},
            "desired is not what the action goldennode.gpu.desired returns: desired: Desired has no field colour",
        ),
    ],
)
def test_arguments_that_cannot_be(ask, arguments, message):
    result = ask(**arguments)
    assert (result["failed"], result["msg"]) == (True, message)


def test_the_documentation_tells_every_reading_and_scope():
    returned = yaml.safe_load(node_info.RETURN)
    assert set(returned["evidence"]["contains"]) == {field.name for field in dataclasses.fields(Evidence)}
    for name, described in returned["evidence"]["contains"].items():
        assert {"description", "type"} <= set(described), name
    assert set(returned["capture"]["contains"]) == set(recorded.Node().capture)
    assert yaml.safe_load(node_info.DOCUMENTATION)["options"]["scope"]["choices"] == list(SCOPES)
