# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chain of a node for people: one status for each layer, from the findings of a look. Pure."""

from __future__ import annotations

import typing as t

from .model import LAYERS, Finding

#: The worst first; a layer is as well as the worst of its required findings.
_WORST = ("fail", "unknown", "skip", "pass")


def statuses(findings: t.Iterable[Finding]) -> t.Dict[str, str]:
    """Status of each layer, in the order of the chain. Only required findings count.

    A layer of which no required check was asked is ``skip``: nothing was proven of it.
    """
    found: t.Dict[str, t.Set[str]] = {layer: set() for layer in LAYERS}
    for finding in findings:
        if finding.required and finding.layer in found:
            found[finding.layer].add(finding.status)
    return {layer: next((one for one in _WORST if one in seen), "skip") for layer, seen in found.items()}
