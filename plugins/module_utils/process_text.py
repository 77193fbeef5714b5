# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes as the kernel writes of them in /proc, and what the child ``mapped_nodes`` says of their memory. Pure."""

from __future__ import annotations

import re
import typing as t

from .model import Reading

#: Of a kernel thread, in the flags of /proc/PID/stat (PF_KTHREAD).
_KERNEL_THREAD = 0x00200000

#: Fields of stat, counted behind the name, which may itself have blanks and brackets.
_PARENT, _FLAGS, _IN_USER, _IN_KERNEL, _START = 1, 6, 11, 12, 19

_CONTAINER = re.compile(r"(?:^|[/:-])([0-9a-f]{64})(?=\.scope|/|$)")
_UID = re.compile(r"^Uid:\s+(\d{1,10})\b", re.MULTILINE)


class Process(t.NamedTuple):
    """``start`` is when it began, in the kernel's ticks since the boot: with the number it names one process.

    ``ticks`` is what all its threads have computed.
    """

    program: str
    state: str
    parent: int
    start: int
    ticks: int = 0
    of_kernel: bool = False


class Mapped(t.NamedTuple):
    """``nodes``: by process, what it has mapped of the driver's. ``hung``: at whose maps the child gave no answer."""

    nodes: t.Dict[int, t.Tuple[str, ...]]
    errors: t.Dict[int, str]
    ended: bool
    hung: t.Optional[int] = None


def process(text: str) -> Reading[Process]:
    """/proc/PID/stat."""
    head, bracket, rest = text.rpartition(")")
    fields = rest.split()
    numbers = [fields[at] for at in (_PARENT, _FLAGS, _IN_USER, _IN_KERNEL, _START)] if len(fields) > _START else []
    if not bracket or "(" not in head or not numbers or not all(re.match(r"^[0-9]{1,20}$", one) for one in numbers):
        return Reading.unknown("its stat is not understood: %r" % text[:80])
    parent, flags, in_user, in_kernel, start = (int(one) for one in numbers)
    of_kernel = bool(flags & _KERNEL_THREAD)
    return Reading(Process(head.partition("(")[2], fields[0], parent, start, in_user + in_kernel, of_kernel))


def owner(text: str) -> t.Optional[int]:
    """The user of /proc/PID/status; None where it does not say."""
    match = _UID.search(text)
    return int(match.group(1)) if match else None


def accounts(text: str) -> t.Dict[int, str]:
    """The names of users in /etc/passwd, by number. The first of several counts, as it does for everybody else."""
    found: t.Dict[int, str] = {}
    for line in text.splitlines():
        fields = line.split(":")
        if len(fields) >= 3 and re.match(r"^[0-9]{1,10}$", fields[2]):
            found.setdefault(int(fields[2]), fields[0])
    return found


def containers(text: str) -> t.Tuple[str, ...]:
    """The ids of containers in /proc/PID/cgroup, from the outermost on: of Docker, containerd, CRI-O and Podman."""
    found = (one for line in text.splitlines() for one in _CONTAINER.findall(line.partition(":")[2]))
    return tuple(dict.fromkeys(found))


def unit(text: str) -> str:
    """The service of the system in /proc/PID/cgroup that the process is of; "" for one of a session or a container."""
    for line in text.splitlines():
        _before, slash, below = line.rpartition("/system.slice/")
        for name in below.split("/") if slash else ():
            if name.endswith(".service"):
                return name
    return ""


def mapped(text: str) -> Mapped:
    """What ``mapped_nodes`` printed, also as far as it came. Lines that are not its own are left out."""
    nodes: t.Dict[int, t.Tuple[str, ...]] = {}
    errors: t.Dict[int, str] = {}
    at, ended = None, False
    for line in text.splitlines():
        kind, _blank, rest = line.partition(" ")
        number, _blank, words = rest.partition(" ")
        if kind == "end":
            ended = True
        elif not re.match(r"^[0-9]{1,10}$", number):
            continue
        elif kind == "at":
            at = int(number)
        elif kind == "has":
            nodes[int(number)] = tuple(dict.fromkeys((*nodes.get(int(number), ()), words)))
        elif kind == "not":
            errors[int(number)] = words
    return Mapped(nodes, errors, ended, None if ended else at)
