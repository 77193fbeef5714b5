# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that run apart from us, because they may hang or crash, or stand inside a container.

Each is a module of its own that imports nothing of this collection: its *text* is handed to ``python3 -c``, as a child
that runs as nobody may not be able to read our files. Each prints what the parser of its name reads.
"""

from __future__ import annotations

import importlib.util
import types
import typing as t


def source(module: types.ModuleType) -> str:
    """The text of a child; also when this package is imported from a zip.

    The loader is asked, and not ``inspect``: that goes through linecache, which two threads of one look spoil for each
    other ("could not get source code"). It is asked for the file: for the source Ansible's own loader answers in bytes.
    """
    spec: t.Any = module.__spec__
    return importlib.util.decode_source(spec.loader.get_data(module.__file__))
