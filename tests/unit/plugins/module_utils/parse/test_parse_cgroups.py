# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Control groups: their version, what users are handed, and the limits of one of them."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import cgroup_limits, cgroup_version
from ansible_collections.goldennode.gpu.tests.unit import fixtures

V2 = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = (
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
)
BESIDE = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"


@pytest.mark.parametrize(("text", "version"), [(V2, "2"), (V1, "1"), (V1 + BESIDE, "hybrid")])
def test_the_version(text: str, version: str) -> None:
    assert cgroup_version.version("1 1 0:1 / / rw - ext4 /dev/sda1 rw\n" + text) == Reading(version)


def test_a_tree_somewhere_else_is_not_the_machines() -> None:
    why = "no control groups are mounted below /sys/fs/cgroup"
    assert cgroup_version.version(V2.replace("/sys/fs/cgroup", "/srv/cgroup")).error == why


def test_what_systemd_252_hands_to_users() -> None:
    unit = fixtures.a10_capture()["files"]["/usr/lib/systemd/system/user@.service"]
    assert cgroup_version.delegated([unit]) == ("cpu", "memory", "pids")
    everything = ("cpu", "cpuset", "io", "memory", "pids")
    assert cgroup_version.delegated([unit, "[Service]\nDelegate=cpuset io\n"]) == everything


@pytest.mark.parametrize(
    ("text", "handed"),
    [
        ("[Service]\nDelegate=yes\n", ("cpu", "cpuset", "io", "memory", "pids")),
        ("[Service]\nDelegate=cpu\nDelegate=no\n", ()),
        ("[Service]\nDelegate=cpu\nDelegate=\n", ()),
        ("[Service]\nDelegate=cpu \\\n  io\n", ("cpu", "io")),
        ("[Unit]\nDelegate=cpu\n", ()),
        ("[Service]\n#Delegate=cpu\n", ()),
    ],
)
def test_delegate(text: str, handed: t.Tuple[str, ...]) -> None:
    assert cgroup_version.delegated([text]) == handed


def test_where_a_process_stands() -> None:
    assert cgroup_limits.groups("0::/system.slice/docker-0a.scope\n") == Reading({"": "/system.slice/docker-0a.scope"})
    old = cgroup_limits.groups("4:memory:/docker/0a\n3:cpu,cpuacct:/docker/0a\n1:name=systemd:/x\n0::/\n").value or {}
    assert (old["memory"], old["cpu"], old["cpuacct"]) == ("/docker/0a", "/docker/0a", "/docker/0a")


@pytest.mark.parametrize("text", ["", "0::/../../docker\n", "garbage\n"])
def test_a_place_that_cannot_be_seen_from_here(text: str) -> None:
    assert cgroup_limits.groups(text).error == "the process is in no control group that can be seen"


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("max 100000\n", None), ("150000 100000\n", 1.5), ("-1 100000", None), ("", None), ("1 0", None), ("x y", None)],
)
def test_a_quota_of_cpus(text: str, cpus: t.Optional[float]) -> None:
    assert cgroup_limits.quota(text) == cpus


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("max\n", None),
        ("1073741824\n", 1 << 30),
        ("9223372036854771712\n", None),
        ("-1\n", None),
        ("", None),
        (None, None),
    ],
)
def test_a_limit(text: t.Optional[str], value: t.Optional[int]) -> None:
    assert cgroup_limits.limit(text) == value


def test_counters() -> None:
    assert cgroup_limits.counter("oom 3\noom_kill 2\noom_group_kill 0\n", "oom_kill") == 2
    assert cgroup_limits.counter("oom 3\n", "oom_kill") is None
    assert cgroup_limits.throttled("usage_usec 5\nnr_periods 200\nnr_throttled 50\nthrottled_usec 9\n") == 25.0
    assert cgroup_limits.throttled("nr_periods 0\nnr_throttled 0\n") is None


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ("rw,size=65536k,inode64", 65536 * 1024),
        ("rw,size=8g", 8 << 30),
        ("rw,inode64", None),
        ("size=67108864", 64 << 20),
    ],
)
def test_the_size_of_shared_memory(options: str, size: t.Optional[int]) -> None:
    line = "620 614 0:66 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm %s\n"
    assert cgroup_limits.shm_size(line % options) == size
    assert cgroup_limits.shm_size(line % "size=1k" + line % options) == size, "the last mount is on top"


def test_the_number_of_a_gpu() -> None:
    assert cgroup_limits.device_minor("Model: \t NVIDIA A10\nDevice Minor: \t 3\nGPU Excluded:\t No\n") == 3
    assert cgroup_limits.device_minor("Device Minor: \t x\n") is None
