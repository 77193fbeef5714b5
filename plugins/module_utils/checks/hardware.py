# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer hardware: whole GPUs are on the PCI bus, as many as declared, and none is lost or refused."""

from __future__ import annotations

import typing as t

from ..model import Desired, Evidence, Finding, PciDevice
from . import card_faults, device_nodes, refusal_reasons
from . import gpus as g
from .outcome import all_passed, failed, passed, unknown
from .wanted import driver_version, gpus, set_aside


def gpu_present(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    devices = gpus(evidence.pci.value or ())
    if devices:
        return [passed("%d NVIDIA GPUs on the PCI bus" % len(devices))]
    aside = set_aside(evidence.pci.value or ())
    if aside:
        return [_all_set_aside(aside)]
    return [
        failed(
            expected="at least one NVIDIA GPU on the PCI bus",
            actual="none",
            cause="This host has no NVIDIA GPU on its PCI bus.",
            fix="Check that the card is seated and powered, or passed through to this machine; "
            "or take the host out of the group gpu_nodes.",
            repair="manual",
        )
    ]


def _all_set_aside(aside: t.Sequence[PciDevice]) -> Finding:
    return failed(
        ", ".join(device.address for device in aside),
        expected="at least one NVIDIA GPU for this node itself",
        actual=_said(aside),
        cause="Every GPU of this host is set aside for virtual machines (%s), and is left alone." % _said(aside),
        fix=_TAKE_BACK,
        repair="manual",
    )


def _said(aside: t.Sequence[PciDevice]) -> str:
    return ", ".join("%s holds %s" % (device.driver, device.address) for device in aside)


_TAKE_BACK = (
    "Take the host out of the group gpu_nodes; or unbind the GPU from that driver (kernel command line, driverctl or "
    "modprobe.d) if this node shall use it."
)


def vgpu(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """A slice of a GPU takes the guest driver of its hypervisor's vGPU release; no other drives it."""
    return all_passed(
        (problem for device in gpus(evidence.pci.value or ()) for problem in _slice(device)), "every GPU is a whole one"
    )


def _slice(device: PciDevice) -> t.Iterator[Finding]:
    if device.vgpu is None:
        why = "the capabilities in its PCI configuration space could not be read"
        yield unknown(
            why, device.address, cause="It is not known whether GPU %s is a vGPU: %s." % (device.address, why)
        )
    elif device.vgpu:
        yield failed(
            device.address,
            expected="a whole GPU",
            actual="a vGPU",
            cause="GPU %s is a vGPU, a slice of a GPU that a hypervisor gives to this guest. It takes the licensed "
            "guest driver of the hypervisor's vGPU release, not the driver of a bundle." % device.address,
            fix="Take the host out of the group gpu_nodes and install the guest driver of the hypervisor's vGPU "
            "release; or pass a whole GPU through to this guest.",
            repair="manual",
        )


def gpu_count(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    # The node is never asked how many it should have: with a card missing, all that it says agrees on the wrong number.
    if expected_gpus is None:
        return [unknown("golden_expected_gpus is not set for this node", fix="Set golden_expected_gpus for this host.")]
    devices = gpus(evidence.pci.value or ())
    if len(devices) == expected_gpus:
        aside = set_aside(evidence.pci.value or ())
        beside = "; set aside for virtual machines: %s" % _said(aside) if aside else ""
        return [passed("%d GPUs, as declared%s" % (expected_gpus, beside))]
    addresses = ", ".join(device.address for device in devices) or "none"
    aside = set_aside(evidence.pci.value or ())
    if len(devices) < expected_gpus <= len(devices) + len(aside):
        cause = "%d of the %d expected GPUs are set aside for virtual machines (%s), and are left alone." % (
            expected_gpus - len(devices),
            expected_gpus,
            _said(aside),
        )
        fix = "Set golden_expected_gpus=%d for this host if that is right; or unbind them from that driver." % len(
            devices
        )
    elif len(devices) < expected_gpus:
        cause = "%d of the %d expected GPUs are missing from the PCI bus." % (
            expected_gpus - len(devices),
            expected_gpus,
        )
        fix = "Drain the node and look at the card, its power and its slot; the firmware's log may name it."
    else:
        cause = "The node has %d GPUs, more than the %d expected." % (len(devices), expected_gpus)
        fix = "Set golden_expected_gpus=%d for this host if that is right." % len(devices)
    return [
        failed(
            expected="%d GPUs (golden_expected_gpus)" % expected_gpus,
            actual="%d GPUs: %s" % (len(devices), addresses),
            cause=cause,
            fix=fix,
            repair="manual",
        )
    ]


def gpu_healthy(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """What cannot be read here does not count against the hardware: a bare node has no tool to ask yet, and the layer
    host_driver holds the node back until it has.
    """
    problems = [*_lost(evidence), *_faulty(desired, evidence), *_refused(desired, evidence)]
    findings = [*all_passed(problems, "no GPU is known to be lost or refused"), *_worn(evidence)]
    if not evidence.kernel_log.known:
        cause = "Errors of the GPUs (Xid) were not looked for."
        findings.append(unknown(evidence.kernel_log.error or "", "kernel log", cause=cause, required=False))
    return findings


def _lost(evidence: Evidence) -> t.Iterator[Finding]:
    for gpu, words in sorted(g.lost(evidence).items()):
        yield failed(
            gpu,
            expected="a GPU that answers",
            actual=words,
            cause="GPU %s is lost: it no longer answers on the PCI bus." % gpu,
            fix="Drain the node and power-cycle it. If it happens again, replace the card.",
            repair="manual",
        )


def _faulty(desired: Desired, evidence: Evidence) -> t.Iterator[Finding]:
    """A driver that is not the lock's may be at fault for what it says of a card, save for what is certain."""
    for gpu, (fault, words) in sorted(card_faults.find(evidence).items()):
        if gpu not in g.lost(evidence) and (fault.certain or driver_is_right(desired, evidence)):
            yield failed(
                gpu,
                expected="a GPU that starts",
                actual=words,
                cause=fault.cause % gpu,
                fix=fault.fix,
                repair="manual",
            )


def _worn(evidence: Evidence) -> t.Iterator[Finding]:
    """Informational: the GPU computes. Its inventory, and what it counts of errors over its life, may be lost."""
    warned = {
        g.name_of(gpu): gpu.warning for _name, answer in g.answers(evidence) for gpu in answer.gpus if gpu.warning
    }
    for gpu, warning in sorted(warned.items()):
        yield failed(
            gpu,
            expected="a GPU without a warning",
            actual=str(warning),
            cause="nvidia-smi warns of GPU %s, which computes all the same: %s." % (gpu, warning),
            fix="Note it for the next maintenance: the vendor writes the infoROM anew or replaces the card.",
            repair="manual",
            required=False,
        )


def driver_is_right(desired: Desired, evidence: Evidence) -> bool:
    driver = evidence.driver.value
    return (
        driver is not None and driver.version == driver_version(desired) and not device_nodes.trouble(desired, evidence)
    )


def _refused(desired: Desired, evidence: Evidence) -> t.Iterator[Finding]:
    """Only with the right driver loaded and right device nodes is a single GPU that fails the card's own fault."""
    if not driver_is_right(desired, evidence):
        return
    told = {*g.lost(evidence), *card_faults.find(evidence)}
    for gpu, words in sorted(g.refused(evidence).items()):
        if gpu not in told and refusal_reasons.of_gpu(desired, evidence, gpu) is None:
            log = g.log_of(evidence, gpu)
            yield failed(
                gpu,
                expected="a GPU that the driver initialises",
                actual="%s%s" % (words, "; %s" % log if log else ""),
                cause="The driver initialised other GPUs, and not GPU %s." % gpu,
                fix="Drain the node and power-cycle it. If the driver does not initialise it then, replace the card.",
                repair="manual",
            )
