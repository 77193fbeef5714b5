# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which packages are named, which belong together, and which version is taken."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import packages
from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import Docker, Driver, Kernel
from ansible_collections.goldennode.gpu.plugins.module_utils.package_names import TOOLKIT
from ansible_collections.goldennode.gpu.plugins.module_utils.packages import Wanted
from ansible_collections.goldennode.gpu.tests.unit.bundles import platform_bundle


def names(wanted):
    return [package.name for package in wanted]


# --- names --------------------------------------------------------------------------------------------------------


def test_all_axes_of_a_bundle_are_named():
    found = packages.wanted(platform_bundle())
    assert sorted(found) == ["docker", "driver", "fabric_manager", "kernel", "toolkit"]
    assert "fabric_manager" not in packages.wanted(platform_bundle(fabric_manager=None))


def test_case_041_the_toolkit_is_four_packages_at_one_version():
    """A bundle that says no more than the toolkit's version: all four are resolved, and so are in the lock."""
    found = packages.wanted(platform_bundle())["toolkit"]
    assert names(found) == list(TOOLKIT)
    assert len(found) == 4
    assert {package.version for package in found} == {"1.20.0"}
    assert all(package.required for package in found)


@pytest.mark.parametrize(
    ("platform", "driver", "expected"),
    [
        (
            "debian-13-x86_64",
            Driver("580.159.03", "open"),
            "nvidia-kernel-open-dkms nvidia-driver-cuda libcuda1 libnvidia-ml1 nvidia-persistenced nvidia-modprobe",
        ),
        (
            "debian-12-x86_64",
            Driver("580.159.03", "proprietary"),
            "nvidia-kernel-dkms nvidia-driver-cuda libcuda1 libnvidia-ml1 nvidia-persistenced nvidia-modprobe",
        ),
        (
            "debian-13-x86_64",
            Driver("550.163.01", "open", source="distro"),
            "nvidia-open-kernel-dkms nvidia-smi libcuda1 libnvidia-ml1 firmware-nvidia-gsp nvidia-persistenced "
            "nvidia-modprobe",
        ),
        (
            "ubuntu-24.04-x86_64",
            Driver("580.159.03", "open"),
            "nvidia-dkms-580-open libnvidia-compute-580 nvidia-utils-580 nvidia-compute-utils-580 nvidia-persistenced "
            "nvidia-modprobe",
        ),
        (
            "ubuntu-24.04-aarch64",
            Driver("595.71.05", "open"),
            "nvidia-dkms-open libnvidia-compute nvidia-utils nvidia-compute-utils nvidia-persistenced nvidia-modprobe",
        ),
        (
            "ubuntu-22.04-x86_64",
            Driver("580.159.03", "proprietary", source="distro"),
            "nvidia-dkms-580-server libnvidia-compute-580-server nvidia-utils-580-server "
            "nvidia-compute-utils-580-server nvidia-modprobe",
        ),
        (
            "ubuntu-26.04-x86_64",
            Driver("615.71.09", "open", build="precompiled", source="distro"),
            "nvidia-kernel-common-615-server libnvidia-compute-615-server nvidia-utils-615-server "
            "nvidia-compute-utils-615-server nvidia-modprobe",
        ),
    ],
)
def test_driver_packages(platform, driver, expected):
    assert names(packages.driver_packages(platform, driver)) == expected.split()


@pytest.mark.parametrize(
    ("platform", "driver", "said"),
    [
        ("debian-13-x86_64", Driver("580.159.03", "open", build="precompiled"), "source: nvidia with build: dkms or"),
        (
            "ubuntu-24.04-x86_64",
            Driver("580.159.03", "open", build="precompiled"),
            "source: distro with build: precompiled",
        ),
        ("rocky-9-x86_64", Driver("580.159.03", "open"), "Use a platform of Debian or Ubuntu"),
    ],
)
def test_a_source_that_has_no_such_packages_is_told(platform, driver, said):
    with pytest.raises(ValueError, match=said):
        packages.driver_packages(platform, driver)


@pytest.mark.parametrize(
    ("kernel", "flavour", "expected"),
    [
        (Kernel(release="6.8.0-45-generic"), "open", "linux-modules-nvidia-580-server-open-6.8.0-45-generic"),
        (Kernel(metapackage="linux-image-generic"), "proprietary", "linux-modules-nvidia-580-server-generic"),
        (
            Kernel(metapackage="linux-generic-hwe-24.04"),
            "open",
            "linux-modules-nvidia-580-server-open-generic-hwe-24.04",
        ),
    ],
)
def test_precompiled_modules_are_of_the_kernel(kernel, flavour, expected):
    driver = Driver("580.159.03", flavour, "precompiled", "distro")
    (found,) = packages.modules_for(platform_bundle(kernel=kernel, driver=driver))
    assert found == Wanted((expected,), driver="580.159.03")
    assert packages.modules_for(platform_bundle()) == ()


@pytest.mark.parametrize(
    ("platform", "kernel", "build", "expected"),
    [
        (
            "debian-13-x86_64",
            Kernel(release="6.12.5-amd64"),
            "dkms",
            "linux-image-6.12.5-amd64 linux-headers-6.12.5-amd64",
        ),
        ("debian-13-x86_64", Kernel(metapackage="linux-image-amd64"), "dkms", "linux-image-amd64 linux-headers-amd64"),
        (
            "ubuntu-24.04-x86_64",
            Kernel(release="6.8.0-45-generic"),
            "dkms",
            "linux-image-6.8.0-45-generic linux-modules-6.8.0-45-generic linux-headers-6.8.0-45-generic "
            "linux-modules-extra-6.8.0-45-generic",
        ),
        (
            "ubuntu-24.04-x86_64",
            Kernel(release="6.8.0-45-generic"),
            "precompiled",
            "linux-image-6.8.0-45-generic linux-modules-6.8.0-45-generic linux-modules-extra-6.8.0-45-generic",
        ),
        (
            "ubuntu-24.04-x86_64",
            Kernel(release="6.8.0-1030-aws"),
            "precompiled",
            "linux-image-6.8.0-1030-aws linux-modules-6.8.0-1030-aws",
        ),
        ("ubuntu-24.04-x86_64", Kernel(metapackage="linux-generic"), "dkms", "linux-generic"),
        (
            "ubuntu-24.04-x86_64",
            Kernel(metapackage="linux-image-generic-hwe-24.04"),
            "dkms",
            "linux-image-generic-hwe-24.04 linux-headers-generic-hwe-24.04",
        ),
    ],
)
def test_case_061_kernel_and_headers_are_named_together(platform, kernel, build, expected):
    assert names(packages.kernel_packages(platform, kernel, build)) == expected.split()


def test_the_other_half_of_the_hardware_drivers_may_be_missing():
    """Newer releases have one package of modules."""
    found = packages.kernel_packages("ubuntu-26.04-x86_64", Kernel(release="7.0.0-14-generic"), "precompiled")
    assert [package.name for package in found if not package.required] == ["linux-modules-extra-7.0.0-14-generic"]


@pytest.mark.parametrize(
    ("depends", "driver"),
    [
        (
            "linux-image-6.8.0-79-generic | linux-image-unsigned-6.8.0-79-generic, nvidia-kernel-common-580-server (<= "
            "580.159.03-1), nvidia-kernel-common-580-server (>= 580.159.03)",
            "580.159.03",
        ),
        ("linux-objects-nvidia-580-6.8.0-79-generic, nvidia-kernel-common-580 (>= 580.95)", "580.95"),
        ("nvidia-kernel-common-580-server (<= 580.159.03-1)", None),
        ("linux-image-6.8.0-79-generic", None),
        ("", None),
    ],
)
def test_of_which_driver_built_modules_are(depends, driver):
    assert packages.driver_of_modules(depends) == driver


def test_built_modules_of_other_drivers_alone_are_told():
    driver = Driver("580.159.03", "open", "precompiled", "distro")
    (modules,) = packages.modules_for(platform_bundle(kernel=Kernel(release="6.8.0-84-generic"), driver=driver))
    (said,) = map(str, packages.not_found("driver", [(modules, ("620.70.06", "580.178.04"))]))
    assert said == (
        "driver.version: '580.159.03' has no built modules: linux-modules-nvidia-580-server-open-6.8.0-84-generic is "
        "there for driver 620.70.06 and 580.178.04. Use 620.70.06, or a kernel for which there are modules of "
        "580.159.03."
    )


def test_nvidias_repository_for_debian_12_needs_its_own_dkms():
    """Debian 12 has dkms 3.0.10, which the driver's packages do not take."""
    bundle = dataclasses.replace(platform_bundle(), platform="debian-12-x86_64")
    found = packages.wanted(bundle)["driver"][-1]
    assert (found.name, found.minimum) == ("dkms", "3.1.8")
    assert "dkms" not in names(packages.wanted(platform_bundle())["driver"])
    distro = dataclasses.replace(bundle, driver=Driver("535.261.03", "open", source="distro"))
    assert "dkms" not in names(packages.wanted(distro)["driver"])
    assert packages.choose(found, "dkms", "1:3.2.2-1", ("1:3.2.2-1", "3.0.10-8+deb12u1")) == "1:3.2.2-1"
    assert packages.choose(found, "dkms", "3.0.10-8+deb12u1", ("3.0.10-8+deb12u1",)) is None
    (said,) = map(str, packages.not_found("driver", [(found, ("3.0.10-8+deb12u1",))]))
    assert said.startswith("dkms is too old in the repositories (3.0.10): the driver's packages need 3.1.8.")


def test_nvidia_modprobe_is_of_the_driver_where_the_repository_has_it():
    (modprobe,) = [
        p for p in packages.driver_packages("ubuntu-24.04-x86_64", Driver("580.159.03", "open")) if not p.exact
    ]
    there = ("620.70.06-1ubuntu1", "580.159.03-1ubuntu1")
    assert packages.choose(modprobe, "nvidia-modprobe", there[0], there) == "580.159.03-1ubuntu1"
    assert packages.choose(modprobe, "nvidia-modprobe", there[0], there[:1]) == there[0]


def test_docker_packages():
    assert names(packages.docker_packages(Docker("26.1.4"))) == ["docker-ce", "docker-ce-cli", "containerd.io"]
    distro = packages.docker_packages(Docker("26.1.5", "distro", "1.7.24"))
    assert [(package.name, package.version, package.required) for package in distro] == [
        ("docker.io", "26.1.5", True),
        ("docker-cli", "26.1.5", False),
        ("containerd", "1.7.24", True),
        ("runc", None, True),
    ]


def test_the_fabric_manager_has_had_two_names():
    (found,) = packages.fabric_packages("550.163.01")
    assert found.names == ("nvidia-fabricmanager", "nvidia-fabricmanager-550")


# --- belonging ----------------------------------------------------------------------------------------------------


# --- versions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("full", "bare"),
    [
        ("580.159.03-1", "580.159.03"),
        ("5:26.1.4-1~debian.13~trixie", "26.1.4"),
        ("26.1.5+dfsg1-9+b9", "26.1.5+dfsg1"),
        ("580.95.05-0ubuntu0.24.04.2", "580.95.05"),
        ("20250101", "20250101"),
    ],
)
def test_upstream_version(full, bare):
    assert packages.upstream(full) == bare


@pytest.mark.parametrize(
    ("full", "version", "fits"),
    [
        ("580.159.03-1", "580.159.03", True),
        ("3:580.159.03-1.el9", "580.159.03", True),
        ("26.1.5+dfsg1-9+b9", "26.1.5", True),
        ("26.1.5+dfsg1-9+b9", "26.1.5+dfsg1", True),
        ("5:26.1.4-1~debian.13~trixie", "26.1.4-1~debian.13~trixie", True),
        ("5:26.1.4-1~debian.13~trixie", "5:26.1.4-1~debian.13~trixie", True),
        ("1.7.24~ds1-6+deb13u1", "1.7.24", True),
        ("1.20.0~rc.1-1", "1.20.0~rc.1", True),
        ("1.20.0~rc.1-1", "1.20.0", False),
        ("580.159.03-1", "580.159", False),
        ("1.20.10-1", "1.20.1", False),
        ("26.1.40-1", "26.1.4", False),
        ("11.20.0-1", "1.20.0", False),
    ],
)
def test_which_full_version_is_meant(full, version, fits):
    assert packages.fits(full, version) is fits


def test_among_packagings_of_one_version_the_candidate_is_taken():
    versions = ("550.163.01-4~bpo13+1", "550.163.01-2", "535.1-1")
    package = Wanted(("nvidia-smi",), "550.163.01")
    assert packages.choose(package, "nvidia-smi", "550.163.01-2", versions) == "550.163.01-2"
    assert packages.choose(package, "nvidia-smi", "535.1-1", versions) == "550.163.01-4~bpo13+1"
    assert packages.choose(Wanted(("x",), "9.9"), "x", "535.1-1", versions) is None
    assert packages.choose(Wanted(("x",)), "x", "535.1-1", versions) == "535.1-1"
    assert packages.choose(Wanted(("x",)), "x", None, ()) is None


def test_a_version_that_no_repository_has_is_told_with_the_nearest():
    package = Wanted(("nvidia-driver-cuda",), "580.160.01")
    versions = ("595.71.05-1", "580.178.04-1", "580.159.03-1", "580.159.03-2")
    (said,) = map(str, packages.not_found("driver", [(package, versions)]))
    assert "driver.version: '580.160.01' cannot be had" in said
    assert "nvidia-driver-cuda in 595.71.05, 580.178.04, 580.159.03. Use 580.159.03, the nearest" in said


def test_packages_of_which_the_same_versions_are_there_are_told_together():
    lacking = [(package, ("1.20.1-1", "1.20.0-1")) for package in packages.toolkit_packages("1.21.0")]
    lacking[-1] = (lacking[-1][0], ("1.20.1-1",))
    said = [str(problem) for problem in packages.not_found("toolkit", lacking)]
    assert len(said) == 2
    assert (
        "nvidia-container-toolkit, nvidia-container-toolkit-base, libnvidia-container-tools in 1.20.1, 1.20.0."
        in said[0]
    )
    assert "libnvidia-container1 in 1.20.1." in said[1]


def test_a_name_that_leads_to_another_branch_is_told_as_transitional():
    """Ubuntu's 535-server became transitional to 580-server: the name is there, the branch is not."""
    driver = Driver("535.309.01", "open", source="distro")
    found = packages.driver_packages("ubuntu-24.04-x86_64", driver)[:4]
    lacking = [(package, ("580.178.04-0ubuntu0.24.04.1",)) for package in found]
    (said,) = map(str, packages.not_found("driver", lacking))
    assert "driver.version: '535.309.01' cannot be had: the repositories have nvidia-dkms-535-server-open" in said
    assert "in 580.178.04: the names are transitional there and lead to branch 580, so that branch is gone" in said
    assert said.endswith("Use 580.178.04, or another branch that the repositories have.")


@pytest.mark.parametrize(
    ("version", "name", "there"),
    [
        ("580.160.01", "nvidia-utils-580-server", "580.178.04-0ubuntu1"),
        ("580.160.01", "nvidia-utils", "620.70.06-1ubuntu1"),
        ("580.160.01", "nvidia-utils-580", "620.70.06-1ubuntu1,580.178.04-1ubuntu1"),
    ],
)
def test_a_version_that_is_gone_alone_is_not_called_transitional(version, name, there):
    (said,) = map(str, packages.not_found("driver", [(Wanted((name,), version), there.split(","))]))
    assert "transitional" not in said


def test_precompiled_modules_of_another_kernel_are_told():
    names = ["linux-modules-nvidia-580-server-open-6.8.0-78-generic", "linux-modules-nvidia-580-server-open-generic"]
    said = str(packages.no_modules("6.8.0-79-generic", names))
    assert said.startswith("kernel.release: '6.8.0-79-generic' has no precompiled modules of this driver: ")
    assert "there are some for 6.8.0-78-generic. Use kernel.release: 6.8.0-78-generic, or build: dkms." in said
    assert "there are some for no kernel. Use build: dkms." in str(packages.no_modules("6.8.0-79-generic", []))


def test_a_package_that_no_repository_has_is_told():
    (said,) = map(str, packages.not_found("fabric_manager", [(packages.fabric_packages("550.1.1")[0], ())]))
    assert "'550.1.1' cannot be had: no repository has nvidia-fabricmanager or nvidia-fabricmanager-550." in said


def test_many_versions_are_not_all_listed():
    there = ["1.%d.0-1" % minor for minor in range(30)]
    (said,) = map(str, packages.not_found("toolkit", [(Wanted(("x",), "1.20.9"), there)]))
    assert "and 22 more" in said
    assert "Use 1.20.0, the nearest" in said


@pytest.mark.parametrize(
    ("release", "there"),
    [
        ("6.12.1+deb13-amd64", "6.12.117+deb13-amd64, 6.12.57+deb13-amd64"),
        ("6.12.1+deb13-cloud-amd64", "6.12.117+deb13-cloud-amd64"),
        ("6.8.0-45-generic", "6.8.0-79-generic"),
        ("6.1.0-x-rt", "6.12.117+deb13-amd64, 6.12.117+deb13-cloud-amd64, 6.12.57+deb13-amd64, 6.8.0-79-generic"),
    ],
)
def test_a_kernel_that_is_gone_is_told_with_those_that_are_there(release, there):
    names = (
        "linux-image-amd64 linux-image-6.12.57+deb13-amd64 linux-image-6.12.117+deb13-amd64 "
        "linux-image-6.8.0-79-generic linux-image-6.12.117+deb13-cloud-amd64 linux-image-6.12.117+deb13-amd64-dbg "
        "linux-image-6.12.117+deb13-amd64-unsigned"
    )
    said = str(packages.no_kernel(release, names.split()))
    assert "kernel.release: '%s' cannot be had: the repositories have " % release in said
    assert sorted(said.split(" have ")[1].split(". Use")[0].split(", ")) == sorted(there.split(", "))
