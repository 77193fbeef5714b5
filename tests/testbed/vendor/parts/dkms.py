# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA's repository for Debian 12 has beside the driver: DKMS, newer than Debian's own; here Debian 13's."""

from __future__ import annotations

import shutil
from pathlib import Path

from . import repository
from .tools import debian_packages


def make(target: Path, cache: Path) -> None:
    (target / "pool").mkdir()
    for deb in debian_packages(cache, "dkms").values():
        shutil.copy(deb, target / "pool")
    repository.index(target, "NVIDIA")
