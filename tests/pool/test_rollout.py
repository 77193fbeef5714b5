# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pool of four golden nodes goes from one bundle to another, or does not: canary first, then waves, within a budget.

Each ends as it should for every single node: which lock it has, whether it is golden, and what its record says.
"""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from poollib import CONSENT, Node, Pool, bed, golden_snapshots, node_of_this_worker

pytestmark = pytest.mark.rollout

NODES = [node_of_this_worker(number, "a10") for number in (6, 7, 8, 9)]
CANARY, *PRODUCTION = NODES
#: A canary, then a node, then the two that are left; no waiting.
SHORT = {"rollout_waves": [1, 2], "rollout_soak_rounds": 1, "rollout_soak_interval": 0}
#: Changed by a run of seconds and without a reboot, which is all that most of these tests need of a bundle.
NEW = {"toolkit": {"version": "1.20.1"}}


@pytest.fixture
def pool(tmp_path: pathlib.Path) -> Pool:
    """Four nodes that are golden for sim-a."""
    snapshots = golden_snapshots(NODES, tmp_path)
    bed("up", *(node.spec for node in NODES))
    for node in NODES:
        bed("reset", node.name, snapshots[node])
    for node in NODES:
        node.wait("golden by the boot unit", node.is_golden)
    found = Pool(tmp_path, NODES)
    found.take_locks(snapshots[CANARY])
    return found


def states(nodes: t.Iterable[Node] = NODES) -> t.Dict[str, str]:
    """Of each node: the bundle of its lock and, where it is golden, that."""
    found = {}
    for node in nodes:
        bundle = node.lock()["bundle"]
        found[node.name] = "%s %s" % (bundle, "golden" if node.is_golden() else "not golden")
    return found


def all_are(words: str, nodes: t.Iterable[Node] = NODES) -> t.Dict[str, str]:
    return {node.name: words for node in nodes}


def marks(nodes: t.Iterable[Node]) -> t.List[t.Any]:
    return [node.mark() for node in nodes]


def test_an_upgrade_of_driver_toolkit_and_docker_with_a_reboot(pool: Pool) -> None:
    new = pool.with_bundle(
        "sim-new",
        driver={"version": "580.178.04", "flavour": "open", "build": "dkms", "source": "nvidia"},
        fabric_manager={"version": "580.178.04"},
        toolkit={"version": "1.20.1"},
        docker={"version": "26.1.5", "source": "docker-ce"},
    )
    new.lock()
    before = marks(NODES)
    planned = new.rollout("--check", **SHORT)
    assert planned.rc == 0, planned.output
    assert "canary-1" in planned.output
    assert "wave-2" in planned.output
    assert marks(NODES) == before

    run = new.rollout(**{**SHORT, "rollout_waves": ["100%"]})
    assert run.rc == 0, run.output
    assert run.outcomes() == all_are("golden")
    assert states() == all_are("sim-new golden")
    assert [node.rollout_record()["wave"] for node in NODES] == ["canary-1", "wave-1", "wave-1", "wave-1"]
    assert all("580.178.04" in node.ssh("cat /proc/driver/nvidia/version").stdout for node in NODES)

    again = new.rollout(**SHORT)
    assert again.rc == 0, again.output
    assert again.outcomes() == all_are("golden")
    assert "golden for it already" in again.output
    assert states() == all_are("sim-new golden")

    node = "localhost,%s" % CANARY.name
    back = new.run("rollback", "--limit", node, variables={**SHORT, **CONSENT})
    assert back.rc == 0, back.output
    assert states() == {CANARY.name: "sim-a golden", **all_are("sim-new golden", PRODUCTION)}


def test_a_driver_that_does_not_build_stays_on_the_canary_and_not_for_long(pool: Pool) -> None:
    new = pool.with_bundle(
        "sim-broken-driver",
        driver={"version": "595.71.05", "flavour": "open", "build": "dkms", "source": "nvidia"},
        fabric_manager={"version": "595.71.05"},
    )
    new.lock()
    before = marks(PRODUCTION)
    run = new.rollout(**SHORT)
    assert run.rc != 0
    assert run.outcomes() == {CANARY.name: "rolled_back", **all_are("stopped", PRODUCTION)}, run.output
    assert states() == all_are("sim-a golden")
    assert marks(PRODUCTION) == before
    assert CANARY.rollout_record()["state"] == "rolled_back"
    assert "build" in CANARY.rollout_record()["reason"]
    assert {node.rollout_record()["state"] for node in PRODUCTION} == {"stopped"}

    again = new.rollout(**SHORT)
    assert again.rc != 0
    assert "rollout_retry" in again.output
    assert states() == all_are("sim-a golden")


def test_a_toolkit_that_breaks_injection_goes_no_further_than_the_canary(pool: Pool) -> None:
    new = pool.with_bundle("sim-broken-toolkit", toolkit={"version": "1.99.0"})
    new.lock()
    before = marks(PRODUCTION)
    run = new.rollout(**SHORT)
    assert run.rc != 0
    assert run.outcomes() == {CANARY.name: "rolled_back", **all_are("stopped", PRODUCTION)}, run.output
    assert "libcuda" in CANARY.rollout_record()["reason"]
    assert states() == all_are("sim-a golden")
    assert marks(PRODUCTION) == before


def test_a_canary_that_passes_and_fails_in_the_soak(pool: Pool) -> None:
    new = pool.with_bundle("sim-soak", **NEW)
    new.lock()
    output = new.run_cut_off_at(
        "Say that the node soaks",
        lambda: CANARY.ssh('sed -i \'s/"cdi": *true/"cdi": false/\' /etc/docker/daemon.json'),
        "rollout",
        **{**new.rollout_variables(), **SHORT, "rollout_soak_rounds": 2},
    )
    record = CANARY.rollout_record()
    assert (record["state"], "did not last: in round 1 of 2" in record["reason"]) == ("rolled_back", True), output
    assert states() == all_are("sim-a golden")
    assert {node.rollout_record()["state"] for node in PRODUCTION} == {"stopped"}


def test_a_canary_that_never_comes_back_from_its_reboot(pool: Pool) -> None:
    new = pool.with_bundle(
        "sim-lost",
        driver={"version": "580.178.04", "flavour": "open", "build": "dkms", "source": "nvidia"},
        fabric_manager={"version": "580.178.04"},
    )
    new.lock()
    before = marks(PRODUCTION)
    impatient = {**SHORT, "golden_reboot_timeout": 20, "golden_look_timeout": 20}
    variables = {**new.rollout_variables(), **impatient}
    output = new.run_cut_off_at("Reboot, since", lambda: bed("power", CANARY.name, "off"), "rollout", **variables)
    assert "%s is lost" % CANARY.name in output
    assert marks(PRODUCTION) == before
    assert {node.rollout_record()["state"] for node in PRODUCTION} == {"stopped"}, output

    still_off = new.rollout(**impatient)
    assert still_off.rc != 0
    assert marks(PRODUCTION) == before

    bed("power", CANARY.name, "on")
    CANARY.wait("answers again", lambda: CANARY.ssh("true").returncode == 0)
    back = new.rollout(**impatient)
    assert back.rc != 0
    assert CANARY.rollout_record()["state"] == "rolled_back", back.output
    assert states() == all_are("sim-a golden")
    assert marks(PRODUCTION) == before


#: As with hardware that the new version does not suit: with it Docker loses its CDI, and with the old one it does not.
DISLIKES = """cat > /root/dislikes <<'END'
while sleep 0.2; do
  dpkg-query --show nvidia-container-toolkit | grep -q 1.20.1-1 && grep -q '"cdi": *true' /etc/docker/daemon.json \\
    && sed -i 's/"cdi": *true/"cdi": false/' /etc/docker/daemon.json
done
END
systemd-run --unit=dislikes sh /root/dislikes"""


@pytest.mark.parametrize("budget", [1, 0], ids=["inside the budget", "beyond the budget"])
def test_a_node_of_the_second_wave_that_fails(pool: Pool, budget: int) -> None:
    new = pool.with_bundle("sim-wave", **NEW)
    new.lock()
    first, bad, last = PRODUCTION
    bad.ssh(DISLIKES)
    run = new.rollout(**{**SHORT, "rollout_waves": [1]}, rollout_budget=budget)
    assert run.rc != 0  # a node is not golden for the lock, whatever the budget
    assert run.outcomes() == {
        CANARY.name: "golden",
        first.name: "golden",
        bad.name: "rolled_back",
        last.name: "golden" if budget else "stopped",
    }, run.output
    assert states([CANARY, first]) == all_are("sim-wave golden", [CANARY, first])
    assert states([bad]) == all_are("sim-a golden", [bad])
    assert states([last]) == all_are("sim-wave golden" if budget else "sim-a golden", [last])
    assert [node.rollout_record()["state"] for node in PRODUCTION] == list(run.outcomes().values())[1:]


def test_a_controller_that_is_killed_at_each_stage_and_run_again(pool: Pool) -> None:
    new = pool.with_bundle("sim-killed", **NEW)
    new.lock()
    variables = {**new.rollout_variables(), **SHORT}
    for task, state in (
        ("Have every node that waits for the lock take part", None),
        ("Take the work off the node", "draining"),
        ("Container toolkit", "converging"),
        ("Verify, and reboot where that is due", "verifying"),
        ("Soak", "soaking"),
        ("Give the node its work back", "soaking"),
    ):
        new.run_killed_at(task, "rollout", **variables)
        if state is not None:
            assert CANARY.rollout_record()["state"] == state, task
    run = new.rollout(**SHORT)
    assert run.rc == 0, run.output
    assert states() == all_are("sim-killed golden")
    assert [node.rollout_record()["wave"] for node in NODES] == ["canary-1", "wave-1", "wave-2", "wave-2"]

    back = new.run("rollback", variables={**SHORT, **CONSENT})
    assert back.rc == 0, back.output
    assert states() == all_are("sim-a golden")


def test_another_rollout_waits_until_this_one_is_finished(pool: Pool) -> None:
    first, second = pool.with_bundle("sim-first", **NEW), pool.with_bundle("sim-second", **NEW)
    first.lock()
    second.lock()
    first.run_killed_at("Container toolkit", "rollout", **{**first.rollout_variables(), **SHORT})
    record = CANARY.rollout_record()
    refused = second.rollout(**SHORT)
    assert refused.rc != 0
    assert record["rollout"] in refused.output
    assert "rollout_take_over" in refused.output
    assert CANARY.rollout_record() == record
    taken = second.rollout(**SHORT, rollout_take_over=record["rollout"])
    assert taken.rc == 0, taken.output
    assert states() == all_are("sim-second golden")


def test_a_way_back_that_is_cut_off_is_finished_by_the_next_run(pool: Pool) -> None:
    new = pool.with_bundle("sim-broken-toolkit", toolkit={"version": "1.99.0"})
    new.lock()
    new.run_killed_at("Bring the node to what it was golden for", "rollout", **{**new.rollout_variables(), **SHORT})
    assert CANARY.rollout_record()["state"] == "rolling_back"
    run = new.rollout(**SHORT)
    assert run.rc != 0
    assert CANARY.rollout_record()["state"] == "rolled_back", run.output
    assert states() == all_are("sim-a golden")


def test_a_node_whose_gpus_are_in_use_is_left_at_work(pool: Pool) -> None:
    new = pool.with_bundle("sim-busy", **NEW)
    new.lock()
    # The nodes of a played driver cannot be opened; a handle on one is what /proc shows of a program that has done so.
    hold = 'import os, time; os.open("/dev/nvidia0", os.O_PATH); time.sleep(3600)'
    CANARY.ssh("systemd-run --unit=training python3 -c '%s'" % hold)
    before = marks(NODES)
    run = new.rollout(**SHORT)
    assert run.rc != 0
    assert run.outcomes()[CANARY.name] == "busy", run.output
    assert "training.service" in CANARY.rollout_record()["reason"]
    assert marks(NODES) == before
    assert CANARY.ssh("systemctl is-active training").stdout.strip() == "active"
    stopped = new.rollout(**SHORT, rollout_allow_stop_gpu_processes=True)
    assert stopped.rc == 0, stopped.output
    assert states() == all_are("sim-busy golden")
