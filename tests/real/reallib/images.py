# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two images of node/Dockerfile, and the disk that is made of one; each is named by all that goes into it."""

from __future__ import annotations

import hashlib
import os
import pathlib
import struct
import tempfile

from simnodes import engine, image, key
from simnodes.shell import docker, locked, run, say

from . import ROOT, mirror

CONTEXT = ROOT / "tests" / "real" / "node"
CACHE = ROOT / ".cache" / "real"
REPOSITORY = "goldennode/real"

_SECTOR = 512
_FIRST_SECTOR = 2048
_MEBIBYTE = 1024 * 1024
#: Size of the machine's file system. The file is sparse: it takes what is in it.
_MEBIBYTES = 4096
#: Bytes of GRUB's first sector that are code; the partition table and its own data follow.
_BOOT_CODE = 440


def ensure(target: str) -> str:
    """Name of the image ``node`` or ``machine``; built when it is not there yet."""
    engine.ensure()
    image.ensure_base()
    name = "%s-%s:%s" % (REPOSITORY, target, _digest())
    if not image.exists(name):
        with locked("real-image"):
            say("building %s (about a minute, once)" % name)
            run(
                "docker", "build", "--network", "host", "--target", target, "--tag", name,
                "--build-arg", "MIRROR=" + mirror.of_this_machine(), str(CONTEXT),
                extra_environment={"DOCKER_BUILDKIT": "0"}, timeout=900,
            )  # fmt: skip
            _remove_old(target, name)
    return name


def _digest(*more: str) -> str:
    total = hashlib.sha256()
    for path in sorted(path for path in CONTEXT.rglob("*") if path.is_file()):
        total.update(str(path.relative_to(CONTEXT)).encode() + b"\0" + path.read_bytes() + b"\0")
    for text in (mirror.of_this_machine(), *more):
        total.update(text.encode() + b"\0")
    return total.hexdigest()[:12]


def ensure_disk() -> pathlib.Path:
    """A bootable disk with the image ``machine`` on it, opened by this checkout's key."""
    public_key, name = key.ensure(), ensure("machine")
    image_id = docker("image", "inspect", "--format", "{{.Id}}", name)
    disk = CACHE / ("disk-%s.raw" % _digest(image_id, public_key, pathlib.Path(__file__).read_text()))
    if disk.exists():
        return disk
    if os.geteuid() != 0:
        raise RuntimeError("only root can unpack a file system with its owners: run the real tests as root")
    engine.install_program("mke2fs", "e2fsprogs")
    CACHE.mkdir(parents=True, exist_ok=True)
    for old in CACHE.glob("disk-*"):
        old.unlink()
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        root = pathlib.Path(directory, "root")
        _unpack(name, root, public_key)
        new = pathlib.Path(directory, "disk")
        _write_disk(new, root)
        new.rename(disk)
    return disk


def _unpack(name: str, root: pathlib.Path, public_key: str) -> None:
    root.mkdir()
    container = docker("create", name)
    try:
        run("sh", "-c", 'docker export "$0" | tar --extract --directory "$1"', container, str(root), timeout=300)
    finally:
        docker("rm", container)
    (root / "etc" / "fstab").write_text("/dev/vda1 / ext4 defaults 0 1\n")
    # The engine keeps these three to itself while an image is built.
    (root / "etc" / "hostname").write_text("real-machine\n")
    (root / "etc" / "hosts").write_text("127.0.0.1 localhost real-machine\n")
    (root / "etc" / "resolv.conf").write_text("nameserver 10.0.2.3\n")  # QEMU's own
    (root / ".dockerenv").unlink(missing_ok=True)
    keys = root / "root" / ".ssh" / "authorized_keys"
    keys.write_text(public_key)
    keys.chmod(0o600)


def _write_disk(disk: pathlib.Path, root: pathlib.Path) -> None:
    """One partition, filled with ``root``, and GRUB before it. No loop device is needed."""
    with disk.open("wb") as file:
        file.truncate(_FIRST_SECTOR * _SECTOR + _MEBIBYTES * _MEBIBYTE)
    offset = "offset=%d" % (_FIRST_SECTOR * _SECTOR)
    run("mke2fs", "-q", "-F", "-t", "ext4", "-d", str(root), "-E", offset, str(disk), "%dM" % _MEBIBYTES, timeout=300)
    grub = root / "boot" / "grub" / "i386-pc"
    code, core = (grub / "boot.img").read_bytes()[:_BOOT_CODE], (grub / "core.img").read_bytes()
    if len(core) > (_FIRST_SECTOR - 1) * _SECTOR:
        raise RuntimeError("GRUB's core of %d bytes does not fit before the first partition" % len(core))
    with disk.open("r+b") as file:
        file.write(code + b"\0" * 6 + _partition() + b"\0" * 48 + b"\x55\xaa" + core)


def _partition() -> bytes:
    """The entry of one active Linux partition; addresses of cylinders are out of range and count for nothing."""
    beyond = b"\xfe\xff\xff"
    return struct.pack("<B3sB3sII", 0x80, beyond, 0x83, beyond, _FIRST_SECTOR, _MEBIBYTES * _MEBIBYTE // _SECTOR)


def _remove_old(target: str, keep: str) -> None:
    """Images of older recipes that no container uses."""
    for name in docker("images", "%s-%s" % (REPOSITORY, target), "--format", "{{.Repository}}:{{.Tag}}").split():
        if name != keep and not docker("ps", "--all", "--quiet", "--filter", "ancestor=" + name):
            docker("image", "rm", name)
