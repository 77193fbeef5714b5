# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes whose containers start and do not work, and those where a rule of the host denies them the GPUs."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    CudaInit,
    DriverFile,
    Library,
    Reading,
    SELinux,
)
from ansible_collections.goldennode.gpu.scripts.docpages.case import (
    Case,
    Node,
    gpu,
    in_container,
    items,
    known,
    no_gpu,
    node,
    says,
    seen,
    with_,
)
from ansible_collections.goldennode.gpu.tests.unit import healthy

NO_DEVICE = Reading(CudaInit(100, "CUDA_ERROR_NO_DEVICE"))
PERMISSIONS = "Failed to initialize NVML: Insufficient Permissions\n"
LABEL = "system_u:system_r:container_t:s0:c1,c2"
AVC = (
    'audit: type=1400 audit(1764500000.123:456): avc:  denied  { read write } for  pid=4242 comm="nvidia-smi" '
    'name="nvidiactl" dev="devtmpfs" scontext=system_u:system_r:container_t:s0:c1,c2 '
    "tcontext=system_u:object_r:xserver_misc_device_t:s0 tclass=chr_file permissive=0"
)
APPARMOR = (
    'audit: type=1400 audit(1764500000.123:456): apparmor="DENIED" operation="open" class="file" '
    'profile="docker-default" name="/dev/nvidiactl" pid=4242 comm="nvidia-smi" requested_mask="wr" denied_mask="wr"'
)
HINTS = {"smi": says(PERMISSIONS, 4), "cuda": NO_DEVICE}


def old_libraries() -> Node:
    folder = "/usr/lib/x86_64-linux-gnu/"
    names = ("libcuda.so.1", "libnvidia-ml.so.1")
    there = {name: Library(name, folder + name, folder + name[:-1] + "580.126.09") for name in names}
    files = tuple(DriverFile(one.path, one.target, True) for one in there.values())
    return seen(node(), libraries=Reading(there), driver_files=Reading(files))


def without_node(path: str) -> Node:
    of = node()
    left = tuple(one for one in of.evidence.device_nodes.value or () if one.path != path)
    return seen(of, device_nodes=Reading(left))


def modes_inside() -> Node:
    of = node()
    there = (dataclasses.replace(one, mode=0o600, gid=0) for one in of.evidence.device_nodes.value or ())
    return seen(of, device_nodes=Reading(tuple(there)), **HINTS)


def hidden() -> Node:
    """The image has no nvidia-smi that runs, and no Python that could ask CUDA."""
    why = "the image has no python3 that could call CUDA, and the bundle names no image.cuda_command"
    return seen(node(), smi=Reading(None), cuda=Reading.unknown(why))


def requested(*uuids: str) -> Node:
    """The container that asked for the last GPU by its index saw these."""
    of = node("h100x8")
    asked = list(of.evidence.requests.value or ())
    look = asked[0].look.value
    assert look is not None
    answer = dataclasses.replace(look.smi.value or no_gpu(), gpus=tuple(gpu(int(one[-12:])) for one in uuids))
    asked[0] = dataclasses.replace(asked[0], look=Reading(dataclasses.replace(look, smi=Reading(answer))))
    return with_(of, requests=tuple(asked))


def selinux(state: SELinux, **values: t.Any) -> Node:
    of = node(docker_daemon_options={"selinux-enabled": True})
    engine = of.evidence.docker.value
    assert engine is not None
    of = with_(of, docker=dataclasses.replace(engine, security_options=("name=selinux",)), selinux=state, **values)
    return seen(of, confinement=Reading(LABEL), **HINTS)


def apparmor() -> Node:
    return seen(with_(node(), kernel_log=(APPARMOR,)), **HINTS)


def unit() -> Node:
    of = node()
    there = (of.evidence.units.value or {})["goldennode-agent.service"]
    changed = dataclasses.replace(there, enabled="disabled")
    return with_(of, units=items(of.evidence.units, {"goldennode-agent.service": changed}))


def edited() -> Node:
    of = node()
    path = next(path for path, file in sorted(of.desired.files.items()) if file.role == "golden")
    there = (of.evidence.files.value or {})[path]
    return with_(of, files=items(of.evidence.files, {path: dataclasses.replace(there, sha256="e" * 64)}))


CASES = (
    Case("image.present", "the image is not on the node", known(image_digests=())),
    Case(
        "image.gpus",
        "the container sees no GPU",
        in_container(smi=Reading(no_gpu()), cuda=Reading(CudaInit(0, devices=0))),
        ("no_gpu_inside", "cuda_unavailable"),
    ),
    Case(
        "image.gpus",
        "the nodes have another mode in the container",
        modes_inside,
        ("root_only", "nvml_permissions", "access_denied"),
    ),
    Case(
        "image.gpus",
        "a device rule of the container's control group refuses",
        in_container(
            smi=says("Failed to initialize NVML: GPU access blocked by the operating system\n", 17), cuda=NO_DEVICE
        ),
        ("nvml_blocked", "access_denied"),
    ),
    Case("image.gpus", "the image hides nvidia-smi", hidden, ("smi_not_found",)),
    Case(
        "image.libraries",
        "the libraries that were given in are of the driver before",
        old_libraries,
        ("driver_cuda_fit", "cuda_unavailable", "nvml_mismatch"),
    ),
    Case(
        "image.libraries",
        "the driver's libraries were not given in",
        in_container(libraries=Reading({}), driver_files=Reading(())),
        ("nvml_not_found", "cuda_unavailable", "no_gpu_inside"),
    ),
    Case(
        "image.libraries",
        "the linker does not find what was given in",
        in_container(libraries=Reading({})),
        ("nvml_not_found", "cuda_unavailable"),
    ),
    Case(
        "image.libraries",
        "the image has no ldconfig",
        in_container(libraries=Reading.unknown("sh: ldconfig: not found"), ldconfig=Reading(None)),
    ),
    Case(
        "image.device_nodes",
        "nvidia-uvm is not in the container",
        lambda: without_node("/dev/nvidia-uvm"),
        ("cuda_unavailable", "no_gpu_inside"),
    ),
    Case(
        "image.cuda",
        "libcuda and the loaded module are of two versions",
        in_container(cuda=Reading(CudaInit(803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"))),
        ("driver_cuda_fit", "cuda_unavailable"),
        ("Error 803: system has unsupported display driver / cuda driver combination",),
    ),
    Case(
        "image.cuda",
        "forward compatibility on a GPU that does not allow it",
        in_container(cuda=Reading(CudaInit(804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"))),
        ("driver_cuda_fit", "cuda_unavailable"),
        ("Error 804: forward compatibility was attempted on non supported HW",),
    ),
    Case(
        "image.cuda",
        "CUDA in the container sees another number of GPUs",
        in_container(cuda=Reading(CudaInit(0, devices=0))),
        ("cuda_unavailable",),
    ),
    Case(
        "image.requests",
        "the container got another GPU than it asked for",
        lambda: requested(healthy.uuid(0)),
        ("wrong_gpu",),
    ),
    Case(
        "image.requests",
        "the container got more than it asked for",
        lambda: requested(*(healthy.uuid(index) for index in range(8))),
        ("wrong_gpu",),
    ),
    Case("policy.files", "the local fact was edited", edited),
    Case("policy.units", "the agent is not enabled", unit),
    Case(
        "policy.selinux",
        "SELinux keeps containers from the nodes",
        lambda: selinux(SELinux("enforcing", "enforcing", "container_use_xserver_devices"), kernel_log=(AVC,)),
        ("access_denied", "nvml_permissions", "root_only"),
    ),
    Case(
        "policy.selinux",
        "the policy has no boolean for the nodes",
        lambda: selinux(SELinux("enforcing", "enforcing")),
        ("access_denied", "nvml_permissions"),
    ),
    Case(
        "policy.apparmor",
        "AppArmor's profile denies the nodes",
        apparmor,
        ("access_denied", "nvml_permissions"),
    ),
)
