# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container probe: a fresh container with GPUs, asked for what a workload needs, and removed again.

It runs as a hardened workload would, see ``HARDENED``.
"""

from __future__ import annotations

import secrets
import time
import typing as t

from .. import toolkit_wanted
from ..model import ContainerLook, Desired, DeviceNode, PciDevice, Reading
from ..parse import container as container_text
from . import children
from .budget import Budget
from .children import cuda as cuda_child
from .container_script import SCRIPT
from .docker import DOCKER, pinned
from .host import UNPRIVILEGED, Host
from .running import PROBES

#: By which words a way of injection is asked for a device: ``all``, an index as NVML counts, or a UUID.
INJECTIONS: t.Dict[str, t.Tuple[str, ...]] = {
    "runtime": (
        "--runtime",
        "nvidia",
        "--env",
        "NVIDIA_VISIBLE_DEVICES={device}",
        "--env",
        "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
    ),
    # runc by name: where nvidia is the default runtime, it would inject a second time.
    "cdi": ("--runtime", "runc", "--device", "nvidia.com/gpu={device}"),
}

#: The runtime way where NVIDIA_VISIBLE_DEVICES counts for nothing in a container without privileges
#: (toolkit_multi_tenant): the request is then a mount, which no image can make.
RUNTIME_BY_MOUNT = (
    "--runtime",
    "nvidia",
    "--volume",
    "/dev/null:/var/run/nvidia-container-devices/{device}",
    "--env",
    "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
)

#: A workload of somebody who takes care has no more rights than this. What a GPU needs of the engine is done by hooks
#: before the root becomes read-only and rights are dropped, so nothing of it stands in the way of one. As nobody, and
#: not as root without capabilities: root owns the device nodes, and would open them whatever their mode. /tmp and HOME
#: for what the bundle's own command may write; / since nobody need not be able to enter the image's own directory.
HARDENED = (
    *("--network", "none", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"),
    *("--security-opt", "no-new-privileges", "--pids-limit", "256"),
    *("--user", "%d:%d" % (UNPRIVILEGED, UNPRIVILEGED), "--workdir", "/", "--env", "HOME=/tmp"),
    # No log: the output comes to us, and a log server of the site's shall neither get it nor be needed for it.
    *("--log-driver", "none"),
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


class Manner(t.NamedTuple):
    """How a container of this node gets at its GPUs: the groups that open the nodes, and whether the nvidia runtime
    takes the request from a mount, and not from a variable.
    """

    groups: t.Tuple[int, ...] = ()
    by_mount: bool = False


#: Where everybody may open the nodes, and a variable counts.
PLAIN = Manner()


def manner(desired: t.Optional[Desired], nodes: Reading[t.Tuple[DeviceNode, ...]]) -> Manner:
    """No group where everybody may open the nodes, and never root's."""
    closed = {node.gid for node in nodes.value or () if node.of_gpus and not node.open_to_all}
    return Manner(tuple(sorted(closed - {0})), bool(desired and desired.toolkit.get(toolkit_wanted.MOUNTS)))


def hardened(injection: str, how: Manner, device: str = "all") -> t.List[str]:
    """The words by which a hardened container asks for ``device``."""
    groups = [word for group in how.groups for word in ("--group-add", str(group))]
    asked = RUNTIME_BY_MOUNT if how.by_mount and injection == "runtime" else INJECTIONS[injection]
    return [*HARDENED, *groups, *(word.replace("{device}", device) for word in asked)]


def container(
    host: Budget, image: t.Mapping[str, t.Any], injection: str, how: Manner = PLAIN, device: str = "all"
) -> Reading[ContainerLook]:
    """What a container sees that asks for ``device`` by ``injection``."""
    if injection not in INJECTIONS:
        known = ", ".join(sorted(INJECTIONS))
        return Reading.unknown("no injection %r is known; golden_container_injections takes %s" % (injection, known))
    name = PROBES + secrets.token_hex(6)
    run = [*DOCKER, "run", "--rm", "--pull=never", "--name", name, *hardened(injection, how, device)]
    run += ["--entrypoint", "sh", pinned(image), "-c", SCRIPT, "goldennode", children.source(cuda_child)]
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
