# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Docker engine, its configuration and the wanted image.

The socket is named in each call: the engine that root's services use, whatever context or DOCKER_HOST a user has.
"""

from __future__ import annotations

import typing as t

from ..daemon_in_force import same_root
from ..dockerd_flags import DEFAULT_CONFIG as CONFIG
from ..model import Desired, DockerClients, DockerEngine, DockerRoot, FileState, Mounted, Reading, SocketListener
from ..parse import daemon_json, docker_clients, docker_info, docker_socket, mountinfo
from . import children
from .children import docker_clients as clients_child
from .children import docker_socket as socket_child
from .host import Host

SOCKET = "/var/run/docker.sock"
DOCKER = ("docker", "--host", "unix://" + SOCKET)
ROOT = "/var/lib/docker"


def pinned(image: t.Mapping[str, t.Any]) -> str:
    """The image of the lock by its digest alone; a tag beside it would only be a second name.

    Without a lock an image may have been named by its tag alone, and is then taken by that.
    """
    if not image["digest"]:
        return str(image["reference"])
    name = str(image["reference"]).partition("@")[0]
    colon = name.rfind(":")
    if colon > name.rfind("/"):
        name = name[:colon]
    return "%s@%s" % (name, image["digest"])


def engine(host: Host) -> Reading[DockerEngine]:
    command = host.run([*DOCKER, "info", "--format", "{{json .}}"], timeout=15)
    if command.missing:
        return Reading(None)
    if command.error is not None:
        return Reading.unknown(command.error)
    return docker_info.parse(command.stdout, command.stderr, command.rc)


def listener(host: Host) -> Reading[SocketListener]:
    command = host.run(["python3", "-I", "-c", children.source(socket_child), SOCKET], timeout=10)
    if command.error is not None:
        return Reading.unknown(command.error.replace("python3", "the look at Docker's socket"))
    return docker_socket.parse(command.stdout, command.stderr, command.rc)


def clients(host: Host, desired: t.Optional[Desired]) -> Reading[DockerClients]:
    """Of root, and of the users who shall be able to open the device nodes."""
    access = desired.settings.get("device_access", {}) if desired else {}
    users = list(dict.fromkeys(["root", *access.get("device_access_users", ())]))
    command = host.run(["python3", "-I", "-c", children.source(clients_child), *users], timeout=15)
    if command.error is not None and not command.timed_out:
        return Reading.unknown(command.error)
    stopped = (command.error or "").replace("python3", "the look at the users' docker")
    return docker_clients.parse(command.stdout, command.stderr, command.rc, users, stopped)


def root(
    host: Host,
    there: Reading[DockerEngine],
    settings: Reading[t.Dict[str, t.Any]],
    desired: t.Optional[Desired],
) -> Reading[DockerRoot]:
    """Where Docker keeps its data, on what that lies, and what would stay behind where another place is wanted.

    :arg there: the engine that answers
    :arg settings: its daemon.json, which is asked where none answers
    """
    path, wanted = _present_root(there, settings), desired.daemon.get("data-root") if desired else None
    mounts = host.read("/proc/self/mountinfo")
    if path.value is None or mounts.value is None:
        return Reading.unknown(path.error or mounts.error or "/proc/self/mountinfo is not there")
    directory = _behind_links(host, path.value)
    target = _behind_links(host, str(wanted)) if wanted else Reading("")
    if directory.value is None or target.value is None:
        return Reading.unknown(directory.error or target.error or "")
    behind, to = directory.value, target.value
    on = _mounted(mounts.value, behind)
    wanted_on = _mounted(mounts.value, to) if to else Reading(None)
    moves = bool(to) and not same_root(behind, to)
    left = _holds(host, behind) if moves else Reading({})
    if on.value is None or not wanted_on.known or left.value is None:
        return Reading.unknown(on.error or wanted_on.error or left.error or "")
    return Reading(DockerRoot(path.value, behind, on.value, to, wanted_on.value, moves, left.value))


def _behind_links(host: Host, path: str) -> Reading[str]:
    """The directory behind ``path``, also where its last parts are not there yet."""
    there, missing = path, ""
    while True:
        found = host.realpath(there)
        if not found.known:
            return found
        if found.value is not None:
            return Reading(found.value.rstrip("/") + missing or "/")
        there, slash, name = there.rpartition("/")
        there, missing = there or "/", slash + name + missing
        if not name:
            return Reading.unknown("%s: / cannot be followed" % path)


def _mounted(mounts: str, path: str) -> Reading[Mounted]:
    found = mountinfo.containing(mounts, path)
    if found.value is None:
        return Reading.unknown(found.error or "")
    return Reading(Mounted(found.value.point, found.value.type, found.value.device))


def _present_root(there: Reading[DockerEngine], settings: Reading[t.Dict[str, t.Any]]) -> Reading[str]:
    if there.value is not None and there.value.root_dir:
        return Reading(there.value.root_dir)
    if settings.value is None:
        return Reading.unknown("no engine answers, and daemon.json cannot be read: %s" % settings.error)
    return Reading(str(settings.value.get("data-root") or ROOT))


def _holds(host: Host, directory: str) -> Reading[t.Dict[str, int]]:
    """How many containers, images and volumes lie in a root: those of which there are any."""
    places = {"containers": [directory + "/containers"], "volumes": [directory + "/volumes"], "images": []}
    drivers = host.listdir(directory + "/image")
    if not drivers.known:
        return Reading.unknown(drivers.error or "")
    for name in drivers.value or {}:
        places["images"].append("%s/image/%s/imagedb/content/sha256" % (directory, name))
    found: t.Dict[str, int] = {}
    for kind, paths in places.items():
        for path in paths:
            entries = host.listdir(path)
            if not entries.known:
                return Reading.unknown(entries.error or "")
            wanted_kind = "file" if kind == "images" else "dir"
            count = sum(1 for entry in (entries.value or {}).values() if entry.kind == wanted_kind)
            if count:
                found[kind] = found.get(kind, 0) + count
    return Reading(found)


def image_digests(host: Host, image: t.Mapping[str, t.Any]) -> Reading[t.Tuple[str, ...]]:
    command = host.run([*DOCKER, "image", "inspect", "--format", "{{json .}}", pinned(image)], timeout=15)
    if command.error is not None:
        return Reading.unknown(command.error)
    return docker_info.repo_digests(command.stdout, command.stderr, command.rc)


def config(host: Host) -> Reading[t.Dict[str, t.Any]]:
    raw = host.read_bytes(CONFIG)
    if not raw.known:
        return Reading.unknown(raw.error or "")
    return daemon_json.parse(raw.value, CONFIG)


def config_file(host: Host) -> Reading[FileState]:
    return host.file_state(CONFIG)
