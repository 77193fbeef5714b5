# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why an engine does not start, by its last words. More of them, with their threads, are among the field cases."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks import source_conflicts
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Evidence, Finding, Reading, Unit
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import apt_sources, docker_journal
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)
SILENT = Reading[t.Any].unknown("the Docker engine does not answer: Cannot connect to the Docker daemon")


def ended(journal: Reading[t.Tuple[str, ...]], active: str = "failed") -> Finding:
    units = {**(NODE.units.value or {}), "docker.service": Unit("docker.service", "loaded", active, "enabled")}
    evidence = dataclasses.replace(NODE, docker=SILENT, docker_journal=journal, units=Reading(units))
    (finding,) = [f for f in verdict.run(WANTED, evidence, 1).findings if f.id == "container_runtime.engine"]
    return finding


@pytest.mark.parametrize(
    ("words", "cause", "fix", "repair"),
    [
        ("runtime name 'runc' is reserved", "names a runtime runc", "Take runtimes.runc out", "manual"),
        (
            "specified default runtime 'nvidia' does not exist",
            "its default runtime is nvidia, and no runtime of that name is registered",
            "It registers the nvidia runtime",
            "roles",
        ),
        (
            "unable to configure the Docker daemon with file /etc/docker/daemon.json: json: cannot unmarshal string "
            "into Go struct field Config.ipv6 of type bool",
            "a value in daemon.json is of the wrong type (string into Go struct field Config.ipv6 of type bool)",
            "Mend that value",
            "manual",
        ),
        (
            "failed to start daemon: process with PID 912 is still running",
            "another dockerd runs already",
            "pgrep -a dockerd",
            "manual",
        ),
        ("write /var/lib/docker/x: no space left on device", "the disk that it keeps its data on is full", "Make room",
         "manual"),
        (
            "unable to configure the Docker daemon with file /etc/docker/daemon.json: merged configuration validation "
            "failed: bad attribute",
            "it refuses daemon.json (merged configuration validation failed: bad attribute)",
            "Mend /etc/docker/daemon.json",
            "manual",
        ),
        ("unknown flag: --graph", "its unit gives it the flag --graph", "Take the flag out of the unit", "manual"),
    ],
)  # fmt: skip
def test_its_last_words_are_the_cause(words: str, cause: str, fix: str, repair: str) -> None:
    finding = ended(docker_journal.parse(words + "\n"))
    assert finding.cause.startswith("Docker does not start: ")
    assert cause in finding.cause
    assert fix in finding.fix
    assert finding.repair == repair


@pytest.mark.parametrize("journal", [Reading[t.Any](()), Reading[t.Any].unknown("no journal"), Reading[t.Any](("x",))])
def test_without_such_words_the_unit_tells(journal: Reading[t.Any]) -> None:
    finding = ended(journal)
    assert finding.cause == "docker.service is failed."
    assert finding.repair == "roles"


def test_of_a_daemon_that_runs_and_is_mute_nothing_is_guessed() -> None:
    assert ended(Reading(("failed to start daemon: no space left on device",)), "active").status == "unknown"


def sources(*lines: t.Tuple[str, str]) -> Evidence:
    folder = "/etc/apt/sources.list.d/"
    entries = [one for name, text in lines for one in apt_sources.parse(folder + name, text, "amd64")]
    return healthy.known(NODE, sources=(*(NODE.sources.value or ()), *entries))


ONE = ("a.list", "deb [signed-by=/etc/apt/keyrings/a.gpg] https://x.example/linux stable main\n")


@pytest.mark.parametrize(
    ("other", "conflict"),
    [
        (("b.list", "deb [signed-by=/etc/apt/keyrings/b.asc] https://x.example/linux/ stable main\n"), True),
        (("b.list", "deb [signed-by=/etc/apt/keyrings/a.gpg] https://x.example/linux/ stable other\n"), False),
        (("b.list", "deb https://x.example/linux stable main\n"), False),
        (("b.list", "# deb [signed-by=/etc/apt/keyrings/b.asc] https://x.example/linux stable main\n"), False),
        (("b.list", "deb [signed-by=/etc/apt/keyrings/b.asc] https://x.example/linux testing main\n"), False),
    ],
)
def test_two_entries_of_others_that_contradict_each_other(other: t.Tuple[str, str], conflict: bool) -> None:
    found = list(source_conflicts.find(sources(ONE, other), ()))
    assert bool(found) is conflict
    assert verdict.run(WANTED, sources(ONE, other), 1).golden is not conflict
    if conflict:
        assert found[0].cause == (
            "/etc/apt/sources.list.d/a.list:1 and /etc/apt/sources.list.d/b.list:1 name the repository x.example/linux "
            "stable with different keys: apt refuses every source."
        )
        assert found[0].repair == "manual"
