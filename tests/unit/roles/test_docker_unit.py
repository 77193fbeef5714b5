# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""systemd reads Docker's unit anew where it says that it must, and not else: a reload may cost containers GPUs."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.tests.unit.roles.test_conditions import holds, task


@pytest.mark.parametrize(
    ("results", "due"),
    [
        ([{"status": {"NeedDaemonReload": "no"}}, {"status": {"NeedDaemonReload": "yes"}}], True),
        ([{"status": {"NeedDaemonReload": "no"}}, {"status": {"NeedDaemonReload": "no"}}], False),
        ([{"skipped": True}, {"skipped": True}], False),
    ],
    ids=["the drop-in is new", "as it was", "check mode on a bare node"],
)
def test_a_reload_follows_from_what_systemd_says(results, due):
    found = task("roles/docker/tasks/install.yml", "Have systemd read Docker's unit where it has changed")
    assert holds(found, docker_started={"results": results}) is due
