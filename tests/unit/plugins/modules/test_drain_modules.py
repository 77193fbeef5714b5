# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu_idle and docker_drain: arguments in, result out, as the documentation says it."""

from __future__ import annotations

import json
import types
import typing as t

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args

from ansible_collections.goldennode.gpu.plugins.module_utils.drain import Drain, Undrain
from ansible_collections.goldennode.gpu.plugins.module_utils.gpu_idle import Result, Wish
from ansible_collections.goldennode.gpu.plugins.module_utils.gpu_users import GpuUser, Users
from ansible_collections.goldennode.gpu.plugins.module_utils.system import SystemFailure
from ansible_collections.goldennode.gpu.plugins.modules import docker_drain, gpu_idle

USER = GpuUser(4711, 881245, "python3", "alice", "S", ("/dev/nvidia0",), "", "", 90)


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
    ("arguments", "wish"),
    [
        ({}, Wish(0, False, 30, False)),
        ({"wait": 600, "stop": True, "grace": 5}, Wish(600, True, 5, False)),
        ({"_ansible_check_mode": True}, Wish(0, False, 30, True)),
    ],
)
def test_gpu_idle_asks_for_what_is_wished(ask, arguments, wish):
    seen = []
    answer = ask(gpu_idle, "settle", lambda _node, given: seen.append(given) or Result(False, Users()), **arguments)
    assert seen == [wish]
    assert (answer["changed"], answer["idle"], answer["busy"]) == (False, True, "")


def test_gpus_in_use_are_no_failure(ask):
    answer = ask(gpu_idle, "settle", lambda *_given: Result(False, Users((USER,)), (), "in use"))
    assert "failed" not in answer
    assert (answer["changed"], answer["idle"], answer["busy"]) == (False, False, "in use")
    (user,) = answer["users"]
    assert (user["pid"], user["user"], user["nodes"]) == (4711, "alice", ["/dev/nvidia0"])


def test_what_is_not_known_is_no_idle_node(ask):
    answer = ask(gpu_idle, "settle", lambda *_given: Result(False, Users((), (), ("whether x",)), (), "in use"))
    assert (answer["idle"], answer["unknown"]) == (False, ["whether x"])


def test_gpu_idle_fails_where_it_cannot_ask(ask):
    answer = ask(gpu_idle, "settle", refuse(SystemFailure("/proc could not be read: Permission denied")))
    assert answer["failed"]
    assert answer["msg"] == (
        "it is not known who uses the GPUs: /proc could not be read: Permission denied. The module reads /proc as root."
    )


def test_docker_drain_asks_for_what_is_wished(ask):
    seen = []
    answer = ask(
        docker_drain, "drain", lambda _system, *given: seen.append(given) or Drain(True, ("c1 a",)), state="drained"
    )
    assert (seen, answer["changed"], answer["stopped"]) == ([(60, False)], True, ["c1 a"])
    answer = ask(
        docker_drain,
        "undrain",
        lambda _system, *given: seen.append(given) or Undrain(False),
        state="undrained",
        timeout=5,
        _ansible_check_mode=True,
    )
    assert (seen[1:], answer["changed"], answer["started"]) == ([(5, True)], False, [])


def test_a_container_that_is_left_is_no_failure(ask):
    left = ({"container": "c1 a", "why": "it was started with --rm"},)
    answer = ask(docker_drain, "drain", lambda *_given: Drain(False, (), left), state="drained")
    assert "failed" not in answer
    assert answer["left"] == list(left)


def test_a_container_that_does_not_stop_fails_with_what_to_do(ask):
    answer = ask(docker_drain, "drain", lambda *_given: Drain(True, ("c2 b",), (), ("c1 a: no",)), state="drained")
    assert (answer["failed"], answer["stopped"]) == (True, ["c2 b"])
    assert answer["msg"] == (
        "These containers have GPUs and were not stopped: c1 a: no. Stop them by hand (docker stop, then docker kill; "
        "look at journalctl -u docker), and run again. What was stopped is in /var/lib/goldennode/drained.json."
    )


def test_a_container_that_does_not_start_fails_with_what_to_do(ask):
    answer = ask(docker_drain, "undrain", lambda *_given: Undrain(True, problems=("c1 a: no",)), state="undrained")
    assert answer["msg"] == (
        "These containers were stopped by a drain and do not start: c1 a: no. Mend what Docker says, or remove those "
        "that nobody needs (docker rm); then run again. They stay in /var/lib/goldennode/drained.json."
    )


@pytest.mark.parametrize(
    ("state", "work", "words"),
    [
        (
            "drained",
            "drain",
            "No container was stopped: why. If Docker does not answer, look at systemctl status docker.",
        ),
        (
            "undrained",
            "undrain",
            "Containers are not given back: why. If Docker does not answer, look at systemctl status docker.",
        ),
    ],
)
def test_docker_drain_fails_where_it_cannot_ask(ask, state, work, words):
    assert ask(docker_drain, work, refuse(SystemFailure("why")), state=state)["msg"] == words


@pytest.mark.parametrize(
    ("module", "work", "result", "arguments", "other"),
    [
        (gpu_idle, "settle", Result(False, Users()), {}, set()),
        (docker_drain, "drain", Drain(False), {"state": "drained"}, {"started", "running", "gone"}),
        (docker_drain, "undrain", Undrain(False), {"state": "undrained"}, {"stopped", "left"}),
    ],
)
def test_the_documentation_tells_what_is_returned(ask, module, work, result, arguments, other):
    answer = ask(module, work, lambda *_given: result, **arguments)
    assert set(answer) - {"changed", "invocation"} == set(yaml.safe_load(module.RETURN)) - other


def test_the_documentation_has_every_field_of_a_user():
    fields = yaml.safe_load(gpu_idle.RETURN)["users"]["contains"]
    assert set(fields) == set(GpuUser.__dataclass_fields__)


@pytest.mark.parametrize(("module", "given"), [(gpu_idle, {}), (docker_drain, {"state": "drained"})])
def test_the_documentation_is_of_these_arguments(ask, module, given):
    """What an argument is not, the module itself names."""
    said = ask(module, "main", module.main, nonsense=1, **given)["msg"]
    supported = said.split("Supported parameters include: ")[1].rstrip(".").split(", ")
    assert supported == sorted(yaml.safe_load(module.DOCUMENTATION)["options"])
