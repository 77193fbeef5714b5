# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the comparison of two locks on the terminal of the run. Controller only."""

from __future__ import annotations

import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils import lock_changes_text
from ansible_collections.goldennode.gpu.plugins.module_utils.lock_changes import Change, Lock
from ansible_collections.goldennode.gpu.plugins.plugin_utils import terminal


def show(before: Lock, after: Lock, found: t.Sequence[Change], display: t.Any, remarks: t.Sequence[str] = ()) -> None:
    """Straight to the terminal, with no JSON around it."""
    width = terminal.width(display)
    display.display("\n%s\n" % lock_changes_text.render(before, after, found, width, terminal.paint, remarks))
