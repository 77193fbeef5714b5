# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a CDI specification says of itself, in YAML or JSON, and where the toolkit's units write theirs.

Nodes need not have a YAML parser. What is asked here stands in the first columns of the text that nvidia-ctk writes, in
block style, and the driver's version in file names alone (``libcuda.so.580.95.05``).
"""

from __future__ import annotations

import json
import re
import typing as t

from ..model import CdiSpec
from .text import DRIVER_VERSION

#: Where nvidia-cdi-refresh.service writes, when nobody says otherwise.
TARGET = "/var/run/cdi/nvidia.yaml"

_LIBRARY = re.compile(r"\blib(?:cuda|nvidia-ml)\.so\.(%s)" % DRIVER_VERSION)
_KEY = r"""(?:^|[{,][ \t]*)["']?%s["']?[ \t]*:[ \t]*["']?([^"'\s#,}]+)"""
_KIND = re.compile(_KEY % "kind", re.MULTILINE)
_SCHEMA = re.compile(_KEY % "cdiVersion", re.MULTILINE)
_DEVICES = re.compile(
    r"""^["']?devices["']?[ \t]*:[ \t]*(?:#.*)?\n((?:[ \t]*-.*\n?|[ \t]+.*\n?|[ \t]*\n|#.*\n?)*)""", re.MULTILINE
)
_ITEM = re.compile(r"^([ \t]*)-([ \t]+)", re.MULTILINE)
_NAME = r"""^(?:%s-%s|%s)["']?name["']?[ \t]*:[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s#]+))"""
#: What nvidia-ctk puts into every specification: its own hooks, or the variable that keeps the runtime out.
_GENERATED = re.compile(r"nvidia-cdi-hook|nvidia-ctk|NVIDIA_VISIBLE_DEVICES=void")
_ASSIGNMENT = re.compile(r"""^[ \t]*NVIDIA_CTK_CDI_OUTPUT_FILE_PATH[ \t]*=[ \t]*(["']?)(.*?)\1[ \t]*$""", re.MULTILINE)


def parse(text: str) -> t.Optional[CdiSpec]:
    """The specification; None where it is not about devices of NVIDIA's."""
    kind, schema, devices = _json(text) if text.lstrip()[:1] == "{" else _yaml(text)
    if not kind.startswith("nvidia.com/"):
        return None
    found = sorted(set(_LIBRARY.findall(text)))
    return CdiSpec(kind, schema, ", ".join(found) or None, devices, bool(_GENERATED.search(text)))


def target(text: t.Optional[str]) -> str:
    """Where the specification goes, by nvidia-cdi-refresh.env; the last assignment counts."""
    found = _ASSIGNMENT.findall(text or "")
    return found[-1][1] if found and found[-1][1] else TARGET


def _json(text: str) -> t.Tuple[str, str, t.Tuple[str, ...]]:
    try:
        spec = json.loads(text)
    except (ValueError, RecursionError):
        return _yaml(text)
    devices = spec.get("devices")
    named = devices if isinstance(devices, list) else []
    names = tuple(one["name"] for one in named if isinstance(one, dict) and isinstance(one.get("name"), str))
    return str(spec.get("kind") or ""), str(spec.get("cdiVersion") or ""), names


def _yaml(text: str) -> t.Tuple[str, str, t.Tuple[str, ...]]:
    kind, schema, block = _KIND.search(text), _SCHEMA.search(text), _DEVICES.search(text)
    names: t.Tuple[str, ...] = ()
    item = _ITEM.search(block.group(1)) if block else None
    if block and item:
        # The keys of an item stand in one column: deeper names are those of something else.
        margin, gap = item.groups()
        pattern = _NAME % (margin, gap, margin + " " + gap)
        names = tuple("".join(found) for found in re.findall(pattern, block.group(1), re.MULTILINE))
    return kind.group(1) if kind else "", schema.group(1) if schema else "", names
