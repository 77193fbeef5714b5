# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays udevd, which has nothing to listen to in a container: the rules of the node for events that GPU modules cause.

Only what such rules use is played: matches on ACTION, SUBSYSTEM, KERNEL and DRIVER, and RUN+=. nvidia-uvm registers its
character devices without a device class, so there is no event for /dev/nvidia-uvm, here as in life: a rule with
GROUP= or MODE= for KERNEL=="nvidia-uvm" does nothing.
"""

from __future__ import annotations

import fnmatch
import re
import shlex
import subprocess
import typing as t
from pathlib import Path

from .machine import present_devices
from .views import driver_of

#: A file in an earlier directory hides its namesake in a later one.
RULES = (Path("/etc/udev/rules.d"), Path("/run/udev/rules.d"), Path("/usr/lib/udev/rules.d"))
TOKEN = re.compile(r'(?P<key>[A-Z]+)(?:\{(?P<attribute>[^}]*)\})?\s*(?P<operator>==|!=|\+=|:=|=)\s*"(?P<value>(?:[^"\\]|\\.)*)"')
PACKAGED_HELPER = Path("/usr/bin/nvidia-modprobe")


def module_added(name: str) -> None:
    """A module has appeared in /sys/module, and its driver may have bound devices."""
    _run_rules({"ACTION": "add", "SUBSYSTEM": "module", "KERNEL": name, "DEVPATH": "/module/" + name})
    if name == "nvidia" and PACKAGED_HELPER.exists():
        # What the rule of NVIDIA's own packages does for each GPU that the driver has bound.
        bound = [d for d in present_devices() if d.is_gpu and driver_of(d.address) == "nvidia"]
        for minor in range(len(bound)):
            _run([str(PACKAGED_HELPER), "-c", str(minor)])
        _run([str(PACKAGED_HELPER), "-c", "255"])


def _run_rules(event: t.Dict[str, str]) -> None:
    for path in _rule_files():
        for line in path.read_text().replace("\\\n", " ").splitlines():
            if "RUN" in line and not line.lstrip().startswith("#"):
                _run_rule(line, event)


def _rule_files() -> t.List[Path]:
    found: t.Dict[str, Path] = {}
    for directory in reversed(RULES):
        found.update((path.name, path) for path in directory.glob("*.rules"))
    return [found[name] for name in sorted(found)]


def _run_rule(line: str, event: t.Dict[str, str]) -> None:
    tokens = list(TOKEN.finditer(line))
    matches = [token for token in tokens if token["operator"] in ("==", "!=")]
    # A match on what this event does not carry (an attribute, an environment) cannot be judged here: not for us.
    if not matches or any(token["attribute"] or token["key"] not in event for token in matches):
        return
    if not all(_holds(token, event) for token in matches):
        return
    for token in tokens:
        if token["key"] == "RUN" and token["attribute"] in (None, "program"):
            _run(shlex.split(token["value"].replace("%k", event["KERNEL"])))


def _holds(token: t.Match[str], event: t.Dict[str, str]) -> bool:
    value = event[token["key"]]
    equal = any(fnmatch.fnmatchcase(value, pattern) for pattern in token["value"].split("|"))
    return equal == (token["operator"] == "==")


def _run(command: t.List[str]) -> None:
    if not command[0].startswith("/"):
        command[0] = "/usr/lib/udev/" + command[0]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
