# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the real tests have passed on what they cover as it is now.

They take too long for every change. A run that passes writes a digest of all that it covers to tests/real/proven.txt,
which is committed; where the digest is another one, they are due.
"""

from __future__ import annotations

import hashlib
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = "tests/real/proven.txt"

#: What a real run goes through and nothing else proves on real packages or a real boot.
COVERED = (
    "roles/bundle/**/*.yml",
    "roles/driver/tasks/install.yml",
    "roles/driver/vars/*.yml",
    "roles/golden/tasks/reboot.yml",
    "roles/kernel/**/*.yml",
    "roles/packages/**/*.yml",
    "playbooks/lock.yml",
    "plugins/filter/*.py",
    "plugins/modules/apt_sources.py",
    "plugins/modules/boot_default.py",
    "plugins/modules/initramfs.py",
    "plugins/modules/lock_resolve.py",
    "plugins/modules/package_set.py",
    "plugins/module_utils/apt_*.py",
    "plugins/module_utils/boot_default.py",
    "plugins/module_utils/initramfs.py",
    "plugins/module_utils/kept_packages.py",
    "plugins/module_utils/node_sources.py",
    "plugins/module_utils/package*.py",
    "plugins/module_utils/plan.py",
    "plugins/module_utils/system.py",
    "plugins/module_utils/parse/apt_*.py",
    "plugins/module_utils/parse/dkms*.py",
    "plugins/module_utils/parse/dpkg.py",
    "plugins/module_utils/parse/grub.py",
    "plugins/module_utils/parse/initramfs.py",
    "plugins/module_utils/parse/kept_packages.py",
    "plugins/module_utils/probe/boot_default.py",
    "plugins/module_utils/probe/initramfs.py",
    "plugins/module_utils/probe/kernel.py",
    "plugins/module_utils/probe/packages.py",
    "plugins/module_utils/probe/sources.py",
    "plugins/module_utils/probe/children/initramfs.py",
    "tests/real/**/*.py",
    "tests/real/**/*.yml",
    "tests/real/node/*",
)


def files(root: Path = ROOT) -> t.List[Path]:
    """Every covered file.

    :raises RuntimeError: when a pattern finds none: it names something that has moved
    """
    found = set()
    for pattern in COVERED:
        matching = [path for path in root.glob(pattern) if path.is_file()]
        if not matching:
            raise RuntimeError("scripts/proven.py covers %s, and there is no such file" % pattern)
        found.update(matching)
    return sorted(found)


def digest(root: Path = ROOT) -> str:
    total = hashlib.sha256()
    for path in files(root):
        total.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return "sha256:" + total.hexdigest()


def is_proven(root: Path = ROOT) -> bool:
    record = root / RECORD
    return record.exists() and digest(root) in record.read_text().split()


def record(words: str, root: Path = ROOT) -> None:
    """:arg words: what is to be remembered of the run that passed, in one line"""
    text = "# Written by a real run that passed (make test-real), for the files in scripts/proven.py.\n# %s\n%s\n"
    (root / RECORD).write_text(text % (words, digest(root)))
