# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container probe: a fresh container with all GPUs, asked for what a workload needs, and removed again."""

from __future__ import annotations

import secrets
import time
import typing as t

from ..model import ContainerLook, DeviceNode, PciDevice, Reading
from ..parse import container as container_text
from . import children
from .budget import Budget
from .children import cuda as cuda_child
from .container_script import SCRIPT
from .docker import DOCKER, pinned
from .host import Host

INJECTIONS: t.Dict[str, t.Tuple[str, ...]] = {
    "runtime": (
        "--runtime",
        "nvidia",
        "--env",
        "NVIDIA_VISIBLE_DEVICES=all",
        "--env",
        "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
    ),
    # runc by name: where nvidia is the default runtime, it would inject a second time.
    "cdi": ("--runtime", "runc", "--device", "nvidia.com/gpu=all"),
}

#: The runtime way where NVIDIA_VISIBLE_DEVICES counts for nothing in a container without privileges
#: (toolkit_multi_tenant): the request is then a mount, which no image can make.
RUNTIME_BY_MOUNT = (
    "--runtime",
    "nvidia",
    "--volume",
    "/dev/null:/var/run/nvidia-container-devices/all",
    "--env",
    "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
)

PROBE_SECONDS = 40.0

#: Kept from the probe's time for the removal of a container that hangs: kill, remove and see that it is gone.
CLEANUP_SECONDS = 8.0
_STEP_SECONDS = 1.5


def would_create(nodes: Reading[t.Tuple[DeviceNode, ...]], pci: Reading[t.Tuple[PciDevice, ...]]) -> t.Optional[str]:
    """Why no container may be started: the toolkit, which runs as root, would create nodes that are missing."""
    if nodes.value is None or pci.value is None:
        return "device nodes and GPUs are not known"
    there = {node.path for node in nodes.value}
    missing = [path for path in ("/dev/nvidiactl", "/dev/nvidia-uvm") if path not in there]
    of_gpus = [path for path in there if path[len("/dev/nvidia") :].isdigit()]
    driven = [device for device in pci.value if device.is_gpu and device.driver == "nvidia"]
    if not missing and len(of_gpus) < len(driven):
        missing = ["%d of %d GPU nodes" % (len(driven) - len(of_gpus), len(driven))]
    if not missing:
        return None
    return "%s: missing, and the container toolkit would create what is missing" % ", ".join(missing)


def container(
    host: Budget, image: t.Mapping[str, t.Any], injection: str, by_mount: bool = False
) -> Reading[ContainerLook]:
    """:arg by_mount: ask the nvidia runtime for GPUs by a mount, and not by a variable"""
    if injection not in INJECTIONS:
        known = ", ".join(sorted(INJECTIONS))
        return Reading.unknown("no injection %r is known; golden_container_injections takes %s" % (injection, known))
    name = "goldennode-probe-%s" % secrets.token_hex(6)
    # No log: the output comes to us, and a log server of the site's shall neither get it nor be needed for it.
    run = [*DOCKER, "run", "--rm", "--pull=never", "--name", name, "--network", "none", "--log-driver", "none"]
    run += ["--entrypoint", "sh"]
    asked = RUNTIME_BY_MOUNT if by_mount and injection == "runtime" else INJECTIONS[injection]
    run += [*asked, pinned(image), "-c", SCRIPT, "goldennode", children.source(cuda_child)]
    run += [str(word) for word in image.get("cuda_command") or ()]
    command = host.run(run, min(PROBE_SECONDS, host.left() - CLEANUP_SECONDS), where="container")
    stopped = ""
    if command.timed_out:
        stopped = "%s; %s" % (command.error, remove(host, name))
    elif command.missing:
        return Reading.unknown("docker is not installed")
    elif command.error is not None:
        return Reading.unknown(command.error)
    return container_text.parse(command.stdout, command.stderr, command.rc, injection, host.machine(), stopped)


def remove(host: Host, name: str) -> str:
    """Remove a container whose client was killed. Returns what became of it, in words.

    While its start hangs in a hook of the runtime, the engine holds the container; it lets go a moment after the client
    has gone. So more than one try may be needed.
    """
    end = time.monotonic() + CLEANUP_SECONDS - 2 * _STEP_SECONDS
    host.run([*DOCKER, "kill", name], _STEP_SECONDS)
    while True:
        host.run([*DOCKER, "rm", "--force", name], _STEP_SECONDS)
        left = host.run([*DOCKER, "ps", "--all", "--quiet", "--filter", "name=^/?%s$" % name], _STEP_SECONDS)
        if left.rc == 0 and not left.stdout.strip():
            return "its container is removed"
        if time.monotonic() > end:
            return "the engine has not let go of its container yet; docker rm --force %s removes it" % name
        time.sleep(0.2)
