# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report shows of engines, containers and images. See mapping.py."""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.goldennode.gpu.tests.unit.cases.disk import BOOTED
from ansible_collections.goldennode.gpu.tests.unit.cases.machine import Machine
from ansible_collections.goldennode.gpu.tests.unit.cases.words import NVML, cuda_of

Input = t.Mapping[str, t.Any]


def docker_info(machine: Machine, text: str, case: Input) -> None:
    names = {
        "Cgroup Driver": "CgroupDriver",
        "Cgroup Version": "CgroupVersion",
        "Docker Root Dir": "DockerRootDir",
        "Server Version": "ServerVersion",
        "Operating System": "OperatingSystem",
    }
    for line in text.splitlines():
        name, _colon, value = line.partition(": ")
        if name in names:
            machine.info[names[name]] = value


def docker_info_security(machine: Machine, text: str, case: Input) -> None:
    machine.info["SecurityOptions"] = ["name=seccomp,profile=builtin", "name=" + text]


def config_toml(machine: Machine, text: str, case: Input) -> None:
    path = "/etc/nvidia-container-runtime/config.toml"
    for line in text.splitlines():
        if not line.startswith("#"):  # what is commented out says nothing, and a run of ours has set it
            there = machine.files[path].decode()
            machine.write(path, re.sub(r"(?m)^%s.*$" % line.partition("=")[0], line, there))


def config_toml_root(machine: Machine, root: str, case: Input) -> None:
    path = "/etc/nvidia-container-runtime/config.toml"
    table = "[nvidia-container-cli]\n"
    machine.write(path, machine.files[path].decode().replace(table, '%sroot = "%s"\n' % (table, root)))


def container_nvidia_smi(machine: Machine, text: str, case: Input) -> None:
    """In each new container; CUDA has no device there then."""
    words = text.rpartition("NVML: ")[2]
    for one in machine.containers.values():
        one.smi = (text, NVML[words] % 256)
        one.cuda = {**one.cuda, "code": 100, "error": "CUDA_ERROR_NO_DEVICE", "devices": 0, "uuids": None}


def selinux(machine: Machine, mode: str, case: Input) -> None:
    """In force, and Docker has containers confined by it."""
    machine.write("/sys/fs/selinux/enforce", "1" if mode == "Enforcing" else "0")
    machine.write("/sys/fs/selinux/booleans/container_use_devices", "0 0")
    machine.write("/etc/selinux/config", "SELINUX=%s\n" % mode.lower())
    machine.write("/sys/module/apparmor/parameters/enabled", "N\n")
    machine.info["SecurityOptions"] = ["name=seccomp,profile=builtin", "name=selinux"]
    for one in machine.containers.values():
        one.label = "system_u:system_r:container_t:s0:c380,c597"


def daemon_json(machine: Machine, text: str, case: Input) -> None:
    """The user's file, and beside it what a run has put there."""
    machine.write("/etc/docker/daemon.json", json.dumps(_together(json.loads(text), machine.settings)))


def daemon_json_hex(machine: Machine, text: str, case: Input) -> None:
    machine.files["/etc/docker/daemon.json"] = bytes.fromhex(text)


def daemon_json_newer_than_docker(machine: Machine, seconds: int, case: Input) -> None:
    machine.times["/etc/docker/daemon.json"] = BOOTED + 60 + seconds
    machine.write("/var/lib/goldennode/docker.json", '{"schema": 1, "invocation": "of before", "settings": {}}')


def docker_runtimes(machine: Machine, names: t.Sequence[str], case: Input) -> None:
    machine.info["Runtimes"] = {name: {"path": name} for name in names}


def as_user(machine: Machine, text: str, case: Input) -> None:
    """The context is the user's own; what docker run says there is what the user reports."""
    found = re.search(r"docker context: (\S+) \((\S+)\)", text)
    assert found
    client = {"by": "context", "value": found[1], "endpoint": found[2].replace("$HOME", "/home/alice"),
              "file": "/home/alice/.docker/config.json"}  # fmt: skip
    lines: t.List[t.Dict[str, t.Any]] = [{"user": user, "found": []} for user in ("", "root", "alice", "bob")]
    lines[2]["found"] = [client]
    machine.answer("docker clients", stdout="".join(json.dumps(line) + "\n" for line in lines))


def snap_variant(machine: Machine, text: str, case: Input) -> None:
    first, _newline, words = text.partition("\n")
    docker_info(machine, first, case)
    error(machine, words.strip(), case)


def error(machine: Machine, text: str, case: Input) -> None:
    """What docker run says, by every way that the words fit."""
    by_cdi = "CDI" in text
    for name, one in machine.containers.items():
        if by_cdi == (" cdi " in name):
            one.error = text


def verify(machine: Machine, text: str, case: Input) -> None:
    error(machine, "docker: Error response from daemon: " + text, case)


def image_ld_library_path(machine: Machine, text: str, case: Input) -> None:
    """The first directory of it has a libcuda of the image's own."""
    library = "%s/%s" % (text.split(":")[0], case.get("image_libcuda", "libcuda.so.530.30.02"))
    machine.image_sets(LD_LIBRARY_PATH=text)
    for one in machine.containers.values():
        one.libcuda, one.cuda = library, {**one.cuda, "library": library}


def timeline(machine: Machine, text: str, case: Input) -> None:
    """The container that runs meanwhile: it has the nodes, and systemd has no rule for them."""
    assert "daemon-reload" in text
    container = "0a" * 32
    described = {"id": container, "name": "/web", "pid": 4242, "mounts": [], "image": "cuda"}
    machine.answer("containers", stdout="%s web\n" % container)
    machine.answer("described", stdout=json.dumps(described) + "\n")
    machine.write("/proc/4242/mountinfo", "36 35 0:31 / / rw - overlay o rw\n37 36 0:32 / /dev rw - tmpfs tmpfs rw\n")
    machine.directories.add("/proc/4242/root")
    for path, node in list(machine.nodes.items()):
        machine.nodes["/proc/4242/root" + path] = node
    machine.answer("device rules", stdout="Id=docker-%s.scope\nDevicePolicy=strict\nDeviceAllow=\n" % container)


def cuda(machine: Machine, text: str, case: Input) -> None:
    """In each container; on the host too where the report has nothing to do with an image."""
    code, name = cuda_of(text)
    answer = {"code": code, "error": name, "devices": 0}
    if "journal" in case:
        machine.cuda_fails(code, name)
    for one in machine.containers.values():
        one.cuda = {**one.cuda, **answer}


def cuda_host(machine: Machine, text: str, case: Input) -> None:
    """On the host and in each container: it is the same driver."""
    machine.cuda_fails(*cuda_of(text))
    cuda(machine, text, case)


def image_environment(machine: Machine, variables: t.Mapping[str, str], case: Input) -> None:
    machine.image_sets(**variables)


def image_files(machine: Machine, files: t.Mapping[str, str], case: Input) -> None:
    """Version files of frameworks, which the probe reads."""
    machine.each_container(frameworks=dict(files))


def torch_says(machine: Machine, answer: t.Mapping[str, t.Any], case: Input) -> None:
    """What PyTorch prints when it is imported with the GPUs."""
    machine.answer("frameworks", stdout=json.dumps({"framework": "torch", **answer}) + "\n")


def image_ldconfig(machine: Machine, path: str, case: Input) -> None:
    machine.each_container(ldconfig=path)


def image_links(machine: Machine, linked: bool, case: Input) -> None:
    machine.each_container(linked=linked)


def cuda_devices(machine: Machine, indexes: t.Sequence[int], case: Input) -> None:
    """Which GPUs CUDA sees in each container with all of them."""
    for name, one in machine.containers.items():
        if name.endswith(" all"):
            one.cuda = machine.cuda(machine.driver, indexes)


# --- other engines ---------------------------------------------------------------------------------------------------


def versions(machine: Machine, found: t.Mapping[str, str], case: Input) -> None:
    """Of an engine beside Docker; the toolkit's is what the lock names."""
    for name in ("podman", "containerd"):
        if name in found:
            machine.program("/usr/bin/" + name)
            machine.answer(name + " --version", stdout=VERSION_LINES[name] % found[name])


def kubelet(machine: Machine, path: str, case: Input) -> None:
    machine.program(path)


def containerd_config(machine: Machine, text: str, case: Input) -> None:
    machine.write("/etc/containerd/config.toml", text)


VERSION_LINES = {"podman": "podman version %s\n", "containerd": "containerd containerd.io %s 0000000\n"}


def _together(theirs: t.Any, ours: t.Any) -> t.Any:
    """The user's word counts where both have one that is no object."""
    if not isinstance(theirs, dict) or not isinstance(ours, dict):
        return theirs
    return {**ours, **{key: _together(value, ours[key]) if key in ours else value for key, value in theirs.items()}}
