# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node containers: start, stop, reach, reboot. Names are engine-wide: two checkouts on a machine share their nodes."""

from __future__ import annotations

import hashlib
import io
import json
import socket
import tarfile
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import key, volumes
from .pool import DEBIAN, Node
from .shell import TestbedError, docker, locked, run, say
from .volumes import LABEL

PROFILE_LABEL = LABEL + ".profile"
SYSTEM_LABEL = LABEL + ".system"
NETWORK = "goldennode-testbed"
#: Seconds in which a node that was started or rebooted must let people in.
BOOT_LIMIT = 90

#: What a container needs so that systemd, the kernel player and a nested engine work in it. All capabilities but one
#: (machines that are themselves sandboxes do not have it); /proc and /sys unmasked, because the player mounts over
#: them; devices of the NVIDIA majors may be opened, so that the answer is the kernel's and not the cgroup's.
RUN_OPTIONS = (
    "--restart=always",
    "--cap-add=ALL",
    "--cap-drop=SYS_RESOURCE",
    "--security-opt=seccomp=unconfined",
    "--security-opt=apparmor=unconfined",
    "--security-opt=systempaths=unconfined",
    "--cgroupns=private",
    "--tmpfs=/run",
    "--tmpfs=/run/lock",
    "--tmpfs=/tmp:exec",
    "--device-cgroup-rule=c 195:* rmw",
    *("--device-cgroup-rule=c %d:* rmw" % major for major in range(500, 512)),
)


def container(node: str) -> str:
    return "goldennode-" + node


# --- up and down ---------------------------------------------------------------------------------------------------


def up(nodes: t.Sequence[Node], image_name: str, snapshot: t.Optional[str] = None) -> None:
    """Start what is not running, all at once, and wait until every node lets people in."""
    if Path("/proc/driver/nvidia/version").exists():
        raise TestbedError("this machine runs a real NVIDIA driver: the nodes' device files would reach its GPUs")
    public_key = key.ensure()
    with ThreadPoolExecutor(max_workers=len(nodes)) as workers:
        list(workers.map(lambda node: _up_one(node, image_name, public_key, snapshot), nodes))


def _up_one(node: Node, image_name: str, public_key: str, snapshot: t.Optional[str]) -> None:
    started = time.monotonic()
    there = inspect(node.name)
    if there is None:
        create(node, image_name, public_key, snapshot)
        there = inspect(node.name)
        assert there is not None
    _refuse_another(node, there)
    if there["Config"]["Image"] != image_name:
        say("%s: goes on as it is, from %s" % (node.name, there["Config"]["Image"]))
    if not there["State"]["Running"]:
        docker("start", container(node.name))
    wait_for_ssh(node.name)
    say("%s: up after %.1f s, ssh on 127.0.0.1:%d" % (node.name, time.monotonic() - started, port(node.name)))


def _refuse_another(node: Node, there: t.Dict[str, t.Any]) -> None:
    labels = there["Config"]["Labels"]
    for what, is_now, wanted in (
        ("profile", labels.get(PROFILE_LABEL), node.profile),
        ("system", system_of(there), node.system),
    ):
        if is_now != wanted:
            raise TestbedError(
                "%s exists with the %s %s, not %s: run `testbed down %s` first"
                % (node.name, what, is_now, wanted, node.name)
            )


def create(node: Node, image_name: str, public_key: str, snapshot: t.Optional[str] = None) -> None:
    """A stopped node with its hardware profile and its keys in place, and an empty or a restored /var/lib/docker."""
    personality = _personality(node, public_key)
    volumes.create(volumes.of_node(node.name), "node")
    if snapshot is not None:
        volumes.copy(image_name, volumes.of_snapshot(snapshot), volumes.of_node(node.name))
    docker(
        "create", "--name", container(node.name), "--hostname", node.name, "--network", NETWORK,
        "--label", LABEL + "=node", "--label", "%s=%s" % (PROFILE_LABEL, node.profile),
        "--label", "%s=%s" % (SYSTEM_LABEL, node.system),
        "--publish", "127.0.0.1:%d:22" % (node.port or _free_port()),
        "--volume", volumes.of_node(node.name) + ":/var/lib/docker", *RUN_OPTIONS, image_name,
    )  # fmt: skip
    run("docker", "cp", "-", container(node.name) + ":/", binary_input=personality)


def _free_port() -> int:
    """Chosen here and not by the engine, which would choose anew at every boot of the node."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _personality(node: Node, public_key: str) -> bytes:
    """What makes the image this node: a tar of its profile, its machine id and the keys that open it."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:

        def add(path: str, text: str, mode: int = 0o644, owner: int = 0, kind: bytes = tarfile.REGTYPE) -> None:
            entry = tarfile.TarInfo(path)
            entry.mode, entry.uid, entry.gid, entry.type = mode, owner, owner, kind
            entry.size, entry.mtime = len(text.encode()), int(time.time())
            tar.addfile(entry, io.BytesIO(text.encode()))

        add("etc/simgpu", "", 0o755, kind=tarfile.DIRTYPE)
        add("etc/simgpu/profile", node.hardware())
        add("etc/machine-id", hashlib.sha256(node.name.encode()).hexdigest()[:32] + "\n", 0o444)
        for home, owner in (("root", 0), ("home/admin", 1000), ("home/alice", 1001)):
            add(home + "/.ssh", "", 0o700, owner, tarfile.DIRTYPE)
            add(home + "/.ssh/authorized_keys", public_key, 0o600, owner)
    return stream.getvalue()


def down(node_names: t.Sequence[str]) -> None:
    """Remove nodes with all that is theirs; one that is not there is no error."""
    for name in node_names:
        if inspect(name) is not None:
            docker("rm", "--force", "--volumes", container(name))
        volumes.remove(volumes.of_node(name))


def ensure_network(name: str = NETWORK) -> None:
    with locked("network"):
        if network_exists(name):
            return
        # A bridge that lets through more than the machine's own link stalls large downloads.
        mtu = "com.docker.network.driver.mtu=%d" % _link_mtu()
        docker("network", "create", "--label", LABEL + "=network", "--opt", mtu, name)


def network_exists(name: str = NETWORK) -> bool:
    return bool(docker("network", "ls", "--quiet", "--filter", "name=^%s$" % name))


def _link_mtu() -> int:
    """Of the link with the default route."""
    for line in Path("/proc/net/route").read_text().splitlines()[1:]:
        interface, destination = line.split()[:2]
        if destination == "00000000":
            return int(Path("/sys/class/net", interface, "mtu").read_text())
    return 1500


# --- looking -------------------------------------------------------------------------------------------------------


def names() -> t.List[str]:
    """Every node that exists, running or not."""
    listed = docker("ps", "--all", "--filter", "label=%s=node" % LABEL, "--format", "{{.Names}}")
    return sorted(name[len("goldennode-") :] for name in listed.split())


def inspect(node: str) -> t.Optional[t.Dict[str, t.Any]]:
    done = run("docker", "container", "inspect", container(node), check=False)
    if done.returncode != 0:
        return None
    found: t.Dict[str, t.Any] = json.loads(done.stdout)[0]
    return found


def system_of(there: t.Dict[str, t.Any]) -> str:
    """The distribution of a node, from what inspect() has found."""
    return str(there["Config"]["Labels"].get(SYSTEM_LABEL, DEBIAN))


def existing(node: str) -> t.Dict[str, t.Any]:
    found = inspect(node)
    if found is None:
        raise TestbedError("there is no node %s; there are: %s" % (node, ", ".join(names()) or "none"))
    return found


def port(node: str) -> int:
    bindings = existing(node)["NetworkSettings"]["Ports"].get("22/tcp") or []
    if not bindings:
        raise TestbedError("%s is not running" % node)
    return int(bindings[0]["HostPort"])


def execute(node: str, *argv: str, check: bool = True, timeout: t.Optional[float] = None) -> str:
    """Run a command in the node beside its sshd, and give its output."""
    return docker("exec", container(node), *argv, check=check, timeout=timeout)


def boot_id(node: str) -> str:
    return execute(node, "cat", "/proc/sys/kernel/random/boot_id", check=False)


def kernels(node: str) -> t.List[str]:
    """Releases that the node can boot, oldest first."""
    existing(node)
    return execute(node, "simkernel", "kernels").split()


# --- boots ---------------------------------------------------------------------------------------------------------


def reboot(node: str) -> None:
    """``systemctl reboot``, and wait until the node is back from a new boot."""
    # Not the boot id: while systemd goes down it unmounts the player's, and the machine's own shows through.
    before = existing(node)["State"]["StartedAt"]
    execute(node, "systemctl", "reboot", check=False)
    deadline = time.monotonic() + BOOT_LIMIT
    while existing(node)["State"]["StartedAt"] == before:
        if time.monotonic() > deadline:
            raise TestbedError("%s did not go down for a reboot within %d s" % (node, BOOT_LIMIT))
        time.sleep(0.2)
    wait_for_ssh(node)


def power(node: str, state: str) -> None:
    """Take the power away, or give it back; ``off`` lasts until it is given back, whatever the node was doing."""
    existing(node)
    if state == "off":
        docker("kill", container(node), check=False)  # not running: between two boots
        docker("stop", "--time", "0", container(node))  # so that the engine does not start it again
    else:
        docker("start", container(node))
        wait_for_ssh(node)


def boot(node: str, kernel: t.Optional[str], once: bool = False) -> None:
    """Choose the kernel of the next boot, and unless ``once`` of all later ones, and reboot; None: leave it to GRUB."""
    known = kernels(node)
    if kernel is not None and kernel not in known:
        raise TestbedError("%s has no kernel %s; it has: %s" % (node, kernel, ", ".join(known)))
    choice = "%s%s" % (kernel or "", " once" if once else "")
    execute(node, "sh", "-ec", 'echo "$0" > /etc/simgpu/boot-kernel', choice)
    reboot(node)


def enrol(node: str, certificate: t.Optional[str]) -> None:
    """Be the person at the console of the next boot: let in what mokutil asked for, or a certificate of the node."""
    existing(node)
    execute(node, "simkernel", "enrol", *([certificate] if certificate else []))


def wait_for_ssh(node: str) -> None:
    """Until sshd itself speaks: the engine's proxy accepts connections long before."""
    deadline = time.monotonic() + BOOT_LIMIT
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port(node)), timeout=2) as connection:
                if connection.recv(4) == b"SSH-":
                    return
        except (OSError, TestbedError):  # not listening, or not running: between two boots
            pass
        time.sleep(0.2)
    log = docker("logs", "--tail", "20", container(node), check=False)
    raise TestbedError("%s: no sshd after %d s; the container's last words:\n%s" % (node, BOOT_LIMIT, log))
