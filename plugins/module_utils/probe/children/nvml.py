# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Child: ask NVML for the driver and every GPU. Arguments: ``nvml PATH``, where PATH may hold pynvml.

JSON lines, each written before the next question is asked, as any question may be the one that hangs.
"""

# A child process answers by printing; there is no module.
# pylint: disable=ansible-bad-function

from __future__ import annotations

import ctypes
import json
import sys
import typing as t
import zipimport

#: Codes of NVML's: an argument that is not understood, no such device here, no such function in this library, a
#: structure of another version.
BAD_ARGUMENT, NOT_FOUND, NO_FUNCTION, OTHER_VERSION = 2, 6, 13, 25

#: Field that tells what would bring the GPU back, from driver 570 on.
RECOVERY_ACTION = 230


def say(**line: t.Any) -> None:
    print(json.dumps(line), flush=True)


def text(value: t.Any) -> t.Any:
    """Older nvidia-ml-py returns bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


class Once(zipimport.zipimporter):
    """Tells pynvml's file by its name. zipimport compiles all of it for that, and once more to run it."""

    def get_filename(self, fullname: str) -> str:
        return "%s/%s.py" % (self.archive, fullname)


def main(path: str) -> None:
    sys.path_hooks.insert(0, Once)
    sys.path.insert(0, path)
    try:
        import pynvml as nvml  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        say(error="nvidia-ml-py cannot be imported: %s" % error)
        return
    try:
        nvml.nvmlInit()
        driver = text(nvml.nvmlSystemGetDriverVersion())
        cuda = nvml.nvmlSystemGetCudaDriverVersion_v2()
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        say(error="%s (code %s)" % (error, error.value))
        return
    say(driver=driver, cuda=cuda, count=count)
    for index in range(count):
        say(asking=index)
        gpu, handle = ask(nvml, index)
        say(gpu=gpu)
        if "error" not in gpu:
            state(nvml, index, handle)


def ask(nvml: t.Any, index: int) -> t.Tuple[t.Dict[str, t.Any], t.Any]:
    gpu: t.Dict[str, t.Any] = {"index": index}
    handle = None
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        gpu["uuid"] = text(nvml.nvmlDeviceGetUUID(handle))
        gpu["name"] = text(nvml.nvmlDeviceGetName(handle))
        gpu["pci"] = text(nvml.nvmlDeviceGetPciInfo(handle).busId)
    except nvml.NVMLError as error:
        gpu["error"] = "%s (code %s)" % (error, error.value)
    return gpu, handle


def state(nvml: t.Any, index: int, handle: t.Any) -> None:
    """A line before each question and one after it, with the answer or the code of NVML's error."""
    for name, question in QUESTIONS:
        say(asking=index, of=name)
        try:
            say(state=index, of=name, value=question(nvml, handle))
        except nvml.NVMLError as error:
            say(state=index, of=name, error=str(error), code=error.value)
        except AttributeError as error:  # this nvidia-ml-py is older than the question
            say(state=index, of=name, error=str(error), code=NO_FUNCTION)
        except Exception as error:  # of this one question; the others still have answers
            say(state=index, of=name, error="%s: %s" % (type(error).__name__, error))


def mig_devices(nvml: t.Any, handle: t.Any) -> t.List[t.List[t.Any]]:
    """Of each device the ids of its GPU instance and compute instance, its place, which is the second number of the
    name that a container asks by (0:2), and its UUID. Instances themselves are shown to root alone.
    """
    if nvml.nvmlDeviceGetMigMode(handle)[0] != 1:
        return []
    found = []
    for at in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            device = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, at)
        except nvml.NVMLError as error:
            if error.value == NOT_FOUND:
                continue
            raise
        ids = [nvml.nvmlDeviceGetGpuInstanceId(device), nvml.nvmlDeviceGetComputeInstanceId(device)]
        found.append([*ids, at, text(nvml.nvmlDeviceGetUUID(device))])
    return found


def uncorrected(nvml: t.Any, handle: t.Any, since: int) -> int:
    return int(nvml.nvmlDeviceGetTotalEccErrors(handle, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, since))


def recovery(nvml: t.Any, handle: t.Any) -> int:
    answer = nvml.nvmlDeviceGetFieldValues(handle, [RECOVERY_ACTION])[0]
    if answer.nvmlReturn != 0:
        raise nvml.NVMLError(answer.nvmlReturn)
    return int(answer.value.uiVal)


def fabric(nvml: t.Any, handle: t.Any) -> t.Dict[str, int]:
    """The newest form of the answer that this library knows: older ones tell less."""
    for kind in ("c_nvmlGpuFabricInfo_v3_t", "c_nvmlGpuFabricInfo_v2_t"):
        try:
            info = getattr(nvml, kind)()
            nvml.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(info))
        except AttributeError:
            continue
        except nvml.NVMLError as error:
            if error.value in (BAD_ARGUMENT, NO_FUNCTION, OTHER_VERSION):
                continue
            raise
        return told(info)
    info = nvml.c_nvmlGpuFabricInfo_t()
    nvml.nvmlDeviceGetGpuFabricInfo(handle, ctypes.byref(info))
    return told(info)


def told(info: t.Any) -> t.Dict[str, int]:
    # The state is one byte in the library, and more in nvidia-ml-py.
    names = (("status", "status"), ("health", "healthMask"), ("summary", "healthSummary"))
    return {"state": info.state & 0xFF, **{name: int(getattr(info, field, 0)) for name, field in names}}


def clock_events(nvml: t.Any, handle: t.Any) -> int:
    try:
        return int(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
    except nvml.NVMLError as error:
        if error.value != NO_FUNCTION:
            raise
    return int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))


def pcie(nvml: t.Any, handle: t.Any) -> t.List[int]:
    return [
        nvml.nvmlDeviceGetCurrPcieLinkGeneration(handle),
        nvml.nvmlDeviceGetMaxPcieLinkGeneration(handle),
        nvml.nvmlDeviceGetCurrPcieLinkWidth(handle),
        nvml.nvmlDeviceGetMaxPcieLinkWidth(handle),
    ]


def processes(nvml: t.Any, handle: t.Any) -> t.List[t.Dict[str, t.Any]]:
    try:
        found = nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle)
    except nvml.NVMLError as error:
        if error.value != NO_FUNCTION:
            raise
        found = nvml.nvmlDeviceGetComputeRunningProcesses_v2(handle)
    return [{"pid": one.pid, "memory": one.usedGpuMemory, "name": program(nvml, one.pid)} for one in found]


def program(nvml: t.Any, pid: int) -> t.Optional[str]:
    """The program's name alone: what follows it are arguments, and those may be secrets."""
    try:
        words = str(text(nvml.nvmlSystemGetProcessName(pid))).split()
    except nvml.NVMLError:
        return None
    return words[0].rpartition("/")[2] if words else None


#: In the order in which they are asked: what decides whether a GPU is fit comes before what makes it slow.
QUESTIONS: t.Tuple[t.Tuple[str, t.Callable[[t.Any, t.Any], t.Any]], ...] = (
    ("mig", lambda nvml, handle: nvml.nvmlDeviceGetMigMode(handle)),
    ("mig_devices", mig_devices),
    ("ecc", lambda nvml, handle: nvml.nvmlDeviceGetEccMode(handle)),
    ("ecc_volatile", lambda nvml, handle: uncorrected(nvml, handle, nvml.NVML_VOLATILE_ECC)),
    ("ecc_aggregate", lambda nvml, handle: uncorrected(nvml, handle, nvml.NVML_AGGREGATE_ECC)),
    ("remapped", lambda nvml, handle: nvml.nvmlDeviceGetRemappedRows(handle)),
    ("retired_pending", lambda nvml, handle: nvml.nvmlDeviceGetRetiredPagesPendingStatus(handle)),
    ("recovery", recovery),
    ("fabric", fabric),
    ("clock_events", clock_events),
    ("persistence", lambda nvml, handle: nvml.nvmlDeviceGetPersistenceMode(handle)),
    ("pcie", pcie),
    ("utilization", lambda nvml, handle: nvml.nvmlDeviceGetUtilizationRates(handle).gpu),
    ("processes", processes),
)


if __name__ == "__main__":
    main(sys.argv[2])
