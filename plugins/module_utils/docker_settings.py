# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role variables of Docker with rules of their own: where it keeps its data, and logins of registries. Pure."""

from __future__ import annotations

import re
import typing as t

from .bundle import MISSING, Problem

#: Variables with passwords: shown nowhere, kept nowhere, and part of no digest.
SECRET = ("docker_registries",)

#: Emptied at boot or in memory, whatever the distribution.
_NOT_KEPT = ("/run", "/var/run", "/tmp", "/var/tmp", "/dev", "/proc", "/sys")

_PATH = re.compile(r"(/[A-Za-z0-9_+@-][A-Za-z0-9._+@-]*)+")
_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?")
#: Names of Docker Hub by which no image is called.
_HUB_HOSTS = ("index.docker.io", "registry-1.docker.io", "registry.hub.docker.com", "hub.docker.com")


def problems(docker: t.Mapping[str, t.Any]) -> t.List[Problem]:
    return _data_root_problems(docker.get("docker_data_root")) + _registry_problems(docker.get("docker_registries", ()))


def drop_in(data_root: t.Optional[str]) -> str:
    """Docker's unit waits for the volume of its data-root, and does not start without it: it would fill the empty
    directory below with images. Written on every node, so that a wish that is taken back is gone.
    """
    if data_root is None:
        return "# docker_data_root is not set.\n"
    return "[Unit]\nRequiresMountsFor=%s\n" % data_root


def _data_root_problems(value: t.Any) -> t.List[Problem]:
    if value is None:
        return []
    name = "docker_data_root"
    if not _PATH.fullmatch(value):
        fix = "Write it like /srv/docker: from the root on, of letters, digits and . _ + @ -, with no / at its end"
        return [Problem(name, value, "is not a plain absolute path", fix)]
    for place in _NOT_KEPT:
        if value == place or value.startswith(place + "/"):
            fix = "Use a directory on a volume that is mounted at every boot"
            return [Problem(name, value, "is below %s, which is not kept over a reboot" % place, fix)]
    return []


def _registry_problems(registries: t.Sequence[t.Mapping[str, t.Any]]) -> t.List[Problem]:
    """What is wrong with the logins, without a word of a password."""
    found, seen = [], set()
    for number, login in enumerate(registries):
        place, host = "docker_registries[%d]" % number, login.get("registry") or ""
        trouble = _host_trouble(host)
        if trouble:
            found.append(Problem(place + ".registry", host.rpartition("@")[2], *trouble))
        elif host in seen:
            found.append(Problem(place + ".registry", host, "is there twice", "Keep one login for each registry"))
        seen.add(host)
        for key in ("username", "password"):
            if not login.get(key):
                fix = "Set it, or take the registry out of the list"
                found.append(Problem("%s.%s" % (place, key), MISSING, "of %s is empty" % (host or "no registry"), fix))
        if ":" in (login.get("username") or ""):
            fix = "Write the name alone; registries take name and password apart by the first colon"
            found.append(Problem(place + ".username", MISSING, "of %s has a colon in it" % host, fix))
    return found


def _host_trouble(host: str) -> t.Optional[t.Tuple[str, str]]:
    """(what is wrong, what to do); None where nothing is."""
    if not host:
        return "is empty", "Write the registry's name as the image's reference has it, like nvcr.io or host:5000"
    if "@" in host:
        return "has a user in front", "Write the host alone, and the user in username"
    if "://" in host:
        return "has a scheme", "Write %s" % host.split("://", 1)[1].split("/", 1)[0]
    if host in _HUB_HOSTS:
        return "is a name of Docker Hub that no image has", "Write docker.io"
    if "/" in host:
        return "has a path: a login is for a whole registry", "Write %s" % host.split("/", 1)[0]
    if not _HOST.fullmatch(host):
        return "is not the name of a host", "Write it like nvcr.io or registry.example:5000"
    return None
