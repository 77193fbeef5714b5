# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A simulated machine below a directory that SIMGPU_ROOT names, for the tests of the fakes."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

TESTBED = Path(__file__).resolve().parents[1]
FAKES = TESTBED / "fakes"
PROFILES = TESTBED / "profiles"
CACHE = TESTBED.parents[1] / ".testbed" / "cache"
SMI_VERSION = "550.163.01"
DRIVER = "580.159.03"
NOBODY = 65534
PR_SET_NO_NEW_PRIVS = 38

# Stands between a fake and open(): what the device cgroup does to a container, without a container.
CGROUP_SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int open(const char *path, int flags, unsigned mode)
{
    const char *denied = getenv("DENIED_NODE"), *name = strrchr(path, '/');
    int (*real_open)(const char *, int, unsigned) = (int (*)(const char *, int, unsigned))dlsym(RTLD_NEXT, "open");

    if (denied && name && strcmp(name + 1, denied) == 0) {
        errno = EPERM;
        return -1;
    }
    return real_open(path, flags, mode);
}
"""


class Machine:
    """One simulated machine: the state files, its /dev and its driver libraries."""

    def __init__(self, root: Path, build: Path, smi: Path) -> None:
        self.root = root
        self.build = build
        self.smi_program = smi
        self.libraries = root / "lib"
        self.faults = root / "run/simgpu/faults"
        self.module = root / "run/simgpu/proc/driver/nvidia"
        for directory in (root / "etc/simgpu", root / "dev", root / "usr/bin", root / "sbin", self.libraries):
            directory.mkdir(parents=True)
        self.faults.mkdir(parents=True)
        self.module.mkdir(parents=True)
        self.write("run/simgpu/devices", "195 nvidia\n511 nvidia-uvm\n237 nvidia-caps\n")
        self.set_params()
        self.load_module(DRIVER)
        self.install_libraries(DRIVER)

    def write(self, path: str, text: str) -> None:
        (self.root / path).write_text(text, encoding="utf-8")

    def use_profile(self, name: str) -> Machine:
        """Puts in the hardware of a profile, all of it bound to the driver."""
        text = subprocess.run(
            [sys.executable, PROFILES / "expand.py", PROFILES / f"{name}.conf", "node1"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        self.write("etc/simgpu/profile", text)
        self.bind(self.pci_addresses())
        return self

    def gpu_values(self, key: str) -> list[str]:
        lines = (self.root / "etc/simgpu/profile").read_text(encoding="utf-8").splitlines()
        return [line.split(f" {key}=", 1)[1].split()[0] for line in lines if line.startswith("gpu ")]

    def pci_addresses(self) -> list[str]:
        return self.gpu_values("pci")

    def uuids(self) -> list[str]:
        return self.gpu_values("uuid")

    def bind(self, addresses: list[str]) -> None:
        self.write("run/simgpu/gpus", "".join(f"{address}\n" for address in addresses))

    def load_module(self, version: str, flavour: str = "Open Kernel Module for x86_64") -> None:
        banner = f"NVRM version: NVIDIA UNIX {flavour}  {version}  Release Build  (builder@host)  Tue May 12 2026\n"
        (self.module / "version").write_text(banner + "GCC version:  gcc version 14.2.0\n", encoding="utf-8")

    def unload_module(self) -> None:
        (self.module / "version").unlink()

    def set_params(self, mode: int = 0o666, gid: int = 0, modify: int = 1) -> None:
        text = f"ModifyDeviceFiles: {modify}\nDeviceFileUID: 0\nDeviceFileGID: {gid}\nDeviceFileMode: {mode}\n"
        (self.module / "params").write_text("ResmanDebugLevel: 4294967295\n" + text, encoding="utf-8")

    def install_libraries(self, version: str) -> None:
        shutil.rmtree(self.libraries)
        self.libraries.mkdir()
        for name in ("libnvidia-ml", "libcuda"):
            shutil.copy(self.build / f"{name}.so", self.libraries / f"{name}.so.{version}")
            (self.libraries / f"{name}.so.1").symlink_to(f"{name}.so.{version}")

    def fault(self, name: str, content: str = "") -> None:
        (self.faults / name).write_text(content, encoding="utf-8")

    def environment(self) -> dict[str, str]:
        own = {"SIMGPU_ROOT": str(self.root), "LD_LIBRARY_PATH": str(self.libraries)}
        return {"PATH": os.environ["PATH"]} | own

    def run(self, *argv: str | Path, user: bool = False, denied: str = "") -> subprocess.CompletedProcess[str]:
        """Runs a program, as root or as nobody under no_new_privs; the device cgroup denies it one node."""
        environment = self.environment()
        if denied:
            environment |= {"LD_PRELOAD": str(self.build / "shim.so"), "DENIED_NODE": denied}
        return subprocess.run(
            argv,
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            env=environment,
            preexec_fn=become_nobody if user else None,
        )

    def smi(self, *arguments: str, user: bool = False, denied: str = "") -> subprocess.CompletedProcess[str]:
        return self.run(self.smi_program, *arguments, user=user, denied=denied)

    def ask(self, script: str, user: bool = False, denied: str = "") -> dict[str, object]:
        # A user may not be allowed to read where this Python lies; the system's own is enough to ask CUDA.
        python = "/usr/bin/python3" if user else sys.executable
        done = self.run(python, "-c", script, user=user, denied=denied)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert isinstance(answer, dict)
        return answer

    def node(self, name: str) -> tuple[int, int, int, int]:
        """Mode, group, major and minor of a device node."""
        status = (self.root / "dev" / name).stat()
        assert stat.S_ISCHR(status.st_mode), f"{name} is no character device"
        return stat.S_IMODE(status.st_mode), status.st_gid, os.major(status.st_rdev), os.minor(status.st_rdev)

    def nodes(self) -> list[str]:
        return sorted(path.name for path in (self.root / "dev").iterdir())


def become_nobody() -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    if ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError("no_new_privs cannot be set")


def download_smi() -> Path:
    """The package nvidia-smi of Debian trixie's non-free, fetched once through an apt that knows nothing else."""
    CACHE.mkdir(parents=True, exist_ok=True)
    found = sorted(CACHE.glob(f"nvidia-smi_{SMI_VERSION}-*_amd64.deb"))
    if found:
        return found[-1]
    keyrings = [Path(f"/usr/share/keyrings/debian-archive-keyring.{kind}") for kind in ("gpg", "pgp")]
    keyring = next((path for path in keyrings if path.exists()), None)
    assert keyring, "Debian's keys are missing: install the package debian-archive-keyring"
    with tempfile.TemporaryDirectory() as directory:
        apt = Path(directory)
        (apt / "lists/partial").mkdir(parents=True)
        (apt / "cache/archives/partial").mkdir(parents=True)
        (apt / "status").touch()
        (apt / "debian.sources").write_text(
            "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: trixie\nComponents: non-free\n"
            f"Architectures: amd64\nSigned-By: {keyring}\n",
            encoding="utf-8",
        )
        (apt / "apt.conf").write_text(
            f'Dir::State "{apt}";\nDir::State::status "{apt}/status";\nDir::Cache "{apt}/cache";\n'
            f'Dir::Etc::sourcelist "{apt}/debian.sources";\nDir::Etc::sourceparts "/dev/null";\n'
            'APT::Architecture "amd64";\nAPT::Sandbox::User "root";\n',
            encoding="utf-8",
        )
        environment = os.environ | {"APT_CONFIG": str(apt / "apt.conf")}
        for command in (["update", "--error-on=any"], ["download", f"nvidia-smi={SMI_VERSION}-*"]):
            apt_get = ["apt-get", "-q", *command]
            done = subprocess.run(apt_get, check=False, capture_output=True, text=True, env=environment, cwd=CACHE)
            assert done.returncode == 0, f"nvidia-smi {SMI_VERSION} cannot be had from Debian: {done.stderr}"
    return sorted(CACHE.glob(f"nvidia-smi_{SMI_VERSION}-*_amd64.deb"))[-1]
