# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Broken nodes of the layer container_runtime, but for containers that do not start: those are in starts.py."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    DeviceAnswers,
    DeviceNode,
    DockerClient,
    DockerClients,
    DockerRoot,
    Mounted,
    Reading,
    ReloadLook,
    RunningContainer,
    SocketListener,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import daemon_json, toolkit_config
from ansible_collections.goldennode.gpu.scripts.docpages.case import Case, Node, items, known, node, unread, with_
from ansible_collections.goldennode.gpu.tests.unit import healthy

DAEMON_JSON = "/etc/docker/daemon.json"
CONFIG_TOML = "/etc/nvidia-container-runtime/config.toml"
SPEC = "/var/run/cdi/nvidia.yaml"
MEMORY = Mounted("/", "tmpfs", "tmpfs")
ID = "4f5b" * 16


def reading(field: str, value: Reading[t.Any]) -> Node:
    of = node()
    return dataclasses.replace(of, evidence=dataclasses.replace(of.evidence, **{field: value}))


def daemon(**changes: t.Any) -> Node:
    """What stands in daemon.json; None takes a key out."""
    of = node()
    return with_(of, docker_config=items(of.evidence.docker_config, changes))


def engine(**changes: t.Any) -> Node:
    of = node()
    there = of.evidence.docker.value
    assert there is not None
    return with_(of, docker=dataclasses.replace(there, **changes))


def unit(name: str, **changes: t.Any) -> Node:
    of = node()
    there = dataclasses.replace((of.evidence.units.value or {})[name], **changes)
    return with_(of, units=items(of.evidence.units, {name: there}))


def down() -> Node:
    """Docker does not run: what its client says then."""
    of = unit("docker.service", active="failed", started_at=None)
    words = "docker info ended with code 1: Cannot connect to the Docker daemon at unix:///var/run/docker.sock."
    evidence = dataclasses.replace(of.evidence, docker=Reading.unknown(words), docker_socket=Reading(None))
    return dataclasses.replace(of, evidence=evidence)


def not_restarted() -> Node:
    told = dict((node().evidence.docker.value or t.cast(t.Any, None)).told)
    told.pop("runtimes")
    return engine(told={**told, "default-runtime": "runc", "runtimes": {}})


def edited() -> Node:
    of = node()
    path = next(path for path, file in of.desired.files.items() if file.role in ("docker", "toolkit"))
    there = (of.evidence.files.value or {})[path]
    return with_(of, files=items(of.evidence.files, {path: dataclasses.replace(there, sha256="e" * 64)}))


def toolkit(table: str, **changes: t.Any) -> Node:
    of = node()
    there = dict(of.evidence.toolkit_config.value or {})
    there[table] = {**there.get(table, {}), **changes}
    return with_(of, toolkit_config=there)


def legacy() -> Node:
    return node(toolkit_runtime_mode="legacy")


def reloaded() -> Node:
    nodes = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm")
    look = ReloadLook("runtime", "", Reading(DeviceAnswers(nodes, ())), Reading(DeviceAnswers(nodes, nodes)))
    kept = ReloadLook("cdi", "", Reading(DeviceAnswers(nodes, ())), Reading(DeviceAnswers(nodes, ())))
    of = node()
    reloads = {"runtime": Reading(look), "cdi": Reading(kept)}
    return dataclasses.replace(of, evidence=dataclasses.replace(of.evidence, reloads=reloads))


def running(**fields: t.Any) -> Node:
    return with_(node(), running_containers=(RunningContainer(ID, "jupyter", "cuda:13.0.1-base", **fields),))


CASES = (
    Case(
        "container_runtime.daemon_config",
        "daemon.json is not JSON",
        lambda: reading("docker_config", daemon_json.parse(b'{\n  "runtimes": {},\n}\n', DAEMON_JSON)),
        ("docker_down",),
    ),
    Case(
        "container_runtime.daemon_config",
        "the nvidia runtime was taken out of daemon.json",
        lambda: daemon(runtimes=None),
        ("unknown_runtime",),
    ),
    Case("container_runtime.files", "a file of the role was edited", edited),
    Case(
        "container_runtime.daemon",
        "the snap of Docker answers",
        lambda: with_(
            engine(root_dir="/var/snap/docker/common/var-lib-docker"),
            docker_socket=SocketListener(
                "/run/docker.sock", 901, "dockerd", "/system.slice/snap.docker.dockerd.service"
            ),
        ),
        ("nvml_not_found", "select_driver", "unknown_runtime"),
    ),
    Case(
        "container_runtime.daemon",
        "Docker Desktop answers",
        lambda: engine(operating_system="Docker Desktop"),
        ("select_driver", "no_gpu_inside"),
    ),
    Case("container_runtime.engine", "Docker does not run", down, ("docker_down",)),
    Case("container_runtime.engine", "Docker was upgraded and not restarted", lambda: engine(version="26.1.3")),
    Case(
        "container_runtime.daemon_current",
        "the daemon was not restarted since the runtime was registered",
        not_restarted,
        ("unknown_runtime", "select_driver"),
    ),
    Case(
        "container_runtime.units",
        "Docker does not come up after a boot",
        lambda: unit("docker.service", enabled="disabled"),
        ("stopped_working",),
    ),
    Case(
        "container_runtime.data_root",
        "Docker keeps its data in memory",
        known(docker_root=DockerRoot("/var/lib/docker", "/var/lib/docker", MEMORY)),
    ),
    Case(
        "container_runtime.data_root",
        "the volume of docker_data_root is not mounted",
        lambda: with_(
            node(docker_data_root="/srv/docker"),
            docker_root=DockerRoot("/srv/docker", "/srv/docker", MEMORY, "/srv/docker", MEMORY),
        ),
    ),
    Case(
        "container_runtime.clients",
        "a user's docker command asks another daemon",
        known(
            docker_clients=DockerClients(
                (
                    DockerClient(
                        *("alice", "context", "rootless", "unix:///run/user/1000/docker.sock"),
                        "/home/alice/.docker/config.json",
                    ),
                )
            )
        ),
        ("select_driver", "no_gpu_inside", "access_denied"),
    ),
    Case(
        "container_runtime.toolkit_config",
        "config.toml is not TOML",
        lambda: reading(
            "toolkit_config", toolkit_config.parse(b"[nvidia-container-cli]\nno-cgroups = nope\n", CONFIG_TOML)
        ),
        ("container_does_not_start",),
    ),
    Case(
        "container_runtime.toolkit_config",
        "no-cgroups was left on after a rootless engine",
        lambda: toolkit("nvidia-container-cli", **{"no-cgroups": True}),
        ("nvml_blocked", "nvml_unknown", "access_denied"),
    ),
    Case(
        "container_runtime.cdi_spec",
        "the CDI specification is of the driver before",
        lambda: with_(node(), cdi_specs={SPEC: healthy.cdi_spec("580.126.09")}),
        ("cdi_devices", "after_upgrade"),
    ),
    Case(
        "container_runtime.cdi_spec",
        "there is no CDI specification",
        known(cdi_specs={}),
        ("cdi_devices",),
    ),
    Case(
        "container_runtime.cdi_spec",
        "two specifications name the same devices",
        lambda: with_(
            node(), cdi_specs={SPEC: healthy.cdi_spec(), "/etc/cdi/nvidia.yaml": healthy.cdi_spec("580.126.09")}
        ),
        ("cdi_devices",),
    ),
    Case(
        "container_runtime.cgroup_driver",
        "systemd's control groups with the legacy mode of the runtime",
        legacy,
        ("nvml_unknown", "stopped_working"),
    ),
    Case(
        "container_runtime.daemon_reload",
        "a container lost its GPUs at a reload of systemd",
        reloaded,
        ("nvml_unknown", "stopped_working"),
    ),
    Case(
        "container_runtime.containers",
        "a container still holds the driver of before",
        lambda: running(drivers=("580.126.09",), started_at="2026-11-29T08:00:00Z"),
        ("nvml_mismatch", "stopped_working", "driver_cuda_fit"),
    ),
    Case(
        "container_runtime.behind_systemd",
        "a container was given GPUs that systemd does not know of",
        lambda: running(nodes=(DeviceNode("/dev/nvidia0", 0o666, 0, 0, 195, 0),), device_allow=("/dev/char/1:3 rwm",)),
        ("nvml_unknown", "stopped_working"),
    ),
    Case(
        "container_runtime.injection",
        "no container was started in the look",
        lambda: dataclasses.replace(node(), evidence=dataclasses.replace(node().evidence, containers={})),
    ),
    Case(
        "container_runtime.daemon", "who listens cannot be read", unread("docker_socket", "/proc/net/unix: not there")
    ),
)
