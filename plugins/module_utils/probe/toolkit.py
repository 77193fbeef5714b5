# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container toolkit: its configuration, the CDI specifications, and where its units write theirs."""

from __future__ import annotations

import typing as t

from ..model import CdiSpec, Reading
from ..parse import cdi
from ..parse import toolkit_config as config_text
from ..toolkit_wanted import CONFIG
from .host import Host

REFRESH_ENVIRONMENT = "/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env"
CDI_DIRECTORIES = ("/etc/cdi", "/var/run/cdi")


def config(host: Host) -> Reading[t.Dict[str, t.Any]]:
    raw = host.read_bytes(CONFIG)
    return config_text.parse(raw.value, CONFIG) if raw.known else Reading.unknown(raw.error or "")


def cdi_target(host: Host) -> Reading[str]:
    text = host.read(REFRESH_ENVIRONMENT)
    return Reading(cdi.target(text.value)) if text.known else Reading.unknown(text.error or "")


def cdi_specs(host: Host, more: t.Iterable[str] = ()) -> Reading[t.Dict[str, CdiSpec]]:
    """:arg more: directories that the engine reads beside the usual ones"""
    found: t.Dict[str, CdiSpec] = {}
    seen: t.Set[str] = set()
    for directory in (*CDI_DIRECTORIES, *more):
        real = host.realpath(directory)  # /var/run and /run are one
        if not real.known:
            return Reading.unknown(real.error or "")
        if real.value is None or real.value in seen:
            continue
        seen.add(real.value)
        entries = host.listdir(directory)
        if not entries.known:
            return Reading.unknown(entries.error or "")
        for name in entries.value or {}:
            if not name.endswith((".yaml", ".yml", ".json")):
                continue
            path = "%s/%s" % (directory.rstrip("/"), name)
            text = host.read(path)
            if not text.known:
                return Reading.unknown(text.error or "")
            spec = cdi.parse(text.value or "")
            if spec is not None:
                found[path] = spec
    return Reading(found)
