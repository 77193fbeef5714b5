# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver version inside a CDI spec, in YAML or JSON.

Nodes need not have a YAML parser, and the version stands only in file names (``libcuda.so.580.95.05``), so the text
is searched.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Reading
from .text import DRIVER_VERSION

_KIND = re.compile(r"""^\s*[{,]?\s*["']?kind["']?\s*:\s*["']?nvidia\.com/""", re.MULTILINE)
_KIND_INLINE = re.compile(r"""["']kind["']\s*:\s*["']nvidia\.com/""")
_LIBRARY = re.compile(r"\blib(?:cuda|nvidia-ml)\.so\.(%s)" % DRIVER_VERSION)


def is_nvidia(text: str) -> bool:
    """Whether the spec is about NVIDIA's devices at all."""
    return bool(_KIND.search(text) or _KIND_INLINE.search(text))


def driver_version(text: str) -> Reading[t.Optional[str]]:
    """The version; None when the spec names no versioned library; all of them when it is a mixture of several."""
    found = sorted(set(_LIBRARY.findall(text)))
    return Reading(", ".join(found) if found else None)
