# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the tests of the fakes are given. Each gets a machine of its own; making device nodes takes root."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakemachine import CGROUP_SHIM, FAKES, Machine, download_smi


@pytest.fixture(scope="session")
def build() -> Iterator[Path]:
    """The fakes, built; in a place that every user can read and where device nodes work (/tmp is often nodev)."""
    if os.geteuid() != 0:
        pytest.fail("the fakes make device nodes: run their tests as root, on the machine or in a container")
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="goldennode-fakes-") as directory:
        out = Path(directory)
        out.chmod(0o755)
        done = subprocess.run(["make", "-C", FAKES, f"OUT={out}"], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        shim = out / "shim.c"
        shim.write_text(CGROUP_SHIM, encoding="utf-8")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", out / "shim.so", shim, "-ldl"], check=True)
        yield out


@pytest.fixture(scope="session")
def smi(build: Path) -> Path:
    """The unmodified nvidia-smi."""
    subprocess.run(["dpkg-deb", "-x", download_smi(), build / "smi"], check=True)
    return build / "smi/usr/lib/nvidia/current/nvidia-smi"


@pytest.fixture
def bare(build: Path, smi: Path) -> Iterator[Callable[[str], Machine]]:
    """Makes the machine of a test from the name of a profile."""
    with tempfile.TemporaryDirectory(dir=build, prefix="machine-") as directory:
        root = Path(directory)
        root.chmod(0o755)
        yield lambda profile: Machine(root, build, smi).use_profile(profile)


@pytest.fixture
def a10(bare: Callable[[str], Machine]) -> Machine:
    return bare("a10")


@pytest.fixture
def h100x8(bare: Callable[[str], Machine]) -> Machine:
    return bare("h100x8")
