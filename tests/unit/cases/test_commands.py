# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A look runs commands that only look: each is in one list, where a new one has to be written down first."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.probe import container
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.look import look
from ansible_collections.goldennode.gpu.tests.unit import healthy
from ansible_collections.goldennode.gpu.tests.unit.cases import cases, mapping, questions
from ansible_collections.goldennode.gpu.tests.unit.cases.machine import A10, Machine


def ran(capture: t.Mapping[str, t.Any]) -> t.List[t.Tuple[str, t.List[str]]]:
    return [(plain["where"], plain["argv"]) for plain in capture["commands"]]


@pytest.mark.parametrize("case", cases.every(), ids=lambda case: case.name)
def test_no_state_of_a_node_makes_a_look_run_anything_else(case: cases.Case) -> None:
    machine = Machine(cases.desired(case), (A10,))
    mapping.apply(machine, {**case.filled_in, **case.input})
    asked = ran(machine.capture())
    assert [argv for where, argv in asked if questions.name_of(where, argv) is None] == []
    assert machine.unlisted == []


def test_a_node_that_answers_nothing_is_asked_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second way that the probe knows is taken; a container that hangs is put away, and nothing else is."""
    monkeypatch.setattr(container, "CLEANUP_SECONDS", 0.0)
    for profile in ("a10", "h100x8"):
        wanted = healthy.desired(profile)
        for hung in (False, True):
            machine = Machine(wanted, healthy.evidence(profile, wanted).pci.value or ())
            names = [*machine.answers, *machine.containers, "docker info", "dpkg-query", "units"]
            for name in names:
                why = {"timed_out": True, "pid": 7, "error": "it hung"} if hung else {"rc": 1, "stderr": "it failed\n"}
                machine.answers[name] = why
            machine.write("/sys/firmware/efi/x", "")
            look(machine, wanted, single_gpus=True)
            assert machine.unlisted == []


@pytest.mark.parametrize(
    "argv",
    [
        ["modprobe", "nvidia"],
        ["modprobe", "--set-version", "6.12", "nvidia"],
        ["nvidia-smi", "-pm", "1"],
        ["nvidia-smi", "--gpu-reset"],
        ["systemctl", "restart", "docker"],
        ["systemctl", "daemon-reload"],
        ["systemctl", "show", "--property=Id,DevicePolicy,DeviceAllow", "--now"],
        ["dkms", "autoinstall"],
        ["docker", "--host", "unix:///var/run/docker.sock", "rm", "--force", "web"],
        ["docker", "--host", "unix:///var/run/docker.sock", "run", "--privileged", "x"],
        [
            "docker",
            "--host",
            "unix:///var/run/docker.sock",
            "image",
            "inspect",
            "--format",
            "{{json .Config.Env}}",
            "x",
        ],
        [
            *("docker", "--host", "unix:///var/run/docker.sock", "run", "--rm", "--pull=never"),
            *("--name", "goldennode-probe-0a", "--runtime", "nvidia", "--env", "NVIDIA_VISIBLE_DEVICES=all"),
            *(
                "--entrypoint",
                "python3",
                "x@sha256:" + "0" * 64,
                "-B",
                "-c",
                "import os\n",
                "frameworks",
                "30",
                "torch",
            ),
        ],
        ["podman", "run", "x"],
        ["podman", "--version", "--root=/x"],
        ["mokutil", "--import", "/x"],
        ["grep", "-l", "-F", "SW_MNG", "--include=x"],
        ["sh", "-c", "true"],
    ],
)
def test_what_changes_something_is_not_in_the_list(argv: t.List[str]) -> None:
    assert questions.name_of("host", argv) is None
    assert questions.name_of("container", argv) is None
