# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which axis a package belongs to, and which packages must be at the driver's own version."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import package_names


@pytest.mark.parametrize(
    ("name", "axis"),
    [
        ("libnvidia-common-460", "driver"),  # the one that unattended-upgrades moved, since nobody had held it
        ("nvidia-headless-460-server", "driver"),
        ("nvidia-dkms-580-open", "driver"),
        ("nvidia-driver-cuda", "driver"),
        ("nvidia-utils-580", "driver"),
        ("nvidia-kernel-support", "driver"),
        ("nvidia-modprobe", "driver"),
        ("nvidia-smi", "driver"),
        ("libnvidia-compute-580-server", "driver"),
        ("libnvidia-ml1", "driver"),
        ("libcuda1", "driver"),
        ("firmware-nvidia-gsp", "driver"),
        ("xserver-xorg-video-nvidia-580", "driver"),
        ("linux-modules-nvidia-580-server-open-generic", "driver"),
        ("linux-objects-nvidia-580-server-6.8.0-45-generic", "driver"),
        ("linux-signatures-nvidia-6.8.0-45-generic", "driver"),
        ("cuda-drivers", "driver"),
        ("cuda-drivers-580", "driver"),
        ("nvidia-container-toolkit", "toolkit"),
        ("nvidia-container-toolkit-base", "toolkit"),
        ("libnvidia-container1", "toolkit"),
        ("libnvidia-container-tools", "toolkit"),
        ("nvidia-fabricmanager", "fabric_manager"),
        ("nvidia-fabricmanager-550", "fabric_manager"),
        ("nvidia-fabric-manager", "fabric_manager"),
        ("docker-ce", "docker"),
        ("docker-ce-cli", "docker"),
        ("containerd.io", "docker"),
        ("docker.io", "docker"),
        ("runc", "docker"),
        ("linux-image-6.12.57+deb13-amd64", "kernel"),
        ("linux-headers-6.12.57+deb13-common", "kernel"),
        ("linux-kbuild-6.12.57+deb13", "kernel"),
        ("linux-modules-extra-6.8.0-45-generic", "kernel"),
        ("linux-generic", "kernel"),
        ("linux-libc-dev", None),
        ("linux-base", None),
        ("libnvidia-container-dev", None),
        ("nvidia-docker2", None),
        ("nvidia-cuda-toolkit", None),
        ("nvidia-driver-pinning-580", None),
        ("nvidia-driver-assistant", None),
        ("nvidia-mig-manager", None),
        ("libnvidia-nscq", None),
        ("nvidia-imex", None),
        ("nvidia-support", None),
        ("cuda-toolkit-13-0", None),
        ("docker-compose-plugin", None),
        ("bash", None),
    ],
)
def test_to_which_axis_a_package_belongs(name, axis):
    assert package_names.axis_of(name) == axis
    assert package_names.belongs_to_driver_set(name) == (axis == "driver")


@pytest.mark.parametrize("name", ["libcuda1", "libnvcuvid1", "libnvidia-common-580", "firmware-nvidia-gsp"])
def test_parts_of_the_driver_have_its_version(name):
    assert package_names.has_driver_version(name)


@pytest.mark.parametrize("name", ["nvidia-settings", "nvidia-persistenced", "libnvidia-container1", "nvidia-imex"])
def test_what_has_versions_of_its_own(name):
    assert not package_names.has_driver_version(name)
