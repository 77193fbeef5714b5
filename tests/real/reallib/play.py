# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bundles for real packages, and runs of playbooks on one host."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time
import typing as t

import yaml
from simnodes import key

from . import ROOT, mirror
from .host import Host

PLAYBOOKS = ROOT / "tests" / "real" / "playbooks"
PLATFORM = "debian-13-x86_64"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
DRIVER = "550.163.01"
CONTRIB = ("contrib",)
DRIVER_COMPONENTS = ("non-free", "non-free-firmware")


@dataclasses.dataclass(frozen=True)
class Run:
    rc: int
    output: str
    changed: int


def bundle(name: str, driver_suite: str, toolkit_key: str) -> t.Dict[str, t.Any]:
    """A bundle of Debian's own driver, from the suite that has the wanted revision of its packages.

    What is not in question here is as small as a lock lets it be: no toolkit is in Debian, and no image is ever pulled.
    """

    def source(name: str, suite: str, components: t.Sequence[str]) -> t.Dict[str, t.Any]:
        return {
            "name": name, "uris": [mirror.of_this_machine()], "suites": [suite], "components": list(components),
            "keyring": KEYRING,
        }  # fmt: skip

    return {
        "bundle": name,
        "platforms": {
            PLATFORM: {
                "sources": [
                    source("debian-contrib", "trixie", CONTRIB),
                    source("debian-non-free", driver_suite, DRIVER_COMPONENTS),
                    {"name": "toolkit", "uris": ["file:/srv/toolkit"], "suites": ["./"], "key": toolkit_key},
                ]
            }
        },
        "kernel": {"metapackage": "linux-image-amd64"},
        "driver": {"version": DRIVER, "flavour": "proprietary", "build": "dkms", "source": "distro"},
        "toolkit": {"version": "1.20.0"},
        "docker": {"version": "26.1.5", "source": "distro"},
        "image": {
            "reference": "registry.invalid/cuda:12.4.1-base", "digest": "sha256:" + "0" * 64, "cuda_check": "optional",
        },
        "python": {"nvidia_ml_py": "13.615.71"},
    }  # fmt: skip


class Project:
    """An inventory of one host beside its bundles, as a user has them."""

    def __init__(self, directory: pathlib.Path, host: Host) -> None:
        self.directory = directory
        self.host = host

    def write_bundle(self, data: t.Mapping[str, t.Any]) -> None:
        path = self.directory / ("%s.yml" % data["bundle"])
        path.write_text(yaml.safe_dump(dict(data), sort_keys=False))

    def lock(self, bundle: str) -> t.Dict[str, t.Any]:
        path = self.directory / ("%s.%s.lock.json" % (bundle, PLATFORM))
        return t.cast("t.Dict[str, t.Any]", json.loads(path.read_text()))

    def run(self, playbook: pathlib.Path, bundle: str, *options: str, timeout: float = 900, **variables: t.Any) -> Run:
        """Run a playbook. Its words are printed when it ends, and stand in run.log of the directory meanwhile."""
        self._write_inventory(bundle, variables)
        ansible = pathlib.Path(sys.executable).with_name("ansible-playbook")
        argv = [str(ansible), "-i", str(self.directory / "inventory.yml"), str(playbook), *options]
        environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"}
        started = time.monotonic()
        log = self.directory / "run.log"
        try:
            with log.open("w") as words:
                done = subprocess.run(
                    argv, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=words,
                    stderr=subprocess.STDOUT, timeout=timeout,
                )  # fmt: skip
        finally:
            output = log.read_text()
            print(output)
        print("%s with %s %s: %.0f s" % (playbook.name, bundle, " ".join(options), time.monotonic() - started))
        return Run(done.returncode, output, _changed(output, self.host.name))

    def look(self, bundle: str) -> t.Dict[str, t.Any]:
        """What node_info and node_verify return."""
        run = self.run(PLAYBOOKS / "look.yml", bundle)
        assert run.rc == 0, "the look failed"
        return t.cast("t.Dict[str, t.Any]", json.loads((self.directory / "look.json").read_text()))

    def _write_inventory(self, bundle: str, variables: t.Mapping[str, t.Any]) -> None:
        host = {
            "ansible_host": "127.0.0.1",
            "ansible_port": self.host.port,
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(key.PRIVATE),
            "ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
            "ansible_python_interpreter": "/usr/bin/python3",
            "ansible_timeout": 60,
            "bundle_file": str(self.directory / ("%s.yml" % bundle)),
            "golden_expected_gpus": 1,
            **variables,
        }
        inventory = {"gpu_nodes": {"hosts": {self.host.name: host}}}
        (self.directory / "inventory.yml").write_text(yaml.safe_dump(inventory))


def _changed(output: str, host: str) -> int:
    """The host's ``changed`` in PLAY RECAP; -1 when there is none."""
    for line in output.splitlines():
        name, colon, counters = line.partition(":")
        if colon and name.strip() == host and "changed=" in counters:
            return int(counters.split("changed=")[1].split()[0])
    return -1
