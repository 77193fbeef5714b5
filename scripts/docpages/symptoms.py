# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users see, in the words that they type into a search engine. Which cases cause it, the cases say."""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True)
class Symptom:
    """``texts`` are what programs print, word for word. ``note`` is what no check of a node can know.

    ``waits`` are checks that belong here and are not written yet: as soon as one is registered, a case is due.
    """

    title: str
    texts: t.Tuple[str, ...] = ()
    note: str = ""
    waits: t.Tuple[str, ...] = ()


#: In the order of the page.
SYMPTOMS: t.Dict[str, Symptom] = {
    "cuda_unavailable": Symptom(
        "CUDA is not available in PyTorch, TensorFlow or JAX",
        (
            "torch.cuda.is_available() returns False",
            "RuntimeError: No CUDA GPUs are available",
            "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment",
            "RuntimeError: Found no NVIDIA driver on your system.",
            "tf.config.list_physical_devices('GPU') returns []",
            "Could not find cuda drivers on your machine, GPU will not be used.",
            "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
        ),
        "A node that is golden has made a CUDA call inside a container. If a framework says this there, look at the "
        "workload: was the container started with GPUs (`--gpus all` or `--device nvidia.com/gpu=all`), is "
        "CUDA_VISIBLE_DEVICES set to something that is not there, and is the framework built with CUDA "
        "(where it is not, `python3 -c 'import torch; print(torch.version.cuda)'` prints None, and PyTorch says "
        '"Torch not compiled with CUDA enabled")?',
        ("image.framework", "image.shadowed", "image.environment"),
    ),
    "smi_not_found": Symptom(
        "nvidia-smi is not found in the container, or on the host",
        (
            "nvidia-smi: command not found",
            'exec: "nvidia-smi": executable file not found in $PATH',
        ),
        "In a container that was started without GPUs there is no nvidia-smi: it is not in the image, the toolkit "
        "gives it in. The same holds where NVIDIA_DRIVER_CAPABILITIES lacks `utility`. Neither says anything of the "
        "node.",
    ),
    "nvml_mismatch": Symptom(
        "Failed to initialize NVML: Driver/library version mismatch",
        (
            "Failed to initialize NVML: Driver/library version mismatch",
            "NVML library version: 580.178",
            "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch",
            "NVRM: API mismatch: the client has the version ..., but this kernel module has the version ...",
        ),
    ),
    "nvml_unknown": Symptom(
        "Failed to initialize NVML: Unknown Error, in a container that worked before",
        ("Failed to initialize NVML: Unknown Error", "NVML: Unknown Error"),
        "It begins some time after the container was started: with the next `systemctl daemon-reload`, which upgrades "
        "of packages make, or with `docker update`. On a host that is in order a new container works again, until the "
        "next of them.",
    ),
    "nvml_permissions": Symptom(
        "Failed to initialize NVML: Insufficient Permissions",
        (
            "Failed to initialize NVML: Insufficient Permissions",
            "nvidia-container-cli: initialization error: nvml error: insufficient permissions",
        ),
    ),
    "nvml_not_found": Symptom(
        "Failed to initialize NVML: Not Found; libnvidia-ml.so.1 cannot be opened",
        (
            "Failed to initialize NVML: Not Found",
            "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.",
            "NVML Shared Library Not Found",
            "libnvidia-ml.so.1: cannot open shared object file: no such file or directory",
            "Failed to initialize NVML: Function Not Found",
        ),
    ),
    "nvml_blocked": Symptom(
        "Failed to initialize NVML: GPU access blocked by the operating system",
        (
            "Failed to initialize NVML: GPU access blocked by the operating system",
            "Failed to properly shut down NVML: GPU access blocked by the operating system",
        ),
    ),
    "no_driver": Symptom(
        "nvidia-smi has failed because it couldn't communicate with the NVIDIA driver",
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
            "NVIDIA driver is installed and running.",
        ),
    ),
    "no_devices": Symptom(
        "No devices were found",
        ("No devices were found", "NVRM: RmInitAdapter failed!", "NVRM: No NVIDIA GPU found."),
    ),
    "gpu_lost": Symptom(
        "A GPU is missing or lost",
        (
            "GPU has fallen off the bus.",
            "NVRM: Xid (PCI:0000:37:00): 79",
            "Unable to determine the device handle for GPU 0000:37:00.0: GPU is lost. Reboot the system to recover",
        ),
        waits=("hardware.xid", "hardware.memory"),
    ),
    "hangs": Symptom("nvidia-smi hangs", ("nvidia-smi does not return, and cannot be killed",)),
    "no_gpu_inside": Symptom(
        "The container starts, and has no GPU",
        ("ls: cannot access '/dev/nvidia*': No such file or directory",),
        "Was it started with GPUs at all? `docker inspect NAME` shows DeviceRequests and NVIDIA_VISIBLE_DEVICES. With "
        "`toolkit_multi_tenant` that variable counts in privileged containers alone.",
    ),
    "container_does_not_start": Symptom(
        "A container with GPUs does not start",
        (
            "OCI runtime create failed: ... error running prestart hook #0: exit status 1",
            "nvidia-container-cli: mount error",
            "nvidia-container-cli: initialization error",
        ),
        "The pages container_runtime.injection, image.requirement and policy.container_devices list every message that "
        "is told apart.",
    ),
    "select_driver": Symptom(
        'could not select device driver "" with capabilities: [[gpu]]',
        (
            'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
            'could not select device driver "nvidia" with capabilities: [[gpu]]',
            'could not select device driver "cdi" with capabilities: []',
        ),
    ),
    "unknown_runtime": Symptom(
        "unknown or invalid runtime name: nvidia",
        (
            "docker: Error response from daemon: unknown or invalid runtime name: nvidia.",
            "Unknown runtime specified nvidia",
        ),
    ),
    "cdi_devices": Symptom(
        "unresolvable CDI devices nvidia.com/gpu=all",
        (
            "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=all",
            "failed to inject CDI devices",
        ),
    ),
    "kubernetes": Symptom(
        "Kubernetes finds no container runtime, or its pods no GPU",
        (
            'validate CRI v1 runtime API for endpoint "unix:///run/containerd/containerd.sock": rpc error: code = '
            "Unimplemented desc = unknown service runtime.v1.RuntimeService",
        ),
        "The engine's own settings are looked at, and nothing of Kubernetes': not its device plugin, its runtime "
        "classes, or what a pod asks for.",
        ("container_runtime.engines",),
    ),
    "root_only": Symptom("It works as root only", ("sudo nvidia-smi works, nvidia-smi as a user does not",)),
    "access_denied": Symptom(
        "Permission denied, Operation not permitted, access denied",
        (
            "Permission denied: '/dev/nvidiactl'",
            "Operation not permitted",
            "permission denied while trying to connect to the Docker daemon socket",
        ),
    ),
    "after_upgrade": Symptom(
        "It stopped after an upgrade of the operating system, the kernel or the driver",
        note="unattended-upgrades moves packages at night: /var/log/apt/history.log says what it moved and when.",
    ),
    "stopped_working": Symptom("It worked, and nobody has changed anything"),
    "driver_cuda_fit": Symptom(
        "The driver and CUDA do not fit",
        (
            "CUDA driver version is insufficient for CUDA runtime version",
            "The NVIDIA driver on your system is too old (found version ...).",
            "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.3, please update your driver to "
            "a newer version, or use an earlier cuda container",
            "Error 803: system has unsupported display driver / cuda driver combination",
            "Error 804: forward compatibility was attempted on non supported HW",
        ),
        "The CUDA version that nvidia-smi prints is the newest that the driver can do, and not what is installed. A "
        "CUDA toolkit on the host has no part in what a container uses.",
    ),
    "no_kernel_image": Symptom(
        "no kernel image is available for execution on the device",
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "... with CUDA capability sm_120 is not compatible with the current PyTorch installation.",
        ),
        waits=("image.framework",),
    ),
    "wrong_gpu": Symptom(
        "The wrong GPU, or another number of GPUs",
        ("nvidia-container-cli: device error: 9: unknown device", "RuntimeError: CUDA error: invalid device ordinal"),
        "Inside a container GPUs count from 0 again. CUDA puts the fastest first, nvidia-smi goes by PCI address; "
        "CUDA_DEVICE_ORDER=PCI_BUS_ID makes them agree. Compare UUIDs: `nvidia-smi -L`. CUDA_VISIBLE_DEVICES of a "
        "shell, a job or a script counts among the GPUs that the container was given, and CUDA stops at the first "
        "entry that it does not know: `CUDA_VISIBLE_DEVICES=3` in a container with one GPU leaves none. With MIG, name "
        "an instance by its UUID (`nvidia-smi -L` shows MIG-...).",
        ("host_driver.mig", "image.environment"),
    ),
    "fabric": Symptom(
        "CUDA error 802 on nodes with NVSwitch (HGX, DGX)",
        ("Error 802: system not yet initialized", "CUDA_ERROR_SYSTEM_NOT_READY"),
        waits=("host_driver.fabric",),
    ),
    "slow_start": Symptom(
        "The first CUDA call, or the start of a container with GPUs, takes many seconds",
        ("nvidia-container-cli: initialization error: driver rpc error: timed out",),
    ),
    "slow": Symptom(
        "It is slow: the GPU waits for CPU, memory, disk or PCIe",
        ("nvidia-smi shows a low GPU-Util, or one that goes up and down",),
        "GPU-Util tells whether any kernel ran, not how well; `nvidia-smi dmon -s pucvt` shows power, use, clocks, "
        "throttling and PCIe traffic second by second. A GPU that idles waits for its data: begin with the checks of "
        "CPU, disk and containers. One that is busy at low clocks is braked: begin with hardware.throttle. None of "
        "these takes gold from a node.",
        (
            *("hardware.pcie_link", "hardware.numa", "hardware.throttle", "hardware.cpus", "hardware.pressure"),
            *("host_driver.persistence", "container_runtime.starved", "policy.limits"),
        ),
    ),
    "workers_die": Symptom(
        "Data loaders die: bus error, out of shared memory, killed",
        (
            "RuntimeError: DataLoader worker (pid 4242) is killed by signal: Bus error. It is possible that "
            "dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
            "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory "
            "(shm).",
            "RuntimeError: DataLoader worker (pid 4242) is killed by signal: Killed.",
            "RuntimeError: can't start new thread",
        ),
        waits=("policy.limits", "container_runtime.starved"),
    ),
    "docker_down": Symptom(
        "Docker does not start, or does not answer",
        (
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
            "unable to configure the Docker daemon with file /etc/docker/daemon.json",
        ),
    ),
    "apt_signed_by": Symptom(
        "apt: Conflicting values set for option Signed-By",
        ("E: Conflicting values set for option Signed-By regarding source",),
    ),
}
