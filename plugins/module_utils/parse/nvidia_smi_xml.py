# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``nvidia-smi -q -x``: the whole state of every GPU as XML, as captures of other people's nodes have it.

What may come from elsewhere is read with care: no entity is taken, nothing else is fetched, and there is an end to size
and depth. ``N/A`` and words of deprecation are answers: this driver or GPU has no such thing.
"""

from __future__ import annotations

import re
import typing as t
from xml.parsers import expat

from ..model import Fabric, Gpu, GpuMode, GpuProcess, GpuState, GpuTool, PcieLink, Reading, RemappedRows
from .text import DRIVER_VERSION, gpu_uuid, pci_address

_ROOT = "nvidia_smi_log"
_CHARACTERS, _DEPTH, _ELEMENTS = 8 * 1024 * 1024, 32, 400_000

_NOT_OFFERED = ("", "N/A", "[N/A]", "Not Supported", "[Not Supported]", "None")
_DEPRECATED = "Requested functionality has been deprecated"
_NUMBER = re.compile(r"^([0-9]{1,18})(?: ?(?:%|x|MiB|bank\(s\)))?$")
_YES = {"enabled": True, "yes": True, "active": True, "disabled": False, "no": False, "not active": False}

#: Words of the recovery action and of the fabric, as NVML numbers them.
_ACTIONS = {"None": 0, "Reset": 1, "Reboot": 2, "Drain P2P": 3, "Drain and Reset": 4}
_FABRIC = {"Not Supported": 0, "Not Started": 1, "In Progress": 2, "Completed": 3}
_SUMMARY = {"Healthy": 1, "Unhealthy": 2, "Limited Capacity": 3}

#: Elements of the reasons for lower clocks, without their prefix, which changed its name.
_EVENTS = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "display_clocks_setting": 0x100,
}

_UNCORRECTED = (
    "sram_uncorrectable",
    "sram_uncorrectable_parity",
    "sram_uncorrectable_secded",
    "dram_uncorrectable",
    "double_bit/total",  # before Ampere
)


class _Refused(Exception):
    """Why a text is not read."""


class _Node:
    """One element: attributes, text and children."""

    def __init__(self, tag: str, attributes: t.Mapping[str, str]) -> None:
        self.tag, self.attributes = tag, attributes
        self.words: t.List[str] = []
        self.children: t.List[_Node] = []

    def all(self, path: str) -> t.List[_Node]:
        found = [self]
        for tag in path.split("/"):
            found = [child for node in found for child in node.children if child.tag == tag]
        return found

    def text(self, path: str) -> t.Optional[str]:
        """None where there is no such element, or several."""
        found = self.all(path)
        return "".join(found[0].words).strip() if len(found) == 1 else None


def parse(text: str) -> Reading[GpuTool]:
    try:
        root = _tree(text)
    except _Refused as why:
        return Reading.unknown("nvidia-smi's XML is not read: %s" % why)
    except (expat.ExpatError, ValueError) as error:  # also text that no XML can hold
        return Reading.unknown("nvidia-smi's XML cannot be read: %s" % error)
    driver, cuda = root.text("driver_version") or "", root.text("cuda_version") or ""
    return Reading(
        GpuTool(
            driver=driver if re.match(r"^%s$" % DRIVER_VERSION, driver) else None,
            cuda=cuda if re.match(r"^[0-9]{1,3}\.[0-9]{1,3}$", cuda) else None,
            gpus=tuple(_gpu(index, node) for index, node in enumerate(root.all("gpu"))),
        )
    )


def _tree(text: str) -> _Node:
    if len(text) > _CHARACTERS:
        raise _Refused("it is longer than %d characters" % _CHARACTERS)
    top = _Node("", {})
    stack, count = [top], [0]

    def start(tag: str, attributes: t.Mapping[str, str]) -> None:
        count[0] += 1
        if len(stack) > _DEPTH or count[0] > _ELEMENTS:
            raise _Refused("it has too many elements, or too deep ones")
        node = _Node(tag, attributes)
        stack[-1].children.append(node)
        stack.append(node)

    def end(_tag: str) -> None:
        stack.pop()

    def said(words: str) -> None:
        stack[-1].words.append(words)

    def entity(*_declared: t.Any) -> None:
        raise _Refused("it declares an entity")

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = said
    parser.EntityDeclHandler = entity
    parser.Parse(text.encode("utf-8"), True)
    roots = [node for node in top.children if node.tag == _ROOT]
    if not roots:
        raise _Refused("its root is %s and not %s" % (top.children[0].tag[:40] if top.children else "nothing", _ROOT))
    return roots[0]


def _gpu(index: int, node: _Node) -> Gpu:
    """GPUs are in NVML's order. One that is lost has words of an error in place of its values."""
    told = node.text("uuid") or ""
    uuid = gpu_uuid(told)
    return Gpu(
        index=index,
        uuid=uuid,
        name=_word(node.text("product_name")),
        pci_address=pci_address(node.attributes.get("id", "")) or pci_address(node.text("pci/pci_bus_id") or ""),
        error=None if uuid else (told or "no UUID"),
        state=_state(node) if uuid else None,
    )


def _state(node: _Node) -> GpuState:
    devices = node.all("mig_devices/mig_device")
    link = "pci/pci_gpu_link_info"
    return GpuState(
        mig=_mode(node, "mig_mode/current_mig", "mig_mode/pending_mig"),
        gpu_instances=Reading(len({device.text("gpu_instance_id") for device in devices})),
        compute_instances=Reading(len(devices)),
        ecc=_mode(node, "ecc_mode/current_ecc", "ecc_mode/pending_ecc"),
        ecc_volatile=_uncorrected(node, "volatile"),
        ecc_aggregate=_uncorrected(node, "aggregate"),
        remapped=_remapped(node),
        retired_pending=_first(
            _flag(node, "retired_pages/pending_retirement"), _flag(node, "retired_pages/pending_blacklist")
        ),
        recovery=_named(node.text("gpu_recovery_action"), _ACTIONS),
        fabric=_fabric(node),
        clock_events=_clock_events(node),
        persistence=_flag(node, "persistence_mode"),
        pcie=Reading(
            PcieLink(
                _number(node.text(link + "/pcie_gen/current_link_gen")).value,
                _number(node.text(link + "/pcie_gen/max_link_gen")).value,
                _number(node.text(link + "/link_widths/current_link_width")).value,
                _number(node.text(link + "/link_widths/max_link_width")).value,
            )
        ),
        utilization=_number(node.text("utilization/gpu_util")),
        processes=Reading(tuple(_processes(node))),
    )


def _offered(text: t.Optional[str]) -> bool:
    return text is not None and text not in _NOT_OFFERED and text != _DEPRECATED


def _word(text: t.Optional[str]) -> t.Optional[str]:
    return text if _offered(text) else None


def _strange(text: t.Optional[str]) -> Reading[t.Any]:
    return Reading.unknown("nvidia-smi says %s" % (text or "nothing")[:100])


def _number(text: t.Optional[str]) -> Reading[int]:
    if text is None or not _offered(text):
        return Reading(None)
    number = _NUMBER.match(text)
    return Reading(int(number.group(1))) if number else _strange(text)


def _flag(node: _Node, path: str) -> Reading[bool]:
    text = node.text(path)
    if text is None or not _offered(text):
        return Reading(None)
    said = _YES.get(text.lower())
    return _strange(text) if said is None else Reading(said)


def _first(one: Reading[t.Any], other: Reading[t.Any]) -> Reading[t.Any]:
    return other if one == Reading(None) else one


def _mode(node: _Node, current: str, pending: str) -> Reading[GpuMode]:
    now, then = _flag(node, current), _flag(node, pending)
    if now.value is None or then.value is None:
        return Reading(None, now.error or then.error)
    return Reading(GpuMode(now.value, then.value))


def _uncorrected(node: _Node, since: str) -> Reading[int]:
    counts = [_number(node.text("ecc_errors/%s/%s" % (since, name))) for name in _UNCORRECTED]
    errors = [count.error for count in counts if count.error]
    numbers = [count.value for count in counts if count.value is not None]
    return Reading(None, errors[0]) if errors else Reading(sum(numbers) if numbers else None)


def _remapped(node: _Node) -> Reading[RemappedRows]:
    correctable, uncorrectable = (_number(node.text("remapped_rows/remapped_row_" + name)) for name in ("corr", "unc"))
    pending, failure = (_flag(node, "remapped_rows/remapped_row_" + name) for name in ("pending", "failure"))
    error = correctable.error or uncorrectable.error or pending.error or failure.error
    if error or pending.value is None or failure.value is None:
        return Reading(None, error)
    return Reading(RemappedRows(correctable.value or 0, uncorrectable.value or 0, pending.value, failure.value))


def _named(text: t.Optional[str], numbers: t.Mapping[str, int]) -> Reading[int]:
    if text in numbers:
        return Reading(numbers[str(text)])
    return _strange(text) if _offered(text) else Reading(None)


def _fabric(node: _Node) -> Reading[Fabric]:
    state = _named(node.text("fabric/state"), _FABRIC)
    if state.value is None:
        return Reading(None, state.error)
    status = node.text("fabric/status")
    if _offered(status) and status != "Success":
        return _strange(status)
    summary = _named(node.text("fabric/health/summary"), _SUMMARY)
    return Reading(None, summary.error) if summary.error else Reading(Fabric(state.value, 0, 0, summary.value or 0))


def _clock_events(node: _Node) -> Reading[int]:
    found: t.Dict[str, Reading[bool]] = {}
    for group, prefix in (
        ("clocks_event_reasons", "clocks_event_reason_"),
        ("clocks_throttle_reasons", "clocks_throttle_reason_"),
    ):
        for name in _EVENTS:
            path = "%s/%s%s" % (group, prefix, name)
            if node.text(path) is not None:
                found[name] = _flag(node, path)
    errors = [reading.error for reading in found.values() if reading.error]
    if errors or not found:
        return Reading(None, errors[0] if errors else None)
    return Reading(sum(_EVENTS[name] for name, reading in found.items() if reading.value))


def _processes(node: _Node) -> t.Iterator[GpuProcess]:
    """Those that compute; a name is cut where arguments may begin."""
    for one in node.all("processes/process_info"):
        pid, memory = _number(one.text("pid")).value, _number(one.text("used_memory")).value
        words = (_word(one.text("process_name")) or "").split()
        if pid is not None and "C" in (one.text("type") or "C"):
            yield GpuProcess(
                pid=pid,
                name=words[0].rpartition("/")[2] if words else None,
                memory=None if memory is None else memory * 1024 * 1024,
            )
