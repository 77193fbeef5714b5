# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays UEFI firmware and shim: variables in efivars, Secure Boot, and the keys of the machine's owner.

The variables lie on the disk of the node, and the real mokutil reads and writes them. What a person does at the
console, where mokutil's requests are confirmed, is done by `simkernel enrol` and takes effect at the next boot.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
import typing as t
import uuid
from pathlib import Path

from .machine import CONFIG, KEPT_FAULTS, RUN

#: Non-volatile: what is in the firmware, and what will be confirmed at the console.
STORE = CONFIG / "firmware"
VARIABLES = STORE / "efivars"
KEYS = STORE / "keys"
CONFIRMED = STORE / "confirmed"

SYS_FIRMWARE = Path("/sys/firmware")
EFIVARS = SYS_FIRMWARE / "efi/efivars"
#: Serial numbers of the keys whose modules this boot's kernel takes; no file: it takes any module.
TRUSTED = RUN / "trusted-keys"

#: Signers whose keys a distribution's own kernels are built with.
BUILT_IN = ("Canonical Ltd. Kernel Module Signing",)

GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
SHIM = uuid.UUID("605dab50-e046-4300-abb6-3dd810dd8b23")
X509 = uuid.UUID("a5c059a1-94e4-4aa7-87b5-ab155c2bf072")
#: Attributes of a variable: kept; visible to the firmware; visible to the system.
VOLATILE = 6


def start() -> None:
    """Power on. Without the switch `secure-boot` the machine has a BIOS, and nothing to see below /sys/firmware."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "none", str(SYS_FIRMWARE)], check=True)
    switch = KEPT_FAULTS / "secure-boot"
    if not switch.exists():
        return
    for directory in (VARIABLES, KEYS, EFIVARS):
        directory.mkdir(parents=True, exist_ok=True)
    _confirm()
    enabled = "disabled" not in switch.read_text().split()
    certificates = [file.read_bytes() for file in sorted(KEYS.iterdir())]
    _write("SecureBoot", GLOBAL, bytes([enabled]))
    _write("SetupMode", GLOBAL, b"\0")
    _write("MokListRT", str(SHIM), b"".join(map(signature_list, certificates)))
    subprocess.run(["mount", "--bind", str(VARIABLES), str(EFIVARS)], check=True)
    if enabled:
        TRUSTED.write_text("".join(_serial(certificate) + "\n" for certificate in certificates))


def enrol(arguments: t.Sequence[str]) -> int:
    """Confirm, at the next boot, what mokutil has asked for, or take in the certificate (DER) of a file."""
    CONFIRMED.mkdir(parents=True, exist_ok=True)
    if not arguments:
        (CONFIRMED / "request").touch()
        return 0
    content = Path(arguments[0]).read_bytes()
    if not content.startswith(b"\x30\x82"):
        print("simkernel: %s is no certificate in DER" % arguments[0], file=sys.stderr)
        return 1
    (CONFIRMED / "certificate").write_bytes(content)
    return 0


def objection(info: t.Mapping[str, str]) -> t.Optional[str]:
    """Why the kernel takes no module of these modinfo fields, in its words; None where it does."""
    if not TRUSTED.exists() or info.get("signer") in BUILT_IN:
        return None
    if not info.get("signer"):
        return "unsigned module"
    serial = info.get("sig_key", "").replace(":", "").upper()
    return None if serial in TRUSTED.read_text().split() else "module with unavailable key"


def _confirm() -> None:
    """MokManager, and the person in front of it."""
    request = VARIABLES / ("MokNew-%s" % SHIM)
    found: t.List[bytes] = []
    if (CONFIRMED / "request").exists() and request.exists():
        found += certificates_in(request.read_bytes()[4:])
        for name in ("MokNew", "MokAuth"):
            (VARIABLES / ("%s-%s" % (name, SHIM))).unlink(missing_ok=True)
    if (CONFIRMED / "certificate").exists():
        found.append((CONFIRMED / "certificate").read_bytes())
    for certificate in found:
        (KEYS / (_serial(certificate) + ".der")).write_bytes(certificate)
    shutil.rmtree(CONFIRMED, ignore_errors=True)


def _write(name: str, vendor: str, value: bytes) -> None:
    (VARIABLES / ("%s-%s" % (name, vendor))).write_bytes(struct.pack("<I", VOLATILE) + value)


def signature_list(certificate: bytes) -> bytes:
    """An EFI_SIGNATURE_LIST that holds one certificate."""
    size = 16 + len(certificate)
    return X509.bytes_le + struct.pack("<III", 28 + size, 0, size) + SHIM.bytes_le + certificate


def certificates_in(lists: bytes) -> t.List[bytes]:
    """The certificates of EFI_SIGNATURE_LISTs; hashes are left out."""
    found = []
    while lists:
        kind, (length, header, size) = lists[:16], struct.unpack_from("<III", lists, 16)
        for start in range(28 + header, length, size):
            if kind == X509.bytes_le:
                found.append(lists[start + 16 : start + size])
        lists = lists[length:]
    return found


def _serial(certificate: bytes) -> str:
    """As modinfo shows it, without colons."""
    command = ("openssl", "x509", "-inform", "DER", "-noout", "-serial")
    answer = subprocess.run(command, input=certificate, capture_output=True, check=True).stdout.decode()
    return answer.strip().partition("=")[2]
