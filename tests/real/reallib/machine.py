# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole machine in QEMU: firmware, GRUB, kernel, initramfs and disk are real; only the processor is emulated."""

from __future__ import annotations

import contextlib
import pathlib
import socket
import subprocess
import typing as t

from simnodes import engine

from . import images
from .host import Host

BOOT_SECONDS = 300
_PROGRAM = "qemu-system-x86_64"


@contextlib.contextmanager
def machine(directory: pathlib.Path) -> t.Iterator[Host]:
    """A fresh one from the cached disk, which stays as it is; ended at the end, whatever it does then.

    :arg directory: where its console is written
    """
    engine.install_program(_PROGRAM, "qemu-system-x86")
    disk, port = images.ensure_disk(), _free_port()
    console = directory / "console.log"
    process = subprocess.Popen(
        _command(disk, port, console), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        host = Host("real-machine", port)
        print("machine: up after %.0f s; console: %s" % (host.wait(BOOT_SECONDS), console))
        yield host
    except AssertionError as error:
        last = console.read_text(errors="replace")[-2000:] if console.exists() else ""
        raise AssertionError("%s\nlast words of its console:\n%s" % (error, last)) from error
    finally:
        process.kill()
        process.wait()


def _command(disk: pathlib.Path, port: int, console: pathlib.Path) -> t.List[str]:
    """Always the emulated processor: a /dev/kvm that is there need not be one that works."""
    return [
        "nice", "-n", "10", _PROGRAM, "-name", "goldennode-real", "-nodefaults", "-no-user-config",
        "-machine", "pc", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", "1024", "-smp", "1",
        # Writes go to a temporary file that is gone with the process.
        "-drive", "file=%s,if=virtio,format=raw" % disk, "-snapshot",
        "-netdev", "user,id=net,hostfwd=tcp:127.0.0.1:%d-:22" % port, "-device", "virtio-net-pci,netdev=net",
        "-device", "virtio-rng-pci", "-vga", "std", "-display", "none", "-serial", "file:%s" % console,
    ]  # fmt: skip


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
