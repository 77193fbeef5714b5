# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVML tells of the state of a GPU, as the probe's child prints it: what a case replaces, and what is healthy."""

from __future__ import annotations

import json
import typing as t

#: A question that this driver or card has no answer for.
NOT_SUPPORTED = {"error": "Not Supported", "code": 3}


def healthy(nvlink: bool) -> t.Dict[str, t.Any]:
    """By question. A card for NVLink has MIG and a fabric, others have neither."""
    return {
        "mig": [0, 0] if nvlink else NOT_SUPPORTED,
        "mig_devices": [] if nvlink else NOT_SUPPORTED,
        "ecc": [1, 1],
        "ecc_volatile": 0,
        "ecc_aggregate": 0,
        "remapped": [0, 0, 0, 0],
        "retired_pending": NOT_SUPPORTED,
        "recovery": 0,
        "fabric": dict(zip(("state", "status", "health", "summary"), (3, 0, 2, 1) if nvlink else (0, 0, 0, 0))),
        "clock_events": 1,
        "persistence": 1,
        "pcie": [4, 4, 16, 16],
        "utilization": 0,
        "processes": [],
    }


def lines(index: int, answers: t.Mapping[str, t.Any]) -> str:
    """Each question and its answer; a dictionary with ``error`` is NVML's refusal."""
    said: t.List[t.Dict[str, t.Any]] = []
    for of, value in answers.items():
        refused = isinstance(value, dict) and "error" in value
        said += [{"asking": index, "of": of}, {"state": index, "of": of, **(value if refused else {"value": value})}]
    return "".join(json.dumps(one) + "\n" for one in said)
