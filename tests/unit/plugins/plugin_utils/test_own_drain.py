# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A wrong folder is told before a node is touched."""

from __future__ import annotations

from ansible_collections.goldennode.gpu.plugins.plugin_utils import own_drain


def test_no_drain_of_ones_own_is_no_problem():
    assert own_drain.problems(["", ""]) == []


def test_a_folder_with_both_files(tmp_path):
    for name in own_drain.FILES:
        (tmp_path / name).write_text("[]\n")
    assert own_drain.problems([str(tmp_path)]) == []


def test_a_path_that_is_not_whole():
    for folder in ("drain", "~/drain", "./x"):
        assert own_drain.problems([folder]) == [
            "rollout_drain_tasks: '%s' is not a whole path. Write it as \"{{ inventory_dir }}/drain\"" % folder
        ]


def test_what_is_not_there_is_told_once_for_each_folder(tmp_path):
    (tmp_path / "drain.yml").write_text("[]\n")
    empty = str(tmp_path / "no")
    assert own_drain.problems([str(tmp_path), empty, empty]) == [
        "rollout_drain_tasks: '%s' has no undrain.yml. It is a folder on the controller with drain.yml and "
        "undrain.yml: roles/rollout/DRAIN.md" % tmp_path,
        "rollout_drain_tasks: '%s' has no drain.yml and no undrain.yml. It is a folder on the controller with "
        "drain.yml and undrain.yml: roles/rollout/DRAIN.md" % empty,
    ]
