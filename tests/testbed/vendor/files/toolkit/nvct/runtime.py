# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nvidia-container-runtime: lays the GPUs into the bundle that is about to be created, then becomes runc."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import sys
import typing as t
from pathlib import Path

from . import config as settings
from . import nvml, oci, release, spec
from .log import ToolkitError

VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_MOUNTS = "/var/run/nvidia-container-devices/"
_HOOK = "/usr/bin/nvidia-container-runtime-hook"


def main(argv: t.Sequence[str]) -> int:
    if "--version" in argv:
        print("NVIDIA Container Runtime version %s\ncommit: stand-in" % release.VERSION, flush=True)
    try:
        if "create" in argv:
            inject(Path(_value(argv, "--bundle", "-b") or os.getcwd()))
        runtime = _low_level_runtime()
    except (ToolkitError, OSError) as error:
        _report(argv, str(error))
        return 1
    return os.execv(runtime, [runtime, *argv])


def inject(bundle: Path) -> None:
    """Nothing, where the container does not ask for GPUs."""
    config, wanted = oci.load(bundle), settings.load()
    request = asked_for(config, wanted)
    if not request:
        return
    mode = settings.get(wanted, "nvidia-container-runtime.mode", "auto")
    if mode == "auto":
        mode = "cdi" if all(_is_qualified(word) for word in request.split(",")) else "jit-cdi"
    if mode == "legacy":
        oci.apply(config, {"hooks": [{"hookName": "prestart", "path": _HOOK, "args": [_HOOK, "prestart"]}]})
    elif mode in ("cdi", "jit-cdi"):
        if mode == "cdi":
            _resolve(request)
        gids = not settings.get(wanted, "features.no-additional-gids-for-device-nodes", False)
        oci.apply(config, spec.common_edits(spec.driver_version()))
        if request != "none":
            oci.apply(config, spec.device_edits(requested(request, nvml.gpus()), gids))
    else:
        raise ToolkitError("error creating runtime: invalid runtime mode: %s" % mode)
    oci.save(bundle, config)


def asked_for(config: oci.Config, wanted: t.Mapping[str, t.Any]) -> str:
    """What a container asks for: by mounts of /dev/null where these count, else by the variable, which counts in a
    container without privileges only where the toolkit is told so; "" where it asks for nothing."""
    if settings.get(wanted, "accept-nvidia-visible-devices-as-volume-mounts", False):
        mounts = [one["destination"] for one in config.get("mounts", []) if one.get("source") == "/dev/null"]
        names = [_device_of(place[len(_MOUNTS) :]) for place in mounts if place.startswith(_MOUNTS)]
        if names:
            return ",".join(names)
    capabilities = config.get("process", {}).get("capabilities") or {}
    privileged = "CAP_SYS_ADMIN" in capabilities.get("bounding", [])
    key = "accept-nvidia-visible-devices-envvar-when-unprivileged"
    if not privileged and not settings.get(wanted, key, True):
        return ""
    request = oci.environment(config).get(VISIBLE, "void")
    return "" if request == "void" else request


def _device_of(name: str) -> str:
    """cdi/nvidia.com/gpu/0 is the device nvidia.com/gpu=0."""
    if not name.startswith("cdi/"):
        return name
    kind, _, device = name[len("cdi/") :].rpartition("/")
    return "%s=%s" % (kind, device)


def _is_qualified(word: str) -> bool:
    return word.strip().startswith(spec.KIND + "=")


def _resolve(request: str) -> None:
    known = spec.device_names()
    names = [word.strip() for word in request.split(",")]
    qualified = [name if _is_qualified(name) else "%s=%s" % (spec.KIND, name) for name in names]
    unknown = [name for name in qualified if name not in known]
    if unknown:
        raise ToolkitError("failed to inject CDI devices: unresolvable CDI devices %s" % ", ".join(unknown))


def requested(request: str, gpus: t.Sequence[nvml.Gpu]) -> t.List[nvml.Gpu]:
    """What NVIDIA_VISIBLE_DEVICES names: all, or indexes (of a MIG device 0:2), UUIDs and qualified CDI names."""
    names = [word.strip().removeprefix(spec.KIND + "=") for word in request.split(",")]
    if "all" in names:
        return list(gpus)
    known = {name: gpu for gpu in gpus for name in gpu.names}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ToolkitError("failed to construct device: unresolvable devices %s" % ", ".join(unknown))
    return [known[name] for name in names]


def _low_level_runtime() -> str:
    names = settings.get(settings.load(), "nvidia-container-runtime.runtimes", ["runc", "crun"])
    for name in names:
        path = shutil.which(str(name))
        if path:
            return path
    raise ToolkitError("error locating runtime: no runtime binary found from candidate list: %s" % names)


def _value(argv: t.Sequence[str], *names: str) -> t.Optional[str]:
    for position, word in enumerate(argv):
        option, equals, value = word.partition("=")
        if option in names:
            return value if equals else argv[position + 1] if position + 1 < len(argv) else None
    return None


def _report(argv: t.Sequence[str], text: str) -> None:
    """To the log file that the engine named, where it looks for the reason, and to stderr."""
    print("nvidia-container-runtime: %s" % text, file=sys.stderr)
    log = _value(argv, "--log")
    if log:
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        entry = {"level": "error", "msg": "failed to create NVIDIA Container Runtime: %s" % text, "time": now}
        with open(log, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
