# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``docker info`` says of the engine behind a socket."""

from __future__ import annotations

import typing as t

from ..model import DockerEngine, Reading
from .json_lines import parse_object
from .text import failure


def parse(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[DockerEngine]:
    """``docker info --format '{{json .}}'``: the client answers, with code 0 too, when no engine does."""
    if not stdout.strip():
        return Reading.unknown(failure("docker info", rc, stdout, stderr))
    info = parse_object(stdout, "the answer of docker info")
    if info.value is None:
        return Reading.unknown(info.error or "")
    fields = info.value
    if isinstance(fields.get("host"), dict) and isinstance(fields.get("store"), dict):
        return Reading(_podman(fields))
    errors = _texts(fields.get("ServerErrors"))
    version = _text(fields.get("ServerVersion"))
    if errors or not version:
        said = "; ".join(errors) or failure("docker info", rc, "it names no ServerVersion", stderr)
        return Reading.unknown("the Docker engine does not answer: %s" % said)
    runtimes = fields.get("Runtimes")
    return Reading(
        DockerEngine(
            version=version,
            root_dir=_text(fields.get("DockerRootDir")),
            runtimes=tuple(sorted(runtimes)) if isinstance(runtimes, dict) else (),
            default_runtime=_text(fields.get("DefaultRuntime")),
            cgroup_driver=_text(fields.get("CgroupDriver")),
            cgroup_version=_text(fields.get("CgroupVersion")),
            cdi_spec_dirs=_texts(fields.get("CDISpecDirs")),
            security_options=_texts(fields.get("SecurityOptions")),
            operating_system=_text(fields.get("OperatingSystem")),
            live_restore=fields.get("LiveRestoreEnabled") is True,
        )
    )


def _podman(fields: t.Mapping[str, t.Any]) -> DockerEngine:
    """The ``docker`` of podman-docker is Podman, which answers in a form of its own. Its root tells it."""
    version, distribution = fields.get("version"), fields["host"].get("distribution")
    return DockerEngine(
        version=_text(version.get("Version")) if isinstance(version, dict) else "",
        root_dir=_text(fields["store"].get("graphRoot")),
        operating_system=_text(distribution.get("distribution")) if isinstance(distribution, dict) else "",
    )


def repo_digests(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[t.Tuple[str, ...]]:
    """``docker image inspect --format '{{json .}}'``: ``NAME@sha256:...`` of an image; none when it is not there."""
    if rc != 0:
        if "No such image" in stderr or "No such object" in stderr:
            return Reading(())
        return Reading.unknown(failure("docker image inspect", rc, stdout, stderr))
    image = parse_object(stdout, "the answer of docker image inspect")
    if image.value is None:
        return Reading.unknown(image.error or "")
    return Reading(_texts(image.value.get("RepoDigests")))


def _text(value: t.Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: t.Any) -> t.Tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()
