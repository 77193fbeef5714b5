# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Docker engine, its configuration, the wanted image, and the CDI specs that the engine reads.

The socket is named in each call: the engine that root's services use, whatever context or DOCKER_HOST a user has.
"""

from __future__ import annotations

import typing as t

from ..model import DockerEngine, FileState, Reading
from ..parse import cdi, daemon_json, docker_info
from ..parse import runtime_mode as mode_text
from .host import Host

DOCKER = ("docker", "--host", "unix:///var/run/docker.sock")
CONFIG = "/etc/docker/daemon.json"
TOOLKIT_CONFIG = "/etc/nvidia-container-runtime/config.toml"
CDI_DIRECTORIES = ("/etc/cdi", "/var/run/cdi")


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


def runtime_mode(host: Host) -> Reading[str]:
    text = host.read(TOOLKIT_CONFIG)
    return mode_text.parse(text.value or "") if text.known else Reading.unknown(text.error or "")


def config_file(host: Host) -> Reading[FileState]:
    return host.file_state(CONFIG)


def cdi_specs(host: Host, more: t.Iterable[str] = ()) -> Reading[t.Dict[str, t.Optional[str]]]:
    """:arg more: directories that the engine reads beside the usual ones"""
    found: t.Dict[str, t.Optional[str]] = {}
    seen: t.Set[str] = set()
    for directory in (*CDI_DIRECTORIES, *more):
        real = host.realpath(directory)  # /var/run and /run are one
        if not real.known:
            return Reading.unknown(real.error or "")
        if real.value is None or real.value in seen:
            continue
        seen.add(real.value)
        entries = host.listdir(directory)
        if not entries.known:
            return Reading.unknown(entries.error or "")
        for name in entries.value or {}:
            if not name.endswith((".yaml", ".yml", ".json")):
                continue
            path = "%s/%s" % (directory.rstrip("/"), name)
            text = host.read(path)
            if not text.known:
                return Reading.unknown(text.error or "")
            if cdi.is_nvidia(text.value or ""):
                found[path] = cdi.driver_version(text.value or "").value
    return Reading(found)
