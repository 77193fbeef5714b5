# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults last until they are switched off; damage is done once, and is what the roles can repair."""

from __future__ import annotations

import shlex
import typing as t

from . import nodes
from .shell import TESTBED, TestbedError, run

#: Fault: what its words after ``on`` mean.
FAULTS = {
    "gpu-missing": "[INDEX] the GPU is gone from PCI",
    "gpu-lost": "[INDEX [values]] the GPU fell off the bus; with `values` only each value says so",
    "gpu-not-initialised": "[INDEX] the module could not start the GPU",
    "smi-hang": "nvidia-smi hangs, and a grandchild of it keeps its pipe open",
    "secure-boot": "[disabled] the machine has UEFI firmware, which lets only signed modules in (next boot)",
    "vfio": "[INDEX...] vfio-pci takes the GPU before any other driver (next boot)",
    "vgpu-guest": "[INDEX...] the GPU is a virtual one: what a guest finds in its configuration space (next boot)",
}

#: What the roles can repair: scripts that run in the node.
SCRIPTS = TESTBED / "damage"
DAMAGE = tuple(sorted(path.stem for path in SCRIPTS.glob("*.sh")))
TAKES_A_REBOOT = ("device-mode-0600", "nouveau-loaded", "stale-module-in-initramfs")

DIRECTORY = "/etc/simgpu/faults"


def switch(node: str, fault: str, state: str, words: t.Sequence[str]) -> None:
    if fault not in FAULTS:
        raise TestbedError("no fault %r; there are: %s" % (fault, ", ".join(FAULTS)))
    nodes.existing(node)
    file = "%s/%s" % (DIRECTORY, fault)
    if state == "on":
        content = " ".join(words or ["0"])
        change = "mkdir -p %s && echo %s > %s" % (DIRECTORY, shlex.quote(content), file)
    else:
        change = "rm -f %s" % file
    nodes.execute(node, "sh", "-ec", "%s && simkernel sync-faults" % change)


def active(node: str) -> t.List[str]:
    return nodes.execute(node, "ls", DIRECTORY, check=False).split()


def damage(node: str, name: str) -> None:
    if name not in DAMAGE:
        raise TestbedError("no damage %r; there are: %s" % (name, ", ".join(DAMAGE)))
    nodes.existing(node)
    script = (SCRIPTS / (name + ".sh")).read_bytes()
    run("docker", "exec", "--interactive", nodes.container(node), "bash", "-euo", "pipefail", "-s", binary_input=script)
    if name in TAKES_A_REBOOT:
        nodes.reboot(node)
