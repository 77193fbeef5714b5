# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The three ways in which the README and the docs start site.yml."""

from __future__ import annotations

import pathlib
import subprocess
import sys

from poollib import ROOT, Pool

ANSIBLE = str(pathlib.Path(sys.executable).with_name("ansible-playbook"))


WAYS = [("playbooks/site.yml", "."), ("site.yml", "playbooks"), ("goldennode.gpu.site", ".")]


def test_site_starts_each_way(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    for playbook, folder in WAYS:
        done = subprocess.run(
            [ANSIBLE, playbook, "-i", str(golden_a10.inventory), "--tags", "verify"],
            cwd=ROOT / folder, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert node.name in done.stdout
        assert "1 of 1 nodes are golden" in done.stdout
