# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of an engine's settings a capture may have: that which is judged. The rest has passwords of registries in it."""

from __future__ import annotations

import typing as t

from ..model import Reading
from ..toml_scan import TomlError
from ..toml_text import merge
from ..trees import Path, at
from . import toolkit_config
from .engine_settings import CRI

FOLDERS = ("/etc/containerd/", "/etc/crio/", "/etc/containers/", "/usr/share/containers/")

_OF_CRI = (("enable_cdi",), ("cdi_spec_dirs",), ("systemd_cgroup",), ("containerd",))
_PLUGINS: t.Tuple[Path, ...] = tuple(("plugins", name, *path) for _first, name in CRI for path in _OF_CRI)
_RUNTIME = ("default_runtime", "runtimes", "cgroup_manager", "cdi_spec_dirs")
_ENGINE = ("runtime", "runtimes", "cgroup_manager", "cdi_spec_dirs")

JUDGED: t.Tuple[Path, ...] = (
    ("version",),
    ("imports",),
    ("disabled_plugins",),
    *_PLUGINS,
    *(("crio", "runtime", name) for name in _RUNTIME),
    *(("engine", name) for name in _ENGINE),
)


def kept(reading: Reading[bytes], path: str) -> Reading[bytes]:
    """The same answer to all that is asked of the file. Hooks are no settings, and hold no password."""
    if reading.value is None or path.endswith(".json"):
        return reading
    settings = toolkit_config.parse(reading.value, path)
    if settings.value is None:
        return Reading.unknown(settings.error or "")
    judged: t.Dict[str, t.Any] = {}
    for place in JUDGED:
        value = at(settings.value, place)
        if value is not None:
            _put(judged, place, value)
    try:
        return Reading(merge(None, judged))
    except TomlError as error:
        return Reading.unknown("%s: %s" % (path, error))


def _put(tree: t.Dict[str, t.Any], place: Path, value: t.Any) -> None:
    for key in place[:-1]:
        tree = tree.setdefault(key, {})
    tree[place[-1]] = value
