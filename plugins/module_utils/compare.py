# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between two nodes, in words, for somebody who has one that works and one that does not. Pure.

Left out is what must differ: names, ids, times, UUIDs, addresses, and digests of what is built on each node.
"""

from __future__ import annotations

import collections
import typing as t

from .model import Evidence, Reading, to_plain

NOT_THERE, NOT_KNOWN = "not there", "not known"


class Difference(t.NamedTuple):
    """One thing that differs: what it is, and what it is here and there."""

    what: str
    here: str
    there: str

    def __str__(self) -> str:
        return "%s: %s | %s" % self


#: Of the look, of one node alone, or told by other fields.
_LEFT_OUT = (
    *("collected_at", "host", "scope", "mark", "docker_record", "docker_config_file", "kernel_log", "own_holds"),
    *("kept_packages", "requests", "reloads", "docker_clients", "running_containers", "docker_socket"),
)
#: Names of values that differ between any two nodes, wherever they stand.
_OF_ONE_NODE = frozenset(
    (
        *("uuid", "uuids", "pci_address", "address", "index", "boot_id", "booted_at", "started_at", "invocation"),
        *("modified", "mtime", "pid", "id", "inputs", "image", "recorded_inputs", "recorded_image", "signing_serial"),
        *("serial", "sha1", "device", "certificate", "enrolled", "entry", "line", "containers_running", "path"),
        "signer",
    )
)
#: By what the items of a list are told apart; a list whose items have none of it is compared by what it counts.
_KEYS = ("name", "kernel", "file")
_WORDS = ("command_line",)
_CALLED = {
    "pci": "on the PCI bus",
    "packages": "package",
    "sources": "package sources",
    "modules_loaded": "modules in the kernel",
    "driver": "driver in the kernel",
    "driver_params": "parameter of the driver",
    "module_on_disk": "module on the disk",
    "module_to_boot": "module for the next boot",
    "device_nodes": "node",
    "device_majors": "major number of",
    "smi": "nvidia-smi",
    "nvml": "NVML",
    "cuda": "CUDA",
    "docker_config": "daemon.json",
    "toolkit_config": "config.toml",
    "cdi_specs": "CDI specification",
    "dev_char": "link in /dev/char to",
    "files": "file",
    "units": "unit",
    "groups": "group",
    "boot": "running",
    "command_line": "word on the kernel's command line",
}


def differences(here: Evidence, there: Evidence) -> t.List[Difference]:
    """Everything that differs, in the order of the evidence."""
    found: t.List[Difference] = []
    mine, theirs = vars(here), vars(there)
    for name in mine:
        if name not in _LEFT_OUT and mine[name] != theirs[name]:
            found += _of_field(name, mine[name], theirs[name])
    return found


def _of_field(name: str, here: t.Any, there: t.Any) -> t.Iterator[Difference]:
    called = _CALLED.get(name, name.replace("_", " "))
    readings = isinstance(here, Reading) and isinstance(there, Reading)
    if readings and not (here.known and there.known):
        if here.known != there.known:
            yield Difference(called, *(_known(reading) for reading in (here, there)))
        return
    if readings and (here.value is None) != (there.value is None):
        yield Difference(called, *(NOT_THERE if one.value is None else "there" for one in (here, there)))
        return
    left, right = (dict(_flat(name, to_plain(value.value if readings else value), ())) for value in (here, there))
    for path in dict.fromkeys([*left, *right]):
        one, other = left.get(path, NOT_THERE), right.get(path, NOT_THERE)
        # Of what is there on one side alone the first line says enough.
        if one != other and not any(_only_on_one_side(path[:end], left, right) for end in range(1, len(path))):
            yield Difference(" ".join((called, *path)).strip(), one, other)


def _known(reading: Reading[t.Any]) -> str:
    return "known" if reading.known else "%s: %s" % (NOT_KNOWN, reading.error)


Path = t.Tuple[str, ...]


def _only_on_one_side(path: Path, left: t.Mapping[Path, str], right: t.Mapping[Path, str]) -> bool:
    return (path in left) != (path in right)


def _flat(field: str, value: t.Any, path: Path) -> t.Iterator[t.Tuple[Path, str]]:
    """Each value by where it stands, in words. What is a thing of its own is there by itself too."""
    if isinstance(value, dict):
        # Readings inside of readings, as those of a container.
        if set(value) == {"value", "error"}:
            yield from _flat(field, value["value"], path) if value["error"] is None else [(path, NOT_KNOWN)]
            return
        if path and value:
            yield path, "there"
        for key, item in value.items():
            if key not in _OF_ONE_NODE and not (key == "major" and "uvm" in " ".join(path)):
                yield from _flat(field, item, (*path, key))
    elif isinstance(value, list):
        yield from _list(field, value, path)
    elif field in _WORDS:
        for word in str(value).split():
            if not word.startswith(("BOOT_IMAGE=", "root=", "resume=", "initrd=")):
                yield (word,), "there"
    elif value not in (None, ""):
        yield path, _said(path, value)


def _list(field: str, value: t.Sequence[t.Any], path: Path) -> t.Iterator[t.Tuple[Path, str]]:
    things = [item for item in value if isinstance(item, dict)]
    key = next((key for key in _key_names(field, path) if all(item.get(key) for item in things)), None)
    names = [item[key] for item in things] if key else []
    if things and key and len(set(names)) == len(names):
        for item in things:
            rest = {name: part for name, part in item.items() if name != key}
            yield from _flat(field, rest, (*path, str(item[key])))
        return
    # Devices of a specification are named by UUID too.
    counted = collections.Counter(_brief(item) for item in value if not str(item).startswith(("GPU-", "MIG-")))
    yield path, ", ".join("%d x %s" % (n, text) if n > 1 else text for text, n in sorted(counted.items())) or "none"


def _key_names(field: str, path: Path) -> t.Tuple[str, ...]:
    if field == "device_nodes" or path[-1:] == ("device_nodes",):
        return ("path",)
    return () if field in ("pci", "sources", "modprobe") or path[-1:] == ("gpus",) else _KEYS


def _brief(item: t.Any) -> str:
    if not isinstance(item, dict):
        return str(item)
    shown = ((name, part) for name, part in item.items() if name not in _OF_ONE_NODE or name == "device")
    return " ".join(_word(name, part) for name, part in shown if part not in (None, "", False, [])) or "one"


def _word(name: str, part: t.Any) -> str:
    return name if part is True else str(part)


def _said(path: Path, value: t.Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if path and path[-1] == "mode" and isinstance(value, int):
        return "0%o" % value
    if path and path[-1] == "sha256":
        return str(value)[:12]
    return str(value)
