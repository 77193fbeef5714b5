# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA_REQUIRE_CUDA asks, judged as far as the CUDA and the version of the driver go."""

from __future__ import annotations

import operator
import re
import typing as t

from ..version import version_numbers

_ATOM = re.compile(r"^(cuda|driver)\s*(>=|<=|!=|=|>|<)\s*(\d{1,9}(?:\.\d{1,9})*)$")
_COMPARE: t.Dict[str, t.Callable[[t.Any, t.Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    "=": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


def met(asked: str, cuda: str, driver: str) -> t.Optional[bool]:
    """Alternatives stand side by side, and what all must hold in one of them is joined by commas. Numbers are compared
    and not texts: 12.10 is newer than 12.8. None where it hangs on something else, as the brand of the card.
    """
    alternatives = asked.split()
    if not alternatives:
        return True
    have = {"cuda": version_numbers(cuda), "driver": version_numbers(driver)}
    answers = [_all([_holds(atom, have) for atom in words.split(",") if atom]) for words in alternatives]
    if True in answers:
        return True
    return None if None in answers else False


def _all(answers: t.Sequence[t.Optional[bool]]) -> t.Optional[bool]:
    if False in answers:
        return False
    return None if None in answers else True


def _holds(atom: str, have: t.Mapping[str, t.Tuple[int, ...]]) -> t.Optional[bool]:
    found = _ATOM.match(atom.strip())
    if found is None:
        return None
    name, sign, value = found.groups()
    want = version_numbers(value)
    there = have[name]
    length = max(len(want), len(there))
    padded = [numbers + (0,) * (length - len(numbers)) for numbers in (there, want)]
    # driver<471 is meant for the branch 470 whatever its release, which the numbers say by themselves.
    return _COMPARE[sign](*padded)
