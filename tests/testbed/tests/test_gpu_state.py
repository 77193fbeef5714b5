# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a GPU says of its state, well and with each fault: to nvidia-ml-py, to the unmodified nvidia-smi and to CUDA."""

from __future__ import annotations

import json
import os
import sys
import typing as t
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import nodetools  # noqa: F401 (it is what finds simkernel and simnodes)
import pytest
from fakemachine import TESTBED, Machine
from simkernel import machine as player
from simkernel import mig, views, xid
from simnodes import faults
from simnodes.pool import Node
from test_fakes import ASK_CUDA

# Prints, for each GPU, every answer or the name of the error. A pair that nvidia-ml-py cannot name stays a number.
ASK_STATE = """
import ctypes, json, pynvml as n

def ask(function, *arguments):
    try:
        return function(*arguments)
    except n.NVMLError as error:
        return type(error).__name__

def field(handle, number):
    value = n.nvmlDeviceGetFieldValues(handle, [number])[0]
    if value.nvmlReturn:
        return type(n.NVMLError(value.nvmlReturn)).__name__
    return value.value.ullVal if value.valueType == 3 else value.value.uiVal

def fabric(handle, structure, version, function):
    info = structure()
    if version:
        info.version = version
    function(handle, ctypes.byref(info))
    return [info.state, info.status, *(getattr(info, name) for name in ("healthMask", "healthSummary")
                                       if hasattr(info, name))]

def migs(handle):
    found = []
    for index in range(n.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            mig = n.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
        except n.NVMLError as error:
            return found + [type(error).__name__]
        parent = n.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig)
        by_uuid = n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(mig))
        found.append([
            n.nvmlDeviceGetUUID(mig), n.nvmlDeviceGetName(mig), n.nvmlDeviceGetMemoryInfo(mig).total >> 20,
            n.nvmlDeviceGetGpuInstanceId(mig), n.nvmlDeviceGetComputeInstanceId(mig),
            n.nvmlDeviceIsMigDeviceHandle(mig).value, n.nvmlDeviceGetIndex(by_uuid),
            n.nvmlDeviceGetUUID(parent), ask(n.nvmlDeviceGetTemperature, mig, 0),
        ])
    return found

def instances(handle):
    try:
        profile = n.nvmlDeviceGetGpuInstanceProfileInfo(handle, n.NVML_GPU_INSTANCE_PROFILE_1_SLICE)
    except n.NVMLError as error:
        return type(error).__name__
    array, count = (n.c_nvmlGpuInstance_t * profile.instanceCount)(), ctypes.c_uint()
    n.nvmlDeviceGetGpuInstances(handle, profile.id, array, ctypes.byref(count))
    found = []
    for instance in array[:count.value]:
        info = n.nvmlGpuInstanceGetInfo(instance)
        inner, inner_count = (n.c_nvmlComputeInstance_t * 8)(), ctypes.c_uint()
        n.nvmlGpuInstanceGetComputeInstances(instance, 0, inner, ctypes.byref(inner_count))
        found.append([info.id, info.profileId, info.placement.start, inner_count.value,
                      n.nvmlComputeInstanceGetInfo_v2(inner[0]).id])
    return found

def state(handle):
    return {
        "mig": ask(n.nvmlDeviceGetMigMode, handle),
        "mig_max": n.nvmlDeviceGetMaxMigDeviceCount(handle),
        "mig_devices": migs(handle),
        "instances": instances(handle),
        "ecc": ask(n.nvmlDeviceGetEccMode, handle),
        "errors": [ask(n.nvmlDeviceGetTotalEccErrors, handle, kind, since) for kind in (0, 1) for since in (0, 1)],
        "dram_errors": ask(n.nvmlDeviceGetMemoryErrorCounter, handle, 1, 0, 2),
        "remapped": ask(n.nvmlDeviceGetRemappedRows, handle),
        "retired_pending": ask(n.nvmlDeviceGetRetiredPagesPendingStatus, handle),
        "retired": ask(n.nvmlDeviceGetRetiredPages, handle, 1),
        "reasons": n.nvmlDeviceGetCurrentClocksEventReasons(handle),
        "reasons_before_535": n.nvmlDeviceGetCurrentClocksThrottleReasons(handle),
        "supported_reasons": n.nvmlDeviceGetSupportedClocksEventReasons(handle),
        "celsius": n.nvmlDeviceGetTemperature(handle, 0),
        "persistence": n.nvmlDeviceGetPersistenceMode(handle),
        "link": [n.nvmlDeviceGetCurrPcieLinkGeneration(handle), n.nvmlDeviceGetMaxPcieLinkGeneration(handle),
                 n.nvmlDeviceGetCurrPcieLinkWidth(handle), n.nvmlDeviceGetMaxPcieLinkWidth(handle)],
        "fabric": [
            fabric(handle, n.c_nvmlGpuFabricInfo_t, 0, n.nvmlDeviceGetGpuFabricInfo),
            fabric(handle, n.c_nvmlGpuFabricInfo_v2_t, n.nvmlGpuFabricInfo_v2, n.nvmlDeviceGetGpuFabricInfoV),
            fabric(handle, n.c_nvmlGpuFabricInfo_v3_t, n.nvmlGpuFabricInfo_v3, n.nvmlDeviceGetGpuFabricInfoV),
        ],
        "fields": {number: field(handle, number) for number in (1, 4, 6, 12, 30, 31, 143, 144, 145, 226, 227, 230)},
        "unknown_field": field(handle, 9999),
        "processes": [[p.pid, n.nvmlSystemGetProcessName(p.pid), p.usedGpuMemory >> 20, p.gpuInstanceId]
                      for p in n.nvmlDeviceGetComputeRunningProcesses(handle)],
        "utilization": ask(lambda: n.nvmlDeviceGetUtilizationRates(handle).gpu),
    }

n.nvmlInit()
handles = [n.nvmlDeviceGetHandleByIndex(index) for index in range(n.nvmlDeviceGetCount())]
print(json.dumps({"gpus": [state(handle) for handle in handles]}))
"""

NOT_SUPPORTED = "NVMLError_NotSupported"
State = t.Dict[str, t.Any]


def states(machine: Machine) -> list[State]:
    return t.cast("list[State]", machine.ask(ASK_STATE)["gpus"])


def state(machine: Machine) -> State:
    return states(machine)[0]


def changed(machine: Machine, fault: str, content: str = "") -> State:
    """What the first GPU answers otherwise while the fault is on."""
    before = state(machine)
    machine.fault(fault, content)
    after = state(machine)
    return {key: after[key] for key in after if after[key] != before[key]}


# --- well -------------------------------------------------------------------------------------------------------------

WELL = {
    "mig": NOT_SUPPORTED,
    "mig_max": 0,
    "mig_devices": [],
    "instances": NOT_SUPPORTED,
    "ecc": [1, 1],
    "errors": [0, 0, 0, 0],
    "dram_errors": 0,
    "remapped": [0, 0, 0, 0],
    "retired_pending": NOT_SUPPORTED,
    "retired": NOT_SUPPORTED,
    "reasons": 1,
    "reasons_before_535": 1,
    "supported_reasons": 0x1FF,
    "celsius": 31,
    "persistence": 0,
    "link": [4, 4, 16, 16],
    "fabric": [[0, 0], [0, 0, 0], [0, 0, 0, 0]],
    "fields": {
        "1": 1, "4": 0, "6": 0, "12": 0, "30": NOT_SUPPORTED, "31": NOT_SUPPORTED, "143": 0, "144": 0, "145": 0,
        "226": 0, "227": 0, "230": 0,
    },
    "unknown_field": NOT_SUPPORTED,
    "processes": [],
    "utilization": 0,
}  # fmt: skip


def test_a_gpu_that_is_well(a10: Machine) -> None:
    assert states(a10) == [WELL]


def test_gpus_with_mig_and_a_fabric(h100x8: Machine) -> None:
    own = {
        "mig": [0, 0],
        "mig_max": 7,
        "mig_devices": ["NVMLError_NotFound"],
        "link": [5, 5, 16, 16],
        "fabric": [[3, 0], [3, 0, 2], [3, 0, 2, 1]],
    }
    assert states(h100x8) == [WELL | own] * 8


def test_pages_are_retired_where_rows_are_not_remapped(bare: Callable[[str], Machine]) -> None:
    p40 = bare("p40")
    asked = state(p40)
    assert (asked["remapped"], asked["retired_pending"], asked["retired"]) == (NOT_SUPPORTED, 0, [])
    assert [asked["fields"][number] for number in ("30", "31", "143")] == [0, 0, NOT_SUPPORTED]
    assert changed(p40, "remap-pending") == {
        "retired_pending": 1,
        "retired": [0x2F4A],
        "fields": asked["fields"] | {"30": 1, "31": 1},
    }


def test_a_card_without_ecc_says_so(a10: Machine) -> None:
    profile = a10.root / "etc/simgpu/profile"
    profile.write_text(profile.read_text(encoding="utf-8").replace(" mig=no", " mig=no ecc=no"), encoding="utf-8")
    for fault in ("ecc-uncorrected", "remap-pending", "remap-failed"):
        a10.fault(fault)
    asked = state(a10)
    for question in ("ecc", "dram_errors", "remapped", "retired_pending"):
        assert asked[question] == NOT_SUPPORTED
    assert asked["errors"] == [NOT_SUPPORTED] * 4
    assert [asked["fields"][number] for number in ("1", "4", "31", "144")] == [NOT_SUPPORTED] * 4
    queried = a10.smi("--query-gpu=ecc.mode.current,ecc.errors.uncorrected.volatile.total", "--format=csv,noheader")
    assert queried.stdout == "[N/A], [N/A]\n"


def test_the_recovery_action_is_told_since_branch_570(a10: Machine) -> None:
    a10.install_libraries("550.163.01")
    a10.load_module("550.163.01")
    assert state(a10)["fields"]["230"] == NOT_SUPPORTED
    told = changed(a10, "xid-95")["fields"]
    assert (told["226"], told["230"]) == (1, NOT_SUPPORTED)


# --- faults -----------------------------------------------------------------------------------------------------------


def test_an_uncorrected_error_is_counted(a10: Machine) -> None:
    assert changed(a10, "ecc-uncorrected") == {
        "errors": [0, 0, 1, 1],
        "dram_errors": 1,
        "fields": WELL["fields"] | {"4": 1, "6": 1, "12": 1},  # type: ignore[operator]
    }
    query = "ecc.errors.uncorrected.volatile.total,ecc.errors.uncorrected.aggregate.total"
    assert a10.smi(f"--query-gpu={query}", "--format=csv,noheader").stdout == "1, 1\n"


@pytest.mark.parametrize(
    ("fault", "rows", "fields", "words"),
    [
        ("remap-pending", [0, 1, 1, 0], {"143": 1, "144": 1}, ["0", "1", "Yes", "No"]),
        ("remap-failed", [0, 8, 0, 1], {"143": 8, "145": 1}, ["0", "8", "No", "Yes"]),
    ],
)
def test_rows_to_be_remapped(
    a10: Machine, fault: str, rows: list[int], fields: dict[str, int], words: list[str]
) -> None:
    assert changed(a10, fault) == {"remapped": rows, "fields": WELL["fields"] | fields}  # type: ignore[operator]
    told = ElementTree.fromstring(a10.smi("-q", "-x").stdout).find("gpu/remapped_rows")
    assert told is not None
    assert [element.text for element in told][:4] == words


def test_a_fault_is_one_gpu_s(h100x8: Machine) -> None:
    h100x8.fault("remap-pending", "3\n")
    assert [asked["remapped"][2] for asked in states(h100x8)] == [0, 0, 0, 1, 0, 0, 0, 0]


def test_a_hot_gpu_is_slowed_down_by_the_hardware(a10: Machine) -> None:
    assert changed(a10, "throttled") == {"reasons": 0x49, "reasons_before_535": 0x49, "celsius": 96}
    names = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_power_cap")
    query = ",".join(f"clocks_event_reasons.{name}" for name in names)
    told = a10.smi(f"--query-gpu={query}", "--format=csv,noheader").stdout
    assert told == "Active, Active, Not Active, Not Active\n"


def test_a_narrow_link(a10: Machine) -> None:
    assert changed(a10, "link-narrow") == {"link": [4, 4, 8, 16]}


def test_the_driver_wants_a_gpu_reset_after_an_uncontained_error(a10: Machine) -> None:
    assert changed(a10, "xid-95") == {"fields": WELL["fields"] | {"226": 1, "230": 1}}  # type: ignore[operator]
    told = ElementTree.fromstring(a10.smi("-q", "-x").stdout)
    assert told.findtext("gpu/gpu_reset_status/reset_required") == "Yes"
    assert told.findtext("gpu/gpu_reset_status/drain_and_reset_recommended") == "No"


@pytest.mark.parametrize("fault", ["xid-48", "xid-63", "xid-94"])
def test_of_other_errors_only_the_log_tells(a10: Machine, fault: str) -> None:
    assert changed(a10, fault) == {}


@pytest.mark.parametrize(("word", "number"), [("0", 2), ("not_started", 1)])
def test_a_fabric_that_does_not_get_ready(h100x8: Machine, word: str, number: int) -> None:
    h100x8.write("run/simgpu/fabric", "completed\n")
    assert changed(h100x8, "fabric-not-ready", f"{word}\n") == {
        "fabric": [[number, 0], [number, 0, 0], [number, 0, 0, 0]]
    }
    assert h100x8.ask(ASK_CUDA)["error"] == "CUDA_ERROR_SYSTEM_NOT_READY"


def test_a_fabric_with_a_broken_route(h100x8: Machine) -> None:
    assert changed(h100x8, "fabric-unhealthy") == {"fabric": [[3, 0], [3, 0, 0x12], [3, 0, 0x12, 2]]}
    assert states(h100x8)[1]["fabric"][2] == [3, 0, 2, 1]


def test_a_process_uses_the_gpu(a10: Machine) -> None:
    pid = os.getpid()
    assert changed(a10, "gpu-busy", f"0 {pid}\n") == {
        "processes": [[pid, str(Path("/proc/self/exe").resolve()), 1024, 0xFFFFFFFF]],
        "reasons": 0,
        "reasons_before_535": 0,
        "utilization": 97,
    }
    used = a10.smi("--query-gpu=memory.used,utilization.gpu", "--format=csv,noheader").stdout
    assert used == "1024 MiB, 97 %\n"


# --- MIG --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def a100(bare: Callable[[str], Machine]) -> Machine:
    return bare("a100-mig")


def mig_uuids(machine: Machine) -> list[str]:
    lines = (machine.root / "etc/simgpu/profile").read_text(encoding="utf-8").splitlines()
    return [line.split(" uuid=", 1)[1].split()[0] for line in lines if line.startswith("mig ")]


def test_mig_devices(a100: Machine) -> None:
    asked, (gpu,), uuids = state(a100), a100.uuids(), mig_uuids(a100)
    name, instances = "NVIDIA A100 80GB PCIe MIG 1g.10gb", [7, 8, 9, 11, 12, 13, 14]
    assert all(uuid.startswith("MIG-") for uuid in uuids)
    assert len(set(uuids)) == 7
    assert (asked["mig"], asked["mig_max"], asked["utilization"]) == ([1, 1], 7, NOT_SUPPORTED)
    assert asked["mig_devices"] == [
        [uuids[place], name, 9728, instance, 0, 1, place, gpu, "NVMLError_InvalidArgument"]
        for place, instance in enumerate(instances)
    ]
    starts = [4, 5, 6, 0, 1, 2, 3]
    assert asked["instances"] == [[instance, 19, starts[place], 1, 0] for place, instance in enumerate(instances)]


def test_rows_cannot_be_asked_for_while_there_are_mig_devices(a100: Machine) -> None:
    assert state(a100)["remapped"] == NOT_SUPPORTED
    assert changed(a100, "remap-pending") == {}
    assert changed(a100, "mig-empty")["remapped"] == [0, 1, 1, 0]


def test_smi_lists_mig_devices_below_their_gpu(a100: Machine) -> None:
    listed = a100.smi("-L")
    devices = [f"  MIG 1g.10gb     Device  {place}: (UUID: {uuid})" for place, uuid in enumerate(mig_uuids(a100))]
    gpu = f"GPU 0: NVIDIA A100 80GB PCIe (UUID: {a100.uuids()[0]})"
    assert (listed.returncode, listed.stdout.splitlines()) == (0, [gpu, *devices])


def test_smi_s_table_and_tree_have_mig_devices(a100: Machine) -> None:
    table = a100.smi()
    rows = [line.split()[1:5] for line in table.stdout.splitlines() if line.startswith("|  0 ") and "9728MiB" in line]
    expected = [["0", str(gi), "0", str(place)] for place, gi in enumerate([7, 8, 9, 11, 12, 13, 14])]
    assert (table.returncode, rows) == (0, expected)
    text = a100.smi("-q")
    for complaint in ("Not Found", "Unknown Error", "Insufficient", "Invalid Argument", "ERR!"):
        assert complaint not in text.stdout
    tree = ElementTree.fromstring(a100.smi("-q", "-x").stdout)
    assert tree.findtext("gpu/mig_mode/current_mig") == "Enabled"
    assert [mig.findtext("gpu_instance_id") for mig in tree.findall("gpu/mig_devices/mig_device")] == [
        "7", "8", "9", "11", "12", "13", "14"
    ]  # fmt: skip


def test_smi_lists_instances(a100: Machine) -> None:
    listed = a100.smi("mig", "-lgi")
    rows = [line.split()[1:7] for line in listed.stdout.splitlines() if "MIG 1g.10gb" in line]
    assert listed.returncode == 0
    assert rows[0] == ["0", "MIG", "1g.10gb", "19", "7", "4:1"]
    assert len(rows) == 7


def as_cuda_names(uuids: list[str]) -> list[str]:
    """The question writes GPU before each."""
    return [uuid.replace("MIG-", "GPU-") for uuid in uuids]


@pytest.mark.parametrize(("driver", "seen"), [("580.159.03", 7), ("565.57.01", 1)])
def test_cuda_has_every_mig_device_since_570_and_one_before(a100: Machine, driver: str, seen: int) -> None:
    a100.load_module(driver)
    a100.install_libraries(driver)
    answer = a100.ask(ASK_CUDA)
    assert (answer["init"], answer["names"]) == (0, ["NVIDIA A100 80GB PCIe MIG 1g.10gb"] * seen)
    assert answer["uuids"] == as_cuda_names(mig_uuids(a100)[:seen])


@pytest.mark.parametrize(("driver", "seen"), [("580.159.03", 8), ("565.57.01", 1)])
def test_whole_gpus_beside_mig_devices(h100x8: Machine, driver: str, seen: int) -> None:
    profile = h100x8.root / "etc/simgpu/profile"
    lines = profile.read_text(encoding="utf-8").replace(" mig=no", " mig=off").splitlines()
    lines[lines.index(next(line for line in lines if line.startswith("gpu index=3")))] += " mig=on"
    place = lines.index(next(line for line in lines if line.startswith("gpu index=4")))
    lines.insert(place, "mig gpu=3 gi=7 ci=0 uuid=MIG-1f1de3a2-0000-5000-8000-00000000aaaa profile=1g.10gb start=4")
    profile.write_text("\n".join(lines) + "\n", encoding="utf-8")
    h100x8.load_module(driver)
    h100x8.install_libraries(driver)
    answer = h100x8.ask(ASK_CUDA)
    assert answer["init"] == 0
    uuids = t.cast("list[str]", answer["uuids"])
    assert (len(uuids), uuids[0]) == (seen, "GPU-1f1de3a2-0000-5000-8000-00000000aaaa")
    assert h100x8.uuids()[3] not in uuids


def test_a_process_sees_the_mig_devices_whose_nodes_it_may_open(a100: Machine) -> None:
    """A container has the nodes of its own devices alone: 66 and 67 are those of the first."""
    assert a100.smi("-L").stdout.count("MIG-") == 7
    for denied in ("nvidia-cap66", "nvidia-cap67"):
        assert mig_uuids(a100)[0] not in a100.smi("-L", denied=denied).stdout
        assert a100.ask(ASK_CUDA, denied=denied)["uuids"] == as_cuda_names(mig_uuids(a100)[1:])
    for name in (a100.root / "dev/nvidia-caps").iterdir():
        name.chmod(0o400)
    assert "MIG-" not in a100.smi("-L", user=True).stdout
    assert a100.ask(ASK_CUDA, user=True)["error"] == "CUDA_ERROR_NO_DEVICE"


def test_mig_without_instances_is_no_device_for_cuda(a100: Machine) -> None:
    a100.fault("mig-empty")
    asked = state(a100)
    assert (asked["mig"], asked["mig_devices"], asked["instances"]) == ([1, 1], ["NVMLError_NotFound"], [])
    assert a100.smi("-L").stdout == f"GPU 0: NVIDIA A100 80GB PCIe (UUID: {a100.uuids()[0]})\n"
    assert "No MIG devices found" in a100.smi().stdout
    assert a100.ask(ASK_CUDA)["error"] == "CUDA_ERROR_NO_DEVICE"


def test_mig_is_switched_on_where_it_can_be(h100x8: Machine) -> None:
    assert changed(h100x8, "mig-empty")["mig"] == [1, 1]
    assert [asked["mig"][0] for asked in states(h100x8)] == [1, 0, 0, 0, 0, 0, 0, 0]
    assert h100x8.ask(ASK_CUDA)["count"] == 7


def test_how_many_mig_devices_a_card_can_have(bare: Callable[[str], Machine]) -> None:
    rtx = bare("rtxpro6000")
    assert state(rtx)["mig_max"] == 4
    assert changed(rtx, "mig-empty") == {"mig": [1, 1], "utilization": NOT_SUPPORTED}


def test_a_card_without_mig_has_no_mode(a10: Machine) -> None:
    assert changed(a10, "mig-empty") == {}
    assert changed(a10, "mig-pending") == {}


def test_a_mode_that_waits_for_a_reset(h100x8: Machine) -> None:
    assert changed(h100x8, "mig-pending") == {"mig": [0, 1]}


CAPS = [1, 2, 66, 67, 75, 76, 84, 85, 102, 103, 111, 112, 120, 121, 129, 130]


# What the stand-in for the container toolkit gives of these GPUs. There are no nodes in /dev here.
ASK_TOOLKIT = """
import json, sys
from pathlib import Path
sys.path.insert(0, %r)
from nvct import nvml, runtime, spec
nvml._MINORS = Path(%r)
spec._is_device, spec._needed_gid = lambda path: True, lambda path: None
spec.driver_version = lambda: "580.159.03"
text = spec.dump(spec.generate())
def asked(words):
    return [node["path"] for node in spec.device_edits(runtime.requested(words, nvml.gpus()))["deviceNodes"]]
print(json.dumps({
    "names": [device["name"] for device in spec.generate()["devices"]], "text": text,
    **{words: asked(words) for words in sys.argv[1:]},
}))
"""


def toolkit(machine: Machine, *asked: str) -> dict[str, t.Any]:
    minors = machine.root / "mig-minors"
    minors.write_text("".join("%s %d\n" % entry for entry in mig.all_minors()), encoding="utf-8")
    script = ASK_TOOLKIT % (str(TESTBED / "vendor/files/toolkit"), str(minors))
    done = machine.run(sys.executable, "-c", script, *asked)
    assert done.returncode == 0, done.stderr
    return t.cast("dict[str, t.Any]", json.loads(done.stdout))


def test_the_toolkit_gives_mig_devices_by_their_names(a100: Machine) -> None:
    uuids = mig_uuids(a100)
    of_first = ["/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap66", "/dev/nvidia-caps/nvidia-cap67"]
    told = toolkit(a100, "all", "0:0", uuids[6])
    assert told["names"] == [name for place, uuid in enumerate(uuids) for name in (f"0:{place}", uuid)] + ["all"]
    assert told["0:0"] == of_first
    assert told[uuids[6]] == ["/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap129", "/dev/nvidia-caps/nvidia-cap130"]
    assert (told["all"][:3], len(told["all"])) == (of_first, 15)
    assert '  name: "0:0"\n' in told["text"]


def test_the_toolkit_names_no_gpu_whose_mig_has_no_instance(h100x8: Machine) -> None:
    h100x8.fault("mig-empty")
    told = toolkit(h100x8, "all")
    assert told["names"] == [name for at in range(1, 8) for name in (str(at), h100x8.uuids()[at])] + ["all"]
    assert told["all"] == [f"/dev/nvidia{at}" for at in range(1, 8)]


def test_root_makes_the_nodes_of_mig_s_capabilities(a100: Machine) -> None:
    assert a100.smi("-L").returncode == 0
    assert "nvidia-caps" in a100.nodes()
    made = {path.name for path in (a100.root / "dev/nvidia-caps").iterdir()}
    assert made == {f"nvidia-cap{minor}" for minor in CAPS}
    assert a100.node("nvidia-caps/nvidia-cap1") == (0o400, 0, 237, 1)
    assert a100.node("nvidia-caps/nvidia-cap66") == (0o444, 0, 237, 66)


def test_modprobe_makes_the_node_of_a_capability(a100: Machine) -> None:
    capabilities = a100.root / "run/simgpu/proc/driver/nvidia/capabilities/mig"
    capabilities.mkdir(parents=True)
    (capabilities / "monitor").write_text("DeviceFileMinor: 2\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
    program = a100.build / "nvidia-modprobe"
    done = a100.run(program, "-f", "/proc/driver/nvidia/capabilities/mig/monitor")
    assert (done.returncode, a100.node("nvidia-caps/nvidia-cap2")) == (0, (0o444, 0, 237, 2))
    done = a100.run(program, "-f", "/proc/driver/nvidia/capabilities/mig/config")
    assert done.returncode == 1
    assert done.stderr == "nvidia-modprobe: there is no capability /proc/driver/nvidia/capabilities/mig/config\n"
    assert a100.run(program, "-f", "/etc/passwd").returncode == 1


# --- the kernel player's part -----------------------------------------------------------------------------------------


def gpus_of(profile: str) -> list[player.Device]:
    devices = [player.parse_device(line) for line in Node("n", profile).hardware().splitlines()]
    return [device for device in devices if device is not None and device.is_gpu]


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The player's files below a directory of the test, and the faults of a machine in it."""
    monkeypatch.setattr(player, "FAULTS", tmp_path / "faults")
    monkeypatch.setattr(mig, "PROFILE", tmp_path / "profile")
    monkeypatch.setattr(mig, "CAPABILITIES", tmp_path / "proc/nvidia/capabilities")
    monkeypatch.setattr(mig, "MINORS", tmp_path / "proc/nvidia-caps/mig-minors")
    monkeypatch.setattr(views, "PCI_DEVICES", tmp_path)
    (tmp_path / "faults").mkdir()
    (tmp_path / "proc").mkdir()
    (tmp_path / "profile").write_text(Node("n", "a100-mig").hardware(), encoding="utf-8")
    return tmp_path


def test_capabilities_are_shown_below_proc(proc: Path) -> None:
    mig.show(gpus_of("a100-mig"))
    found = {
        int(path.read_text().split()[1]): str(path.relative_to(mig.CAPABILITIES))
        for path in mig.CAPABILITIES.rglob("*")
        if path.is_file()
    }
    assert sorted(found) == CAPS, "the same nodes that the libraries make"
    assert (found[1], found[66], found[67]) == ("mig/config", "gpu0/mig/gi7/access", "gpu0/mig/gi7/ci0/access")
    config = (mig.CAPABILITIES / "mig/config").read_text()
    assert config == "DeviceFileMinor: 1\nDeviceFileMode: 256\nDeviceFileModify: 1\n"
    (proc / "faults/mig-empty").write_text("0\n")
    mig.show(gpus_of("a100-mig"))
    assert {path.name for path in mig.CAPABILITIES.iterdir()} == {"mig"}
    mig.hide()
    assert not mig.MINORS.parent.exists()


def test_the_minors_of_all_instances_that_might_be(proc: Path) -> None:
    """As the driver numbers them: /proc/driver/nvidia-caps/mig-minors of machines with A100s says the same."""
    mig.show(gpus_of("a100-mig"))
    lines = mig.MINORS.read_text().splitlines()
    assert lines[:5] == ["config 1", "monitor 2", "gpu0/gi0/access 3", "gpu0/gi0/ci0/access 4", "gpu0/gi0/ci1/access 5"]
    assert {"gpu0/gi7/access 66", "gpu0/gi8/access 75", "gpu4/gi7/access 606", "gpu4/gi7/ci0/access 607"} <= set(lines)


def test_each_xid_names_its_gpu(proc: Path) -> None:
    gpus = gpus_of("h100x8")
    assert [xid.lines(gpu) for gpu in gpus] == [[]] * 8
    (proc / "faults/xid-95").write_text("2\n")
    (proc / "faults/xid-63").write_text("2\n")
    assert [line[:37] for line in xid.lines(gpus[2])] == [
        "NVRM: Xid (PCI:0000:52:00): 63, pid='",
        "NVRM: Xid (PCI:0000:52:00): 95, pid='",
        "NVRM: Xid (PCI:0000:52:00): 154, GPU ",
    ]
    assert xid.lines(gpus[1]) == []


def test_every_xid_is_a_fault_of_the_command_line() -> None:
    assert set(xid.LINES) == {name for name in faults.FAULTS if name.startswith("xid-")}


@pytest.mark.parametrize(
    ("profile", "speed", "generation"), [("a10", "16.0", 4), ("h100x8", "32.0", 5), ("p40", "8.0", 3)]
)
def test_the_link_is_in_sysfs_and_in_the_configuration_space(
    proc: Path, profile: str, speed: str, generation: int
) -> None:
    device = gpus_of(profile)[0]

    def shown() -> list[str]:
        files = ("max_link_speed", "max_link_width", "current_link_speed", "current_link_width")
        return [(proc / device.address / name).read_text().strip() for name in files]

    def status() -> int:
        return int.from_bytes((proc / device.address / "config").read_bytes()[0x8A:0x8C], "little")

    views._add_device(device)
    views._show_link(device)
    assert shown() == [f"{speed} GT/s PCIe", "16"] * 2
    assert status() == generation | 16 << 4
    assert (proc / device.address / "config").read_bytes()[0x84:0x88] == bytes([generation, 0x01, 0, 0])
    (proc / "faults/link-narrow").write_text("0\n")
    views._show_link(device)
    assert shown() == [f"{speed} GT/s PCIe", "16", f"{speed} GT/s PCIe", "8"]
    assert status() == generation | 8 << 4
