# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an image itself sets of the variables that decide over GPUs."""

from __future__ import annotations

import json
import typing as t

from ..model import Reading
from .text import failure

#: The only ones that are ever read: others may hold a secret.
NAMES = (
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_REQUIRE_CUDA",
    "NVIDIA_DISABLE_REQUIRE",
)

#: Has the engine print the lines ``NAME=VALUE`` of these variables alone, each as JSON.
FORMAT = (
    '{{with .Config}}{{range .Env}}{{if eq (index (split . "=") 0) %s}}{{json .}}{{println}}{{end}}{{end}}{{end}}'
    % (" ".join('"%s"' % name for name in NAMES))
)


def parse(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[t.Dict[str, str]]:
    """``docker image inspect --format FORMAT``; None where the image is not on the node."""
    if rc != 0:
        if "No such image" in stderr or "No such object" in stderr:
            return Reading(None)
        return Reading.unknown(failure("docker image inspect", rc, stdout, stderr))
    found: t.Dict[str, str] = {}
    for line in stdout.splitlines():
        if not line.strip():
            continue
        text = _text(line)
        name, equals, value = (text or "").partition("=")
        if not equals:
            return Reading.unknown("the environment of the image has a line that is not understood: %s" % line[:200])
        if name in NAMES:
            found[name] = value
    return Reading(found)


def _text(line: str) -> t.Optional[str]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, str) else None
