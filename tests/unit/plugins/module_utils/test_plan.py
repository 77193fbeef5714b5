# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What check mode tells of packages: every difference, once, and nothing where there is none."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import FileState, ManagedFile, Package, to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.plan import (
    PackagePlan,
    file_changes,
    package_changes,
    package_plan,
    told,
)

NAME, VERSION = "nvidia-container-toolkit", "1.20.0-1"


def present(*packages: Package) -> t.Dict[str, t.Any]:
    """Installed packages in the very form in which a look returns them."""
    return {package.name: to_plain(package) for package in packages}


@pytest.mark.parametrize(
    ("installed", "told"),
    [
        ((), ["nvidia-container-toolkit: install 1.20.0-1 and hold it"]),
        ((Package(NAME, "1.19.1-1"),), ["nvidia-container-toolkit: 1.19.1-1 -> 1.20.0-1, and hold it"]),
        ((Package(NAME, "1.20.1-1", held=True),), ["nvidia-container-toolkit: 1.20.1-1 -> 1.20.0-1, and hold it"]),
        (
            (Package(NAME, VERSION, held=True, status="half-configured"),),
            ["nvidia-container-toolkit: is half-configured; finish to install 1.20.0-1, and hold it"],
        ),
        ((Package(NAME, VERSION),), ["nvidia-container-toolkit: hold 1.20.0-1"]),
        ((Package(NAME, VERSION, held=True),), []),
    ],
    ids=["missing", "older", "newer and held", "half done", "not held", "as wanted"],
)
def test_one_package(installed: t.Tuple[Package, ...], told: t.List[str]) -> None:
    assert package_changes(present(*installed), {NAME: VERSION}) == told


def test_an_epoch_is_part_of_the_version() -> None:
    found = package_changes(present(Package("docker.io", "26.1.4", held=True)), {"docker.io": "5:26.1.4"})
    assert found == ["docker.io: 26.1.4 -> 5:26.1.4, and hold it"]


def test_what_nothing_is_wanted_of_is_not_told() -> None:
    assert package_changes(present(Package("vim", "2:9.1"), Package(NAME, VERSION, held=True)), {NAME: VERSION}) == []
    assert package_changes(present(Package("vim", "2:9.1")), {}) == []


def test_the_order_is_that_of_the_names() -> None:
    wanted = {"libcuda1": "1", "docker-ce": "2", "containerd.io": "3"}
    told = package_changes(present(Package("docker-ce", "2")), wanted)
    assert told == ["containerd.io: install 3 and hold it", "docker-ce: hold 2", "libcuda1: install 1 and hold it"]


def test_packages_that_could_not_be_read_are_not_called_missing() -> None:
    assert package_changes(None, {"b": "2", "a": "1"}) == [
        "a: wanted is 1, held; what is installed is not known",
        "b: wanted is 2, held; what is installed is not known",
    ]


def test_a_module_of_another_make_goes_and_is_not_said_to_move_along() -> None:
    wanted = {"nvidia-kernel-open-dkms": "580.159.03-1"}
    there = present(
        Package("nvidia-kernel-open-dkms", "580.159.03-1", held=True), Package("nvidia-kernel-dkms", "580.159.03-1")
    )
    assert package_changes(there, wanted) == ["nvidia-kernel-dkms: 580.159.03-1 goes"]


def test_what_is_released_and_moved_is_not_said_to_be_held() -> None:
    there = {NAME: Package(NAME, "1.19.1-1", held=True), "vim": Package("vim", "2", held=True)}
    plan = package_plan(there, {NAME: VERSION}, list(there), hold=False)
    assert plan == PackagePlan(install=(NAME,), release=(NAME,))
    assert told(plan, there, {NAME: VERSION}) == ["nvidia-container-toolkit: 1.19.1-1 -> 1.20.0-1"]


#: A driver of Ubuntu's, whose modules are built for one kernel and have its version.
MODULES = "linux-modules-nvidia-580-server-open-%s-generic"
NEW_DRIVER = {
    "nvidia-utils-580-server": "580.178.04-0ubuntu0.24.04.1",
    "nvidia-firmware-580-server-580.178.04": "580.178.04-0ubuntu0.24.04.1",
    MODULES % "6.8.0-84": "6.8.0-84.84",
}


def test_modules_that_were_built_for_the_driver_before_give_way() -> None:
    old = (
        Package("nvidia-utils-580-server", "580.159.03-0ubuntu0.24.04.1", held=True),
        Package("nvidia-firmware-580-server-580.159.03", "580.159.03-0ubuntu0.24.04.1", held=True),
        Package(MODULES % "6.8.0-79", "6.8.0-79.79", held=True),
    )
    plan = package_plan({package.name: package for package in old}, NEW_DRIVER)
    assert plan.left == (MODULES % "6.8.0-79",)
    assert package_changes(present(*old), NEW_DRIVER) == [
        "linux-modules-nvidia-580-server-open-6.8.0-79-generic: 6.8.0-79.79 goes",
        "linux-modules-nvidia-580-server-open-6.8.0-84-generic: install 6.8.0-84.84 and hold it",
        "nvidia-firmware-580-server-580.178.04: install 580.178.04-0ubuntu0.24.04.1 and hold it",
        "nvidia-utils-580-server: 580.159.03-0ubuntu0.24.04.1 -> 580.178.04-0ubuntu0.24.04.1, and hold it",
    ]


def test_modules_of_the_same_driver_for_another_kernel_stay() -> None:
    """The node can then still boot the kernel before with its GPUs."""
    there = [Package(name, version, held=True) for name, version in NEW_DRIVER.items()]
    there.append(Package(MODULES % "6.8.0-79", "6.8.0-79.79+1", held=True))
    assert package_changes(present(*there), NEW_DRIVER) == []
    assert package_changes(present(*there), {**NEW_DRIVER, MODULES % "6.8.0-90": "6.8.0-90.91"}) == [
        "linux-modules-nvidia-580-server-open-6.8.0-90-generic: install 6.8.0-90.91 and hold it"
    ]


PATH = "/etc/modprobe.d/goldennode-blacklist.conf"
WANTED = {PATH: to_plain(ManagedFile(PATH, "kernel", 0o644, "a"))}
RIGHT = FileState(PATH, "a", 0o644, 0, 0, 1.0)


@pytest.mark.parametrize(
    ("there", "changes"),
    [
        ({PATH: to_plain(RIGHT)}, []),
        ({}, [PATH]),
        (None, [PATH]),
        ({PATH: {**to_plain(RIGHT), "sha256": "b"}}, [PATH]),
        ({PATH: {**to_plain(RIGHT), "mode": 0o600}}, [PATH]),
        ({PATH: {**to_plain(RIGHT), "uid": 1000}}, [PATH]),
    ],
)
def test_a_file_is_left_alone_only_when_content_mode_and_owner_are_right(there, changes):
    assert file_changes(there, WANTED) == changes
