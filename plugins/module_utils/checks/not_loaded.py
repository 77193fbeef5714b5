# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why the nvidia module is on the disk and not in the kernel: what keeps it out, refuses it, or makes it give up.

Without a reason that is known a run loads it. With one, a run would load it in vain, for ever.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Desired, Evidence
from . import blockers, refusal_reasons, secure_boot
from . import gpus as g
from .refusal_reasons import Reason
from .wanted import RELOAD, RUN_SITE, driver_version, gpus, running_kernel, setting

#: Printed once the module has taken its GPUs: what stands before it in the log is over.
_LOADED = re.compile(r"NVRM: loading NVIDIA")
_ANOTHER_BUILD = re.compile(
    r"\b(nvidia(?:[_-]uvm)?): (?:version magic '(\S+).*' should be|disagrees about version of symbol|Unknown symbol)"
)
_BLACKLISTED = re.compile(r"\bModule (nvidia(?:[_-]uvm)?) is blacklisted")
_GAVE_UP = re.compile(r"None of the NVIDIA .*were initialized|No NVIDIA (?:GPU|graphics adapter) found")
_NAMES_ONE = re.compile(r"NVRM.*\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\b", re.IGNORECASE)
_HELD = re.compile(r"NVIDIA probe routine was not called for")
_NOTHING = re.compile(r"^(?:/\S*/)?(?:true|false|:|exit)\b")


def reason(desired: Desired, evidence: Evidence) -> t.Tuple[str, str, str]:
    """Cause, fix and repair."""
    in_the_way = blockers.find(desired, evidence)
    if in_the_way:
        first = in_the_way[0]
        return "The nvidia module is not loaded: %s" % first.cause, first.fix, first.repair
    why = kept_out("nvidia", evidence, setting(desired, "kernel_arguments"))
    disk = evidence.module_on_disk
    if why is None and disk.known and (disk.value is None or disk.value.version != driver_version(desired)):
        return "The nvidia module is not loaded, and the disk has not the lock's either.", RUN_SITE, "roles"
    signature = secure_boot.rejected(desired, evidence)
    if why is None and signature:
        return (*signature, "manual")
    why = why or _another_build("nvidia", desired, evidence) or _gave_up(desired, evidence) or _blacklisted(evidence)
    if why is not None:
        return "The nvidia module does not load: %s." % why.cause, why.fix, why.repair
    if any(_HELD.search(line) for line in _since_load(evidence)):
        cause = "The nvidia module is on disk and not loaded: another driver held the GPU when it was tried."
        return cause, "%s It loads the module." % RUN_SITE, "roles"
    return "The nvidia module is on disk and not loaded.", "%s It loads the module." % RUN_SITE, "roles"


def kept_out(module: str, evidence: Evidence, arguments: t.Sequence[str] = ()) -> t.Optional[Reason]:
    """What keeps a module out whoever asks for it by name.

    :arg arguments: what the bundle puts on the kernel's command line
    """
    for word in (evidence.command_line.value or "").split():
        if module in _listed(word, "module_blacklist"):
            where = "kernel_arguments" if word in arguments else "the boot loader's configuration"
            return Reason("the kernel was started with %s" % word, "Take it out of %s and reboot." % where, "manual")
    for line in evidence.modprobe.value or ():
        if line.module == module and (
            (line.command == "alias" and line.argument.split()[:1] == ["off"])
            or (line.command == "install" and _NOTHING.match(line.argument))
        ):
            return _line(line.place, line.text)
    if any(module == said.replace("-", "_") for said in _said(_BLACKLISTED, evidence)):
        fix = "Look for module_blacklist= in /proc/cmdline and in the boot loader's configuration."
        return Reason("the kernel says that it is blacklisted", fix, "manual")
    return None


def hidden(evidence: Evidence) -> t.Optional[Reason]:
    """What makes modinfo and modprobe look for another name than nvidia, and find nothing."""
    lines = (line for line in evidence.modprobe.value or () if (line.command, line.module) == ("alias", "nvidia"))
    return next((_line(line.place, line.text) for line in lines if line.argument.split()[:1] == ["off"]), None)


def uvm_refused(desired: Desired, evidence: Evidence) -> t.Optional[t.Tuple[str, str, str]]:
    """Cause, fix and repair where nvidia is loaded and nvidia-uvm is of another build than that."""
    if "nvidia_uvm" in (evidence.modules_loaded.value or ()):
        return None
    why = _another_build("nvidia_uvm", desired, evidence)
    if why is None:
        return None
    driver, disk, boot = evidence.driver.value, evidence.module_on_disk.value, evidence.boot.value
    newer = disk is not None and boot is not None and disk.modified is not None and boot.booted_at <= disk.modified
    another = driver is not None and disk is not None and driver.flavour not in (None, disk.flavour)
    cause = "nvidia-uvm does not load beside the nvidia module in the kernel, which is of another build"
    if newer or another:
        return "%s than the disk's." % cause, RELOAD, "reload"
    return "%s: %s." % (cause, why.cause), why.fix, "manual"


def _blacklisted(evidence: Evidence) -> t.Optional[Reason]:
    """Only what loads modules for a device obeys these; so they count where nothing else explains."""
    for word in (evidence.command_line.value or "").split():
        if "nvidia" in _listed(word, "modprobe.blacklist"):
            fix = "Take it out of the boot loader's configuration and reboot."
            return Reason("the kernel was started with %s" % word, fix, "manual")
    for line in evidence.modprobe.value or ():
        if (line.module, line.command) == ("nvidia", "blacklist"):
            return _line(line.place, line.text)
    return None


def _line(place: str, text: str) -> Reason:
    fix = "Delete that line (prime-select nvidia, where prime-select wrote it). %s It loads the module." % RUN_SITE
    return Reason("%s says %r" % (place, text), fix, "manual")


def _listed(word: str, argument: str) -> t.List[str]:
    name, _equals, value = word.partition("=")
    return value.replace("-", "_").split(",") if name == argument else []


def _another_build(module: str, desired: Desired, evidence: Evidence) -> t.Optional[Reason]:
    disk, kernel = evidence.module_on_disk.value, running_kernel(evidence)
    for line in reversed(_since_load(evidence)):
        found = _ANOTHER_BUILD.search(line)
        if found is None or found.group(1).replace("-", "_") != module:
            continue
        if found.group(2) and disk is not None and found.group(2) != disk.built_for == kernel:
            return None  # it was built anew since
        cause = "it is built for another kernel, or beside other modules than are there (%s)" % line.strip()
        if found.group(2) not in (None, kernel):
            cause = "it is built for kernel %s, and %s runs" % (found.group(2), kernel)
        return Reason(cause, _build_anew(desired, evidence), "manual")
    return None


def _build_anew(desired: Desired, evidence: Evidence) -> str:
    """By hand: the package set builds what is missing, and takes a module of the right version for built."""
    disk, version = evidence.module_on_disk.value, driver_version(desired)
    if desired.lock["driver"]["build"] != "dkms":
        how = "apt-get install --reinstall the package that dpkg -S %s names" % (disk.path if disk else "nvidia.ko")
    else:
        known = (one.name for one in evidence.dkms.value or () if one.version == version)
        name = next((name for name in known if name.startswith("nvidia")), "nvidia")
        how = "dkms build --force, then dkms install --force, each with %s/%s -k %s" % (
            *(name, version),
            running_kernel(evidence),
        )
    return "Build it anew, which a run does only for a module that is missing: %s. %s" % (how, RUN_SITE)


def _gave_up(desired: Desired, evidence: Evidence) -> t.Optional[Reason]:
    lines = _since_load(evidence)
    end = next((line for line in lines if _GAVE_UP.search(line)), None)
    if end is None:
        return None
    for device in gpus(evidence.pci.value or ()):
        if device.address in g.lost(evidence):
            return Reason("GPU %s is lost" % device.address, "See hardware.gpu_healthy.", "manual")
        why = refusal_reasons.of_gpu(desired, evidence, device.address)
        if why is not None:
            return why._replace(cause="GPU %s: %s" % (device.address, why.cause))
    said = next((line for line in lines if _NAMES_ONE.search(line)), end)
    return Reason(
        "it takes none of the GPUs, the kernel log says: %s" % said.strip().rstrip("."),
        "Look at the NVRM lines of journalctl -k before it gave up: they name the GPU and the reason.",
        "manual",
    )


def _said(pattern: t.Pattern[str], evidence: Evidence) -> t.List[str]:
    return [found.group(1) for found in map(pattern.search, _since_load(evidence)) if found]


def _since_load(evidence: Evidence) -> t.List[str]:
    lines = list(evidence.kernel_log.value or ())
    loaded = [at for at, line in enumerate(lines) if _LOADED.search(line)]
    return lines[loaded[-1] + 1 :] if loaded else lines
