# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes sure that a Docker Engine answers: the one that is there, else Debian's own, started here."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import typing as t
from pathlib import Path

from .shell import STATE, TestbedError, run, say

#: Seconds until a dockerd that was just started must answer.
START_LIMIT = 60


def ensure() -> str:
    """Version of the engine that answers; installs and starts one when there is none and this is root."""
    version = answering()
    if version:
        return version
    if os.geteuid() != 0:
        raise TestbedError(
            "no Docker Engine answers `docker info` for this user: start one and join the group `docker`, "
            "or install it as root: apt-get install docker.io iptables"
        )
    _install_missing()
    _start()
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline:
        version = answering()
        if version:
            return version
        time.sleep(0.5)
    raise TestbedError("dockerd was started but does not answer after %d s; see %s" % (START_LIMIT, _log_file()))


def answering() -> t.Optional[str]:
    """Server version, or None. The client alone proves nothing: it is often installed without an engine."""
    if shutil.which("docker") is None:
        return None
    done = run("docker", "version", "--format", "{{.Server.Version}}", check=False, timeout=30)
    return done.stdout.strip() or None if done.returncode == 0 else None


def _install_missing() -> None:
    for program, package in (("dockerd", "docker.io"), ("iptables", "iptables")):
        install_program(program, package)
    # A package of its own from trixie on; before that docker.io brings the client.
    install_program("docker", "docker-cli")


def install_program(program: str, package: str) -> None:
    """Install Debian's or Ubuntu's ``package`` when ``program`` is missing and this is root."""
    if shutil.which(program) is not None:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise TestbedError("%s is missing: install it (Debian, Ubuntu: apt-get install %s)" % (program, package))
    say("installing %s" % package)
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    run("apt-get", "update", extra_environment=environment)
    run("apt-get", "install", "--yes", "--no-install-recommends", package, extra_environment=environment)


def _start() -> None:
    if Path("/run/systemd/system").is_dir():
        say("starting docker.service")
        run("systemctl", "start", "docker.service")
        return
    say("starting dockerd by hand (nothing manages services here); log: %s" % _log_file())
    STATE.mkdir(exist_ok=True)
    # A pid file of an engine that died with its machine would refuse the start.
    pid_file = Path("/var/run/docker.pid")
    if pid_file.exists() and not Path("/proc", pid_file.read_text().strip()).exists():
        pid_file.unlink()
    with _log_file().open("ab") as log:
        subprocess.Popen(
            ["nohup", "setsid", "dockerd"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )


def _log_file() -> Path:
    return STATE / "dockerd.log"
