# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what a report shows to what the node of the report answers: one table, key by key.

Each function puts its value into a healthy machine, as the command, the file or the entry in which the probe would meet
it. The order of the table is the order in which they are applied: what the node is, then what is said of it.
"""

from __future__ import annotations

import datetime
import re
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import PciDevice
from ansible_collections.goldennode.gpu.tests.unit.cases import map_engines, map_state, map_system
from ansible_collections.goldennode.gpu.tests.unit.cases.container import FOLDER
from ansible_collections.goldennode.gpu.tests.unit.cases.disk import BOOTED
from ansible_collections.goldennode.gpu.tests.unit.cases.machine import Machine
from ansible_collections.goldennode.gpu.tests.unit.cases.words import NVML

Input = t.Mapping[str, t.Any]
Put = t.Callable[[Machine, t.Any, Input], None]


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
        machine.smi_fails(rc or NVML[words], stdout, stderr)
        machine.nvml_fails(words, NVML[words])
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


def journal(machine: Machine, text: str, case: Input) -> None:
    if "nv-fabricmanager" in text:
        machine.answer("journal of nvidia-fabricmanager.service", stdout=text.partition(": ")[2] + "\n")
    else:
        machine.docker_does_not_start(text)


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
    "modprobe_d": map_system.modprobe_d,
    "modprobe_d_blacklist_nouveau_conf": map_system.blacklist_nouveau,
    "initramfs_has": map_system.initramfs_has,
    "mokutil_sb_state": map_system.mokutil_sb_state,
    "mokutil_list_enrolled": map_system.mokutil_list_enrolled,
    "dkms_framework_conf": map_system.dkms_framework_conf,
    "dpkg": map_system.dpkg,
    "apt_mark_showhold": map_system.apt_mark_showhold,
    "history_log": map_system.history_log,
    "installed": map_system.installed,
    "sources_list_d": map_system.sources_list_d,
    "ls": map_system.ls,
    "proc_params": map_system.proc_params,
    "missing_nodes": map_system.missing_nodes,
    "ls_dev_char_195": map_system.ls_dev_char_195,
    "docker_info": map_engines.docker_info,
    "docker_info_security": map_engines.docker_info_security,
    "config_toml": map_engines.config_toml,
    "daemon_json": map_engines.daemon_json,
    "daemon_json_hex": map_engines.daemon_json_hex,
    "daemon_json_newer_than_docker": map_engines.daemon_json_newer_than_docker,
    "docker_runtimes": map_engines.docker_runtimes,
    "as_user": map_engines.as_user,
    "snap_variant": map_engines.snap_variant,
    "error": map_engines.error,
    "config_toml_root": map_engines.config_toml_root,
    "container_nvidia_smi": map_engines.container_nvidia_smi,
    "selinux": map_engines.selinux,
    "verify": map_engines.verify,
    "image_ld_library_path": map_engines.image_ld_library_path,
    "timeline": map_engines.timeline,
    "image_environment": map_engines.image_environment,
    "image_files": map_engines.image_files,
    "torch_says": map_engines.torch_says,
    "image_ldconfig": map_engines.image_ldconfig,
    "image_links": map_engines.image_links,
    "cuda_devices": map_engines.cuda_devices,
    "versions": map_engines.versions,
    "kubelet": map_engines.kubelet,
    "containerd_config": map_engines.containerd_config,
    "query": map_state.query,
    "nvidia_smi_L": map_state.listing,
    "nvidia_smi_q": map_state.details,
    "gpu_processes": map_state.processes,
    "pressure": map_state.pressure,
    "proc_stat_iowait": map_state.iowait,
    "cuda": map_engines.cuda,
    "cuda_host": map_engines.cuda_host,
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
    "error_podman": "Podman is not asked for a container: its version and the specification's tell what it reads",
    "podman_debug": "the same in Podman's own words, which it says to its debug log alone",
    "nvidia_ctk_cdi_list": "says what nvidia-ctk can read, and not what an engine can",
    "image_libcuda": "read with image_ld_library_path: the file that lies there",
    "reverse_rc": "apt's own code, which says nothing of the module",
}

#: What no command of the probe asks for yet. A case with such a key is expected to fail until one does.
WAITING: t.Dict[str, str] = {}


def apply(machine: Machine, case: Input) -> None:
    """Put everything into the machine. A key that nobody has mapped is an error, or a report would pass half read."""
    unmapped = sorted(set(case) - set(MAPPING) - set(CONTEXT) - set(WAITING))
    if unmapped:
        raise KeyError("no mapping for %s" % ", ".join(unmapped))
    for key, put in MAPPING.items():
        if key in case:
            put(machine, case[key], case)


def _card(address: str, device: str, driver: str = "nvidia") -> PciDevice:
    number = device.partition(":")[2]
    if driver == "nvswitch":
        return PciDevice(address, number, "0680", "nvidia-nvswitch", nvswitch=True)
    return PciDevice(address, number, "0302", None if driver == "-" else driver)


def _seconds(moment: str) -> float:
    return datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()
