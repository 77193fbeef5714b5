# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the settings of containerd, CRI-O and Podman say of GPUs: NVIDIA's runtime, the default runtime, CDI.

Each file is plain data already (``toolkit_config.parse``), in the order in which the engine reads them.
"""

from __future__ import annotations

import re
import typing as t

from ..model import ContainerEngine
from ..trees import at, merged
from .json_lines import parse_object

Settings = t.Mapping[str, t.Any]

#: The part of containerd that serves Kubernetes, by the version of its file from which it has this name.
CRI = ((1, "cri"), (2, "io.containerd.grpc.v1.cri"), (3, "io.containerd.cri.v1.runtime"))

#: A runtime of NVIDIA's: nvidia-container-runtime, and its .cdi and .legacy.
_RUNTIME = re.compile(r"(?:^|/)nvidia-container-runtime(?:\.\w+)?$", re.ASCII)
_HOOK = re.compile(r"(?:^|/)nvidia-container-(?:runtime-hook|toolkit)$", re.ASCII)
_VERSION = re.compile(r"(?:^|[\s:,v])v?(\d{1,6}\.\d{1,6}(?:\.\d{1,6})?[\w.+~-]*)", re.ASCII)


def version(text: str) -> str:
    """The version in the first line of ``--version``: ``podman version 4.9.3``, ``containerd NAME 1.7.24 COMMIT``."""
    found = _VERSION.search(text.split("\n", 1)[0])
    return found.group(1) if found else ""


def imports(settings: Settings) -> t.Tuple[str, ...]:
    """Further files of containerd, as patterns."""
    return _texts(settings.get("imports"))


def containerd(engine: ContainerEngine, files: t.Sequence[Settings]) -> ContainerEngine:
    """The first file, and what it imports laid over it. Each is read by its own version, else by that of the first."""
    first = _number(files[0], 1) if files else 1
    cri = _laid([_mapping(at(settings, ("plugins", _plugin(_number(settings, first))))) for settings in files])
    disabled = [name for settings in files for name in _texts(settings.get("disabled_plugins"))]
    runtimes = at(cri, ("containerd", "runtimes"), {})
    default = _text(at(cri, ("containerd", "default_runtime_name"))) or "runc"
    return _with(
        engine,
        runtimes=_nvidia(runtimes),
        misplaced=tuple(name for settings in files for name in _misplaced(settings, _number(settings, first))),
        default_runtime=default,
        systemd_cgroup=_flag(at(runtimes, (default, "options", "SystemdCgroup"), at(cri, ("systemd_cgroup",)))),
        cri=not {name for _version, name in CRI} & set(disabled),
        cdi=_flag(at(cri, ("enable_cdi",))),
        cdi_dirs=_texts(at(cri, ("cdi_spec_dirs",))),
    )


def crio(engine: ContainerEngine, files: t.Sequence[Settings]) -> ContainerEngine:
    runtime = at(_laid(files), ("crio", "runtime"), {})
    return _with(
        engine,
        runtimes=_nvidia(at(runtime, ("runtimes",), {})),
        default_runtime=_text(at(runtime, ("default_runtime",))),
        systemd_cgroup=_manager(at(runtime, ("cgroup_manager",))),
        cdi_dirs=_texts(at(runtime, ("cdi_spec_dirs",))),
    )


def podman(engine: ContainerEngine, files: t.Sequence[Settings]) -> ContainerEngine:
    settings = at(_laid(files), ("engine",), {})
    return _with(
        engine,
        runtimes=_nvidia(at(settings, ("runtimes",), {})),
        default_runtime=_text(at(settings, ("runtime",))),
        systemd_cgroup=_manager(at(settings, ("cgroup_manager",))),
        cdi_dirs=_texts(at(settings, ("cdi_spec_dirs",))),
    )


def is_hook(text: str) -> bool:
    """Whether a file of hooks.d starts NVIDIA's hook. One that is no JSON starts nothing."""
    path = at(parse_object(text, "the hook").value or {}, ("hook", "path"))
    return isinstance(path, str) and _HOOK.search(path) is not None


def _laid(files: t.Sequence[Settings]) -> t.Dict[str, t.Any]:
    found: t.Dict[str, t.Any] = {}
    for settings in files:
        found = merged(found, settings)
    return found


def _number(settings: Settings, default: int) -> int:
    said = settings.get("version")
    return said if isinstance(said, int) and not isinstance(said, bool) else default


def _plugin(number: int) -> str:
    """The name that a file of this version has for the part that serves Kubernetes."""
    return ([CRI[0][1]] + [name for first, name in CRI if number >= first])[-1]


def _misplaced(settings: Settings, number: int) -> t.Iterator[str]:
    """``PLUGIN: RUNTIME`` of those that stand below a name which this version of the file does not have."""
    for _first, other in CRI:
        if other != _plugin(number):
            for runtime in _nvidia(at(settings, ("plugins", other, "containerd", "runtimes"), {})):
                yield "%s: %s" % (other, runtime)


def _nvidia(runtimes: t.Any) -> t.Tuple[str, ...]:
    """Names of the runtimes whose program is NVIDIA's, in any of the ways in which an engine names it."""
    if not isinstance(runtimes, dict):
        return ()
    return tuple(sorted(str(name) for name, value in runtimes.items() if any(map(_is_nvidia, _programs(value)))))


def _is_nvidia(program: str) -> bool:
    return _RUNTIME.search(program) is not None


def _programs(value: t.Any) -> t.Tuple[str, ...]:
    if isinstance(value, dict):
        paths = [at(value, ("options", "BinaryName")), value.get("runtime_path"), value.get("runtime_engine")]
        return tuple(path for path in paths if isinstance(path, str))
    return _texts(value)


def _mapping(value: t.Any) -> t.Dict[str, t.Any]:
    return value if isinstance(value, dict) else {}


def _manager(value: t.Any) -> t.Optional[bool]:
    return value == "systemd" if isinstance(value, str) and value else None


def _flag(value: t.Any) -> t.Optional[bool]:
    return value if isinstance(value, bool) else None


def _text(value: t.Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: t.Any) -> t.Tuple[str, ...]:
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, list) else ()


def _with(engine: ContainerEngine, **fields: t.Any) -> ContainerEngine:
    return ContainerEngine(**{**engine.__dict__, **fields})
