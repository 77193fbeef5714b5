# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user side of the driver: libraries, nvidia-smi, NVML and CUDA.

The last three create missing device nodes when root calls them, so they run as nobody, unable to gain rights, in the
groups that the nodes belong to.
"""

from __future__ import annotations

import typing as t

from ..model import LIBRARIES, CudaInit, DeviceNode, Gpu, GpuTool, Library, Reading
from ..parse import cuda as cuda_answer
from ..parse import ldconfig
from ..parse import nvidia_smi as smi_text
from ..parse import nvml as nvml_answer
from . import children
from .children import cuda as cuda_child
from .children import nvml as nvml_child
from .host import Command, Host

#: Where the locked pynvml.py is on a node that the golden role has been to.
AGENT = "/usr/local/lib/goldennode/agent.pyz"


#: A GPU that no persistence daemon keeps awake takes seconds to answer, and eight of them take them one by one.
GPU_SECONDS = 30.0


def groups_of(nodes: Reading[t.Tuple[DeviceNode, ...]]) -> t.Tuple[int, ...]:
    """The groups that open the device nodes; never root's, which opens more."""
    return tuple(sorted({node.gid for node in nodes.value or () if node.gid != 0}))


def libraries(host: Host) -> Reading[t.Dict[str, Library]]:
    """What the linker finds. A link that leads nowhere counts as not there, as it does for the linker."""
    command = host.run(["ldconfig", "-p"], timeout=10)
    if command.rc != 0:
        return Reading.unknown(command.error or "ldconfig -p ended with code %s" % command.rc)
    paths = ldconfig.parse(command.stdout, host.machine(), LIBRARIES)
    if paths.value is None:
        return Reading.unknown(paths.error or "")
    found: t.Dict[str, Library] = {}
    for name, path in paths.value.items():
        target = host.realpath(path)
        if not target.known:
            return Reading.unknown(target.error or "")
        if target.value is not None:
            found[name] = Library(name=name, path=path, target=target.value)
    return Reading(found)


def smi(host: Host, groups: t.Sequence[int]) -> Reading[GpuTool]:
    """The query first. Where it stops at a GPU that cannot be asked, -L tells of the others."""

    def ask(*arguments: str) -> Command:
        return host.run(["nvidia-smi", *arguments], GPU_SECONDS, unprivileged=True, groups=groups)

    command = ask("--query-gpu=%s" % ",".join(smi_text.FIELDS), "--format=csv,noheader")
    if command.missing:
        return Reading(None)
    if command.error is not None:
        return Reading.unknown(command.error)
    query = smi_text.query(command.stdout, command.stderr, command.rc)
    if query.value is None:
        return query
    gpus = query.value.gpus
    if any(gpu.error and gpu.uuid is None for gpu in gpus):
        command = ask("-L")
        if command.error is not None:
            return Reading.unknown(command.error)
        listing = smi_text.listing(command.stdout, command.stderr, command.rc)
        gpus = _together(gpus, listing.value.gpus if listing.value else ())
    command = ask()
    if command.error is not None:
        return Reading.unknown(command.error)
    banner = smi_text.banner(command.stdout, command.stderr, command.rc).value or GpuTool()
    return Reading(GpuTool(driver=query.value.driver or banner.driver, cuda=banner.cuda, gpus=gpus))


def _together(query: t.Sequence[Gpu], listing: t.Sequence[Gpu]) -> t.Tuple[Gpu, ...]:
    """The GPUs of the query, and those of the list that the query did not come to."""
    uuids = {gpu.uuid for gpu in query if gpu.uuid}
    broken = {(gpu.index, gpu.pci_address) for gpu in query if gpu.error}
    indexes = {gpu.index for gpu in query if gpu.index >= 0}
    more = [
        gpu
        for gpu in listing
        if gpu.uuid not in uuids and (gpu.index, gpu.pci_address) not in broken and gpu.index not in indexes
    ]
    return tuple(sorted([*query, *more], key=lambda gpu: gpu.index))


def nvml(host: Host, groups: t.Sequence[int]) -> Reading[GpuTool]:
    argv = ["python3", "-I", "-c", children.source(nvml_child), "nvml", AGENT]
    command = host.run(argv, GPU_SECONDS, unprivileged=True, groups=groups)
    if command.error is not None and not command.timed_out:
        return Reading.unknown(command.error)
    stopped = (command.error or "").replace("python3", "NVML") if command.timed_out else ""
    return nvml_answer.parse(command.stdout, command.stderr, command.rc, stopped)


def cuda(host: Host, groups: t.Sequence[int]) -> Reading[CudaInit]:
    argv = ["python3", "-I", "-c", children.source(cuda_child), "cuda"]
    command = host.run(argv, GPU_SECONDS, unprivileged=True, groups=groups)
    if command.error is not None:
        return Reading.unknown(command.error.replace("python3", "CUDA"))
    return cuda_answer.parse(command.stdout, command.stderr, command.rc)
