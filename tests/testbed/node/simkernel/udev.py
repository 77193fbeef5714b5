# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays udevd, which has nothing to listen to in a container: the node's rules for the events that GPU modules cause.

Only what such rules use is played: matches on the event, on files of the device in sysfs (ATTR), on the presence of a
file (TEST), RUN, and the units that a device wants (SYSTEMD_WANTS). nvidia-uvm registers its character devices without
a device class, so the kernel announces the module and never /dev/nvidia-uvm, here as in life: GROUP= or MODE= for
KERNEL=="nvidia-uvm" does nothing.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import subprocess
import time
import typing as t
from pathlib import Path

from .machine import RUN
from .views import PCI_DEVICES, PCI_DRIVERS, SYS_MODULE

#: Events that wait, a file for each; their names sort by age.
QUEUE = RUN / "uevents"

#: A file in an earlier directory hides its namesake in a later one.
RULES = (Path("/etc/udev/rules.d"), Path("/run/udev/rules.d"), Path("/usr/lib/udev/rules.d"))
TOKEN = re.compile(
    r'(?P<key>[A-Z]+)(?:\{(?P<attribute>[^}]*)\})?\s*(?P<operator>==|!=|\+=|:=|=)\s*"(?P<value>(?:[^"\\]|\\.)*)"'
)


class Event(t.NamedTuple):
    """What the kernel says, and the directory in sysfs that it speaks of."""

    values: t.Dict[str, str]
    directory: str


def announce_module(name: str) -> None:
    values = {"ACTION": "add", "SUBSYSTEM": "module", "KERNEL": name, "DEVPATH": "/module/" + name}
    _queue(Event(values, str(SYS_MODULE / name)))


def announce_driver(name: str) -> None:
    path = "/bus/pci/drivers/" + name
    values = {"ACTION": "add", "SUBSYSTEM": "drivers", "KERNEL": name, "DEVPATH": path}
    _queue(Event(values, str(PCI_DRIVERS / name)))


def announce_bound(address: str, driver: str) -> None:
    path = "/bus/pci/devices/" + address
    values = {"ACTION": "bind", "SUBSYSTEM": "pci", "KERNEL": address, "DRIVER": driver, "DEVPATH": path}
    _queue(Event(values, str(PCI_DEVICES / address)))


def _queue(event: Event) -> None:
    """udevd works beside whoever loaded a module: simkernel-udev.path sees the file and starts play()."""
    QUEUE.mkdir(exist_ok=True)
    name = "%020d" % time.monotonic_ns()
    partial = QUEUE.with_name(name)
    partial.write_text(json.dumps(event))
    partial.rename(QUEUE / name)


def play(_arguments: t.Sequence[str]) -> int:
    """Work off the queue, one event after the other."""
    for file in sorted(QUEUE.iterdir()):
        event = Event(*json.loads(file.read_text()))
        file.unlink()
        # As udevd does: first all rules, then what they ask for.
        for command in [command for line in _rule_lines() for command in _commands(line, event)]:
            subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
    return 0


def _rule_lines() -> t.Iterator[str]:
    for path in _rule_files():
        for line in path.read_text().replace("\\\n", " ").splitlines():
            if ("RUN" in line or "SYSTEMD_WANTS" in line) and not line.lstrip().startswith("#"):
                yield line


def _rule_files() -> t.List[Path]:
    found: t.Dict[str, Path] = {}
    for directory in reversed(RULES):
        found.update((path.name, path) for path in directory.glob("*.rules"))
    return [found[name] for name in sorted(found)]


def _commands(line: str, event: Event) -> t.Iterator[t.List[str]]:
    tokens = list(TOKEN.finditer(line))
    matches = [token for token in tokens if token["operator"] in ("==", "!=")]
    if not matches or not all(_holds(token, event) for token in matches):
        return
    for token in tokens:
        if token["key"] == "RUN" and token["attribute"] in (None, "program"):
            program, *arguments = shlex.split(token["value"].replace("%k", event.values["KERNEL"]))
            yield [os.path.join("/usr/lib/udev", program), *arguments]
        elif token["key"] == "ENV" and token["attribute"] == "SYSTEMD_WANTS":
            yield [
                "systemctl",
                "--no-block",
                "start",
                *map("simkernel-wants@{}.service".format, token["value"].split()),
            ]


def _holds(token: t.Match[str], event: Event) -> bool:
    """A match on something that is not played (an environment, a parent) does not hold: the rule is left out."""
    wanted = token["operator"] == "=="
    if token["key"] == "TEST":
        return os.path.exists(os.path.join(event.directory, token["value"])) == wanted
    if token["key"] == "ATTR":
        file = Path(event.directory, token["attribute"] or "")
        value: t.Optional[str] = file.read_text().strip() if file.is_file() else None
    else:
        value = None if token["attribute"] else event.values.get(token["key"])
    if value is None:
        return False
    return any(fnmatch.fnmatchcase(value, pattern) for pattern in token["value"].split("|")) == wanted
