# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock and the packages of a node go in; an answer comes out, or why the lock cannot be installed."""

from __future__ import annotations

import typing as t

import pytest
from ansible.module_utils import basic
from ansible.module_utils.testing import patch_module_args

from ansible_collections.goldennode.gpu.plugins.module_utils import apt_root
from ansible_collections.goldennode.gpu.plugins.module_utils import lock_available as asking
from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import MISSING, Problem
from ansible_collections.goldennode.gpu.plugins.module_utils.lock_offers import Gone
from ansible_collections.goldennode.gpu.plugins.module_utils.parse.apt_errors import Trouble
from ansible_collections.goldennode.gpu.plugins.modules import lock_available as module
from ansible_collections.goldennode.gpu.tests.unit.plugins.module_utils.test_lock import made

DOWN = Trouble("network", "https://v does not answer", "Look at the network")


class Ended(Exception):
    pass


def run(monkeypatch: pytest.MonkeyPatch, found: t.Any, **arguments: t.Any) -> t.Dict[str, t.Any]:
    """The module's result; ``failed`` in it when it failed."""
    result: t.Dict[str, t.Any] = {}

    def leave(_self: t.Any, **values: t.Any) -> None:
        result.update(values)
        raise Ended

    def find(_lock: t.Any, packages: t.Any, timeout: float) -> t.Any:
        result["asked"] = (packages, timeout)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(asking, "find", find)
    monkeypatch.setattr(basic.AnsibleModule, "exit_json", leave)
    monkeypatch.setattr(basic.AnsibleModule, "fail_json", lambda self, **values: leave(self, failed=True, **values))
    given = {"lock": made(), "packages": {"a": "1"}, **arguments}
    with patch_module_args(given), pytest.raises(Ended):
        module.main()
    return result


def test_where_all_can_be_had_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, asking.Found(2, (), ("b",)), timeout=60)
    assert found == {
        "asked": ({"a": "1"}, 60),
        "changed": False,
        "lacking": 2,
        "kept": ["b"],
        "gone": [],
        "unreachable_sources": "",
    }
    assert run(monkeypatch, asking.Found(2, (), ("b",)), timeout=60, _ansible_check_mode=True) == found


def test_what_is_gone_fails_with_the_repositories_of_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, asking.Found(1, (Gone("a", "1"),)))
    assert found["failed"] is True
    assert found["gone"] == ["a=1"]
    assert "no package of this name is in https://vendor.example/nvidia stable" in found["msg"]


def test_what_is_not_known_fails_in_other_words(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, asking.Found(1, (Gone("a", "1"),), (), DOWN))
    assert found["msg"].startswith("A repository cannot be reached, so it is not known whether the lock's a=1")
    assert found["unreachable_sources"] == "https://v does not answer"


def test_a_repository_that_is_down_and_was_not_needed_is_told_and_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, asking.Found(1, (), (), DOWN))
    assert "failed" not in found
    assert found["unreachable_sources"] == "https://v does not answer"


def test_what_keeps_apt_from_being_asked_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    trouble = apt_root.ResolveError([Problem("apt-get", MISSING, "cannot be run: x", "Do y")])
    assert run(monkeypatch, trouble)["msg"] == "apt-get cannot be run: x. Do y. Nothing was changed."


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        (dict(made(), package_manager="dnf"), "lock: dnf cannot be asked yet. Give a lock of Debian or Ubuntu."),
        ({}, "lock: nobody cannot be asked yet."),
        ({"package_manager": "apt"}, "lock: this is no whole lock (KeyError('sources'))."),
        (dict(made(), driver=None), "lock: this is no whole lock (TypeError("),
    ],
)
def test_what_is_no_lock_is_told(monkeypatch: pytest.MonkeyPatch, lock: t.Any, said: str) -> None:
    found = run(monkeypatch, asking.Found(), lock=lock)
    assert found["msg"].startswith(said)
    assert "asked" not in found
