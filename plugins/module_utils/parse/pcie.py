# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of sysfs about a PCIe link: ``16.0 GT/s PCIe`` is generation 4, and a width of 255 means that none answers."""

from __future__ import annotations

import re
import typing as t

from .text import integer

#: By the speed of one lane in GT/s.
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}

#: No link has more lanes.
_MOST_LANES = 32


def generation(text: str) -> t.Optional[int]:
    speed = re.match(r"^([0-9]{1,3}(?:\.[0-9])?) GT/s", text.strip())
    return _GENERATIONS.get(float(speed.group(1))) if speed else None


def lanes(text: str) -> t.Optional[int]:
    number = integer(text)
    return number if number is not None and 0 < number <= _MOST_LANES else None
