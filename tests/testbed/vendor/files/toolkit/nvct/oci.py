# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An OCI bundle: reading it, and laying CDI edits into its config.json."""

from __future__ import annotations

import json
import os
import stat
import typing as t
from pathlib import Path

Config = t.Dict[str, t.Any]


def load(bundle: Path) -> Config:
    return t.cast(Config, json.loads((bundle / "config.json").read_text(encoding="utf-8")))


def save(bundle: Path, config: Config) -> None:
    (bundle / "config.json").write_text(json.dumps(config), encoding="utf-8")


def root_of(bundle: Path, config: Config) -> Path:
    """Absolute: the path in the bundle may be relative to it."""
    return bundle / str(config["root"]["path"])


def environment(config: Config) -> t.Dict[str, str]:
    return dict(word.split("=", maxsplit=1) for word in config.get("process", {}).get("env", []) if "=" in word)


def apply(config: Config, edits: t.Mapping[str, t.Any]) -> None:
    """Lay CDI edits into the configuration, as a container engine does."""
    process = config.setdefault("process", {})
    linux = config.setdefault("linux", {})
    names = {word.split("=", maxsplit=1)[0] for word in edits.get("env", [])}
    kept = [word for word in process.get("env", []) if word.split("=", maxsplit=1)[0] not in names]
    process["env"] = kept + list(edits.get("env", []))
    for node in edits.get("deviceNodes", []):
        _add_device(linux, node["path"])
    for mount in edits.get("mounts", []):
        config.setdefault("mounts", []).append(
            {
                "destination": mount["containerPath"],
                "source": mount["hostPath"],
                "type": "bind",
                "options": mount["options"],
            }
        )
    for hook in edits.get("hooks", []):
        entry = {"path": hook["path"], "args": hook["args"]}
        config.setdefault("hooks", {}).setdefault(hook["hookName"], []).append(entry)
    if edits.get("additionalGids"):
        user = process.setdefault("user", {})
        user["additionalGids"] = sorted({*user.get("additionalGids", []), *edits["additionalGids"]})


def _add_device(linux: t.Dict[str, t.Any], path: str) -> None:
    status = os.stat(path)
    major, minor = os.major(status.st_rdev), os.minor(status.st_rdev)
    devices = linux.setdefault("devices", [])
    if all(device["path"] != path for device in devices):
        devices.append(
            {
                "path": path,
                "type": "c",
                "major": major,
                "minor": minor,
                "fileMode": stat.S_IMODE(status.st_mode),
                "uid": status.st_uid,
                "gid": status.st_gid,
            }
        )
    rule = {"allow": True, "type": "c", "major": major, "minor": minor, "access": "rwm"}
    linux.setdefault("resources", {}).setdefault("devices", []).append(rule)
