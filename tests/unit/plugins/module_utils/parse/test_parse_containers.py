# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Docker, CDI, and what a container says (cases 020, 021, 023, 033)."""

from __future__ import annotations

import json

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import ContainerLook, CudaInit, DeviceNode, Gpu
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import (
    container,
    cuda,
    daemon_json,
    docker_info,
    initramfs,
    nvml,
)
from ansible_collections.goldennode.gpu.tests.unit import fixtures

INFO = fixtures.text("docker_info-26.1.5-debian13.json")
INSIDE = fixtures.text("container-sh-debian13.txt")
CUDA_LINE = '{"code": 0, "error": null, "devices": 1, "library": "/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.03"}'


def section(name: str) -> str:
    """One section of the recorded output, marks included."""
    start = INSIDE.index("%s %s\n" % (container.MARK, name))
    return INSIDE[start : INSIDE.index("%s rc" % container.MARK, start)]


def look(stdout: str, stderr: str = "", rc: object = 0, stopped: str = ""):
    return container.parse(stdout, stderr, rc, "runtime", "x86_64", stopped)


def test_the_engine():
    engine = docker_info.parse(INFO, "", 0).value
    assert engine.version == "26.1.5+dfsg1"
    assert engine.root_dir == "/var/lib/docker"
    assert engine.told["runtimes"]["nvidia"] == {"path": "nvidia-container-runtime"}
    assert engine.told["default-runtime"] == "runc"
    assert engine.containers_running == 0
    assert engine.cdi_spec_dirs == ("/etc/cdi", "/var/run/cdi")
    assert engine.live_restore is False


def test_a_snap_and_a_rootless_engine_are_told():
    info = dict(
        json.loads(INFO), DockerRootDir="/var/snap/docker/common/var-lib-docker", OperatingSystem="Ubuntu Core 22"
    )
    info["SecurityOptions"] = ["name=seccomp,profile=builtin", "name=rootless"]
    engine = docker_info.parse(json.dumps(info), "", 0).value
    assert engine.root_dir.startswith("/var/snap/")
    assert engine.operating_system == "Ubuntu Core 22"
    assert "name=rootless" in engine.security_options


def test_a_client_without_engine_answers_with_code_0_and_is_unknown():
    words = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
    answer = docker_info.parse(json.dumps({"ServerErrors": [words], "ClientInfo": {}}), "", 0)
    assert answer.error == "the Docker engine does not answer: " + words
    assert not docker_info.parse("", "permission denied", 1).known
    assert docker_info.parse(INFO[:-20], "", 0).error.startswith("the answer of docker info is not JSON")


def test_digests_of_the_image():
    there = docker_info.repo_digests('{"RepoDigests": ["r.example/cuda@sha256:ab"]}', "", 0)
    assert there.value == ("r.example/cuda@sha256:ab",)
    none = docker_info.repo_digests("", "Error response from daemon: No such image: r.example/cuda@sha256:ab\n", 1)
    assert (none.value, none.error) == ((), None)
    down = docker_info.repo_digests("", "Cannot connect to the Docker daemon", 1)
    assert down.error == "docker image inspect ended with code 1: Cannot connect to the Docker daemon"


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (bytes.fromhex("efbbbf7b226c6976652d726573746f7265223a747275657d0a"), {"live-restore": True}),
        (b"", {}),
        (b"\n\n", {}),
        (bytes.fromhex("fffe7b007d00"), {}),
        (None, {}),
    ],
)
def test_files_that_dockerd_takes(raw, value):
    reading = daemon_json.parse(raw, "daemon.json")
    assert (reading.value, reading.error) == (value, None)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'{"a": 1,\n "a": 2}', 'daemon.json: line 2 column 2: the key "a" is given twice'),
        (b'{"a": 1,}', "daemon.json: line 1 column 8: there is a comma"),
        (b"[]", "daemon.json: line 1 column 1: the configuration is a"),
        (b"\xff\xfe\x00", "daemon.json: byte 1 is not UTF-16-LE"),
    ],
)
def test_a_file_that_dockerd_would_not_take_is_unknown_with_its_place(raw, why):
    assert daemon_json.parse(raw, "daemon.json").error.startswith(why)


def test_what_a_healthy_container_says():
    inside = look(INSIDE).value
    assert inside.started
    assert inside.smi.value.gpus == (Gpu(0, "GPU-7a28f504-5a42-5b26-a5b1-5568882b45a0", "NVIDIA A10", "0000:17:00.0"),)
    assert inside.libraries.value["libcuda.so.1"].version == "580.159.03"
    assert DeviceNode("/dev/nvidiactl", 0o666, 0, 0, 195, 255) in inside.device_nodes.value
    assert inside.cuda.value == CudaInit(0, devices=1, library="/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.03")


def test_ld_library_path_comes_before_the_cache():
    """Case 023: cuda-compat of the image shadows the host's library, and nvidia-smi is green."""
    text = INSIDE.replace(
        "cache libnvidia-ml",
        "preload libcuda.so.1 => /usr/local/cuda/compat/libcuda.so.1\n"
        "target /usr/local/cuda/compat/libcuda.so.1 => /usr/local/cuda-13.0/compat/libcuda.so.590.44.01\n"
        "cache libnvidia-ml",
    ).replace(CUDA_LINE, '{"code": 804, "error": "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "devices": null}')
    inside = look(text).value
    assert inside.libraries.value["libcuda.so.1"].version == "590.44.01"
    assert inside.libraries.value["libnvidia-ml.so.1"].version == "580.159.03"
    assert inside.cuda.value.code == 804


def test_a_container_that_does_not_start_says_why():
    """Case 021. The engine's words, without the hint that the client adds."""
    words = (
        "docker: Error response from daemon: nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8"
    )
    for hint in ("See 'docker run --help'.", "\nRun 'docker run --help' for more information"):
        reading = look("", "%s\n%s\n" % (words, hint), 125)
        assert reading.value == ContainerLook("runtime", started=False, error=words)


def test_a_container_that_hangs_keeps_what_it_has_said():
    stopped = "docker gave no answer within 40 s and was killed (pid 7); its container is removed"
    until_nodes = INSIDE[: INSIDE.index("%s nodes" % container.MARK)]
    inside = look(until_nodes + "%s nodes\n" % container.MARK, "", None, stopped).value
    assert inside.smi.known
    assert inside.libraries.known
    assert inside.device_nodes.error == stopped
    assert inside.cuda.error == stopped
    assert look("", "", None, stopped).error == stopped


def test_an_image_that_cannot_tell_is_unknown():
    inside = look(
        INSIDE.replace(section("smi"), "%s smi\nsh: 1: nvidia-smi: not found\n" % container.MARK)
        .replace("%s rc 0" % container.MARK, "%s rc 127" % container.MARK)
        .replace(section("cuda"), "%s no_cuda\n" % container.MARK)
    ).value
    assert inside.smi.error == "nvidia-smi ended with code 127: sh: 1: nvidia-smi: not found"
    assert inside.libraries.error.startswith("the libraries in the container could not be listed")
    assert inside.device_nodes.error.startswith("the device nodes in the container could not be listed")
    assert "image.cuda_command" in inside.cuda.error
    no_readlink = INSIDE.replace(" => /usr/lib/x86_64-linux-gnu/libcuda.so.580.159.03", " => ")
    assert look(no_readlink).value.libraries.error.startswith("the image has no readlink")


@pytest.mark.parametrize(
    ("output", "rc", "value"),
    [
        ("Test PASSED\n", 0, CudaInit(0)),
        ("no device\nTest FAILED\n", 3, CudaInit(3, "image.cuda_command ended with code 3: Test FAILED")),
        ('{"code": 0, "devices": 2}\n', 0, CudaInit(0, devices=2)),
    ],
)
def test_the_cuda_command_of_the_bundle(output, rc, value):
    text = INSIDE[: INSIDE.index("%s cuda\n" % container.MARK)]
    text += "%s cuda_command\n%s\n%s rc %d\n" % (container.MARK, output, container.MARK, rc)
    assert look(text).value.cuda.value == value


def test_cuda():
    good = cuda.parse("chatter of a library\n%s\n" % CUDA_LINE, "", 0)
    assert good.value.devices == 1
    absent = cuda.parse('{"missing": "libcuda.so.1: cannot open shared object file"}', "", 0)
    assert (absent.value, absent.error) == (None, None)
    assert cuda.parse('{"broken": "libx.so: missing"}', "", 0).error == "libcuda.so.1 cannot be used: libx.so: missing"
    assert cuda.parse("", "Segmentation fault", 139).error == (
        "the CUDA call gave no answer and ended with code 139: Segmentation fault"
    )
    assert not cuda.parse('{"code": "0"}', "", 0).known


UUID = "GPU-7a28f504-5a42-5b26-a5b1-5568882b45a0"


@pytest.mark.parametrize("word", ["ERR!", "[N/A]", "", "GPU-0"])
def test_a_gpu_without_a_uuid_is_none_that_nvml_has_read(word):
    lines = '{"driver": "580.159.03", "cuda": 13000, "count": 1}\n{"gpu": {"index": 0, "uuid": "%s"}}\n' % word
    assert nvml.parse(lines, "", 0).value.gpus == (Gpu(0, error="no UUID but %s" % word),)


def test_nvml():
    head = '{"driver": "580.159.03", "cuda": 13000, "count": 2}\n'
    first = '{"asking": 0}\n{"gpu": {"index": 0, "uuid": "%s", "name": "A10", "pci": "00000000:17:00.0"}}\n' % UUID
    second = '{"asking": 1}\n{"gpu": {"index": 1, "error": "GPU is lost (code 15)"}}\n'
    answer = nvml.parse(head + first + second, "", 0).value
    assert (answer.driver, answer.cuda) == ("580.159.03", "13.0")
    assert answer.gpus == (Gpu(0, UUID, "A10", "0000:17:00.0"), Gpu(1, error="GPU is lost (code 15)"))
    assert nvml.parse(head + first + '{"asking": 1}\n', "", None, "NVML was killed").error == (
        "NVML was killed while it asked GPU 1"
    )
    assert nvml.parse(head + first, "", 0).error == "NVML counts 2 GPUs and told of 1"
    assert nvml.parse('{"error": "Driver/library version mismatch (code 18)"}', "", 0).error == (
        "NVML: Driver/library version mismatch (code 18)"
    )
    assert nvml.parse("", "Killed", 137).error == "the NVML child gave no answer and ended with code 137: Killed"


@pytest.mark.parametrize(("number", "cuda_version"), [(12040, "12.4"), (12100, "12.10"), (0, None), ("12040", None)])
def test_the_cuda_of_nvml_is_no_decimal_number(number, cuda_version):
    text = json.dumps({"driver": "550.90.07", "cuda": number, "count": 0})
    assert nvml.parse(text, "", 0).value.cuda == cuda_version


def test_what_is_inside_an_initramfs():
    """Case 015: the blacklist must be inside the image, not beside it."""
    answer = {
        "modules": ["usr/lib/modules/6.12/kernel/drivers/gpu/drm/nouveau/nouveau.ko.xz"],
        "modprobe": {},
        "nvidia": {},
    }
    inside = initramfs.parse(json.dumps(answer), "", 0).value
    assert (inside.nouveau, inside.blacklisted, inside.nvidia_version) == (True, False, None)
    answer["modprobe"] = {"etc/modprobe.d/x.conf": "# all\nblacklist nouveau\n"}
    answer["nvidia"] = {"lib/modules/6.12/nvidia.ko": None, "lib/modules/6.12/updates/nvidia.ko": "580.159.03"}
    inside = initramfs.parse(json.dumps(answer), "", 0).value
    assert (inside.blacklisted, inside.nvidia_version) == (True, "580.159.03")
    assert inside.nvidia[0] == ("lib/modules/6.12/nvidia.ko", None)
    for text in ("install nouveau /bin/false", "install nouveau /usr/bin/true # no"):
        answer["modprobe"] = {"x.conf": text}
        assert initramfs.parse(json.dumps(answer), "", 0).value.blacklisted
    for text in ("#blacklist nouveau", "blacklist nouveaux", "options nouveau modeset=0"):
        answer["modprobe"] = {"x.conf": text}
        assert not initramfs.parse(json.dumps(answer), "", 0).value.blacklisted
    answer["modules"] = ["lib/modules/6.12/kernel/drivers/video/fbdev/nvidia/nvidiafb.ko"]
    assert not initramfs.parse(json.dumps(answer), "", 0).value.nouveau
    assert initramfs.parse('{"error": "/boot/x: no"}', "", 0).error == "the initramfs could not be read: /boot/x: no"
    assert not initramfs.parse("", "Killed", 137).known
