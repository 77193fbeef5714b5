# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After the kernel role: nouveau cannot load, neither from the disk nor from any initramfs, and the kernel is held."""

from __future__ import annotations

import json

import pytest

BLACKLIST = "/etc/modprobe.d/goldennode-blacklist.conf"
MODULES = ("nouveau", "nova_core", "nova_drm", "nvidiafb")


@pytest.fixture
def kernels(host):
    found = [name[len("vmlinuz-") :] for name in host.file("/boot").listdir() if name.startswith("vmlinuz-")]
    assert found
    return found


@pytest.mark.parametrize("module", MODULES)
def test_the_module_is_blacklisted_on_disk(host, module):
    text = host.file(BLACKLIST).content_string
    assert "blacklist %s\n" % module in text
    assert "install %s /bin/false\n" % module in text


def test_dracut_would_leave_the_modules_out_too(host):
    text = host.file("/etc/dracut.conf.d/goldennode.conf").content_string
    assert all(" %s " % module in text for module in MODULES)
    assert BLACKLIST in text


def test_the_blacklist_is_inside_the_initramfs_of_every_kernel(host, kernels):
    """By the distribution's own reader, not by ours."""
    for kernel in kernels:
        assert BLACKLIST[1:] in host.check_output("lsinitramfs /boot/initrd.img-%s" % kernel).splitlines()


def test_every_initramfs_is_recorded_as_it_is(host, kernels):
    record = json.loads(host.file("/var/lib/goldennode/initramfs.json").content_string)["kernels"]
    assert sorted(record) == sorted(kernels)
    assert all(entry["blacklisted"] for entry in record.values())


def test_the_kernel_of_the_bundle_is_held(host):
    assert "linux-image-amd64" in host.check_output("apt-mark showhold").splitlines()
