# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer container_runtime: what is wrong with the GPUs of containers that run already.

They are their owners', so none of this decides whether the node is golden. It is said, by name, with what mends it.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Desired, DeviceNode, Evidence, Finding, RunningContainer
from .daemon_reload import WAYS_OUT
from .outcome import all_passed, failed, unknown
from .wanted import driver_version

#: How its manager starts a container anew; else a restart by the engine would be undone, or done twice.
_MANAGERS = {
    "compose": "docker compose -p %s restart %s gives it the loaded driver's",
    "kubernetes": "Its pod must be recreated: kubectl delete pod -n %s %s",
    "swarm": "Its service must be updated: docker service update --force %s",
}

#: Those whose containers ``docker restart`` may start anew under their hands.
_RESTARTABLE = ("", "compose")

_CHARACTERS = re.compile(r"^/dev/char/(\d{1,9}):(\d{1,9}|\*)$")


def containers(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """Whose files of the driver are of another one than is loaded: CUDA in it fails with a version mismatch."""
    loaded = evidence.driver.value.version if evidence.driver.value else driver_version(desired)
    problems: t.List[Finding] = []
    for one in evidence.running_containers.value or ():
        other = [version for version in one.drivers if version != loaded]
        if other:
            problems.append(_old(one, ", ".join(other), loaded))
        elif one.error:
            problems.append(unknown(one.error, one.label, cause="What container %s holds is not known." % one.label))
    held = [one for one in evidence.running_containers.value or () if one.drivers]
    return all_passed(problems, "%d running containers hold the driver, all of them %s" % (len(held), loaded))


def _old(one: RunningContainer, held: str, loaded: str) -> Finding:
    by_restart = not one.own_mounts and one.owner in _RESTARTABLE
    return failed(
        one.label,
        expected="files of driver %s" % loaded,
        actual="files of driver %s, since %s" % (held, one.started_at or "its start"),
        cause="Container %s (%s) holds the libraries of driver %s, and %s is loaded: nothing of CUDA works in it."
        % (one.name, one.image, held, loaded),
        fix=_remedy(one, loaded),
        repair="roles" if by_restart else "manual",
    )


def _remedy(one: RunningContainer, loaded: str) -> str:
    if one.own_mounts:
        return (
            "Whoever created it bound the driver's files by their names: it must be recreated with those of %s. "
            "A restart does not help." % loaded
        )
    by_hand = "docker restart %s gives it the loaded driver's" % one.name
    if one.owner:
        by_hand = _MANAGERS[one.owner] % (
            tuple(one.owner_name.split("/", 1)) if one.owner != "swarm" else one.owner_name
        )
    by_run = "; site.yml restarts it with docker_allow_container_restart=true"
    return by_hand + (by_run if one.owner in _RESTARTABLE else "") + "."


def behind_systemd(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """Which will lose their GPUs at the next daemon-reload, or have already: systemd does not know of all of them."""
    problems: t.List[Finding] = []
    for one in evidence.running_containers.value or ():
        if one.device_allow is None:
            continue
        unknown_to_it = [node.path for node in one.nodes if not _allowed(node, one.device_allow)]
        if unknown_to_it:
            problems.append(_at_risk(one, unknown_to_it))
    return all_passed(problems, "systemd knows the GPUs of every running container whose devices it judges")


def _at_risk(one: RunningContainer, paths: t.Sequence[str]) -> Finding:
    return failed(
        one.label,
        expected="DeviceAllow of docker-%s.scope has them" % one.id[:12],
        actual=", ".join(paths),
        cause="Container %s was given GPUs behind systemd's back, and loses them at systemctl daemon-reload."
        % one.name,
        fix=WAYS_OUT,
        repair="manual",
    )


def _allowed(node: DeviceNode, rules: t.Iterable[str]) -> bool:
    """Whether a rule lets it be read and written, by number, by path or by the name of the driver."""
    for rule in rules:
        name, _blank, access = rule.partition(" ")
        if not {"r", "w"} <= set(access):
            continue
        numbers = _CHARACTERS.match(name)
        if numbers and int(numbers.group(1)) == node.major and numbers.group(2) in ("*", str(node.minor)):
            return True
        if name in (node.path, "char-*") or name.startswith("char-nvidia"):
            return True
    return False
