# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A capture that was cut, edited or garbled is judged as far as it goes, and one that is none is one clear error."""

from __future__ import annotations

import copy
import random
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import container
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.capture import SECTIONS, Replay
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.look import look
from ansible_collections.goldennode.gpu.tests.unit import fixtures, healthy, recorded
from ansible_collections.goldennode.gpu.tests.unit.cases.machine import Machine

ROUNDS = 120

#: What somebody's editor, or another program, may leave where a value was.
FOREIGN: t.Tuple[t.Any, ...] = (
    *(None, True, 0, -1, 10**30, 1.5, "", "x", "\ud800", "\0", [], [1], {}, {"base64": "%%"}, {"base64": 1}),
    *({"kind": "char"}, {"a": None}, [[]], "9" * 5000),
)


def places(value: t.Any, found: t.List[t.Tuple[t.Any, t.Any]], depth: int = 0) -> None:
    """Every place in a capture that can be another."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        found.append((value, key))
        if depth < 4:
            places(value[key], found, depth + 1)


def mutated(capture: t.Dict[str, t.Any], source: random.Random) -> t.Dict[str, t.Any]:
    whole = copy.deepcopy(capture)
    for _change in range(source.randrange(1, 12)):
        there: t.List[t.Tuple[t.Any, t.Any]] = []
        places({name: whole[name] for name in (*SECTIONS, "commands", "errors")}, there)
        within, key = source.choice(there)
        if key in (*SECTIONS, "errors"):
            whole[key] = source.choice(FOREIGN)
        elif key != "commands":
            value = within[key]
            if isinstance(value, str) and source.randrange(2):
                at = source.randrange(len(value) + 1)
                within[key] = value[:at] + source.choice(("", "\0", "\ud800", value[: source.randrange(50)]))
            elif source.randrange(3) == 0 and isinstance(within, dict):
                del within[key]
            else:
                within[key] = source.choice(FOREIGN)
    return whole


@pytest.mark.parametrize("name", ["recorded", "eight GPUs"])
def test_what_does_not_fit_is_unknown_and_nothing_raises(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "CLEANUP_SECONDS", 0.0)
    source = random.Random("goldennode captures " + name)
    wanted = healthy.desired("h100x8")
    whole = fixtures.a10_capture()
    judged = recorded.desired() if name == "recorded" else wanted
    if name != "recorded":
        whole = Machine(wanted, healthy.evidence("h100x8", wanted).pci.value or ()).capture()
    for _round in range(ROUNDS):
        capture = mutated(whole, source)
        evidence = look(Replay(capture), judged, single_gpus=True)
        verdict.run(wanted, evidence, 8)
        verdict.refusals(wanted, evidence, 8)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_that_is_gone_makes_no_node_golden(section: str) -> None:
    wanted = healthy.desired()
    capture = Machine(wanted).capture()
    del capture[section]
    found = verdict.run(wanted, look(Replay(capture), wanted, single_gpus=True), 1)
    assert not found.golden


@pytest.mark.parametrize(
    ("capture", "words"),
    [
        ([], "this is no capture: a JSON object is expected, not []"),
        ("x", "this is no capture: a JSON object is expected, not 'x'"),
        (None, "this is no capture: a JSON object is expected, not None"),
        ({}, "the capture has schema None; this version reads schema 1"),
        ({"schema": 2}, "the capture has schema 2; this version reads schema 1"),
        ({"schema": 1}, "this is no capture: its commands is None"),
        ({"schema": 1, "commands": [], "host": 1}, "this is no capture: its host is 1"),
        ({"schema": 1, "commands": [], "host": "a", "machine": "b", "collected_at": "now"},
         "this is no capture: its collected_at is 'now'"),
    ],
)  # fmt: skip
def test_what_is_no_capture_is_one_error(capture: t.Any, words: str) -> None:
    with pytest.raises(ValueError, match="^" + words.replace("[", r"\[")):
        Replay(capture)


def test_a_command_that_is_not_understood_was_not_captured() -> None:
    capture = Machine(healthy.desired()).capture()
    for plain in capture["commands"]:
        if plain["argv"] == ["dmesg"]:
            plain["stdout"] = 7
    command = Replay(capture).run(["dmesg"], 10)
    assert command.error == "dmesg: not in the capture"


def test_a_file_that_is_not_understood_is_unknown() -> None:
    capture = Machine(healthy.desired()).capture()
    for value in (7, {"base64": "%%%"}, {"other": "x"}):
        capture["files"]["/etc/os-release"] = value
        reading = Replay(capture).read("/etc/os-release")
        assert reading.error == "/etc/os-release: what the capture has of it (files) is not understood"
