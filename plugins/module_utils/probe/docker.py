# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Docker engine, its configuration and the wanted image.

The socket is named in each call: the engine that root's services use, whatever context or DOCKER_HOST a user has.
"""

from __future__ import annotations

import typing as t

from ..model import DockerEngine, FileState, Reading
from ..parse import daemon_json, docker_info
from .host import Host

DOCKER = ("docker", "--host", "unix:///var/run/docker.sock")
CONFIG = "/etc/docker/daemon.json"


def pinned(image: t.Mapping[str, t.Any]) -> str:
    """The image of the lock by its digest alone; a tag beside it would only be a second name."""
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
