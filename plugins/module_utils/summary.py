# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The few things of a look that a table for people shows. Pure. What is not known is None, never zero."""

from __future__ import annotations

import re
import typing as t

from .model import Evidence


def table(evidence: Evidence) -> t.Dict[str, t.Any]:
    """``gpus``, ``driver``, ``toolkit``, ``docker``, ``kernel``."""
    driver, engine, boot = evidence.driver.value, evidence.docker.value, evidence.boot.value
    return {
        "gpus": _gpus(evidence),
        "driver": driver.version if driver else None,
        "toolkit": _toolkit(evidence),
        "docker": engine.version if engine else None,
        "kernel": boot.kernel if boot else None,
    }


def _gpus(evidence: Evidence) -> t.Optional[int]:
    answer = evidence.nvml.value or evidence.smi.value
    if answer is not None:
        return sum(1 for gpu in answer.gpus if not gpu.error)
    if evidence.pci.value is None:
        return None
    return sum(1 for device in evidence.pci.value if device.is_gpu and not device.set_aside)


def _toolkit(evidence: Evidence) -> t.Optional[str]:
    package = (evidence.packages.value or {}).get("nvidia-container-toolkit")
    return re.sub(r"^\d+:|-[^-]*$", "", package.version) if package else None
