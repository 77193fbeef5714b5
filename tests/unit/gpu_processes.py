# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A /proc in files below a folder, for the tests of who uses the GPUs. What it writes is ours, not recorded."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import sys
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.gpu_idle import Node
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command, Stat
from ansible_collections.goldennode.gpu.tests.unit import rooted

DEVICES = "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n508 nvidia-uvm\n\nBlock devices:\n"
STAT = "%d (%s) %s %d 4711 4711 0 -1 %d 0 0 0 0 %d 0 0 0 20 0 1 0 %d 1000 100 1\n"
STATUS = "Name:\t%s\nState:\tS (sleeping)\nUid:\t%d\t%d\t%d\t%d\n"
KERNEL_THREAD = 0x00200040


class FakeNode(rooted.Rooted, Node):
    """``own`` is the number of the module that looks. The clock moves when it sleeps, and each sleep calls ``then``."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.own = 900
        self.clock = 0.0
        self.sent: t.List[t.Tuple[int, int]] = []
        self.immune: t.Set[int] = set()
        self.children = 0
        self.hangs: t.Optional[str] = None
        self.unreadable: t.Dict[str, str] = {}
        self.majors: t.Dict[str, Stat] = {}
        self.then: t.Callable[[], None] = lambda: None
        self.put("/proc/devices", DEVICES)
        self.put("/proc/1/cgroup", "0::/init.scope\n")
        self.put("/etc/passwd", "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\nbroken\n")
        (root / "dev").mkdir()
        self.start(1, "systemd", cgroup="/init.scope", uid=0)
        self.start(900, "python3", parent=1, uid=0)

    def put(self, path: str, text: str) -> None:
        real = pathlib.Path(self.real(path))
        real.parent.mkdir(parents=True, exist_ok=True)
        real.write_text(text)

    def start(
        self,
        pid: int,
        program: str,
        *opened: str,
        cgroup: str = "/user.slice/user-1000.slice/session-3.scope",
        uid: int = 1000,
        state: str = "S",
        parent: int = 1,
        begun: int = 100,
        ticks: int = 7,
        flags: int = 0x400000,
        maps: t.Optional[str] = "",
    ) -> None:
        folder = "/proc/%d" % pid
        shutil.rmtree(self.real(folder), ignore_errors=True)
        self.put(folder + "/stat", STAT % (pid, program, state, parent, flags, ticks, begun))
        self.put(folder + "/comm", program + "\n")
        self.put(folder + "/status", STATUS % (program, uid, uid, uid, uid))
        self.put(folder + "/cgroup", "0::%s\n" % cgroup)
        if maps is not None:
            self.put(folder + "/maps", maps)
        os.mkdir(self.real(folder + "/fd"))
        for number, path in enumerate(("/dev/null", "pipe:[17]", *opened)):
            os.symlink(path, self.real("%s/fd/%d" % (folder, number)))

    def end(self, pid: int) -> None:
        shutil.rmtree(self.real("/proc/%d" % pid))

    # What the look asks

    def readlink(self, path):
        return super().readlink(self.real(path))

    def stat(self, path):
        if "/fd/" in path:
            return Reading(self.majors.get(path, Stat("char", 0o666, 0, 0, 0, 0, 1, 3)))
        return super().stat(path)

    def listdir(self, path):
        if path in self.unreadable:
            return Reading.unknown("%s could not be read: %s" % (path, self.unreadable[path]))
        return super().listdir(path)

    def run(self, argv, timeout, unprivileged=False, groups=(), where="host"):
        """The child as it is, with our /proc in place of the kernel's."""
        words = list(argv)
        assert words[:3] == ["python3", "-I", "-c"]
        assert words[4] == "/proc"
        self.children += 1
        numbers = words[5:]
        if self.hangs in numbers:
            done = numbers[: numbers.index(self.hangs)]
            said = self._child(words[3], done).stdout.replace("end\n", "")
            error = "python3 gave no answer within %g s and was killed (pid 5)" % timeout
            return Command(where, tuple(argv), None, said + "at %s\n" % self.hangs, timed_out=True, pid=5, error=error)
        return self._child(words[3], numbers)

    def _child(self, source: str, numbers: t.Sequence[str]) -> Command:
        return Node().run([sys.executable, "-I", "-c", source, self.real("/proc"), *numbers], 30)

    # What it does

    def own_pid(self):
        return self.own

    def signal(self, pid, start, number):
        if self.started(pid) != start:
            return False
        self.sent.append((pid, int(number)))
        if pid not in self.immune:
            with contextlib.suppress(FileNotFoundError):
                self.end(pid)
        return True

    def monotonic(self):
        return self.clock

    def sleep(self, seconds):
        assert seconds > 0
        self.clock += seconds
        self.then()
