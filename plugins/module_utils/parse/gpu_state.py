# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a GPU as the NVML child printed it: a line for each question, with its answer or NVML's error.

That a driver or a GPU does not have such a thing is an answer: consumer cards have no ECC, old drivers no recovery
action. Any other error makes this one reading unknown.
"""

from __future__ import annotations

import typing as t

from ..model import Fabric, GpuMode, GpuProcess, GpuState, MigDevice, PcieLink, Reading, RemappedRows
from .text import mig_uuid

#: Codes of NVML's for what is not there to be asked: not supported, function not found, no ECC in a vGPU, deprecated.
NOT_SUPPORTED = (3, 13, 22, 26)

#: An old library does not know the field's number, and calls it an invalid argument.
_FIELD_NOT_KNOWN = 2

#: Reasons for lower clocks by their bits, in NVML's header.
CLOCK_EVENTS = {
    0x1: "idle",
    0x2: "clocks that were set",
    0x4: "power limit",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability limit",
}

_NUMBER_LIMIT = 2**63

Answer = t.Callable[[t.Any], t.Any]


def states(lines: t.Iterable[t.Mapping[str, t.Any]]) -> t.Dict[int, GpuState]:
    """By the index of the GPU; lines of something else are left out."""
    found: t.Dict[int, t.Dict[str, Reading[t.Any]]] = {}
    for line in lines:
        index, of = line.get("state"), line.get("of")
        if not isinstance(index, int) or not isinstance(of, str):
            continue
        readings = found.setdefault(index, {})
        if of == "mig_devices":
            readings["gpu_instances"] = _reading(line, of, lambda value: len({pair[0] for pair in _pairs(value)}))
            readings["compute_instances"] = _reading(line, of, lambda value: len(_pairs(value)))
            readings["mig_devices"] = _reading(line, of, _mig_devices)
        elif of in _ANSWERS:
            readings[of] = _reading(line, of, _ANSWERS[of])
    return {index: GpuState(**readings) for index, readings in found.items()}


def clock_events(bits: int) -> t.List[str]:
    """The reasons that are in force. A bit that is in no table is shown as it is."""
    names = [name for bit, name in CLOCK_EVENTS.items() if bits & bit]
    rest = bits & ~sum(CLOCK_EVENTS)
    return names + (["0x%x" % rest] if rest else [])


def _reading(line: t.Mapping[str, t.Any], of: str, answer: Answer) -> Reading[t.Any]:
    if "error" in line:
        code = line.get("code")
        if code in NOT_SUPPORTED or (of == "recovery" and code == _FIELD_NOT_KNOWN):
            return Reading(None)
        return Reading.unknown("NVML: %s (code %s)" % (line["error"], code))
    try:
        return Reading(answer(line.get("value")))
    except (KeyError, IndexError, TypeError, ValueError):
        return Reading.unknown("NVML's answer is not understood: %s" % str(line.get("value"))[:100])


def _number(value: t.Any) -> int:
    if not isinstance(value, int) or not -_NUMBER_LIMIT <= value < 2 * _NUMBER_LIMIT:
        raise ValueError("no number")
    return int(value)


def _numbers(value: t.Any, count: int) -> t.List[int]:
    if not isinstance(value, list) or len(value) != count:
        raise ValueError("not %d numbers" % count)
    return [_number(one) for one in value]


def _flag(value: t.Any) -> bool:
    number = _number(value)
    if number not in (0, 1):
        raise ValueError("neither 0 nor 1")
    return number == 1


def _mode(value: t.Any) -> GpuMode:
    current, pending = _numbers(value, 2)
    return GpuMode(_flag(current), _flag(pending))


def _pairs(value: t.Any) -> t.List[t.List[int]]:
    """Of GPU instance and compute instance; what follows them is of the device."""
    if not isinstance(value, list):
        raise ValueError("no list")
    return [_numbers(one[:2], 2) for one in value]


def _mig_devices(value: t.Any) -> t.Tuple[MigDevice, ...]:
    return tuple(_mig_device(place, uuid) for _gi, _ci, place, uuid in value)


def _mig_device(place: t.Any, told: t.Any) -> MigDevice:
    uuid = mig_uuid(str(told))
    if uuid is None:
        raise ValueError("no UUID of a MIG device")
    return MigDevice(_number(place), uuid)


def _remapped(value: t.Any) -> RemappedRows:
    correctable, uncorrectable, pending, failed = _numbers(value, 4)
    return RemappedRows(correctable, uncorrectable, bool(pending), bool(failed))


def _fabric(value: t.Any) -> Fabric:
    return Fabric(*(_number(value[name]) for name in ("state", "status", "health", "summary")))


def _pcie(value: t.Any) -> PcieLink:
    return PcieLink(*_numbers(value, 4))


def _processes(value: t.Any) -> t.Tuple[GpuProcess, ...]:
    if not isinstance(value, list):
        raise ValueError("no list")
    return tuple(_process(one) for one in value)


def _process(value: t.Any) -> GpuProcess:
    name, memory = value["name"], value["memory"]
    return GpuProcess(
        pid=_number(value["pid"]),
        name=name if isinstance(name, str) and name else None,
        memory=None if memory is None else _number(memory),
    )


_ANSWERS: t.Dict[str, Answer] = {
    "mig": _mode,
    "ecc": _mode,
    "ecc_volatile": _number,
    "ecc_aggregate": _number,
    "remapped": _remapped,
    "retired_pending": _flag,
    "recovery": _number,
    "fabric": _fabric,
    "clock_events": _number,
    "persistence": _flag,
    "pcie": _pcie,
    "utilization": _number,
    "processes": _processes,
}
