# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that apt will refuse are known on the controller, each with its reason and the way out."""

from __future__ import annotations

import datetime
import re

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import source_keys
from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import Source
from ansible_collections.goldennode.gpu.plugins.module_utils.openpgp import Binding, Certificate
from ansible_collections.goldennode.gpu.tests.unit.bundles import (
    EXPIRED_FINGERPRINT,
    EXPIRED_KEY,
    KEY,
    OTHER_KEY,
    REVOKED_KEY,
    SHA1_FINGERPRINT,
    SHA1_KEY,
    SHORT_KEY,
    platform_bundle,
)

TODAY = datetime.date(2026, 11, 30)
PLATFORMS = ("debian-12-x86_64", "debian-13-x86_64", "ubuntu-22.04-x86_64", "ubuntu-24.04-x86_64")


def made(key, platform="debian-13-x86_64", keyring=None):
    source = Source("nvidia", ("https://vendor.example/x",), ("/",), (), key, keyring=keyring)
    return platform_bundle(sources=(source,), platform=platform)


def said(key, platform="debian-13-x86_64", today=TODAY):
    return [str(problem) for problem in source_keys.problems(made(key, platform), today)]


def test_case_040_a_key_bound_by_sha1_is_refused_for_debian_13_with_the_way_out():
    (told,) = said(SHA1_KEY)
    assert told.startswith(
        "platforms.debian-13-x86_64.sources[0].key: '%s' is bound by a SHA1 signature" % SHA1_FINGERPRINT
    )
    assert "which apt of debian-13-x86_64 does not accept" in told
    assert "repository for this release of the distribution, and the newer key" in told
    assert not re.search(r"download .*key again|use trusted", told), "the same key again, or no key, is no answer"


def test_case_040_for_nvidias_old_key_the_new_repository_is_named():
    old = Certificate("EB693B3035CD5710E231E123A4B469963BF863CC", "RSA", 4096, BORN, (Binding("", "SHA1"),))
    _message, fix = source_keys._refusal(old, "debian-13-x86_64", TODAY)
    assert "It is https://developer.download.nvidia.com/compute/cuda/repos/debian13, with the key 02182E60" in fix
    assert source_keys._refusal(old, "ubuntu-24.04-x86_64", TODAY) is None


@pytest.mark.parametrize("platform", [name for name in PLATFORMS if "debian-13" not in name])
def test_case_040_elsewhere_gpgv_verifies_and_takes_it(platform):
    assert said(SHA1_KEY, platform) == []


def test_of_ubuntu_26_04_it_is_not_known():
    bundle = made(SHA1_KEY, "ubuntu-26.04-x86_64")
    assert source_keys.problems(bundle, TODAY) == []
    assert source_keys.warnings(bundle) == [
        "repository nvidia: its key is bound by a SHA1 signature; "
        "whether apt of ubuntu-26.04-x86_64 takes it is not known"
    ]
    assert source_keys.warnings(made(KEY, "ubuntu-26.04-x86_64")) == []
    assert source_keys.warnings(made(SHA1_KEY)) == []


@pytest.mark.parametrize("platform", PLATFORMS)
def test_sound_keys_are_taken_everywhere(platform):
    assert said(KEY, platform) == said(OTHER_KEY, platform) == []


@pytest.mark.parametrize("platform", PLATFORMS)
def test_an_expired_key_is_refused_everywhere(platform):
    (told,) = said(EXPIRED_KEY, platform)
    assert "'%s' has expired on 2025-01-01" % EXPIRED_FINGERPRINT in told
    assert "the vendor's current key" in told


def test_a_key_is_good_until_the_day_it_ends():
    assert said(EXPIRED_KEY, today=datetime.date(2024, 12, 31)) == []
    assert said(EXPIRED_KEY, today=datetime.date(2025, 1, 1)) != []


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_revoked_key_is_refused_everywhere(platform):
    assert "is revoked by its owner" in said(REVOKED_KEY, platform)[0]


def test_a_short_key_is_refused_where_sqv_verifies():
    assert "is an RSA key of 1024 bits" in said(SHORT_KEY)[0]
    assert said(SHORT_KEY, "debian-12-x86_64") == []


def test_one_good_key_among_several_is_enough():
    assert said(SHA1_KEY + KEY) == []
    assert len(said(SHA1_KEY + EXPIRED_KEY)) == 1


def test_a_keyring_of_the_distribution_is_its_own_business():
    assert source_keys.problems(made(None, keyring="/usr/share/keyrings/x.gpg"), TODAY) == []


BORN = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    ("algorithm", "bindings", "weakness"),
    [
        ("EdDSA", [Binding("", "SHA1"), Binding("", "SHA256")], None),  # bound anew by a strong one
        ("EdDSA", [Binding("", "SHA1"), Binding("", "MD5")], "is bound by a MD5 and SHA1 signature"),
        ("EdDSA", [Binding("", "SHA224")], "is bound by a SHA224 signature"),
        ("EdDSA", [], "is not bound to a name by any signature"),
        ("DSA", [Binding("", "SHA256")], "is a DSA key"),
        ("EdDSA", [Binding("", "SHA256", signs=False), Binding("S", "SHA256")], None),
        ("EdDSA", [Binding("", "SHA256", signs=False), Binding("S", "SHA1")], "has no part that may sign"),
        (
            "EdDSA",
            [Binding("", "SHA256", signs=False), Binding("S", "SHA256", signs=False)],
            "has no part that may sign",
        ),
    ],
)
def test_what_makes_a_key_weak(algorithm, bindings, weakness):
    found = source_keys._weakness(Certificate("F", algorithm, 0, BORN, tuple(bindings)))
    assert found is None if weakness is None else found.startswith(weakness)
