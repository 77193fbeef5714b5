# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read an armoured OpenPGP key: its fingerprint, to compare with the bundle's, and how it is bound to its owner.

Pure, and without gpg: the controller may be any machine. Only primary keys count, since apt trusts a key file by them.
No signature is verified here: who can change the key's text is stopped by the fingerprint.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import datetime
import hashlib
import re
import typing as t

_BLOCK = re.compile(r"-----BEGIN PGP PUBLIC KEY BLOCK-----\s*?\n(.*?)-----END PGP PUBLIC KEY BLOCK-----", re.DOTALL)
_SIGNATURE, _PUBLIC_KEY, _PUBLIC_SUBKEY = 2, 6, 14
_MORE_THAN_TWO_OCTETS = 0xC0

#: Types of signatures by which a key binds itself to a name (0x10 to 0x13), to itself (0x1F) or a subkey (0x18).
_CERTIFICATIONS = (0x10, 0x11, 0x12, 0x13, 0x1F)
_SUBKEY_BINDING = 0x18
_KEY_REVOCATION = 0x20

_CREATED, _KEY_EXPIRES, _ISSUER, _KEY_FLAGS, _ISSUER_FINGERPRINT = 2, 9, 16, 27, 33
_MAY_SIGN = 0x02

_HASHES = {
    1: "MD5",
    2: "SHA1",
    3: "RIPEMD160",
    8: "SHA256",
    9: "SHA384",
    10: "SHA512",
    11: "SHA224",
    12: "SHA3-256",
    14: "SHA3-512",
}
_ALGORITHMS = {1: "RSA", 2: "RSA", 3: "RSA", 17: "DSA", 19: "ECDSA", 22: "EdDSA", 27: "Ed25519", 28: "Ed448"}
_RSA = (1, 2, 3)


@dataclasses.dataclass(frozen=True)
class Binding:
    """A signature of the key over itself or over its subkey ``of`` ("" for the primary key)."""

    of: str
    hash: str
    created: t.Optional[datetime.datetime] = None
    lifetime: t.Optional[datetime.timedelta] = None  # of the key, after it was made; None: for ever
    signs: bool = True  # whether the key it binds may sign


@dataclasses.dataclass(frozen=True)
class Certificate:
    """One primary key with what it says of itself. ``bits`` is the length of an RSA key, else 0."""

    fingerprint: str
    algorithm: str
    bits: int
    created: datetime.datetime
    bindings: t.Tuple[Binding, ...] = ()
    revoked: bool = False

    @property
    def expires(self) -> t.Optional[datetime.datetime]:
        """When the primary key ends, by the newest of its signatures that says anything; None: never."""
        own = [binding for binding in self.bindings if not binding.of]
        if not own:
            return None
        newest = max(own, key=lambda binding: binding.created or self.created)
        return self.created + newest.lifetime if newest.lifetime else None


def normalise(text: str) -> str:
    """The key as it is written into a sources file: only the armoured blocks, no trailing blanks, one final newline."""
    blocks = [match.group(0) for match in _BLOCK.finditer(text.replace("\r\n", "\n"))]
    lines = "\n".join(blocks).split("\n")
    return "\n".join(line.rstrip() for line in lines) + "\n" if blocks else ""


def fingerprints(text: str) -> t.Tuple[str, ...]:
    """Fingerprints of the primary keys, in upper-case hex, in the order of the file.

    :raises ValueError: when the text holds no armoured public key, or one that cannot be read
    """
    return tuple(certificate.fingerprint for certificate in certificates(text))


def certificates(text: str) -> t.Tuple[Certificate, ...]:
    """The primary keys with their self-signatures, in the order of the file.

    :raises ValueError: when the text holds no armoured public key, or one that cannot be read
    """
    found: t.List[Certificate] = []
    subkey = ""
    for match in _BLOCK.finditer(text.replace("\r\n", "\n")):
        for tag, body in _packets(_dearmour(match.group(1))):
            if tag == _PUBLIC_KEY:
                found.append(_certificate(body))
                subkey = ""
            elif tag == _PUBLIC_SUBKEY:
                subkey = _fingerprint(body)
            elif tag == _SIGNATURE and found:
                found[-1] = _signed(found[-1], subkey, body)
    if not found:
        raise ValueError("it holds no armoured public key (-----BEGIN PGP PUBLIC KEY BLOCK-----)")
    return tuple(found)


def _certificate(body: bytes) -> Certificate:
    fingerprint = _fingerprint(body)
    if len(body) < 8:
        raise ValueError("it ends in the middle of a packet")
    algorithm = body[5]
    return Certificate(
        fingerprint=fingerprint,
        algorithm=_ALGORITHMS.get(algorithm, "algorithm %d" % algorithm),
        bits=int.from_bytes(body[6:8], "big") if algorithm in _RSA else 0,
        created=_time(body[1:5]),
    )


def _signed(certificate: Certificate, subkey: str, body: bytes) -> Certificate:
    """The certificate with one more signature. One of somebody else, or of a kind that binds nothing, changes nothing.

    Signatures of version 3 are left out: they say nothing of a key's life, and verifiers of today take none.
    """
    if len(body) < 6 or body[0] != 4:
        return certificate
    kind, hash_id, length = body[1], body[3], int.from_bytes(body[4:6], "big")
    hashed = dict(_subpackets(body[6 : 6 + length]))
    rest = body[6 + length :]
    said = {**dict(_subpackets(rest[2 : 2 + int.from_bytes(rest[:2], "big")])), **hashed}
    if not _is_by(certificate, said):
        return certificate
    if kind == _KEY_REVOCATION:
        return dataclasses.replace(certificate, revoked=True)
    if kind not in _CERTIFICATIONS and kind != _SUBKEY_BINDING:
        return certificate
    flags, lifetime = hashed.get(_KEY_FLAGS, b""), int.from_bytes(hashed.get(_KEY_EXPIRES, b""), "big")
    binding = Binding(
        of=subkey if kind == _SUBKEY_BINDING else "",
        hash=_HASHES.get(hash_id, "hash algorithm %d" % hash_id),
        created=_time(hashed[_CREATED]) if _CREATED in hashed else None,
        lifetime=datetime.timedelta(seconds=lifetime) if lifetime else None,
        signs=bool(flags[0] & _MAY_SIGN) if flags else kind != _SUBKEY_BINDING,
    )
    return dataclasses.replace(certificate, bindings=(*certificate.bindings, binding))


def _is_by(certificate: Certificate, said: t.Mapping[int, bytes]) -> bool:
    if _ISSUER_FINGERPRINT in said:
        return said[_ISSUER_FINGERPRINT][1:].hex().upper() == certificate.fingerprint
    return said.get(_ISSUER, b"").hex().upper() == certificate.fingerprint[-16:]


def _subpackets(data: bytes) -> t.Iterator[t.Tuple[int, bytes]]:
    """Type and value of each subpacket (RFC 9580, section 5.2.3.7); what is cut off is left out."""
    at = 0
    while at < len(data):
        try:
            start, length = _subpacket_length(data, at)
            kind = data[start] & 0x7F
        except IndexError:
            return
        yield kind, data[start + 1 : start + length]
        at = start + max(length, 1)


def _subpacket_length(data: bytes, at: int) -> t.Tuple[int, int]:
    first = data[at]
    if first < _MORE_THAN_TWO_OCTETS:
        return at + 1, first
    if first < 0xFF:
        return at + 2, ((first - _MORE_THAN_TWO_OCTETS) << 8) + data[at + 1] + 192
    return at + 5, int.from_bytes(data[at + 1 : at + 5], "big")


def _time(octets: bytes) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(int.from_bytes(octets[:4], "big"), datetime.timezone.utc)


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
