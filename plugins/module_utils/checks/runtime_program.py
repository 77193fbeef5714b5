# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer container_runtime: the program behind ``runtimes.nvidia`` of daemon.json is on the node.

A container that shall start says so too, and only then. This costs a stat, so that the local fact can tell it.
"""

from __future__ import annotations

import typing as t

from ..model import Desired, Evidence, Finding
from .outcome import failed, passed
from .wanted import octal

#: As NVIDIA's packages and daemon.json name it.
USUAL = "nvidia-container-runtime"


def named(desired: t.Optional[Desired]) -> str:
    """What daemon.json shall name; the usual name where nothing is wanted of it."""
    runtimes = desired.daemon.get("runtimes") if desired else None
    nvidia = runtimes.get("nvidia") if isinstance(runtimes, dict) else None
    path = nvidia.get("path") if isinstance(nvidia, dict) else None
    return str(path or USUAL)


def program(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    name, there = named(desired), evidence.runtime_program.value
    if "nvidia" not in (desired.daemon.get("runtimes") or {}):
        return [passed("daemon.json shall name no runtime of NVIDIA's")]
    if there is not None and there.executable:
        return [passed(there.path)]
    gone = there is None
    return [
        failed(
            name if there is None else there.path,
            expected="a program that can be run",
            actual="not there" if there is None else "mode %s" % octal(there.mode),
            cause="Docker's runtime nvidia is the program %s, which %s: no container gets a GPU by it."
            % (name, "is not on the node" if gone else "nobody may run"),
            fix="dpkg -S bin/%s names the package that has it; install that one again: apt-get install --reinstall "
            "--allow-change-held-packages PACKAGE=VERSION, with the version that dpkg -l shows."
            % name.rpartition("/")[2],
            repair="manual",
        )
    ]
