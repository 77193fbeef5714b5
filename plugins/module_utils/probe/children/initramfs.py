# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Child: what an initramfs holds of GPU modules and of modprobe.d. Arguments: ``initramfs PATH``.

It reads the image itself. The tools of initramfs-tools and of dracut cannot read each other's images, and those that
show the content of files unpack all of it to the disk. An image is one or more cpio archives ("newc") behind each
other, of which mostly the last alone is compressed.
"""

# A child process answers by printing and runs its own commands; there is no module.
# pylint: disable=ansible-bad-function

from __future__ import annotations

import bz2
import json
import lzma
import re
import subprocess
import sys
import threading
import typing as t
import zlib

MODULE = re.compile(r"(?:^|/)(?:nvidia[^/]*|nouveau|nova[_-](?:core|drm))\.ko(?:\.\w+)?$")
NVIDIA = re.compile(r"(?:^|/)nvidia(?:-current(?:-open)?)?\.ko(?:\.\w+)?$")
MODPROBE = re.compile(r"(?:^|/)(?:etc|lib|run)/modprobe\.d/[^/]+\.conf$")
VERSION = re.compile(rb"\0version=([0-9.]+)\0")
BLOCK = 1 << 20
#: Compressions that Python does not know, by their first bytes.
TOOLS = (
    (b"\x28\xb5\x2f\xfd", ["zstd", "-dcq"]),
    (b"\x02\x21\x4c\x18", ["lz4", "-dcq"]),
    (b"\x04\x22\x4d\x18", ["lz4", "-dcq"]),
)

Read = t.Callable[[int], bytes]


class Stream:
    """Bytes that come from a function, a few at a time, taken in exact pieces and looked at ahead."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._ahead = b""
        self._at = 0

    def peek(self, size: int) -> bytes:
        """The next bytes: ``size`` of them, or what is left."""
        while len(self._ahead) - self._at < size:
            data = self._read(BLOCK)
            if not data:
                break
            self._ahead, self._at = self._ahead[self._at :] + data, 0
        return self._ahead[self._at : self._at + size]

    def take(self, size: int) -> bytes:
        pieces = []
        while size > 0:
            piece = self.some(size)
            if not piece:
                raise ValueError("it ends in the middle of an entry")
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def skip(self, size: int) -> None:
        while size > 0:
            piece = self.some(size)
            if not piece:
                raise ValueError("it ends in the middle of an entry")
            size -= len(piece)

    def back(self, data: bytes) -> None:
        """Data that was taken, and is not of who took it."""
        self._ahead, self._at = data + self._ahead[self._at :], 0

    def some(self, size: int) -> bytes:
        """At least one byte and at most ``size``; none at the end."""
        self.peek(1)
        piece = self._ahead[self._at : self._at + size]
        self._at += len(piece)
        return piece


def unpacked(stream: Stream) -> Stream:
    """The stream behind the compression that the first bytes show."""
    magic = stream.peek(6)
    for start, tool in TOOLS:
        if magic.startswith(start):
            return Stream(by_tool(tool, stream.some))
    unpack: t.Any
    if magic.startswith(b"\x1f\x8b"):
        unpack = zlib.decompressobj(31)
    elif magic.startswith((b"\xfd7zXZ", b"\x5d\x00\x00")):
        unpack = lzma.LZMADecompressor()
    elif magic.startswith(b"BZh"):
        unpack = bz2.BZ2Decompressor()
    else:
        raise ValueError("its compression is not known; it starts with %s" % magic.hex())

    def read(_size: int) -> bytes:
        while not unpack.eof:
            packed = stream.some(BLOCK)
            if not packed:
                break
            plain: bytes = unpack.decompress(packed)
            if unpack.eof:
                stream.back(unpack.unused_data)
            if plain:
                return plain
        return b""

    return Stream(read)


def by_tool(tool: t.Sequence[str], packed: Read) -> Read:
    child = subprocess.Popen(tool, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    into, out = t.cast(t.Any, child.stdin), t.cast(t.Any, child.stdout)

    def feed() -> None:
        try:
            for data in iter(lambda: packed(BLOCK), b""):
                into.write(data)
            into.close()
        except BrokenPipeError:
            pass  # the tool has ended early, and who reads its output notices that it is cut short

    def read(size: int) -> bytes:
        plain: bytes = out.read1(size)
        if not plain and child.wait() != 0:
            raise ValueError("%s could not unpack all of it, and ended with code %d" % (tool[0], child.returncode))
        return plain

    threading.Thread(target=feed, daemon=True).start()
    return read


def entries(stream: Stream) -> t.Iterator[t.Tuple[str, int, Stream]]:
    """Name and size of each regular file, and the stream whose next ``size`` bytes are its data.

    The consumer takes or skips them before it asks for the next entry.
    """
    while stream.peek(6):
        start = stream.peek(6)
        if start[:1] == b"\0":  # padding between archives
            stream.take(1)
            continue
        if start not in (b"070701", b"070702"):
            yield from entries(unpacked(stream))
            continue
        head = stream.take(110)
        mode, size, name_size = (int(head[at : at + 8], 16) for at in (14, 54, 94))
        name = stream.take(name_size + -(110 + name_size) % 4).split(b"\0")[0].decode("utf-8", "replace")
        if mode & 0o170000 == 0o100000:
            yield name, size, stream
        else:
            stream.skip(size)
        stream.skip(-size % 4)


def module_version(name: str, data: bytes) -> t.Optional[str]:
    """``version`` of a module's modinfo, through the compression of the module."""
    if name.endswith(".xz"):
        data = lzma.decompress(data)
    elif name.endswith(".gz"):
        data = zlib.decompress(data, 31)
    elif name.endswith(".zst"):
        data = subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, check=True).stdout
    found = VERSION.search(data)
    return found.group(1).decode("ascii") if found else None


def look(stream: Stream) -> t.Dict[str, t.Any]:
    modules: t.List[str] = []
    modprobe: t.Dict[str, str] = {}
    nvidia: t.Dict[str, t.Optional[str]] = {}
    count = 0
    for name, size, data in entries(stream):
        count += 1
        if NVIDIA.search(name):
            nvidia[name] = module_version(name, data.take(size))
        elif MODPROBE.search(name):
            modprobe[name] = data.take(size).decode("utf-8", "replace")
        else:
            data.skip(size)
        if MODULE.search(name):
            modules.append(name)
    if count == 0:
        raise ValueError("it holds no file")
    return {"modules": modules, "modprobe": modprobe, "nvidia": nvidia}


def main(path: str) -> None:
    try:
        with open(path, "rb") as file:
            answer = look(Stream(file.read))
    except (OSError, ValueError, EOFError, zlib.error, lzma.LZMAError, subprocess.CalledProcessError) as error:
        answer = {"error": "%s: %s" % (path, error)}
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[2])
