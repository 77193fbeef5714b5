# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes for the pool tests. Each test starts from a snapshot, so that no test sees what another has done.

Tests may run side by side (pytest-xdist), those of a file on one worker: every worker has nodes and snapshots of its
own, and shares the vendor's repositories with the others, so no test switches a fault of those.
"""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from poollib import Node, Pool, bed, golden_snapshots, node_of_this_worker

A10 = node_of_this_worker(1, "a10")
H100 = node_of_this_worker(2, "h100x8")
UBUNTU = node_of_this_worker(3, "a10", "ubuntu-24.04")
BOOKWORM = node_of_this_worker(4, "a10", "debian-12")


#: Nodes that were started from a snapshot in this run of the tests: others may be left over from older code.
_STARTED: t.Set[Node] = set()


def _fresh(node: Node, snapshot: str) -> None:
    _STARTED.add(node)
    bed("up", node.spec)
    bed("reset", node.name, snapshot)


@pytest.fixture
def golden_a10(tmp_path: pathlib.Path) -> Pool:
    """A pool of one golden node with one GPU."""
    return _golden(A10, tmp_path, "sim-a.yml")


@pytest.fixture
def golden_pair(tmp_path: pathlib.Path) -> Pool:
    """Two golden nodes; the first has eight GPUs, the second has one. What a test left golden is taken as it is."""
    snapshots = golden_snapshots([H100, A10], tmp_path)
    for node in (H100, A10):
        if node not in _STARTED or not node.is_golden():
            _fresh(node, snapshots[node])
    for node in (H100, A10):
        node.wait("golden by the boot unit", node.is_golden)
    pool = Pool(tmp_path, [H100, A10])
    pool.take_locks(snapshots[A10])
    return pool


@pytest.fixture
def bare_a10(tmp_path: pathlib.Path) -> Pool:
    """A pool of one node as an installer leaves it: nouveau holds the GPU, nothing of NVIDIA or Docker is there."""
    _fresh(A10, "bare")
    return Pool(tmp_path, [A10])


@pytest.fixture
def golden_ubuntu(tmp_path: pathlib.Path) -> Pool:
    """A pool of one golden node that is, as far as packages go, of Ubuntu 24.04, with its own kernel and driver."""
    return _golden(UBUNTU, tmp_path, "ubuntu-a.yml")


@pytest.fixture
def golden_bookworm(tmp_path: pathlib.Path) -> Pool:
    """A pool of one golden node of Debian 12 with its own Docker 20.10, which knows no CDI."""
    return _golden(BOOKWORM, tmp_path, "debian12.yml")


@pytest.fixture(params=["golden_a10", "golden_bookworm"])
def golden(request: pytest.FixtureRequest) -> Pool:
    """A pool of one golden node with one GPU: with Docker 26 and CDI, and with 20.10 and the hook."""
    return t.cast(Pool, request.getfixturevalue(request.param))


def _golden(node: Node, directory: pathlib.Path, bundle: str) -> Pool:
    snapshots = golden_snapshots([node], directory, bundle)
    _fresh(node, snapshots[node])
    node.wait("golden by the boot unit", node.is_golden)
    pool = Pool(directory, [node], bundle)
    pool.take_locks(snapshots[node])
    return pool
