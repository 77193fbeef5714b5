# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who uses the GPUs now: processes that have a device node of the driver open or mapped, in containers too.

Files of /proc alone, so that nothing of NVIDIA's is called, which may hang or make nodes. What could not be read is
said and never taken for unused.
"""

from __future__ import annotations

import dataclasses
import typing as t

from . import mapped_nodes, process_text
from .model import Reading
from .probe import children, nodes
from .system import System, known

#: They keep the GPUs open and compute nothing; who changes the driver stops and starts them. DCGM's engine is one of
#: them: it only measures. One of these programs that was started by hand is nobody's to start again, and a user.
SERVICES = (
    "nvidia-persistenced.service",
    "nvidia-fabricmanager.service",
    "nvlsm.service",
    "nvidia-imex.service",
    "nvidia-dcgm.service",
    "dcgm.service",
)

#: Services of this collection: the agent's look, which is over in a moment.
_OURS = "goldennode-"

#: DCGM's diagnosis, which its engine starts: work that somebody asked for.
_WORK = ("nvvs",)

_MAJORS = "nvidia"  # the beginning of their names in /proc/devices
_NAMES = "/dev/nvidia"
#: Only what lies below it is followed: another file's server may be gone, and never answer.
_DEVICES = "/dev/"

#: For the maps of all processes; a process at whose maps the child hung is left out, so often at most.
_MAP_SECONDS = 20.0
_HUNG_AT_MOST = 3


@dataclasses.dataclass(frozen=True)
class GpuUser:
    """A process on the GPUs. A number is given out again, and then with another ``start``; that and ``ticks``, what it
    has computed, are in the kernel's ticks. ``unit``: the service of systemd that it is of. ``container``: the id of
    its container.
    """

    pid: int
    start: int
    program: str
    user: str
    state: str
    nodes: t.Tuple[str, ...]
    container: str = ""
    unit: str = ""
    ticks: int = 0

    @property
    def label(self) -> str:
        """For people: which process, whose, and where it is to be found."""
        place = ", in container %s" % self.container[:12] if self.container else ""
        place += ", of %s" % self.unit if self.unit else ""
        return "%s (pid %d, user %s%s)" % (self.program, self.pid, self.user, place)

    @property
    def is_stuck(self) -> bool:
        """In the kernel, where no signal reaches it (D state)."""
        return self.state == "D"


@dataclasses.dataclass(frozen=True)
class Users:
    """``services`` are the node's own and no users. ``unknown``: of whom it could not be read, in words."""

    users: t.Tuple[GpuUser, ...] = ()
    services: t.Tuple[GpuUser, ...] = ()
    unknown: t.Tuple[str, ...] = ()

    @property
    def idle(self) -> bool:
        return not self.users and not self.unknown


def look(system: System) -> Users:
    """:raises SystemFailure: where the processes or the driver's numbers of devices cannot be listed"""
    return _Look(system).run()


class _Look:
    """One go through /proc."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._paths = {(node.major, node.minor): node.path for node in known(nodes.device_nodes(system)) or ()}
        majors = known(nodes.device_majors(system)) or {}
        self._majors = {number for name, number in majors.items() if name.startswith(_MAJORS)}
        self._accounts = process_text.accounts(system.read("/etc/passwd").value or "")
        self._around = process_text.containers(system.read("/proc/1/cgroup").value or "")
        self._unknown: t.List[str] = []
        self._said: t.Set[int] = set()

    def run(self) -> Users:
        opened: t.Dict[int, t.Tuple[str, ...]] = {}
        others: t.List[int] = []
        starts: t.Dict[int, int] = {}
        for pid in sorted(int(name) for name in known(self._system.listdir("/proc")) or () if name.isdigit()):
            stat = self._stat(pid)
            if stat is None or stat.of_kernel:
                continue
            starts[pid] = stat.start
            names = self._open(pid, stat)
            if names:
                opened[pid] = names
            else:
                others.append(pid)
        opened.update(self._mapped(others))
        described = (self._user(pid, starts[pid], names) for pid, names in sorted(opened.items()))
        found = [one for one in described if one is not None]
        own = [one for one in found if _is_own(one)]
        return Users(tuple(one for one in found if one not in own), tuple(own), tuple(self._unknown))

    def _stat(self, pid: int) -> t.Optional[process_text.Process]:
        """None where the process has ended, or where it is said that it is not known."""
        text = self._system.read("/proc/%d/stat" % pid)
        stat = process_text.process(text.value) if text.value is not None else Reading.unknown(text.error or "")
        if stat.value is None and not self._has_ended(pid):
            self._say(pid, stat.error or "")
        return stat.value

    def _has_ended(self, pid: int) -> bool:
        there = self._system.stat("/proc/%d" % pid)
        return there.known and there.value is None

    def _say(self, pid: int, why: str) -> None:
        """Once of each: who may not look at its descriptors may not look at its memory either."""
        if pid in self._said:
            return
        self._said.add(pid)
        program = (self._system.read("/proc/%d/comm" % pid).value or "").strip()
        self._unknown.append("whether process %d%s uses a GPU (%s)" % (pid, program and " (%s)" % program, why))

    def _open(self, pid: int, stat: process_text.Process) -> t.Tuple[str, ...]:
        folders = ["/proc/%d" % pid]
        if stat.state == "Z":  # its first thread has ended: what the others have open is seen at these alone
            tasks = self._system.listdir("/proc/%d/task" % pid).value or {}
            folders += ["/proc/%d/task/%s" % (pid, task) for task in tasks if task != str(pid)]
        found: t.Dict[str, None] = {}
        for folder in folders:
            names = self._system.listdir(folder + "/fd")
            if not names.known and not self._has_ended(pid):
                self._say(pid, names.error or "")
            for name in names.value or ():
                path = self._node("%s/fd/%s" % (folder, name))
                if path.value:
                    found[path.value] = None
                elif not path.known and not self._has_ended(pid):
                    self._say(pid, path.error or "")
        return tuple(sorted(found))

    def _node(self, path: str) -> Reading[str]:
        """The node of the driver's that a descriptor is of, None for any other. In a container it may have any name."""
        link = self._system.readlink(path)
        name = (link.value or "").replace(" (deleted)", "")
        if name.startswith(_NAMES) or not name.startswith(_DEVICES):
            return Reading(name if name.startswith(_NAMES) else None, link.error)
        there = self._system.stat(path)
        if there.value is None or there.value.kind != "char" or there.value.major not in self._majors:
            return Reading(None, there.error)
        number = (there.value.major, there.value.minor)
        return Reading(self._paths.get(number, "device %d:%d" % number))

    def _mapped(self, pids: t.Sequence[int]) -> t.Dict[int, t.Tuple[str, ...]]:
        """Of those that have no node open: it may be closed and still in use."""
        found: t.Dict[int, t.Tuple[str, ...]] = {}
        left = list(pids)
        for _go in range(_HUNG_AT_MOST + 1):
            if not left:
                return found
            argv = ["python3", "-I", "-c", children.source(mapped_nodes), "/proc", *map(str, left)]
            command = self._system.run(argv, _MAP_SECONDS)
            said = process_text.mapped(command.stdout)
            found.update(said.nodes)
            for pid, why in said.errors.items():
                if not self._has_ended(pid):
                    self._say(pid, "its maps could not be read: %s" % why)
            if said.ended:
                return found
            if said.hung not in left or not command.timed_out:
                self._unknown.append("what %d processes have mapped (%s)" % (len(left), command.error or "no end"))
                return found
            self._say(said.hung, "its maps gave no answer within %g s" % _MAP_SECONDS)
            left = left[left.index(said.hung) + 1 :]
        if left:
            self._unknown.append("what %d more processes have mapped (the maps of others hang)" % len(left))
        return found

    def _user(self, pid: int, start: int, names: t.Tuple[str, ...]) -> t.Optional[GpuUser]:
        """None where it has ended meanwhile. Nothing of two processes that had one number is mixed."""
        status = self._system.read("/proc/%d/status" % pid).value or ""
        groups = self._system.read("/proc/%d/cgroup" % pid).value or ""
        stat = self._stat(pid)
        if stat is not None and stat.start != start:
            self._say(pid, "another process had this number when it was looked at")
            return None
        return None if stat is None else self._describe(pid, stat, names, status, groups)

    def _describe(
        self, pid: int, stat: process_text.Process, names: t.Tuple[str, ...], status: str, groups: str
    ) -> GpuUser:
        uid = process_text.owner(status)
        inside = [one for one in process_text.containers(groups) if one not in self._around]
        return GpuUser(
            pid=pid,
            start=stat.start,
            program=stat.program,
            user="not known" if uid is None else self._accounts.get(uid, str(uid)),
            state=self._state(pid, stat),
            nodes=names,
            container=inside[0] if inside else "",
            unit="" if inside else process_text.unit(groups),
            ticks=stat.ticks,
        )

    def _state(self, pid: int, stat: process_text.Process) -> str:
        """Of one whose first thread has ended, or was killed, that of the threads which do not go."""
        if stat.state != "Z":
            return stat.state
        tasks = self._system.listdir("/proc/%d/task" % pid).value or {}
        texts = (self._system.read("/proc/%d/task/%s/stat" % (pid, task)).value or "" for task in tasks)
        states = [one.value.state for one in map(process_text.process, texts) if one.value is not None]
        return "D" if "D" in states else stat.state


def _is_own(user: GpuUser) -> bool:
    return (user.unit in SERVICES or user.unit.startswith(_OURS)) and user.program not in _WORK
