# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine whose files lie below another root, so that code which changes a node can be tried on real files."""

from __future__ import annotations

from ansible_collections.goldennode.gpu.plugins.module_utils.system import System


class Rooted(System):
    """``root`` is set by the test's own class, as text or as a path."""

    def real(self, path):
        return str(self.root) + path

    def read_bytes(self, path, limit=1 << 22):
        return super().read_bytes(self.real(path), limit)

    def stat(self, path):
        return super().stat(self.real(path))

    def listdir(self, path):
        return super().listdir(self.real(path))

    def file_state(self, path):
        return super().file_state(self.real(path))

    def write(self, path, content, like=None):
        super().write(self.real(path), content, like)
