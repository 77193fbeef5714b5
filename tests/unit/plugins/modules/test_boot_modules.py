# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""boot_default and driver_reload: arguments in, result out, as the documentation says it."""

from __future__ import annotations

import json
import types
import typing as t

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args

from ansible_collections.goldennode.gpu.plugins.module_utils.boot_default import BootError
from ansible_collections.goldennode.gpu.plugins.module_utils.boot_default import Result as Default
from ansible_collections.goldennode.gpu.plugins.module_utils.driver_reload import Result as Reload
from ansible_collections.goldennode.gpu.plugins.module_utils.system import SystemFailure
from ansible_collections.goldennode.gpu.plugins.modules import boot_default, driver_reload


@pytest.fixture
def ask(monkeypatch, capsys) -> t.Callable[..., t.Dict[str, t.Any]]:
    """Call a module whose work is done by ``answer``; it gets what the module asks for."""

    def call(module: types.ModuleType, work: str, answer: t.Callable[..., t.Any], **arguments: t.Any) -> t.Any:
        monkeypatch.setattr(module, work, answer)
        with patch_module_args(arguments), pytest.raises(SystemExit):
            module.main()
        return json.loads(capsys.readouterr().out)

    return call


def refuse(error: Exception) -> t.Callable[..., t.Any]:
    def answer(*_arguments: t.Any) -> t.Any:
        raise error

    return answer


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ({"kernel": "6.12"}, ("6.12", [], 300, False)),
        ({"kernel": "6.12", "arguments": ["a=1"], "timeout": 5}, ("6.12", ["a=1"], 5, False)),
        ({"arguments": ["a=1"], "_ansible_check_mode": True}, (None, ["a=1"], 300, True)),
        ({"kernel": "6.12", "arguments": ["a=1"], "state": "absent"}, (None, [], 300, False)),
    ],
)
def test_boot_default_asks_for_what_is_wanted(ask, arguments, asked):
    seen = []
    result = Default(True, "grub", "6.12", "an entry", "", "text\n")
    answer = ask(boot_default, "apply", lambda _system, *given: seen.append(given) or result, **arguments)
    assert seen == [asked]
    assert (answer["changed"], answer["loader"], answer["kernel"], answer["entry"]) == (
        True,
        "grub",
        "6.12",
        "an entry",
    )
    assert "diff" not in answer


def test_boot_default_shows_its_file_in_diff_mode(ask):
    result = Default(True, "grub", "6.12", "an entry", "old\n", "new\n")
    answer = ask(boot_default, "apply", lambda *_given: result, kernel="6.12", _ansible_diff=True)
    assert (answer["diff"]["before"], answer["diff"]["after"]) == ("old\n", "new\n")
    assert answer["diff"]["after_header"] == "/etc/default/grub.d/zz-goldennode.cfg"


@pytest.mark.parametrize("error", [BootError("why"), SystemFailure("why")])
def test_boot_default_fails_with_the_words(ask, error):
    answer = ask(boot_default, "apply", refuse(error), kernel="6.12")
    assert (answer["failed"], answer["msg"]) == (True, "why")


def test_driver_reload_returns_a_refusal_and_does_not_fail(ask):
    answer = ask(driver_reload, "reload", lambda *_given: Reload(False, False, "in use"), reasons=["it is old"])
    assert (answer["changed"], answer["reloaded"], answer["refused"]) == (False, False, "in use")
    assert "failed" not in answer


def test_driver_reload_without_a_reason_does_nothing(ask):
    answer = ask(driver_reload, "reload", refuse(AssertionError("not to be called")), reasons=[])
    assert (answer["changed"], answer["reloaded"], answer["stopped"]) == (False, False, [])


def test_driver_reload_fails_where_it_cannot_ask(ask):
    answer = ask(driver_reload, "reload", refuse(SystemFailure("/proc could not be read")), reasons=["it is old"])
    assert answer["msg"] == "the driver was not loaded anew: /proc could not be read"


@pytest.mark.parametrize(("module", "more"), [(boot_default, {"diff"}), (driver_reload, set())])
def test_the_documentation_tells_what_is_returned(ask, module, more):
    work, result, arguments = {
        boot_default: ("apply", Default(False), {"kernel": "6.12"}),
        driver_reload: ("reload", Reload(False, False), {"reasons": ["x"]}),
    }[module]
    answer = ask(module, work, lambda *_given: result, **arguments)
    assert set(answer) - {"changed", "invocation"} == set(yaml.safe_load(module.RETURN)) - more
