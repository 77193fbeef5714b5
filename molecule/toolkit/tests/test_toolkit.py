# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After the toolkit role: four packages at one version, the runtime known to Docker, CDI on, runc still the default."""

from __future__ import annotations

import json

PACKAGES = (
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container-tools",
    "libnvidia-container1",
)


def test_the_four_packages_are_at_one_version_and_held(host):
    held = host.check_output("apt-mark showhold").splitlines()
    for name in PACKAGES:
        assert host.package(name).version == "1.20.0-1"
        assert name in held


def test_docker_knows_the_runtime_and_reads_cdi(host):
    info = json.loads(host.check_output("docker info --format '{{json .}}'"))
    assert info["Runtimes"]["nvidia"]["path"] == "nvidia-container-runtime"
    assert info["DefaultRuntime"] == "runc"
    assert info["CDISpecDirs"]


def test_the_specification_is_refreshed_by_the_vendors_unit(host):
    assert host.service("nvidia-cdi-refresh.path").is_enabled
    assert host.service("nvidia-cdi-refresh.path").is_running
    assert host.service("nvidia-cdi-refresh.service").is_enabled
    ordered = host.check_output("systemctl show --property=Before --value nvidia-cdi-refresh.service").split()
    assert "docker.service" in ordered


def test_config_has_what_is_managed_and_keeps_its_comments(host):
    text = host.file("/etc/nvidia-container-runtime/config.toml").content_string
    assert "\n#no-cgroups = false\nno-cgroups = false\n" in text
    assert "\naccept-nvidia-visible-devices-envvar-when-unprivileged = true\n" in text
    assert host.run("nvidia-ctk config --config-file /etc/nvidia-container-runtime/config.toml").rc == 0


def test_no_two_specifications_name_the_same_devices(host):
    there = host.check_output("find /etc/cdi /run/cdi -name '*.yaml' -o -name '*.json' 2>/dev/null || true").split()
    assert [path for path in there if "nvidia" in path] in ([], ["/run/cdi/nvidia.yaml"])
