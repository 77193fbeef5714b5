# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's log of this boot, as far as it is about a GPU.

The kernel keeps the last lines alone. Where containers come and go all day, what a GPU said last week is not among them
any more; the journal has it.
"""

from __future__ import annotations

import typing as t

from ..model import Reading
from ..parse import kernel_log as text
from . import kernel
from .host import Host

_JOURNAL = ("journalctl", "--boot", "--dmesg", "--no-pager", "--quiet", "--output=cat")

#: What the parser looks for. In small letters, by which journalctl takes capitals for the same.
_WORDS = "nvrm|nvidia|nouveau|nova[-_]|unsigned module|unavailable key|trusted key|key was rejected"

#: A journal of months takes long to search, and a look is not to wait for it.
_SEARCH_SECONDS = 5.0

#: Stands among the first lines of every boot.
_BEGINS, _FIRST_LINES = "Linux version ", 50


def kernel_log(host: Host) -> Reading[t.Tuple[str, ...]]:
    ring = host.run(["dmesg"], timeout=10)
    if ring.rc != 0:
        return kernel.kernel_log(host)  # the journal alone; that dmesg refuses once more costs nothing
    lines = ring.stdout.splitlines()
    if any(_BEGINS in line for line in lines[:_FIRST_LINES]):
        return text.parse(ring.stdout)
    # Without --lines, by which a search would give the newest line first.
    found = host.run([*_JOURNAL, "--grep=%s" % _WORDS], timeout=_SEARCH_SECONDS)
    # It may be without a search, without kernel messages, or slow: then what the kernel has itself is all there is.
    return text.parse("\n".join(_together(found.stdout.splitlines() if found.rc == 0 else [], lines)))


def _together(journal: t.Sequence[str], ring: t.Sequence[str]) -> t.List[str]:
    """The journal's, and what the kernel said after the last line that the journal has too."""
    known = {text.bare(line) for line in journal} - {""}
    shared = [at for at, line in enumerate(ring) if text.bare(line) in known]
    return [*journal, *ring[shared[-1] + 1 if shared else 0 :]]
