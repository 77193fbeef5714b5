# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unload the NVIDIA kernel modules where nothing uses them and load those on the disk, in place of a reboot.

Everything that could refuse is asked before anything is taken out: half unloaded is worse than not at all, as a part of
the new version does not load beside the old rest. Services that were stopped are started again whatever happens.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .probe import nodes
from .system import System, SystemFailure, known, said

#: In the order in which they can be taken out.
MODULES = ("nvidia_drm", "nvidia_modeset", "nvidia_peermem", "nvidia_uvm", "nvidia")

#: NVIDIA's own services that keep the GPUs open without using them.
SERVICES = ("nvidia-dcgm.service", "nvidia-persistenced.service", "nvidia-fabricmanager.service")

#: Loads nvidia and nvidia-uvm and makes their nodes.
LOADER = "goldennode-uvm.service"

#: While the first is active, the second is due whenever another driver was loaded. Ours are there for older toolkits.
_CDI = (
    ("nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service"),
    ("goldennode-cdi-refresh.path", "goldennode-cdi-refresh.service"),
)

_MAJORS = "nvidia"  # the beginning of their names in /proc/devices

#: Where nodes of devices are, in a container too.
_DEVICES = "/dev/"
_ASK_SECONDS = 20.0


@dataclasses.dataclass(frozen=True)
class Result:
    """``refused`` says why the modules were not loaded anew, or what failed; "" when they were.

    ``changed`` without ``reloaded``: the old ones are out, and the new ones did not come in.
    """

    changed: bool
    reloaded: bool
    refused: str = ""
    stopped: t.Tuple[str, ...] = ()


def reload(system: System, timeout: float, check_mode: bool = False) -> Result:
    """``timeout`` is in seconds, for each command that stops, unloads, loads or starts."""
    loaded = [name for name in MODULES if known(system.stat("/sys/module/" + name)) is not None]
    active = [unit for unit in SERVICES if _is(system, "active", unit)]
    refused = "the module nvidia is not loaded" if "nvidia" not in loaded else _used(system, loaded, active)
    if refused or check_mode:
        return Result(check_mode and not refused, False, refused)
    return _Reload(system, timeout, loaded, active).run()


class _Reload:
    """One go at it, once nothing but our own services is in the way."""

    def __init__(self, system: System, timeout: float, loaded: t.Sequence[str], active: t.Sequence[str]) -> None:
        self._system = system
        self._timeout = timeout
        self._loaded = loaded
        self._active = active
        # One that is enabled and does not run has failed for the old driver's sake, and would run after a reboot.
        self._wanted = [unit for unit in SERVICES if unit in active or _is(system, "enabled", unit)]
        self._cdi = [service for watch, service in _CDI if _is(system, "active", watch)]

    def run(self) -> Result:
        gone: t.List[str] = []
        problems: t.List[str] = []
        try:
            problems = self._stop() or self._take_out(gone)
        finally:
            # Also after an error that nobody expected: what was stopped must not stay so.
            problems += self._bring_in(gone)
        return Result(bool(gone), bool(gone) and not problems, "; ".join(problems), tuple(self._active))

    def _stop(self) -> t.List[str]:
        failed = self._do(["systemctl", "stop", *self._active]) if self._active else []
        if failed:
            return failed
        # Now that the services are gone, whoever is left is somebody else's.
        used = _used(self._system, self._loaded, ())
        return [used] if used else _references(self._system, self._loaded)

    def _take_out(self, gone: t.List[str]) -> t.List[str]:
        """By the names that the kernel has for them: an alias or a command of modprobe.d could mean others."""
        for name in self._loaded:
            failed = self._do(["rmmod", name])
            if failed:
                return failed
            gone.append(name)
        return []

    def _bring_in(self, gone: t.Sequence[str]) -> t.List[str]:
        failed: t.List[str] = []
        if gone:
            failed += self._do(["systemctl", "restart", LOADER])
            # In the order in which they need each other; the loader has brought in two of them.
            failed += [words for name in reversed(gone) for words in self._do(["modprobe", name.replace("_", "-")])]
        for unit in reversed(self._wanted if gone else self._active):
            failed += self._do(["systemctl", "start", unit])
        for unit in self._cdi if gone else ():
            failed += self._do(["systemctl", "restart", unit])
        return failed

    def _do(self, argv: t.Sequence[str]) -> t.List[str]:
        command = self._system.run(argv, self._timeout)
        return [] if command.rc == 0 else [said(command)]


def _is(system: System, state: str, unit: str) -> bool:
    """:arg state: active or enabled"""
    command = system.run(["systemctl", "is-" + state, unit], _ASK_SECONDS)
    if command.error is not None:
        raise SystemFailure(command.error)
    return command.stdout.strip() == state


def _used(system: System, loaded: t.Sequence[str], services: t.Sequence[str]) -> str:
    """Who uses the GPUs besides the services, in words; "" when nobody does."""
    others = [
        "%s, which needs %s" % (other, name)
        for name in loaded
        for other in sorted(_holders(system, name))
        if other not in MODULES
    ]
    if others:
        return "another module is loaded: %s" % ", ".join(others)
    users = list(_users(system, services))
    return "in use: %s" % "; ".join(users) if users else ""


def _holders(system: System, module: str) -> t.List[str]:
    """The loaded modules that need this one."""
    names = known(system.listdir("/sys/module/%s/holders" % module))
    return list(names or ())


def _users(system: System, services: t.Sequence[str]) -> t.Iterator[str]:
    """Each process that has a device node of the driver open, by name and number."""
    paths = {(node.major, node.minor): node.path for node in known(nodes.device_nodes(system)) or ()}
    majors = {number for name, number in (known(nodes.device_majors(system)) or {}).items() if name.startswith(_MAJORS)}
    for pid in known(system.listdir("/proc")) or {}:
        if not pid.isdigit():
            continue
        folder = "/proc/%s" % pid
        names = system.listdir(folder + "/fd")
        if not names.known and known(system.stat(folder)) is not None:
            yield "it is not known what process %s has open (%s)" % (pid, names.error)
        opened = {number for number in _open_devices(system, folder, names.value or ()) if number[0] in majors}
        if opened and not _of_service(system, folder, services):
            comm = (system.read(folder + "/comm").value or "a process").strip()
            what = ", ".join(sorted(paths.get(number, "device %d:%d" % number) for number in opened))
            yield "%s (pid %s) has %s open" % (comm, pid, what)


def _open_devices(system: System, folder: str, names: t.Iterable[str]) -> t.Iterator[t.Tuple[int, int]]:
    """The numbers of the character devices behind these descriptors: in a container the node may have another name.

    Only what lies below /dev is looked at itself: to follow a descriptor asks the file system behind it, and one whose
    server is gone never answers. A node that is elsewhere still counts as a use of the module (``_references``).
    """
    for name in names:
        path = "%s/fd/%s" % (folder, name)
        if (system.readlink(path).value or "").startswith(_DEVICES):
            there = system.stat(path).value
            if there is not None and there.kind == "char":
                yield there.major, there.minor


def _of_service(system: System, folder: str, services: t.Sequence[str]) -> bool:
    group = system.read(folder + "/cgroup").value or ""
    return any(line.endswith("/" + unit) for line in group.splitlines() for unit in services)


def _references(system: System, loaded: t.Sequence[str]) -> t.List[str]:
    """Uses of a module that are no open node: a console, memory that is still mapped."""
    found = []
    for name in loaded:
        count = (known(system.read("/sys/module/%s/refcnt" % name)) or "").strip()
        holders = len(_holders(system, name))
        if count.lstrip("-").isdigit() and int(count) > holders:
            found.append(
                "the module %s is in use %d times, by no process that can be named" % (name, int(count) - holders)
            )
    return found
