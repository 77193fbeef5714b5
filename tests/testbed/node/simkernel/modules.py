# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loading and unloading of modules: the real modprobe says what would be loaded, and only the loading is played."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import json
import os
import re
import shlex
import subprocess
import sys
import typing as t
from pathlib import Path

from . import firmware, nvidia, udev, views
from .machine import RUN, log, present_devices, running_kernel

#: The diverted originals, links to kmod under their own names.
REAL = Path("/usr/lib/simkernel/real")
LOADED = RUN / "modules.json"
LOCK = RUN / "lock"

#: Programs that keep the nvidia module in use while they run.
HOLDERS = ("nvidia-persiste", "nv-fabricmanage")  # as in /proc/PID/comm, 15 characters


@dataclasses.dataclass(frozen=True)
class Module:
    """A loaded module as lsmod shows it."""

    name: str
    size: int
    depends: t.Tuple[str, ...] = ()
    version: str = ""


def loaded() -> t.Dict[str, Module]:
    if not LOADED.exists():
        return {}
    return {m["name"]: Module(**{**m, "depends": tuple(m["depends"])}) for m in json.loads(LOADED.read_text())}


def _store(modules: t.Dict[str, Module]) -> None:
    LOADED.write_text(json.dumps([dataclasses.asdict(module) for module in modules.values()]))


def users(name: str) -> t.List[str]:
    return [module.name for module in loaded().values() if name in module.depends]


class Refused(Exception):
    """The kernel, or an install command, would not let a module in; ``code`` is the errno."""

    def __init__(self, module: str, code: int, notes: str = "") -> None:
        super().__init__(module)
        self.module = module
        self.code = code
        self.notes = notes


class NotRemoved(Exception):
    """A module cannot be unloaded; the text says why, in kmod's words."""


def resolve(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What the real modprobe would do: lines ``insmod PATH OPTIONS``, ``builtin NAME`` and ``install COMMAND``."""
    return subprocess.run(
        [str(REAL / "modprobe"), "--show-depends", *arguments], capture_output=True, text=True, check=False
    )


def follow(plan: str, kernel: str, run_commands: bool = True) -> None:
    """Load everything that ``plan``, the answer of resolve(), names."""
    for line in plan.splitlines():
        action, _, rest = line.strip().partition(" ")
        if action == "insmod":
            path, *options = shlex.split(rest)
            insert(path, dict(option.partition("=")[::2] for option in options), kernel)
        elif action == "install" and run_commands:
            _run_command(rest)


def _run_command(command: str) -> None:
    done = subprocess.run(["/bin/sh", "-c", command], check=False)
    if done.returncode != 0:
        note = "Error running install command '%s': retcode %d" % (command, done.returncode)
        raise Refused(command, errno.EINVAL, note)


def insert(path: str, options: t.Dict[str, str], kernel: str) -> None:
    """Load one module file, as insmod does; nothing happens when it is loaded already."""
    name = re.sub(r"\.ko(\.\w+)?$", "", os.path.basename(path)).replace("-", "_")
    if os.geteuid() != 0:
        raise Refused(name, errno.EPERM)
    info = _modinfo(path) if name.startswith("nvidia") else {}
    with _locked():
        modules = loaded()
        if name in modules:
            return
        code = _admit(name, info) or _check(name, info, kernel) or _start(name, info, options)
        if code:
            raise Refused(name, code)
        modules[name] = Module(name, os.path.getsize(path), _depends(name, info), info.get("version", ""))
        _store(modules)
        taint = ("P" if info.get("license") == "NVIDIA" else "") + "OE" if info else ""
        views.show_module(name, info.get("version", ""), taint)
    announce(name)


def announce(name: str) -> None:
    """Tell udev of a loaded module, of its driver, and of the GPUs that it has bound."""
    udev.announce_module(name)
    if name == "nvidia":
        udev.announce_driver(name)
    for device in present_devices():
        if name == "nvidia" and views.driver_of(device.address) == name:
            udev.announce_bound(device.address, name)


@contextlib.contextmanager
def _locked() -> t.Iterator[None]:
    """One change of the kernel's state at a time."""
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _modinfo(path: str) -> t.Dict[str, str]:
    answer = subprocess.run([str(REAL / "modinfo"), path], capture_output=True, text=True, check=True).stdout
    return {key: value.strip() for key, _, value in (line.partition(":") for line in answer.splitlines())}


def _depends(name: str, info: t.Dict[str, str]) -> t.Tuple[str, ...]:
    """NVIDIA's other modules use symbols of nvidia.ko, whether or not the file of a stand-in says so."""
    named = [word.replace("-", "_") for word in info.get("depends", "").split(",") if word]
    if name.startswith("nvidia_") and "nvidia" not in named:
        named.append("nvidia")
    return tuple(named)


def _admit(name: str, info: t.Dict[str, str]) -> int:
    """What the kernel refuses whatever a module is made for: those of its command line, and foreign signatures.

    Modules of the distribution are signed by a key that the kernel was built with; only foreign ones are looked at.
    """
    words = Path("/proc/cmdline").read_text().split()
    refused = [word.partition("=")[2] for word in words if word.startswith("module_blacklist=")]
    if name in ",".join(refused).split(","):
        log("Module %s is blacklisted" % name)
        return errno.EPERM
    objection = firmware.objection(info) if info else None
    if objection:
        log("Loading of %s is rejected" % objection)
        return errno.EKEYREJECTED
    return 0


def _check(name: str, info: t.Dict[str, str], kernel: str) -> int:
    """What the kernel looks at before a module's own code runs: built for it, and of one build with what is loaded."""
    if not info:
        return 0
    built_for = info.get("vermagic", "").partition(" ")[0]
    if built_for != kernel:
        log("%s: version magic '%s' should be '%s'" % (name, info.get("vermagic", ""), kernel))
        return errno.ENOEXEC
    core = loaded().get("nvidia")
    if core is not None and core.version != info.get("version", ""):
        log("%s: disagrees about version of symbol nvidia_register_module" % name)
        return errno.EINVAL
    return 0


def _start(name: str, info: t.Dict[str, str], options: t.Dict[str, str]) -> int:
    """The module's own start."""
    if name == "nvidia":
        log("nvidia: loading out-of-tree module taints kernel.")
        return nvidia.load_nvidia(info.get("version", ""), info.get("license", ""), options)
    if name == "nouveau":
        return 0 if options.get("modeset") == "0" else nvidia.load_nouveau()
    if name == "nvidia_uvm":
        major = views.register_major("nvidia-uvm")
        log("nvidia-uvm: Loaded the UVM driver, major device number %d." % major)
    if name == "nvidia_modeset":
        views.register_major("nvidia-modeset", 195)
        log("nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms  " + info.get("version", ""))
    return 0


def remove(name: str) -> None:
    """Unload a module that nobody uses."""
    name = name.replace("-", "_")
    if os.geteuid() != 0:
        raise NotRemoved("could not remove '%s': Operation not permitted" % name)
    with _locked():
        modules = loaded()
        if name not in modules:
            raise NotRemoved("Module %s is not currently loaded" % name)
        if users(name):
            raise NotRemoved("Module %s is in use by: %s" % (name, " ".join(users(name))))
        if name == "nvidia" and _programs_that_hold():
            raise NotRemoved("Module %s is in use" % name)
        _stop(name)
        del modules[name]
        _store(modules)
        views.hide_module(name)


def _stop(name: str) -> None:
    """The module's own end."""
    if name == "nvidia":
        nvidia.unload_nvidia()
    elif name == "nouveau":
        views.remove_driver("nouveau")
    elif name == "nvidia_uvm":
        views.unregister_majors("nvidia-uvm")
        log("nvidia-uvm: Unloaded the UVM driver.")
    elif name == "nvidia_modeset":
        views.unregister_majors("nvidia-modeset")


def _programs_that_hold() -> t.List[str]:
    names = []
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            names.append(comm.read_text().strip())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [name for name in names if name in HOLDERS]


# --- the commands --------------------------------------------------------------------------------------------------

#: Options with which modprobe only answers a question.
QUESTIONS = re.compile(
    r"^(-[a-zA-Z]*[DcnRVh][a-zA-Z]*|--(show-depends|show-?config|dry-run|show|resolve-alias|version|help|dump-modversions"
    r"|show-modversions|show-exports))$"
)
REMOVE = re.compile(r"^(-[a-zA-Z]*r[a-zA-Z]*|--remove)$")
QUIET = re.compile(r"^(-[a-zA-Z]*q[a-zA-Z]*|--quiet)$")


def modprobe(arguments: t.Sequence[str]) -> int:
    if any(QUESTIONS.match(argument) for argument in arguments):
        os.execv(str(REAL / "modprobe"), ["modprobe", *arguments])
    quiet = any(QUIET.match(argument) for argument in arguments)
    try:
        if any(REMOVE.match(argument) for argument in arguments):
            for name in (argument for argument in arguments if not argument.startswith("-")):
                _remove_with_unused(name)
            return 0
        plan = resolve(*arguments)
        sys.stderr.write(plan.stderr)
        follow(plan.stdout, running_kernel())
    except NotRemoved as refusal:
        if not quiet:
            _complain("modprobe: FATAL: %s" % refusal)
        return 1
    except Refused as refusal:
        if not quiet:
            if refusal.notes:
                _complain("modprobe: ERROR: %s" % refusal.notes)
            _complain("modprobe: ERROR: could not insert '%s': %s" % (refusal.module, os.strerror(refusal.code)))
        return 1
    return plan.returncode


def _complain(text: str) -> None:
    print(text, file=sys.stderr)


def _remove_with_unused(name: str) -> None:
    """modprobe -r also takes out the modules that only ``name`` needed."""
    name = name.replace("-", "_")
    below = loaded()[name].depends if name in loaded() else ()
    if name not in loaded():
        known = subprocess.run([str(REAL / "modinfo"), name], capture_output=True, check=False)
        if known.returncode != 0:
            raise NotRemoved("Module %s not found." % name)
        return
    remove(name)
    for module in below:
        if module in loaded() and not users(module) and module.startswith("nvidia") and not _programs_that_hold():
            remove(module)


def rmmod(arguments: t.Sequence[str]) -> int:
    code = 0
    for name in (argument for argument in arguments if not argument.startswith("-")):
        try:
            remove(name)
        except NotRemoved as refusal:
            _complain("rmmod: ERROR: %s" % refusal)
            code = 1
    return code


def insmod(arguments: t.Sequence[str]) -> int:
    words = [argument for argument in arguments if not argument.startswith("-")]
    if not words:
        _complain("insmod: ERROR: missing filename.")
        return 1
    path, options = words[0], dict(word.partition("=")[::2] for word in words[1:])
    if not os.path.exists(path):
        _complain("insmod: ERROR: could not load module %s: No such file or directory" % path)
        return 1
    try:
        insert(path, options, running_kernel())
    except Refused as refusal:
        _complain("insmod: ERROR: could not insert module %s: %s" % (path, os.strerror(refusal.code)))
        return 1
    return 0


def lsmod(_arguments: t.Sequence[str]) -> int:
    print("%-19s %8s  %s" % ("Module", "Size", "Used by"))
    for module in reversed(list(loaded().values())):
        names = users(module.name)
        print("%-19s %8d  %d %s" % (module.name, module.size, len(names), ",".join(names)))
    return 0
