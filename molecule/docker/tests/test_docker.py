# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After the docker role: the engine of the lock, held and running, with daemon.json as wanted and in force."""

from __future__ import annotations

import json


def test_the_engine_runs_at_the_version_of_the_lock(host):
    assert host.service("docker.service").is_running
    assert host.service("docker.service").is_enabled
    assert host.check_output("docker version --format '{{.Server.Version}}'").startswith("26.1.4")


def test_the_set_is_held(host):
    held = host.check_output("apt-mark showhold").splitlines()
    assert {"docker-ce", "docker-ce-cli", "containerd.io"} <= set(held)


def test_the_settings_are_in_the_file_and_in_force(host):
    settings = json.loads(host.file("/etc/docker/daemon.json").content_string)
    assert settings["insecure-registries"] == ["vendor.testbed:5000"]
    info = json.loads(host.check_output("docker info --format '{{json .}}'"))
    assert "nvidia" in info["Runtimes"]
    assert info["DefaultRuntime"] == "runc"
    assert "vendor.testbed:5000" in info["RegistryConfig"]["IndexConfigs"]
