# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of a rollout: what is wrong with them, and what they mean. Pure.

They steer a run and say nothing about a node, so none of them counts in its desired digest.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .bundle import Problem
from .waves import Size, in_order, size

#: Longer than any rollout lasts; it keeps times within what a date can be.
_LONGEST = 10**7

_NUMBER = re.compile(r"\s*([0-9]{1,9})\s*", re.ASCII)

_LEAST = {
    "rollout_soak_rounds": (1, "Give it 1 or more: without a soak nothing proves that the node stays golden"),
    "rollout_soak_interval": (0, "Give it 0 seconds or more, 60 is usual"),
    "rollout_gpu_wait": (0, "Give it 0 seconds or more; 0 waits for nobody"),
    "rollout_stale_after": (1, "Give it 1 hour or more, 24 is usual"),
}

Values = t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the plan of a rollout needs of the variables."""

    canaries: t.Union[int, t.Tuple[str, ...]]
    waves: t.Tuple[Size, ...]
    budget: Size
    stale_after: int  # hours
    take_over: str = ""
    retry: bool = False
    within: str = "localhost,gpu_nodes"  # the limit of this run


def problems(values: Values) -> t.List[Problem]:
    """What is wrong with the values, which have their types already."""
    found = _canary_problems(values["rollout_canaries"]) + _size_problems(values)
    for name, (least, fix) in _LEAST.items():
        if values[name] < least:
            found.append(Problem(name, values[name], "is less than %d" % least, fix))
        elif values[name] > _LONGEST:
            found.append(Problem(name, values[name], "is longer than any rollout", "Give it %d at most" % _LONGEST))
    return found


def settings(values: Values) -> Settings:
    """The values, which have no problems, as what they mean."""
    return Settings(
        canaries=canaries(values["rollout_canaries"]),
        waves=tuple(size(value) for value in values["rollout_waves"]),
        budget=size(values["rollout_budget"]),
        stale_after=values["rollout_stale_after"],
        take_over=values.get("rollout_take_over", "").strip(),
        retry=values["rollout_retry"],
    )


def canaries(value: t.Any) -> t.Union[int, t.Tuple[str, ...]]:
    """A number of hosts, or their names: a list, or as text with commas, as -e gives it.

    :raises ValueError: with what is wrong, as the rest of a sentence that the value begins
    """
    if isinstance(value, str):
        number = _NUMBER.fullmatch(value)
        if number:
            return int(number.group(1))
        value = value.split(",")
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise ValueError("is less than 0")
        return value
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
        raise ValueError("is neither a number of hosts nor a list of their names")
    if not all(name.strip() for name in value):
        raise ValueError("has a name that is empty")
    return in_order(name.strip() for name in value)


def _canary_problems(value: t.Any) -> t.List[Problem]:
    try:
        canaries(value)
    except ValueError as error:
        fix = "Write a number, as 1, or names of hosts, as [gpu01, gpu02]"
        return [Problem("rollout_canaries", value, str(error), fix)]
    return []


def _size_problems(values: Values) -> t.List[Problem]:
    found = []
    written = values["rollout_waves"]
    how = 'Write a number of nodes, as 5, or a percentage of the production nodes, as "25%"'
    if not written:
        found.append(Problem("rollout_waves", [], "is empty", 'Name at least one size, as ["25%"]'))
    sizes = [("rollout_waves", value) for value in written] + [("rollout_budget", values["rollout_budget"])]
    for name, value in sizes:
        try:
            if size(value).number == 0 and name == "rollout_waves":
                found.append(Problem(name, value, "is a wave of no nodes", how))
        except ValueError as error:
            found.append(Problem(name, value, str(error), how))
    return found
