# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nvidia-container-cli: its version, and what it would give to a container."""

from __future__ import annotations

import sys
import typing as t

from . import nvml, release, spec
from .log import ToolkitError


def main(argv: t.Sequence[str]) -> int:
    words = [word for word in argv if not word.startswith("-")]
    try:
        if "--version" in argv or "-V" in argv:
            print("cli-version: %s\nlib-version: %s" % (release.VERSION, release.VERSION))
        elif words == ["info"]:
            _info()
        elif words == ["list"]:
            _list()
        else:
            print("usage: nvidia-container-cli [--version | info | list]", file=sys.stderr)
            return 1
    except ToolkitError as error:
        print("nvidia-container-cli: initialization error: %s" % error, file=sys.stderr)
        return 1
    return 0


def _info() -> None:
    print("NVRM version:   %s" % spec.driver_version())
    for gpu in nvml.gpus():
        (index, uuid), minor = gpu.names, gpu.nodes[0].rpartition("nvidia")[2]
        print("\nDevice Index:   %s\nDevice Minor:   %s\nGPU UUID:       %s" % (index, minor, uuid))


def _list() -> None:
    edits = spec.common_edits(spec.driver_version())
    nodes = [node["path"] for node in (*edits["deviceNodes"], *spec.device_edits(nvml.gpus())["deviceNodes"])]
    print("\n".join([*nodes, *(mount["containerPath"] for mount in edits["mounts"])]))
