# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CDI specification of this node: which nodes, files and hooks make a container see a GPU."""

from __future__ import annotations

import os
import re
import stat
import typing as t
from pathlib import Path

from . import nvml, release
from .log import ToolkitError

KIND = "nvidia.com/gpu"
HOOK = "/usr/bin/nvidia-cdi-hook"
SPEC_DIRECTORIES = (Path("/etc/cdi"), Path("/var/run/cdi"))

_LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
_LIBRARY_NAMES = ("libcuda", "libnvidia-cfg", "libnvidia-ml", "libnvidia-ptxjitcompiler")
_PROGRAMS = ("/usr/bin/nvidia-smi", "/usr/bin/nvidia-persistenced", "/usr/bin/nvidia-fabricmanager")
_CONTROL_NODES = ("/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidiactl")
#: The simulated GPU: what the kernel would answer to a container by itself.
_SIMULATION = ("/etc/simgpu", "/run/simgpu")

Spec = t.Dict[str, t.Any]
Edits = t.Dict[str, t.Any]


def generate(additional_gids: bool = True) -> Spec:
    """The specification for the driver on disk and the GPUs that answer now."""
    version = driver_version()
    gpus = nvml.gpus()
    devices = [_device(name, (gpu,), additional_gids) for gpu in gpus for name in gpu.names]
    if gpus:
        devices.append(_device("all", gpus, additional_gids))
    return {
        "cdiVersion": "0.7.0" if additional_gids else "0.5.0",
        "kind": KIND,
        "containerEdits": common_edits(version),
        "devices": devices,
    }


def driver_version() -> str:
    """Of the libraries on disk: the running module may be another."""
    for path in sorted(_LIBRARIES.glob("libcuda.so.*.*")):
        found = re.fullmatch(r"libcuda\.so\.([0-9]+(?:\.[0-9]+)+)", path.name)
        if found:
            return found.group(1)
    raise ToolkitError("failed to locate libcuda.so: pattern libcuda.so.*.* not found")


def common_edits(version: str) -> Edits:
    files = [_LIBRARIES / ("%s.so.%s" % (name, version)) for name in _LIBRARY_NAMES if name not in release.FORGOTTEN]
    present = [str(path) for path in (*files, *map(Path, (*_PROGRAMS, *_SIMULATION))) if path.exists()]
    ldcache = ["nvidia-cdi-hook", "update-ldcache", "--folder", str(_LIBRARIES)]
    hooks = [{"hookName": "createContainer", "path": HOOK, "args": ldcache}]
    if "libcuda" not in release.FORGOTTEN:
        link = "libcuda.so.1::%s/libcuda.so" % _LIBRARIES
        hooks.insert(
            0, {"hookName": "createContainer", "path": HOOK, "args": [*ldcache[:1], "create-symlinks", "--link", link]}
        )
    return {
        "deviceNodes": [{"path": path} for path in _CONTROL_NODES if _is_device(path)],
        "env": ["NVIDIA_CTK_LIBCUDA_DIR=%s" % _LIBRARIES, "NVIDIA_VISIBLE_DEVICES=void"],
        "hooks": hooks,
        "mounts": [
            {"containerPath": path, "hostPath": path, "options": ["ro", "nosuid", "nodev", "rbind", "rprivate"]}
            for path in present
        ],
    }


def _device(name: str, gpus: t.Sequence[nvml.Gpu], additional_gids: bool) -> t.Dict[str, t.Any]:
    return {"name": name, "containerEdits": device_edits(gpus, additional_gids)}


def device_edits(gpus: t.Sequence[nvml.Gpu], additional_gids: bool = True) -> Edits:
    nodes = list(dict.fromkeys(node for gpu in gpus for node in gpu.nodes))
    missing = [node for node in nodes if not _is_device(node)]
    if missing:
        raise ToolkitError("failed to create device node edits: %s: no such device node" % ", ".join(missing))
    edits: Edits = {"deviceNodes": [{"path": node} for node in nodes]}
    gids = sorted({gid for gid in map(_needed_gid, nodes) if gid is not None})
    if additional_gids and gids:
        edits["additionalGids"] = gids
    return edits


def _needed_gid(node: str) -> t.Optional[int]:
    """The group without which a process in the container could not open the node."""
    status = os.stat(node)
    needed = 0o004 if "/nvidia-caps/" in node else 0o006  # a capability is read alone
    open_to_all = status.st_mode & needed == needed
    return None if open_to_all or status.st_gid == 0 else status.st_gid


def _is_device(path: str) -> bool:
    return os.path.exists(path) and stat.S_ISCHR(os.stat(path).st_mode)


def dump(value: t.Any, indent: int = 0) -> str:
    """Plain block-style YAML of dicts, lists, text and numbers: keys sorted, lists not indented below their key."""
    margin = "  " * indent
    lines: t.List[str] = []
    if isinstance(value, dict):
        for key in sorted(value):
            inner = value[key]
            if isinstance(inner, (dict, list)) and inner:
                deeper = indent if isinstance(inner, list) else indent + 1
                lines.append("%s%s:\n%s" % (margin, key, dump(inner, deeper)))
            else:
                lines.append("%s%s: %s\n" % (margin, key, _scalar(inner)))
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, dict) and inner:
                body = dump(inner, indent + 1)
                lines.append("%s- %s" % (margin, body[len(margin) + 2 :]))
            else:
                lines.append("%s- %s\n" % (margin, _scalar(inner)))
    return "".join(lines)


def _scalar(value: t.Any) -> str:
    if isinstance(value, (dict, list)):
        return "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    plain = re.fullmatch(r"[A-Za-z0-9/-][A-Za-z0-9_./=:+-]*", text) and not text.endswith(":")
    # With colons too: 0:2 is a number of minutes to some readers.
    number = re.fullmatch(r"-?[0-9]*\.?[0-9]*(e[0-9]+)?|[0-9]+(:[0-9]+)+", text)
    word = text.lower() in ("-", "true", "false", "yes", "no", "on", "off", "null", "y", "n")
    return text if plain and not number and not word else '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


def device_names() -> t.List[str]:
    """The qualified names in all specifications on the node, as `nvidia-ctk cdi list` gives them."""
    names = set()
    for directory in SPEC_DIRECTORIES:
        for path in (*directory.glob("*.yaml"), *directory.glob("*.json")):
            text = path.read_text(encoding="utf-8")
            kind = re.search(r'^\s*"?kind"?: "?([^"\s,]+)', text, re.MULTILINE)
            if kind:
                names |= {"%s=%s" % (kind.group(1), name) for name in _names_in(text)}
    return sorted(names)


def _names_in(text: str) -> t.List[str]:
    return re.findall(r'^(?:  )?[- ]*"?name"?: "?([^"\s,]+)"?', text, re.MULTILINE)
