# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are there whole or not at all, whoever writes them at the same time. Controller only."""

from __future__ import annotations

import errno
import os
import pathlib
import tempfile


def write(path: pathlib.Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file. The name of its forerunner is nobody's to guess, so nobody can lay a link.

    :arg mode: who may read it; everybody, where nothing is said
    :raises OSError: when the folder cannot be written to; then the file is as it was
    """
    # What takes the place of a file would take that of /dev/null or /dev/stdout too, and root is let do it.
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "it is no regular file")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".%s." % path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
