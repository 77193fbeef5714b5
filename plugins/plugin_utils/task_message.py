# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task has said, without the words that ansible-core puts before every message of a failed one."""

from __future__ import annotations

import re

_BEFORE = re.compile(r"\A(?:(?:Task|Action|Module) failed: )+", re.ASCII)


def bare(message: object) -> str:
    """The message as who wrote it meant it; "" where there is none."""
    return _BEFORE.sub("", str(message or ""))
