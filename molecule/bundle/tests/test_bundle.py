# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After the bundle role: a lock beside the bundle, of versions that are in the repositories; a node left untouched."""

from __future__ import annotations

import json
import pathlib

import pytest

BUNDLES = pathlib.Path(__file__).resolve().parents[3] / "tests" / "testbed" / "bundles"


@pytest.fixture
def lock():
    return json.loads((BUNDLES / "sim-a.debian-13-x86_64.lock.json").read_text())


def test_the_lock_names_full_versions_of_every_axis(lock):
    assert lock["driver"]["packages"]["libcuda1"] == "580.159.03-1"
    assert set(lock["toolkit"]["packages"].values()) == {"1.20.0-1"}
    assert len(lock["toolkit"]["packages"]) == 4
    assert lock["docker"]["packages"]["docker-ce"].startswith("5:26.1.4-1~debian.13")
    assert lock["image"]["digest"].startswith("sha256:")


def test_the_kernel_of_the_lock_is_the_one_that_the_node_runs(host, lock):
    assert lock["kernel"]["release"] == host.file("/proc/sys/kernel/osrelease").content_string.strip()


def test_the_node_was_not_touched(host):
    assert not host.file("/var/lib/goldennode").exists
    assert not [name for name in host.file("/etc/apt/sources.list.d").listdir() if "goldennode" in name]
    assert not [name for name in host.file("/tmp").listdir() if "goldennode" in name], (
        "the throw-away root is still there"
    )
