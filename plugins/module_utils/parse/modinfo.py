# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What modinfo says of the nvidia module that modprobe would load."""

from __future__ import annotations

import re
import typing as t

from ..model import ModuleOnDisk, Reading
from .text import colons, failure

_INSTEAD = re.compile(r"^install\s.*?\bmodprobe\s+(?:-i|--ignore-install)\s+([\w-]+)", re.MULTILINE)
_FIELD = re.compile(r"^(\w+):[ \t]*(.*)$", re.MULTILINE)


def parse(stdout: str, stderr: str, rc: t.Optional[int], kernel: str) -> Reading[ModuleOnDisk]:
    """``modinfo -k KERNEL nvidia``. No such module is an answer: known to be absent."""
    if rc != 0:
        if re.search(r"Module (?:alias )?\S+ not found", stderr):
            return Reading(None)
        return Reading.unknown(failure("modinfo -k %s nvidia" % kernel, rc, stdout, stderr))
    fields: t.Dict[str, str] = {}
    for match in _FIELD.finditer(stdout):
        fields.setdefault(match.group(1), match.group(2).strip())
    if not fields.get("version"):
        return Reading.unknown("modinfo -k %s nvidia names no version" % kernel)
    return Reading(
        ModuleOnDisk(
            kernel=kernel,
            version=fields["version"],
            licence=fields.get("license", ""),
            signer=fields.get("signer", ""),
            path=fields.get("filename", ""),
            signing_serial=colons(fields.get("sig_key", "")),
            built_for=fields.get("vermagic", "").partition(" ")[0],
        )
    )


def stands_for(text: str) -> t.Optional[str]:
    """The module that, by ``modprobe --show-depends``, a command loads in place of the one that was asked for."""
    match = _INSTEAD.search(text)
    return match.group(1) if match else None
