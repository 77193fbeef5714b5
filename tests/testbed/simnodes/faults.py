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
    "ecc-uncorrected": "[INDEX] one error of the memory that ECC could not correct is counted",
    "remap-pending": "[INDEX] a row of the memory is to be remapped by the next reset; before Ampere, a page retired",
    "remap-failed": "[INDEX] a row could not be remapped",
    "throttled": "[INDEX] the GPU is too hot, and the hardware slows it down",
    "link-narrow": "[INDEX] the PCIe link has half of its lanes",
    "gpu-busy": "[INDEX [PID]] a process, else the node's first one, uses the GPU",
    "mig-empty": "[INDEX] MIG is on, and there are no instances",
    "mig-pending": "[INDEX] MIG is to be switched, on or off, by the next reset of the GPU",
    "fabric-not-ready": "[not_started] the fabric is being set up for ever, or nobody has begun",
    "fabric-unhealthy": "[INDEX] the fabric is there, and a route of the GPU's is broken",
    "xid-48": "[INDEX] the log tells of an error of two bits in the memory",
    "xid-63": "[INDEX] the log tells of a row that will be remapped",
    "xid-94": "[INDEX] the log tells of an error that hit one program",
    "xid-95": "[INDEX] the log tells of an error that may have hit all, and the driver wants the GPU reset",
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
