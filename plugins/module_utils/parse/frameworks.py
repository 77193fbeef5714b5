# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What frameworks said that were imported in a container: JSON lines of the child of that name."""

from __future__ import annotations

import typing as t

from ..model import FrameworkUse, Reading
from .json_lines import objects
from .text import last_line


def parse(
    stdout: str, stderr: str, rc: t.Optional[int], names: t.Sequence[str], stopped: str = ""
) -> Reading[t.Tuple[FrameworkUse, ...]]:
    """One for each of ``names``. One that said nothing at all has that as its error.

    :arg stopped: why the container had to be killed, else ""
    """
    answers: t.Dict[str, t.Dict[str, t.Any]] = {}
    for line in objects(stdout):
        name = line.get("framework")
        if isinstance(name, str) and name in names:
            answers.setdefault(name, {}).update(line)
    if not answers:
        said = stopped or last_line(stderr) or last_line(stdout) or "it said nothing"
        return Reading.unknown("the look at the frameworks gave no answer and ended with code %s: %s" % (rc, said))
    why = stopped or "it was not asked to the end (code %s): %s" % (rc, last_line(stderr) or "no reason was given")
    return Reading(tuple(_use(name, answers.get(name), why) for name in names))


def _use(name: str, answer: t.Optional[t.Mapping[str, t.Any]], why: str) -> FrameworkUse:
    if answer is None:
        return FrameworkUse(name, error=why)
    available, devices = answer.get("available"), answer.get("devices")
    error = _text(answer.get("error"))
    whole = isinstance(available, bool) and isinstance(devices, int) and not isinstance(devices, bool)
    return FrameworkUse(
        name=name,
        version=_text(answer.get("version")),
        cuda=_text(answer.get("cuda")),
        available=available if isinstance(available, bool) else None,
        devices=devices if whole else None,
        architectures=_texts(answer.get("architectures")),
        capabilities=_texts(answer.get("capabilities")),
        error=error or ("" if whole else why),
    )


def _text(value: t.Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: t.Any) -> t.Tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
