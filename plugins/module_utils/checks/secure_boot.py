# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secure Boot: a module whose signing key is not enrolled is refused by the kernel, however well it was built.

Enrolment needs somebody at the console, so it is said before anything is changed, and never pretended.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Certificate, Desired, Evidence, Finding, ModuleOnDisk, SecureBoot
from .outcome import failed, passed, unknown
from .wanted import driver_version, running_kernel

#: What the kernel, or modprobe, says of a module whose signature it does not take.
_REJECTED = re.compile(
    r"key was rejected by service|required key not available|unsigned module(?: loading)? is re(?:jected|stricted)"
    r"|module with unavailable key is rejected|not signed with a trusted key",
    re.IGNORECASE,
)

_SIGNED_PACKAGES = (
    "Take packages whose modules the distribution has signed: driver: {source: distro, build: precompiled} in the "
    "bundle"
)
_AT_THE_CONSOLE = (
    "at the next boot somebody confirms it at the console (Enroll MOK in the blue menu, with the password given to "
    "mokutil), which nothing can do unattended"
)

_CAUSES = {
    "not enrolled": "Secure Boot is on, and the key with which DKMS signs (%s) is not enrolled: the kernel would "
    "refuse the nvidia module.",
    "missing": "Secure Boot is on, and DKMS has no signing key yet (%s): the one that it would make is not enrolled, "
    "and the kernel would refuse the nvidia module.",
    "requested": "Secure Boot is on, and the enrolment of the key with which DKMS signs (%s) waits for somebody at the "
    "console.",
    "blocked": "Secure Boot is on, and the key with which DKMS signs (%s) is on a list of blocked keys.",
}


def secure_boot(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    boot = evidence.secure_boot.value
    if boot is not None and not boot.enabled:
        return [passed("Secure Boot is off")]
    # These hold also where it is not known whether it is on.
    if _taken(desired, evidence):
        return [passed("the kernel has taken the module %s" % driver_version(desired))]
    if desired.lock["driver"]["build"] != "dkms":
        return [passed("nothing is built here: the module comes signed")]
    if boot is None:
        return [_unknown(evidence.secure_boot.error or "")]
    state = boot.signing_key
    if state.value == "enrolled":
        return [passed("Secure Boot is on, and the key of %s is enrolled" % boot.certificate)]
    if state.value is None:
        return [
            unknown(
                state.error or "",
                cause="Secure Boot is on, and it is not known whether the key with which DKMS signs is enrolled: %s."
                % state.error,
                fix="Install mokutil and dkms on this node, see that mokutil --list-enrolled answers, and run again.",
            )
        ]
    return [
        failed(
            boot.certificate,
            expected="an enrolled key to sign the nvidia module with",
            actual=state.value,
            cause=_CAUSES[state.value] % boot.certificate,
            fix=_fix(desired, boot, state.value),
            repair="manual",
        )
    ]


def _unknown(why: str) -> Finding:
    return unknown(
        why,
        cause="It is not known whether Secure Boot is on: %s." % why,
        fix="Mount efivarfs (mount -t efivarfs efivarfs /sys/firmware/efi/efivars) or install mokutil, and run again. "
        "A kernel started with efi=noruntime, as real-time kernels are, shows the firmware's variables to neither.",
    )


def _taken(desired: Desired, evidence: Evidence) -> bool:
    """Whether nothing is left to build and sign: the module of the lock is loaded, and no other kernel is to boot."""
    driver, module = evidence.driver.value, evidence.module_to_boot.value
    if driver is None or driver.version != driver_version(desired) or module is None:
        return False
    return module.version == driver.version and module.kernel == running_kernel(evidence)


def rejected(desired: Desired, evidence: Evidence) -> t.Optional[t.Tuple[str, str]]:
    """Cause and fix where the kernel does not take the module that is on disk, because of its signature."""
    module, boot = evidence.module_on_disk.value, evidence.secure_boot.value
    enrolled = _is_enrolled(module, boot) if module is not None else None
    on = boot is not None and boot.enabled
    if enrolled or not (_said(evidence) or (on and enrolled is False and _local(desired))):
        return None
    cause = "The kernel refuses the nvidia module: %s." % _whose(module, boot)
    return cause, _fix(desired, boot, boot.signing_key.value if boot else None)


def _said(evidence: Evidence) -> bool:
    """Whether the kernel has refused a module that may be nvidia's: its own words name none, those of modprobe do."""
    module = evidence.module_on_disk.value
    signed = module is not None and bool(module.signer or module.signing_serial)
    lines = [line for line in evidence.kernel_log.value or () if _REJECTED.search(line)]
    if signed:  # then it is another one that was refused for having no signature
        lines = [line for line in lines if "unsigned module" not in line.lower()]
    return any("could not insert" not in line or "nvidia" in line for line in lines)


def _local(desired: Desired) -> bool:
    """Whether the module is built and signed on the node; a key of the distribution is no machine owner's key."""
    return bool(desired.lock["driver"]["build"] == "dkms")


def _is_enrolled(module: ModuleOnDisk, boot: t.Optional[SecureBoot]) -> t.Optional[bool]:
    """Whether the key that signed the module is a machine owner's key; None where that is not known."""
    if not module.signer and not module.signing_serial:
        return False
    if boot is None or boot.enrolled.value is None:
        return None
    return any(_same_key(module, one) for one in boot.enrolled.value)


def _same_key(module: ModuleOnDisk, one: Certificate) -> bool:
    """By the serial number: DKMS gives each key that it makes the same name."""
    if module.signing_serial and one.serial:
        return module.signing_serial == one.serial
    return module.signer == one.subject


def _whose(module: t.Optional[ModuleOnDisk], boot: t.Optional[SecureBoot]) -> str:
    if module is None:
        return "the key that signed it is not enrolled in the firmware"
    if not module.signer and not module.signing_serial:
        return "it is not signed"
    there = boot.enrolled.value if boot else None
    if there is None:
        return "the key that signed it (%s) is not enrolled in the firmware" % module.signer
    names = ", ".join(one.subject or one.sha1 for one in there) or "none"
    other = " another key of that name is," if any(one.subject == module.signer for one in there) else ""
    return "the key that signed it (%s) is not enrolled;%s enrolled are: %s" % (module.signer, other, names)


def _make_key(platform: str, certificate: str) -> str:
    """The command that makes the key that DKMS would make at its first build, before there is anything to build."""
    if platform.startswith("ubuntu-"):
        return "update-secureboot-policy --new-key"
    if platform.startswith("debian-12-"):  # its DKMS, 3.0, has no command for it
        return (
            "openssl req -new -x509 -nodes -newkey rsa:2048 -days 36500 -subj '/CN=DKMS module signing key/' "
            "-outform DER -keyout %s.key -out %s" % (certificate.rpartition(".")[0], certificate)
        )
    return "apt-get install dkms, and dkms generate_mok"


def _fix(desired: Desired, boot: t.Optional[SecureBoot], state: t.Optional[str]) -> str:
    certificate = (boot.certificate if boot else "") or "the certificate of the key that signed it"
    ubuntu = desired.platform.startswith("ubuntu-")
    make = ""
    if state == "missing":
        make = "make the key (as root: %s), " % _make_key(desired.platform, certificate)
    if state == "requested":
        enrol = "Reboot the node: " + _AT_THE_CONSOLE
    elif state == "enrolled":
        enrol = "Sign the module with the key that is enrolled (%s): dkms build --force, then dkms install --force" % (
            certificate
        )
    elif state == "blocked":
        enrol = "Let DKMS sign with another key (mok_signing_key and mok_certificate in /etc/dkms/framework.conf)"
    else:
        enrol = "Enrol the key: %smokutil --import %s, reboot, and %s" % (make, certificate, _AT_THE_CONSOLE)
    others = "" if ubuntu else " (Ubuntu has them, Debian has none)"
    return "Leave Secure Boot on. Either: %s. Or: %s%s." % (enrol, _SIGNED_PACKAGES, others)
