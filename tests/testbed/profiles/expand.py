# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Turns a hardware profile of the repository into the one of a node: every `uuid=auto` becomes a UUID of its own.

Run as `expand.py PROFILE NODENAME`, it prints the profile for that node. The same node and PCI address always give the
same UUID, and no two nodes share one.
"""

from __future__ import annotations

import re
import sys
import uuid
from pathlib import Path

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "testbed.goldennode.gpu")


def gpu_uuid(node: str, pci: str) -> str:
    """The UUID of the GPU at a PCI address of a node, as NVML writes it."""
    return f"GPU-{uuid.uuid5(NAMESPACE, f'{node}/{pci}')}"


def expand(profile: str, node: str) -> str:
    """The text of a profile with a concrete UUID for each GPU of the node."""
    return "".join(_expand_line(line, node) for line in profile.splitlines(keepends=True))


def _expand_line(line: str, node: str) -> str:
    if not line.startswith("gpu ") or " uuid=auto " not in line:
        return line
    pci = re.search(r" pci=(\S+)", line)
    if pci is None:
        raise ValueError(f"a GPU without pci=ADDRESS in the profile: {line.strip()!r}; add its address")
    return line.replace(" uuid=auto ", f" uuid={gpu_uuid(node, pci.group(1))} ", 1)


def main() -> int:
    """The command line."""
    if len(sys.argv) != 3:
        print("usage: expand.py PROFILE NODENAME", file=sys.stderr)
        return 2
    sys.stdout.write(expand(Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
