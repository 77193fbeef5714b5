# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.plugin_utils.task_message import bare


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            "Task failed: Failed to connect to the host via ssh: timed out",
            "Failed to connect to the host via ssh: timed out",
        ),
        ("Task failed: Action failed: no", "no"),
        ("Task failed: Module failed: Task failed", "Task failed"),
        ("The Task failed: no", "The Task failed: no"),
        (None, ""),
        (7, "7"),
    ],
)
def test_only_the_words_of_ansible_are_left_out(message, said):
    assert bare(message) == said
