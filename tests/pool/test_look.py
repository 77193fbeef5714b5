# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looking returns within its limit with a finding, and never makes what it looks for."""

from __future__ import annotations

import time

from poollib import Pool, bed


def test_a_hanging_nvidia_smi_is_a_finding(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    bed("fault", node.name, "smi-hang", "on")
    begin = time.monotonic()
    run = golden_a10.verify()
    assert time.monotonic() - begin < 60 + 30, "the look's own limit and the time of a playbook"
    assert run.rc != 0
    row = run.report[node.name]
    assert row["layer"] == "host_driver"
    assert "nvidia-smi" in row["reason"]


def test_a_missing_uvm_node_is_said_and_not_made(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    bed("damage", node.name, "uvm-missing")
    run = golden_a10.verify()
    assert run.rc != 0
    assert run.report[node.name]["layer"] == "device_nodes"
    assert "nvidia-uvm" in run.report[node.name]["reason"]
    assert node.ssh("ls /dev/nvidia-uvm", check=False).returncode != 0
    # The very fake that would make it for root: this proves that the look could have gone wrong.
    node.ssh("python3 -c 'import ctypes; ctypes.CDLL(\"libcuda.so.1\").cuInit(0)'")
    node.ssh("ls /dev/nvidia-uvm")
