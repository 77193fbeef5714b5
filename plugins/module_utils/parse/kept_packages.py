# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifest of the package files that a node keeps, and the locks that say which. Pure."""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t

from ..model import SCHEMA, Reading

DIRECTORY = "/var/lib/goldennode/packages"
MANIFEST = DIRECTORY + "/manifest.json"

#: What is written there is a plain file beside the manifest, whatever the manifest says.
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+%~_:-]*\.(?:deb|rpm)")


@dataclasses.dataclass(frozen=True)
class KeptFile:
    """One package's file; ``sha256`` is what the repository's signed index said when it was taken."""

    file: str
    size: int
    sha256: str


def parse(text: t.Optional[str]) -> Reading[t.Dict[str, KeptFile]]:
    """The files by ``name=version``; none where there is no manifest."""
    if text is None:
        return Reading({})
    try:
        found = json.loads(text)
        if found["schema"] != SCHEMA:
            return Reading.unknown("%s has schema %r" % (MANIFEST, found["schema"]))
        files = {
            str(key): KeptFile(str(entry["file"]), int(entry["size"]), str(entry["sha256"]))
            for key, entry in found["files"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        return Reading.unknown("%s is not understood: %s" % (MANIFEST, error))
    return Reading({key: kept for key, kept in files.items() if _FILE.fullmatch(kept.file)})


def render(files: t.Mapping[str, KeptFile]) -> str:
    plain = {key: dataclasses.asdict(kept) for key, kept in sorted(files.items())}
    return json.dumps({"schema": SCHEMA, "files": plain}, indent=1, sort_keys=True) + "\n"


def lock_packages(text: t.Optional[str], path: str) -> Reading[t.Dict[str, t.Dict[str, str]]]:
    """Full version by package by axis of a lock on the node; none where there is no such lock."""
    if text is None or not text.strip():
        return Reading({})
    try:
        lock = json.loads(text) or {}
        found = {name: axis["packages"] for name, axis in lock.items() if isinstance(axis, dict) and "packages" in axis}
        return Reading({axis: {str(n): str(v) for n, v in packages.items()} for axis, packages in found.items()})
    except (ValueError, AttributeError) as error:
        return Reading.unknown("%s is not understood: %s" % (path, error))
