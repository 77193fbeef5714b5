# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that people have reported in public, by the number of the case, from a tool's words to the finding.

Each is named with the thread; what follows it under the same number is the rest of its kind.
"""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    SET_ASIDE_BY,
    Boot,
    Certificate,
    CudaInit,
    Desired,
    DkmsModule,
    DriverLoaded,
    Evidence,
    Finding,
    GpuTool,
    Initramfs,
    Library,
    ModuleOnDisk,
    Package,
    PciDevice,
    Reading,
    SecureBoot,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import (
    dkms,
    fabric_manager,
    kernel_log,
    modinfo,
    mokutil,
    nvidia_smi,
    proc_nvidia,
)
from ansible_collections.goldennode.gpu.tests.unit import healthy

NODE = healthy.evidence("a10")
OLD = "580.126.09"
ADDRESS = healthy.address(0)


def node_of(driver: str, **fields: t.Any) -> t.Tuple[Evidence, Desired]:
    """A healthy node of another driver, and what is wanted of it."""
    wanted = healthy.desired(of_lock=healthy.lock(driver={"version": driver, **fields}, fabric_manager=None))
    return healthy.evidence("a10", wanted), wanted


def found(evidence: Evidence, wanted: t.Optional[Desired] = None, gpus: int = 1) -> t.Dict[str, Finding]:
    """The first finding of each check that did not pass."""
    judged = verdict.run(wanted or healthy.desired(), evidence, gpus)
    problems: t.Dict[str, Finding] = {}
    for finding in judged.findings:
        if finding.status in ("fail", "unknown"):
            problems.setdefault(finding.id, finding)
    return problems


def refused(evidence: Evidence, wanted: t.Optional[Desired] = None, gpus: int = 1) -> t.Dict[str, Finding]:
    """What is said before a role changes anything."""
    return {finding.id: finding for finding in verdict.refusals(wanted or healthy.desired(), evidence, gpus)}


def libraries(version: str) -> t.Dict[str, Library]:
    folder = "/usr/lib/x86_64-linux-gnu/"
    return {
        "%s.so.1" % name: Library(
            "%s.so.1" % name, "%s%s.so.1" % (folder, name), "%s%s.so.%s" % (folder, name, version)
        )
        for name in ("libcuda", "libnvidia-ml")
    }


def bare(evidence: Evidence, **fields: t.Any) -> Evidence:
    """The same node without a driver."""
    return healthy.known(evidence, driver=None, module_on_disk=None, modules_loaded=(), dkms=None, **fields)


# --- 001: the NVML line prints two of three numbers ------------------------------------------------------------------


def test_case_001_halves_of_one_branch_are_told_apart_by_the_link_target() -> None:
    """tinygrad/open-gpu-kernel-modules#47"""
    evidence, wanted = node_of("570.124.06")
    said = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.124\n"
    loaded = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build\n"
    evidence = dataclasses.replace(
        evidence,
        driver=proc_nvidia.loaded(loaded, None),
        smi=nvidia_smi.query("", said, 18),
        libraries=Reading(libraries("570.124.04")),
    )
    problems = found(evidence, wanted)
    assert problems["host_driver.libraries"].expected == "570.124.06"
    assert "570.124.04" in problems["host_driver.libraries"].actual
    assert problems["host_driver.libraries"].repair == "roles"
    assert "host_driver.loaded" not in problems


def test_case_001_a_healthy_node_has_no_skew_whatever_the_nvml_line_would_print() -> None:
    evidence, wanted = node_of("570.124.06")
    assert found(evidence, wanted) == {}


# --- 002: packages moved under the loaded module ---------------------------------------------------------------------


def after_upgrade(booted_at: float, modified: float, image: t.Optional[str] = None, loaded: str = OLD) -> Evidence:
    inside = {"nvidia_version": image, "nvidia_on_disk": healthy.DRIVER if image else None}
    images = tuple(dataclasses.replace(one, **inside) for one in NODE.initramfs.value or ())
    return healthy.known(
        NODE,
        driver=DriverLoaded(loaded, "open"),
        boot=Boot("id", healthy.KERNEL, booted_at),
        module_on_disk=healthy.module(modified=modified),
        initramfs=images,
    )


def test_case_002_an_upgrade_newer_than_the_boot_is_a_pending_reboot() -> None:
    """oddmario/NVIDIA-Ubuntu-Driver-Guide#4: booted on 1 August, upgraded on 3 September."""
    finding = found(after_upgrade(booted_at=1722492000.0, modified=1725343920.0))["host_driver.loaded"]
    assert finding.cause == "A reboot is pending since the driver was upgraded: %s is still loaded." % OLD
    assert finding.actual == "%s loaded, %s on disk" % (OLD, healthy.DRIVER)
    assert finding.repair == "reload"
    assert finding.fix.endswith(
        "Stop the jobs first; verify in a new container, as one that runs keeps the old libraries."
    )


def test_case_002_a_downgrade_waits_for_a_reboot_too() -> None:
    finding = found(after_upgrade(1000.0, 2000.0, loaded="595.71.05"))["host_driver.loaded"]
    assert "since the driver was downgraded: 595.71.05" in finding.cause
    assert finding.repair == "reload"


@pytest.mark.parametrize("booted_at", [1000.0, 3000.0])
def test_case_002_a_stale_module_in_the_initramfs_needs_a_rebuild_and_no_further_reboot(booted_at: float) -> None:
    finding = found(after_upgrade(booted_at, 2000.0, image=OLD))["host_driver.loaded"]
    assert "was loaded from /boot/initrd.img-%s, which still holds it" % healthy.KERNEL in finding.cause
    assert finding.repair == "roles"


def test_case_002_a_reboot_that_did_not_help_is_not_asked_for_again() -> None:
    finding = found(after_upgrade(booted_at=3000.0, modified=2000.0))["host_driver.loaded"]
    assert "another reboot would not help" in finding.cause
    assert "another copy" in finding.cause
    assert finding.repair == "manual"


def test_case_002_an_initramfs_that_was_never_rebuilt_is_rebuilt_before_a_person_is_called() -> None:
    evidence = after_upgrade(3000.0, 2000.0)
    stale = tuple(dataclasses.replace(one, recorded_inputs=None) for one in evidence.initramfs.value or ())
    finding = found(healthy.known(evidence, initramfs=stale))["host_driver.loaded"]
    assert "its initramfs is stale" in finding.cause
    assert finding.repair == "roles"


# --- 004, 061: no module for a kernel --------------------------------------------------------------------------------

NEXT = "6.12.63+deb13-amd64"


def test_case_004_a_module_for_another_kernel_is_none_for_this_one() -> None:
    """NVIDIA/nvidia-docker#365: nvidiafb.ko and the Ethernet directory lay below the running kernel."""
    said = "modinfo: ERROR: Module nvidia not found.\n"
    evidence = dataclasses.replace(
        healthy.known(NODE, driver=None, modules_loaded=(), dkms=None),
        module_on_disk=modinfo.parse("", said, 1, healthy.KERNEL),
    )
    finding = found(evidence)["host_driver.module_on_disk"]
    assert finding.cause == (
        "No nvidia module is built for the running kernel %s. DKMS, which builds it for each kernel, is not installed; "
        "a .run installer builds for one alone." % healthy.KERNEL
    )
    assert finding.repair == "roles"


def test_case_004_what_is_missing_is_said_where_dkms_does_not_answer_and_where_nothing_is_built_here() -> None:
    evidence = healthy.known(NODE, driver=None, modules_loaded=(), module_on_disk=None)
    silent = found(healthy.unreadable(evidence, "dkms"))["host_driver.module_on_disk"]
    assert silent.cause.endswith("What DKMS knows of it could not be read: dkms was unreadable.")
    wanted = healthy.desired(of_lock=healthy.lock(driver={"build": "precompiled"}))
    signed = found(evidence, wanted)["host_driver.module_on_disk"]
    assert signed.cause.endswith("The package of the modules for this very kernel is missing or not whole.")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("nvidia/%s: added" % healthy.DRIVER, "added and not built for kernel %s: its headers" % healthy.KERNEL),
        ("nvidia/%s, 6.1.0-9-amd64, x86_64: installed" % healthy.DRIVER, "and is built for 6.1.0-9-amd64: its headers"),
        ("nvidia/%s: broken" % healthy.DRIVER, "broken: its source below /usr/src is gone"),
        ("nvidia/%s, %s, x86_64: built" % (healthy.DRIVER, healthy.KERNEL), "built for kernel"),
        ("nvidia-current-open, %s, %s, x86_64: built" % (healthy.DRIVER, healthy.KERNEL), "nvidia-current-open/"),
        (
            "nvidia/%s, %s, x86_64: installed (Built modules are missing in the kernel modules folder)"
            % (healthy.DRIVER, healthy.KERNEL),
            "Built modules are missing in the kernel modules folder",
        ),
        ("nvidia/580.126.09, %s, x86_64: installed" % healthy.KERNEL, "DKMS does not know nvidia %s" % healthy.DRIVER),
        ("nvidia-fs/2.22.3, %s, x86_64: installed" % healthy.KERNEL, "DKMS does not know nvidia"),
    ],
)
def test_case_004_dkms_says_how_far_it_has_come(status: str, words: str) -> None:
    evidence = healthy.known(NODE, module_on_disk=None, driver=None, modules_loaded=())
    evidence = dataclasses.replace(evidence, dkms=dkms.status(status + "\n", "", 0))
    assert words in found(evidence)["host_driver.module_on_disk"].cause


def with_next_kernel(module: t.Optional[ModuleOnDisk]) -> t.Tuple[Evidence, Desired]:
    """The lock's kernel is installed and not booted yet."""
    kernel = {"release": NEXT, "packages": {"linux-image-%s" % NEXT: "6.12.63-1"}}
    wanted = healthy.desired(of_lock=healthy.lock(kernel=kernel))
    node = healthy.evidence("a10", wanted)
    default = dataclasses.replace(node.boot_default.value, kernel=NEXT)  # type: ignore[type-var]
    return healthy.known(node, module_to_boot=module, boot_default=default), wanted


def test_case_061_no_reboot_into_a_kernel_without_a_module() -> None:
    """dkms-project/dkms#521: the headers of the new kernel are missing, DKMS skips it and apt ends with 0."""
    evidence, wanted = with_next_kernel(None)
    added = (DkmsModule("nvidia", healthy.DRIVER, "installed", healthy.KERNEL, "x86_64"),)
    problems = found(healthy.known(evidence, dkms=added), wanted)
    finding = problems["host_driver.module_on_disk"]
    assert finding.entity == NEXT
    assert "No nvidia module is built for the kernel that is to boot, %s." % NEXT in finding.cause
    assert "its headers are missing" in finding.cause
    assert "must not be rebooted" in problems["host_driver.kernel"].cause
    assert {problem.repair for problem in problems.values()} == {"roles"}


def test_no_reboot_into_a_kernel_without_an_initramfs() -> None:
    evidence, wanted = with_next_kernel(healthy.module(kernel=NEXT))
    images = (*(evidence.initramfs.value or ()), Initramfs(NEXT, "", "in", "", missing=True))
    assert found(evidence, wanted)["host_driver.kernel"].repair == "reboot"
    finding = found(healthy.known(evidence, initramfs=images), wanted)["host_driver.kernel"]
    assert finding.cause == (
        "The node runs another kernel than the lock's, and must not be rebooted into that: it has no initramfs, and "
        "would not find its root file system."
    )
    assert finding.fix == "Run site.yml on this node. It builds the initramfs; then a reboot is due."
    assert finding.repair == "roles"


def test_case_061_a_module_of_another_version_is_none_for_the_kernel_that_is_to_boot() -> None:
    evidence, wanted = with_next_kernel(healthy.module(OLD, NEXT))
    problems = found(evidence, wanted)
    assert OLD in problems["host_driver.module_on_disk"].actual
    assert {problem.repair for problem in problems.values()} == {"roles"}


def test_case_061_with_a_module_for_it_the_reboot_is_due() -> None:
    evidence, wanted = with_next_kernel(healthy.module(healthy.DRIVER, NEXT))
    problems = found(evidence, wanted)
    assert {name: problem.repair for name, problem in problems.items()} == {"host_driver.kernel": "reboot"}
    lacking = found(healthy.known(evidence, module_on_disk=None), wanted)
    assert lacking["host_driver.module_on_disk"].repair == "reboot"


def test_case_061_a_kernel_whose_module_is_not_known_is_no_pass() -> None:
    evidence, wanted = with_next_kernel(None)
    problems = found(healthy.unreadable(evidence, "module_to_boot"), wanted)
    assert problems["host_driver.module_on_disk"].status == "unknown"


# --- 006: Secure Boot ------------------------------------------------------------------------------------------------

CERTIFICATE = "/var/lib/dkms/mok.pub"
HOST_KEY = Certificate("Ubuntu host Secure Boot Module Signature key", "5d:8b", "12:34")


def secure(state: str, *enrolled: Certificate) -> SecureBoot:
    return SecureBoot(True, Reading(enrolled), CERTIFICATE, Reading(state))


def test_case_006_built_and_installed_and_signed_by_a_key_that_is_not_enrolled() -> None:
    """linux-surface/linux-surface#906: a key is enrolled, DKMS says installed, and it is another key."""
    words = "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service\n"
    evidence = healthy.known(
        NODE, driver=None, modules_loaded=(), secure_boot=secure("not enrolled", HOST_KEY), pci=bound(None)
    )
    evidence = dataclasses.replace(evidence, kernel_log=kernel_log.parse(words))
    finding = found(evidence)["host_driver.loaded"]
    assert "the key that signed it (DKMS module signing key) is not enrolled" in finding.cause
    assert HOST_KEY.subject in finding.cause
    assert finding.repair == "manual"
    assert "mokutil --import %s" % CERTIFICATE in finding.fix
    assert "console" in finding.fix
    for text in (finding.fix.lower(), refused(evidence)["host_driver.secure_boot"].fix.lower()):
        assert "disable" not in text
        assert "rebuild" not in text
        assert "leave secure boot on" in text


def bound(driver: t.Optional[str]) -> t.Tuple[PciDevice, ...]:
    return tuple(dataclasses.replace(device, driver=driver) for device in NODE.pci.value or ())


def test_case_006_without_a_line_in_the_log_the_signer_tells() -> None:
    """The words are modprobe's, and reach no kernel log."""
    evidence = healthy.known(NODE, driver=None, modules_loaded=(), secure_boot=secure("enrolled", HOST_KEY))
    finding = found(evidence)["host_driver.loaded"]
    assert finding.repair == "manual"
    # DKMS has another key now than when it signed this one.
    assert "Sign the module with the key that is enrolled (%s)" % CERTIFICATE in finding.fix


def test_case_006_another_key_of_the_same_name_is_another_key() -> None:
    same = Certificate("DKMS module signing key", "aa:bb", "99:99")
    evidence = healthy.known(NODE, driver=None, modules_loaded=(), secure_boot=secure("not enrolled", same))
    assert "another key of that name is, enrolled are" in found(evidence)["host_driver.loaded"].cause


def test_case_006_an_enrolled_signer_is_not_blamed() -> None:
    right = Certificate("DKMS module signing key", "aa:bb", "01:02")
    line = "Loading of module with unavailable key is rejected"  # of somebody else's module
    for log in ((), (line,)):
        evidence = healthy.known(
            NODE, driver=None, modules_loaded=(), secure_boot=secure("enrolled", right), kernel_log=log
        )
        assert found(evidence)["host_driver.loaded"].repair == "roles"


def test_case_006_a_module_of_somebody_else_that_was_refused_says_nothing() -> None:
    log = ("modprobe: ERROR: could not insert 'vboxdrv': Key was rejected by service",)
    evidence = healthy.known(NODE, driver=None, modules_loaded=(), kernel_log=log)
    assert found(evidence)["host_driver.loaded"].repair == "roles"


def test_case_006_another_module_without_a_signature_says_nothing_of_one_that_has_one() -> None:
    """The key of a distribution is no machine owner's key, so the list of those does not acquit the module."""
    node, wanted = node_of(healthy.DRIVER, build="precompiled")
    for signer, repair in (("Canonical Ltd. Kernel Module Signing", "roles"), ("", "manual")):
        evidence = healthy.known(
            node,
            driver=None,
            modules_loaded=(),
            module_on_disk=healthy.module(signer=signer, signing_serial=""),
            secure_boot=secure("missing", HOST_KEY),
            kernel_log=("Loading of unsigned module is rejected",),
        )
        assert found(evidence, wanted)["host_driver.loaded"].repair == repair


def test_case_006_a_module_that_is_not_signed_at_all() -> None:
    unsigned = healthy.module(signer="", signing_serial="")
    evidence = healthy.known(
        NODE, driver=None, modules_loaded=(), module_on_disk=unsigned, secure_boot=secure("missing", HOST_KEY)
    )
    assert "it is not signed" in found(evidence)["host_driver.loaded"].cause


@pytest.mark.parametrize(
    ("state", "cause", "fix"),
    [
        ("not enrolled", "is not enrolled", "mokutil --import %s" % CERTIFICATE),
        ("missing", "has no signing key yet", "dkms generate_mok"),
        ("requested", "waits for somebody at the console", "Reboot the node: at the next boot somebody confirms it"),
        ("blocked", "on a list of blocked keys", "sign with another key"),
    ],
)
def test_case_006_is_said_before_anything_is_installed(state: str, cause: str, fix: str) -> None:
    finding = refused(bare(NODE, secure_boot=secure(state, HOST_KEY)))["host_driver.secure_boot"]
    assert cause in finding.cause
    assert fix in finding.fix
    assert "{source: distro, build: precompiled}" in finding.fix
    assert "Debian has none" in finding.fix
    assert (finding.entity, finding.repair) == (CERTIFICATE, "manual")


def test_case_006_a_key_of_which_nobody_knows_is_no_pass() -> None:
    unknown = dataclasses.replace(secure(""), signing_key=Reading.unknown("mokutil is not installed"))
    finding = refused(bare(NODE, secure_boot=unknown))["host_driver.secure_boot"]
    assert "mokutil is not installed" in finding.cause
    assert "Install mokutil" in finding.fix
    assert "host_driver.secure_boot" in refused(healthy.unreadable(bare(NODE), "secure_boot"))


def test_case_006_on_or_off_is_asked_only_where_it_matters() -> None:
    """A real-time kernel shows no firmware variables (efi=noruntime), and such a node may be golden."""
    evidence, wanted = node_of(healthy.DRIVER, build="precompiled")
    assert refused(healthy.unreadable(bare(evidence), "secure_boot"), wanted) == {}
    assert found(healthy.unreadable(NODE, "secure_boot")) == {}
    finding = refused(healthy.unreadable(bare(NODE), "secure_boot"))["host_driver.secure_boot"]
    assert finding.status == "unknown"
    assert "It is not known whether Secure Boot is on" in finding.cause
    assert "Mount efivarfs" in finding.fix


@pytest.mark.parametrize(
    ("platform", "command"),
    [
        ("debian-12-x86_64", "openssl req -new -x509"),  # DKMS 3.0.10; generate_mok came with 3.1
        ("debian-13-x86_64", "dkms generate_mok"),
        ("ubuntu-24.04-x86_64", "update-secureboot-policy --new-key"),
    ],
)
def test_case_006_the_key_is_made_with_what_the_platform_has(platform: str, command: str) -> None:
    bundle = {"platform": platform, "driver": healthy.LOCK["driver"]}
    (finding,) = verdict.refusals(None, bare(NODE, secure_boot=secure("missing")), 1, bundle)
    assert command in finding.fix
    assert "mokutil --import %s" % CERTIFICATE in finding.fix


@pytest.mark.parametrize("state", [SecureBoot(False), secure("enrolled", HOST_KEY)])
def test_case_006_nothing_is_refused_with_secure_boot_off_or_the_key_enrolled(state: SecureBoot) -> None:
    assert refused(bare(NODE, secure_boot=state)) == {}


def test_case_006_signed_packages_need_no_key_and_a_module_in_the_kernel_proves_its_own() -> None:
    evidence, wanted = node_of(healthy.DRIVER, build="precompiled")
    assert refused(bare(evidence, secure_boot=secure("missing")), wanted) == {}
    assert found(healthy.known(NODE, secure_boot=secure("not enrolled", HOST_KEY))) == {}


@pytest.mark.parametrize("module", [None, healthy.module(healthy.DRIVER, NEXT)])
def test_case_006_a_module_that_was_taken_says_nothing_of_the_next_kernel(module: t.Optional[ModuleOnDisk]) -> None:
    """The key that signs now may be another one than the key that signed what is loaded."""
    evidence, wanted = with_next_kernel(module)
    evidence = healthy.known(evidence, secure_boot=secure("not enrolled", HOST_KEY))
    assert refused(evidence, wanted)["host_driver.secure_boot"].repair == "manual"


def test_case_006_the_bundle_is_judged_where_there_is_no_lock_yet() -> None:
    bundle = {"platform": "ubuntu-24.04-x86_64", "driver": healthy.LOCK["driver"]}
    evidence = bare(NODE, secure_boot=secure("missing"))
    found_there = {f.id: f for f in verdict.refusals(None, evidence, 1, bundle)}
    assert "update-secureboot-policy --new-key" in found_there["host_driver.secure_boot"].fix
    assert "Debian" not in found_there["host_driver.secure_boot"].fix
    assert verdict.refusals(None, bare(NODE), 1, bundle) == ()


def test_case_006_the_keys_as_mokutil_prints_them() -> None:
    printed = "[key 1]\nSHA1 Fingerprint: %s\n        Serial Number: 4660 (0x1234)\n        Subject: CN=%s\n" % (
        ":".join(["5d"] * 20),
        HOST_KEY.subject,
    )
    enrolled = mokutil.enrolled(printed, "", 0).value
    assert enrolled is not None
    assert (enrolled[0].subject, enrolled[0].serial) == (HOST_KEY.subject, HOST_KEY.serial)


# --- 007, 008: flavour and branch ------------------------------------------------------------------------------------

WRAPPED = """
[   12.345678] NVRM: The NVIDIA GPU 0000:03:00.0 (PCI ID: 10de:1bb3)
                   NVRM: installed in this system is not supported by open
                   NVRM: nvidia.ko because it does not include the required GPU
                   NVRM: System Processor (GSP).
[   12.345679] NVRM: GPU 0000:03:00.0: RmInitAdapter failed! (0x24:0x72:1603)
"""
BLACKWELL = """
NVRM: Xid (PCI:000f:01:00): 169, fd8cd000 94000000
NVRM: GPU 000f:01:00.0: RmInitAdapter failed! (0x62:0x1a:2631)
"""


def unusable(address: str, device: str, flavour: str, log: str) -> t.Tuple[Evidence, Desired]:
    """A node whose driver is loaded and lists no GPU."""
    evidence, wanted = node_of(healthy.DRIVER, flavour=flavour)
    none = nvidia_smi.query("No devices were found\n", "", 6)
    licence = "NVIDIA" if flavour == "proprietary" else "Dual MIT/GPL"
    evidence = healthy.known(
        evidence,
        pci=(PciDevice(address, device, "0302", "nvidia"),),
        module_on_disk=healthy.module(licence=licence),
        nvml=GpuTool(),
        cuda=CudaInit(100, "CUDA_ERROR_NO_DEVICE"),
    )
    return dataclasses.replace(evidence, smi=none, kernel_log=kernel_log.parse(log)), wanted


def test_case_007_the_open_module_on_a_pascal_gpu() -> None:
    """zzzhouuu/truenas-nvidia-drivers#20: the sentence is wrapped, RmInitAdapter is loud, lspci shows the driver."""
    evidence, wanted = unusable("0000:03:00.0", "1bb3", "open", WRAPPED)
    problems = found(evidence, wanted)
    assert {finding.layer for finding in problems.values()} == {"host_driver"}
    finding = problems["host_driver.flavour"]
    assert "Pascal" in finding.cause
    assert "hardware is not at fault" in finding.cause
    assert finding.fix.startswith("Use proprietary, in the same branch (580)")
    assert "GPU System Processor" in problems["host_driver.nvidia_smi"].cause
    assert "RmInitAdapter" not in problems["host_driver.nvidia_smi"].cause
    assert "card looked at" not in problems["host_driver.nvidia_smi"].fix


def test_case_008_the_proprietary_module_on_a_blackwell_gpu_in_another_pci_domain() -> None:
    """Start9Labs/start-technologies#3693: an Xid stands beside it, and the domain is not 0000."""
    evidence, wanted = unusable("000f:01:00.0", "2e12", "proprietary", BLACKWELL)
    problems = found(evidence, wanted)
    assert {finding.layer for finding in problems.values()} == {"host_driver"}
    finding = problems["host_driver.flavour"]
    assert (finding.entity, finding.repair) == ("000f:01:00.0", "manual")
    assert "Blackwell GPUs: they need the open kernel modules" in finding.cause
    assert finding.fix.startswith("Use open, in the same branch (580)")
    assert "drain" not in problems["host_driver.nvidia_smi"].fix.lower()


@pytest.mark.parametrize(
    ("device", "driver", "flavour", "words"),
    [
        ("1bb3", "580.159.03", "open", "Pascal"),
        ("1340", "580.159.03", "open", "Maxwell"),
        ("1db6", "580.159.03", "open", "Volta"),
        ("1db6", "595.71.05", "proprietary", "580 is the last branch"),
        ("1bb3", "620.70.06", "open", "580 is the last branch"),
        ("2901", "580.159.03", "proprietary", "Blackwell"),
        ("2342", "580.159.03", "proprietary", "Grace Hopper"),
        ("2901", "550.163.01", "open", "570 is the first branch"),
        ("2330", "510.108.03", "open", "525 is the first branch"),
    ],
)
def test_case_007_008_are_said_before_anything_is_installed(device: str, driver: str, flavour: str, words: str) -> None:
    evidence, wanted = node_of(driver, flavour=flavour)
    evidence = bare(evidence, pci=(PciDevice(ADDRESS, device, "0302", "nouveau"),))
    finding = refused(evidence, wanted)["host_driver.flavour"]
    assert words in finding.cause
    assert finding.repair == "manual"
    unlocked = verdict.refusals(None, evidence, 1, {"platform": wanted.platform, "driver": wanted.lock["driver"]})
    assert [one.id for one in unlocked] == ["host_driver.flavour"]


@pytest.mark.parametrize(
    ("device", "flavour"), [("1bb3", "proprietary"), ("1eb8", "open"), ("1eb8", "proprietary"), ("2901", "open")]
)
def test_case_007_008_what_fits_is_not_refused(device: str, flavour: str) -> None:
    evidence, wanted = node_of(healthy.DRIVER, flavour=flavour)
    assert refused(bare(evidence, pci=(PciDevice(ADDRESS, device, "0302"),)), wanted) == {}


def test_case_007_the_flavour_on_the_node_is_judged_too_and_the_lock_puts_it_right() -> None:
    evidence, wanted = unusable("0000:03:00.0", "1bb3", "proprietary", WRAPPED)
    wrong = healthy.known(
        evidence, driver=DriverLoaded(healthy.DRIVER, "open"), module_on_disk=healthy.module(licence="Dual MIT/GPL")
    )
    assert found(wrong, wanted)["host_driver.flavour"].repair == "roles"
    assert "host_driver.flavour" not in refused(wrong, wanted)
    mended = healthy.known(wrong, module_on_disk=healthy.module(licence="NVIDIA"))
    assert found(mended, wanted)["host_driver.flavour"].repair == "reload"


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (WRAPPED, "the open kernel modules need a GPU System Processor, which it lacks"),
        (
            "NVRM: The NVIDIA GPU 0000:03:00.0 (PCI ID: 10de:fff1)\n"
            "NVRM: installed in this system requires use of the NVIDIA open kernel modules.\n",
            "it needs the open kernel modules",
        ),
        (
            "NVRM: The NVIDIA GPU 0000:03:00.0 (PCI ID: 10de:fff1)\n"
            "NVRM: installed in this system is not supported by the\n"
            "NVRM: NVIDIA 580.159.03 driver release.\n",
            "this branch of the driver does not support it",
        ),
    ],
)
def test_case_007_a_gpu_that_is_in_no_table_is_explained_by_the_drivers_own_words(log: str, cause: str) -> None:
    evidence, wanted = unusable("0000:03:00.0", "fff1", "open", log)
    finding = found(evidence, wanted)["host_driver.nvidia_smi"]
    assert cause in finding.cause
    assert "hardware is not at fault" in finding.fix


def test_case_007_one_old_gpu_among_new_ones_is_no_broken_hardware() -> None:
    wanted = healthy.desired("h100x8")
    node = healthy.evidence("h100x8", wanted)
    pci = list(node.pci.value or ())
    pci[3] = dataclasses.replace(pci[3], device="1bb3")
    answer = node.nvml.value
    assert answer is not None
    answer = dataclasses.replace(answer, gpus=tuple(gpu for gpu in answer.gpus if gpu.index != 3))
    log = (
        "NVRM: GPU %s: RmInitAdapter failed! (0x24:0x72:1603)" % pci[3].address,
        "NVRM: Xid (PCI:%s): 169, x" % pci[3].address[:-2],
    )
    problems = found(healthy.known(node, pci=tuple(pci), nvml=answer, kernel_log=log), wanted, 8)
    assert {finding.layer for finding in problems.values()} == {"host_driver"}
    assert problems["host_driver.flavour"].entity == pci[3].address


# --- 009: an API mismatch explains what comes after it ---------------------------------------------------------------

SKEW = """
NVRM: API mismatch: the client has the version 570.153.02, but
NVRM: this kernel module has the version 570.144.  Please
NVRM: make sure that this kernel module and all NVIDIA driver
NVRM: components have the same version.
nvidia 0000:17:00.0: Direct firmware load for nvidia/570.144/gsp_ga10x.bin failed with error -2
NVRM: RmFetchGspRmImages: No firmware image found
NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x61:0x56:1770)
"""


def skewed(log: str, disk: str, wanted_version: str = "570.153.02") -> t.Tuple[Evidence, Desired]:
    evidence, wanted = node_of(wanted_version)
    evidence = healthy.known(
        evidence,
        driver=DriverLoaded("570.144", "open"),
        module_on_disk=healthy.module(disk),
        libraries=libraries("570.153.02"),
        nvml=GpuTool(),
        smi=GpuTool(),
    )
    return dataclasses.replace(evidence, kernel_log=kernel_log.parse(log)), wanted


@pytest.mark.parametrize(("disk", "repair"), [("570.144", "roles"), ("570.153.02", "reload")])
@pytest.mark.parametrize("wanted_version", ["570.153.02", "570.144"])
def test_case_009_the_mismatch_comes_before_firmware_and_rminitadapter(
    disk: str, repair: str, wanted_version: str
) -> None:
    """ublue-os/bazzite#2668"""
    evidence, wanted = skewed(SKEW, disk, wanted_version)
    problems = found(evidence, wanted)
    finding = problems["host_driver.nvidia_smi"]
    assert finding.cause.endswith("the kernel module is 570.144 and user space 570.153.02.")
    assert finding.repair == repair
    for problem in problems.values():
        said = (problem.cause + problem.fix).lower()
        assert not any(word in said for word in ("linux-firmware", "disable", "rminitadapter", "card"))


def test_case_009_firmware_of_another_version_comes_before_rminitadapter() -> None:
    evidence, wanted = skewed(SKEW.split("version.\n", 1)[1], "570.144", "570.144")
    evidence = healthy.known(evidence, libraries=libraries("570.144"))
    finding = found(evidence, wanted)["host_driver.nvidia_smi"]
    assert "the firmware of driver 570.144 is not on the node" in finding.cause
    assert finding.repair == "roles"


def test_case_009_firmware_that_another_driver_missed_in_this_boot_explains_nothing() -> None:
    """The driver was loaded anew since, in place of a reboot, and the log goes on."""
    log = SKEW.split("version.\n", 1)[1].replace("570.144", "550.163.01")
    evidence, wanted = skewed(log, "570.144", "570.144")
    evidence = healthy.known(evidence, libraries=libraries("570.144"))
    finding = found(evidence, wanted)["host_driver.nvidia_smi"]
    assert "RmInitAdapter failed" in finding.cause
    assert finding.repair == "manual"


@pytest.mark.parametrize(("said", "instead"), [("570.144", "570.100.01"), ("570.153.02", "550.163.01")])
def test_case_009_a_mismatch_that_is_over_or_of_a_container_explains_nothing(said: str, instead: str) -> None:
    log = SKEW.split("nvidia 0000", 1)[0].replace(said, instead)
    evidence, wanted = skewed(log, "570.144", "570.144")
    evidence = healthy.known(evidence, libraries=libraries("570.144"))
    assert "user space" not in found(evidence, wanted)["host_driver.nvidia_smi"].cause


# --- 012: a card that never enumerated; cards of somebody else -------------------------------------------------------


def eight(aside: int) -> t.Tuple[Evidence, Desired]:
    """A node with eight GPUs of which some are bound to vfio-pci; its tools see the others."""
    wanted = healthy.desired("h100x8")
    node = healthy.evidence("h100x8", wanted)
    pci = [
        dataclasses.replace(device, driver="vfio-pci") if at < aside else device
        for at, device in enumerate(node.pci.value or ())
    ]
    return healthy.known(node, pci=tuple(pci)), wanted


def test_case_012_the_number_is_never_taken_from_the_node() -> None:
    """aws/eks-node-monitoring-agent#121"""
    finding = found(NODE, gpus=4)["hardware.gpu_count"]
    assert (finding.layer, finding.repair) == ("hardware", "manual")
    assert finding.actual.startswith("1 GPUs")


def test_case_012_a_gpu_that_is_set_aside_is_not_called_missing() -> None:
    evidence, wanted = eight(aside=1)
    finding = refused(evidence, wanted, 8)["hardware.gpu_count"]
    assert "1 of the 8 expected GPUs are set aside for virtual machines" in finding.cause
    assert "vfio-pci holds %s" % ADDRESS in finding.cause
    assert "golden_expected_gpus=7" in finding.fix


def test_case_012_gpus_that_are_set_aside_do_not_count_and_are_left_alone() -> None:
    evidence, wanted = eight(aside=4)
    assert refused(evidence, wanted, 4) == {}
    counted = next(f for f in verdict.run(wanted, evidence, 4).findings if f.id == "hardware.gpu_count")
    assert "4 GPUs, as declared; set aside for virtual machines: vfio-pci holds" in counted.actual
    assert "more than the 2 expected" in refused(evidence, wanted, 2)["hardware.gpu_count"].cause
    assert "are missing" in refused(evidence, wanted, 9)["hardware.gpu_count"].cause


@pytest.mark.parametrize("driver", SET_ASIDE_BY)
@pytest.mark.parametrize("locked", [True, False])
def test_case_012_a_host_whose_gpus_are_all_set_aside_is_refused(driver: str, locked: bool) -> None:
    evidence = bare(NODE, pci=bound(driver))
    problems = verdict.refusals(healthy.desired() if locked else None, evidence, 1)
    assert [one.id for one in problems] == ["hardware.gpu_present", "hardware.gpu_count"]
    assert "left alone" in problems[0].cause


@pytest.mark.parametrize("locked", [True, False])
def test_case_012_a_vgpu_guest_is_refused_without_a_driver(locked: bool) -> None:
    pci = tuple(dataclasses.replace(device, vgpu=True) for device in bound(None))
    problems = verdict.refusals(healthy.desired() if locked else None, bare(NODE, pci=pci), 1)
    assert [one.id for one in problems] == ["hardware.vgpu"]
    assert "guest driver" in problems[0].cause
    unknown = tuple(dataclasses.replace(device, vgpu=None) for device in bound("nvidia"))
    # The kernel shows an ordinary user 64 bytes of configuration space, and such a user may ask for the local fact.
    assert verdict.run(healthy.desired(), healthy.cheap(healthy.known(NODE, pci=unknown)), 1).golden
    problems = verdict.refusals(healthy.desired() if locked else None, bare(NODE, pci=unknown), 1)
    assert [(one.id, one.status) for one in problems] == [("hardware.vgpu", "unknown")]


# --- 014: the banner of driver 610 -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("banner", "driver", "cuda"),
    [
        ("| NVIDIA-SMI 550.90.07    Driver Version: 550.90.07    CUDA Version: 12.4     |", "550.90.07", "12.4"),
        ("| NVIDIA-SMI 610.43.02    KMD Version: 610.43.02     CUDA UMD Version: 13.3     |", "610.43.02", "13.3"),
        ("| NVIDIA-SMI 610.43.02    KMD Version: 610.43.02     CUDA UMD Version: N/A      |", "610.43.02", None),
        ("| NVIDIA-SMI 550.90.07    Driver Version: 550.90.07    CUDA Version: ERR!     |", "550.90.07", None),
    ],
)
def test_case_014_both_banners_and_a_cuda_that_is_not_told(banner: str, driver: str, cuda: t.Optional[str]) -> None:
    """NVIDIA/ai-cloud-validation#473"""
    assert nvidia_smi.banner(banner + "\n", "", 0).value == GpuTool(driver=driver, cuda=cuda)


# --- 027: WSL --------------------------------------------------------------------------------------------------------


def test_case_027_wsl_is_refused_and_no_denial_of_a_control_group() -> None:
    """microsoft/WSL#9166"""
    platform = dataclasses.replace(NODE.platform.value, wsl=True)  # type: ignore[type-var]
    packages = {"nvidia-utils-510": Package("nvidia-utils-510", "510.47.03-0ubuntu1")}
    evidence = bare(NODE, platform=platform, pci=(), packages=packages)
    assert list(refused(evidence)) == ["host_driver.kernel"]
    assert "driver of Windows" in refused(evidence)["host_driver.kernel"].cause
    assert "nvidia-utils-510" in refused(evidence)["host_driver.kernel"].actual


# --- 058: the fabric manager -----------------------------------------------------------------------------------------


def test_case_058_a_fabric_manager_of_the_same_branch_is_not_the_same_version() -> None:
    """NVIDIA/gpu-operator#544: nvidia-smi passes everywhere and the unit may be active."""
    lock = healthy.lock(driver={"version": "530.41.03"}, fabric_manager={"version": "530.41.03"})
    wanted = healthy.desired("h100x8", of_lock=lock)
    said = (
        "fabric manager NVIDIA GPU driver interface version 530.30.02 don't match with driver version 530.41.03. "
        "Please update with matching NVIDIA driver package.\n"
    )
    evidence = dataclasses.replace(
        healthy.evidence("h100x8", wanted),
        fabric_mismatch=fabric_manager.mismatch(said),
        cuda=Reading(CudaInit(802, "CUDA_ERROR_SYSTEM_NOT_READY")),
        pci=Reading(
            tuple(
                dataclasses.replace(device, device="20b2") if device.is_gpu else device
                for device in healthy.evidence("h100x8", wanted).pci.value or ()
            )
        ),
    )
    problems = found(evidence, wanted, 8)
    finding = problems["host_driver.fabric_manager"]
    assert finding.actual == "fabric manager 530.30.02, driver 530.41.03"
    assert finding.repair == "roles"
    assert "fabric" in problems["host_driver.cuda"].cause


def test_case_058_a_fabric_manager_that_is_ahead_of_the_loaded_driver_waits_for_the_reboot() -> None:
    wanted = healthy.desired("h100x8")
    node = healthy.evidence("h100x8", wanted)
    said = "interface version %s don't match with driver version %s.\n" % (healthy.DRIVER, OLD)
    evidence = dataclasses.replace(node, fabric_mismatch=fabric_manager.mismatch(said))
    assert found(evidence, wanted, 8)["host_driver.fabric_manager"].repair == "reload"
