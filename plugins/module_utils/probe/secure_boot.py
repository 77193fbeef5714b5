# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secure Boot: whether the kernel loads signed modules only, and whether it would take what DKMS signs here."""

from __future__ import annotations

import typing as t

from ..model import Certificate, Platform, Reading, SecureBoot
from ..parse import dkms, mokutil
from .host import Host

EFI = "/sys/firmware/efi"
VARIABLE = EFI + "/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
#: Set where the machine's owner has switched validation off in shim: then the kernel does not demand signatures either.
SHIM_OFF = EFI + "/efivars/MokSBStateRT-605dab50-e046-4300-abb6-3dd810dd8b23"

FRAMEWORK = "/etc/dkms/framework.conf"
FRAMEWORK_DIRECTORY = "/etc/dkms/framework.conf.d"


def secure_boot(host: Host, platform: Reading[Platform]) -> Reading[SecureBoot]:
    efi = host.stat(EFI)
    if not efi.known:
        return Reading.unknown(efi.error or "")
    if efi.value is None:
        return Reading(SecureBoot(enabled=False))  # not booted by UEFI
    enabled = _enabled(host)
    if not enabled.known:
        return Reading.unknown(enabled.error or "")
    if not enabled.value:
        return Reading(SecureBoot(enabled=False))
    certificate = _certificate(host, platform)
    return Reading(
        SecureBoot(
            enabled=True,
            enrolled=_enrolled(host),
            certificate=certificate.value or "",
            signing_key=_signing_key(host, certificate),
        )
    )


def _enabled(host: Host) -> Reading[bool]:
    """From the firmware's variable; mokutil is asked where that is not shown or says nothing that is known."""
    raw, shim_off = host.read_bytes(VARIABLE), host.read_bytes(SHIM_OFF)
    on = None if raw.value is None else mokutil.variable(raw.value)
    if on is not None and shim_off.known:
        return Reading(on and not (shim_off.value is not None and mokutil.variable(shim_off.value)))
    why = raw.error or shim_off.error
    if why is None:
        why = "%s is not there" % VARIABLE if raw.value is None else "%s holds %r" % (VARIABLE, raw.value[:16])
    command = host.run(["mokutil", "--sb-state"], timeout=10)
    if command.error is not None:
        return Reading.unknown("%s; %s" % (why, command.error))
    said = mokutil.state(command.stdout, command.stderr, command.rc)
    return said if said.known else Reading.unknown("%s; %s" % (why, said.error))


def _enrolled(host: Host) -> Reading[t.Tuple[Certificate, ...]]:
    command = host.run(["mokutil", "--list-enrolled"], timeout=10)
    if command.error is not None:
        return Reading.unknown(command.error)
    return mokutil.enrolled(command.stdout, command.stderr, command.rc)


def _certificate(host: Host, platform: Reading[Platform]) -> Reading[str]:
    if platform.value is None:
        return Reading.unknown(platform.error or "")
    names = host.listdir(FRAMEWORK_DIRECTORY)
    if not names.known:
        return Reading.unknown(names.error or "")
    paths = [FRAMEWORK]
    paths += ["%s/%s" % (FRAMEWORK_DIRECTORY, name) for name in names.value or {} if name.endswith(".conf")]
    texts: t.List[str] = []
    for path in paths:
        text = host.read(path)
        if not text.known:
            return Reading.unknown(text.error or "")
        texts.append(text.value or "")
    return dkms.certificate(texts, platform.value.id)


def _signing_key(host: Host, certificate: Reading[str]) -> Reading[str]:
    if certificate.value is None:
        return Reading.unknown(certificate.error or "")
    there = host.stat(certificate.value)
    if not there.known:
        return Reading.unknown(there.error or "")
    if there.value is None:
        return Reading("missing")
    command = host.run(["mokutil", "--test-key", certificate.value], timeout=10)
    if command.error is not None:
        return Reading.unknown(command.error)
    return mokutil.test_key(command.stdout, command.stderr, command.rc)
