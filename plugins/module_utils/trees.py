# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings as plain data, in whatever file they stand: one value, what differs, and what is in the way. Pure."""

from __future__ import annotations

import typing as t

Path = t.Tuple[str, ...]


def at(settings: t.Any, path: t.Iterable[str], missing: t.Any = None) -> t.Any:
    """The value at the path; ``missing`` where there is none."""
    for key in path:
        if not isinstance(settings, dict) or key not in settings:
            return missing
        settings = settings[key]
    return settings


def differing(config: t.Mapping[str, t.Any], settings: t.Mapping[str, t.Any]) -> t.List[Path]:
    """Paths of the settings that ``config`` lacks or has with another value; nested objects are compared key by key."""
    found: t.List[Path] = []
    for key, wanted in settings.items():
        if key not in config:
            found.append((key,))
        elif isinstance(wanted, dict) and isinstance(config[key], dict):
            found.extend((key,) + path for path in differing(config[key], wanted))
        elif not same(config[key], wanted):
            found.append((key,))
    return found


def merged(config: t.Mapping[str, t.Any], settings: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """What merging the settings into a file makes of it, as plain data; what is in its way stays."""
    result = dict(config)
    for key, wanted in settings.items():
        present = config.get(key)
        if isinstance(wanted, dict) and isinstance(present, dict):
            result[key] = merged(present, wanted)
        elif key not in config or not (isinstance(wanted, dict) or isinstance(present, dict)):
            result[key] = wanted
    return result


def obstacles(config: t.Mapping[str, t.Any], settings: t.Mapping[str, t.Any]) -> t.List[Path]:
    """Paths where the file has an object and the settings have none, or the other way round: merging refuses it."""
    found: t.List[Path] = []
    for key, wanted in settings.items():
        present = config.get(key)
        if isinstance(wanted, dict) and isinstance(present, dict):
            found.extend((key, *path) for path in obstacles(present, wanted))
        elif key in config and (isinstance(wanted, dict) or isinstance(present, dict)):
            found.append((key,))
    return found


def same(present: t.Any, wanted: t.Any) -> bool:
    """Equal in type too: who takes ``1`` for a count refuses ``1.0``, ``"1"`` and ``true``."""
    if isinstance(wanted, (list, tuple)) and isinstance(present, (list, tuple)):
        return len(present) == len(wanted) and all(same(p, w) for p, w in zip(present, wanted))
    if isinstance(wanted, dict) and isinstance(present, dict):
        return present.keys() == wanted.keys() and all(same(present[k], wanted[k]) for k in wanted)
    return type(present) is type(wanted) and bool(present == wanted)
