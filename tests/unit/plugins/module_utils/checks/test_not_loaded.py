# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module that is on the disk and not in the kernel: what keeps it out is named, and no run loads it for ever."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    CudaInit,
    Desired,
    Evidence,
    Finding,
    Reading,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import kernel_log, modinfo, modprobe_d
from ansible_collections.goldennode.gpu.tests.unit import healthy

NODE = healthy.evidence("a10")
ADDRESS = healthy.address(0)
NO_DRIVER = (
    "nvidia-smi ended with code 9: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
)
GAVE_UP = """
nvidia 0000:17:00.0: probe with driver nvidia failed with error -1
NVRM: The NVIDIA probe routine failed for 1 device(s).
NVRM: None of the NVIDIA devices were initialized.
"""


def not_loaded(log: str = "", device: str = "2236", **fields: t.Any) -> Evidence:
    pci = tuple(dataclasses.replace(one, driver=None, device=device) for one in NODE.pci.value or ())
    none = CudaInit(100, "CUDA_ERROR_NO_DEVICE")
    evidence = healthy.known(NODE, driver=None, modules_loaded=(), pci=pci, cuda=none, **fields)
    failed = Reading.unknown(NO_DRIVER)
    return dataclasses.replace(evidence, kernel_log=kernel_log.parse(log), smi=failed, nvml=failed)


def modprobe(text: str, path: str = "/etc/modprobe.d/x.conf") -> t.Tuple[t.Any, ...]:
    return tuple(modprobe_d.parse(path, text))


def loaded(evidence: Evidence, wanted: t.Optional[Desired] = None) -> Finding:
    """What is said of the module that is not loaded; what only follows from it is not said again."""
    findings = verdict.run(wanted or healthy.desired(), evidence, 1).findings
    for check in ("host_driver.nvidia_smi", "host_driver.nvml", "host_driver.cuda"):
        assert [(f.status, f.actual.endswith("see host_driver.loaded")) for f in findings if f.id == check] == [
            ("skip", True)
        ]
    (finding,) = (f for f in findings if f.id == "host_driver.loaded")
    assert finding.status == "fail"
    return finding


def test_without_a_reason_a_run_loads_it() -> None:
    finding = loaded(not_loaded())
    assert (finding.cause, finding.repair) == ("The nvidia module is on disk and not loaded.", "roles")


def test_a_gpu_without_address_space_is_for_the_firmware() -> None:
    log = (
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\n"
        "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:17:00.0)\n"
    )
    finding = loaded(not_loaded(log + "NVRM: The system BIOS may have misconfigured your GPU.\n" + GAVE_UP))
    assert finding.cause == (
        "The nvidia module does not load: GPU 0000:17:00.0: the firmware, or the hypervisor, gave it no address space "
        "(BAR)."
    )
    assert "Above 4G Decoding" in finding.fix
    assert "64-bit MMIO" in finding.fix
    assert "pci=realloc" in finding.fix
    assert finding.repair == "manual"


def test_a_gpu_that_is_off_the_bus_at_the_drivers_start_is_lost() -> None:
    log = (
        "[ 1843.308145] NVRM: The NVIDIA GPU 0000:17:00.0\n               NVRM: (PCI ID: 10de:2236) installed in this "
        "system has\n               NVRM: fallen off the bus and is not responding to commands.\n"
    )
    judged = verdict.run(healthy.desired(), not_loaded(log + GAVE_UP), 1)
    (finding,) = judged.broken
    assert (judged.first_broken, finding.id, finding.entity) == ("hardware", "hardware.gpu_healthy", ADDRESS)
    assert finding.cause == "GPU 0000:17:00.0 is lost: it no longer answers on the PCI bus."


MAGIC = (
    "nvidia: version magic '%s SMP preempt mod_unload modversions ' should be '%s SMP preempt mod_unload modversions '"
)


def test_a_module_for_another_kernel_is_built_anew_by_hand() -> None:
    finding = loaded(not_loaded(MAGIC % ("6.12.48+deb13-amd64", healthy.KERNEL)))
    assert finding.cause == (
        "The nvidia module does not load: it is built for kernel 6.12.48+deb13-amd64, and %s runs." % healthy.KERNEL
    )
    assert finding.fix == (
        "Build it anew, which a run does only for a module that is missing: dkms build --force, then dkms install "
        "--force, each with nvidia/%s -k %s. Run site.yml on this node." % (healthy.DRIVER, healthy.KERNEL)
    )
    assert finding.repair == "manual"


@pytest.mark.parametrize(
    "line",
    [
        MAGIC % (healthy.KERNEL, healthy.KERNEL + " rt"),
        "nvidia: disagrees about version of symbol module_layout",
        "nvidia: Unknown symbol drm_gem_object_free (err -2)",
    ],
)
def test_a_module_of_another_build_is_named_with_the_kernels_words(line: str) -> None:
    finding = loaded(not_loaded(line))
    assert line.strip() in finding.cause
    assert "Build it anew" in finding.fix
    assert finding.repair == "manual"


def test_a_precompiled_module_of_another_build_comes_from_its_package_again() -> None:
    wanted = healthy.desired(of_lock=healthy.lock(driver={"build": "precompiled"}))
    finding = loaded(not_loaded("nvidia: disagrees about version of symbol module_layout"), wanted)
    assert "apt-get install --reinstall the package that dpkg -S /lib/modules/" in finding.fix


@pytest.mark.parametrize("log", [MAGIC % ("6.12.48+deb13-amd64", healthy.KERNEL), GAVE_UP])
def test_what_was_refused_before_it_was_built_or_loaded_again_is_over(log: str) -> None:
    built = healthy.module(built_for=healthy.KERNEL)
    later = "" if "magic" in log else "\nNVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.159.03\n"
    assert loaded(not_loaded(log + later, module_on_disk=built)).repair == "roles"


OFF = "# This file was generated by nvidia-prime\nblacklist nvidia\nalias nvidia off\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OFF, ":3 says 'alias nvidia off'"),
        ("alias nvidia off # by hand\n", ":1 says 'alias nvidia off # by hand'"),
        ("install nvidia /bin/false\n", ":1 says 'install nvidia /bin/false'"),
        ("blacklist nvidia\n", ":1 says 'blacklist nvidia'"),
    ],
)
def test_a_line_of_modprobe_d_is_named_with_its_place(text: str, said: str) -> None:
    finding = loaded(not_loaded(modprobe=modprobe(text, "/lib/modprobe.d/blacklist-nvidia.conf")))
    assert finding.cause == "The nvidia module does not load: /lib/modprobe.d/blacklist-nvidia.conf%s." % said
    assert finding.fix.startswith("Delete that line (prime-select nvidia, where prime-select wrote it).")
    assert finding.repair == "manual"


@pytest.mark.parametrize(
    "text",
    [
        "install nvidia modprobe -i nvidia-current $CMDLINE_OPTS\n",
        "alias nvidia nvidia-current\n",
        "blacklist nvidiafb\nalias nvidia-drm off\n",
    ],
)
def test_a_line_of_modprobe_d_that_keeps_nothing_out_is_not_blamed(text: str) -> None:
    assert loaded(not_loaded(modprobe=modprobe(text))).repair == "roles"


def test_a_module_that_an_alias_hides_is_not_called_missing() -> None:
    """kmod's words where a name is an alias that leads nowhere."""
    evidence = not_loaded(modprobe=modprobe(OFF))
    gone = modinfo.parse("", "modinfo: ERROR: Module alias nvidia not found.\n", 1, healthy.KERNEL)
    findings = verdict.run(healthy.desired(), dataclasses.replace(evidence, module_on_disk=gone), 1).broken
    assert {(f.id, f.repair) for f in findings} == {
        ("host_driver.module_on_disk", "manual"),
        ("host_driver.loaded", "manual"),
    }
    assert all("/etc/modprobe.d/x.conf:3 says 'alias nvidia off'" in f.cause for f in findings)


@pytest.mark.parametrize("argument", ["module_blacklist=nvidia", "modprobe.blacklist=nouveau,nvidia"])
def test_an_argument_of_the_kernel_that_keeps_it_out_is_named(argument: str) -> None:
    line = "BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro %s" % argument
    finding = loaded(not_loaded("Module nvidia is blacklisted\n" * ("module_" in argument), command_line=line))
    assert finding.cause == "The nvidia module does not load: the kernel was started with %s." % argument
    assert finding.fix == "Take it out of the boot loader's configuration and reboot."
    assert finding.repair == "manual"


def test_the_kernels_word_of_another_module_of_nvidia_is_not_about_this_one() -> None:
    assert loaded(not_loaded("Module nvidia-uvm is blacklisted\n")).repair == "roles"
    assert "is blacklisted" in loaded(not_loaded("Module nvidia is blacklisted\n")).cause


def test_an_argument_that_the_bundle_gives_is_taken_out_there() -> None:
    wanted = healthy.desired(kernel_arguments=["module_blacklist=nvidia"])
    line = "BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro module_blacklist=nvidia"
    assert loaded(not_loaded(command_line=line), wanted).fix == "Take it out of kernel_arguments and reboot."


LEGACY = """
NVRM: The NVIDIA Tesla K80 GPU installed in this system is
NVRM:  supported through the NVIDIA 470.xx Legacy drivers. Please
NVRM:  visit http://www.nvidia.com/object/unix.html for more
NVRM:  information.  The 580.159.03 NVIDIA driver will ignore
NVRM:  this GPU.  Continuing probe...
NVRM: No NVIDIA GPU found.
"""


@pytest.mark.parametrize(("device", "whom"), [("102d", "Kepler GPUs"), ("fff1", "GPU 0000:17:00.0")])
def test_a_gpu_of_an_older_branch_is_told_with_that_branch(device: str, whom: str) -> None:
    """By its PCI id before anything is installed; where that is in no table, by the driver's words, without address."""
    evidence = not_loaded(LEGACY, device)
    (finding,) = (f for f in verdict.run(healthy.desired(), evidence, 1).broken if f.id == "host_driver.flavour")
    assert (
        "has no support for %s: 470 is the last branch that has; the hardware is not at fault." % whom in finding.cause
    )
    assert finding.fix.startswith("Use branch 470, flavour proprietary")
    assert finding.repair == "manual"
    assert loaded(evidence).fix == "See host_driver.flavour."
    silent = dataclasses.replace(evidence, kernel_log=Reading(()))
    refused = [f.id for f in verdict.refusals(healthy.desired(), silent, 1)]
    assert refused == (["host_driver.flavour"] if device == "102d" else [])


def test_a_module_that_gives_up_without_a_known_reason_is_not_loaded_for_ever() -> None:
    finding = loaded(not_loaded("NVRM: GPU 0000:17:00.0 is odd.\n" + GAVE_UP))
    assert finding.cause == (
        "The nvidia module does not load: it takes none of the GPUs, the kernel log says: NVRM: GPU "
        "0000:17:00.0 is odd."
    )
    assert finding.repair == "manual"


def test_another_driver_that_held_the_gpu_and_let_it_go_is_no_hindrance() -> None:
    log = "NVRM: The NVIDIA probe routine was not called for 1 device(s).\n"
    finding = loaded(not_loaded(log))
    assert finding.cause.endswith("another driver held the GPU when it was tried.")
    assert finding.repair == "roles"


# --- nvidia-uvm beside it --------------------------------------------------------------------------------------------


def without_uvm(log: str, **fields: t.Any) -> Evidence:
    evidence = healthy.known(NODE, modules_loaded=("nvidia",), device_majors={"nvidia": 195}, **fields)
    return dataclasses.replace(evidence, kernel_log=kernel_log.parse(log))


@pytest.mark.parametrize(("since_boot", "repair"), [(100.0, "reload"), (-100.0, "manual")])
def test_nvidia_uvm_of_another_build_than_the_loaded_nvidia(since_boot: float, repair: str) -> None:
    log = "nvidia_uvm: disagrees about version of symbol nvUvmInterfaceDisableAccessCntr\n"
    disk = healthy.module(modified=healthy.BOOTED_AT + since_boot)
    (finding,) = (
        f
        for f in verdict.run(healthy.desired(), without_uvm(log, module_on_disk=disk), 1).broken
        if f.id == "host_driver.loaded"
    )
    assert finding.cause.startswith("nvidia-uvm does not load beside the nvidia module in the kernel")
    assert finding.repair == repair


def test_nvidia_uvm_that_modprobe_d_keeps_out() -> None:
    evidence = without_uvm("", modprobe=modprobe("install nvidia-uvm /bin/true\n"))
    judged = verdict.run(healthy.desired(), evidence, 1)
    (finding,) = (f for f in judged.broken if f.id == "device_nodes.uvm")
    assert "/etc/modprobe.d/x.conf:1 says 'install nvidia_uvm /bin/true'" in finding.cause
    assert finding.repair == "manual"
