# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run would change, told from evidence and lock alone.

Check mode cannot ask apt for versions whose repository is not there yet.
"""

from __future__ import annotations

import typing as t

Packages = t.Mapping[str, t.Mapping[str, t.Any]]
Files = t.Mapping[str, t.Mapping[str, t.Any]]


def package_changes(present: t.Optional[Packages], wanted: t.Mapping[str, str]) -> t.List[str]:
    """One sentence for each package that is not as the lock wants it.

    :arg present: installed packages by name, each a plain ``model.Package``; None where they could not be read
    :arg wanted: full version by name
    """
    if present is None:
        return ["%s: wanted is %s, held; what is installed is not known" % item for item in sorted(wanted.items())]
    changes = []
    for name, version in sorted(wanted.items()):
        package = present.get(name)
        if package is None:
            changes.append("%s: install %s and hold it" % (name, version))
        elif package["version"] != version:
            changes.append("%s: %s -> %s, and hold it" % (name, package["version"], version))
        elif package["status"] != "installed":
            changes.append("%s: is %s; finish to install %s, and hold it" % (name, package["status"], version))
        elif not package["held"]:
            changes.append("%s: hold %s" % (name, version))
    return changes


def file_changes(there: t.Optional[Files], wanted: Files) -> t.List[str]:
    """Paths of the managed files that are not on the node with the wanted content, mode and owner, in their order.

    :arg there: files by path, each a plain ``model.FileState``; None where they could not be read
    :arg wanted: managed files by path, each a plain ``model.ManagedFile``
    """
    present = there or {}
    return [path for path, file in wanted.items() if not _same(present.get(path), file)]


def _same(there: t.Optional[t.Mapping[str, t.Any]], wanted: t.Mapping[str, t.Any]) -> bool:
    if there is None:
        return False
    found = (there["sha256"], there["mode"], there["uid"], there["gid"])
    return found == (wanted["sha256"], wanted["mode"], 0, 0)
