# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who else sets a parameter of the driver (NVreg_...): other files of modprobe.d, and the kernel's command line.

All that is set is given to the module, and of several values of one parameter the last counts: ours need not be it.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Evidence
from .wanted import NVIDIA_OPTIONS, c_integer


class Setting(t.NamedTuple):
    """``value`` as the driver reads it; None where it is no number. ``words``: where it is said, for people."""

    value: t.Optional[int]
    words: str


def elsewhere(name: str, evidence: Evidence) -> t.List[Setting]:
    """Where ``name``, without NVreg_, is set by anybody but the role."""
    lines = [
        ("%s says %s too." % (line.place, word), word)
        for line in evidence.modprobe.value or ()
        if line.command == "options" and line.module == "nvidia" and line.file != NVIDIA_OPTIONS
        for word in line.argument.split()
    ]
    lines += [
        ("The kernel was started with %s." % word, word.partition(".")[2])
        for word in (evidence.command_line.value or "").split()
        if word.replace("-", "_").startswith("nvidia.")
    ]
    prefix = "NVreg_%s=" % name
    return [Setting(_number(word[len(prefix) :]), words) for words, word in lines if word.startswith(prefix)]


def _number(text: str) -> t.Optional[int]:
    # A leading 0 of what is no octal number, as of 0888, makes the module refuse it.
    return c_integer(text) if re.match(r"^(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$", text) else None
