# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bundle and locks as files: found, read, checked against each other, written whole."""

from __future__ import annotations

import json
import pathlib

import pytest
import yaml

from ansible_collections.goldennode.gpu.plugins.module_utils import lock as locks
from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import BundleError
from ansible_collections.goldennode.gpu.plugins.plugin_utils import bundle_file
from ansible_collections.goldennode.gpu.tests.unit.bundles import KEY, PLATFORM, data
from ansible_collections.goldennode.gpu.tests.unit.plugins.module_utils.test_lock import DIGEST, PACKAGES


@pytest.fixture
def pool(tmp_path):
    """A directory with a bundle and its key."""
    (tmp_path / "pool.yml").write_text(yaml.safe_dump(data()))
    (tmp_path / "vendor.asc").write_text(KEY)
    return tmp_path


def lock_for(pool):
    bundle = bundle_file.read_bundle(pool / "pool.yml").platforms[PLATFORM]
    return bundle, locks.build(bundle, "apt", "6.12.57+deb13-amd64", PACKAGES, DIGEST)


def test_a_bundle_is_looked_for_beside_inventory_and_playbook(tmp_path):
    inventory, playbook = tmp_path / "inventory", tmp_path / "playbook"
    for directory in (inventory, playbook):
        (directory / "bundles").mkdir(parents=True)
    (playbook / "bundles" / "x.yml").touch()
    directories = [str(inventory), str(playbook)]
    assert bundle_file.find("bundles/x.yml", directories) == playbook / "bundles" / "x.yml"
    (inventory / "bundles" / "x.yml").touch()
    assert bundle_file.find("bundles/x.yml", directories) == inventory / "bundles" / "x.yml"
    assert bundle_file.find(str(playbook / "bundles" / "x.yml"), directories) == playbook / "bundles" / "x.yml"
    assert bundle_file.find(str(playbook / "bundles" / "x.yml"), [None, ""]) == playbook / "bundles" / "x.yml"


def test_a_bundle_of_the_users_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "x.yml").touch()
    assert bundle_file.find("~/x.yml", ["/nowhere"]) == tmp_path / "x.yml"


def test_a_bundle_that_is_not_there_is_told_with_every_path_that_was_tried():
    with pytest.raises(bundle_file.NotFoundError) as caught:
        bundle_file.find("bundles/x.yml", ["/inventory", None, "/playbook", "/inventory"])
    said = str(caught.value)
    assert "bundle_file: 'bundles/x.yml' is no file (tried: /inventory/bundles/x.yml, /playbook/bundles/x.yml)" in said
    with pytest.raises(bundle_file.NotFoundError, match=r"\(tried: /x.yml\)"):
        bundle_file.find("/x.yml", ["/inventory", "/playbook"])


def test_keys_are_read_beside_the_bundle(pool):
    assert bundle_file.read_bundle(pool / "pool.yml").platforms[PLATFORM].sources[0].key == KEY


@pytest.mark.parametrize(
    ("content", "said"), [(None, "vendor.asc: No such file"), (b"\x98\x33\xff", "vendor.asc is a binary file")]
)
def test_a_key_that_cannot_be_read_is_told_with_its_path(pool, content, said):
    (pool / "vendor.asc").unlink()
    if content:
        (pool / "vendor.asc").write_bytes(content)
    with pytest.raises(BundleError, match=said):
        bundle_file.read_bundle(pool / "pool.yml")


def test_a_lock_is_named_after_the_bundles_file():
    assert bundle_file.lock_path(pathlib.Path("/a/pool.v2.yml"), PLATFORM) == pathlib.Path(
        "/a/pool.v2.debian-13-x86_64.lock.json"
    )


def test_a_lock_is_written_and_read_again(pool):
    bundle, lock = lock_for(pool)
    path = bundle_file.lock_path(pool / "pool.yml", PLATFORM)
    assert bundle_file.read_lock(path, bundle) == (None, [])
    assert bundle_file.write_lock(path, lock) is True
    assert bundle_file.read_lock(path, bundle) == (lock, [])
    assert path.stat().st_mode & 0o777 == 0o644
    assert path.read_text().endswith("}\n")
    assert bundle_file.write_lock(path, lock) is False, "the same again is no change"
    assert sorted(file.name for file in pool.iterdir()) == ["pool.debian-13-x86_64.lock.json", "pool.yml", "vendor.asc"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[]", "is not a lock"),
        (json.dumps({"schema": 1}).encode(), "is not a whole lock"),
    ],
)
def test_a_lock_that_is_none_is_told(pool, content, said):
    bundle, _lock = lock_for(pool)
    path = bundle_file.lock_path(pool / "pool.yml", PLATFORM)
    path.write_bytes(content)
    lock, problems = bundle_file.read_lock(path, bundle)
    assert lock is None
    assert said in str(problems[0])
    assert "goldennode.gpu.lock" in str(problems[0])


def test_a_lock_that_cannot_be_read_is_told(pool):
    bundle, _lock = lock_for(pool)
    lock, problems = bundle_file.read_lock(pool, bundle)
    assert lock is None
    assert "cannot be read: Is a directory" in str(problems[0])
