# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer policy: rules of the host that stand between a healthy stack and its users.

What is in force stays in force: no fix here switches a security module off. Files and units are judged in files.py
and units.py.
"""

from __future__ import annotations

import typing as t

from ..model import ContainerLook, Desired, Evidence, Finding
from . import denials, start_errors
from .outcome import all_passed, failed, passed
from .wanted import selinux_confines, setting


def container_devices(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """The engine may start a container with a device, whatever the host's rules. A rootless one may not edit control
    groups, a profile may not be there.
    """
    problems = [
        failed(way, expected="a container starts", actual=words, cause=error.cause, fix=error.fix, repair=error.repair)
        for way, words, error in start_errors.of_layer("policy", desired, evidence)
    ]
    return all_passed(problems, "no rule of the host keeps a container from its devices")


def selinux(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    state = evidence.selinux.value
    if state is None or state.mode == "disabled":
        return [passed("SELinux is not in force")]
    problems = list(_denied("policy.selinux", desired, evidence))
    confines = selinux_confines(desired, evidence)
    if confines and not problems and not state.allowed and setting(desired, "device_access_selinux_boolean"):
        fix, repair = denials.selinux_way_out(desired, evidence, state)
        problems.append(
            failed(
                state.boolean,
                expected="on",
                actual="off" if state.boolean else "the policy has no such boolean",
                cause="SELinux lets no confined container use the device nodes of the GPUs.",
                fix=fix,
                repair=repair,
            )
        )
    if state.mode == "permissive" and state.configured == "enforcing":
        problems.append(
            failed(
                expected="enforcing",
                actual="permissive",
                cause="SELinux is permissive until the next boot and enforcing then: what works now is not proven for "
                "then.",
                fix="Run setenforce 1 and verify again.",
                repair="manual",
                required=False,
            )
        )
    problems += _unconfined(evidence, "SELinux", confines, denials.confined_by_selinux)
    return all_passed(problems, "%s, and containers use the GPUs" % state.mode)


def apparmor(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """Judged by what confines the containers themselves: whether AppArmor is in force says less."""
    engine = evidence.docker.value
    confines = engine is not None and any("name=apparmor" in option for option in engine.security_options)
    problems = list(_denied("policy.apparmor", desired, evidence))
    problems += _unconfined(evidence, "AppArmor", confines, lambda look: bool(denials.apparmor_profile(look)))
    return all_passed(problems, "containers use the GPUs%s" % (", confined by AppArmor" if confines else ""))


def _denied(check: str, desired: Desired, evidence: Evidence) -> t.Iterator[Finding]:
    for way, look in _started(evidence):
        denial = denials.of(desired, evidence, look)
        if denial is not None and denial.check == check:
            yield failed(
                way,
                expected="a confined container uses the GPUs",
                actual="it is denied the GPUs as %s" % look.confinement.value,
                cause=denial.cause,
                fix=denial.fix,
                repair=denial.repair,
            )


def _unconfined(
    evidence: Evidence, name: str, confines: bool, confined: t.Callable[[ContainerLook], bool]
) -> t.Iterator[Finding]:
    """A container that ran free proves nothing of one that is confined. Whether it shall be is not ours to say."""
    for way, look in _started(evidence):
        if confines and look.confinement.known and not confined(look):
            yield failed(
                way,
                expected="a container that %s confines" % name,
                actual=look.confinement.value or "not confined",
                cause="Docker has %s confine containers, and did not confine this one: that one which is confined uses "
                "the GPUs is not proven." % name,
                fix="Restart Docker, which loads what it confines containers with, and verify again.",
                repair="manual",
                required=False,
            )


def _started(evidence: Evidence) -> t.Iterator[t.Tuple[str, ContainerLook]]:
    for way, reading in evidence.containers.items():
        if reading.value is not None and reading.value.started:
            yield way, reading.value
