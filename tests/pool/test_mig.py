# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node whose only GPU is in seven parts turns golden; without the instances, and with a specification from before a
change of them, that is what is named."""

from __future__ import annotations

import pathlib

import pytest
from poollib import Pool, bed, golden_snapshots, node_of_this_worker
from test_diagnose import Wanted, seen_live_and_from_a_capture

pytestmark = pytest.mark.engines

A100 = node_of_this_worker(5, "a100-mig")
SPEC = "/var/run/cdi/nvidia.yaml"


@pytest.fixture
def golden_a100(tmp_path: pathlib.Path) -> Pool:
    """A pool of one golden node with MIG devices; that site.yml makes it so is part of what is tested."""
    snapshots = golden_snapshots([A100], tmp_path)
    bed("up", A100.spec)
    bed("reset", A100.name, snapshots[A100])
    A100.wait("golden by the boot unit", A100.is_golden)
    pool = Pool(tmp_path, [A100])
    pool.take_locks(snapshots[A100])
    return pool


def test_a_node_with_mig_devices_is_golden_and_stays_so(golden_a100: Pool) -> None:
    run = golden_a100.site()
    assert run.rc == 0, run.output
    assert run.recap(A100.name)["changed"] == 0
    assert A100.fact()["golden"]
    listed = A100.ssh("nvidia-smi -L").stdout
    assert listed.count("UUID: MIG-") == 7
    for options in ("--runtime nvidia --env NVIDIA_VISIBLE_DEVICES=0:3", "--device nvidia.com/gpu=0:3"):
        seen = A100.ssh("docker run --rm %s %s nvidia-smi -L" % (options, A100.image())).stdout
        assert next(line for line in seen.splitlines() if "MIG-" in line).split("UUID")[1] in listed
        assert seen.count("UUID: MIG-") == 1


def test_mig_without_an_instance_is_named_on_the_host(golden_a100: Pool) -> None:
    bed("fault", A100.name, "mig-empty", "on")
    looked = golden_a100.verify()
    assert looked.rc != 0
    row = looked.report[A100.name]
    assert row["layer"] == "host_driver", looked.output
    assert "MIG of GPU 0000:17:00.0 is on and has no instance" in row["reason"]
    assert "-cgi PROFILE" in row["fix"]
    bed("fault", A100.name, "mig-empty", "off")
    assert golden_a100.verify().report[A100.name]["golden"]


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [
        ("mig-empty", Wanted("host_driver", "host_driver.mig", "has no instance")),
        ("mig-pending", Wanted("host_driver", "host_driver.mig", "reset")),
    ],
)
def test_a_fault_of_mig_is_named_first_live_and_from_a_capture(golden_a100: Pool, fault: str, wanted: Wanted) -> None:
    bed("fault", A100.name, fault, "on")
    try:
        seen_live_and_from_a_capture(golden_a100, A100, wanted)
    finally:
        bed("fault", A100.name, fault, "off")


def test_a_specification_from_before_mig_is_named_and_mended(golden_a100: Pool) -> None:
    A100.ssh("sed -i 's/name: \"0:/name: \"1:/; s/name: MIG-/name: MIG-X/' %s" % SPEC)
    looked = golden_a100.verify()
    assert looked.report[A100.name]["layer"] == "container_runtime", looked.output
    assert "a card was changed, or MIG" in looked.report[A100.name]["reason"]
    run = golden_a100.site()
    assert run.rc == 0, run.output
    assert run.report[A100.name]["golden"]
