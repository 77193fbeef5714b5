# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer hardware: the GPUs are on the PCI bus, as many as declared, and none is lost or refused."""

from __future__ import annotations

import typing as t

from ..model import Desired, Evidence, Finding
from . import device_nodes
from . import gpus as g
from .outcome import failed, passed, unknown
from .wanted import driver_version, gpus


def gpu_present(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    devices = gpus(evidence.pci.value or ())
    if devices:
        return [passed("%d NVIDIA GPUs on the PCI bus" % len(devices))]
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


def gpu_count(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    # The node is never asked how many it should have: with a card missing, all that it says agrees on the wrong number.
    if expected_gpus is None:
        return [unknown("golden_expected_gpus is not set for this node", fix="Set golden_expected_gpus for this host.")]
    devices = gpus(evidence.pci.value or ())
    if len(devices) == expected_gpus:
        return [passed("%d GPUs, as declared" % expected_gpus)]
    addresses = ", ".join(device.address for device in devices) or "none"
    if len(devices) < expected_gpus:
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
    findings = [*_lost(evidence), *_refused(desired, evidence)] or [passed("no GPU is known to be lost or refused")]
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


def _refused(desired: Desired, evidence: Evidence) -> t.Iterator[Finding]:
    """Only with the right driver loaded and right device nodes is a single GPU that fails the card's own fault."""
    driver = evidence.driver.value
    if driver is None or driver.version != driver_version(desired) or device_nodes.trouble(desired, evidence):
        return
    for gpu, words in sorted(g.refused(evidence).items()):
        if gpu not in g.lost(evidence):
            log = g.log_of(evidence, gpu)
            yield failed(
                gpu,
                expected="a GPU that the driver initialises",
                actual="%s%s" % (words, "; %s" % log if log else ""),
                cause="The driver initialised other GPUs, and not GPU %s." % gpu,
                fix="Drain the node and power-cycle it. If the driver does not initialise it then, replace the card.",
                repair="manual",
            )
