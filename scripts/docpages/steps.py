# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sixteen steps that an engineer goes through by hand on a node without CUDA, and the checks that answer each."""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True)
class Step:
    """``checks`` are ids of the registry."""

    title: str
    commands: t.Tuple[str, ...]
    checks: t.Tuple[str, ...]


STEPS: t.Tuple[Step, ...] = (
    Step(
        "Does nvidia-smi work on the host?",
        ("nvidia-smi", "nvidia-smi -L"),
        (
            *("hardware.gpu_present", "hardware.gpu_count", "hardware.gpu_healthy"),
            *("hardware.memory", "hardware.recovery", "host_driver.nvidia_smi", "host_driver.nvml"),
            *("host_driver.libraries", "host_driver.answers_agree", "host_driver.mig"),
        ),
    ),
    Step(
        "Are the device nodes there, and whose are they?",
        ("ls -l /dev/nvidia*", "cat /proc/driver/nvidia/params"),
        (
            *("device_nodes.present", "device_nodes.uvm", "device_nodes.modes", "device_nodes.params"),
            *("device_nodes.users", "device_nodes.dev_char", "device_nodes.files"),
        ),
    ),
    Step(
        "Which kernel modules are loaded, and which are on disk?",
        ("lsmod | grep -E 'nvidia|nouveau'", "modinfo nvidia", "dkms status", "uname -r"),
        (
            *("host_driver.kernel", "host_driver.nouveau", "host_driver.module_on_disk", "host_driver.loaded"),
            *("host_driver.flavour", "host_driver.initramfs", "host_driver.secure_boot"),
        ),
    ),
    Step(
        "What does the kernel's log say?",
        ("dmesg | grep -E 'NVRM|Xid'", "journalctl -k -b"),
        (
            *("hardware.gpu_healthy", "hardware.xid", "host_driver.loaded", "host_driver.flavour"),
            *("host_driver.fabric_manager", "host_driver.fabric"),
        ),
    ),
    Step(
        "Which packages of the container toolkit are installed?",
        ("dpkg -l | grep nvidia-container", "nvidia-ctk --version"),
        ("packages.versions", "packages.set", "packages.holds", "container_runtime.toolkit_config"),
    ),
    Step(
        "Which runtimes does Docker know?",
        ("docker info", "cat /etc/docker/daemon.json"),
        (
            *("container_runtime.daemon", "container_runtime.engine", "container_runtime.daemon_config"),
            *("container_runtime.daemon_current", "container_runtime.clients", "container_runtime.engines"),
        ),
    ),
    Step(
        "Does a minimal container with GPUs start?",
        ("docker run --rm --gpus all IMAGE nvidia-smi", "docker run --rm --device nvidia.com/gpu=all IMAGE nvidia-smi"),
        ("container_runtime.injection", "container_runtime.cdi_spec", "image.present", "image.gpus"),
    ),
    Step(
        "Which device nodes are in the container?",
        ("docker run --rm --gpus all IMAGE ls -l /dev | grep nvidia",),
        ("image.device_nodes",),
    ),
    Step(
        "Which libraries of the driver are in the container?",
        ("docker run --rm --gpus all IMAGE ldconfig -p | grep -E 'libcuda|libnvidia-ml'",),
        ("image.libraries", "image.shadowed"),
    ),
    Step(
        "What has the container asked for?",
        ("docker inspect NAME", "env | grep -E 'NVIDIA_|CUDA_VISIBLE_DEVICES'"),
        ("image.requests", "image.environment", "image.gpus", "container_runtime.toolkit_config"),
    ),
    Step(
        "Which control groups, and who keeps them?",
        ("docker info --format '{{.CgroupDriver}} {{.CgroupVersion}}'", "stat -fc %T /sys/fs/cgroup"),
        (
            *("policy.cgroups", "container_runtime.cgroup_driver", "container_runtime.daemon_reload"),
            "container_runtime.behind_systemd",
        ),
    ),
    Step(
        "Does AppArmor deny it?",
        ("aa-status", "journalctl -k | grep DENIED"),
        ("policy.apparmor", "policy.container_devices"),
    ),
    Step(
        "Does SELinux deny it?",
        ("getenforce", "ausearch -m avc -ts boot"),
        ("policy.selinux", "policy.container_devices"),
    ),
    Step(
        "Is the engine rootless?",
        ("docker info --format '{{.SecurityOptions}}'", "docker context ls"),
        (
            *("container_runtime.daemon", "container_runtime.clients", "container_runtime.engines"),
            *("policy.container_devices", "policy.cgroups"),
        ),
    ),
    Step(
        "Does the framework see CUDA?",
        ("python3 -c 'import torch; print(torch.cuda.is_available(), torch.version.cuda)'",),
        ("host_driver.cuda", "image.cuda", "image.environment", "image.framework"),
    ),
    Step(
        "Is the driver too old for the image?",
        ("nvidia-smi | grep CUDA", "docker inspect IMAGE | grep NVIDIA_REQUIRE_CUDA"),
        (
            *("image.requirement", "image.environment", "image.shadowed", "image.cuda", "image.libraries"),
            *("image.framework", "container_runtime.containers"),
        ),
    ),
)
