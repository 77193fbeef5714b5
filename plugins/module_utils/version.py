# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions: that of the collection, for what is written on a node (galaxy.yml does not reach it); how any compare."""

from __future__ import annotations

import re
import typing as t

VERSION = "0.1.0"


def version_numbers(version: str) -> t.Tuple[int, ...]:
    """``580.159.03`` -> (580, 159, 3), ``26.1.5+dfsg1`` -> (26, 1, 5): the numbers at the front, to compare with."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(number) for number in match.group(0).split(".")) if match else ()
