# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two entries of the node's own package sources that contradict each other: apt then reads none of all its sources.

Neither is of the bundle, so which of them is to stay is their owner's decision.
"""

from __future__ import annotations

import typing as t

from .. import node_sources
from ..model import AptSource, Evidence, Finding
from .outcome import failed


def find(evidence: Evidence, files: t.Collection[str]) -> t.Iterator[Finding]:
    """A finding for each entry that names a repository of an earlier one with another Signed-By.

    :arg files: the paths of the bundle's own files, whose conflicts are judged with the bundle

    One without any beside one that has it is let be: apt 3 takes both, and older ones only in one order of the two.
    """
    first: t.Dict[t.Tuple[str, str], AptSource] = {}
    for entry in evidence.sources.value or ():
        if not entry.enabled or entry.broken or entry.file in files or not entry.signed_by:
            continue
        for repository in node_sources.repositories(entry):
            other = first.setdefault(repository, entry)
            if other.signed_by != entry.signed_by:
                yield _conflict(other, entry, repository)
                break


def _conflict(first: AptSource, second: AptSource, repository: t.Tuple[str, str]) -> Finding:
    return failed(
        second.place,
        expected="one Signed-By for %s %s" % repository,
        actual="%s, and %s in %s" % (second.signed_by, first.signed_by, first.place),
        cause="%s and %s name the repository %s %s with different keys: apt refuses every source."
        % (first.place, second.place, *repository),
        fix="Keep one of the two entries: take the other out, or give both the same Signed-By. The distribution's and "
        "the bundle's sources are not at fault.",
        repair="manual",
    )
