# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rollout's tasks that take work off a node and give it back, with the real templating of Ansible."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.goldennode.gpu.tests.unit import actions

ROLE = pathlib.Path(__file__).parents[3] / "roles" / "rollout"
BUSY = "the GPUs are in use: train (pid 50, user alice) has /dev/nvidia0. Wait for them to end, or stop them (kill 50)."


def tasks(name: str) -> t.List[t.Dict[str, t.Any]]:
    return list(DataLoader().load_from_file(str(ROLE / "tasks" / ("%s.yml" % name))))


def render(text: str, **variables: t.Any) -> t.Any:
    return Templar(loader=DataLoader(), variables=variables).template(actions.trusted(text))


@pytest.mark.parametrize("way", ["drain", "undrain"])
@pytest.mark.parametrize(
    ("drain", "own", "found"),
    [
        ("none", "", "%s/none.yml"),
        ("docker", "", "%s/docker.yml"),
        ("docker", "/etc/pool/drain", "/etc/pool/drain/%s.yml"),
        ("none", "/etc/pool/drain", "/etc/pool/drain/%s.yml"),
    ],
)
def test_the_hook_of_the_pool_is_taken(way, drain, own, found):
    (task,) = tasks(way)
    path = render(task["ansible.builtin.include_tasks"], rollout_drain=drain, rollout_drain_tasks=own)
    assert path == found % way
    assert own or (ROLE / "tasks" / path).exists()


def test_every_hook_of_ours_has_both_ways():
    ways = {way: {path.name for path in (ROLE / "tasks" / way).glob("*.yml")} for way in ("drain", "undrain")}
    assert ways == {way: {"none.yml", "docker.yml"} for way in ways}


def refusal(busy: str, wait: int = 0, stop: bool = False) -> str:
    """What idle.yml says; "" where it goes on."""
    asked, refuse = tasks("idle")
    variables = {
        "inventory_hostname": "gpu01",
        "rollout_gpu_wait": wait,
        "rollout_allow_stop_gpu_processes": stop,
        asked["register"]: {"busy": busy},
    }
    templar = Templar(loader=DataLoader(), variables=variables)
    if not templar.evaluate_conditional(actions.trusted(refuse["when"])):
        return ""
    return str(render(refuse["ansible.builtin.fail"]["msg"], **variables))


def test_an_idle_node_is_gone_on_with():
    assert refusal("") == ""


def test_a_busy_node_is_refused_with_both_ways_out():
    assert refusal(BUSY) == (
        "gpu01 was not changed: %s A rollout waits for them with rollout_gpu_wait (seconds; 0 now), and stops what is "
        "left with rollout_allow_stop_gpu_processes=true." % BUSY
    )


def test_after_the_consent_it_is_not_asked_for():
    said = refusal(BUSY, wait=600, stop=True)
    assert said.endswith("A rollout waits for them with rollout_gpu_wait (seconds; 600 now).")


@pytest.mark.parametrize(("wait", "asked"), [(600, 600), (0, 15), (15, 15)])
def test_the_consent_and_the_wait_reach_the_module(wait, asked):
    given = tasks("idle")[0]["goldennode.gpu.gpu_idle"]
    variables = {"rollout_gpu_wait": wait, "rollout_allow_stop_gpu_processes": True}
    assert {name: render(text, **variables) for name, text in given.items()} == {"wait": asked, "stop": True}


def test_the_containers_that_are_left_are_named():
    stop, name = tasks("drain/docker")
    left = [{"container": "shell 77aa9b0c1d4e", "why": "it was started with --rm"}]
    loop = render(name["loop"], **{stop["register"]: {"left": left}})
    assert loop == left
    said = render(name["ansible.builtin.debug"]["msg"], item=left[0])
    assert said == "shell 77aa9b0c1d4e was not stopped: it was started with --rm."


def test_the_examples_of_the_interface_are_tasks():
    blocks = (ROLE / "DRAIN.md").read_text(encoding="utf-8").split("```yaml\n")[1:]
    assert len(blocks) == 2
    for block in blocks:
        text = block.partition("```")[0]
        assert [line for line in text.splitlines() if line.startswith("#")] == ["# drain.yml", "# undrain.yml"]
        for task in yaml.safe_load(text):
            assert {"name", "ansible.builtin.command", "changed_when"} <= set(task)
