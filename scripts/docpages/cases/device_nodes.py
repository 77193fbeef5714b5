# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Broken nodes of the layer device_nodes."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import ModprobeLine
from ansible_collections.goldennode.gpu.scripts.docpages.case import Case, Node, items, known, node, says, with_

OPTIONS = "/etc/modprobe.d/goldennode-nvidia.conf"


def params(**changes: str) -> Node:
    of = node()
    return with_(of, driver_params=items(of.evidence.driver_params, changes))


def nodes(change: t.Callable[[t.Any], t.Any]) -> Node:
    """Each node of the driver changed; None takes it away."""
    of = node()
    changed = (change(one) for one in of.evidence.device_nodes.value or ())
    return with_(of, device_nodes=tuple(one for one in changed if one is not None))


def root_alone() -> Node:
    """What the tools then say to an ordinary user is a consequence, and does not hide it."""
    of = nodes(lambda one: dataclasses.replace(one, mode=0o600, gid=0) if one.of_gpus else one)
    answer = says("Failed to initialize NVML: Insufficient Permissions\n", 4)
    return dataclasses.replace(of, evidence=dataclasses.replace(of.evidence, smi=answer, nvml=answer))


def edited() -> Node:
    of = node()
    there = (of.evidence.files.value or {})[OPTIONS]
    return with_(of, files=items(of.evidence.files, {OPTIONS: dataclasses.replace(there, sha256="e" * 64)}))


def set_elsewhere() -> Node:
    of = params(DeviceFileMode="384")
    line = ModprobeLine("/etc/modprobe.d/zz-site.conf", 1, "options", "nvidia", "NVreg_DeviceFileMode=0600")
    return with_(of, modprobe=(line,))


CASES = (
    Case("device_nodes.files", "the driver's options were edited", edited, ("root_only",)),
    Case(
        "device_nodes.params",
        "the mode was written without its leading 0",
        lambda: params(DeviceFileMode="660"),
        ("root_only", "nvml_permissions", "access_denied"),
    ),
    Case(
        "device_nodes.params",
        "another file of modprobe.d sets the mode",
        set_elsewhere,
        ("root_only", "nvml_permissions"),
    ),
    Case(
        "device_nodes.present",
        "the nodes were not made after the boot",
        lambda: nodes(lambda one: None if one.path == "/dev/nvidiactl" else one),
        ("no_driver", "after_upgrade", "no_gpu_inside"),
    ),
    Case(
        "device_nodes.uvm",
        "nvidia-uvm is not loaded",
        known(device_majors={"nvidia": 195}, modules_loaded=("nvidia",)),
        ("cuda_unavailable",),
    ),
    Case(
        "device_nodes.uvm",
        "the nodes of nvidia-uvm are of an earlier load",
        lambda: nodes(lambda one: dataclasses.replace(one, major=511) if "uvm" in one.path else one),
        ("cuda_unavailable",),
    ),
    Case(
        "device_nodes.modes",
        "the nodes open to root alone",
        root_alone,
        ("root_only", "nvml_permissions", "access_denied", "cuda_unavailable"),
    ),
    Case(
        "device_nodes.dev_char",
        "systemd finds no link to the nodes",
        known(dev_char={}),
        ("nvml_unknown", "stopped_working"),
    ),
    Case(
        "device_nodes.users",
        "a user is not in the group of the nodes",
        known(groups={"root": (0, ()), "video": (44, ("alice",))}),
        ("root_only", "nvml_permissions", "access_denied"),
    ),
    Case(
        "device_nodes.users",
        "the group has another number on this node",
        known(groups={"root": (0, ()), "video": (39, ("alice", "bob"))}),
        ("root_only",),
    ),
)
