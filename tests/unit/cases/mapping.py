# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what a report shows to what the node of the report answers: one table, key by key.

Each function puts its value into a healthy machine, as the command, the file or the entry in which the probe would meet
it. The order of the table is the order in which they are applied: what the node is, then what is said of it.
"""

from __future__ import annotations

import datetime
import json
import re
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import PciDevice
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import initramfs as content
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import secure_boot
from ansible_collections.goldennode.gpu.tests.unit.cases.container import FOLDER
from ansible_collections.goldennode.gpu.tests.unit.cases.machine import BOOTED, Machine

Input = t.Mapping[str, t.Any]
Put = t.Callable[[Machine, t.Any, Input], None]

#: NVML's own words for what nvidia-smi says, and its codes.
_NVML = {
    "Driver/library version mismatch": 18,
    "GPU access blocked by the operating system": 17,
    "Insufficient Permissions": 4,
    "Unknown Error": 999,
    "Driver Not Loaded": 9,
}


# --- the node --------------------------------------------------------------------------------------------------------


def uname_r(machine: Machine, release: str, case: Input) -> None:
    machine.write("/proc/sys/kernel/osrelease", release + "\n")


def kernel_without_headers(machine: Machine, words: str, case: Input) -> None:
    """The kernel that is to boot is installed, and the module is built for the one that runs."""
    found = re.search(r"for kernel (\S+) was skipped", words)
    assert found
    running, ahead = case["uname_r"], found[1]
    for path in [path for path in machine.files if ahead in path]:
        machine.write(path.replace(ahead, running), machine.files[path].decode())
        if path.startswith("/lib/modules/"):
            del machine.files[path]
    there = machine.answers.pop("modinfo %s nvidia" % ahead)
    machine.answer("modinfo %s nvidia" % running, stdout=there["stdout"].replace(ahead, running))
    said = "modinfo: ERROR: Module nvidia not found.\n"
    machine.answer("modinfo %s nvidia" % ahead, 1, stderr=said)
    machine.answer("modprobe %s" % ahead, 1, stderr="modprobe: FATAL: Module nvidia not found.\n")
    machine.answer("dkms status", stdout="nvidia/%s, %s, x86_64: installed\n" % (machine.driver, running))


def boot_time(machine: Machine, moment: str, case: Input) -> None:
    machine.booted(_seconds(moment))


def cards(machine: Machine, words: t.Sequence[str], case: Input) -> None:
    """``ADDRESS VENDOR:DEVICE [DRIVER]``; a driver of - is none."""
    machine.cards([_card(*word.split()) for word in words])


def lspci(machine: Machine, text: str, case: Input) -> None:
    found = re.search(r"^(\S+) .*\[(\d{4})\]: .*\[(10de):(\w{4})\]", text)
    driver = re.search(r"Kernel driver in use: (\S+)", text)
    assert found
    machine.cards([PciDevice("0000:" + found[1], found[4], found[2], driver[1] if driver else None)])


def gpu(machine: Machine, name: str, case: Input) -> None:
    """The address stands in the log."""
    device = {"GB10 (Blackwell)": "2e12", "GeForce (consumer)": "2786"}[name]
    told = re.search(r"\(PCI:([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2})\)", case.get("dmesg", ""))
    machine.cards([PciDevice(told[1] + ".0" if told else "0000:17:00.0", device, "0302", "nvidia")])


def lspci_gpu_count(machine: Machine, count: int, case: Input) -> None:
    machine.cards([PciDevice("0000:%02x:00.0" % (0x17 + at), "2236", "0302", "nvidia") for at in range(count)])


def as_many_as_on_pci(machine: Machine, count: int, case: Input) -> None:
    assert count == len(machine.gpus), "the machine has a node and a line of nvidia-smi for each function on PCI"


def lsmod(machine: Machine, text: str, case: Input) -> None:
    for name in (line.split()[0] for line in text.splitlines()):
        machine.directories.add("/sys/module/" + name)
        if name in ("nouveau", "nvidiafb"):
            machine.not_loaded()
            for device in machine.functions:
                machine.links["/sys/bus/pci/devices/%s/driver" % device.address] = "/sys/bus/pci/drivers/" + name


# --- the driver ------------------------------------------------------------------------------------------------------


def find_lib_modules(machine: Machine, text: str, case: Input) -> None:
    paths = text.split()
    ours = [path for path in paths if "/%s/" % machine.kernel in path and path.endswith("/nvidia.ko")]
    if not ours:
        machine.no_module()
    for path in paths:
        if path.endswith(".ko"):
            machine.write(path, "a module")
        else:
            machine.directories.add(path)


def proc_driver_nvidia_version(machine: Machine, text: str, case: Input) -> None:
    machine.write("/proc/driver/nvidia/version", text)
    found = re.search(r"  (\d+\.\d+(?:\.\d+)?)  ", text)
    assert found
    machine.write("/sys/module/nvidia/version", found[1] + "\n")


def sys_module_nvidia_version(machine: Machine, version: str, case: Input) -> None:
    machine.loaded(version)


def modinfo_version(machine: Machine, version: str, case: Input) -> None:
    at = case.get("dpkg_upgrade_time")
    machine.module_on_disk(version, _seconds(at) if at else BOOTED - 3600)


def modinfo_license(machine: Machine, licence: str, case: Input) -> None:
    machine.flavour = "proprietary" if licence == "NVIDIA" else "open"
    machine.module_on_disk(machine.driver, license=licence)
    machine.loaded(machine.driver)


def modinfo_signer(machine: Machine, signer: str, case: Input) -> None:
    machine.module_on_disk(machine.driver, signer=signer)


def libnvidia_ml_target(machine: Machine, text: str, case: Input) -> None:
    name, _arrow, target = text.partition(" -> ")
    machine.links["%s/%s" % (FOLDER, name)] = "%s/%s" % (FOLDER, target)


def dkms_status(machine: Machine, text: str, case: Input) -> None:
    if text == "command not found":
        machine.absent("dkms", "dkms status")
    else:
        machine.answer("dkms status", stdout=text.rstrip("\n") + "\n")


def make_log(machine: Machine, text: str, case: Input) -> None:
    """DKMS has the driver's source, and no module came of it."""
    machine.no_module()
    machine.answer("dkms status", stdout="nvidia/%s: added\n" % machine.driver)
    machine.write("/var/lib/dkms/nvidia/%s/build/make.log" % machine.driver, text)


def module_not_loaded(machine: Machine, words: str, case: Input) -> None:
    """modprobe's own words reach no file: what the probe meets is a driver that is not there."""
    machine.not_loaded()


def nvidia_smi(machine: Machine, value: t.Any, case: Input) -> None:
    """What it prints and its code belong together; NVML and CUDA say the same in their own way."""
    stdout, stderr = case.get("nvidia_smi", ""), case.get("nvidia_smi_stderr", "")
    rc = case.get("nvidia_smi_rc", 0)
    said = re.search(r"Failed to initialize NVML: (.+)", stdout + stderr)
    if said:
        words = said[1].strip()
        machine.smi_fails(rc or _NVML[words], stdout, stderr)
        machine.nvml_fails(words, _NVML[words])
        machine.cuda_fails(*((803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH") if "mismatch" in words else (100, "NO_DEVICE")))
    elif "No devices were found" in stdout + stderr:
        machine.no_gpu_answers()
    elif stdout or stderr or rc:
        machine.smi_fails(rc or 9, stdout, stderr)
        machine.nvml_fails("Driver Not Loaded", 9)


def banner(machine: Machine, text: str, case: Input) -> None:
    machine.answer("nvidia-smi", stdout=text + "\n")


def driver_and_cuda(machine: Machine, driver: str, case: Input) -> None:
    machine.tools(driver, case.get("banner_cuda", "13.0"))


def dmesg(machine: Machine, text: str, case: Input) -> None:
    machine.log(text)


def cuda(machine: Machine, text: str, case: Input) -> None:
    """In each container; on the host too where the report has nothing to do with an image."""
    code, name = _cuda(text)
    answer = {"code": code, "error": name, "devices": 0}
    if "journal" in case:
        machine.cuda_fails(code, name)
    for one in machine.containers.values():
        one.cuda = {**one.cuda, **answer}


def cuda_host(machine: Machine, text: str, case: Input) -> None:
    """On the host and in each container: it is the same driver."""
    machine.cuda_fails(*_cuda(text))
    cuda(machine, text, case)


def journal(machine: Machine, text: str, case: Input) -> None:
    if "nv-fabricmanager" in text:
        machine.answer("journal of nvidia-fabricmanager.service", stdout=text.partition(": ")[2] + "\n")
    else:
        machine.docker_does_not_start(text)


# --- what is loaded at boot ------------------------------------------------------------------------------------------


def modprobe_d(machine: Machine, text: str, case: Input) -> None:
    machine.write("/etc/modprobe.d/nvidia.conf", text)


def blacklist_nouveau(machine: Machine, text: str, case: Input) -> None:
    machine.write("/etc/modprobe.d/blacklist-nouveau.conf", text)


def initramfs_has(machine: Machine, modules: t.Sequence[str], case: Input) -> None:
    nouveau = any(name.startswith("nouveau") for name in modules)
    machine.initramfs = content.Content(nouveau, bool(case["initramfs_modprobe_d"]))


def mokutil_sb_state(machine: Machine, text: str, case: Input) -> None:
    on = text.startswith("SecureBoot enabled")
    machine.write(secure_boot.VARIABLE, "\x06\0\0\0" + ("\x01" if on else "\0"))
    machine.answer("mokutil --sb-state", stdout=text + "\n")


def mokutil_list_enrolled(machine: Machine, text: str, case: Input) -> None:
    """By name: the certificates themselves are not in the report."""
    names = re.findall(r"CN=([^,]+)", text)
    shown = "[key %d]\nSHA1 Fingerprint: %s\nCertificate:\n    Serial Number: 4660 (0x1234)\n    Subject: CN=%s\n"
    colons = ":".join(["5d"] * 20)
    listed = (shown % (at + 1, colons, name) for at, name in enumerate(names))
    machine.answer("mokutil --list-enrolled", stdout="\n".join(listed))


def dkms_framework_conf(machine: Machine, text: str, case: Input) -> None:
    machine.write("/etc/dkms/framework.conf", text + "\n")
    certificate = re.sub(r".*=(.*)\.key", r"\1.pub", text)
    machine.write(certificate, "a certificate")
    machine.answer("mokutil --test-key", 0, "%s is not enrolled\n" % certificate)


# --- packages --------------------------------------------------------------------------------------------------------


def dpkg(machine: Machine, text: str, case: Input) -> None:
    """Lines of dpkg -l: state, name, version."""
    for line in text.splitlines():
        state, name, *version = line.split()
        machine.packages[name] = (version[0] if version else "510.47.03-0ubuntu1", name in machine.packages)
        machine.statuses[name] = {"ii": "installed", "iF": "half-configured", "iU": "unpacked"}[state]


def apt_mark_showhold(machine: Machine, text: str, case: Input) -> None:
    held = set(text.split())
    of_driver = set(machine.desired.lock["driver"]["packages"])
    machine.packages = {
        name: (version, name in held if name in of_driver else was) for name, (version, was) in machine.packages.items()
    }


def history_log(machine: Machine, text: str, case: Input) -> None:
    """What it has upgraded is on the disk now."""
    for name, version in re.findall(r"(\S+?):amd64 \([^,]+, ([^)]+)\)", text):
        machine.packages[name] = (version, False)


def installed(machine: Machine, text: str, case: Input) -> None:
    """``name-version`` of each, as rpm -q prints it and as our lock names the same packages."""
    for name, version in re.findall(r"([a-z0-9-]+?)-(\d[\w.]*-\d+)", text):
        machine.packages[name] = (version, True)


def sources_list_d(machine: Machine, text: str, case: Input) -> None:
    for line in text.splitlines():
        name, _colon, entry = line.partition(": ")
        machine.write("/etc/apt/sources.list.d/" + name, entry + "\n")


# --- device nodes ----------------------------------------------------------------------------------------------------


def ls(machine: Machine, text: str, case: Input) -> None:
    if text.endswith(" present"):
        machine.write(text.split()[0], "a library")
        return
    groups = {"root": 0, "video": 44, "1005": 1005}
    for line in text.splitlines():
        found = re.match(r"c(\S{9})\s+(?:\d+ )?root (\w+) (\d+), *(\d+) (\S+)", line)
        assert found, line
        major, minor = int(found[3]), int(found[4])
        path = "/dev/" + found[5]
        machine.nodes[path] = (_mode(found[1]), groups[found[2]], major, minor)
        machine.links["/dev/char/%d:%d" % (major, minor)] = path
        if found[5] == "nvidia-uvm":
            machine.write("/proc/devices", "Character devices:\n195 nvidia\n%d nvidia-uvm\n\nBlock devices:\n" % major)


def missing_nodes(machine: Machine, paths: t.Sequence[str], case: Input) -> None:
    for path in paths:
        del machine.nodes[path]


def proc_params(machine: Machine, text: str, case: Input) -> None:
    there = machine.files["/proc/driver/nvidia/params"].decode()
    for name, value in re.findall(r"(\w+): (\d+)", text):
        there = re.sub(r"(?m)^%s: .*$" % name, "%s: %s" % (name, value), there)
    machine.write("/proc/driver/nvidia/params", there)


def ls_dev_char_195(machine: Machine, text: str, case: Input) -> None:
    assert text == ""
    for path in [path for path in machine.links if path.startswith("/dev/char/195:")]:
        del machine.links[path]


# --- engines and containers ------------------------------------------------------------------------------------------


def docker_info(machine: Machine, text: str, case: Input) -> None:
    names = {
        "Cgroup Driver": "CgroupDriver",
        "Cgroup Version": "CgroupVersion",
        "Docker Root Dir": "DockerRootDir",
        "Server Version": "ServerVersion",
        "Operating System": "OperatingSystem",
    }
    for line in text.splitlines():
        name, _colon, value = line.partition(": ")
        if name in names:
            machine.info[names[name]] = value


def docker_info_security(machine: Machine, text: str, case: Input) -> None:
    machine.info["SecurityOptions"] = ["name=seccomp,profile=builtin", "name=" + text]


def config_toml(machine: Machine, text: str, case: Input) -> None:
    path = "/etc/nvidia-container-runtime/config.toml"
    for line in text.splitlines():
        if not line.startswith("#"):  # what is commented out says nothing, and a run of ours has set it
            there = machine.files[path].decode()
            machine.write(path, re.sub(r"(?m)^%s.*$" % line.partition("=")[0], line, there))


def config_toml_root(machine: Machine, root: str, case: Input) -> None:
    path = "/etc/nvidia-container-runtime/config.toml"
    table = "[nvidia-container-cli]\n"
    machine.write(path, machine.files[path].decode().replace(table, '%sroot = "%s"\n' % (table, root)))


def container_nvidia_smi(machine: Machine, text: str, case: Input) -> None:
    """In each new container; CUDA has no device there then."""
    words = text.rpartition("NVML: ")[2]
    for one in machine.containers.values():
        one.smi = (text, _NVML[words] % 256)
        one.cuda = {**one.cuda, "code": 100, "error": "CUDA_ERROR_NO_DEVICE", "devices": 0, "uuids": None}


def selinux(machine: Machine, mode: str, case: Input) -> None:
    """In force, and Docker has containers confined by it."""
    machine.write("/sys/fs/selinux/enforce", "1" if mode == "Enforcing" else "0")
    machine.write("/sys/fs/selinux/booleans/container_use_devices", "0 0")
    machine.write("/etc/selinux/config", "SELINUX=%s\n" % mode.lower())
    machine.write("/sys/module/apparmor/parameters/enabled", "N\n")
    machine.info["SecurityOptions"] = ["name=seccomp,profile=builtin", "name=selinux"]
    for one in machine.containers.values():
        one.label = "system_u:system_r:container_t:s0:c380,c597"


def daemon_json(machine: Machine, text: str, case: Input) -> None:
    """The user's file, and beside it what a run has put there."""
    machine.write("/etc/docker/daemon.json", json.dumps(_together(json.loads(text), machine.settings)))


def daemon_json_hex(machine: Machine, text: str, case: Input) -> None:
    machine.files["/etc/docker/daemon.json"] = bytes.fromhex(text)


def daemon_json_newer_than_docker(machine: Machine, seconds: int, case: Input) -> None:
    machine.times["/etc/docker/daemon.json"] = BOOTED + 60 + seconds
    machine.write("/var/lib/goldennode/docker.json", '{"schema": 1, "invocation": "of before", "settings": {}}')


def docker_runtimes(machine: Machine, names: t.Sequence[str], case: Input) -> None:
    machine.info["Runtimes"] = {name: {"path": name} for name in names}


def as_user(machine: Machine, text: str, case: Input) -> None:
    """The context is the user's own; what docker run says there is what the user reports."""
    found = re.search(r"docker context: (\S+) \((\S+)\)", text)
    assert found
    client = {"by": "context", "value": found[1], "endpoint": found[2].replace("$HOME", "/home/alice"),
              "file": "/home/alice/.docker/config.json"}  # fmt: skip
    lines: t.List[t.Dict[str, t.Any]] = [{"user": user, "found": []} for user in ("", "root", "alice", "bob")]
    lines[2]["found"] = [client]
    machine.answer("docker clients", stdout="".join(json.dumps(line) + "\n" for line in lines))


def snap_variant(machine: Machine, text: str, case: Input) -> None:
    first, _newline, words = text.partition("\n")
    docker_info(machine, first, case)
    error(machine, words.strip(), case)


def error(machine: Machine, text: str, case: Input) -> None:
    """What docker run says, by every way that the words fit."""
    by_cdi = "CDI" in text
    for name, one in machine.containers.items():
        if by_cdi == (" cdi " in name):
            one.error = text


def verify(machine: Machine, text: str, case: Input) -> None:
    error(machine, "docker: Error response from daemon: " + text, case)


def image_ld_library_path(machine: Machine, text: str, case: Input) -> None:
    """The first directory of it has a libcuda of the image's own."""
    library = text.split(":")[0] + "/libcuda.so.530.30.02"
    machine.image_sets(LD_LIBRARY_PATH=text)
    for one in machine.containers.values():
        one.libcuda, one.cuda = library, {**one.cuda, "library": library}


def timeline(machine: Machine, text: str, case: Input) -> None:
    """The container that runs meanwhile: it has the nodes, and systemd has no rule for them."""
    assert "daemon-reload" in text
    container = "0a" * 32
    described = {"id": container, "name": "/web", "pid": 4242, "mounts": [], "image": "cuda"}
    machine.answer("containers", stdout="%s web\n" % container)
    machine.answer("described", stdout=json.dumps(described) + "\n")
    machine.write("/proc/4242/mountinfo", "36 35 0:31 / / rw - overlay o rw\n37 36 0:32 / /dev rw - tmpfs tmpfs rw\n")
    machine.directories.add("/proc/4242/root")
    for path, node in list(machine.nodes.items()):
        machine.nodes["/proc/4242/root" + path] = node
    machine.answer("device rules", stdout="Id=docker-%s.scope\nDevicePolicy=strict\nDeviceAllow=\n" % container)


# --- the table -------------------------------------------------------------------------------------------------------

MAPPING: t.Dict[str, Put] = {
    "cards": cards,
    "lspci": lspci,
    "gpu": gpu,
    "lspci_gpu_count": lspci_gpu_count,
    "nvidia_smi_L_count": as_many_as_on_pci,
    "dev_nvidiaN_count": as_many_as_on_pci,
    "uname_r": uname_r,
    "reverse": kernel_without_headers,
    "boot_time": boot_time,
    "driver": driver_and_cuda,
    "find_lib_modules": find_lib_modules,
    "make_log": make_log,
    "sys_module_nvidia_version": sys_module_nvidia_version,
    "proc_driver_nvidia_version": proc_driver_nvidia_version,
    "modinfo_version": modinfo_version,
    "modinfo_license": modinfo_license,
    "modinfo_signer": modinfo_signer,
    "libnvidia_ml_target": libnvidia_ml_target,
    "modprobe": module_not_loaded,
    "lsmod": lsmod,
    "nvidia_smi": nvidia_smi,
    "nvidia_smi_stderr": nvidia_smi,
    "nvidia_smi_rc": nvidia_smi,
    "banner": banner,
    "dmesg": dmesg,
    "dmesg_nvrm": dmesg,
    "dkms_status": dkms_status,
    "modprobe_d": modprobe_d,
    "modprobe_d_blacklist_nouveau_conf": blacklist_nouveau,
    "initramfs_has": initramfs_has,
    "mokutil_sb_state": mokutil_sb_state,
    "mokutil_list_enrolled": mokutil_list_enrolled,
    "dkms_framework_conf": dkms_framework_conf,
    "dpkg": dpkg,
    "apt_mark_showhold": apt_mark_showhold,
    "history_log": history_log,
    "installed": installed,
    "sources_list_d": sources_list_d,
    "ls": ls,
    "proc_params": proc_params,
    "missing_nodes": missing_nodes,
    "ls_dev_char_195": ls_dev_char_195,
    "docker_info": docker_info,
    "docker_info_security": docker_info_security,
    "config_toml": config_toml,
    "daemon_json": daemon_json,
    "daemon_json_hex": daemon_json_hex,
    "daemon_json_newer_than_docker": daemon_json_newer_than_docker,
    "docker_runtimes": docker_runtimes,
    "as_user": as_user,
    "snap_variant": snap_variant,
    "error": error,
    "config_toml_root": config_toml_root,
    "container_nvidia_smi": container_nvidia_smi,
    "selinux": selinux,
    "verify": verify,
    "image_ld_library_path": image_ld_library_path,
    "timeline": timeline,
    "cuda": cuda,
    "cuda_host": cuda_host,
    "journal": journal,
}

#: What a report tells besides, and why no answer of the node comes of it.
CONTEXT: t.Dict[str, str] = {
    "running_container_nvidia_smi_rc": "a container that already runs keeps its libraries, so no look asks one",
    "dpkg_upgrade_time": "read with modinfo_version: when the module was put on the disk",
    "initramfs_modprobe_d": "read with initramfs_has",
    "ls_lib_firmware_nvidia": "the kernel log says which firmware the driver misses; the folder is not listed",
    "inventory_expected_gpus": "what the bundle declares for the node: golden_expected_gpus",
    "host_nvidia_smi_rc": "a healthy host, which the machine is",
    "container_nvidia_smi_rc": "nvidia-smi works in a fresh container, as it does in the machine's",
    "new_container_nvidia_smi_rc": "a fresh container is well, as the machine's are",
    "as_root": "root is answered by the right daemon, as it is on the machine",
    "banner_cuda": "read with driver: what the driver offers",
    "host_nvcc": "a CUDA toolkit of the host, which the probe does not look at: it decides nothing",
    "healthy_proc_params": "the machine's own parameters",
    "bundle": "what is wanted, not what is there",
    "reverse_rc": "apt's own code, which says nothing of the module",
}

#: What no command of the probe asks for yet. A case with such a key is expected to fail until one does.
WAITING: t.Dict[str, str] = {
    "query": "MIG's mode, by nvidia-smi's query or NVML",
    "nvidia_smi_L": "MIG's instances",
    "error_podman": "what Podman says of the CDI devices",
    "podman_debug": "what Podman says of a CDI specification",
    "nvidia_ctk_cdi_list": "says what nvidia-ctk can read, and not what an engine can",
    "versions": "Podman's version",
}


def apply(machine: Machine, case: Input) -> None:
    """Put everything into the machine. A key that nobody has mapped is an error, or a report would pass half read."""
    unmapped = sorted(set(case) - set(MAPPING) - set(CONTEXT) - set(WAITING))
    if unmapped:
        raise KeyError("no mapping for %s" % ", ".join(unmapped))
    for key, put in MAPPING.items():
        if key in case:
            put(machine, case[key], case)


def _together(theirs: t.Any, ours: t.Any) -> t.Any:
    """The user's word counts where both have one that is no object."""
    if not isinstance(theirs, dict) or not isinstance(ours, dict):
        return theirs
    return {**ours, **{key: _together(value, ours[key]) if key in ours else value for key, value in theirs.items()}}


def _card(address: str, device: str, driver: str = "nvidia") -> PciDevice:
    number = device.partition(":")[2]
    if driver == "nvswitch":
        return PciDevice(address, number, "0680", "nvidia-nvswitch", nvswitch=True)
    return PciDevice(address, number, "0302", None if driver == "-" else driver)


def _seconds(moment: str) -> float:
    return datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


def _mode(letters: str) -> int:
    """rw-rw-rw- as a number, the sticky bit too."""
    value = 0
    for at, letter in enumerate(letters):
        if letter not in "-ST":
            value |= 0o400 >> at
    return value | (0o1000 if letters[8] in "tT" else 0)


def _cuda(text: str) -> t.Tuple[int, str]:
    found = re.search(r"Error (\d+)", text)
    names = {
        802: "CUDA_ERROR_SYSTEM_NOT_READY",
        999: "CUDA_ERROR_UNKNOWN",
        804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    }
    code = int(found[1]) if found else 100
    return code, names.get(code, "CUDA_ERROR_NO_DEVICE")
