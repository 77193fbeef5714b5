# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that are in order and whose image is not: its variables, driver libraries of its own, its frameworks."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    CudaInit,
    DriverFile,
    Framework,
    FrameworkUse,
    GpuTool,
    Library,
    PciDevice,
    Reading,
)
from ansible_collections.goldennode.gpu.scripts.docpages.case import Case, Node, gpu, items, node, seen, unread, with_
from ansible_collections.goldennode.gpu.tests.unit import healthy

USR = "/usr/lib/x86_64-linux-gnu/"
COMPAT = "/usr/local/cuda/compat/"
CONDA = "/opt/conda/envs/work/lib/"
STUBS = "/usr/local/cuda/lib64/stubs/"
SOME = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
ERROR_803 = ("Error 803: system has unsupported display driver / cuda driver combination",)
ERROR_804 = ("Error 804: forward compatibility was attempted on non supported HW",)
NO_CODE = (
    "NVIDIA GPU with CUDA capability sm_120 is not compatible with the current PyTorch installation.",
    "RuntimeError: CUDA error: no kernel image is available for execution on the device",
)

TORCH = Framework("torch", "/usr/lib/python3/dist-packages", "2.9.1+cu128", "12.8", True)
USE = FrameworkUse("torch", "2.9.1+cu128", "12.8", True, 1, ("sm_80", "sm_90"), ("8.6",))


def sets(profile: str = "a10", **variables: str) -> t.Callable[[], Node]:
    """A healthy node, and an image that sets these."""
    return lambda: with_(node(profile), image_environment={**SOME, **variables})


def own(path: str, target: str, code: int = 0, name: str = "NVIDIA GPU", **variables: str) -> t.Callable[[], Node]:
    """The image has a libcuda of its own, and the linker takes it; CUDA then says this code."""

    def made() -> Node:
        tool = GpuTool(healthy.DRIVER, "13.0", (dataclasses.replace(gpu(), name=name),))
        of = with_(node(), image_environment={**SOME, **variables}, smi=tool)
        of = with_(of, nvml=healthy.with_states(tool))
        look = of.evidence.containers["runtime"].value
        assert look is not None
        files = (*(look.driver_files.value or ()), DriverFile(path, target, False))
        libraries = items(look.libraries, {"libcuda.so.1": Library("libcuda.so.1", path, target)})
        cuda = CudaInit(code, devices=None if code else 1, library=target)
        return seen(
            of, libraries=Reading(libraries), driver_files=Reading(files), smi=Reading(tool), cuda=Reading(cuda)
        )

    return made


def board(device: str, cuda: str = "13.0", **driver: str) -> t.Callable[[], Node]:
    """A node with this board, and a bundle whose image leans on forward compatibility."""

    def made() -> Node:
        lock = healthy.lock(driver=driver, image={"cuda": cuda, "cuda_compat": "forward"})
        return with_(node(of_lock=lock), pci=(PciDevice(healthy.address(0), device, "0302", "nvidia"),))

    return made


def volta() -> Node:
    of = node(of_lock=healthy.lock(driver={"flavour": "proprietary"}))
    closed = healthy.module(licence="NVIDIA")
    there = (PciDevice(healthy.address(0), "1db6", "0302", "nvidia"),)
    return with_(of, pci=there, module_on_disk=closed, module_to_boot=closed)


def built(one: Framework, *uses: FrameworkUse, **fields: t.Any) -> t.Callable[[], Node]:
    """An image with this framework, which was imported and says this."""

    def made() -> Node:
        of = seen(node(), frameworks=Reading((one,)), **fields)
        return with_(of, frameworks=uses)

    return made


CASES = (
    Case(
        "image.environment",
        "the image sets CUDA_VISIBLE_DEVICES to nothing",
        sets(CUDA_VISIBLE_DEVICES=""),
        ("cuda_unavailable",),
    ),
    Case(
        "image.environment",
        "the image's CUDA_VISIBLE_DEVICES shows one GPU of eight",
        sets("h100x8", CUDA_VISIBLE_DEVICES="0"),
        ("wrong_gpu",),
    ),
    Case(
        "image.environment",
        "the image's CUDA_VISIBLE_DEVICES is that of another machine",
        sets(CUDA_VISIBLE_DEVICES="0,1"),
        ("wrong_gpu",),
    ),
    Case(
        "image.environment",
        "the image asks for no GPU",
        sets(NVIDIA_VISIBLE_DEVICES="void"),
        ("no_gpu_inside", "cuda_unavailable", "smi_not_found"),
    ),
    Case(
        "image.environment",
        "the image does not ask for CUDA's libraries",
        sets(NVIDIA_DRIVER_CAPABILITIES="utility"),
        ("cuda_unavailable",),
    ),
    Case(
        "image.environment",
        "the image does not ask for nvidia-smi",
        sets(NVIDIA_DRIVER_CAPABILITIES="compute"),
        ("smi_not_found", "nvml_not_found"),
    ),
    Case(
        "image.environment",
        "the image asks for a capability that there is not",
        sets(NVIDIA_DRIVER_CAPABILITIES="compute,utility,profile"),
        ("container_does_not_start",),
    ),
    Case(
        "image.environment",
        "the driver is too old for the image, and nobody refuses it",
        sets(NVIDIA_REQUIRE_CUDA="cuda>=14.0"),
        ("driver_cuda_fit", "cuda_unavailable"),
    ),
    Case(
        "image.environment",
        "the image switches its requirement off",
        sets(NVIDIA_DISABLE_REQUIRE="1"),
        ("driver_cuda_fit",),
    ),
    Case(
        "image.environment",
        "what the image sets cannot be read",
        unread("image_environment", "docker image inspect gave no answer within 20 s"),
    ),
    Case(
        "image.fits_gpus",
        "forward compatibility, and a GeForce board",
        board("2684", "13.5"),
        ("cuda_unavailable",),
        ERROR_804,
    ),
    Case("image.fits_gpus", "forward compatibility, and a board that no list knows", board("2230", "13.5")),
    Case(
        "image.fits_gpus",
        "an image whose CUDA makes no code for the GPU any more",
        volta,
        ("no_kernel_image",),
        NO_CODE[1:],
    ),
    Case(
        "image.shadowed",
        "the image's cuda-compat shadows the host's libcuda, on a card that does not allow it",
        own(
            COMPAT + "libcuda.so.1",
            COMPAT + "libcuda.so.595.45.04",
            804,
            "NVIDIA GeForce RTX 3090",
            LD_LIBRARY_PATH="/usr/local/cuda/compat",
        ),
        ("driver_cuda_fit", "cuda_unavailable"),
        ERROR_804,
    ),
    Case(
        "image.shadowed",
        "the linker's cache leads to the image's cuda-compat",
        own(COMPAT + "libcuda.so.1", COMPAT + "libcuda.so.595.45.04", 803),
        ("driver_cuda_fit", "cuda_unavailable"),
        ERROR_803,
    ),
    Case(
        "image.shadowed",
        "the image's cuda-compat is older than the host's driver",
        own(
            COMPAT + "libcuda.so.1",
            COMPAT + "libcuda.so.535.104.12",
            803,
            LD_LIBRARY_PATH="/usr/local/cuda/compat",
        ),
        ("driver_cuda_fit", "cuda_unavailable", "after_upgrade"),
        ERROR_803,
    ),
    Case(
        "image.shadowed",
        "a stub of the CUDA toolkit is taken for libcuda",
        own(STUBS + "libcuda.so.1", STUBS + "libcuda.so", 34, LD_LIBRARY_PATH="/usr/local/cuda/lib64/stubs"),
        ("cuda_unavailable",),
    ),
    Case(
        "image.shadowed",
        "a conda environment brings a libcuda",
        own(CONDA + "libcuda.so.1", CONDA + "libcuda.so.570.86.15", 803, LD_LIBRARY_PATH=CONDA.rstrip("/")),
        ("driver_cuda_fit", "cuda_unavailable"),
        ERROR_803,
    ),
    Case(
        "image.shadowed",
        "packages of the driver are in the image",
        own(USR + "libcuda.so.1", USR + "libcuda.so.570.86.15", 803),
        ("driver_cuda_fit", "cuda_unavailable", "nvml_mismatch"),
        ERROR_803,
    ),
    Case(
        "image.shadowed",
        "the image's libcuda is of the host's version by chance",
        own("/opt/driver/libcuda.so.1", "/opt/driver/libcuda.so." + healthy.DRIVER, LD_LIBRARY_PATH="/opt/driver"),
    ),
    Case(
        "image.shadowed",
        "it was not looked for",
        lambda: seen(node(), driver_files=Reading.unknown("the container gave no answer within 60 s")),
    ),
    Case(
        "image.framework",
        "PyTorch was built without CUDA",
        built(Framework("torch", "/opt/venv/lib/python3.12/site-packages", "2.9.1+cpu", "", False)),
        ("cuda_unavailable",),
        ("AssertionError: Torch not compiled with CUDA enabled",),
    ),
    Case(
        "image.framework",
        "TensorFlow was built without CUDA",
        built(Framework("tensorflow", "/opt/venv/lib/python3.12/site-packages", "2.20.0", "", False)),
        ("cuda_unavailable",),
    ),
    Case(
        "image.framework",
        "JAX has no plugin for CUDA",
        built(Framework("jax", "/opt/venv/lib/python3.12/site-packages", "0.8.1", "", False)),
        ("cuda_unavailable",),
    ),
    Case(
        "image.framework",
        "the driver is too old for the CUDA of the build",
        built(dataclasses.replace(TORCH, version="2.14.0+cu140", cuda="14.0")),
        ("driver_cuda_fit", "cuda_unavailable"),
        ("The NVIDIA driver on your system is too old (found version ...).",),
    ),
    Case(
        "image.framework",
        "the build has no code for a card that is newer",
        built(TORCH, dataclasses.replace(USE, capabilities=("12.0",))),
        ("no_kernel_image",),
        NO_CODE,
    ),
    Case(
        "image.framework",
        "the build has no code any more for a card that is older",
        built(TORCH, dataclasses.replace(USE, capabilities=("7.0",))),
        ("no_kernel_image",),
    ),
    Case(
        "image.framework",
        "the framework sees no GPU, and CUDA does",
        built(TORCH, dataclasses.replace(USE, available=False, devices=0, capabilities=())),
        ("cuda_unavailable",),
    ),
    Case(
        "image.framework",
        "the framework cannot be imported",
        built(
            TORCH,
            FrameworkUse(
                "torch",
                error="ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory",
            ),
        ),
    ),
    Case(
        "image.framework",
        "the framework gives no answer in time",
        built(TORCH, FrameworkUse("torch", error="python3 gave no answer within 60 s")),
    ),
)
