# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the fingerprints out of an armoured OpenPGP key, to compare a repository's key with what the bundle says.

Pure, and without gpg: the controller may be any machine. Only primary keys count, since apt trusts a key file by them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import typing as t

_BLOCK = re.compile(r"-----BEGIN PGP PUBLIC KEY BLOCK-----\s*?\n(.*?)-----END PGP PUBLIC KEY BLOCK-----", re.DOTALL)
_PUBLIC_KEY = 6
_MORE_THAN_TWO_OCTETS = 0xC0


def normalise(text: str) -> str:
    """The key as it is written into a sources file: only the armoured blocks, no trailing blanks, one final newline."""
    blocks = [match.group(0) for match in _BLOCK.finditer(text.replace("\r\n", "\n"))]
    lines = "\n".join(blocks).split("\n")
    return "\n".join(line.rstrip() for line in lines) + "\n" if blocks else ""


def fingerprints(text: str) -> t.Tuple[str, ...]:
    """Fingerprints of the primary keys, in upper-case hex, in the order of the file.

    :raises ValueError: when the text holds no armoured public key, or one that cannot be read
    """
    found = []
    for match in _BLOCK.finditer(text.replace("\r\n", "\n")):
        for tag, body in _packets(_dearmour(match.group(1))):
            if tag == _PUBLIC_KEY:
                found.append(_fingerprint(body))
    if not found:
        raise ValueError("it holds no armoured public key (-----BEGIN PGP PUBLIC KEY BLOCK-----)")
    return tuple(found)


def _dearmour(block: str) -> bytes:
    """The bytes of one block: after the headers and the empty line that ends them, without the checksum."""
    lines = [line.strip() for line in block.split("\n")]
    if "" in lines:
        lines = lines[lines.index("") + 1 :]
    data = "".join(line for line in lines if not line.startswith("="))
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise ValueError("its base64 is broken: %s" % error) from error


def _packets(data: bytes) -> t.Iterator[t.Tuple[int, bytes]]:
    """Tag and body of each packet (RFC 9580, section 4.2)."""
    at = 0
    try:
        while at < len(data):
            head = data[at]
            if not head & 0x80:
                raise ValueError("byte %d is no packet header" % at)
            if head & 0x40:
                tag, (start, length) = head & 0x3F, _new_length(data, at + 1)
            else:
                tag, (start, length) = (head >> 2) & 0x0F, _old_length(data, at + 1, head & 0x03)
            if start + length > len(data):
                raise ValueError("it ends in the middle of a packet")
            yield tag, data[start : start + length]
            at = start + length
    except IndexError as error:
        raise ValueError("it ends in the middle of a packet") from error


def _new_length(data: bytes, at: int) -> t.Tuple[int, int]:
    first = data[at]
    if first < _MORE_THAN_TWO_OCTETS:
        return at + 1, first
    if first < 0xE0:
        return at + 2, ((first - _MORE_THAN_TWO_OCTETS) << 8) + data[at + 1] + 192
    if first == 0xFF:
        return at + 5, int.from_bytes(data[at + 1 : at + 5], "big")
    raise ValueError("a packet of partial length has no place in a key")


def _old_length(data: bytes, at: int, kind: int) -> t.Tuple[int, int]:
    if kind == 3:
        return at, len(data) - at
    octets = 1 << kind
    return at + octets, int.from_bytes(data[at : at + octets], "big")


def _fingerprint(body: bytes) -> str:
    """Version 4 keys only: those that apt's verifiers on the supported platforms read."""
    if not body or body[0] != 4:
        raise ValueError("it holds a key of version %s, and only version 4 is read" % (body[0] if body else "none"))
    digest = hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body, usedforsecurity=False)
    return digest.hexdigest().upper()
