# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel modules that are built and signed before they are packaged: what depmod, modinfo and modprobe see of them.

They have no code: the played kernel runs none, and a real one would take none of them for its own.
"""

from __future__ import annotations

import dataclasses
import struct
import typing as t
from pathlib import Path

from .tools import run

#: The end of a signed module: a PKCS#7 signature of the length that follows, then the words by which it is known.
_PKCS7 = 2
_MAGIC = b"~Module signature appended~\n"


@dataclasses.dataclass(frozen=True)
class Key:
    """A distribution's key for modules; kernels are built with its certificate."""

    private: Path
    certificate: Path


def make_key(directory: Path, owner: str) -> Key:
    key = Key(directory / "modules.key", directory / "modules.pem")
    directory.mkdir(parents=True, exist_ok=True)
    run(
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj", "/CN=%s" % owner,
        "-keyout", key.private, "-out", key.certificate,
    )  # fmt: skip
    return key


def module(kernel: str, fields: t.Sequence[t.Tuple[str, str]], workplace: Path, key: Key) -> bytes:
    """A signed module for one kernel; ``fields``: name and value of what modinfo shows."""
    named = [*fields, ("vermagic", "%s SMP preempt mod_unload modversions " % kernel)]
    lines = ['.section .modinfo, "a"', *('.asciz "%s=%s"' % field for field in named)]
    source, plain, signature = (workplace / name for name in ("module.s", "module.ko", "module.p7s"))
    source.write_text("\n".join(lines) + "\n", encoding="ascii")
    run("gcc", "-c", "-o", plain, source)
    run(
        "openssl", "cms", "-sign", "-binary", "-noattr", "-nocerts", "-nosmimecap", "-md", "sha512", "-outform", "DER",
        "-signer", key.certificate, "-inkey", key.private, "-in", plain, "-out", signature,
    )  # fmt: skip
    signed = signature.read_bytes()
    return plain.read_bytes() + signed + struct.pack(">BBBBB3xI", 0, 0, _PKCS7, 0, 0, len(signed)) + _MAGIC
