# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the probe's script found of the image's own, and what frameworks said."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    DriverFile,
    Framework,
    FrameworkUse,
    Reading,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import (
    container,
    container_image,
    frameworks,
    image_environment,
)
from ansible_collections.goldennode.gpu.tests.unit import fixtures

USR = "/usr/lib/x86_64-linux-gnu/"
FILES = """mount /etc/hosts /var/lib/docker/containers/0a/hosts
mount {usr}libcuda.so.580.159.03 /usr/lib/x86_64-linux-gnu/libcuda.so.580.159.03
mount /usr/local/nvidia /opt/driver
file {usr}libcuda.so.1
target {usr}libcuda.so.1 => {usr}libcuda.so.580.159.03
file {usr}libcuda.so.580.159.03
target {usr}libcuda.so.580.159.03 => {usr}libcuda.so.580.159.03
file /usr/local/nvidia/lib/libnvidia-ml.so.1
target /usr/local/nvidia/lib/libnvidia-ml.so.1 => /usr/local/nvidia/lib/libnvidia-ml.so.580.159.03
file /usr/local/cuda/compat/libcuda.so.1
target /usr/local/cuda/compat/libcuda.so.1 => /usr/local/cuda-13.1/compat/libcuda.so.590.44.01
file /usr/local/cuda-13.1/compat/libcuda.so.1
target /usr/local/cuda-13.1/compat/libcuda.so.1 => /usr/local/cuda-13.1/compat/libcuda.so.590.44.01
""".format(usr=USR)

#: As the releases named write it.
TORCH_CUDA = """package /opt/venv/lib/python3.12/site-packages/torch/version.py
| from typing import Optional
|
| __all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
| __version__ = '2.11.0.dev20260107+cu130'
| debug = False
| cuda: Optional[str] = '13.0'
| git_version = '4f0b239c7757d538e605e6431aa5bd05d78a54f9'
| hip: Optional[str] = None
"""
TORCH_CPU = """package /usr/local/lib/python3.12/site-packages/torch/version.py
| __all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']
| __version__ = '2.9.1'
| cuda: Optional[str] = None
"""


def test_what_is_mounted_is_the_hosts_and_the_rest_the_images() -> None:
    reading = container_image.driver_files(FILES, 0)
    compat = "/usr/local/cuda-13.1/compat/libcuda.so.590.44.01"
    assert reading.value == (
        DriverFile(USR + "libcuda.so.1", USR + "libcuda.so.580.159.03", True),
        DriverFile(USR + "libcuda.so.580.159.03", USR + "libcuda.so.580.159.03", True),
        DriverFile("/usr/local/nvidia/lib/libnvidia-ml.so.1", "/usr/local/nvidia/lib/libnvidia-ml.so.580.159.03", True),
        DriverFile("/usr/local/cuda/compat/libcuda.so.1", compat, False),
    )


def test_cuda_compat_that_the_toolkit_has_mounted_over_is_the_images_all_the_same() -> None:
    """NVIDIA/nvidia-container-toolkit#1055: with cuda-compat-mode=mount it is mounted beside the host's."""
    compat, file = "/usr/local/cuda-12.8/compat/libcuda.so.570.124.06", USR + "libcuda.so.570.124.06"
    text = "mount %s %s\nfile %s\ntarget %s => %s\n" % (file, compat, file, file, file)
    assert container_image.driver_files(text, 0).value == (DriverFile(file, file, False, compat),)


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        (
            "/proc/self/mountinfo cannot be read",
            1,
            "the driver's files in the container could not be listed: /proc/self/mountinfo cannot be read",
        ),
        ("file /lib/libcuda.so.1\ntarget /lib/libcuda.so.1 => ", 0, "the image has no readlink that could follow "),
        ("file /lib/libcuda.so.1\n", 0, "the image has no readlink that could follow /lib/libcuda.so.1"),
    ],
)
def test_files_that_cannot_be_told_apart(text: str, code: int, why: str) -> None:
    assert (container_image.driver_files(text, code).error or "").startswith(why)


@pytest.mark.parametrize(
    ("text", "code", "path"), [("/usr/sbin/ldconfig", 0, "/usr/sbin/ldconfig"), ("", 127, None), ("", 1, None)]
)
def test_whether_there_is_an_ldconfig(text: str, code: int, path: t.Optional[str]) -> None:
    assert container_image.ldconfig(text, code) == Reading(path)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            TORCH_CUDA,
            Framework("torch", "/opt/venv/lib/python3.12/site-packages", "2.11.0.dev20260107+cu130", "13.0", True),
        ),
        (TORCH_CPU, Framework("torch", "/usr/local/lib/python3.12/site-packages", "2.9.1", "", False)),
        ("package /p/torch/version.py\n| __version__ = '1.0'\n", Framework("torch", "/p", "1.0", "", None)),
        (
            "folder /p/tensorflow-2.18.0.dist-info\npackage /p/tensorflow/python/platform/build_info.py\n"
            '| build_info = {"cuda_version": "12.5.1", "is_cuda_build": True}\n',
            Framework("tensorflow", "/p", "2.18.0", "12.5.1", True),
        ),
        (
            "package /p/tensorflow/python/platform/build_info.py\n| build_info = dict([('is_cuda_build', False)])\n"
            "folder /p/tensorflow_cpu-2.18.0.dist-info\n",
            Framework("tensorflow", "/p", "2.18.0", "", False),
        ),
        (  # tensorflow-cpu 2.21.0
            "package /p/tensorflow/python/platform/build_info.py\n| build_info = collections.OrderedDict("
            "[('is_cuda_build', False), ('is_rocm_build', False), ('is_tensorrt_build', False)])\n",
            Framework("tensorflow", "/p", "", "", False),
        ),
        ("package /p/tensorflow/python/platform/build_info.py\n", Framework("tensorflow", "/p", "", "", None)),
        (  # jaxlib 0.10.2
            "package /p/jaxlib/version.py\n| _version = \"0.10.2\"\n| _release_version: str = '0.10.2'\n",
            Framework("jax", "/p", "0.10.2", "", False),
        ),
        (
            "package /p/jaxlib/version.py\n| _version = '0.4.35'\nfolder /p/jax_cuda12_plugin\n",
            Framework("jax", "/p", "0.4.35", "12", True),
        ),
        ("package /p/jaxlib/version.py\n| __version__ = '0.4.35'\n", Framework("jax", "/p", "0.4.35", "", False)),
        (
            "package /p/jaxlib/version.py\n| __version__ = '0.4.7+cuda12.cudnn88'\n",
            Framework("jax", "/p", "0.4.7+cuda12.cudnn88", "", True),
        ),
    ],
)
def test_a_framework_by_its_files(text: str, found: Framework) -> None:
    assert container_image.frameworks(text, 0) == Reading((found,))


def test_no_framework_is_known_and_a_failure_is_not() -> None:
    assert container_image.frameworks("", 0) == Reading(())
    assert container_image.frameworks("x", 2).error == "the frameworks in the image could not be looked for: x"


def test_a_look_of_the_script_before_it_asked_this() -> None:
    """The recording is of such a script: what it answered still counts, and what it was not asked is not known."""
    said = fixtures.text("container-sh-debian13.txt")
    look = container.parse(said, "", 0, "runtime", "x86_64").value
    assert look is not None
    assert look.libraries.known
    for reading in (look.ldconfig, look.driver_files, look.frameworks):
        assert reading.error == "the script of this look did not ask for it: it is of an older version"
    # One that ended in the middle is another thing.
    cut = container.parse(said.partition("@@goldennode cuda")[0], "", 0, "runtime", "x86_64").value
    assert cut is not None
    assert cut.driver_files.error == "the container ended before it was asked"


@pytest.mark.parametrize(
    ("stdout", "found"),
    [
        ("", {}),
        ("\n", {}),
        (
            '"LD_LIBRARY_PATH=/a=b:/c"\n"CUDA_VISIBLE_DEVICES="\n\n',
            {"LD_LIBRARY_PATH": "/a=b:/c", "CUDA_VISIBLE_DEVICES": ""},
        ),
        ('"PASSWORD=secret"\n', {}),  # were it ever printed, it would not be kept
        ('"NVIDIA_REQUIRE_CUDA=cuda\\u003e=12.8"\n', {"NVIDIA_REQUIRE_CUDA": "cuda>=12.8"}),
    ],
)
def test_the_environment_of_an_image(stdout: str, found: t.Dict[str, str]) -> None:
    assert image_environment.parse(stdout, "", 0) == Reading(found)


def test_an_environment_that_cannot_be_read() -> None:
    assert image_environment.parse("", "Error: No such image: x", 1) == Reading(None)
    assert image_environment.parse("", "Cannot connect", 1).error == (
        "docker image inspect ended with code 1: Cannot connect"
    )
    assert "not understood: {}" in (image_environment.parse("{}\n", "", 0).error or "")


def test_only_the_named_variables_are_asked_for() -> None:
    """The engine is asked for no other, so that no capture can hold what a password stands in."""
    assert image_environment.FORMAT.count("{{json .}}") == 1
    assert '"LD_LIBRARY_PATH" "CUDA_VISIBLE_DEVICES"' in image_environment.FORMAT


def test_what_frameworks_said() -> None:
    said = (
        "a warning\n"
        '{"framework": "torch", "version": "2.9.1", "cuda": "12.8"}\n'
        '{"framework": "torch", "available": true}\n'
        '{"framework": "torch", "devices": 1}\n'
        '{"framework": "torch", "architectures": ["sm_80"]}\n{"framework": "torch", "capabilities": ["8.6"]}\n'
        '{"framework": "jax", "error": "ImportError: x"}\n'
    )
    reading = frameworks.parse(said, "", 0, ("torch", "jax", "tensorflow"))
    assert reading.value == (
        FrameworkUse("torch", "2.9.1", "12.8", True, 1, ("sm_80",), ("8.6",)),
        FrameworkUse("jax", error="ImportError: x"),
        FrameworkUse("tensorflow", error="it was not asked to the end (code 0): no reason was given"),
    )


def test_a_framework_that_hung_is_not_taken_for_one_without_gpus() -> None:
    said = '{"framework": "torch", "version": "2.9.1", "cuda": "12.8"}\n{"framework": "torch", "available": false}\n'
    [use] = frameworks.parse(said, "", None, ("torch",), "docker was killed (pid 7)").value or ()
    assert (use.available, use.devices, use.error) == (False, None, "docker was killed (pid 7)")


def test_no_answer_at_all() -> None:
    reading = frameworks.parse("", "exec: python3: not found", 127, ("torch",))
    assert reading.error == (
        "the look at the frameworks gave no answer and ended with code 127: exec: python3: not found"
    )
