# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bundles that we hand out are sound: with the keys that their heads name they are taken as they are."""

from __future__ import annotations

import datetime
import pathlib
import re

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import bundle, compat, packages
from ansible_collections.goldennode.gpu.plugins.plugin_utils import yaml_file
from ansible_collections.goldennode.gpu.tests.unit.bundles import KEY

ROOT = pathlib.Path(__file__).resolve().parents[4]
TO_COPY = sorted((ROOT / "bundles").glob("*.yml"))
SIMULATED = sorted((ROOT / "tests" / "testbed" / "bundles").glob("sim-*.yml"))
#: When they were written; that a branch ends later is for their users to see.
WRITTEN = datetime.date(2026, 11, 30)


def load(path, fingerprints=False):
    """The bundle, with a key of ours in place of the vendors', which are not in the repository."""
    plain = yaml_file.read(path)
    for platform in plain["platforms"].values():
        for source in platform["sources"]:
            if not fingerprints:
                source.pop("fingerprint", None)
    return bundle.load(plain, path.name, lambda _name: KEY)


def test_there_are_as_many_as_we_say():
    assert [path.name for path in TO_COPY] == ["debian13.yml", "ubuntu2404-signed.yml", "ubuntu2404.yml"]
    assert [path.name for path in SIMULATED] == ["sim-a.yml", "sim-b.yml"]


@pytest.mark.parametrize("path", TO_COPY + SIMULATED, ids=lambda path: path.name)
def test_a_bundle_is_sound_and_fits_together(path):
    for platform in load(path).platforms.values():
        assert compat.problems(platform, WRITTEN) == []
        assert compat.warnings(platform, WRITTEN) == []
        assert packages.wanted(platform)


@pytest.mark.parametrize("path", TO_COPY, ids=lambda path: path.name)
def test_every_key_of_a_bundle_to_copy_has_a_fingerprint_and_a_way_to_get_it(path):
    head = path.read_text()
    sources = [source for platform in yaml_file.read(path)["platforms"].values() for source in platform["sources"]]
    for source in sources:
        assert re.search(r"curl -fsSLo %s (\\\n# +)?https://" % re.escape(source["key_file"]), head), source["name"]
        assert source["fingerprint"]
    with pytest.raises(bundle.BundleError) as caught:
        load(path, fingerprints=True)
    assert len(caught.value.problems) == len(sources), (
        "another key than the vendor's must be refused, for each repository"
    )


def test_the_two_simulated_bundles_are_an_upgrade_apart():
    first, second = (load(path).platforms["debian-13-x86_64"] for path in SIMULATED)
    assert (first.driver.version, second.driver.version) == ("580.159.03", "580.178.04")
    assert (first.toolkit.version, second.toolkit.version) == ("1.20.0", "1.20.1")
    assert (first.docker.version, second.docker.version) == ("26.1.4", "26.1.5")
    assert first.image == second.image
    assert first.kernel == second.kernel


def test_the_readme_names_every_bundle():
    text = (ROOT / "bundles" / "README.md").read_text()
    for path in TO_COPY:
        assert "(%s)" % path.name in text
