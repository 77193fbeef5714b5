# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock fits its bundle or is refused with the reason; its id is its content."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import lock as locks
from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import Framework, Nccl
from ansible_collections.goldennode.gpu.tests.unit.bundles import platform_bundle

PACKAGES = {
    "kernel": {"linux-image-6.12.57+deb13-amd64": "6.12.57-1"},
    "driver": {"nvidia-driver-cuda": "580.159.03-1"},
    "fabric_manager": {"nvidia-fabricmanager": "580.159.03-1"},
    "toolkit": {"nvidia-container-toolkit": "1.20.0-1"},
    "docker": {"docker-ce": "5:26.1.4-1~debian.13~trixie"},
}
DIGEST = "sha256:" + "c" * 64


def made(bundle=None):
    return locks.build(bundle or platform_bundle(), "apt", "6.12.57+deb13-amd64", PACKAGES, DIGEST)


def sealed(**changes):
    """A lock with changes and an id that fits them."""
    found = dict(made(), **changes)
    return dict(found, id=locks.lock_id(found))


def only(lock, bundle=None):
    (found,) = locks.problems(lock, bundle or platform_bundle(), "pool.debian-13-x86_64.lock.json")
    return str(found)


def test_a_new_lock_fits_its_bundle():
    assert locks.problems(made(), platform_bundle(), "x") == []


def test_a_lock_has_what_docs_promise():
    lock = made()
    assert lock["schema"] == 1
    assert lock["image"]["digest"] == DIGEST
    assert lock["image"]["cuda"] == "13.0"
    assert lock["driver"]["packages"] == PACKAGES["driver"]
    assert lock["driver"]["flavour"] == "open"
    assert lock["fabric_manager"] == {"version": "580.159.03", "packages": PACKAGES["fabric_manager"]}
    assert lock["kernel"] == {"release": "6.12.57+deb13-amd64", "packages": PACKAGES["kernel"]}
    assert list(lock["sources"][0]) == ["name", "uris", "suites", "components", "key", "keyring"]


def test_bundle_and_lock_without_framework_and_nccl_keep_digest_and_id():
    """Both as they were before a bundle could name these."""
    known = "sha256:57e4f8baf03f63f34692e544908eb731d7eccaf6b7aac03c61a1c605146e6d4b"
    assert platform_bundle().digest == known
    empty = {axis: {} for axis in locks.PACKAGE_AXES}
    lock = locks.build(platform_bundle(), "apt", "6.12.57+deb13-amd64", empty, "sha256:" + "a" * 64)
    assert lock["id"] == "sha256:bcc667ce046e07f574614e00064be4b650350432f010e7866065b6af0334baee"


def test_framework_and_nccl_stand_in_the_lock_where_the_bundle_names_them():
    bundle = platform_bundle(framework=Framework("pytorch", "2.9.1+cu130", "13.0"), nccl=Nccl("2.27.5"))
    lock = made(bundle)
    assert lock["framework"] == {"name": "pytorch", "version": "2.9.1+cu130", "cuda": "13.0"}
    assert lock["nccl"] == {"version": "2.27.5", "cuda": None}
    assert locks.problems(lock, bundle, "x") == []
    assert "another state of the bundle" in only(lock)


def test_without_a_fabric_manager_the_axis_is_null():
    bundle = platform_bundle(fabric_manager=None)
    lock = locks.build(bundle, "apt", "6.12", {**PACKAGES, "fabric_manager": {}}, DIGEST)
    assert lock["fabric_manager"] is None
    assert "nvidia-fabricmanager" not in locks.packages_of(lock)


def test_the_same_bundle_gives_the_same_lock():
    assert made() == made()


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        (None, "holds no JSON object"),
        ([], "holds no JSON object"),
        ({}, "has schema None, and this version of the collection reads 1"),
        (dict(made(), schema=2), "has schema 2"),
        ({"schema": 1, "id": "x"}, "is not a whole lock: it lacks bundle, bundle_digest"),
        (sealed(platform="debian-12-x86_64"), "is the lock of debian-12-x86_64, not of debian-13-x86_64"),
        (dict(made(), driver={}), "was changed by hand: its id is not the digest of its content"),
        (dict(made(), id="sha256:0"), "was changed by hand"),
        (sealed(bundle_digest="sha256:0"), "was resolved from another state of the bundle pool-2026.11"),
    ],
)
def test_a_lock_that_does_not_fit_is_refused_with_the_way_to_a_new_one(lock, said):
    text = only(lock)
    assert text.startswith("pool.debian-13-x86_64.lock.json ")
    assert said in text
    assert "Run ansible-playbook goldennode.gpu.lock" in text


def test_a_changed_bundle_makes_its_lock_unfit():
    assert "another state of the bundle" in only(made(), platform_bundle(docker={"version": "26.1.5"}))


def test_packages_of_all_axes_together():
    assert len(locks.packages_of(made())) == 5
    assert "linux-image-6.12.57+deb13-amd64" not in locks.packages_of(made(), kernel=False)
