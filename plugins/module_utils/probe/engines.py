# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which container engines the node has, and what their settings say of GPUs.

Programs and settings are files. A process is started only for an engine beside Docker that is there: ``--version`` of
it, and one question to systemd. Of users' own engines only the sockets are looked for, in /run, which is in memory.
"""

from __future__ import annotations

import fnmatch
import typing as t

from ..model import ContainerEngine, Engines, Reading
from ..parse import engine_settings, systemctl_show, toolkit_config
from .host import PATH, Host

#: The program of each engine, and the unit that runs it.
PROGRAMS = {
    "docker": "dockerd",
    "podman": "podman",
    "containerd": "containerd",
    "crio": "crio",
    "cri-dockerd": "cri-dockerd",  # through which Kubernetes asks Docker
}
UNITS = {"podman": "podman.socket", "containerd": "containerd.service", "crio": "crio.service"}
#: Programs that run Kubernetes on a node.
KUBELETS = ("kubelet", "k3s", "rke2")

CONTAINERD = "/etc/containerd/config.toml"
CONTAINERD_DROP_INS = "/etc/containerd/conf.d"
CRIO = ("/etc/crio/crio.conf", "/etc/crio/crio.conf.d")
PODMAN = (
    "/usr/share/containers/containers.conf",
    "/etc/containers/containers.conf",
    "/etc/containers/containers.conf.d",
)
HOOKS = ("/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d")
RUN_USER = "/run/user"
ROOTLESS = ("docker.sock", "podman/podman.sock")

_SECONDS = 10.0
_MOST_FILES = 64

Parser = t.Callable[[ContainerEngine, t.Sequence[t.Mapping[str, t.Any]]], ContainerEngine]


class _Unreadable(Exception):
    """Settings that are there and cannot be read or understood."""


def engines(host: Host) -> Reading[Engines]:
    try:
        found = dict(_programs(host))
        kubelet = next((found[name] for name in KUBELETS if name in found), "")
        there = [_engine(host, name, found[program], kubelet) for name, program in PROGRAMS.items() if program in found]
        hooks = _hooks(host) if "podman" in found or "crio" in found else ()
        return Reading(Engines(_running(host, there, kubelet), hooks, kubelet, _rootless(host)))
    except _Unreadable as error:
        return Reading.unknown(str(error))


def _programs(host: Host) -> t.Iterator[t.Tuple[str, str]]:
    """The first of each in the path, which is the one that would be run."""
    for name in (*PROGRAMS.values(), *KUBELETS):
        for folder in PATH.split(":"):
            path = "%s/%s" % (folder, name)
            entry = host.stat(path)
            if not entry.known:
                raise _Unreadable(entry.error)
            if entry.value is not None and entry.value.kind == "file" and entry.value.mode & 0o111:
                yield name, path
                break


def _engine(host: Host, name: str, path: str, kubelet: str) -> ContainerEngine:
    """Docker's version and settings are read elsewhere. Of containerd they matter where Kubernetes asks it for GPUs."""
    engine = ContainerEngine(name, path)
    if name in ("docker", "cri-dockerd"):
        return engine
    if name != "containerd" or kubelet:
        told = host.run([PROGRAMS[name], "--version"], _SECONDS)
        if told.rc == 0:
            engine = ContainerEngine(name, path, engine_settings.version(told.stdout))
    try:
        return _with_settings(host, engine)
    except _Unreadable as error:
        return ContainerEngine(name, path, engine.version, error=str(error))


def _with_settings(host: Host, engine: ContainerEngine) -> ContainerEngine:
    parser: Parser
    if engine.name == "containerd":
        parser, files = engine_settings.containerd, _containerd(host)
    elif engine.name == "crio":
        parser, files = engine_settings.crio, _files(host, [CRIO[0], *_in(host, CRIO[1], "*.conf")])
    else:
        parser, files = engine_settings.podman, _files(host, [*PODMAN[:2], *_in(host, PODMAN[2], "*.conf")])
    found = parser(engine, [settings for _path, settings in files])
    return ContainerEngine(**{**found.__dict__, "files": tuple(path for path, _settings in files)})


def _containerd(host: Host) -> t.List[t.Tuple[str, t.Dict[str, t.Any]]]:
    """The main file and what it imports, once: what an imported file imports itself is left to containerd.

    Where there is no main file, the newest containerd reads its drop-ins all the same.
    """
    main = _files(host, [CONTAINERD])
    patterns = engine_settings.imports(main[0][1]) if main else (CONTAINERD_DROP_INS + "/*.toml",)
    paths: t.List[str] = []
    for pattern in patterns:
        full = pattern if pattern.startswith("/") else "%s/%s" % (CONTAINERD.rpartition("/")[0], pattern)
        folder, _slash, last = full.rpartition("/")
        paths += _in(host, folder, last) if set(last) & set("*?[") else [full]
    return main + _files(host, [path for path in paths if path != CONTAINERD])


def _in(host: Host, folder: str, pattern: str) -> t.List[str]:
    entries = host.listdir(folder)
    if not entries.known:
        raise _Unreadable(entries.error)
    names = [name for name in entries.value or {} if fnmatch.fnmatchcase(name, pattern)]
    return ["%s/%s" % (folder, name) for name in names[:_MOST_FILES]]


def _files(host: Host, paths: t.Iterable[str]) -> t.List[t.Tuple[str, t.Dict[str, t.Any]]]:
    """Those that are there, in this order."""
    found: t.List[t.Tuple[str, t.Dict[str, t.Any]]] = []
    for path in dict.fromkeys(paths):
        raw = host.read_bytes(path)
        settings = toolkit_config.parse(raw.value, path) if raw.known else Reading.unknown(raw.error or "")
        if settings.value is None:
            raise _Unreadable(settings.error)
        if raw.value is not None:
            found.append((path, settings.value))
    return found


def _hooks(host: Host) -> t.Tuple[str, ...]:
    found: t.List[str] = []
    for folder in HOOKS:
        for path in _in(host, folder, "*.json"):
            text = host.read(path)
            if not text.known:
                raise _Unreadable(text.error)
            if engine_settings.is_hook(text.value or ""):
                found.append(path)
    return tuple(found)


def _running(host: Host, there: t.Sequence[ContainerEngine], kubelet: str) -> t.Tuple[ContainerEngine, ...]:
    """With whether each runs. On a node with Docker alone nothing is asked: its units are read elsewhere."""
    names = {UNITS[engine.name]: engine.name for engine in there if engine.name in UNITS}
    if not names or (not kubelet and set(names.values()) <= {"containerd"}):
        return tuple(there)
    properties = "--property=%s" % ",".join(systemctl_show.PROPERTIES)
    told = host.run(["systemctl", "show", "--timestamp=us+utc", properties, *sorted(names)], _SECONDS)
    units = systemctl_show.parse(told.stdout, told.error or told.stderr, told.rc).value or {}
    active = {names[unit.name]: unit.active == "active" for unit in units.values() if unit.name in names}
    return tuple(ContainerEngine(**{**engine.__dict__, "active": active.get(engine.name)}) for engine in there)


def _rootless(host: Host) -> Reading[t.Dict[str, t.Tuple[str, ...]]]:
    """Only places in memory, which no user's server can keep waiting. Another user than root may not look there."""
    entries = host.listdir(RUN_USER)
    if not entries.known:
        return Reading.unknown(entries.error or "")
    found: t.Dict[str, t.Tuple[str, ...]] = {}
    for uid in entries.value or {}:
        for name in ROOTLESS if uid.isdigit() and uid != "0" else ():
            path = "%s/%s/%s" % (RUN_USER, uid, name)
            entry = host.stat(path)
            if not entry.known:
                return Reading.unknown(entry.error or "")
            if entry.value is not None and entry.value.kind == "socket":
                found[uid] = (*found.get(uid, ()), path)
    return Reading(found)
