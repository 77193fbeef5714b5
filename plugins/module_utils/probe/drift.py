# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has drifted on this node, and since when: the view of a look, and a stat for each thing that differs."""

from __future__ import annotations

import dataclasses
import typing as t

from .. import drift
from ..drift_since import Known
from ..model import Desired, Evidence
from .host import Host


def rows(
    host: Host, desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int], whole: str
) -> t.List[drift.Row]:
    """:arg whole: when the node was last seen whole, as ``drift_since.last_whole`` says"""
    known = Known(whole)
    found = drift.rows(desired, evidence, expected_gpus, known)
    paths = drift.witnesses(found, evidence)
    if not paths:
        return found
    timed = dataclasses.replace(known, changed=_changed(host, paths))
    return drift.rows(desired, evidence, expected_gpus, timed)


def _changed(host: Host, paths: t.Iterable[str]) -> t.Dict[str, float]:
    """When content or status changed last. What cannot be read tells nothing, and nothing is made of it."""
    found: t.Dict[str, float] = {}
    for path in paths:
        there = host.stat(path).value
        if there is not None:
            found[path] = float(max(there.mtime, there.ctime))
    return found
