# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After the driver role: every package of the set at the version of the lock, held, pinned and out of unattended
upgrades, and a built module.
"""

from __future__ import annotations

import json
import pathlib

import pytest

LOCK = (
    pathlib.Path(__file__).resolve().parents[3] / "tests" / "testbed" / "bundles" / "sim-a.debian-13-x86_64.lock.json"
)


@pytest.fixture
def packages():
    return json.loads(LOCK.read_text())["driver"]["packages"]


def test_every_package_is_installed_at_the_version_of_the_lock(host, packages):
    assert packages
    for name, version in packages.items():
        assert host.package(name).is_installed
        assert host.package(name).version == version


def test_every_package_is_held_and_out_of_unattended_upgrades(host, packages):
    held = host.check_output("apt-mark showhold").splitlines()
    blacklist = host.check_output("apt-config dump Unattended-Upgrade::Package-Blacklist")
    for name in packages:
        assert name in held
        assert name + "$" in blacklist


def test_apt_would_not_move_the_driver_even_unheld(host):
    """The newest version in the repository is 595: the pin alone must keep it away."""
    policy = host.check_output("apt-cache policy libcuda1")
    assert "595.71.05-1" in policy
    assert "Candidate: 580.159.03-1" in policy


def test_a_part_of_the_driver_that_no_lock_names_would_not_move_either(host, packages):
    assert "nvidia-open" not in packages
    assert "Candidate: 580.159.03-1" in host.check_output("apt-cache policy nvidia-open")


def test_the_package_files_are_kept_for_going_back(host, packages):
    manifest = json.loads(host.file("/var/lib/goldennode/packages/manifest.json").content_string)["files"]
    for name, version in packages.items():
        kept = manifest["%s=%s" % (name, version)]
        assert host.file("/var/lib/goldennode/packages/" + kept["file"]).sha256sum == kept["sha256"]


def test_the_fabric_manager_is_where_nvswitches_are(host):
    switches = host.ansible.get_variables()["testbed_profile"] == "h100x8"
    assert host.package("nvidia-fabricmanager").is_installed == switches


def test_the_module_is_built_for_the_running_kernel(host):
    assert host.check_output("modinfo -k $(cat /proc/sys/kernel/osrelease) -F version nvidia") == "580.159.03"


def test_the_units_start_at_boot(host):
    assert host.service("goldennode-uvm.service").is_enabled
    assert host.service("nvidia-persistenced.service").is_enabled
