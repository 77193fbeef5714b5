# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Have nobody on the GPUs: look, wait for programs to end, and by consent stop them.

A signal goes to the process that was seen and to no other that was given its number since. What hangs in the kernel
(D state) is named and not waited for. Refusing is the caller's: who is left is told.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import signal
import typing as t

from . import gpu_users, process_text
from .gpu_users import GpuUser, Users
from .system import System

#: Between two looks. One costs about as much as ps does.
POLL = 2.0

#: So many looks in a row in D state, with nothing computed: that is no slow disk.
STUCK_LOOKS = 5

#: For what SIGKILL has ended to be gone: the driver first takes back the memory of the GPUs.
KILL_WAIT = 20.0

#: More parents than any process has: a chain that is longer is none.
_PARENTS = 64

_INIT = 1


class Node(System):
    """The node, with processes that can be told to end."""

    def signal(self, pid: int, start: int, number: int) -> bool:
        """Whether it was sent. Not where the process has ended, also where another one has its number now."""
        try:
            handle: t.Optional[int] = os.pidfd_open(pid)
        except ProcessLookupError:
            return False
        except (AttributeError, OSError) as error:  # a Python built for a kernel before 5.3, or such a kernel
            if getattr(error, "errno", errno.ENOSYS) not in (errno.ENOSYS, errno.EPERM):
                raise
            handle = None
        try:
            # What the handle is of is held by it; so it is compared after it was opened, and cannot change then.
            if self.started(pid) != start:
                return False
            if handle is None:
                os.kill(pid, number)
            else:
                signal.pidfd_send_signal(handle, number)  # type: ignore[attr-defined,unused-ignore]
        except ProcessLookupError:
            return False
        finally:
            if handle is not None:
                os.close(handle)
        return True

    def started(self, pid: int) -> t.Optional[int]:
        stat = self.process(pid)
        return None if stat is None else stat.start

    def process(self, pid: int) -> t.Optional[process_text.Process]:
        text = self.read("/proc/%d/stat" % pid).value
        return None if text is None else process_text.process(text).value

    def own_pid(self) -> int:
        return os.getpid()


@dataclasses.dataclass(frozen=True)
class Wish:
    """``wait``: seconds for programs to end by themselves. ``stop``: the consent to end them, who then have ``grace``
    seconds between SIGTERM and SIGKILL.
    """

    wait: float = 0.0
    stop: bool = False
    grace: float = 30.0
    check_mode: bool = False


@dataclasses.dataclass(frozen=True)
class Result:
    """``stopped`` were sent a signal, or would be. ``busy`` says who is left and what to do; "" when nobody is."""

    changed: bool
    left: Users
    stopped: t.Tuple[GpuUser, ...] = ()
    busy: str = ""


def settle(node: Node, wish: Wish) -> Result:
    """:raises SystemFailure: where nothing can be said of the processes at all"""
    left = gpu_users.look(node)
    if not wish.check_mode:
        left = _wait(node, left, wish.wait)
    kept = _not_to_be_ended(node)
    targets = [one for one in left.users if one.pid not in kept] if wish.stop else []
    if wish.check_mode or not targets:
        return Result(bool(targets), left, tuple(targets), _words(left, wish, targets, kept))
    stopped: t.Dict[t.Tuple[int, int], GpuUser] = {}
    _send(node, targets, signal.SIGTERM, stopped)
    left = _wait(node, gpu_users.look(node), wish.grace)
    # Also who came while the others were ending: the children that a program leaves, say.
    _send(node, [one for one in left.users if one.pid not in kept], signal.SIGKILL, stopped)
    left = _wait(node, gpu_users.look(node), KILL_WAIT) if left.users else left
    return Result(bool(stopped), left, tuple(stopped.values()), _words(left, wish, list(stopped.values()), kept))


def _wait(node: Node, seen: Users, seconds: float) -> Users:
    """Who is left when nobody is, when the time is over, or when all that is left hangs in the kernel."""
    end, stuck, before = node.monotonic() + seconds, 0, Users()
    while not seen.idle:
        hangs = seen.users == before.users and all(one.is_stuck for one in seen.users)
        stuck = stuck + 1 if hangs and seen.users else 0
        rest = end - node.monotonic()
        if rest <= 0 or stuck >= STUCK_LOOKS:
            return seen
        node.sleep(min(POLL, rest))
        seen, before = gpu_users.look(node), seen
    return seen


def _not_to_be_ended(node: Node) -> t.Set[int]:
    """Init, ourselves, and who started us: with one of them this run would end, and the node with it."""
    found, pid = {_INIT}, node.own_pid()
    for _step in range(_PARENTS):
        if pid <= _INIT:
            break
        found.add(pid)
        stat = node.process(pid)
        pid = 0 if stat is None else stat.parent
    return found


def _send(node: Node, users: t.Iterable[GpuUser], number: int, stopped: t.Dict[t.Tuple[int, int], GpuUser]) -> None:
    for one in users:
        with contextlib.suppress(PermissionError):  # it is still there at the next look, and named
            if node.signal(one.pid, one.start, number):
                stopped.setdefault((one.pid, one.start), one)


def _words(left: Users, wish: Wish, stopped: t.Sequence[GpuUser], kept: t.Container[int]) -> str:
    would = {(one.pid, one.start) for one in stopped} if wish.check_mode else set()
    users = [one for one in left.users if (one.pid, one.start) not in would]
    said = ["%s has %s" % (one.label, ", ".join(one.nodes)) for one in users]
    said += ["it is not known %s" % words for words in left.unknown]
    if not said:
        return ""
    return "the GPUs are in use: %s. %s" % ("; ".join(said), " ".join(_advice(users, left, wish, stopped, kept)))


def _advice(
    users: t.Sequence[GpuUser], left: Users, wish: Wish, stopped: t.Sequence[GpuUser], kept: t.Container[int]
) -> t.Iterator[str]:
    """A sentence for each kind of those that are left."""
    ended = {(one.pid, one.start) for one in stopped}
    stuck = [one for one in users if one.is_stuck]
    if stuck:
        yield "%s hangs in the kernel (D state), where no signal reaches it: only a reboot ends it." % _numbers(stuck)
    mine = [one for one in users if one.pid in kept]
    if mine:
        yield "%s is never stopped: it is the node's init, or this run's own: end what it does with the GPUs." % (
            _numbers(mine)
        )
    others = [one for one in users if one not in stuck and one not in mine]
    came = [one for one in others if stopped and (one.pid, one.start) not in ended]
    if came:
        yield "%s came after others were stopped: stop what starts it (%s)." % (_numbers(came), _starters(came))
    stayed = [one for one in others if (one.pid, one.start) in ended]
    if stayed:
        yield "%s was sent SIGKILL and is still there: look at /proc/PID/stack." % _numbers(stayed)
    if others and not wish.stop:
        yield "Wait for them to end, or stop them (%s)." % _starters(others)
    if left.unknown:
        yield (
            "What is not known counts as used: run it as root with all of root's rights (CAP_SYS_PTRACE), and look at "
            "those processes with ls -l /proc/PID/fd."
        )


def _numbers(users: t.Iterable[GpuUser]) -> str:
    return "pid " + ", ".join(str(one.pid) for one in users)


def _starters(users: t.Iterable[GpuUser]) -> str:
    """What to type, of each once."""
    commands: t.Dict[str, None] = {}
    for one in users:
        if one.container:
            commands["docker stop %s" % one.container[:12]] = None
        elif one.unit:
            commands["systemctl stop %s" % one.unit] = None
        else:
            commands["kill %d" % one.pid] = None
    return "; ".join(commands)
