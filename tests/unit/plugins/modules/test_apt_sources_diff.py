# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module shows of a change."""

from __future__ import annotations

from ansible_collections.goldennode.gpu.plugins.module_utils.apt_sources import Change
from ansible_collections.goldennode.gpu.plugins.modules.apt_sources import diff_of

FILE = "/etc/apt/sources.list.d/x.list"


def test_a_renamed_file_is_told_by_its_names():
    """Ansible shows nothing of a diff whose two texts are the same."""
    assert diff_of(Change(FILE, "renamed", (), "a\n", target=FILE + ".disabled")) == {
        "prepared": "%s is renamed to %s.disabled, which apt ignores\n" % (FILE, FILE)
    }


def test_a_deleted_file_has_no_text_afterwards():
    assert diff_of(Change(FILE, "deleted", (), "a\n"))["after"] == ""


def test_bytes_that_are_no_text_are_shown_as_such():
    assert diff_of(Change(FILE, "edited", (), "caf\udce9\n", "# caf\udce9\n"))["after"] == "# caf?\n"


def test_a_diff_shows_no_password():
    line = "deb https://svc:S3cret@m.example/x /\n"
    assert diff_of(Change(FILE, "edited", (), line, "# " + line)) == {
        "before_header": FILE,
        "after_header": FILE,
        "before": "deb https://m.example/x /\n",
        "after": "# deb https://m.example/x /\n",
    }
