# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After the device_access role: the driver's options, the rule for nvidia-uvm, and the users in the group."""

from __future__ import annotations


def test_the_driver_gets_the_mode_in_octal_and_the_number_of_the_group(host):
    options = host.check_output("modprobe --showconfig | grep '^options nvidia '")
    assert "NVreg_DeviceFileMode=0660" in options
    assert "NVreg_DeviceFileGID=%d" % host.group("video").gid in options


def test_the_rule_for_uvm_sets_the_same(host):
    rule = host.file("/etc/udev/rules.d/70-goldennode-uvm.rules").content_string
    assert "0660" in rule
    assert "video" in rule


def test_the_user_is_in_the_group_and_keeps_the_others(host):
    groups = host.user("alice").groups
    assert "video" in groups
    assert "alice" in groups
