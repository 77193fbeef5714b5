# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of device_access that could never work are refused before any node is touched (case 049)."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import access_settings
from ansible_collections.goldennode.gpu.tests.unit import healthy


def said(**variables: t.Any) -> t.List[str]:
    access = {**healthy.SETTINGS["device_access"], **variables}
    return [str(problem) for problem in access_settings.problems(access)]


@pytest.mark.parametrize("mode", ["0660", "660", "0666", "666", "0664", "0777", "0770"])
def test_modes_that_let_the_group_open_a_gpu(mode: str) -> None:
    assert said(device_access_mode=mode) == []


@pytest.mark.parametrize("mode", ["0600", "0640", "0606", "0066", "0440", "000", "0222"])
def test_modes_that_keep_the_group_out(mode: str) -> None:
    (words,) = said(device_access_mode=mode)
    assert words.startswith("device_access_mode: '%s' lets no user of the group open a GPU" % mode)


@pytest.mark.parametrize(
    ("decimal", "octal"), [("432", "0660"), ("436", "0664"), ("511", "0777"), ("504", "0770"), ("438", "")]
)
def test_a_mode_that_was_read_as_a_number_on_its_way(decimal: str, octal: str) -> None:
    (words,) = said(device_access_mode=decimal)
    assert ("%s is decimal for %s" % (decimal, octal) in words) is bool(octal)


@pytest.mark.parametrize("mode", ["0o660", "0x1b0", "01660", "66", "u=rw", "", "0660\n", "٠٦٦٠"])
def test_what_is_no_mode(mode: str) -> None:
    (words,) = said(device_access_mode=mode)
    assert "is not a mode in octal, as text" in words


@pytest.mark.parametrize("variables", [{"device_access_group": "root"}, {"device_access_gid": 0}])
def test_a_group_that_nobody_should_be_in(variables: t.Dict[str, t.Any]) -> None:
    (words,) = said(device_access_mode="0660", **variables)
    assert "leaves the GPUs to root alone" in words
    assert said(device_access_mode="0666", **variables) == []


@pytest.mark.parametrize("gid", [-1, 2**32 - 1])
def test_numbers_that_no_group_has(gid: int) -> None:
    (words,) = said(device_access_gid=gid)
    assert "is not the number of a group" in words


@pytest.mark.parametrize("user", ["alice", "svc-gpu", "alice@example.org", "EXAMPLE\\alice", "machine$", "_apt"])
def test_users_of_the_node_and_of_a_directory(user: str) -> None:
    assert said(device_access_users=[user]) == []


@pytest.mark.parametrize("user", ["alice,bob", "alice bob", "-alice", "", "alice:x", "a\nb", "--delete"])
def test_what_is_no_user(user: str) -> None:
    (words,) = said(device_access_users=[user])
    assert "is not a name that a group or user can have" in words


@pytest.mark.parametrize("group", ["video render", "-video", "44", "vid;eo", "video\n"])
def test_what_is_no_group(group: str) -> None:
    (words,) = said(device_access_group=group)
    assert "is not a name that a group or user can have" in words
