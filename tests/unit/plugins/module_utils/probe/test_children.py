# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The children, run as the probe runs them: as text, in a Python of their own."""

from __future__ import annotations

import bz2
import ctypes
import gzip
import io
import json
import linecache
import lzma
import shutil
import subprocess
import sys
import threading
import types
import typing as t
import zipfile

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Fabric, GpuMode, GpuProcess, Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import cuda as cuda_answer
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import nvml as nvml_answer
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import children
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import initramfs as probe
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.children import cuda, initramfs, nvml
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import LocalHost

PYNVML = """
import time
class NVMLError(Exception):
    def __init__(self, value): self.value = value
    def __str__(self):
        return {15: "GPU is lost", 18: "Driver/library version mismatch"}.get(self.value, "error %d" % self.value)
def nvmlInit():
    if MISMATCH: raise NVMLError(18)
def nvmlSystemGetDriverVersion(): return b"580.159.03"
def nvmlSystemGetCudaDriverVersion_v2(): return 13000
def nvmlDeviceGetCount(): return 3
def nvmlDeviceGetHandleByIndex(index):
    if index == 1: raise NVMLError(15)
    if index == 2 and HANGS: time.sleep(300)
    return index
def nvmlDeviceGetUUID(handle): return "%s-00000000-0000-4000-8000-%012d" % ("MIG" if handle >= 10 else "GPU", handle)
def nvmlDeviceGetName(handle): return b"NVIDIA A10"
class Pci: busId = "00000000:17:00.0"
def nvmlDeviceGetPciInfo(handle): return Pci
"""

#: What else a library answers; the rest of the questions this pynvml does not have.
STATE = """
import ctypes
NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, NVML_AGGREGATE_ECC = 1, 0, 1
def unsupported(code): raise NVMLError(code)
def nvmlDeviceGetMigMode(handle): return [1, 1]
def nvmlDeviceGetMaxMigDeviceCount(handle): return 4
def nvmlDeviceGetMigDeviceHandleByIndex(handle, at): return 10 + at if at != 1 else unsupported(6)
def nvmlDeviceGetGpuInstanceId(device): return 3 if device < 13 else 4
def nvmlDeviceGetComputeInstanceId(device): return device
def nvmlDeviceGetEccMode(handle): unsupported(3)
def nvmlDeviceGetTotalEccErrors(handle, kind, since): return 7 if since == NVML_AGGREGATE_ECC else 0
def nvmlDeviceGetRemappedRows(handle): unsupported(999)
class Answer: nvmlReturn = 2
def nvmlDeviceGetFieldValues(handle, fields): return [Answer]
class c_nvmlGpuFabricInfo_v3_t(ctypes.Structure):
    _fields_ = [("state", ctypes.c_uint), ("status", ctypes.c_int), ("healthMask", ctypes.c_uint)]
class c_nvmlGpuFabricInfo_v2_t(c_nvmlGpuFabricInfo_v3_t): pass
def nvmlDeviceGetGpuFabricInfoV(handle, info):
    if isinstance(info._obj, c_nvmlGpuFabricInfo_v2_t):
        info._obj.state, info._obj.healthMask = 3, 2
    else:
        unsupported(OLDER)
def nvmlDeviceGetCurrentClocksEventReasons(handle): unsupported(13)
def nvmlDeviceGetCurrentClocksThrottleReasons(handle): return 0x44
def nvmlDeviceGetPersistenceMode(handle): return int("on")
class Process: pid, usedGpuMemory = 4711, None
def nvmlDeviceGetComputeRunningProcesses_v3(handle):
    if HANGS: time.sleep(300)
    return [Process]
def nvmlSystemGetProcessName(pid): return b"/opt/env/bin/python3 train.py --password=secret"
"""


def ask_nvml(tmp_path, timeout=30.0, **changes: bool):
    """The child against a pynvml of ours inside a zip, as the agent is one."""
    agent = tmp_path / "agent.pyz"
    with zipfile.ZipFile(agent, "w") as archive:
        head = "MISMATCH, HANGS = %r, %r\n" % (changes.get("mismatch", False), changes.get("hangs", False))
        head += "OLDER = %d\n" % (2 if changes.get("bad_argument") else 25)
        archive.writestr("pynvml.py", head + PYNVML + (STATE if changes.get("state") else ""))
    return LocalHost().run(["python3", "-I", "-c", children.source(nvml), "nvml", str(agent)], timeout)


def test_threads_of_one_look_each_get_the_text_of_a_child_that_lies_in_a_zip(tmp_path, monkeypatch):
    archive = tmp_path / "agent.pyz"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("packed_child.py", children.source(cuda))
    monkeypatch.syspath_prepend(str(archive))
    packed = __import__("packed_child")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        texts = [text for _round in range(300) for text in read_side_by_side(packed, 4)]
    finally:
        sys.setswitchinterval(interval)
    assert set(texts) == {children.source(cuda)}


def read_side_by_side(module: types.ModuleType, readers: int) -> t.List[str]:
    """What each reader got; the word ``nothing`` for one whose reading failed."""
    linecache.clearcache()
    texts, start = ["nothing"] * readers, threading.Barrier(readers)

    def read(number: int) -> None:
        start.wait()
        texts[number] = children.source(module)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return texts


def test_nvml_tells_of_every_gpu_and_of_the_one_that_is_lost(tmp_path):
    done = ask_nvml(tmp_path)
    answer = nvml_answer.parse(done.stdout, done.stderr, done.rc).value
    assert (answer.driver, answer.cuda) == ("580.159.03", "13.0")
    assert [(gpu.uuid, gpu.name, gpu.error) for gpu in answer.gpus] == [
        ("GPU-00000000-0000-4000-8000-000000000000", "NVIDIA A10", None),
        (None, None, "GPU is lost (code 15)"),
        ("GPU-00000000-0000-4000-8000-000000000002", "NVIDIA A10", None),
    ]


def test_nvml_is_asked_for_the_state_of_each_gpu_that_answers(tmp_path):
    done = ask_nvml(tmp_path, state=True)
    answer = nvml_answer.parse(done.stdout, done.stderr, done.rc).value
    assert [gpu.state is None for gpu in answer.gpus] == [False, True, False]
    state = answer.gpus[0].state
    assert state.mig.value == GpuMode(True, True)
    assert (state.gpu_instances.value, state.compute_instances.value) == (2, 3)
    assert [(one.place, one.uuid[:4], one.uuid[-1:]) for one in state.mig_devices.value] == [
        (0, "MIG-", "0"),
        (2, "MIG-", "2"),
        (3, "MIG-", "3"),
    ]
    assert (state.ecc, state.ecc_volatile.value, state.ecc_aggregate.value) == (Reading(None), 0, 7)
    assert state.remapped.error == "NVML: error 999 (code 999)"
    assert state.recovery == Reading(None)  # a field that this library does not know
    assert state.fabric.value == Fabric(3, 0, 2, 0)
    assert state.clock_events.value == 0x44
    # This nvidia-ml-py has no such functions.
    assert (state.pcie, state.utilization) == (Reading(None), Reading(None))
    assert state.persistence.error.startswith("NVML: ValueError: invalid literal for int()")
    assert state.processes.value == (GpuProcess(4711, "python3"),)
    assert "secret" not in done.stdout
    assert "train.py" not in done.stdout


def test_a_library_that_calls_a_newer_structure_a_bad_argument_is_asked_by_the_older_one(tmp_path):
    done = ask_nvml(tmp_path, state=True, bad_argument=True)
    answer = nvml_answer.parse(done.stdout, done.stderr, done.rc).value
    assert answer.gpus[0].state.fabric.value == Fabric(3, 0, 2, 0)


def test_a_question_that_hangs_is_known_by_the_gpu_and_the_question(tmp_path):
    done = ask_nvml(tmp_path, timeout=3.0, state=True, hangs=True)
    answer = nvml_answer.parse(done.stdout, done.stderr, done.rc, "NVML was killed")
    assert answer.error == "NVML was killed while it asked GPU 0 for processes"


def test_nvml_that_hangs_is_known_by_the_gpu_that_it_asked(tmp_path):
    done = ask_nvml(tmp_path, timeout=3.0, hangs=True)
    assert done.timed_out is True
    answer = nvml_answer.parse(done.stdout, done.stderr, done.rc, "NVML was killed")
    assert answer.error == "NVML was killed while it asked GPU 2"


def test_nvml_that_does_not_start(tmp_path):
    done = ask_nvml(tmp_path, mismatch=True)
    assert (
        nvml_answer.parse(done.stdout, done.stderr, done.rc).error == "NVML: Driver/library version mismatch (code 18)"
    )


def test_nvml_without_nvidia_ml_py(tmp_path):
    argv = ["python3", "-I", "-S", "-c", children.source(nvml), "nvml", str(tmp_path / "nothing.pyz")]
    done = LocalHost().run(argv, 30)
    assert nvml_answer.parse(done.stdout, done.stderr, done.rc).error == (
        "NVML: nvidia-ml-py cannot be imported: No module named 'pynvml'"
    )


class Library:
    """A libcuda."""

    def __init__(self, init: int, count: int = 0, without: t.Collection[str] = ()) -> None:
        self.init, self.count = init, count
        # Functions that a driver of long ago does not have, as ctypes tells it.
        for name in {"cuDeviceGetUuid", "cuDeviceGetUuid_v2"} - set(without):
            setattr(self, name, self._uuid)

    def cuInit(self, _flags):  # noqa: N802
        return self.init

    def cuDeviceGetCount(self, pointer):  # noqa: N802
        pointer._obj.value = self.count
        return 0

    def cuDeviceGet(self, pointer, number):  # noqa: N802
        pointer._obj.value = 40 + number  # a handle need not be the number
        return 0

    def _uuid(self, pointer, device):
        pointer._obj[:] = bytes(range(15)) + bytes([device.value])
        return 0 if device.value < 48 else 101

    def cuGetErrorName(self, code, pointer):  # noqa: N802
        if code != 802:
            return 1
        pointer._obj.value = b"CUDA_ERROR_SYSTEM_NOT_READY"
        return 0


@pytest.mark.parametrize(
    ("library", "last"),
    [
        (Library(0, 8), "GPU-00010203-0405-0607-0809-0a0b0c0d0e2f"),
        (Library(0, 1, ["cuDeviceGetUuid_v2"]), "GPU-00010203-0405-0607-0809-0a0b0c0d0e28"),
        (Library(0, 1, ["cuDeviceGetUuid_v2", "cuDeviceGetUuid"]), None),
        (Library(0, 9), None),  # it does not tell one of them
        (Library(802), None),
    ],
)
def test_cuda_names_all_devices_or_none(library, last, monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    found = cuda_answer.parse(json.dumps(cuda.ask()), "", 0).value.uuids
    assert (found[-1] if found else None) == last
    assert found is None or len(set(found)) == library.count


@pytest.mark.parametrize(
    ("library", "code", "error", "devices"),
    [
        (Library(0, 8), 0, None, 8),
        (Library(802), 802, "CUDA_ERROR_SYSTEM_NOT_READY", None),
        (Library(12345), 12345, "CUDA error 12345", None),
    ],
)
def test_cuda(library, code, error, devices, monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    answer = cuda_answer.parse(json.dumps(cuda.ask()), "", 0).value
    assert (answer.code, answer.error, answer.devices, answer.library) == (code, error, devices, None)


@pytest.mark.parametrize(
    ("words", "absent"),
    [
        ("libcuda.so.1: cannot open shared object file: No such file or directory", True),
        ("libnvidia-ptx.so.1: cannot open shared object file: No such file or directory", False),
        ("/lib/libcuda.so.1: invalid ELF header", False),
    ],
)
def test_a_libcuda_that_cannot_be_loaded_is_absent_only_when_it_is(words, absent, monkeypatch):
    def refuse(_name):
        raise OSError(words)

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    reading = cuda_answer.parse(json.dumps(cuda.ask()), "", 0)
    assert reading.value is None
    assert reading.error == (None if absent else "libcuda.so.1 cannot be used: " + words)


@pytest.mark.parametrize(
    "value", [None, 0, 999, "", "/usr/lib/libcuda.so.580.159.03", 'a "b" \\ c\n\td \x7f \u00e9 \udce9']
)
def test_cuda_prints_what_json_reads(value, monkeypatch, capsys):
    monkeypatch.setattr(cuda, "ask", lambda: {"code": 0, "error": value})
    cuda.main()
    assert json.loads(capsys.readouterr().out) == {"code": 0, "error": value}


def test_cuda_imports_nothing_that_a_fresh_container_would_have_to_compile_first(tmp_path):
    script = "import sys\nbefore = set(sys.modules)\n%s\nprint(*sorted(set(sys.modules) - before))" % children.source(
        cuda
    )
    done = LocalHost().run([sys.executable, "-I", "-c", script], 30)
    assert done.rc == 0, done.stderr
    added = set(done.stdout.splitlines()[-1].split())
    assert not added & {"json", "re", "typing", "enum", "functools", "collections"}


# The reader of an initramfs


def cpio(files: t.Mapping[str, bytes]) -> bytes:
    """An archive as the kernel takes it, with a directory and the padding to whole blocks."""
    out = io.BytesIO()
    for name, mode, data in [
        ("etc", 0o40755, b""),
        *((n, 0o100644, d) for n, d in files.items()),
        ("TRAILER!!!", 0, b""),
    ]:
        fields = [1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
        out.write(b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0")
        out.write(b"\0" * (-out.tell() % 4) + data)
        out.write(b"\0" * (-out.tell() % 4))
    return out.getvalue() + b"\0" * (-out.tell() % 512)


MODULE = b"\x7fELF....\0license=Dual MIT/GPL\0version=580.159.03\0srcversion=1\0" + b"x" * 3_000_000
FILES = {
    "lib/modules/6.12/kernel/drivers/gpu/drm/nouveau/nouveau.ko.xz": b"abc",
    "lib/modules/6.12/kernel/drivers/video/fbdev/nvidia/nvidiafb.ko": b"",
    "lib/modules/6.12/updates/dkms/nvidia.ko": MODULE,
    "etc/modprobe.d/goldennode-blacklist.conf": b"blacklist nouveau\n",
    "etc/hostname": b"node",
}
EARLY = cpio({"kernel/x86/microcode/GenuineIntel.bin": b"\1" * 1001})


def read(tmp_path, image: bytes):
    path = tmp_path / "initrd.img"
    path.write_bytes(image)
    return probe.read_image(LocalHost(), str(path))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("early", [b"", EARLY])
def test_an_image_is_read_through_its_compression(early, pack, tmp_path):
    inside = read(tmp_path, early + pack(cpio(FILES))).value
    assert (inside.nouveau, inside.blacklisted, inside.nvidia_version) == (True, True, "580.159.03")


def test_an_old_lzma_image(tmp_path):
    assert read(tmp_path, lzma.compress(cpio(FILES), lzma.FORMAT_ALONE)).value.nouveau


def test_an_image_without_anything_of_ours(tmp_path):
    inside = read(tmp_path, EARLY + gzip.compress(cpio({"init": b"#!/bin/sh\n"}))).value
    assert (inside.nouveau, inside.blacklisted, inside.nvidia_version) == (False, False, None)


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (b"", "it holds no file"),
        (b"MZ this is a kernel", "its compression is not known; it starts with 4d5a20746869"),
        (gzip.compress(cpio(FILES))[:3000], "it ends in the middle of an entry"),
        (cpio(FILES)[:200], "it ends in the middle of an entry"),
        (b"\x1f\x8b but not gzip at all", "Error -3 while decompressing data: unknown compression method"),
    ],
)
def test_an_image_that_cannot_be_read_is_unknown(image, why, tmp_path):
    reading = read(tmp_path, image)
    assert reading.value is None
    assert why in reading.error
    assert str(tmp_path / "initrd.img") in reading.error


def test_no_image(tmp_path):
    reading = probe.read_image(LocalHost(), str(tmp_path / "none"))
    assert "No such file or directory" in reading.error


@pytest.mark.parametrize("tool", ["zstd -q", "zstd -q --ultra -22", "lz4 -q -l", "lz4 -q"], ids=str)
@pytest.mark.parametrize("early", [b"", EARLY])
def test_an_image_as_the_tools_of_the_distributions_pack_it(tool, early, tmp_path):
    """mkinitramfs takes ``zstd`` and ``lz4 -l``, the older form that the kernel knows; dracut the same."""
    if shutil.which(tool.split()[0]) is None:
        pytest.skip("%s is not installed" % tool.split()[0])
    packed = subprocess.run(tool.split() + ["-c"], input=cpio(FILES), stdout=subprocess.PIPE, check=True).stdout
    inside = read(tmp_path, early + packed).value
    assert (inside.nouveau, inside.blacklisted, inside.nvidia_version) == (True, True, "580.159.03")
    assert not read(tmp_path, early + packed[: len(packed) // 2]).known


@pytest.mark.parametrize("second", [gzip.compress, lzma.compress, bytes])
@pytest.mark.parametrize("padding", [b"", b"\0" * 7])
def test_what_follows_a_compressed_archive_is_read_too(second, padding, tmp_path):
    """As somebody makes it who puts an archive of his own behind the distribution's."""
    image = EARLY + gzip.compress(cpio({"init": b"#!/bin/sh\n"})) + padding + second(cpio(FILES))
    assert read(tmp_path, image).value.nvidia_version == "580.159.03"


def test_a_compression_that_needs_a_tool(monkeypatch):
    """zstd and lz4: Python does not know them. The tool here takes the mark off and unpacks gzip."""
    tool = [
        sys.executable,
        "-c",
        "import sys, gzip; sys.stdout.buffer.write(gzip.decompress(sys.stdin.buffer.read()[4:]))",
    ]
    monkeypatch.setattr(initramfs, "TOOLS", ((b"\x28\xb5\x2f\xfd", tool),))
    image = io.BytesIO(EARLY + b"\x28\xb5\x2f\xfd" + gzip.compress(cpio(FILES)))
    inside = initramfs.look(initramfs.Stream(image.read))
    assert inside["nvidia"] == {"lib/modules/6.12/updates/dkms/nvidia.ko": "580.159.03"}
    assert inside["modprobe"] == {"etc/modprobe.d/goldennode-blacklist.conf": "blacklist nouveau\n"}


@pytest.mark.parametrize(("name", "pack"), [("a.ko", bytes), ("a.ko.xz", lzma.compress), ("a.ko.gz", gzip.compress)])
def test_the_version_of_a_module_through_its_compression(name, pack):
    assert initramfs.module_version(name, pack(MODULE)) == "580.159.03"
    assert initramfs.module_version(name, pack(b"nothing")) is None
