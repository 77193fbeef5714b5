# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bundle's file, the keys that it names and the locks beside it: found, read, checked and written.

Controller only.
"""

from __future__ import annotations

import json
import pathlib
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils import lock as locks
from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import (
    MISSING,
    Bundle,
    PlatformBundle,
    Problem,
    load,
)
from ansible_collections.goldennode.gpu.plugins.plugin_utils import whole_file, yaml_file

Lock = t.Dict[str, t.Any]


class NotFoundError(ValueError):
    """No file of that name where it is looked for."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


def find(name: str, directories: t.Iterable[t.Optional[str]]) -> pathlib.Path:
    """The bundle's file: an absolute path, or one below the first of the directories that has it.

    :raises NotFoundError: naming every path that was tried
    """
    bases = [directory for directory in directories if directory]
    tried = [pathlib.Path(base) / pathlib.Path(name).expanduser() for base in dict.fromkeys(bases)] or [
        pathlib.Path(name)
    ]
    tried = list(dict.fromkeys(tried))
    for path in tried:
        if path.is_file():
            return path.resolve()
    fix = "Set bundle_file to an absolute path, or to one relative to the inventory's or the playbook's directory"
    message = "is no file (tried: %s)" % ", ".join(str(path) for path in tried)
    raise NotFoundError(Problem("bundle_file", name, message, fix))


def read_bundle(path: pathlib.Path) -> Bundle:
    """The bundle of a file, with the text of the keys that it names.

    :raises YamlError: when it is no readable YAML
    :raises BundleError: with every problem in it
    """

    def read_key(name: str) -> str:
        file = path.parent / pathlib.Path(name).expanduser()
        try:
            return file.read_bytes().decode("ascii")
        except UnicodeDecodeError as error:
            raise ValueError("%s is a binary file" % file) from error
        except OSError as error:
            raise ValueError("%s: %s" % (file, error.strerror)) from error

    return load(yaml_file.read(path), str(path), read_key)


def lock_path(bundle: pathlib.Path, platform: str) -> pathlib.Path:
    return bundle.with_name("%s.%s.lock.json" % (bundle.stem, platform))


def read_lock(path: pathlib.Path, bundle: PlatformBundle) -> t.Tuple[t.Optional[Lock], t.List[Problem]]:
    """The lock of one platform; None without a problem when there is no file."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None, []
    except OSError as error:
        return None, [Problem(str(path), MISSING, "cannot be read: %s" % error.strerror, "Check its permissions")]
    try:
        lock = json.loads(raw)
    except ValueError as error:
        return None, [Problem(str(path), MISSING, "is not JSON: %s" % error, locks.RELOCK)]
    problems = locks.problems(lock, bundle, str(path))
    return (None if problems else lock), problems


def write_lock(path: pathlib.Path, lock: Lock) -> bool:
    """Write a lock atomically, in a form that reads well in a diff; whether that changed the file."""
    text = json.dumps(lock, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    try:
        if path.read_text(encoding="utf-8") == text:
            return False
    except FileNotFoundError:
        pass
    whole_file.write(path, text.encode("utf-8"))
    return True
