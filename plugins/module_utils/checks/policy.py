# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer policy: rules of the host that stand between a healthy stack and its users.

Its files and units are judged in files.py and units.py.
"""

from __future__ import annotations

import typing as t

from ..model import Desired, Evidence, Finding
from . import start_errors
from .outcome import all_passed, failed


def container_devices(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """The engine may give a device to a container. A rootless one may not edit control groups."""
    problems = [
        failed(way, expected="a container starts", actual=words, cause=error.cause, fix=error.fix, repair=error.repair)
        for way, words, error in start_errors.of_layer("policy", desired, evidence)
    ]
    return all_passed(problems, "no rule of the host keeps a container from its devices")
