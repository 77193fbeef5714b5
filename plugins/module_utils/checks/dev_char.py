# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer device_nodes: systemd finds a node of the driver by its numbers.

The kernel announces none of these nodes, so udev makes no link for them in /dev/char. runc names a device to systemd by
that link; some releases leave one out whose link is missing, and systemd then takes it from the container again.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Desired, Evidence, Finding
from .outcome import all_passed, failed
from .wanted import RUN_SITE

#: Those that goldennode-uvm.service makes sure of, and every container gets. Others come later, each with its link by
#: whoever makes it.
_JUDGED = re.compile(r"/dev/nvidia(?:\d+|ctl|-uvm|-uvm-tools)")


def dev_char(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    links = evidence.dev_char.value or {}
    judged = [node for node in evidence.device_nodes.value or () if _JUDGED.fullmatch(node.path)]
    problems = [
        failed(
            node.path,
            expected="/dev/char/%d:%d leads to it" % (node.major, node.minor),
            actual=links.get(node.path) or "no such link",
            cause="systemd cannot find %s by its numbers, and with some releases of runc containers lose it at "
            "systemctl daemon-reload." % node.path,
            fix="%s goldennode-uvm.service makes the links in /dev/char." % RUN_SITE,
            repair="roles",
        )
        for node in judged
        if links.get(node.path) != node.path
    ]
    return all_passed(problems, "%d nodes have their links in /dev/char" % len(judged))
