# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that a role owns whole: present, unchanged, owned by root. One judge, called once for each layer."""

from __future__ import annotations

import typing as t

from ..model import Desired, Evidence, FileState, Finding, ManagedFile
from .outcome import all_passed, failed
from .wanted import RUN_SITE, octal

#: Whose file it is decides in which layer a wrong one is a broken link. A role that is not named counts as policy, so
#: that no managed file can be without a check.
_LAYERS = {
    "packages": "packages",
    "kernel": "host_driver",
    "driver": "host_driver",
    "device_access": "device_nodes",
    "docker": "container_runtime",
    "toolkit": "container_runtime",
}


def layer_of(file: ManagedFile) -> str:
    return _LAYERS.get(file.role, "policy")


def packages(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    return _judge("packages", desired, evidence)


def host_driver(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    return _judge("host_driver", desired, evidence)


def device_nodes(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    return _judge("device_nodes", desired, evidence)


def container_runtime(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    return _judge("container_runtime", desired, evidence)


def policy(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    return _judge("policy", desired, evidence)


def _judge(layer: str, desired: Desired, evidence: Evidence) -> t.List[Finding]:
    mine = [file for _path, file in sorted(desired.files.items()) if layer_of(file) == layer]
    there = evidence.files.value or {}
    problems = (problem for file in mine for problem in _problems(file, there.get(file.path)))
    return all_passed(problems, "%d managed files are as the roles write them" % len(mine))


def _problems(wanted: ManagedFile, there: t.Optional[FileState]) -> t.Iterator[Finding]:
    if there is None:
        yield failed(
            wanted.path,
            expected="the file of the role %s" % wanted.role,
            actual="not there",
            cause="%s is missing." % wanted.path,
            fix=RUN_SITE,
            repair="roles",
        )
        return
    if there.sha256 != wanted.sha256:
        yield failed(
            wanted.path,
            expected="sha256 %s" % wanted.sha256,
            actual="sha256 %s" % there.sha256,
            cause="%s is not what the role %s writes: it was edited by hand or is of another version."
            % (wanted.path, wanted.role),
            fix="%s Put changes of your own into role variables or into another file." % RUN_SITE,
            repair="roles",
        )
    if (there.mode, there.uid, there.gid) != (wanted.mode, 0, 0):
        yield failed(
            wanted.path,
            expected="mode %s, owner 0:0" % octal(wanted.mode),
            actual="mode %s, owner %d:%d" % (octal(there.mode), there.uid, there.gid),
            cause="Mode or owner of %s was changed." % wanted.path,
            fix=RUN_SITE,
            repair="roles",
        )
