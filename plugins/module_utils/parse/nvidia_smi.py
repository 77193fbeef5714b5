# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nvidia-smi prints: the query as CSV, the list of -L, and the banner of the plain call.

The exit code proves nothing (a lost GPU is printed with code 0), so the values are read. A line that is not
understood makes the reading unknown: it may be the one that says what is wrong.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..model import Gpu, GpuTool, Reading
from .text import DRIVER_VERSION, failure, first_line, gpu_uuid, integer, mig_uuid, pci_address

#: The fields asked for with --query-gpu, in the order in which ``query`` expects them.
FIELDS = ("index", "uuid", "name", "pci.bus_id", "driver_version")

_NONE_FOUND = re.compile(r"^No devices (?:were )?found\.?$", re.IGNORECASE)
_NO_HANDLE = re.compile(
    r"^Unable to determine the device handle for gpu ?(?:(\d{1,3}): )?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]):"
    r"\s*(\S.*)$",
    re.IGNORECASE,
)
_LISTED = re.compile(r"^GPU (\d{1,9}): (.+?) \(UUID: ([^)]+)\)$")
_LISTED_BAD = re.compile(r"^GPU (\d{1,9}): (.+)$")
_MIG = re.compile(r"^\s+MIG ")
_MIG_LISTED = re.compile(r"^\s+MIG .+ Device\s+\d{1,4}: \(UUID: ([^)]+)\)$")
_NOISE = re.compile(r"^WARNING:", re.IGNORECASE)
#: What begins a line of its own, and so does not go on with the words about a GPU that cannot be asked.
_BEGINS = re.compile(r"^(?:\[|\d+, |GPU \d|\s+MIG |Unable to |No devices|Failed |WARNING:)", re.IGNORECASE)
#: Its code of failure is 14, and the rows are good all the same.
_CORRUPT = re.compile(r"infoROM is corrupted(?: at gpu (\S+))?", re.IGNORECASE)
_CODE_CORRUPT = 14
_BANNER_DRIVER = re.compile(r"(?:Driver|KMD)\s+Version:\s*(%s)" % DRIVER_VERSION)
_BANNER_CUDA = re.compile(r"CUDA(?:\s+UMD)?\s+Version:\s*(\d+\.\d+)")
#: Values that say that a field is not offered, and nothing about the health of the GPU.
_NOT_OFFERED = ("[N/A]", "[Not Supported]", "N/A", "")
#: Words of an error where a value should stand.
_ERROR = re.compile(r"^\[.*\]$|^ERR!?$|\berror\b", re.IGNORECASE)


def query(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[GpuTool]:
    """``nvidia-smi --query-gpu=FIELDS --format=csv,noheader``."""
    gpus: t.List[Gpu] = []
    drivers: t.Set[str] = set()
    for line in _lines(stdout):
        if _NONE_FOUND.match(line):
            return Reading(GpuTool())
        values = [value.strip() for value in line.split(", ")]
        if len(values) == len(FIELDS):
            gpus.append(_row(len(gpus), values))
            if re.match(r"^%s$" % DRIVER_VERSION, values[4]):
                drivers.add(values[4])
            continue
        gpu = _without_handle(line)
        if gpu is None:
            return Reading.unknown(_not_understood(line, rc, stdout, stderr))
        gpus.append(gpu)
    if len(drivers) > 1:
        return Reading.unknown("nvidia-smi names several driver versions: %s" % ", ".join(sorted(drivers)))
    return _answer(gpus, drivers.pop() if drivers else None, stdout, stderr, rc)


def listing(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[GpuTool]:
    """``nvidia-smi -L``: goes on to the next GPU where the query stops at the first that cannot be asked."""
    gpus: t.List[Gpu] = []
    for line in _lines(stdout):
        if _NONE_FOUND.match(line):
            return Reading(GpuTool())
        if _MIG.match(line):
            continue
        listed, bad = _LISTED.match(line), _LISTED_BAD.match(line)
        gpu = _without_handle(line)
        if listed:
            uuid = gpu_uuid(listed.group(3))
            error = None if uuid else "no UUID but %s" % listed.group(3)
            gpus.append(Gpu(index=int(listed.group(1)), uuid=uuid, name=listed.group(2), error=error))
        elif gpu:
            gpus.append(gpu)
        elif bad:
            gpus.append(Gpu(index=int(bad.group(1)), error=bad.group(2)))
        else:
            return Reading.unknown(_not_understood(line, rc, stdout, stderr))
    return _answer(gpus, None, stdout, stderr, rc)


def mig_devices(text: str, rc: t.Optional[int]) -> Reading[t.Tuple[str, ...]]:
    """The UUIDs of the MIG devices that ``nvidia-smi -L`` lists below their GPUs."""
    if rc not in (0, _CODE_CORRUPT):
        return Reading.unknown(failure("nvidia-smi -L", rc, text, ""))
    found: t.List[str] = []
    for line in _lines(text):
        if _MIG.match(line):
            listed = _MIG_LISTED.match(line)
            uuid = mig_uuid(listed.group(1)) if listed else None
            if uuid is None:
                return Reading.unknown(_not_understood(line, 0, text, ""))
            found.append(uuid)
    return Reading(tuple(found))


def banner(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[GpuTool]:
    """Driver and CUDA version from the head of the table: the names of the fields changed with driver 610."""
    driver, cuda = _BANNER_DRIVER.search(stdout), _BANNER_CUDA.search(stdout)
    if driver is None:
        return Reading.unknown(failure("nvidia-smi", rc, stdout, stderr))
    return Reading(GpuTool(driver=driver.group(1), cuda=cuda.group(1) if cuda else None))


def _lines(text: str) -> t.Iterator[str]:
    """Without warnings; words about a GPU that cannot be asked, which are wrapped, put together again."""
    lines: t.List[str] = []
    for line in text.splitlines():
        if lines and line.strip() and _NO_HANDLE.match(lines[-1].strip()) and not _BEGINS.match(line):
            lines[-1] = "%s %s" % (lines[-1], line.strip())
        elif line.strip() and not _NOISE.match(line):
            lines.append(line.rstrip())
    yield from lines


def _row(position: int, values: t.Sequence[str]) -> Gpu:
    index, uuid, name, address = values[:4]
    errors = [v.strip("[]") for v in values if v not in _NOT_OFFERED and _ERROR.search(v)]
    if not errors and gpu_uuid(uuid) is None:
        errors = ["no UUID but %s" % (uuid or "nothing")]
    number = integer(index)
    return Gpu(
        index=position if number is None else number,
        uuid=gpu_uuid(uuid),
        name=_value(name),
        pci_address=pci_address(address),
        error=errors[0] if errors else None,
    )


def _value(text: str) -> t.Optional[str]:
    return None if text in _NOT_OFFERED or _ERROR.search(text) else text


def _without_handle(line: str) -> t.Optional[Gpu]:
    """The GPU that a line says cannot be asked. Its index is -1 where the line names the address alone."""
    match = _NO_HANDLE.match(line.strip())
    if match is None:
        return None
    return Gpu(
        index=int(match.group(1) or -1),
        pci_address=pci_address(match.group(2)),
        error=match.group(3).strip().rstrip("."),
    )


def _answer(
    gpus: t.Sequence[Gpu], driver: t.Optional[str], stdout: str, stderr: str, rc: t.Optional[int]
) -> Reading[GpuTool]:
    if not gpus or (rc not in (0, _CODE_CORRUPT) and not any(gpu.error for gpu in gpus)):
        return Reading.unknown(failure("nvidia-smi", rc, stdout, stderr))
    return Reading(GpuTool(driver=driver, gpus=_warned(gpus, stdout + "\n" + stderr, rc)))


def _warned(gpus: t.Sequence[Gpu], text: str, rc: t.Optional[int]) -> t.Tuple[Gpu, ...]:
    """With the warning about each GPU's infoROM; about all of them where it is not said whose it is."""
    said = _CORRUPT.findall(text)
    if not said and rc != _CODE_CORRUPT:
        return tuple(gpus)
    whose = {pci_address(address.rstrip(".")) for address in said if address}
    named = any(gpu.pci_address in whose for gpu in gpus)
    words = "infoROM is corrupted" if named or len(gpus) == 1 else "infoROM is corrupted, of this GPU or another"
    return tuple(
        dataclasses.replace(gpu, warning=words) if not named or gpu.pci_address in whose else gpu for gpu in gpus
    )


def _not_understood(line: str, rc: t.Optional[int], stdout: str, stderr: str) -> str:
    if rc != 0:
        return failure("nvidia-smi", rc, line, first_line(stderr) and stderr)
    return "nvidia-smi printed a line that is not understood: %s" % line.strip()[:200]
