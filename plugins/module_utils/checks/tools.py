# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the words of nvidia-smi, NVML and CUDA mean: from an error to a cause, a fix and who can mend it."""

from __future__ import annotations

import re
import typing as t

from ..model import CudaInit
from .wanted import RELOAD, RUN_SITE


class Meaning(t.NamedTuple):
    """``pattern`` is searched in a tool's words, without regard to case; the first that matches explains them.

    ``vague``: they do not say where the fault is, so device nodes and the kernel log are asked first.
    """

    pattern: str
    cause: str
    fix: str
    repair: str
    vague: bool = False


#: Ordered: the special before the general. A tool's wording is no interface, so what matches none stays ``unknown``.
TOOL_ERRORS = (
    Meaning(
        r"timed out|gave no answer within",
        "it hangs: the driver does not answer.",
        "Drain the node and power-cycle it: a process that waits in the driver cannot be killed. journalctl -k may "
        "name the GPU.",
        "manual",
    ),
    Meaning(
        r"driver/library version mismatch|LIB_RM_VERSION_MISMATCH",
        "the loaded module and the libraries are of two versions.",
        "%s It is due after an upgrade of the driver." % RELOAD,
        "reload",
    ),
    Meaning(
        r"blocked by the operating system",
        "the operating system keeps the GPU from it: on WSL Linux driver packages shadow the driver of Windows, "
        "elsewhere a device rule of a control group denies it.",
        "On WSL remove the Linux driver packages; elsewhere run it outside of a restricted service.",
        "manual",
    ),
    Meaning(
        r"couldn't communicate with the NVIDIA driver|driver not loaded|DRIVER_NOT_LOADED|modprobe: (?:FATAL|ERROR)",
        "it reaches no driver: the module is not loaded or /dev/nvidiactl is missing.",
        RUN_SITE,
        "roles",
    ),
    Meaning(
        r"insufficient permissions|NO_PERMISSION",
        "an ordinary user may not open the device nodes.",
        RUN_SITE,
        "roles",
    ),
    Meaning(
        r"libnvidia-ml\.so|LIBRARY_NOT_FOUND|NVML Shared Library Not Found|libcuda\.so",
        "the driver's library is not found.",
        RUN_SITE,
        "roles",
    ),
    Meaning(
        r"no devices were found|no GPU",
        "the driver is loaded and has no GPU that it can use.",
        "Look at the NVRM lines of journalctl -k: they say why the driver refused the GPU.",
        "manual",
    ),
    Meaning(
        r"requires? (?:a )?reset|reset required|RESET_REQUIRED",
        "after an error the GPU takes no work before it is reset.",
        "Stop what uses it and run nvidia-smi --gpu-reset; or reboot the node, which site.yml does with "
        "golden_allow_reboot=true.",
        "reboot",
    ),
    Meaning(
        r"issue with GPU interrupts|interrupt (?:request )?issue|IRQ_ISSUE",
        "the interrupts of the GPU do not reach the driver.",
        "Take pci=nomsi and NVreg_EnableMSI=0 away where they are set, else power-cycle the node and update its "
        "firmware.",
        "manual",
    ),
    Meaning(
        r"insufficient (?:external )?power|power cables",
        "a power cable of a card is not connected.",
        "Drain the node, switch it off and connect every power cable of its GPUs.",
        "manual",
    ),
    Meaning(
        r"function not found|FUNCTION_NOT_FOUND|doesn't implement this function",
        "it is newer than the libnvidia-ml.so.1 that it finds: one of them is no file of the packages.",
        "Look for the copy (type -a nvidia-smi; ldconfig -p | grep libnvidia-ml) and remove it.",
        "manual",
    ),
    Meaning(
        r"no UUID but|^ERR!",
        "it could not read the GPU.",
        "Look for Xid lines in journalctl -k and reboot the node; if it stays so, have the card looked at.",
        "manual",
        vague=True,
    ),
    Meaning(
        r"unknown error|ERROR_UNKNOWN",
        "the driver gives no reason.",
        "Look for Xid and NVRM lines in journalctl -k, and reboot the node if there are none.",
        "manual",
        vague=True,
    ),
)

#: CUresult -> (cause, fix, repair), for cuInit and cuDeviceGetCount.
CUDA_ERRORS: t.Dict[int, t.Tuple[str, str, str]] = {
    3: ("CUDA is not initialised.", "Look at journalctl -k.", "manual"),
    34: (
        "libcuda.so.1 is a stub of the toolkit, not the driver's library.",
        "Take the stubs folder off the library path.",
        "manual",
    ),
    46: (
        "The GPU is held by another process (compute mode) or is not usable.",
        "End the process that holds it: nvidia-smi lists it. Where several shall share the GPU: nvidia-smi -c 0.",
        "manual",
    ),
    100: (
        "CUDA sees no device: its nodes are missing, CUDA_VISIBLE_DEVICES hides it, or MIG is on without an instance.",
        "Run nvidia-smi -L. With MIG on, create the instances or switch MIG off; where the GPUs are listed, unset "
        "CUDA_VISIBLE_DEVICES.",
        "manual",
    ),
    101: ("CUDA refuses the number of the device.", "Check nvidia-smi -L.", "manual"),
    802: (
        "The NVLink fabric is not ready: the fabric manager does not run, or its version is not the driver's.",
        "Check nvidia-fabricmanager.service; its package must be at exactly the driver's version. %s" % RUN_SITE,
        "roles",
    ),
    803: ("libcuda and the loaded module are of two versions.", RELOAD, "reload"),
    804: (
        "A libcuda of another version (cuda-compat) is used on a GPU that does not allow forward compatibility.",
        "Use an image for the CUDA of the host's driver, a newer driver, or take compat off the library path.",
        "manual",
    ),
    999: (
        "The driver gave an unknown error: a device node that CUDA needs cannot be opened, or a GPU is broken.",
        "Look at journalctl -k for Xid lines; reboot the node if there are none.",
        "manual",
    ),
}


def explain(words: str) -> t.Optional[Meaning]:
    """The meaning of a tool's words, or None where they say nothing that is known."""
    return next((meaning for meaning in TOOL_ERRORS if re.search(meaning.pattern, words, re.IGNORECASE)), None)


def cuda_said(answer: CudaInit) -> str:
    """What CUDA answered, in words. It counts devices only where it starts."""
    if answer.code:
        return "cuInit %d%s" % (answer.code, " " + answer.error if answer.error else "")
    return cuda_wanted(answer.devices)


def cuda_wanted(devices: t.Optional[int]) -> str:
    if devices is None:
        return "cuInit 0, devices not counted"
    return "cuInit 0, %d device%s" % (devices, "" if devices == 1 else "s")


def explain_cuda(code: int, name: t.Optional[str]) -> t.Tuple[str, str, str]:
    fallback = ("CUDA failed with %s." % (name or code), "Look at journalctl -k for what the driver says.", "manual")
    return CUDA_ERRORS.get(code, fallback)
