# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fingerprints are read as gpg reads them; what is no armoured key is refused with its reason."""

from __future__ import annotations

import base64

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import openpgp
from ansible_collections.goldennode.gpu.tests.unit.bundles import FINGERPRINT, KEY, OTHER_FINGERPRINT, OTHER_KEY

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
