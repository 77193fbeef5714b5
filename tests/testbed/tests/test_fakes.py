# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fakes, run as nodes run them: the unmodified nvidia-smi, nvidia-ml-py and CUDA callers over our libraries.

What a GPU says of its state is in test_gpu_state.py.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest
from fakemachine import DRIVER, NOBODY, PROFILES, Machine

# Prints what nvidia-ml-py sees as JSON, or the number of NVML's error.
ASK_NVML = """
import ctypes, json, pynvml
try:
    pynvml.nvmlInit()
    handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
    fabric = []
    for handle in handles:
        info = pynvml.c_nvmlGpuFabricInfo_v3_t()
        info.version = pynvml.nvmlGpuFabricInfo_v3
        pynvml.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(info))
        fabric.append([info.state, info.healthSummary])
    print(json.dumps({
        "driver": pynvml.nvmlSystemGetDriverVersion(),
        "nvml": pynvml.nvmlSystemGetNVMLVersion(),
        "cuda": pynvml.nvmlSystemGetCudaDriverVersion_v2(),
        "names": [pynvml.nvmlDeviceGetName(handle) for handle in handles],
        "uuids": [pynvml.nvmlDeviceGetUUID(handle) for handle in handles],
        "pci": [pynvml.nvmlDeviceGetPciInfo(handle).busId for handle in handles],
        "minors": [pynvml.nvmlDeviceGetMinorNumber(handle) for handle in handles],
        "memory_mib": [pynvml.nvmlDeviceGetMemoryInfo(handle).total >> 20 for handle in handles],
        "persistence": [pynvml.nvmlDeviceGetPersistenceMode(handle) for handle in handles],
        "fabric": fabric,
    }))
except pynvml.NVMLError as error:
    print(json.dumps({"error": error.value}))
"""

# The same for CUDA: the codes of each call.
ASK_CUDA = """
import ctypes, json, uuid
cuda = ctypes.CDLL("libcuda.so.1")
number, name, text = ctypes.c_int(-1), ctypes.c_char_p(), ctypes.create_string_buffer(100)
early = cuda.cuDeviceGetCount(ctypes.byref(number))
cuda.cuDriverGetVersion(ctypes.byref(number))
answer = {"early": early, "version": number.value, "init": cuda.cuInit(0)}
cuda.cuGetErrorName(answer["init"], ctypes.byref(name))
answer["error"] = name.value.decode()
count = ctypes.c_int(-1)
answer["count_code"] = cuda.cuDeviceGetCount(ctypes.byref(count))
answer["count"], answer["names"], answer["uuids"] = count.value, [], []
for ordinal in range(max(count.value, 0)):
    raw = (ctypes.c_ubyte * 16)()
    cuda.cuDeviceGet(ctypes.byref(number), ordinal)
    cuda.cuDeviceGetName(text, 100, number)
    cuda.cuDeviceGetUuid_v2(raw, number)
    answer["names"].append(text.value.decode())
    answer["uuids"].append("GPU-" + str(uuid.UUID(bytes=bytes(raw))))
answer["past_the_end"] = cuda.cuDeviceGet(ctypes.byref(number), 100)
print(json.dumps(answer))
"""

# --- the build --------------------------------------------------------------------------------------------------------


def test_the_build_runs_on_older_distributions(build: Path) -> None:
    """Ubuntu 22.04 and the RHEL 9 family have glibc 2.35 and 2.34; a newer builder must not ask for more."""
    for name in ("libnvidia-ml.so", "libcuda.so", "nvidia-modprobe", "nvidia-persistenced"):
        symbols = subprocess.run(["objdump", "-T", build / name], check=True, capture_output=True, text=True).stdout
        wanted = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([0-9.]+)", symbols)}
        assert (2, 2, 5) <= max(wanted) <= (2, 34), f"{name} needs glibc {max(wanted)}"


# --- profiles ---------------------------------------------------------------------------------------------------------


def test_a_profile_is_expanded_the_same_for_a_node_and_differently_for_another() -> None:
    def expand(node: str) -> str:
        argv = [sys.executable, str(PROFILES / "expand.py"), str(PROFILES / "h100x8.conf"), node]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    first, again, other = expand("node1"), expand("node1"), expand("node2")
    uuids = [word for text in (first, other) for word in text.split() if word.startswith("uuid=")]
    assert first == again
    assert "auto" not in first
    assert len(uuids) == len(set(uuids)) == 16


# --- a healthy machine ------------------------------------------------------------------------------------------------


def test_smi_lists_every_gpu(h100x8: Machine) -> None:
    done = h100x8.smi("-L")
    expected = [f"GPU {i}: NVIDIA H100 80GB HBM3 (UUID: {uuid})" for i, uuid in enumerate(h100x8.uuids())]
    assert (done.returncode, done.stdout.splitlines()) == (0, expected)


@pytest.mark.parametrize(
    ("version", "cuda"), [("470.256.02", "11.4"), ("550.163.01", "12.4"), (DRIVER, "13.0"), ("620.70.06", "13.5")]
)
def test_one_build_is_every_driver(a10: Machine, version: str, cuda: str) -> None:
    a10.install_libraries(version)
    a10.load_module(version, flavour="x86_64 Kernel Module")
    done = a10.smi()
    assert done.returncode == 0
    assert f"Driver Version: {version}" in done.stdout
    assert f"CUDA Version: {cuda} " in done.stdout
    assert "NVIDIA A10 " in done.stdout
    assert "0MiB /  23028MiB" in done.stdout
    assert "ERR!" not in done.stdout


QUERY = {
    "index": "0",
    "name": "NVIDIA A10",
    "pci.bus_id": "00000000:17:00.0",
    "driver_version": DRIVER,
    "memory.total": "23028 MiB",
    "mig.mode.current": "[N/A]",
    "persistence_mode": "Disabled",
    "ecc.mode.current": "Enabled",
    "ecc.errors.uncorrected.volatile.total": "0",
    "utilization.gpu": "0 %",
    "temperature.gpu": "31",
    "power.draw": "15.00 W",
    "power.limit": "150.00 W",
    "pcie.link.gen.current": "4",
    "pcie.link.gen.max": "4",
    "pcie.link.width.current": "16",
    "pcie.link.width.max": "16",
    "compute_mode": "Default",
    "clocks_throttle_reasons.hw_slowdown": "Not Active",
    "pci.device_id": "0x223610DE",
    "compute_cap": "8.6",
    "count": "1",
    "display_active": "Disabled",
    "pstate": "P0",
}


def test_smi_answers_queries(a10: Machine) -> None:
    done = a10.smi(f"--query-gpu=uuid,{','.join(QUERY)}", "--format=csv,noheader")
    values = [value.strip() for value in done.stdout.strip().split(",")]
    assert done.returncode == 0
    assert dict(zip(["uuid", *QUERY], values, strict=True)) == {"uuid": a10.uuids()[0]} | QUERY


def test_mig_mode_of_a_gpu_that_has_it(h100x8: Machine) -> None:
    done = h100x8.smi("--query-gpu=mig.mode.current", "--format=csv,noheader")
    assert (done.returncode, done.stdout.split()) == (0, ["Disabled"] * 8)


@pytest.mark.parametrize("profile", ["a10", "h100x8"])
def test_smi_prints_everything_it_knows(bare: Callable[[str], Machine], profile: str) -> None:
    machine = bare(profile)
    text = machine.smi("-q")
    assert text.returncode == 0
    for complaint in ("Not Found", "Unknown Error", "Insufficient", "ERR!"):
        assert complaint not in text.stdout
    log = machine.smi("-q", "-x")
    assert log.returncode == 0
    tree = ElementTree.fromstring(log.stdout)
    assert tree.findtext("driver_version") == DRIVER
    assert tree.findtext("cuda_version") == "13.0"
    gpus = tree.findall("gpu")
    assert [gpu.findtext("uuid") for gpu in gpus] == machine.uuids()
    assert [gpu.findtext("minor_number") for gpu in gpus] == [str(i) for i in range(len(gpus))]
    assert tree.findtext("gpu/gsp_firmware_version") == DRIVER
    assert tree.findtext("gpu/fabric/state") == ("Completed" if profile == "h100x8" else "N/A")


def test_topology_shows_the_links_between_gpus(h100x8: Machine) -> None:
    done = h100x8.smi("topo", "-m")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("GPU")]
    assert done.returncode == 0
    assert [row[1:9] for row in rows] == [["X" if i == j else "NV18" for j in range(8)] for i in range(8)]


def test_topology_of_one_gpu(a10: Machine) -> None:
    done = a10.smi("topo", "-m")
    assert done.returncode == 0
    assert "\nGPU0\t X " in done.stdout


def test_nvidia_ml_py_sees_the_same(h100x8: Machine) -> None:
    assert h100x8.ask(ASK_NVML) == {
        "driver": DRIVER,
        "nvml": f"13.{DRIVER}",
        "cuda": 13000,
        "names": ["NVIDIA H100 80GB HBM3"] * 8,
        "uuids": h100x8.uuids(),
        "pci": [f"0000{address.upper()}" for address in h100x8.pci_addresses()],
        "minors": list(range(8)),
        "memory_mib": [81559] * 8,
        "persistence": [0] * 8,
        "fabric": [[3, 1]] * 8,
    }


def test_cuda_sees_the_same(h100x8: Machine) -> None:
    assert h100x8.ask(ASK_CUDA) == {
        "early": 3,
        "version": 13000,
        "init": 0,
        "error": "CUDA_SUCCESS",
        "count_code": 0,
        "count": 8,
        "names": ["NVIDIA H100 80GB HBM3"] * 8,
        "uuids": h100x8.uuids(),
        "past_the_end": 101,
    }


# --- the driver -------------------------------------------------------------------------------------------------------


def test_module_not_loaded(a10: Machine) -> None:
    a10.unload_module()
    done = a10.smi()
    assert done.returncode == 9
    assert "couldn't communicate with the NVIDIA driver" in done.stdout
    assert a10.ask(ASK_NVML) == {"error": 9}
    assert a10.ask(ASK_CUDA)["init"] == 100
    assert a10.nodes() == []


@pytest.mark.parametrize("arguments", [(), ("-L",), ("-q",), ("--query-gpu=index", "--format=csv")])
def test_library_newer_than_the_module(a10: Machine, arguments: tuple[str, ...]) -> None:
    a10.load_module("580.126.09")
    done = a10.smi(*arguments)
    assert done.returncode == 18
    assert done.stdout + done.stderr == (
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.159\n"
    )
    assert a10.ask(ASK_NVML) == {"error": 18}
    answer = a10.ask(ASK_CUDA)
    assert (answer["init"], answer["error"]) == (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH")


def test_no_library(a10: Machine) -> None:
    shutil.rmtree(a10.libraries)
    done = a10.smi()
    assert done.returncode == 12
    assert "couldn't find libnvidia-ml.so" in done.stdout


# --- missing and faulty GPUs ------------------------------------------------------------------------------------------


def test_no_gpu_at_all(a10: Machine) -> None:
    a10.bind([])
    table, listed, queried = a10.smi(), a10.smi("-L"), a10.smi("--query-gpu=index", "--format=csv")
    assert (table.returncode, table.stdout) == (6, "No devices were found\n")
    assert (listed.returncode, listed.stdout) == (0, "No devices found.\n")
    assert (queried.returncode, queried.stdout) == (6, "No devices were found\n")
    assert a10.ask(ASK_CUDA)["error"] == "CUDA_ERROR_NO_DEVICE"


def test_a_gpu_missing_from_pci_moves_the_minors_of_those_behind_it(h100x8: Machine) -> None:
    addresses, uuids = h100x8.pci_addresses(), h100x8.uuids()
    del addresses[2], uuids[2]
    h100x8.bind(addresses)
    answer = h100x8.ask(ASK_NVML)
    assert (answer["uuids"], answer["minors"]) == (uuids, list(range(7)))
    assert "nvidia7" not in h100x8.nodes()


def test_a_lost_gpu_has_no_handle(h100x8: Machine) -> None:
    h100x8.fault("gpu-lost", "5\n")
    message = "Unable to determine the device handle for GPU0000:C3:00.0: GPU is lost.  Reboot the system to recover"
    listed = h100x8.smi("-L")
    assert listed.returncode == 15
    assert message.replace("GPU0000", "gpu 0000") in listed.stdout
    assert listed.stdout.count("UUID: GPU-") == 7
    for arguments in [(), ("-q",), ("--query-gpu=index", "--format=csv")]:
        done = h100x8.smi(*arguments)
        assert done.returncode == 15
        assert message in done.stdout
    assert h100x8.ask(ASK_NVML) == {"error": 15}
    assert h100x8.ask(ASK_CUDA)["count"] == 7


def test_a_gpu_whose_values_are_lost_ends_with_zero(h100x8: Machine) -> None:
    h100x8.fault("gpu-lost", "5 values\n")
    done = h100x8.smi("--query-gpu=index,uuid", "--format=csv,noheader")
    assert (done.returncode, done.stdout.splitlines()[5]) == (0, "[GPU is lost], [GPU is lost]")
    assert h100x8.smi("-L").returncode == 15


def test_a_gpu_that_was_not_initialised(h100x8: Machine) -> None:
    h100x8.fault("gpu-not-initialised", "3\n")
    done = h100x8.smi()
    assert done.returncode == 255
    assert done.stdout == "Unable to determine the device handle for GPU0000:61:00.0: Unknown Error\n"
    assert h100x8.smi("-L").stdout.count("UUID: GPU-") == 7
    assert h100x8.ask(ASK_NVML) == {"error": 999}
    answer = h100x8.ask(ASK_CUDA)
    uuids = h100x8.uuids()
    assert (answer["init"], answer["uuids"]) == (0, uuids[:3] + uuids[4:])


def test_the_only_gpu_was_not_initialised(a10: Machine) -> None:
    a10.fault("gpu-not-initialised")  # without an index: GPU 0
    assert a10.smi().returncode == 255
    assert a10.ask(ASK_CUDA)["error"] == "CUDA_ERROR_NO_DEVICE"


@pytest.mark.parametrize(("state", "number"), [("not_started", 1), ("in_progress", 2)])
def test_a_fabric_that_is_not_ready(h100x8: Machine, state: str, number: int) -> None:
    h100x8.write("run/simgpu/fabric", f"{state}\n")
    assert h100x8.ask(ASK_NVML)["fabric"] == [[number, 0]] * 8
    answer = h100x8.ask(ASK_CUDA)
    assert (answer["init"], answer["error"]) == (802, "CUDA_ERROR_SYSTEM_NOT_READY")


def test_a_fabric_means_nothing_without_switches(a10: Machine) -> None:
    a10.write("run/simgpu/fabric", "not_started\n")
    assert a10.ask(ASK_CUDA)["init"] == 0


def test_a_hang_outlives_the_killed_process_until_it_is_switched_off(a10: Machine) -> None:
    a10.fault("smi-hang")
    process = subprocess.Popen([a10.smi_program, "-L"], stdout=subprocess.PIPE, env=a10.environment())
    assert process.stdout is not None
    with process.stdout as pipe:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=2)
        process.kill()
        assert process.wait(timeout=5) == -signal.SIGKILL
        assert select.select([pipe], [], [], 1)[0] == [], "the grandchild does not hold the pipe"
        (a10.faults / "smi-hang").unlink()
        assert select.select([pipe], [], [], 10)[0] == [pipe]
        assert pipe.read() == b""
    assert a10.smi("-L").returncode == 0


# --- device nodes -----------------------------------------------------------------------------------------------------


def test_root_makes_the_nodes_as_the_parameters_say(h100x8: Machine) -> None:
    h100x8.set_params(mode=0o660, gid=44)
    assert h100x8.smi("-L").returncode == 0
    assert h100x8.nodes() == [*(f"nvidia{i}" for i in range(8)), "nvidiactl"]
    assert h100x8.node("nvidiactl") == (0o660, 44, 195, 255)
    assert h100x8.node("nvidia7") == (0o660, 44, 195, 7)


def test_root_mends_mode_and_group(a10: Machine) -> None:
    a10.smi("-L")
    for name in a10.nodes():
        (a10.root / "dev" / name).chmod(0o600)
    a10.set_params(mode=0o660, gid=44)
    a10.smi("-L")
    assert [a10.node(name)[:2] for name in a10.nodes()] == [(0o660, 44)] * 2


def test_nothing_is_made_or_mended_where_the_parameters_forbid_it(a10: Machine) -> None:
    a10.set_params(modify=0)
    assert a10.smi("-L").returncode == 9
    assert a10.nodes() == []
    os.mknod(a10.root / "dev/nvidiactl", stat.S_IFCHR | 0o600, os.makedev(195, 255))
    os.mknod(a10.root / "dev/nvidia0", stat.S_IFCHR | 0o600, os.makedev(195, 0))
    assert a10.smi("-L").returncode == 0
    assert a10.node("nvidiactl")[0] == 0o600


def test_cuda_makes_the_uvm_nodes_for_root(a10: Machine) -> None:
    a10.set_params(mode=0o660, gid=44)
    assert a10.ask(ASK_CUDA)["init"] == 0
    assert a10.node("nvidia-uvm") == (0o666, 0, 511, 0)
    assert a10.node("nvidia-uvm-tools") == (0o666, 0, 511, 1)
    assert a10.node("nvidia0") == (0o660, 44, 195, 0)


def test_cuda_leaves_uvm_nodes_as_udev_made_them(a10: Machine) -> None:
    a10.ask(ASK_CUDA)
    (a10.root / "dev/nvidia-uvm").chmod(0o660)
    a10.ask(ASK_CUDA)
    assert a10.node("nvidia-uvm")[0] == 0o660


def test_an_unprivileged_look_changes_nothing(a10: Machine) -> None:
    assert a10.smi(user=True).returncode == 9
    assert a10.ask(ASK_CUDA, user=True)["init"] == 100
    assert a10.nodes() == []
    a10.smi("-L")
    (a10.root / "dev/nvidia0").chmod(0o604)
    assert a10.smi("-L", user=True).returncode == 4
    assert a10.node("nvidia0")[0] == 0o604


def test_a_user_sees_the_gpus(a10: Machine) -> None:
    a10.smi("-L")
    done = a10.smi("-L", user=True)
    assert (done.returncode, done.stdout) == (0, f"GPU 0: NVIDIA A10 (UUID: {a10.uuids()[0]})\n")


def test_cuda_for_a_user_without_uvm_node(a10: Machine) -> None:
    a10.smi("-L")
    answer = a10.ask(ASK_CUDA, user=True)
    assert (answer["init"], answer["error"]) == (999, "CUDA_ERROR_UNKNOWN")
    a10.ask(ASK_CUDA)
    assert a10.ask(ASK_CUDA, user=True)["init"] == 0


def test_a_control_node_that_a_user_may_not_open(a10: Machine) -> None:
    a10.smi("-L")
    (a10.root / "dev/nvidiactl").chmod(0o600)
    done = a10.smi(user=True)
    assert done.returncode == 4
    assert done.stdout == "Failed to initialize NVML: Insufficient Permissions\n"


def test_the_device_cgroup_denies_the_control_node(a10: Machine) -> None:
    done = a10.smi(denied="nvidiactl")
    assert (done.returncode, done.stdout) == (255, "Failed to initialize NVML: Unknown Error\n")


def test_a_container_sees_only_the_gpus_it_was_given(h100x8: Machine) -> None:
    h100x8.ask(ASK_CUDA)
    h100x8.set_params(modify=0)
    (h100x8.root / "dev/nvidia1").unlink()
    uuids = [uuid for index, uuid in enumerate(h100x8.uuids()) if index not in (1, 6)]
    assert h100x8.ask(ASK_NVML, denied="nvidia6")["uuids"] == uuids
    assert h100x8.ask(ASK_CUDA, denied="nvidia6")["uuids"] == uuids


# --- nvidia-modprobe and nvidia-persistenced --------------------------------------------------------------------------


def install_modprobe(machine: Machine) -> None:
    """A kernel whose modprobe loads the driver, and our nvidia-modprobe."""
    (machine.module / "version").rename(machine.root / "not-loaded")
    machine.write("run/simgpu/devices", "195 nvidia\n")
    version, devices = machine.module / "version", machine.root / "run/simgpu/devices"
    machine.write(
        "sbin/modprobe",
        "#!/bin/sh\ncase $1 in\n"
        f"nvidia) mv {machine.root}/not-loaded {version} ;;\n"
        f"nvidia-uvm) echo '507 nvidia-uvm' >>{devices} ;;\n"
        "*) exit 1 ;;\nesac\n",
    )
    (machine.root / "sbin/modprobe").chmod(0o755)
    shutil.copy(machine.build / "nvidia-modprobe", machine.root / "usr/bin/nvidia-modprobe")


def test_modprobe_loads_and_makes_nodes(a10: Machine) -> None:
    install_modprobe(a10)
    program = a10.root / "usr/bin/nvidia-modprobe"
    assert a10.run(program, "-c", "0", "-c", "255").returncode == 0
    assert a10.nodes() == ["nvidia0", "nvidiactl"]
    assert a10.run(program, "-u", "-c", "0").returncode == 0
    assert a10.node("nvidia-uvm") == (0o666, 0, 507, 0)
    (a10.root / "dev/nvidia-uvm").chmod(0o600)
    assert a10.run(program, "-u", "-c", "0").returncode == 0
    assert a10.node("nvidia-uvm")[0] == 0o666


def test_modprobe_says_when_the_module_cannot_be_loaded(a10: Machine) -> None:
    a10.unload_module()
    done = a10.run(a10.build / "nvidia-modprobe", "-c", "0")
    assert (done.returncode, done.stderr) == (1, "nvidia-modprobe: the module nvidia cannot be loaded\n")
    assert a10.run(a10.build / "nvidia-modprobe", "--nonsense").returncode == 1


def test_root_s_smi_loads_the_module_through_modprobe(a10: Machine) -> None:
    install_modprobe(a10)
    assert a10.smi("-L").returncode == 0
    assert a10.ask(ASK_CUDA)["init"] == 0
    assert "nvidia-uvm" in a10.nodes()


def test_modprobe_without_privileges_has_no_effect(a10: Machine) -> None:
    install_modprobe(a10)
    assert a10.smi("-L", user=True).returncode == 9
    assert a10.nodes() == []


def wait_for(path: Path, there: bool) -> None:
    deadline = time.monotonic() + 10
    while path.exists() != there:
        assert time.monotonic() < deadline, f"{path} does not {'appear' if there else 'go away'}"
        time.sleep(0.02)


@pytest.mark.parametrize(("option", "mode"), [("--persistence-mode", 1), ("--no-persistence-mode", 0)])
def test_persistenced_keeps_the_mode_until_it_ends(a10: Machine, option: str, mode: int) -> None:
    (a10.root / "run/nvidia-persistenced").mkdir()
    pid_file = a10.root / "run/nvidia-persistenced/nvidia-persistenced.pid"
    started = a10.run(a10.build / "nvidia-persistenced", "--user", "nobody", option, "--verbose")
    assert (started.returncode, started.stderr) == (0, "")
    wait_for(pid_file, there=True)
    pid = int(pid_file.read_text(encoding="utf-8"))
    try:
        assert a10.nodes() == ["nvidia0", "nvidiactl"]
        assert Path(f"/proc/{pid}").stat().st_uid == NOBODY
        assert a10.ask(ASK_NVML)["persistence"] == [mode]
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_for(pid_file, there=False)
    assert a10.ask(ASK_NVML)["persistence"] == [0]


def test_persistenced_does_not_start_without_driver(a10: Machine) -> None:
    a10.unload_module()
    done = a10.run(a10.build / "nvidia-persistenced", "--user", "nobody")
    assert done.returncode == 1
    assert "is the nvidia module loaded?" in done.stderr


def test_persistenced_does_not_start_for_an_unknown_user(a10: Machine) -> None:
    done = a10.run(a10.build / "nvidia-persistenced", "--user", "no-such-user")
    assert done.returncode == 1
    assert "there is no user no-such-user" in done.stderr
