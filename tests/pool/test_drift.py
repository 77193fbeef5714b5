# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What drifts on a node is found by drift.yml and by the local fact with the same finding id, all of it at once."""

from __future__ import annotations

import json
import typing as t

import pytest
from poollib import Node, Pool, Run, bed

pytestmark = pytest.mark.rollout

MODPROBE = "/etc/modprobe.d/goldennode-blacklist.conf"
MARK = "/var/lib/goldennode/mark.json"
DESIRED = "/var/lib/goldennode/desired.json"
PROGRAM = "/usr/bin/nvidia-container-runtime"
#: As an unattended upgrade moves a package: its hold was lifted, or its pin was in the way of nobody.
UPGRADE = (
    "cd /tmp && apt-get -qq update && apt-get -qq download libcuda1=580.178.04-1 "
    "&& dpkg --force-depends -i libcuda1_*.deb"
)
NO_RUNTIME = (
    'python3 -c \'import json; p = "/etc/docker/daemon.json"; c = json.load(open(p)); del c["runtimes"]; '
    'json.dump(c, open(p, "w"))\''
)
#: What is done by hand -> the check that must say so, and a word of the entity that it is about.
BY_HAND: t.Dict[str, t.Tuple[str, str]] = {
    "apt-mark unhold nvidia-container-toolkit": ("packages.holds", "nvidia-container-toolkit"),
    UPGRADE: ("packages.versions", "libcuda1"),
    "echo '# mine' >> %s" % MODPROBE: ("host_driver.files", MODPROBE),
    NO_RUNTIME: ("container_runtime.daemon_config", "runtimes"),
    "mv %s /root/" % PROGRAM: ("container_runtime.program", "nvidia-container-runtime"),
}


def drifted(pool: Pool, **variables: t.Any) -> t.Tuple[Run, t.Dict[str, t.Any]]:
    """The run of drift.yml, and what its result says of the one node."""
    result = pool.directory / "drift.json"
    result.unlink(missing_ok=True)
    run = pool.run("drift", variables={"goldennode_result_file": str(result), **variables})
    assert result.exists(), run.output
    return run, t.cast("t.Dict[str, t.Any]", json.loads(result.read_text())["nodes"][pool.nodes[0].name])


def named(rows: t.Sequence[t.Mapping[str, t.Any]], check: str, entity: str) -> bool:
    return any(row["id"] == check and entity in row["entity"] and row["status"] == "drifted" for row in rows)


def _proven_with_other_control_groups(node: Node) -> str:
    """A simulated node has the control groups of its machine, so the proof is what is changed. Returns what it was."""
    mark = node.mark()
    assert mark is not None
    assert mark["cgroups"] in ("1", "2", "hybrid"), mark
    other = "1" if mark["cgroups"] == "2" else "2"
    node.ssh("cat > %s <<'END'\n%s\nEND" % (MARK, json.dumps({**mark, "cgroups": other}, indent=1)))
    return str(mark["cgroups"])


def test_a_golden_node_has_not_drifted_and_needs_no_bundle_to_know(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    golden_a10.write_inventory({"bundle_file": None})
    inventory = golden_a10.inventory.read_text().replace("    bundle_file: null\n", "")
    golden_a10.inventory.write_text(inventory)
    run, found = drifted(golden_a10)
    assert run.rc == 0, run.output
    assert (found["word"], found["rows"], found["waits"]) == ("no drift", [], "")
    assert "None of 1 node has drifted." in run.output
    assert run.recap(node.name)["changed"] == 0
    assert node.fact()["drift"] == []


def test_each_thing_done_by_hand_is_found_by_drift_and_by_the_fact_with_one_id(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    for command in BY_HAND:
        node.ssh(command, timeout=120)
    was = _proven_with_other_control_groups(node)
    fact = node.fact()
    run, found = drifted(golden_a10)
    assert run.rc != 0, run.output
    assert run.recap(node.name)["changed"] == 0
    expected = {**BY_HAND, "control groups": ("container_runtime.cgroup_mode", "")}
    for command, (check, entity) in expected.items():
        assert named(found["rows"], check, entity), (command, found["rows"])
        assert named(fact["drift"], check, entity), (command, fact["drift"])
    assert not fact["golden"]
    # What the fact sees the look sees, and by the same words.
    assert {(row["id"], row["entity"]) for row in fact["drift"]} <= {
        (row["id"], row["entity"]) for row in found["rows"]
    }
    by_id = {row["id"]: row for row in found["rows"]}
    assert by_id["packages.versions"]["was"] == "580.159.03-1"
    assert by_id["packages.versions"]["is"] == "580.178.04-1"
    assert by_id["packages.versions"]["since"]["how"] == "at"
    assert by_id["host_driver.files"]["since"]["how"] == "by"
    assert by_id["packages.holds"]["since"]["how"] == "after"
    assert by_id["packages.holds"]["since"]["at"] == found["last_whole"]
    assert by_id["container_runtime.cgroup_mode"]["is"] == "version %s" % was
    for check, _entity in expected.values():
        assert check in run.output


def test_a_run_mends_what_has_drifted(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    for command in BY_HAND:
        if PROGRAM not in command:  # the package is whole to dpkg, and a person installs it again
            node.ssh(command, timeout=120)
    _proven_with_other_control_groups(node)
    mended = golden_a10.site()
    assert mended.rc == 0, mended.output
    run, found = drifted(golden_a10)
    assert run.rc == 0, run.output
    assert found["rows"] == []


def test_it_may_end_well_whatever_has_drifted(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    node.ssh("apt-mark unhold nvidia-container-toolkit")
    run, found = drifted(golden_a10, goldennode_drift_fails=False)
    assert run.rc == 0, run.output
    assert found["drifted"]


def test_a_node_that_waits_for_another_bundle_has_not_drifted(golden_a10: Pool) -> None:
    """The bundle in Git has moved on and the rollout has not come yet."""
    (lock,) = golden_a10.locks()
    golden_a10.write_inventory({"docker_daemon_options": {"insecure-registries": ["other:5000"]}})
    run, found = drifted(golden_a10)
    assert run.rc == 0, run.output
    assert (found["word"], found["rows"]) == ("no drift", [])
    assert found["waits"] == "it waits for other variables of the roles, with the same lock"
    assert found["lock"] == json.loads(lock.read_text())["id"]
    assert "1 waits for what the bundle says now: %s." % golden_a10.nodes[0].name in run.output


def test_a_node_of_which_it_cannot_be_known(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    node.ssh("echo '{' > %s" % DESIRED)
    run, found = drifted(golden_a10)
    assert run.rc != 0
    assert found["word"] == "unreadable"
    assert DESIRED in found["note"]
    node.ssh("rm %s" % DESIRED)
    run, found = drifted(golden_a10)
    assert run.rc != 0
    assert found["word"] == "never prepared"
    bed("power", node.name, "off")
    run, found = drifted(golden_a10)
    assert run.rc != 0
    assert found["word"] == "unreachable"
    assert node.name in run.output
