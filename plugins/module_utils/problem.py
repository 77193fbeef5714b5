# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One thing that is wrong with what was given. Apart from the bundle, whose code no node needs to judge itself."""

from __future__ import annotations

import dataclasses
import typing as t

from .parse.text import without_users


class _Missing:
    def __repr__(self) -> str:
        return ""


MISSING = _Missing()


@dataclasses.dataclass(frozen=True)
class Problem:
    """One thing that is wrong. ``message`` continues the sentence that path and value begin; ``fix`` is what to do."""

    path: str
    value: t.Any
    message: str
    fix: str

    def __str__(self) -> str:
        subject = self.path if self.value is MISSING else "%s: %s" % (self.path, _shown(self.value))
        return "%s %s. %s%s" % (subject, self.message, self.fix, "" if self.fix.endswith("?") else ".")


def _shown(value: t.Any) -> str:
    text = without_users(repr(value))
    return text if len(text) <= 120 else text[:117] + "..."
