# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A record proves the settings that it names, with the values that they had, for one start of Docker."""

from __future__ import annotations

import json

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.docker_record import fingerprint, stale, unproven

SETTINGS = {"log-opts": {"max-size": "10m"}, "bip": "10.9.0.1/24"}
PATHS = [("log-opts", "max-size"), ("bip",)]


def test_what_was_in_force_in_this_start_is_proven():
    record = json.loads(json.dumps(fingerprint("a", SETTINGS)))
    assert unproven(record, "a", SETTINGS, PATHS) == []
    assert unproven(record, "a", {**SETTINGS, "mtu": 1400}, [*PATHS, ("mtu",)]) == [("mtu",)]
    assert unproven(record, "a", {**SETTINGS, "log-opts": {"max-size": "1g"}}, PATHS) == PATHS[:1]


@pytest.mark.parametrize(
    "record",
    [
        None,
        {},
        [],
        "a",
        fingerprint("b", SETTINGS),
        {"schema": 1, "invocation": "a", "settings": "sha256:0"},
        {"schema": 1, "invocation": "a", "settings": {"log-opts": 3}},
    ],
)
def test_a_record_of_another_start_or_another_shape_proves_nothing(record):
    assert unproven(record, "a", SETTINGS, PATHS) == PATHS


@pytest.mark.parametrize(
    ("changed", "started", "record", "left"),
    [
        (1.0, 2.0, None, []),
        (2.0, 2.0, None, PATHS),
        (3.0, 2.0, None, PATHS),
        (3.0, 2.0, fingerprint("a", SETTINGS), []),
        (1.0, None, None, PATHS),
        (1.0, None, fingerprint("a", SETTINGS), []),
    ],
)
def test_a_start_that_is_not_known_proves_nothing_by_itself(changed, started, record, left):
    assert stale(changed, started, record, "a", SETTINGS, PATHS) == left
