# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of what was stopped is understood whole or refused, and what decides about a container is pure."""

from __future__ import annotations

import json
import random

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import drained
from ansible_collections.goldennode.gpu.plugins.module_utils.drained import Drained, Inspected
from ansible_collections.goldennode.gpu.plugins.module_utils.model import RunningContainer

A, B = Drained("a" * 64, "one", "img", "2026-12-01T10:00:00Z"), Drained("b" * 64, "two")


def test_what_is_written_is_read():
    assert drained.parse(drained.text_of([A, B])).value == (A, B)


def test_a_second_drain_adds_and_forgets_nothing():
    later = Drained(A.id, A.name, A.image, "2026-12-02T10:00:00Z")
    assert drained.added([A], [later, B]) == (A, B)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "/var/lib/goldennode/drained.json is not JSON"),
        ("[]", "holds list, not an object"),
        ("{}", "has schema None, and 1 is known"),
        ('{"schema": 2, "containers": []}', "has schema 2, and 1 is known"),
        ('{"schema": 1}', "containers of /var/lib/goldennode/drained.json"),
        ('{"schema": 1, "containers": [{"name": "x"}]}', "containers of /var/lib/goldennode/drained.json[0]"),
        ('{"schema": 1, "containers": [{"id": 5, "name": "x"}]}', "containers of /var/lib/goldennode/drained.json[0]"),
    ],
)
def test_a_file_that_cannot_be_understood_says_so(text, words):
    found = drained.parse(text)
    assert not found.known
    assert words in found.error
    assert found.error.endswith("Start them by hand (docker start), and move it away.")


def test_any_file_is_read_without_an_error():
    whole = drained.text_of([A, B])
    dice = random.Random(6)
    for _round in range(500):
        at, to = sorted((dice.randrange(len(whole)), dice.randrange(len(whole))))
        drained.parse(whole[:at] + dice.choice(["", "9", '"', "[", "null", "\0"]) + whole[to:])


def test_how_long_docker_waits_before_it_kills():
    def seconds(given):
        line = json.dumps({"id": "a", "running": True, "auto_remove": False, "stop_timeout": given})
        return drained.inspected(line).value["a"].stop_seconds

    assert [seconds(given) for given in (None, 0, 300, -1, "x", True)] == [10, 0, 300, 600, 10, 10]


@pytest.mark.parametrize(
    "line",
    [
        "x",
        "[]",
        '{"id": "a"}',
        '{"id": 1, "running": true, "auto_remove": false}',
        '{"id": "a", "running": "yes", "auto_remove": false}',
        '{"id": "a", "running": true, "auto_remove": null}',
    ],
)
def test_a_description_that_is_not_understood(line):
    assert not drained.inspected(line).known


def test_the_environment_of_a_container_is_not_asked_for():
    assert "Env" not in drained.FORMAT
    assert "Cmd" not in drained.FORMAT


@pytest.mark.parametrize(
    ("fields", "seen", "why"),
    [
        ({}, {}, ""),
        ({"owner": "compose", "owner_name": "ml/train"}, {}, ""),
        (
            {"owner": "swarm", "owner_name": "train"},
            {},
            "swarm starts its task anew: docker node update --availability drain on a manager (train)",
        ),
        (
            {"owner": "kubernetes", "owner_name": "ml/train-0"},
            {},
            "Kubernetes starts its pod anew: drain the node by kubectl drain (ml/train-0)",
        ),
        (
            {"error": "its /dev is no file system in memory and was not listed"},
            {},
            "whether it has GPUs is not known: its /dev is no file system in memory and was not listed",
        ),
        (
            {"own_mounts": True},
            {},
            "the driver's files are bound into it by their names, so that it cannot start with another driver: whoever "
            "created it must end it, and create it anew",
        ),
        (
            {},
            {"auto_remove": True},
            "it was started with --rm, and would be gone: whoever started it must end it",
        ),
    ],
)
def test_only_what_can_be_given_back_is_stopped(fields, seen, why):
    assert drained.why_left(RunningContainer("a", "one", **fields), Inspected("a", True, **seen)) == why
