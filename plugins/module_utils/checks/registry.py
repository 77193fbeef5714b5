# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every check, in the order in which a node is judged. Within a layer the likelier cause of the others stands first.

Written down and not discovered: what is sent to a node is what is imported here by name.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model import Desired, Evidence, Finding
from . import (
    answers,
    boot,
    cgroup_mode,
    cgroups,
    container_runtime,
    daemon_reload,
    data_root,
    dev_char,
    device_nodes,
    engines,
    fabric,
    files,
    fits_gpus,
    flavour,
    framework,
    gpu_modes,
    gpu_speed,
    gpu_state,
    hardware,
    host_driver,
    image,
    image_environment,
    initramfs,
    limits,
    module,
    packages,
    policy,
    requests,
    running,
    runtime_program,
    secure_boot,
    shadowed,
    slow,
    toolkit,
    units,
    which_daemon,
    xid,
)

CheckFunction = t.Callable[[Desired, Evidence, t.Optional[int]], t.Iterable[Finding]]

#: What the local fact reads. No NVIDIA code runs for it, and no command that can take long.
CHEAP = frozenset(
    (
        "platform",
        "boot",
        "pci",
        "packages",
        "sources",
        "kept_packages",
        "own_holds",
        "modules_loaded",
        "driver",
        "driver_params",
        "device_nodes",
        "device_majors",
        "dev_char",
        "groups",
        "docker_config",
        "files",
        "toolkit_config",
        "runtime_program",
        "cgroups",
        "mark",
    )
)


@dataclasses.dataclass(frozen=True)
class Check:
    """One question to the evidence.

    ``needs``: fields of ``Evidence`` without which it cannot be answered; one that is unknown makes the finding
    ``unknown``. ``interprets``: those of them whose being unknown the function itself reads a meaning out of.
    ``root_only``: an ordinary user is not shown all that decides, and an ordinary user may ask for the local fact.
    ``on_request``: what it needs is read on request only; where it was not, the check says nothing.
    ``advice``: a failed finding says how the node, or somebody's container, could do better; nothing is unproven by it.
    """

    id: str
    function: CheckFunction
    needs: t.Tuple[str, ...]
    interprets: t.Tuple[str, ...] = ()
    required: bool = True
    root_only: bool = False
    on_request: bool = False
    advice: bool = False

    @property
    def layer(self) -> str:
        return self.id.partition(".")[0]

    @property
    def cheap(self) -> bool:
        """Whether the local fact can answer it."""
        return not self.root_only and CHEAP.issuperset(self.needs)

    def asked(self, evidence: Evidence) -> bool:
        """Whether this look was to answer it."""
        return not self.on_request or any(getattr(evidence, field) for field in self.needs)


CHECKS: t.Tuple[Check, ...] = (
    Check("hardware.gpu_present", hardware.gpu_present, ("pci",)),
    Check("hardware.vgpu", hardware.vgpu, ("pci",), root_only=True),
    Check("hardware.gpu_count", hardware.gpu_count, ("pci",)),
    Check(
        "hardware.gpu_healthy",
        hardware.gpu_healthy,
        ("pci", "kernel_log", "smi", "nvml"),
        interprets=("kernel_log", "smi", "nvml"),
    ),
    # A bare node has no NVML to ask yet: host_driver.nvml holds it back until it has, and these are skipped.
    Check("hardware.memory", gpu_state.memory, ("nvml",), interprets=("nvml",)),
    Check("hardware.recovery", gpu_state.recovery, ("nvml",), interprets=("nvml",)),
    Check("hardware.xid", xid.xid, ("kernel_log", "pci", "nvml"), interprets=("kernel_log", "nvml")),
    Check(
        "hardware.pcie_link",
        gpu_speed.pcie_link,
        ("pci", "pci_slots", "nvml"),
        interprets=("nvml",),
        required=False,
        advice=True,
    ),
    Check("hardware.numa", gpu_speed.numa, ("pci_slots", "numa_nodes"), required=False, advice=True),
    Check("hardware.throttle", gpu_speed.throttle, ("nvml",), interprets=("nvml",), required=False, advice=True),
    # A slow node is not an unfit one: nothing about speed takes gold away.
    Check("hardware.cpus", slow.cpus, ("load",), required=False, advice=True),
    Check("hardware.pressure", slow.pressure, ("load", "nvml"), interprets=("nvml",), required=False, advice=True),
    Check("packages.platform", packages.platform, ("platform",)),
    Check("packages.sources", packages.sources, ("sources",)),
    Check("packages.files", files.packages, ("files",)),
    Check("packages.versions", packages.versions, ("packages", "pci")),
    Check("packages.set", packages.complete_set, ("packages", "pci")),
    Check("packages.holds", packages.holds, ("packages", "own_holds", "pci")),
    Check("packages.kept", packages.kept, ("kept_packages", "pci"), required=False),
    Check("host_driver.kernel", host_driver.kernel, ("boot", "packages")),
    # Not for the local fact: an ordinary user may gather facts, and must not read a password out of grub.cfg.
    Check("host_driver.boot_default", boot.default, ("boot_default",)),
    Check("host_driver.kernel_arguments", boot.arguments, ("command_line", "boot_default")),
    Check("host_driver.files", files.host_driver, ("files",)),
    Check("host_driver.nouveau", host_driver.nouveau, ("modules_loaded", "pci")),
    Check("host_driver.initramfs", initramfs.initramfs, ("initramfs", "files", "boot")),
    Check("host_driver.secure_boot", secure_boot.secure_boot, ("secure_boot", "driver"), interprets=("secure_boot",)),
    Check(
        "host_driver.module_on_disk", module.module_on_disk, ("module_on_disk", "module_to_boot", "boot", "packages")
    ),
    Check("host_driver.flavour", flavour.flavour, ("pci", "driver")),
    Check("host_driver.loaded", module.loaded, ("driver", "modules_loaded", "pci")),
    Check("host_driver.libraries", host_driver.libraries, ("libraries",)),
    Check("host_driver.nvswitch", fabric.nvswitch, ("pci", "packages"), interprets=("packages",), root_only=True),
    Check("host_driver.fabric_manager", fabric.fabric_manager, ("pci", "units", "fabric_mismatch")),
    Check(
        "host_driver.fabric",
        gpu_modes.fabric,
        ("nvml", "pci", "units", "fabric_mismatch"),
        interprets=("nvml", "units", "fabric_mismatch"),
    ),
    Check("host_driver.mig", gpu_modes.mig, ("nvml",), interprets=("nvml",)),
    Check("host_driver.nvidia_smi", answers.nvidia_smi, ("smi",), interprets=("smi",)),
    Check("host_driver.nvml", answers.nvml, ("nvml",), interprets=("nvml",)),
    Check("host_driver.answers_agree", gpu_modes.answers_agree, ("smi", "nvml"), interprets=("smi", "nvml")),
    Check("host_driver.cuda", answers.cuda, ("cuda", "nvml"), interprets=("cuda", "nvml")),
    Check(
        "host_driver.persistence",
        gpu_modes.persistence,
        ("nvml",),
        interprets=("nvml",),
        required=False,
        advice=True,
    ),
    Check("host_driver.units", units.host_driver, ("units",)),
    Check("device_nodes.files", files.device_nodes, ("files",)),
    Check("device_nodes.params", device_nodes.params, ("driver_params",)),
    Check("device_nodes.present", device_nodes.present, ("device_nodes", "pci")),
    Check("device_nodes.uvm", device_nodes.uvm, ("device_nodes", "device_majors")),
    Check("device_nodes.modes", device_nodes.modes, ("device_nodes",)),
    Check("device_nodes.dev_char", dev_char.dev_char, ("device_nodes", "dev_char")),
    Check("device_nodes.users", device_nodes.users, ("groups",)),
    Check(
        "container_runtime.daemon_config",
        container_runtime.daemon_config,
        ("docker_config",),
        interprets=("docker_config",),
    ),
    Check("container_runtime.files", files.container_runtime, ("files",)),
    Check(
        "container_runtime.daemon",
        which_daemon.daemon,
        ("docker", "docker_socket"),
        interprets=("docker", "docker_socket"),
    ),
    Check("container_runtime.engine", container_runtime.engine, ("docker",), interprets=("docker",)),
    Check(
        "container_runtime.daemon_current",
        container_runtime.daemon_current,
        ("docker", "docker_config_file", "docker_record", "units"),
    ),
    Check("container_runtime.units", units.container_runtime, ("units",)),
    Check(
        "container_runtime.data_root",
        data_root.data_root,
        ("docker", "docker_root"),
        interprets=("docker", "docker_root"),
    ),
    Check("container_runtime.clients", which_daemon.clients, ("docker_clients",), required=False),
    Check("container_runtime.toolkit_config", toolkit.config, ("toolkit_config",), interprets=("toolkit_config",)),
    Check(
        "container_runtime.cdi_spec",
        toolkit.cdi_spec,
        ("cdi_specs", "cdi_target", "docker", "smi", "nvml"),
        interprets=("docker", "smi", "nvml"),
    ),
    # Before injection: a container that does not start for want of it would only show the consequence.
    Check("container_runtime.program", runtime_program.program, ("runtime_program",)),
    Check("container_runtime.injection", container_runtime.injection, ("containers",)),
    Check("container_runtime.cgroup_mode", cgroup_mode.cgroup_mode, ("cgroups", "mark"), interprets=("cgroups",)),
    Check("container_runtime.cgroup_driver", daemon_reload.cgroup_driver, ("docker", "toolkit_config")),
    Check("container_runtime.daemon_reload", daemon_reload.daemon_reload, ("reloads",), on_request=True),
    # A user's old container does not make the node unfit, and the agent must not take gold away for it.
    Check("container_runtime.containers", running.containers, ("running_containers", "driver"), required=False),
    Check("container_runtime.behind_systemd", running.behind_systemd, ("running_containers",), required=False),
    Check("container_runtime.starved", limits.starved, ("limits",), required=False, advice=True),
    Check("container_runtime.engines", engines.engines, ("engines", "cdi_specs"), required=False),
    Check("image.fits_gpus", fits_gpus.fits_gpus, ("pci",)),
    Check("image.present", image.present, ("image_digests",)),
    Check("image.requirement", image.requirement, ("containers",)),
    Check(
        "image.environment", image_environment.environment, ("image_environment",), interprets=("image_environment",)
    ),
    Check("image.shadowed", shadowed.shadowed, ("containers",)),
    Check("image.gpus", image.gpus, ("containers",)),
    Check("image.libraries", image.libraries, ("containers",)),
    Check("image.device_nodes", image.device_nodes, ("containers", "device_nodes")),
    Check("image.cuda", image.cuda, ("containers",)),
    Check("image.framework", framework.framework, ("containers",), required=False),
    Check("image.requests", requests.requests, ("requests",), interprets=("requests",)),
    Check("policy.files", files.policy, ("files",)),
    Check("policy.units", units.policy, ("units",)),
    Check("policy.container_devices", policy.container_devices, ("containers",)),
    Check("policy.selinux", policy.selinux, ("selinux", "docker")),
    Check("policy.apparmor", policy.apparmor, ("containers", "docker")),
    Check("policy.limits", limits.limits, ("limits", "load"), required=False, advice=True),
    Check("policy.cgroups", cgroups.cgroups, ("cgroups", "engines"), required=False, advice=True),
)
