# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Turns a hardware profile of the repository into the one of a node: every `uuid=auto` becomes a UUID of its own.

Run as `expand.py PROFILE NODENAME`, it prints the profile for that node. The same node and PCI address always give the
same UUID, the same for the instances of a MIG device, and no two nodes share one.
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


def mig_uuid(node: str, gpu: str, instance: str, compute_instance: str) -> str:
    """The UUID of a MIG device by the index of its GPU and its two instances, as NVML writes it."""
    return f"MIG-{uuid.uuid5(NAMESPACE, f'{node}/mig/{gpu}/{instance}/{compute_instance}')}"


def expand(profile: str, node: str) -> str:
    """The text of a profile with a concrete UUID for each GPU and each MIG device of the node."""
    return "".join(_expand_line(line, node) for line in profile.splitlines(keepends=True))


def _expand_line(line: str, node: str) -> str:
    if not line.startswith(("gpu ", "mig ")) or " uuid=auto " not in line:
        return line
    if line.startswith("gpu "):
        (pci,) = _values(line, "pci")
        own = gpu_uuid(node, pci)
    else:
        own = mig_uuid(node, *_values(line, "gpu", "gi", "ci"))
    return line.replace(" uuid=auto ", f" uuid={own} ", 1)


def _values(line: str, *keys: str) -> list[str]:
    found = [re.search(rf" {key}=(\S+)", line) for key in keys]
    missing = [key for key, match in zip(keys, found) if match is None]
    if missing:
        raise ValueError(f"{line.strip()!r} in the profile has no {', '.join(missing)}; a UUID is made of that")
    return [match.group(1) for match in found if match is not None]


def main() -> int:
    """The command line."""
    if len(sys.argv) != 3:
        print("usage: expand.py PROFILE NODENAME", file=sys.stderr)
        return 2
    sys.stdout.write(expand(Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
