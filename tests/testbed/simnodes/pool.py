# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pool: which nodes there are, read from an ordinary Ansible inventory."""

from __future__ import annotations

import dataclasses
import functools
import re
import runpy
import typing as t
from pathlib import Path

from .shell import TESTBED, TestbedError

POOL = TESTBED / "inventory" / "pool.yml"
PROFILES = TESTBED / "profiles"
#: Of which distribution a node is where none is named.
DEBIAN = "debian-13"
#: Codename of each release of Debian of which the node image can be.
RELEASES = {DEBIAN: "trixie", "debian-12": "bookworm"}
#: These, and what is made of the first in systems/.
SYSTEMS = (*RELEASES, *sorted(path.parent.name for path in TESTBED.glob("systems/*/Dockerfile")))


@dataclasses.dataclass(frozen=True)
class Node:
    """One node as it shall be: name, hardware profile, port of sshd on 127.0.0.1; port 0 is any free one."""

    name: str
    profile: str
    port: int = 0
    system: str = DEBIAN

    def hardware(self) -> str:
        """The text of the node's hardware profile, with GPU UUIDs of its own."""
        file = PROFILES / (self.profile + ".conf")
        if not file.is_file():
            known = sorted(path.stem for path in PROFILES.glob("*.conf"))
            raise TestbedError("no profile %r: there are %s" % (self.profile, ", ".join(known)))
        return str(_expand_module()["expand"](file.read_text(), self.name))


@functools.lru_cache(maxsize=1)
def _expand_module() -> t.Dict[str, t.Any]:
    """profiles/expand.py, which is a program of its own beside the profiles and no part of this package."""
    return runpy.run_path(str(PROFILES / "expand.py"))


def read_pool(path: Path) -> t.List[Node]:
    """Every host of the inventory that has ``testbed_profile``, and ``testbed_system`` where it is not Debian's; group
    variables are not looked at.
    """
    try:
        import yaml
    except ImportError as error:
        raise TestbedError("reading %s needs PyYAML: call the test bed with the project's own Python" % path) from error
    hosts: t.Dict[str, t.Dict[str, t.Any]] = {}
    _collect(yaml.safe_load(path.read_text()), hosts)
    nodes = [
        Node(
            name,
            str(values["testbed_profile"]),
            int(values.get("ansible_port", 0)),
            _known_system(str(values.get("testbed_system", DEBIAN))),
        )
        for name, values in hosts.items()
        if "testbed_profile" in values
    ]
    if not nodes:
        raise TestbedError("%s has no host with the variable testbed_profile" % path)
    return nodes


def _collect(groups: t.Dict[str, t.Any], hosts: t.Dict[str, t.Dict[str, t.Any]]) -> None:
    for group in groups.values():
        for name, values in ((group or {}).get("hosts") or {}).items():
            hosts.setdefault(name, {}).update(values or {})
        _collect((group or {}).get("children") or {}, hosts)


def parse_node(text: str) -> Node:
    """``NODE=PROFILE[@SYSTEM][:PORT]`` of the command line."""
    match = re.fullmatch(r"([a-z0-9][a-z0-9-]*)=([a-z0-9][a-z0-9-]*)(?:@([a-z0-9.-]+))?(?::(\d+))?", text)
    if match is None or match[1] == "vendor":  # the vendor's container has that name
        raise TestbedError("%r is no node: wanted is NODE=PROFILE[@SYSTEM][:PORT], for example node1=a10:22222" % text)
    return Node(match[1], match[2], int(match[4] or 0), _known_system(match[3] or DEBIAN))


def _known_system(name: str) -> str:
    if name not in SYSTEMS:
        raise TestbedError("no system %r: there are %s" % (name, ", ".join(SYSTEMS)))
    return name
