# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the script of the reload probe printed: which nodes a process in the container may open, and nvidia-smi."""

from __future__ import annotations

import re
import typing as t

from ..model import DeviceAnswers, Reading
from . import nvidia_smi
from .text import failure, integer

#: What open(2) says where the device cgroup denies it. Any other answer is the driver's, or of the node's mode.
DENIED = "Operation not permitted"

_NODE = re.compile(r"^node (/dev/\S+) (.*)$")
_SMI = re.compile(r"^smi (-?\d{1,9})$")


def parse(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[DeviceAnswers]:
    """Lines ``node PATH WORDS``, then ``smi CODE`` and after it what nvidia-smi printed."""
    nodes: t.List[str] = []
    denied: t.List[str] = []
    lines = stdout.splitlines()
    for at, line in enumerate(lines):
        node, smi = _NODE.match(line), _SMI.match(line)
        if node:
            nodes.append(node.group(1))
            if DENIED in node.group(2):
                denied.append(node.group(1))
        elif smi:
            answer = nvidia_smi.query("\n".join(lines[at + 1 :]), "", integer(smi.group(1)))
            return Reading(DeviceAnswers(tuple(nodes), tuple(denied), answer))
    return Reading.unknown(failure("docker exec", rc, stdout, stderr))
