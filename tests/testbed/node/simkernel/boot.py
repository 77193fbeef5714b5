# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A boot: the machine is switched on, the initramfs and then the root's udev load modules; faults come and go."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

from . import firmware, grub, modules, nvidia, views
from .machine import (
    BOOT_KERNEL,
    FAULTS,
    KEPT_FAULTS,
    KERNEL_LOG,
    RUN,
    STARTED,
    faulty_gpus,
    installed_kernels,
    log,
    present_devices,
    running_kernel,
)

MODULES_LOAD = (Path("/etc/modules-load.d"), Path("/run/modules-load.d"), Path("/usr/lib/modules-load.d"))


def boot(arguments: t.Sequence[str]) -> t.NoReturn:
    """PID 1 until init: everything that a kernel and its initramfs do, then the real init."""
    RUN.mkdir(parents=True)
    STARTED.write_text("%f" % time.monotonic())
    KERNEL_LOG.touch()
    entry = _entry_to_boot()
    kernel = entry.kernel
    views.mount_all(kernel, entry.command_line)
    views.show_disk()
    firmware.start()
    log("Linux version %s (simulated)" % kernel, "Command line: %s" % entry.command_line)
    _copy_faults()
    views.show_pci()
    _give_to_vfio(kernel)
    _initramfs_stage(kernel, entry.initrd)
    init = list(arguments) or ["/sbin/init"]
    os.execv(init[0], init)


def _entry_to_boot() -> grub.Entry:
    """What a person at the menu chose, else the boot loader's default, else the newest kernel that is no cloud's."""
    kernels = installed_kernels()
    kernel, once = _chosen()
    if kernel in kernels:
        if once:
            BOOT_KERNEL.unlink()
        entry = grub.entry_of(kernel)
    else:
        entry = grub.choose()
        kernel = ([release for release in kernels if "cloud" not in release] or kernels)[-1]
    if entry is None:
        path = "/boot/vmlinuz-" + kernel
        entry = grub.Entry(kernel, linux=[path, "root=/dev/sda1", "ro", "quiet"], initrd="/boot/initrd.img-" + kernel)
    if not Path(entry.linux[0]).exists():
        print("error: file `%s' not found.\nPress any key to continue..." % entry.linux[0], file=sys.stderr, flush=True)
        signal.pause()
    return entry


def _chosen() -> t.Tuple[str, bool]:
    kernel, *more = (BOOT_KERNEL.read_text().split() if BOOT_KERNEL.exists() else []) or [""]
    return kernel, more == ["once"]


def _give_to_vfio(kernel: str) -> None:
    """vfio-pci takes GPUs that are meant for virtual machines before any other driver can."""
    indexes = faulty_gpus("vfio")
    if not indexes:
        return
    _load(modules.resolve("-S", kernel, "vfio-pci").stdout, kernel)
    for device in present_devices():
        if device.index in indexes:
            views.bind(device.address, "vfio-pci")


def _initramfs_stage(kernel: str, initrd: str) -> None:
    """udev inside the initramfs loads what the initramfs holds for the devices, by the initramfs's own modprobe.d."""
    image = Path(initrd)
    aliases = _device_aliases()
    if not aliases:
        return
    if not image.is_file():
        log("no initramfs for this kernel: modules come from the root file system alone")
        return
    root = tempfile.mkdtemp(prefix="initramfs-", dir="/run")
    try:
        subprocess.run(["unmkinitramfs", str(image), root], check=True)
        # With early microcode in front, the main archive is in a directory of its own.
        tree = os.path.join(root, "main") if os.path.isdir(os.path.join(root, "main")) else root
        plan = modules.resolve(
            "-d", tree, "-S", kernel, "-C", tree + "/etc/modprobe.d", "-C", tree + "/usr/lib/modprobe.d",
            "--use-blacklist", "--all", *aliases,
        )  # fmt: skip
        _load(plan.stdout, kernel, run_commands=False)
    finally:
        shutil.rmtree(root)


def coldplug(_arguments: t.Sequence[str]) -> int:
    """udev's coldplug in the root file system: it hears again of all that happened in the initramfs."""
    for name in modules.loaded():
        modules.announce(name)
    aliases = _device_aliases()
    if aliases:
        _load(modules.resolve("--use-blacklist", "--all", *aliases).stdout, running_kernel())
    return 0


def _device_aliases() -> t.List[str]:
    return sorted({device.modalias for device in present_devices()})


def _load(plan: str, kernel: str, run_commands: bool = True) -> None:
    """Load line by line: one module that is refused does not keep the others out."""
    for line in plan.splitlines():
        try:
            modules.follow(line, kernel, run_commands)
        except modules.Refused as refusal:
            print("simkernel: %s: %s" % (refusal.module, refusal.notes or os.strerror(refusal.code)), file=sys.stderr)


def modules_load(_arguments: t.Sequence[str]) -> int:
    """What systemd-modules-load does with modules-load.d, which would ask the machine's kernel."""
    found: t.Dict[str, Path] = {}
    for directory in reversed(MODULES_LOAD):
        found.update((path.name, path) for path in directory.glob("*.conf"))
    code = 0
    for name in sorted(found):
        for line in found[name].read_text().splitlines():
            if line.strip() and line[0] not in "#;":
                code |= modules.modprobe(["--use-blacklist", line.strip()])
    return code


def sync_faults(_arguments: t.Sequence[str]) -> int:
    """Take over a change in the kept faults at once: GPUs leave the bus and come back, the log tells of the others."""
    _copy_faults()
    views.show_pci()
    if "nvidia" in modules.loaded():
        nvidia.bind_nvidia()
    return 0


def _copy_faults() -> None:
    FAULTS.mkdir(exist_ok=True)
    for old in FAULTS.iterdir():
        if not (KEPT_FAULTS / old.name).exists():
            old.unlink()
    if KEPT_FAULTS.is_dir():
        for fault in KEPT_FAULTS.iterdir():
            shutil.copyfile(fault, FAULTS / fault.name)


def kernels(_arguments: t.Sequence[str]) -> int:
    print("\n".join(installed_kernels()))
    return 0


def disk(_arguments: t.Sequence[str]) -> int:
    """Show the disk outside of a boot, where grub-mkconfig runs while the image is built."""
    views.show_disk()
    return 0


def dmesg(_arguments: t.Sequence[str]) -> int:
    if os.geteuid() != 0:
        print("dmesg: read kernel buffer failed: Operation not permitted", file=sys.stderr)
        return 1
    sys.stdout.write(KERNEL_LOG.read_text())
    return 0
