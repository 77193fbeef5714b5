# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fatal errors of NVSwitches in the kernel's log of this boot (SXid), as ``xid`` tells them.

Informational: the line stays after the reset that mends it, a reset of a GPU leaves one itself, and nothing says that
the switch is well again. A GPU whose link broke has an Xid of its own, by which the node is judged.
"""

from __future__ import annotations

import typing as t

from ..model import Evidence, Finding
from ..parse import sxid as log
from .outcome import failed

_FIX = (
    "Where GPUs were reset since, it is over. Else drain the node and reset all GPUs and NVSwitches together "
    "(nvidia-smi --gpu-reset, without -i), or reboot. If it comes again, have the board and its links looked at; the "
    "guide of the fabric manager tells each number."
)


def fatal(evidence: Evidence) -> t.Iterator[Finding]:
    found: t.Dict[str, t.List[log.SXid]] = {}
    for one in log.parse(evidence.kernel_log.value or ()).value or ():
        if one.fatal:
            found.setdefault(one.switch, []).append(one)
    for switch, errors in sorted(found.items()):
        first = errors[0]
        more = "; %d more" % (len(errors) - 1) if len(errors) > 1 else ""
        yield failed(
            switch,
            expected="no fatal error of an NVSwitch",
            actual="SXid %d, %s%s" % (first.number, first.text, more),
            cause="NVSwitch %s reported a fatal error (SXid %d): programs that use several GPUs may have failed."
            % (switch, first.number),
            fix=_FIX,
            repair="manual",
            required=False,
        )
