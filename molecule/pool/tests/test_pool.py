# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After site.yml and a reboot: the node says by itself that it is golden, and a user's container sees the GPUs."""

from __future__ import annotations

import json


def test_the_local_fact_says_golden(host):
    fact = json.loads(host.check_output("/etc/ansible/facts.d/goldennode.fact"))
    assert fact["golden"], fact


def test_the_mark_is_of_this_boot(host):
    mark = json.loads(host.file("/var/lib/goldennode/mark.json").content_string)
    assert mark["state"] == "golden"
    assert mark["boot_id"] == host.file("/proc/sys/kernel/random/boot_id").content_string.strip()


def test_nvidia_smi_lists_the_expected_gpus(host):
    expected = host.ansible.get_variables()["golden_expected_gpus"]
    assert host.check_output("nvidia-smi -L").count("GPU ") == expected


def test_docker_runs_with_the_nvidia_runtime_registered(host):
    info = json.loads(host.check_output("docker info --format '{{json .}}'"))
    assert "nvidia" in info["Runtimes"]
    assert info["DefaultRuntime"] == "runc"
