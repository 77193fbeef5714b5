# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container that proves the GPUs, on real engines: its rights, its group, and which GPU it gets."""

from __future__ import annotations

import json
import typing as t

import pytest
from poollib import REGISTRY, Node, Pool

pytestmark = pytest.mark.engines

OPTIONS: t.Dict[str, t.Any] = {"insecure-registries": [REGISTRY]}


def probes(node: Node, since: str) -> t.List[str]:
    """The names of the probe's containers that were made since then."""
    events = "docker events --since %s --until \"$(date +%%s.%%N)\" --filter event=create --format '{{json .}}'" % since
    made = (json.loads(line) for line in node.ssh(events).stdout.splitlines())
    names = [event["Actor"]["Attributes"]["name"] for event in made]
    return [name for name in names if name.startswith("goldennode-probe-")]


def now(node: Node) -> str:
    return node.ssh("date +%s.%N").stdout.strip()


def test_a_look_starts_one_container_for_each_way_and_more_only_where_it_is_asked(golden: Pool) -> None:
    (node,) = golden.nodes
    ways = 2 if node.system == "debian-13" else 1
    since = now(node)
    node.ssh("python3 /usr/local/lib/goldennode/agent.pyz verify")
    assert len(probes(node, since)) == ways
    since = now(node)
    assert golden.verify().rc == 0
    assert len(probes(node, since)) == 3 * ways
    assert node.ssh("docker ps --all --quiet").stdout == ""


def test_nodes_for_the_group_alone_open_to_the_probe_and_to_whom_the_group_is_given(golden: Pool) -> None:
    (node,) = golden.nodes
    run = golden.site(device_access_mode="0660", docker_daemon_options=OPTIONS)
    assert run.rc == 0, run.output
    assert node.is_golden()
    assert node.ssh("stat -c '%a %G' /dev/nvidia0 /dev/nvidia-uvm").stdout.split() == ["660", "video"] * 2
    ask = "docker run --rm --network none --runtime nvidia --env NVIDIA_VISIBLE_DEVICES=all --user 65534:65534 %s "
    ask += node.image() + " nvidia-smi -L"
    gid = node.ssh("getent group video | cut -d: -f3").stdout.strip()
    assert node.ssh(ask % ("--group-add " + gid)).stdout == node.ssh("nvidia-smi -L").stdout


def test_a_user_whose_first_group_it_is_and_no_run_changes_anything_again(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    node.ssh("useradd --gid video carol")
    variables = {"device_access_users": ["carol"], "docker_daemon_options": OPTIONS}
    assert golden_a10.site(**variables).rc == 0
    assert "carol" in node.ssh("grep ^video: /etc/group").stdout
    run = golden_a10.site(**variables)
    assert (run.rc, run.recap(node.name)["changed"]) == (0, 0), run.output
