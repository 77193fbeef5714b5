# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock as somebody hands it in, to be compared: read whole, or refused with the one reason. Controller only.

Whether a lock fits its bundle is another question (``lock.problems``): of two locks one at least is of another bundle.
"""

from __future__ import annotations

import json
import pathlib
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils import lock as locks
from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import MISSING, Problem
from ansible_collections.goldennode.gpu.plugins.module_utils.model import SCHEMA

Lock = t.Dict[str, t.Any]

#: A lock with ten long keys in it has a tenth of this.
_LARGEST = 1 << 20
#: Longer than any name, version or address, and shorter than what Python refuses to read as a number.
_LONGEST = 4000
_FIX = "Name a file NAME.PLATFORM.lock.json as it stands beside its bundle; an older one is in version control"
_ALL = ("schema", "id", "bundle", "bundle_digest", "platform", "package_manager", "sources", "image", "python")
_TEXTS = ("id", "bundle", "bundle_digest", "platform", "package_manager")


class LockFileError(ValueError):
    """A file that holds no lock, or two that cannot be compared."""

    def __init__(self, path: str, message: str, fix: str = _FIX) -> None:
        super().__init__(str(Problem(path, MISSING, message, fix)))


def read(path: pathlib.Path) -> Lock:
    """:raises LockFileError: when there is no file, or it cannot be read, or holds no lock"""
    return parse(_bytes(path), str(path))


def parse(raw: bytes, name: str) -> Lock:
    """The lock in the bytes of a file.

    :raises LockFileError: with the one reason why there is none
    """
    try:
        found = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        fix = "Save it as UTF-8; a shell that writes UTF-16 (PowerShell's >) is one way to such a file"
        raise LockFileError(name, "is not UTF-8: byte %d cannot be read" % error.start, fix) from error
    except RecursionError as error:
        raise LockFileError(name, "is no lock: it is nested too deep") from error
    except ValueError as error:
        raise LockFileError(name, "is not JSON: %s" % error) from error
    why = misshapen(found)
    if why:
        raise LockFileError(name, "is no lock: %s" % why)
    return t.cast(Lock, found)


def pair(before: pathlib.Path, after: pathlib.Path) -> t.Tuple[Lock, Lock]:
    """Two locks of one platform.

    :raises LockFileError: when one is none, or they are of two platforms
    """
    old, new = read(before), read(after)
    if old["platform"] != new["platform"]:
        message = "is of %s, and %s is of %s" % (old["platform"], after, new["platform"])
        raise LockFileError(str(before), message, "Compare two locks of the same platform")
    return old, new


def remarks(lock: t.Mapping[str, t.Any], name: str) -> t.List[str]:
    """What is to be said of a lock that can be compared all the same."""
    if lock["id"] == locks.lock_id(lock):
        return []
    return ["%s was changed by hand: its id is not the digest of its content, and a run refuses it." % name]


def misshapen(found: t.Any) -> str:
    """Why this is no lock; "" where it is one."""
    if not isinstance(found, dict):
        return "it holds no JSON object"
    schema = found.get("schema")
    if isinstance(schema, bool) or schema != SCHEMA:
        return "it has schema %s, and this version of the collection reads %d" % (_shown(schema), SCHEMA)
    lacking = [key for key in (*_ALL, *locks.PACKAGE_AXES) if key not in found]
    if lacking:
        return "it lacks %s" % ", ".join(lacking)
    wrong = [key for key in _TEXTS if not isinstance(found[key], str)]
    if wrong:
        return "%s: text is expected, not %s" % (wrong[0], _shown(found[wrong[0]]))
    long = _long(found, "")
    if long:
        return long
    return _bad_source(found["sources"]) or next(filter(None, (_bad_axis(*item) for item in found.items())), "")


def _bad_axis(axis: str, value: t.Any) -> str:
    required = axis in locks.PACKAGE_AXES
    if value is None and axis == "fabric_manager":
        return ""
    if not isinstance(value, dict):
        expected = required or axis in ("image", "python")
        return "%s: an object is expected, not %s" % (axis, _shown(value)) if expected else ""
    packages = value.get("packages", None if required else {})
    if not isinstance(packages, dict):
        return "%s.packages: an object is expected, not %s" % (axis, _shown(packages))
    for name, version in packages.items():
        if not isinstance(version, str):
            return "%s.packages.%s: text is expected, not %s" % (axis, name, _shown(version))
    return ""


def _bad_source(sources: t.Any) -> str:
    if not isinstance(sources, list):
        return "sources: a list is expected, not %s" % _shown(sources)
    for at, source in enumerate(sources):
        if not isinstance(source, dict) or not isinstance(source.get("name"), str):
            return "sources[%d]: a source with a name is expected, not %s" % (at, _shown(source))
        for field in ("uris", "suites", "components"):
            words = source.get(field)
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                return "sources[%d].%s: a list of text is expected, not %s" % (at, field, _shown(words))
    return ""


def _long(value: t.Any, where: str) -> str:
    """Where a text is too long to be what it should be; only keys are long."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if len(name) > _LONGEST:
                return "%s has a name of %d characters" % (where or "it", len(name))
            found = "" if name == "key" else _long(inner, "%s.%s" % (where, name) if where else name)
            if found:
                return found
    elif isinstance(value, list):
        return next(filter(None, (_long(inner, "%s[%d]" % (where, at)) for at, inner in enumerate(value))), "")
    elif isinstance(value, str) and len(value) > _LONGEST:
        return "%s has %d characters" % (where, len(value))
    return ""


def _bytes(path: pathlib.Path) -> bytes:
    name = str(path)
    try:
        if path.exists() and not path.is_file():  # of a pipe nothing would ever come
            raise LockFileError(name, "is no file")
        with path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
    except FileNotFoundError as error:
        raise LockFileError(name, "is not there") from error
    except (OSError, ValueError) as error:  # a name with a null character is the latter
        if isinstance(error, LockFileError):
            raise
        message = "cannot be read: %s" % (getattr(error, "strerror", None) or error)
        raise LockFileError(name, message, "Check the path and the permissions") from error
    if len(raw) > _LARGEST:
        raise LockFileError(name, "is no lock: it has more than %d MiB" % (_LARGEST >> 20))
    return raw


def _shown(value: t.Any) -> str:
    """A value as JSON, short."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
