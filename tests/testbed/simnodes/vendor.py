# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The vendor: repositories and registry, built and served by vendor/build.py, known to the nodes as vendor.testbed."""

from __future__ import annotations

import subprocess
import sys

from .shell import TESTBED, TestbedError, docker

CONTAINER = "goldennode-vendor"
PROGRAM = TESTBED / "vendor" / "build.py"


def start(network: str) -> None:
    """Its progress goes to stderr: the first build takes minutes."""
    done = subprocess.run([sys.executable, str(PROGRAM), "--start", network], stdout=sys.stderr, check=False)
    if done.returncode != 0:
        raise TestbedError("the vendor could not be started; its own words are above")


def stop() -> None:
    if docker("ps", "--all", "--quiet", "--filter", "name=^%s$" % CONTAINER):
        docker("rm", "--force", CONTAINER)
