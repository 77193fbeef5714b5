# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests on nodes share: a shell in a node, and stand-in modules that are really built."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
import typing as t
from pathlib import Path

TESTBED = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTBED), str(TESTBED / "node")]

from simnodes import nodes, shell  # noqa: E402
from simnodes.pool import Node  # noqa: E402

A10 = "0000:17:00.0"

#: Modules with the names, versions and aliases of NVIDIA's, really built; the played kernel never runs their code.
MODULE = """\
    #include <linux/module.h>
    MODULE_LICENSE("%(licence)s");
    MODULE_VERSION("%(version)s");
    #ifdef ALIASES
    MODULE_ALIAS("pci:v000010DEd*sv*sd*bc03sc02i00*");
    MODULE_ALIAS("pci:v000010DEd*sv*sd*bc06sc80i00*");
    #endif
"""
OPEN, PROPRIETARY = "Dual MIT/GPL", "NVIDIA"


def ask(node: Node, script: str) -> subprocess.CompletedProcess[str]:
    return shell.run("docker", "exec", nodes.container(node.name), "bash", "-ec", textwrap.dedent(script), check=False)


def tell(node: Node, script: str) -> str:
    done = ask(node, script)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def driver(node: Node, address: str = A10) -> t.Optional[str]:
    """The driver that holds a device, as lspci tells it; None when nobody does."""
    for line in tell(node, "lspci -k -s %s" % address).splitlines():
        if "Kernel driver in use:" in line:
            return line.split(": ")[1]
    return None


def eventually(answer: t.Callable[[], bool], seconds: float = 10) -> bool:
    """udev works beside whoever caused an event."""
    deadline = time.monotonic() + seconds
    while not answer():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def build_modules(node: Node, version: str, kernel: str, licence: str = OPEN) -> None:
    """Put nvidia.ko and nvidia-uvm.ko of ``version`` where depmod finds them."""
    source = textwrap.dedent(MODULE) % {"version": version, "licence": licence}
    tell(
        node,
        """
        mkdir -p /tmp/modules && cd /tmp/modules && rm -rf *
        printf '%%s' "$SOURCE" > nvidia-uvm.c
        { echo '#define ALIASES'; printf '%%s' "$SOURCE"; } > nvidia.c
        echo 'obj-m := nvidia.o nvidia-uvm.o' > Kbuild
        make -s -C /lib/modules/%(kernel)s/build M=$PWD modules
        install -D -t /lib/modules/%(kernel)s/updates nvidia.ko nvidia-uvm.ko
        depmod %(kernel)s
        """.replace('"$SOURCE"', "'%s'" % source.replace("%", "%%"))
        % {"kernel": kernel},
    )
