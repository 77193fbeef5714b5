# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which release this is; the package's build replaces this file."""

from __future__ import annotations

VERSION = "0.0.0"
#: Driver libraries that this release forgets to give to containers.
FORGOTTEN: frozenset[str] = frozenset()
