# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer device_nodes: /dev/nvidia* exist, carry the right numbers, and open to whom the role device_access says.

Three classes with three owners: the driver re-applies its NVreg_ parameters to nvidiaN and nvidiactl whenever a tool
starts; nvidia-uvm* follow a udev rule, as no parameter reaches them; nvidia-caps are the driver's own business and
not judged. Who else sets a parameter is found by nvreg.py.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Desired, DeviceNode, Evidence, Finding
from ..parse.text import integer
from . import not_loaded, nvreg
from .outcome import all_passed, failed
from .wanted import NVIDIA_OPTIONS, RELOAD, RUN_SITE, driver_params, file_ok, octal, setting
from .wanted import gpus as pci_gpus

MAJOR = 195
CONTROL_MINOR = 255
_NINE_BITS = 0o777
UVM_MINORS = {"/dev/nvidia-uvm": 0, "/dev/nvidia-uvm-tools": 1}

_BY_PARAMETER = re.compile(r"/dev/nvidia(?:\d+|ctl|-modeset)")

#: Those of the driver's parameters that decide who may open the nodes.
_ACCESS_PARAMS = ("ModifyDeviceFiles", "DeviceFileUID", "DeviceFileGID", "DeviceFileMode")
_PARAM_DEFAULTS = {"ModifyDeviceFiles": 1, "DeviceFileUID": 0, "DeviceFileGID": 0, "DeviceFileMode": 0o666}


def params(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    in_force = evidence.driver_params.value
    if in_force is None:
        return [
            failed(
                expected="/proc/driver/nvidia/params",
                actual="not there",
                cause="The driver is not loaded, so no parameters are in force.",
                fix=RUN_SITE,
                repair="roles",
            )
        ]
    problems = (
        problem
        for name, want in sorted(_params_wanted(desired).items())
        for problem in _param_problem(
            name, want, in_force.get(name), file_ok(desired, evidence, NVIDIA_OPTIONS), nvreg.elsewhere(name, evidence)
        )
    )
    return all_passed(problems, "the driver's parameters are as %s sets them" % NVIDIA_OPTIONS)


def _params_wanted(desired: Desired) -> t.Dict[str, int]:
    return {**_PARAM_DEFAULTS, **driver_params(desired)}


def _param_problem(
    name: str, want: int, text: t.Optional[str], written: bool, others: t.Sequence[nvreg.Setting]
) -> t.Iterator[Finding]:
    there = integer(text or "")
    if there == want:
        return
    mode = name == "DeviceFileMode"
    cause, repair = _param_cause(name, want, there), "reload" if written else "roles"
    fix = "%s Parameters count from the next load of the module." % RELOAD if written else RUN_SITE
    other = next((one for one in others if one.value != want), None)
    if written and other is not None:  # every load of the module takes it again
        cause, repair = "%s %s" % (cause, other.words), "manual"
        fix = "Take it out there: %s is what sets it. %s" % (NVIDIA_OPTIONS, fix)
    yield failed(
        name,
        expected="%d%s" % (want, " (%s)" % octal(want) if mode else ""),
        actual="%s%s" % (text, " (%s)" % octal(there) if mode and there is not None else ""),
        cause=cause,
        fix=fix,
        repair=repair,
    )


def _param_cause(name: str, want: int, there: t.Optional[int]) -> str:
    if name == "DeviceFileMode" and there is not None:
        # No mode of a node has more than nine bits: 660 was meant in octal, whatever mode is wanted here.
        if str(there) == "%o" % want or (there > _NINE_BITS and re.fullmatch("[0-7]{3}", str(there))):
            return (
                "The mode was written without the leading 0: NVreg_DeviceFileMode=%d is taken as decimal, which is %s."
                % (there, octal(there))
            )
        meant = "%o" % there
        if there > 0 and int(meant) == want:
            return (
                "The mode was written in decimal behind a leading 0: NVreg_DeviceFileMode=0%s is taken as octal; in"
                " octal it is %s." % (meant, octal(want))
            )
    return "The driver was loaded with another NVreg_%s than wanted." % name


def present(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    count = expected_gpus if expected_gpus is not None else len(pci_gpus(evidence.pci.value or ()))
    want = {"/dev/nvidiactl": CONTROL_MINOR, **{"/dev/nvidia%d" % minor: minor for minor in range(count)}}
    there = _by_path(evidence)
    problems = (problem for path in sorted(want) for problem in _node_problem(path, MAJOR, want[path], there.get(path)))
    return all_passed(problems, "nvidiactl and %d GPU nodes" % count)


def uvm(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    # The major number is given out when the module is loaded; only /proc/devices knows it.
    major = (evidence.device_majors.value or {}).get("nvidia-uvm")
    if major is None:
        why = not_loaded.kept_out("nvidia_uvm", evidence)
        return [
            failed(
                expected="nvidia-uvm in /proc/devices",
                actual="not there",
                cause="The module nvidia-uvm is not loaded, so CUDA cannot start%s."
                % (": " + why.cause if why else ""),
                fix=why.fix if why else "%s goldennode-uvm.service loads it before Docker." % RUN_SITE,
                repair=why.repair if why else "roles",
            )
        ]
    there = _by_path(evidence)
    problems = (
        problem for path, minor in UVM_MINORS.items() for problem in _node_problem(path, major, minor, there.get(path))
    )
    return all_passed(problems, "nvidia-uvm and nvidia-uvm-tools, major %d" % major)


def _node_problem(path: str, major: int, minor: int, there: t.Optional[DeviceNode]) -> t.Iterator[Finding]:
    if there is not None and (there.major, there.minor) == (major, minor):
        return
    yield failed(
        path,
        expected="character device %d,%d" % (major, minor),
        actual="not there" if there is None else "%d,%d" % (there.major, there.minor),
        cause="%s is missing; containers get the nodes that exist when they start." % path
        if there is None
        else "%s is left over from an earlier load of the module." % path,
        fix="%s goldennode-uvm.service makes it before Docker." % RUN_SITE,
        repair="roles",
    )


def modes(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    want = _params_wanted(desired)
    mode, owner = want["DeviceFileMode"], (want["DeviceFileUID"], want["DeviceFileGID"])
    # While the driver runs with other parameters it puts its own nodes back at every start of a tool.
    lasting = not list(_wrong_access_params(desired, evidence))
    judged = [
        node
        for node in evidence.device_nodes.value or ()
        if node.path in UVM_MINORS or _BY_PARAMETER.fullmatch(node.path)
    ]
    problems = (
        problem for node in judged for problem in _access_problem(node, mode, owner, lasting or node.path in UVM_MINORS)
    )
    return all_passed(problems, "%d nodes, mode %s, owner %d:%d" % (len(judged), octal(mode), *owner))


def _wrong_access_params(desired: Desired, evidence: Evidence) -> t.Iterator[str]:
    in_force = evidence.driver_params.value or {}
    want = _params_wanted(desired)
    for name in _ACCESS_PARAMS:
        if in_force and in_force.get(name, "").strip() != str(want[name]):
            yield name


def _access_problem(node: DeviceNode, mode: int, owner: t.Tuple[int, int], lasting: bool) -> t.Iterator[Finding]:
    if (node.mode, (node.uid, node.gid)) == (mode, owner):
        return
    yield failed(
        node.path,
        expected="mode %s, owner %d:%d" % (octal(mode), *owner),
        actual="mode %s, owner %d:%d" % (octal(node.mode), node.uid, node.gid),
        cause="Mode or owner of %s was changed." % node.path
        if lasting
        else "%s follows the driver's parameters, and those in force are not the wanted ones." % node.path,
        fix=RUN_SITE if lasting else "%s The driver then takes its parameters; chmod alone does not last." % RELOAD,
        repair="roles" if lasting else "reload",
    )


def users(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    name = str(setting(desired, "device_access_group"))
    wanted_users = [str(user) for user in setting(desired, "device_access_users")]
    group = (evidence.groups.value or {}).get(name)
    if group is None:
        return [
            failed(
                name,
                expected="a group",
                actual="not there",
                cause="The group %s is missing." % name,
                fix=RUN_SITE,
                repair="roles",
            )
        ]
    gid, members = group
    want_gid = _params_wanted(desired)["DeviceFileGID"]
    problems = [
        failed(
            user,
            expected="member of %s" % name,
            actual="not a member",
            cause="%s may not open the device nodes: not in the group %s." % (user, name),
            fix=RUN_SITE,
            repair="roles",
        )
        for user in wanted_users
        if user not in members
    ]
    if gid != want_gid:
        problems.append(
            failed(
                name,
                expected="gid %d" % want_gid,
                actual="gid %d" % gid,
                cause="The group %s has another number on this node than the driver is told." % name,
                fix="Set device_access_gid=%d for this node." % gid,
                repair="manual",
            )
        )
    return all_passed(problems, "%s (gid %d) has %s" % (name, gid, ", ".join(wanted_users) or "the users wanted: none"))


def trouble(desired: Desired, evidence: Evidence) -> t.Optional[str]:
    """The first device node that keeps a tool from the GPUs, and the check that judges it; None where all are right.

    The tools are called as an ordinary user, so a wrong node breaks them although the driver is well. So do other
    parameters in force: whatever root starts next, a container too, puts the nodes back to those while we look.
    """
    if not evidence.device_nodes.known:
        return None
    judges = [("present", present), ("modes", modes)]
    judges += [("uvm", uvm)] if evidence.device_majors.known else []
    judges += [("params", params)] if evidence.driver_params.known else []
    for check, judge in judges:
        for finding in judge(desired, evidence, None):
            if finding.status == "fail":
                return "device_nodes.%s: %s" % (check, finding.cause)
    return None


def _by_path(evidence: Evidence) -> t.Dict[str, DeviceNode]:
    return {node.path: node for node in evidence.device_nodes.value or ()}
