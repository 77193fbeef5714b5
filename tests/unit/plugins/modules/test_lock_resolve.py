# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bundle goes in and a lock comes out, or everything that stands in the way."""

from __future__ import annotations

import http.client
import io
import json
import urllib.error

import pytest
from ansible.module_utils import basic
from ansible.module_utils.testing import patch_module_args

from ansible_collections.goldennode.gpu.plugins.module_utils import apt_root, lock, registry
from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import Problem
from ansible_collections.goldennode.gpu.plugins.module_utils.model import to_plain
from ansible_collections.goldennode.gpu.plugins.modules import lock_resolve
from ansible_collections.goldennode.gpu.tests.unit.bundles import PLATFORM, platform_bundle

RELEASE = "6.12.57+deb13-amd64"
DIGEST = "sha256:" + "d" * 64
PACKAGES = {axis: {axis + "-package": "1-1"} for axis in lock.PACKAGE_AXES}


@pytest.fixture
def world(monkeypatch):
    """An apt that resolves and a registry that answers; what they were asked is kept."""
    asked = {}

    def resolve(bundle, timeout):
        asked["apt"] = (bundle, timeout)
        return apt_root.Resolved(PACKAGES, asked.get("release", RELEASE), ("docker.io",))

    def digest(reference, insecure, fetch, logins):
        asked["registry"] = (reference, list(insecure))
        asked["logins"] = list(logins)
        return DIGEST

    monkeypatch.setitem(lock_resolve.RESOLVERS, "apt", resolve)
    monkeypatch.setattr(registry, "digest", digest)
    return asked


def run(monkeypatch, bundle=None, platform=PLATFORM, **arguments):
    """The module's result; ``failed`` in it when it failed."""
    result = {}

    class Ended(Exception):
        pass

    def leave(_self, **values):
        result.update(values)
        raise Ended

    monkeypatch.setattr(basic.AnsibleModule, "exit_json", leave)
    monkeypatch.setattr(
        basic.AnsibleModule, "fail_json", lambda self, msg, **values: leave(self, failed=True, msg=msg, **values)
    )
    plain = bundle if isinstance(bundle, dict) else to_plain(bundle or platform_bundle())
    with patch_module_args({"bundle": plain, "platform": platform, **arguments}), pytest.raises(Ended):
        lock_resolve.main()
    return json.loads(json.dumps(result))


def test_a_lock_that_fits_its_bundle(monkeypatch, world):
    found = run(monkeypatch, insecure_registries=["registry.example"], timeout=60)
    assert found["changed"] is False
    assert found["removes"] == ["docker.io"]
    assert lock.problems(found["lock"], platform_bundle(), "x") == []
    assert found["lock"]["kernel"] == {"release": RELEASE, "packages": {"kernel-package": "1-1"}}
    assert found["lock"]["image"]["digest"] == DIGEST
    assert world["apt"] == (platform_bundle(), 60)
    assert world["registry"] == ("registry.example/cuda:13.0.1-base", ["registry.example"])


def test_logins_reach_the_registry_and_nothing_else(monkeypatch, world):
    login = {"registry": "registry.example", "username": "reader", "password": "s3cret"}
    found = run(monkeypatch, registry_logins=[login])
    assert world["logins"] == [registry.Login("registry.example", "reader", "s3cret")]
    assert "s3cret" not in json.dumps(found)


def test_check_mode_makes_no_difference(monkeypatch, world):
    assert run(monkeypatch, _ansible_check_mode=True) == run(monkeypatch)
    assert world["apt"]


def test_a_pinned_digest_is_kept_and_the_registry_is_not_asked(monkeypatch, world):
    pinned = "sha256:" + "e" * 64
    found = run(monkeypatch, platform_bundle(image={"digest": pinned}))
    assert found["lock"]["image"]["digest"] == pinned
    assert "registry" not in world


def test_problems_of_packages_and_image_are_told_together(monkeypatch, world):
    def no_packages(_bundle, _timeout):
        raise apt_root.ResolveError([Problem("driver.version", "1", "cannot be had", "Use 2")])

    def no_image(reference, _insecure, _fetch, _logins):
        raise registry.RegistryError(Problem("image.reference", reference, "is not there", "Check the tag"))

    monkeypatch.setitem(lock_resolve.RESOLVERS, "apt", no_packages)
    monkeypatch.setattr(registry, "digest", no_image)
    found = run(monkeypatch)
    assert found["failed"] is True
    assert found["msg"].splitlines() == [
        "image.reference: 'registry.example/cuda:13.0.1-base' is not there. Check the tag.",
        "driver.version: '1' cannot be had. Use 2.",
    ]


def test_the_kernel_that_a_metapackage_leads_to_is_held_against_the_driver(monkeypatch, world):
    world["release"] = "6.17.3+deb13-amd64"
    bundle = platform_bundle(driver={"version": "580.65.06"}, fabric_manager=None)
    assert "does not build on kernel 6.17.3+deb13-amd64" in run(monkeypatch, bundle)["msg"]


@pytest.mark.parametrize(
    ("bundle", "platform", "said"),
    [
        ({}, PLATFORM, "Give bundles[platform] of goldennode.gpu.desired."),
        ({"bundle": 1}, PLATFORM, "bundle.bundle: str is expected, not 1"),
        (None, "debian-12-x86_64", "The bundle is for debian-13-x86_64, and this node is debian-12-x86_64."),
        (
            platform_bundle(platform="rocky-9-x86_64"),
            "rocky-9-x86_64",
            "'rocky-9-x86_64' cannot be resolved yet: it has dnf",
        ),
    ],
)
def test_what_cannot_be_resolved_is_told(monkeypatch, world, bundle, platform, said):
    found = run(monkeypatch, bundle, platform)
    assert found["failed"] is True
    assert said in found["msg"]
    assert world == {}


# --- the network --------------------------------------------------------------------------------------------------


class Answer(io.BytesIO):
    def __init__(self, body):
        super().__init__(body)
        self.code = 200
        self.headers = {"Docker-Content-Digest": DIGEST}


def test_headers_are_given_in_lower_case(monkeypatch):
    asked = {}

    def open_url(url, **arguments):
        asked.update(arguments, url=url)
        return Answer(b"body")

    monkeypatch.setattr(lock_resolve, "open_url", open_url)
    found = lock_resolve.fetcher(7)("HEAD", "https://x/v2", {"Accept": "y"}, False)
    assert found == registry.Response(200, {"docker-content-digest": DIGEST}, b"body")
    assert (asked["method"], asked["timeout"], asked["validate_certs"]) == ("HEAD", 7, False)


def test_an_answer_that_is_an_error_is_an_answer(monkeypatch):
    def open_url(url, **_arguments):
        raise urllib.error.HTTPError(url, 404, "Not Found", {"X-Y": "z"}, io.BytesIO(b""))

    monkeypatch.setattr(lock_resolve, "open_url", open_url)
    assert lock_resolve.fetcher(7)("HEAD", "https://x", {}, True) == registry.Response(404, {"x-y": "z"}, b"")


def test_no_answer_is_an_error_of_the_system(monkeypatch):
    def open_url(_url, **_arguments):
        raise urllib.error.URLError("refused")

    monkeypatch.setattr(lock_resolve, "open_url", open_url)
    with pytest.raises(OSError, match="refused"):
        lock_resolve.fetcher(7)("HEAD", "https://x", {}, True)


def test_a_server_that_does_not_speak_http_is_no_answer(monkeypatch):
    def open_url(_url, **_arguments):
        raise http.client.BadStatusLine("\x15\x03\x01")

    monkeypatch.setattr(lock_resolve, "open_url", open_url)
    with pytest.raises(OSError, match="does not speak HTTP"):
        lock_resolve.fetcher(7)("HEAD", "http://x", {}, True)
