# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Debian host in a container, under this machine's kernel."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import tarfile
import typing as t

from simnodes import key, nodes
from simnodes.shell import docker, run

from .host import Host

LABEL = "org.goldennode.real"
NETWORK = "goldennode-real"
BOOT_SECONDS = 90


@contextlib.contextmanager
def node(name: str, image: str) -> t.Iterator[Host]:
    """A fresh one, removed at the end. This process is in its name: two runs do not meet."""
    container = "goldennode-real-%s-%d" % (name, os.getpid())
    _remove_orphans()
    nodes.ensure_network(NETWORK)
    docker(
        "create", "--name", container, "--hostname", "real-" + name, "--network", NETWORK, "--label", LABEL + "=node",
        "--publish", "127.0.0.1::22", *nodes.RUN_OPTIONS, image,
    )  # fmt: skip
    try:
        run("docker", "cp", "-", container + ":/root/.ssh", binary_input=_authorized_keys())
        docker("start", container)
        host = Host(container, _port(container))
        host.wait(BOOT_SECONDS)
        yield host
    finally:
        docker("rm", "--force", "--volumes", container)
        docker("network", "rm", NETWORK, check=False)  # refused while another run uses it


def _remove_orphans() -> None:
    """Nodes of runs that were killed: their process is gone."""
    for name in docker("ps", "--all", "--filter", "label=%s=node" % LABEL, "--format", "{{.Names}}").split():
        if not pathlib.Path("/proc", name.rpartition("-")[2]).exists():
            docker("rm", "--force", "--volumes", name)


def _authorized_keys() -> bytes:
    stream, text = io.BytesIO(), key.ensure().encode()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        entry = tarfile.TarInfo("authorized_keys")
        entry.mode, entry.size = 0o600, len(text)
        tar.addfile(entry, io.BytesIO(text))
    return stream.getvalue()


def _port(container: str) -> int:
    found = json.loads(docker("container", "inspect", container))[0]
    return int(found["NetworkSettings"]["Ports"]["22/tcp"][0]["HostPort"])
