# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which axis a package belongs to, and which packages must be at the driver's own version."""

from __future__ import annotations

import fnmatch

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
        ("linux-generic-hwe-24.04", "kernel"),
        ("linux-image-generic-hwe-24.04", "kernel"),
        ("linux-virtual", "kernel"),
        ("linux-aws", "kernel"),
        ("linux-aws-lts-24.04", "kernel"),
        ("linux-nvidia-hwe-24.04", "kernel"),
        ("linux-hwe-6.14-headers-6.14.0-35", "kernel"),
        ("linux-compiler-gcc-12-x86", "kernel"),
        ("linux-modules-nvidia-fs-6.8.0-1030-nvidia", "kernel"),
        ("linux-tools-generic", None),
        ("linux-aws-tools-6.8.0-45", None),
        ("linux-firmware", None),
        ("linux-sound-base", None),
        ("linux-libc-dev", None),
        ("linux-base", None),
        ("libnvidia-container-dev", None),
        ("nvidia-docker2", None),
        ("nvidia-cuda-toolkit", None),
        ("nvidia-driver-pinning-580", None),
        ("nvidia-driver-assistant", None),
        ("nvidia-mig-manager", None),
        ("libnvidia-nscq", "driver"),
        ("libnvidia-nscq-570", "driver"),
        ("nvidia-imex", "driver"),
        ("nvidia-imex-570", "driver"),
        ("libnvsdm", "driver"),
        ("nvlink5-580", "driver"),
        ("nvlsm", None),
        ("nvidia-open", "driver"),
        ("nvidia-driver-570-server", "driver"),  # transitional
        ("libcuda1-384", "driver"),  # transitional
        ("libegl-nvidia0", "driver"),
        ("libgl1-nvidia-glvnd-glx", "driver"),
        ("firmware-nvidia-tesla-535-gsp", "driver"),
        ("firmware-nvidia-graphics", None),  # nouveau's, of linux-firmware
        ("nvidia-firmware-580-server-580.159.03", "driver"),
        ("nvidia-gds", None),
        ("nvidia-fs-dkms", None),
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


@pytest.mark.parametrize("name", ["nvidia-imex", "nvidia-imex-570", "libnvidia-nscq", "libnvsdm", "nvlink5"])
def test_what_drives_nvlink_has_the_drivers_version_too(name):
    assert package_names.has_driver_version(name)


@pytest.mark.parametrize(
    "name",
    [
        "nvidia-settings",
        "nvidia-persistenced",
        "libnvidia-container1",
        "nvlsm",
        "nvidia-firmware-580-server-580.126.09",  # stands beside that of another driver
    ],
)
def test_what_has_versions_of_its_own(name):
    assert not package_names.has_driver_version(name)


@pytest.mark.parametrize(
    ("name", "pinned"),
    [
        ("nvidia-driver-pinning-580", "580"),
        ("nvidia-driver-pinning-580.159.03", "580.159.03"),
        ("nvidia-driver-pinning", None),
        ("nvidia-driver-580", None),
    ],
)
def test_to_what_a_pinning_package_pins(name, pinned):
    assert package_names.pinned_by(name) == pinned


@pytest.mark.parametrize(
    ("name", "pinned"),
    [
        ("linux-image-amd64", True),
        ("linux-headers-6.12.57+deb13-amd64", True),
        ("linux-image-generic-hwe-24.04", True),
        ("linux-modules-nvidia-580-server-open-generic", True),
        ("linux-hwe-6.14-headers-6.14.0-35", True),
        ("linux-generic", True),
        ("linux-generic-hwe-24.04", True),
        ("linux-aws", True),
        ("linux-oem-24.04", True),
        ("linux-libc-dev", False),
        ("linux-base", False),
        ("linux-firmware", False),
        ("linux-tools-common", False),
    ],
)
def test_what_brings_a_new_kernel_is_in_the_kernels_patterns(name, pinned):
    assert any(fnmatch.fnmatchcase(name, pattern) for pattern in package_names.KERNEL_GLOBS) is pinned


@pytest.mark.parametrize(
    ("name", "series"),
    [
        ("nvidia-dkms-580-server-open", "nvidia-dkms-580-server-open"),
        ("nvidia-dkms-580", "nvidia-dkms-580"),
        ("nvidia-dkms-open", "nvidia-dkms-open"),
        ("nvidia-kernel-source-580-server", "nvidia-kernel-source-580-server"),
        ("nvidia-kernel-source-open", "nvidia-kernel-source-open"),
        ("nvidia-kernel-dkms", "nvidia-kernel-dkms"),
        ("nvidia-kernel-open-dkms", "nvidia-kernel-open-dkms"),
        ("nvidia-open-kernel-dkms", "nvidia-open-kernel-dkms"),
        ("nvidia-open-kernel-source", "nvidia-open-kernel-source"),
        ("nvidia-legacy-390xx-kernel-dkms", "nvidia-legacy-390xx-kernel-dkms"),
        ("nvidia-tesla-535-kernel-dkms", "nvidia-tesla-535-kernel-dkms"),
        ("linux-modules-nvidia-580-server-open-6.8.0-90-generic", "linux-modules-nvidia-580-server-open"),
        ("linux-modules-nvidia-580-server-generic", "linux-modules-nvidia-580-server"),
        ("linux-objects-nvidia-580-server-6.8.0-90-generic", "linux-objects-nvidia-580-server"),
        ("linux-signatures-nvidia-6.8.0-90-generic", "linux-signatures-nvidia"),
        ("nvidia-kernel-common-580-server", None),
        ("nvidia-kernel-support", None),
        ("nvidia-headless-no-dkms-580-server", None),
        ("linux-modules-6.8.0-90-generic", None),
        ("linux-modules-nvidia-fs-6.8.0-90-generic", None),
        ("nvidia-fs-dkms", None),
        ("nvidia-peer-memory-dkms", None),
        ("dkms", None),
    ],
)
def test_of_which_make_a_kernel_module_is(name, series):
    assert package_names.module_series(name) == series


PRECOMPILED = ("linux-modules-nvidia-580-server-6.8.0-90-generic", "linux-signatures-nvidia-6.8.0-90-generic")


@pytest.mark.parametrize(
    ("name", "wanted", "other"),
    [
        ("nvidia-dkms-580-server", PRECOMPILED, True),
        ("nvidia-kernel-source-580-server", PRECOMPILED, True),
        ("linux-modules-nvidia-580-server-open-6.8.0-90-generic", PRECOMPILED, True),
        ("linux-modules-nvidia-580-server-6.8.0-88-generic", PRECOMPILED, False),  # the way back
        ("linux-signatures-nvidia-6.8.0-88-generic", PRECOMPILED, False),
        ("linux-modules-nvidia-580-server-6.8.0-90-generic", ("nvidia-dkms-580-server",), True),
        ("linux-signatures-nvidia-6.8.0-90-generic", ("nvidia-dkms-580-server",), True),
        ("nvidia-kernel-dkms", ("libcuda1", "nvidia-kernel-open-dkms"), True),
        ("nvidia-kernel-dkms", ("libcuda1",), False),  # a set without a module says nothing of modules
        ("nvidia-fs-dkms", PRECOMPILED, False),
        ("linux-modules-nvidia-fs-6.8.0-1030-nvidia", PRECOMPILED, False),
    ],
)
def test_a_kernel_module_of_another_make(name, wanted, other):
    assert package_names.is_other_module(name, wanted) is other


@pytest.mark.parametrize(
    ("name", "one"),
    [
        ("linux-image-6.12.57+deb13-amd64", True),
        ("linux-headers-6.1.0-13-common", True),
        ("linux-modules-6.8.0-90-generic", True),
        ("linux-kbuild-6.1", True),
        ("linux-hwe-6.14-headers-6.14.0-35", True),
        ("linux-modules-nvidia-580-server-6.8.0-90-generic", True),
        ("linux-image-amd64", False),
        ("linux-image-generic-hwe-24.04", False),
        ("linux-modules-nvidia-580-server-generic", False),
        ("nvidia-dkms-580", False),
    ],
)
def test_what_is_made_for_one_kernel(name, one):
    assert package_names.is_of_one_kernel(name) is one


@pytest.mark.parametrize(
    ("name", "version", "moves"),
    [
        ("libnvcuvid1", "580.159.03-1", True),
        ("libnvcuvid1", "570.211.01-1", False),
        ("nvidia-settings", "550.54.14-1", False),
        ("linux-modules-nvidia-580-server-generic", "6.8.0-90.91", True),
        ("linux-modules-nvidia-580-server-6.8.0-88-generic", "6.8.0-88.89", False),
    ],
)
def test_what_moves_with_the_driver(name, version, moves):
    assert package_names.moves_with(name, version, "580.159.03") is moves
