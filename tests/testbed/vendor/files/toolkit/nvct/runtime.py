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
    config = oci.load(bundle)
    request = oci.environment(config).get(VISIBLE, "void")
    if request in ("", "void"):
        return
    oci.apply(config, spec.common_edits(spec.driver_version()))
    if request != "none":
        oci.apply(config, spec.device_edits(requested(request, nvml.gpus())))
    oci.save(bundle, config)


def requested(request: str, gpus: t.Sequence[nvml.Gpu]) -> t.List[nvml.Gpu]:
    """The GPUs that NVIDIA_VISIBLE_DEVICES names: all, or indexes, UUIDs and qualified CDI names."""
    names = [word.strip().removeprefix(spec.KIND + "=") for word in request.split(",")]
    if "all" in names:
        return list(gpus)
    known = {name: gpu for gpu in gpus for name in (str(gpu.index), gpu.uuid)}
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
