# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secure Boot: the firmware's own variable, and what mokutil says of keys.

Words and codes are those of mokutil's source (github.com/lcp/mokutil, src/mokutil.c, main, sb_state, test_key and
print_skip_message). ``--test-key`` ends with 1 for a key that is enrolled and 0 for one that is not in older releases,
and the other way round since 2023; so its words count and its code does not.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Certificate, Reading
from .text import colons, failure

_ATTRIBUTES = 4

#: What ``--test-key`` says after the path -> the state of the key.
_STATES = (
    (r"is not enrolled", "not enrolled"),
    (r"is already enrolled", "enrolled"),
    (r"is already in db", "enrolled"),
    (r"is already in the built-in trusted keyring", "enrolled"),
    (r"is already in the enrollment request", "requested"),
    (r"is blocked in \w+", "blocked"),
)

_FINGERPRINT = re.compile(r"^[ \t]*SHA1 Fingerprint:[ \t]*([0-9a-fA-F:]{59})[ \t]*$", re.MULTILINE)
_SUBJECT = re.compile(r"^[ \t]*Subject:.*?\bCN ?= ?(.+?)(?:, \w+ ?= ?.*)?\s*$", re.MULTILINE)
#: Long ones stand on a line of their own, short ones as "4660 (0x1234)".
_SERIAL = re.compile(r"Serial Number:\s*(?:((?:[0-9a-fA-F]{2}:)+[0-9a-fA-F]{2})|\d+ \(0x([0-9a-fA-F]+)\))")


def variable(raw: bytes) -> t.Optional[bool]:
    """A firmware variable that is a switch, as efivarfs shows it: four bytes of attributes, then 0 or 1."""
    if len(raw) != _ATTRIBUTES + 1 or raw[_ATTRIBUTES] > 1:
        return None
    return raw[_ATTRIBUTES] == 1


def state(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[bool]:
    """``mokutil --sb-state``: whether Secure Boot is on, and not switched off for all but the boot loader in shim."""
    if re.search(r"SecureBoot validation is disabled in shim", stdout):
        return Reading(False)
    if re.search(r"^SecureBoot enabled", stdout, re.MULTILINE):
        return Reading(True)
    if re.search(r"^SecureBoot disabled", stdout, re.MULTILINE) or "doesn't support Secure Boot" in stderr + stdout:
        return Reading(False)
    return Reading.unknown(failure("mokutil --sb-state", rc, stdout, stderr))


def test_key(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[str]:
    """``mokutil --test-key CERTIFICATE``: what ``model.SecureBoot.signing_key`` says."""
    said = "%s\n%s" % (stdout, stderr)
    for pattern, found in _STATES:
        if re.search(r"\S %s\s*$" % pattern, said, re.MULTILINE):
            return Reading(found)
    return Reading.unknown(failure("mokutil --test-key", rc, stdout, stderr))


def enrolled(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[t.Tuple[Certificate, ...]]:
    """``mokutil --list-enrolled``: for each key its fingerprint, then its certificate as OpenSSL prints it."""
    starts = list(_FINGERPRINT.finditer(stdout))
    if not starts:
        if rc == 0 and (not stdout.strip() or re.search(r"^MokListRT is empty", stdout, re.MULTILINE)):
            return Reading(())
        return Reading.unknown(failure("mokutil --list-enrolled", rc, stdout, stderr))
    ends = [*(start.start() for start in starts[1:]), len(stdout)]
    return Reading(tuple(_certificate(start.group(1), stdout[start.end() : end]) for start, end in zip(starts, ends)))


def _certificate(sha1: str, text: str) -> Certificate:
    subject, serial = _SUBJECT.search(text), _SERIAL.search(text)
    number = ""
    if serial:
        number = colons(serial.group(1) or serial.group(2))
    return Certificate(subject.group(1) if subject else "", sha1.lower(), number)
