# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two nodes for the pool tests. Each test starts from a snapshot, so that no test sees what another has done."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from poollib import Node, Pool, bed, golden_snapshots

A10 = Node("ptest1", "a10", 22241)
H100 = Node("ptest2", "h100x8", 22242)


@pytest.fixture(scope="session")
def golden_names(tmp_path_factory: pytest.TempPathFactory) -> t.Dict[str, str]:
    return golden_snapshots([A10, H100], tmp_path_factory.mktemp("golden"))


#: Nodes that were started from a snapshot in this run of the tests: others may be left over from older code.
_STARTED: t.Set[Node] = set()


def _fresh(node: Node, snapshot: str) -> None:
    _STARTED.add(node)
    bed("up", "%s=%s:%d" % (node.name, node.profile, node.port))
    bed("reset", node.name, snapshot)


@pytest.fixture
def golden_a10(tmp_path: pathlib.Path, golden_names: t.Dict[str, str]) -> Pool:
    """A pool of one golden node with one GPU."""
    _fresh(A10, golden_names[A10.name])
    A10.wait("golden by the boot unit", A10.is_golden)
    pool = Pool(tmp_path, [A10])
    pool.take_locks(golden_names[A10.name])
    return pool


@pytest.fixture
def golden_pair(tmp_path: pathlib.Path, golden_names: t.Dict[str, str]) -> Pool:
    """Two golden nodes; the first has eight GPUs, the second has one. What a test left golden is taken as it is."""
    for node in (H100, A10):
        if node not in _STARTED or not node.is_golden():
            _fresh(node, golden_names[node.name])
    for node in (H100, A10):
        node.wait("golden by the boot unit", node.is_golden)
    pool = Pool(tmp_path, [H100, A10])
    pool.take_locks(golden_names[A10.name])
    return pool


@pytest.fixture
def bare_a10(tmp_path: pathlib.Path) -> Pool:
    """A pool of one node as an installer leaves it: nouveau holds the GPU, nothing of NVIDIA or Docker is there."""
    _fresh(A10, "bare")
    return Pool(tmp_path, [A10])
