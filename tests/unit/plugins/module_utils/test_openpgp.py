# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fingerprints are read as gpg reads them; what is no armoured key is refused with its reason."""

from __future__ import annotations

import base64
import datetime

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import openpgp
from ansible_collections.goldennode.gpu.tests.unit.bundles import (
    EXPIRED_KEY,
    FINGERPRINT,
    KEY,
    OTHER_FINGERPRINT,
    OTHER_KEY,
    REVOKED_KEY,
    SHA1_KEY,
    SHORT_KEY,
)

BEGIN, END = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"


def armoured(data: bytes) -> str:
    return "%s\n\n%s\n%s\n" % (BEGIN, base64.b64encode(data).decode(), END)


@pytest.mark.parametrize(("key", "fingerprint"), [(KEY, FINGERPRINT), (OTHER_KEY, OTHER_FINGERPRINT)])
def test_fingerprint_is_the_one_that_gpg_computes(key, fingerprint):
    assert openpgp.fingerprints(key) == (fingerprint,)


def test_text_around_the_block_headers_and_line_ends_do_not_matter():
    dressed = "Key of the vendor\r\n" + KEY.replace(BEGIN, BEGIN + "\nComment: x").replace("\n", "\r\n") + "trailing"
    assert openpgp.fingerprints(dressed) == (FINGERPRINT,)
    assert openpgp.normalise("before\n" + KEY.replace("\n", " \r\n") + "after") == KEY


def test_all_keys_of_a_file_are_found():
    assert openpgp.fingerprints(KEY + "\n" + OTHER_KEY) == (FINGERPRINT, OTHER_FINGERPRINT)
    assert openpgp.normalise(KEY + "\n" + OTHER_KEY).count(BEGIN) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no armoured public key"),
        ("trusted=yes", "no armoured public key"),
        (KEY.replace("PUBLIC", "PRIVATE"), "no armoured public key"),
        (KEY[: len(KEY) // 2], "no armoured public key"),
        (KEY.replace("mDMEaw2", "mDM=aw2"), "base64 is broken"),
        (armoured(b"\x00\x01\x02"), "no packet header"),
        (armoured(b"\xc6\xff\x00"), "middle of a packet"),
        (armoured(b"\x98\x33\x04"), "middle of a packet"),
        (armoured(b"\xc6\x02\x03\x00"), "version 3"),
        (armoured(b"\xc6\x02\x06\x00"), "version 6"),
        (armoured(b"\xc6\x00"), "version none"),
        (armoured(b"\xc6\xe1\x00"), "partial length"),
        (armoured(b"\xcd\x01a"), "no armoured public key"),
    ],
)
def test_what_is_no_key_is_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        openpgp.fingerprints(text)


def test_every_way_to_write_a_length_is_read():
    """RFC 9580, 4.2: one octet, two, five, and the old format's one, two, four and open end."""
    body = b"\x04" + b"k" * 299
    wanted = openpgp.fingerprints(armoured(b"\xc6\xff" + len(body).to_bytes(4, "big") + body))
    two = len(body) - 192
    for head in (
        bytes([0xC6, 192 + (two >> 8), two & 0xFF]),
        b"\x99" + len(body).to_bytes(2, "big"),
        b"\x9a" + len(body).to_bytes(4, "big"),
        b"\x9b",
    ):
        assert openpgp.fingerprints(armoured(head + body)) == wanted


def test_no_key_leaves_nothing_to_write():
    assert openpgp.normalise("no key") == ""


# --- what a key says of itself ------------------------------------------------------------------------------------


def packet(tag: int, body: bytes) -> bytes:
    return bytes([0xC0 | tag, 0xFF]) + len(body).to_bytes(4, "big") + body


PRIMARY = b"\x04" + (1_700_000_000).to_bytes(4, "big") + b"\x16" + b"p" * 40
SUBKEY = b"\x04" + (1_700_000_000).to_bytes(4, "big") + b"\x16" + b"s" * 40


def signature(kind: int, hash_id: int, *hashed: bytes, issuer: bytes = b"") -> bytes:
    """A signature packet of version 4; ``hashed`` are subpackets, and the issuer stands in the other area."""
    identity = issuer or bytes.fromhex(openpgp.fingerprints(armoured(packet(6, PRIMARY)))[0][-16:])
    area = b"".join(hashed)
    other = b"\x09\x10" + identity
    lengths = len(area).to_bytes(2, "big") + area + len(other).to_bytes(2, "big") + other
    return packet(2, bytes([4, kind, 22, hash_id]) + lengths + b"\x00\x00")


def created(seconds: int) -> bytes:
    return b"\x05\x02" + seconds.to_bytes(4, "big")


def lifetime(seconds: int) -> bytes:
    return b"\x05\x09" + seconds.to_bytes(4, "big")


def flags(value: int) -> bytes:
    return bytes([2, 27, value])


def read(*packets: bytes) -> openpgp.Certificate:
    (found,) = openpgp.certificates(armoured(packet(6, PRIMARY) + b"".join(packets)))
    return found


@pytest.mark.parametrize(
    ("key", "algorithm", "bits", "hashes", "expires", "revoked"),
    [
        (KEY, "EdDSA", 0, ["SHA256"], None, False),
        (OTHER_KEY, "RSA", 2048, ["SHA512"], None, False),
        (SHA1_KEY, "EdDSA", 0, ["SHA1"], None, False),
        (EXPIRED_KEY, "EdDSA", 0, ["SHA512"], "2025-01-01", False),
        (REVOKED_KEY, "EdDSA", 0, ["SHA512"], None, True),
        (SHORT_KEY, "RSA", 1024, ["SHA512"], None, False),
    ],
)
def test_a_key_is_read_as_gpg_reads_it(key, algorithm, bits, hashes, expires, revoked):
    (found,) = openpgp.certificates(key)
    assert (found.algorithm, found.bits, found.revoked) == (algorithm, bits, revoked)
    assert [binding.hash for binding in found.bindings] == hashes
    assert (found.expires.date().isoformat() if found.expires else None) == expires


def test_the_newest_signature_of_the_key_says_when_it_ends():
    older = signature(0x13, 2, created(1_700_000_000), lifetime(86400))
    newer = signature(0x1F, 10, created(1_700_000_001), lifetime(2 * 86400))
    assert read(older).expires == datetime.datetime(2023, 11, 15, 22, 13, 20, tzinfo=datetime.timezone.utc)
    assert read(newer, older).expires == datetime.datetime(2023, 11, 16, 22, 13, 20, tzinfo=datetime.timezone.utc)
    assert read(older, signature(0x13, 10, created(1_700_000_001))).expires is None


def test_signatures_of_others_bind_nothing():
    assert read(signature(0x10, 10, issuer=b"somebody")).bindings == ()
    assert read(signature(0x20, 10, issuer=b"somebody")).revoked is False


def test_an_issuers_fingerprint_counts_more_than_its_short_id():
    whole = bytes([22, 33, 4]) + bytes.fromhex(read().fingerprint)
    assert len(read(signature(0x13, 8, whole, issuer=b"somebody")).bindings) == 1


def test_a_subkey_has_its_binding_and_says_whether_it_signs():
    found = read(
        signature(0x13, 8, flags(0x01)),
        packet(14, SUBKEY),
        signature(0x18, 2, flags(0x02)),
        packet(14, SUBKEY[:-1] + b"t"),
        signature(0x18, 8, flags(0x0C)),
    )
    assert [(bool(b.of), b.hash, b.signs) for b in found.bindings] == [
        (False, "SHA256", False),
        (True, "SHA1", True),
        (True, "SHA256", False),
    ]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x03\x05",
        b"\x04\x13\x16\x02\xff\xff",
        b"\x04\x13\x16\x02\x00\x02\xff\x00",
        bytes([4, 0x13, 22, 2, 0, 1, 0]),
    ],
)
def test_a_broken_signature_is_no_binding(body):
    assert read(packet(2, body)).bindings == ()
