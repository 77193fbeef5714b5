# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nvidia-container-runtime-hook: Docker's way for `--gpus`.

The container's namespaces and cgroup exist already, so that files are bound into its root from within, and its device
rules are changed behind the engine's back.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import stat
import subprocess
import sys
import typing as t
from pathlib import Path

from . import cdi_hook, config, nvml, oci, release, runtime, spec
from .log import ToolkitError, line

_CGROUPS = Path("/sys/fs/cgroup")

# setns(2) and bpf(2), from the kernel's headers
_CLONE_NEWNS = 0x00020000
_SYS_BPF = 321
_PROG_LOAD, _PROG_ATTACH, _PROG_DETACH, _PROG_GET_FD_BY_ID, _PROG_QUERY = 5, 8, 9, 13, 16
_PROG_TYPE_CGROUP_DEVICE = 15
_CGROUP_DEVICE = 6
_ALLOW_MULTI = 2
#: r0 = 1; exit
_ALLOW_EVERYTHING = b"\xb7\x00\x00\x00\x01\x00\x00\x00\x95\x00\x00\x00\x00\x00\x00\x00"


def main(argv: t.Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="nvidia-container-runtime-hook", allow_abbrev=False)
    parser.add_argument(
        "--version", action="version", version="NVIDIA Container Runtime Hook version %s" % release.VERSION
    )
    parser.add_argument("when", choices=("prestart", "poststart", "poststop"))
    if parser.parse_args(argv).when != "prestart":
        return 0
    try:
        prestart(json.load(sys.stdin))
    except (ToolkitError, OSError) as error:
        line("error", str(error))
        return 1
    return 0


def prestart(state: t.Mapping[str, t.Any]) -> None:
    bundle = Path(state["bundle"])
    container, wanted = oci.load(bundle), config.load()
    request = runtime.asked_for(container, wanted)
    if not request:
        return
    gpus = [] if request == "none" else runtime.requested(request, nvml.gpus())
    common = spec.common_edits(spec.driver_version())
    nodes = [node["path"] for node in (*common["deviceNodes"], *spec.device_edits(gpus)["deviceNodes"])]
    if not config.get(wanted, "nvidia-container-cli.no-cgroups", False):
        _allow_devices(_cgroup_of(state["pid"]))
    _in_mount_namespace(state["pid"], lambda: _populate(oci.root_of(bundle, container), common["mounts"], nodes))


def _in_mount_namespace(pid: int, work: t.Callable[[], None]) -> None:
    """In a child: the namespace cannot be left again."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with open("/proc/%d/ns/mnt" % pid, "rb") as namespace:
                _set_namespace(namespace.fileno())
            work()
            status = 0
        except (ToolkitError, OSError) as error:
            line("error", str(error))
        finally:
            os._exit(status)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise ToolkitError("mount error: the driver's files could not be laid into the container")


def _set_namespace(descriptor: int) -> None:
    """os.setns, which Python has since 3.12 only."""
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "setns failed: %s" % os.strerror(ctypes.get_errno()))


def _populate(root: Path, mounts: t.Sequence[t.Mapping[str, str]], nodes: t.Sequence[str]) -> None:
    for mount in mounts:
        source, place = Path(mount["hostPath"]), root / mount["containerPath"].lstrip("/")
        if source.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        subprocess.run(["mount", "--rbind", "--options", "ro", str(source), str(place)], check=True)
    for node in nodes:
        status = os.stat(node)
        place = root / node.lstrip("/")
        place.parent.mkdir(exist_ok=True)  # of the capabilities of MIG devices
        if not place.exists():
            os.mknod(place, stat.S_IFCHR, status.st_rdev)
        os.chmod(place, stat.S_IMODE(status.st_mode))
        os.chown(place, status.st_uid, status.st_gid)
    cdi_hook.update_ldcache(root, ())


def _cgroup_of(pid: int) -> Path:
    for entry in Path("/proc/%d/cgroup" % pid).read_text(encoding="utf-8").splitlines():
        if entry.startswith("0::"):
            return _CGROUPS / entry[3:].lstrip("/")
    raise ToolkitError("process %d is in no cgroup of version 2" % pid)


def _allow_devices(cgroup: Path) -> None:
    """Put one program that allows every device in the place of the engine's; the real hook keeps the engine's rules
    and adds its own in front."""
    directory = os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for program in _attached(directory):
            _bpf(_PROG_DETACH, [directory, program, _CGROUP_DEVICE, 0])
            os.close(program)
        program = _load_program()
        _bpf(_PROG_ATTACH, [directory, program, _CGROUP_DEVICE, _ALLOW_MULTI])
        os.close(program)
    finally:
        os.close(directory)


def _attached(directory: int) -> t.List[int]:
    """Descriptors of the device programs of this very cgroup."""
    identifiers = (ctypes.c_uint32 * 64)()
    address = ctypes.addressof(identifiers)
    words = [directory, _CGROUP_DEVICE, 0, 0, address & 0xFFFFFFFF, address >> 32, len(identifiers)]
    _, answer = _bpf(_PROG_QUERY, words)
    return [_bpf(_PROG_GET_FD_BY_ID, [identifiers[place]])[0] for place in range(answer[6])]


def _load_program() -> int:
    code = ctypes.create_string_buffer(_ALLOW_EVERYTHING, len(_ALLOW_EVERYTHING))
    license_name = ctypes.create_string_buffer(b"GPL")
    words = [_PROG_TYPE_CGROUP_DEVICE, len(_ALLOW_EVERYTHING) // 8]
    for address in (ctypes.addressof(code), ctypes.addressof(license_name)):
        words += [address & 0xFFFFFFFF, address >> 32]
    return _bpf(_PROG_LOAD, words)[0]


def _bpf(command: int, words: t.Sequence[int]) -> t.Tuple[int, t.Sequence[int]]:
    """The call's result, and its argument block after the call."""
    block = (ctypes.c_uint32 * 32)(*words)
    result = ctypes.CDLL(None, use_errno=True).syscall(_SYS_BPF, command, block, ctypes.sizeof(block))
    if result < 0:
        raise OSError(ctypes.get_errno(), "bpf(%d) failed: %s" % (command, os.strerror(ctypes.get_errno())))
    return int(result), list(block)
