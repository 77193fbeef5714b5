# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules that come in a zip are compiled once.

Ansible hands a module to a node as a zip of sources, and the agent is one. Python's zipimport compiles a source when it
looks for the module, to learn the name of its file, and once more to run it; nothing is kept on the node. With as many
modules as one look has, that is a good part of its CPU. What is imported after ``install`` is compiled once.
"""

from __future__ import annotations

import sys
import typing as t
import zipimport


class Once(zipimport.zipimporter):
    """Tells a module's file by its name. Our zips hold sources only."""

    def get_filename(self, fullname: str) -> str:
        inside = self.prefix + fullname.rpartition(".")[2]
        # It raises ZipImportError where there is no such module, as it must.
        return "%s/%s%s" % (self.archive, inside, "/__init__.py" if self.is_package(fullname) else ".py")


def install(loader: t.Any = None) -> bool:
    """From now on compile once what comes from the zip of ``loader``, which is ours if none is given.

    Says whether that is a zip at all: where the code lies in a directory nothing is done.
    """
    loader = loader or (__spec__.loader if __spec__ else None)
    if not isinstance(loader, zipimport.zipimporter):
        return False
    archive = loader.archive

    def is_ours(path: str) -> bool:
        return path == archive or path.startswith(archive + "/")

    def once(path: str) -> Once:
        if not is_ours(path):
            raise ImportError("%s is not in %s" % (path, archive))
        return Once(path)

    sys.path_hooks.insert(0, once)
    for path in filter(is_ours, tuple(sys.path_importer_cache)):
        del sys.path_importer_cache[path]
    return True
