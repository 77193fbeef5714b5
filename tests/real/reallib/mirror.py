# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where Debian packages come from on this machine: its own apt knows, and nothing else is asked."""

from __future__ import annotations

import os
import pathlib
import re
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import AptSource
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import apt_sources

VARIABLE = "GOLDENNODE_DEBIAN_MIRROR"


def of_this_machine() -> str:
    """Address of the mirror that this machine takes its own packages from.

    :raises RuntimeError: when it is no Debian machine, and the variable does not name one either
    """
    given = os.environ.get(VARIABLE)
    if given:
        return given
    release = pathlib.Path("/etc/os-release").read_text()
    codename = re.search(r'^VERSION_CODENAME="?(\w+)', release, re.MULTILINE)
    if re.search(r"^ID=debian$", release, re.MULTILINE) and codename:
        for entry in _entries():
            if entry.enabled and codename[1] in entry.suites and "main" in entry.components:
                return entry.uris[0].rstrip("/")
    raise RuntimeError(
        "the sources of this machine's apt name no Debian mirror; set %s to the address of one" % VARIABLE
    )


def _entries() -> t.Iterator[AptSource]:
    apt = pathlib.Path("/etc/apt")
    for path in (apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))):
        if path.is_file() and path.suffix in (".list", ".sources"):
            yield from apt_sources.parse(str(path), path.read_text(errors="replace"), "amd64")
