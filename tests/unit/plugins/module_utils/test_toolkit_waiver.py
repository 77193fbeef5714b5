# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The waiver of a toolkit below the floor: written in the bundle with reason and day, carried in the lock."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import bundle
from ansible_collections.goldennode.gpu.plugins.module_utils import lock as locks
from ansible_collections.goldennode.gpu.plugins.module_utils.model import to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import from_plain
from ansible_collections.goldennode.gpu.plugins.plugin_utils import yaml_file
from ansible_collections.goldennode.gpu.tests.unit import bundles
from ansible_collections.goldennode.gpu.tests.unit.bundles import PLATFORM, data, platform_bundle

OLD, REASON, UNTIL = "1.18.2", "driver 550 needs it", "2027-03-31"
WAIVER = {"reason": REASON, "until": UNTIL}


def waived(**changes):
    return data(toolkit={"version": OLD, "waiver": {**WAIVER, **changes}})


def packages():
    versions = {"fabric_manager": "580.159.03-1"}
    return {axis: {"a-package-of-" + axis: versions.get(axis, "1")} for axis in locks.PACKAGE_AXES}


def lock_of(of_bundle):
    return locks.build(of_bundle, "apt", "6.12", packages(), "sha256:" + "c" * 64)


def test_it_is_typed():
    assert bundles.load(waived()).platforms[PLATFORM].toolkit == bundle.Toolkit(OLD, bundle.Waiver(REASON, UNTIL))


@pytest.mark.parametrize("until", [UNTIL, '"%s"' % UNTIL])
def test_the_day_may_stand_without_quotes(until):
    text = "version: %s\nwaiver: {reason: %s, until: %s}\n" % (OLD, REASON, until)
    plain = data(toolkit=yaml_file.parse(text.encode(), pathlib.Path("pool.yml")))
    assert bundles.load(plain).platforms[PLATFORM].toolkit.waiver == bundle.Waiver(REASON, UNTIL)


def test_a_platform_may_have_one_of_its_own():
    plain = data()
    plain["platforms"][PLATFORM]["toolkit"] = {"version": OLD, "waiver": WAIVER}
    assert bundles.load(plain).platforms[PLATFORM].toolkit.waiver == bundle.Waiver(REASON, UNTIL)


@pytest.mark.parametrize(
    ("waiver", "said"),
    [
        ({"until": UNTIL}, "toolkit.waiver.reason is missing. Add it, for example "),
        ({"reason": " \n", "until": UNTIL}, "toolkit.waiver.reason: ' \\n' does not have the form that is wanted"),
        ({"reason": REASON}, "toolkit.waiver.until is missing. Add it, for example 2027-03-31"),
        ({"reason": REASON, "until": "soon"}, "toolkit.waiver.until: 'soon' does not have the form that is wanted"),
        ({"reason": REASON, "until": "2027-02-30"}, "toolkit.waiver.until: '2027-02-30' is not a day of the calendar"),
        ({"reason": REASON, "untill": UNTIL}, "toolkit.waiver.untill is not a key of a bundle. Did you mean until?"),
        ("because", "toolkit.waiver: 'because' is not a set of keys with values"),
        (True, "toolkit.waiver: True is not a set of keys with values"),
    ],
)
def test_one_that_says_not_all_is_refused(waiver, said):
    found = bundles.problems(data(toolkit={"version": OLD, "waiver": waiver}))
    assert any(said in problem for problem in found), found


def test_an_empty_one_is_none():
    assert bundles.load(data(toolkit={"waiver": None})).platforms[PLATFORM] == platform_bundle()


def test_locks_that_are_older_than_waivers_still_fit():
    plain = to_plain(platform_bundle())
    del plain["toolkit"]["waiver"], plain["framework"], plain["nccl"]
    assert platform_bundle().digest == bundle.digest_of(plain)
    assert lock_of(platform_bundle())["toolkit"] == {"version": "1.20.0", "packages": {"a-package-of-toolkit": "1"}}


def test_the_lock_carries_it_and_follows_its_changes():
    before = bundles.load(waived()).platforms[PLATFORM]
    lock = lock_of(before)
    assert lock["toolkit"]["waiver"] == WAIVER
    assert locks.problems(lock, before, "x") == []
    longer = bundles.load(waived(until="2027-04-30")).platforms[PLATFORM]
    (problem,) = locks.problems(lock, longer, "x")
    assert "was resolved from another state of the bundle" in str(problem)


def test_it_survives_the_way_through_json():
    of_bundle = bundles.load(waived()).platforms[PLATFORM]
    assert from_plain(bundle.PlatformBundle, to_plain(of_bundle), "bundle") == of_bundle
