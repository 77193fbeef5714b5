# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings as plain data, in whatever file they stand: one value, what differs, and what is in the way. Pure."""

from __future__ import annotations

import math
import typing as t

Path = t.Tuple[str, ...]

#: Deeper than any real configuration, and far from Python's recursion limit.
MAX_DEPTH = 100


class SettingError(ValueError):
    """A setting that a file of its kind cannot carry."""


def check_carried(settings: t.Any, kind: str, has_null: bool, path: Path = (), depth: int = 0) -> None:
    """Refuse settings that cannot be written into a file of this kind.

    :arg kind: its name for people: ``JSON`` or ``TOML``
    :arg has_null: whether it knows a value for nothing
    :raises SettingError: naming the setting by its path
    """
    name = 'setting "%s"' % ".".join(path) if path else "the settings"
    if depth > MAX_DEPTH:
        raise SettingError("the settings are nested deeper than %d levels" % MAX_DEPTH)
    if isinstance(settings, dict):
        for key, value in settings.items():
            if not isinstance(key, str):
                raise SettingError("%s: the key %r is not text; put it in quotes" % (name, key))
            check_carried(key, kind, has_null, path)
            check_carried(value, kind, has_null, (*path, key), depth + 1)
    elif isinstance(settings, (list, tuple)):
        for value in settings:
            check_carried(value, kind, has_null, path, depth + 1)
    elif isinstance(settings, str):
        try:
            settings.encode("utf-8")
        except UnicodeEncodeError as error:
            raise SettingError("%s: %r is not valid Unicode" % (name, settings)) from error
    elif isinstance(settings, float) and not math.isfinite(settings):
        raise SettingError("%s: %r is no number that %s can carry" % (name, settings, kind))
    elif not (isinstance(settings, (bool, int, float)) or (has_null and settings is None)):
        raise SettingError("%s: %s cannot carry a %s" % (name, kind, type(settings).__name__))


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
