# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running containers as ``docker container inspect`` describes them, and what systemd lets them open."""

from __future__ import annotations

import re
import typing as t

from ..model import Reading, RunningContainer
from . import mountinfo
from .json_lines import parse_object
from .text import failure

#: Only what is judged: the whole answer has the container's environment, and people keep passwords in it.
_FIELDS = (
    ("id", ".Id"),
    ("name", ".Name"),
    ("image", ".Config.Image"),
    ("pid", ".State.Pid"),
    ("started_at", ".State.StartedAt"),
    ("restart_policy", ".HostConfig.RestartPolicy.Name"),
    ("mounts", ".Mounts"),
    ("compose", '(index .Config.Labels "com.docker.compose.project")'),
    ("compose_service", '(index .Config.Labels "com.docker.compose.service")'),
    ("swarm", '(index .Config.Labels "com.docker.swarm.service.name")'),
    ("pod", '(index .Config.Labels "io.kubernetes.pod.name")'),
    ("namespace", '(index .Config.Labels "io.kubernetes.pod.namespace")'),
)
FORMAT = "{%s}" % ",".join('"%s":{{json %s}}' % field for field in _FIELDS)

_ENDED = re.compile(r"No such (?:container|object)", re.IGNORECASE)
_SCOPE = re.compile(r"^docker-([0-9a-f]{64})\.scope$")


class Described(t.NamedTuple):
    """A container before anything was read of its process."""

    pid: int
    container: RunningContainer


def described(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[t.Tuple[Described, ...]]:
    """One line of ``FORMAT`` for each container. One that has ended meanwhile is left out, and no error."""
    complaints = [line for line in stderr.splitlines() if line.strip()]
    if rc != 0 and not (complaints and all(_ENDED.search(line) for line in complaints)):
        return Reading.unknown(failure("docker container inspect", rc, stdout, stderr))
    found: t.List[Described] = []
    for line in stdout.splitlines():
        if not line.strip():
            continue
        fields = parse_object(line, "a line of docker container inspect")
        if fields.value is None:
            return Reading.unknown(fields.error or "")
        pid, identity = fields.value.get("pid"), _text(fields.value, "id")
        if not identity or not isinstance(pid, int):
            return Reading.unknown("docker container inspect names a container without its id or process")
        if pid > 0:  # one that is being restarted has none
            found.append(Described(pid, _container(identity, pid, fields.value)))
    return Reading(tuple(found))


def _container(identity: str, pid: int, fields: t.Mapping[str, t.Any]) -> RunningContainer:
    owner, owner_name = _owner(fields)
    return RunningContainer(
        id=identity,
        name=_text(fields, "name").lstrip("/"),
        image=_text(fields, "image"),
        started_at=_text(fields, "started_at"),
        restart_policy=_text(fields, "restart_policy"),
        owner=owner,
        owner_name=owner_name,
        pid=pid,
        own_mounts=any(mountinfo.driver_version(path) for path in _volumes(fields.get("mounts"))),
    )


def _owner(fields: t.Mapping[str, t.Any]) -> t.Tuple[str, str]:
    if _text(fields, "pod"):
        return "kubernetes", "%s/%s" % (_text(fields, "namespace") or "default", _text(fields, "pod"))
    if _text(fields, "swarm"):
        return "swarm", _text(fields, "swarm")
    if _text(fields, "compose"):
        return "compose", "%s/%s" % (_text(fields, "compose"), _text(fields, "compose_service"))
    return "", ""


def _volumes(mounts: t.Any) -> t.Iterator[str]:
    """Both ends of each volume: a file that is bound may have another name inside."""
    for mount in mounts if isinstance(mounts, list) else ():
        for end in ("Source", "Destination"):
            if isinstance(mount, dict) and isinstance(mount.get(end), str):
                yield mount[end]


def device_allow(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[t.Dict[str, t.Tuple[str, ...]]]:
    """By container: the devices that systemd lets its scope open, as ``systemctl show`` of DevicePolicy and DeviceAllow
    says. A container whose devices systemd does not judge, or knows nothing of, is left out.
    """
    if rc != 0:
        return Reading.unknown(failure("systemctl show", rc, stdout, stderr))
    found: t.Dict[str, t.Tuple[str, ...]] = {}
    for block in re.split(r"\n[ \t]*\n", stdout):
        pairs = [line.partition("=")[::2] for line in block.splitlines()]
        fields = dict(pairs)
        scope = _SCOPE.match(fields.get("Id", "").strip())
        if scope and fields.get("DevicePolicy", "").strip() in ("strict", "closed"):
            rules = (value.strip() for name, value in pairs if name == "DeviceAllow")
            found[scope.group(1)] = tuple(rule for rule in rules if rule)
    return Reading(found)


def _text(fields: t.Mapping[str, t.Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
