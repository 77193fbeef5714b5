# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe behind drift: where the runtime's program is, and one stat for each thing that has drifted."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading, RuntimeProgram
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import drift, runtime_program
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import LocalHost, Stat
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)
NAME = "nvidia-container-runtime"


class Host(LocalHost):
    """Has these paths and no other; None is one that cannot be read."""

    def __init__(self, **paths: t.Optional[Stat]) -> None:
        self.paths = {"/" + name.replace("__", "/").replace("_", "-"): there for name, there in paths.items()}
        self.asked: t.List[str] = []

    def stat(self, path: str) -> Reading[Stat]:
        self.asked.append(path)
        if path not in self.paths:
            return Reading(None)
        there = self.paths[path]
        return Reading(there) if there else Reading.unknown("%s could not be read: Input/output error" % path)


def file(mtime: int = 5, ctime: int = 7, kind: str = "file", mode: int = 0o755) -> Stat:
    return Stat(kind, mode, 0, 0, 1, mtime, ctime=ctime)


def test_a_bare_name_is_looked_for_where_dockerd_does() -> None:
    host = Host(usr__bin__nvidia_container_runtime=file())
    assert runtime_program.program(host, WANTED) == Reading(RuntimeProgram("/usr/bin/" + NAME, 0o755, 7.0))
    assert runtime_program.program(Host(), WANTED) == Reading(None)
    assert runtime_program.program(Host(), None) == Reading(None)
    folder = Host(usr__local__bin__nvidia_container_runtime=file(kind="dir"))
    assert runtime_program.program(folder, WANTED) == Reading(None)


def test_a_path_is_taken_as_it_is() -> None:
    wanted = dataclasses.replace(WANTED, daemon={"runtimes": {"nvidia": {"path": "/opt/" + NAME}}})
    host = Host(opt__nvidia_container_runtime=file(), usr__bin__nvidia_container_runtime=file())
    found = runtime_program.program(host, wanted)
    assert (found.value.path if found.value else None, host.asked) == ("/opt/" + NAME, ["/opt/" + NAME])


def test_what_cannot_be_read_is_not_known() -> None:
    found = runtime_program.program(Host(usr__bin__nvidia_container_runtime=None), WANTED)
    assert found.error == "/usr/bin/nvidia-container-runtime could not be read: Input/output error"


def test_nothing_is_asked_where_nothing_has_drifted() -> None:
    host = Host()
    assert drift.rows(host, WANTED, NODE, 1, "") == []
    assert host.asked == []


def test_a_package_that_was_upgraded_tells_since_when() -> None:
    packages = dict(NODE.packages.value or {})
    packages["libcuda1"] = dataclasses.replace(packages["libcuda1"], version="580.178.04-1")
    evidence = healthy.known(NODE, packages=packages)
    host = Host(**{"var__lib__dpkg__info__libcuda1:amd64.list": file(1_800_000_000, 1_800_000_060)})
    (row,) = [row for row in drift.rows(host, WANTED, evidence, 1, "") if row.id == "packages.versions"]
    assert (row.since.how, row.since.at) == ("at", "2027-01-15T08:01:00Z")
    assert host.asked == ["/var/lib/dpkg/info/libcuda1%s.list" % arch for arch in ("", ":amd64", ":arm64")]
    (row,) = [row for row in drift.rows(Host(), WANTED, evidence, 1, "") if row.id == "packages.versions"]
    assert row.since.how == ""
