# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes on which a container with GPUs does not start. What docker run prints goes through the parser."""

from __future__ import annotations

import dataclasses

from ansible_collections.goldennode.gpu.scripts.docpages.case import Case, Node, refused, with_

_DAEMON = "docker: Error response from daemon: "
_TASK = (
    _DAEMON + "failed to create task for container: failed to create shim task: OCI runtime create failed: runc create "
    "failed: unable to start container process: "
)
_RUNC = (
    _TASK
    + "error during container init: error running prestart hook #0: exit status 1, stdout: , stderr: Auto-detected "
    "mode as 'legacy'\nnvidia-container-cli: "
)


def rootless(engine: str) -> Node:
    of = refused(engine)()
    there = of.evidence.docker.value
    assert there is not None
    options = (*there.security_options, "name=rootless")
    return with_(of, docker=dataclasses.replace(there, security_options=options))


CASES = (
    Case(
        "container_runtime.injection",
        "the daemon was started before the toolkit was installed",
        refused(_DAEMON + 'could not select device driver "" with capabilities: [[gpu]].'),
        ("select_driver",),
    ),
    Case(
        "container_runtime.injection",
        "the daemon does not know the nvidia runtime",
        refused(_DAEMON + "unknown or invalid runtime name: nvidia."),
        ("unknown_runtime",),
    ),
    Case(
        "container_runtime.injection",
        "the daemon does not read CDI",
        refused(_DAEMON + 'could not select device driver "cdi" with capabilities: [].', "cdi"),
        ("select_driver", "cdi_devices"),
    ),
    Case(
        "container_runtime.injection",
        "the engine cannot resolve the CDI devices",
        refused(
            _DAEMON + "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=all.",
            "cdi",
        ),
        ("cdi_devices",),
    ),
    Case(
        "container_runtime.injection",
        "the toolkit finds libraries of another driver",
        refused(_RUNC + "initialization error: nvml error: driver/library version mismatch: unknown."),
        ("nvml_mismatch", "container_does_not_start"),
    ),
    Case(
        "container_runtime.injection",
        "the toolkit may not ask the driver",
        refused(_RUNC + "initialization error: nvml error: insufficient permissions: unknown."),
        ("nvml_permissions", "access_denied", "container_does_not_start"),
    ),
    Case(
        "container_runtime.injection",
        "the toolkit reaches no driver",
        refused(_RUNC + "initialization error: nvml error: driver not loaded: unknown."),
        ("container_does_not_start",),
    ),
    Case(
        "container_runtime.injection",
        "the toolkit does not find the driver's libraries",
        refused(
            _RUNC + "initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no "
            "such file or directory: unknown."
        ),
        ("nvml_not_found", "container_does_not_start"),
    ),
    Case(
        "container_runtime.injection",
        "a device node was not there",
        refused(_RUNC + "mount error: stat failed: /dev/nvidia-uvm: no such file or directory: unknown."),
        ("container_does_not_start",),
    ),
    Case(
        "container_runtime.injection",
        "a GPU was asked for that is not there",
        refused(_RUNC + "device error: 9: unknown device: unknown."),
        ("wrong_gpu",),
    ),
    Case(
        "container_runtime.injection",
        "a permission was refused while the GPUs were given in",
        refused(_RUNC + "mount error: open failed: /sys/fs/cgroup/devices/docker: permission denied: unknown."),
        ("access_denied",),
    ),
    Case(
        "image.requirement",
        "the image wants a newer CUDA than the driver has",
        refused(
            _RUNC
            + "requirement error: unsatisfied condition: cuda>=13.3, please update your driver to a newer version, or "
            "use an earlier cuda container: unknown."
        ),
        ("driver_cuda_fit",),
    ),
    Case(
        "image.requirement",
        "the image has files of a driver of its own",
        refused(
            _RUNC + "mount error: file creation failed: /var/lib/docker/overlay2/x/merged/usr/lib/x86_64-linux-gnu/"
            "libnvidia-ml.so.1: file exists: unknown."
        ),
        ("container_does_not_start",),
    ),
    Case(
        "image.requirement",
        "the image has no shell",
        refused(_TASK + 'exec: "sh": executable file not found in $PATH: unknown.'),
    ),
    Case(
        "policy.container_devices",
        "the engine is rootless, and goes by the hook",
        lambda: rootless(
            _RUNC
            + "mount error: failed to add device rules: unable to find any existing device filters attached to the "
            "cgroup: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted: unknown."
        ),
        ("access_denied", "container_does_not_start"),
    ),
    Case(
        "policy.container_devices",
        "AppArmor's profile was taken out of the kernel",
        refused(
            _TASK + "error during container init: unable to apply apparmor profile: apparmor failed to apply profile: "
            "write /proc/self/attr/apparmor/exec: no such file or directory: unknown."
        ),
        ("access_denied", "container_does_not_start"),
    ),
)
