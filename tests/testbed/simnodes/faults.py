# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults last until they are switched off; damage is done once, and is what the roles can repair."""

from __future__ import annotations

import shlex
import typing as t

from . import nodes
from .shell import TestbedError

#: Fault: what its words after ``on`` mean.
FAULTS = {
    "gpu-missing": "[INDEX] the GPU is gone from PCI",
    "gpu-lost": "[INDEX [values]] the GPU fell off the bus; with `values` only each value says so",
    "gpu-not-initialised": "[INDEX] the module could not start the GPU",
    "smi-hang": "nvidia-smi hangs, and a grandchild of it keeps its pipe open",
}

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
    script, reboot = DAMAGE[name]
    nodes.execute(node, "bash", "-euo", "pipefail", "-c", script)
    if reboot:
        nodes.reboot(node)


#: Damage: the script that does it in the node, and whether a reboot completes it.
DAMAGE: t.Dict[str, t.Tuple[str, bool]] = {
    # nouveau back in the initramfs of every kernel, with nothing that keeps it from the GPU.
    "nouveau-loaded": (
        """
        grep -rlE '^\\s*(blacklist|install|options)\\s+nouveau' /etc/modprobe.d /usr/lib/modprobe.d | xargs -r rm
        grep -qx nouveau /etc/initramfs-tools/modules || echo nouveau >> /etc/initramfs-tools/modules
        update-initramfs -u -k all
        """,
        True,
    ),
    "toolkit-not-wired": (
        """
        python3 - <<'PYTHON'
import json
path = "/etc/docker/daemon.json"
with open(path) as stream:
    settings = json.load(stream)
del settings["runtimes"]["nvidia"]
with open(path, "w") as stream:
    json.dump(settings, stream, indent=4)
PYTHON
        systemctl restart docker
        """,
        False,
    ),
    "device-mode-0600": (
        """
        sed -i -E '/^[[:space:]]*options[[:space:]]+nvidia[[:space:]]/d' /etc/modprobe.d/*.conf
        echo 'options nvidia NVreg_DeviceFileMode=0600' > /etc/modprobe.d/zz-damage.conf
        """,
        True,
    ),
    "uvm-missing": ("rm /dev/nvidia-uvm /dev/nvidia-uvm-tools", False),
}
