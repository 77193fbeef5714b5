# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The right cause for the right evidence: which layer is broken, what is said, and who can mend it.

Where a comment names an issue, that is where somebody met the fault, and why the obvious test would have missed it.
"""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.desired import HEADER
from ansible_collections.goldennode.gpu.plugins.module_utils.docker_record import fingerprint
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    CudaInit,
    Desired,
    DriverLoaded,
    Evidence,
    FileState,
    Finding,
    Gpu,
    GpuTool,
    Initramfs,
    KeptPackages,
    Library,
    ModuleOnDisk,
    Package,
    PciDevice,
    Reading,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import apt_sources, daemon_json, kernel_log
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)
EIGHT_WANTED = healthy.desired("h100x8")
EIGHT = healthy.evidence("h100x8", EIGHT_WANTED)

OLD = "580.126.09"
BLACKLIST = "/etc/modprobe.d/goldennode-blacklist.conf"
OPTIONS = "/etc/modprobe.d/goldennode-nvidia.conf"


def judged(evidence: Evidence, wanted: Desired = WANTED, gpus: int = 1) -> verdict.Verdict:
    return verdict.run(wanted, evidence, gpus)


def of(evidence: Evidence, check: str, wanted: Desired = WANTED, gpus: int = 1) -> t.List[Finding]:
    """The findings of one check that did not pass."""
    return [f for f in judged(evidence, wanted, gpus).findings if f.id == check and f.status != "pass"]


def only(evidence: Evidence, check: str, wanted: Desired = WANTED, gpus: int = 1) -> Finding:
    """The one finding of the check; it fails, it is in the broken layer, and it says all that a finding must say."""
    found = of(evidence, check, wanted, gpus)
    assert len(found) == 1, found
    assert found[0].status == "fail"
    assert judged(evidence, wanted, gpus).first_broken == found[0].layer
    assert all((found[0].expected, found[0].actual, found[0].cause, found[0].fix, found[0].repair))
    return found[0]


def without_file(evidence: Evidence, path: str) -> Evidence:
    return healthy.known(evidence, files={p: f for p, f in (evidence.files.value or {}).items() if p != path})


def bound_to(evidence: Evidence, driver: t.Optional[str]) -> t.Tuple[t.Any, ...]:
    return tuple(dataclasses.replace(d, driver=driver) if d.is_gpu else d for d in evidence.pci.value or ())


def in_initramfs(evidence: Evidence, **fields: t.Any) -> t.Tuple[t.Any, ...]:
    return tuple(dataclasses.replace(one, **fields) for one in evidence.initramfs.value or ())


def libraries(version: str, folder: str = "/usr/lib/x86_64-linux-gnu") -> t.Dict[str, Library]:
    return {
        "%s.so.1" % name: Library(
            "%s.so.1" % name, "%s/%s.so.1" % (folder, name), "%s/%s.so.%s" % (folder, name, version)
        )
        for name in ("libcuda", "libnvidia-ml")
    }


def tool(evidence: Evidence, *errors: t.Tuple[int, str]) -> GpuTool:
    """What NVML says when some GPUs cannot be asked."""
    answer = evidence.nvml.value
    assert answer is not None
    gpus = [dataclasses.replace(gpu, error=dict(errors).get(gpu.index)) for gpu in answer.gpus]
    return dataclasses.replace(answer, gpus=tuple(gpus))


# --- hardware --------------------------------------------------------------------------------------------------------


def test_a_gpu_that_is_missing_from_pci_is_missed_although_all_else_agrees() -> None:
    """aws/eks-node-monitoring-agent#121: driver, nodes and tools agree on the wrong number."""
    finding = only(NODE, "hardware.gpu_count", gpus=4)
    assert "3 of the 4 expected GPUs are missing" in finding.cause
    assert finding.repair == "manual"


def test_more_gpus_than_declared_is_a_mistake_of_the_inventory() -> None:
    assert "golden_expected_gpus=8" in only(EIGHT, "hardware.gpu_count", EIGHT_WANTED, gpus=4).fix


def test_no_gpu_at_all() -> None:
    evidence = healthy.known(NODE, pci=())
    assert "no NVIDIA GPU" in only(evidence, "hardware.gpu_present").cause


def test_without_a_declared_number_nothing_passes() -> None:
    found = verdict.run(WANTED, NODE, None)
    assert not found.golden
    assert [f.status for f in found.broken] == ["unknown"]


@pytest.mark.parametrize("words", ["GPU is lost", "GPU has fallen off the bus or has otherwise become inaccessible"])
def test_a_lost_gpu_is_hardware(words: str) -> None:
    evidence = healthy.known(EIGHT, nvml=tool(EIGHT, (3, words)))
    finding = only(evidence, "hardware.gpu_healthy", EIGHT_WANTED, 8)
    assert finding.entity == healthy.address(3)
    assert "lost" in finding.cause


def test_xid_79_tells_of_a_lost_gpu_where_the_tools_hang() -> None:
    line = "NVRM: Xid (PCI:%s): 79, pid='<unknown>', GPU has fallen off the bus." % healthy.address(5)[:-2]
    evidence = healthy.unreadable(healthy.known(EIGHT, kernel_log=(line,)), "nvml", "smi")
    finding = only(evidence, "hardware.gpu_healthy", EIGHT_WANTED, 8)
    assert finding.entity == healthy.address(5)
    assert line in finding.actual


def test_an_xid_that_an_application_causes_is_no_fault_of_the_hardware() -> None:
    line = "NVRM: Xid (PCI:%s): 31, pid=1234, name=python3, MMU Fault" % healthy.address(0)[:-2]
    assert judged(healthy.known(NODE, kernel_log=(line,))).golden


@pytest.mark.parametrize("silent", [False, True])
def test_one_gpu_of_eight_that_the_driver_does_not_initialise_is_hardware(silent: bool) -> None:
    log = "NVRM: GPU %s: RmInitAdapter failed! (0x62:0xffff:2477)" % healthy.address(3)
    answer = tool(EIGHT, (3, "Unknown Error"))
    if silent:
        answer = dataclasses.replace(answer, gpus=tuple(gpu for gpu in answer.gpus if not gpu.error))
    finding = only(healthy.known(EIGHT, nvml=answer, kernel_log=(log,)), "hardware.gpu_healthy", EIGHT_WANTED, 8)
    assert finding.entity == healthy.address(3)
    assert log in finding.actual
    assert finding.repair == "manual"


def test_a_gpu_whose_node_is_missing_is_not_called_broken_hardware() -> None:
    nodes = tuple(node for node in EIGHT.device_nodes.value or () if node.path != "/dev/nvidia3")
    evidence = healthy.known(EIGHT, nvml=tool(EIGHT, (3, "Unknown Error")), device_nodes=nodes)
    assert only(evidence, "device_nodes.present", EIGHT_WANTED, 8).entity == "/dev/nvidia3"


# --- packages --------------------------------------------------------------------------------------------------------


def test_a_bare_node_lacks_packages_and_nothing_else_is_judged() -> None:
    bare = healthy.known(NODE, packages={}, driver=None, modules_loaded=(), device_nodes=(), docker=None)
    found = judged(without_file(healthy.unreadable(bare, "nvml", "smi", "cuda"), BLACKLIST))
    assert found.first_broken == "packages"
    later = [f for f in found.findings if f.layer in ("host_driver", "device_nodes", "container_runtime", "image")]
    assert later
    assert {(f.status, f.actual) for f in later} == {("skip", "not judged: packages is broken")}


def with_source(text: str, name: str = "x.list") -> Evidence:
    entries = apt_sources.parse("/etc/apt/sources.list.d/" + name, text, "amd64")
    return healthy.known(NODE, sources=(*(NODE.sources.value or ()), *entries))


def test_case_039_a_second_entry_of_a_repository_with_another_key_is_set_aside_by_a_run() -> None:
    finding = only(with_source("deb http://vendor.testbed/nvidia/debian13/ stable main\n"), "packages.sources")
    assert finding.entity == "/etc/apt/sources.list.d/x.list:1"
    assert "as goldennode-nvidia.sources does, with another key" in finding.cause
    assert (finding.repair, finding.fix) == ("roles", "Run site.yml on this node. It sets it aside.")


def test_a_finding_shows_no_password_of_a_package_source() -> None:
    line = "deb http://svc:S3cret@vendor.testbed/nvidia/debian13 stable main\n"
    finding = only(with_source(line), "packages.sources")
    assert finding.actual == "http://vendor.testbed/nvidia/debian13 stable"
    assert "S3cret" not in repr(judged(with_source(line))) + repr(with_source(line))


def test_a_repository_that_has_left_the_bundle_is_deleted_by_a_run() -> None:
    text = HEADER + "Types: deb\nURIs: http://old.example\nSuites: /\n"
    finding = only(with_source(text, "goldennode-old.sources"), "packages.sources")
    assert (finding.repair, finding.fix) == ("roles", "Run site.yml on this node. It deletes it.")


def test_sources_that_apt_cannot_read_are_for_a_person() -> None:
    finding = only(with_source("deb http://mine.example\n"), "packages.sources")
    assert finding.repair == "manual"
    assert "and with it every source: it has no address and suite." in finding.cause


def test_sources_of_others_are_no_business_of_ours() -> None:
    assert judged(with_source("deb http://mine.example/x stable main\n")).golden


def test_one_library_that_was_moved_beside_a_held_metapackage() -> None:
    """lyulyul/shine-cluster#30: unattended-upgrades moved what nobody had held."""
    moved = Package("libnvidia-common-580", "580.178.04-0ubuntu0.24.04.1")
    finding = only(healthy.known(NODE, packages={**(NODE.packages.value or {}), moved.name: moved}), "packages.set")
    assert finding.entity == moved.name
    assert finding.repair == "roles"


@pytest.mark.parametrize("name", ["nvidia-imex", "libnvidia-nscq-580", "libnvsdm", "libegl-nvidia0", "nvidia-open"])
def test_case_036_every_member_of_the_set_must_have_the_drivers_version(name: str) -> None:
    moved = Package(name, "580.178.04-1")
    assert (
        only(healthy.known(NODE, packages={**(NODE.packages.value or {}), name: moved}), "packages.set").entity == name
    )


def test_case_036_versions_of_two_and_of_three_numbers_are_compared_whole() -> None:
    """lyulyul/shine-cluster#30: unattended-upgrades moved one library from 460.73.01 to 460.80."""
    revision = "-0ubuntu0.20.04.1"
    names = ("nvidia-driver-460", "nvidia-dkms-460", "libnvidia-compute-460")
    driver = {"version": "460.73.01", "packages": dict.fromkeys(names, "460.73.01" + revision)}
    wanted = healthy.desired(of_lock=healthy.lock(driver=driver, fabric_manager=None))
    node = healthy.evidence("a10", wanted)
    library = Package("libnvidia-common-460", "460.73.01" + revision, held=True)
    assert judged(healthy.known(node, packages={**(node.packages.value or {}), library.name: library}), wanted).golden
    moved = dataclasses.replace(library, version="460.80-0ubuntu0.20.04.2")
    finding = only(
        healthy.known(node, packages={**(node.packages.value or {}), moved.name: moved}), "packages.set", wanted
    )
    assert (finding.entity, finding.repair) == ("libnvidia-common-460", "roles")
    assert finding.cause == "libnvidia-common-460 belongs to another driver than the lock's 460.73.01."


@pytest.mark.parametrize("held", [True, False])
def test_a_kernel_module_of_another_make_is_found_at_the_same_version(held: bool) -> None:
    """The other flavour or build of the lock's driver; on Ubuntu depmod takes DKMS's module before the signed one."""
    other = Package("nvidia-kernel-dkms", WANTED.lock["driver"]["packages"]["libcuda1"], held)
    evidence = healthy.known(NODE, packages={**(NODE.packages.value or {}), other.name: other})
    finding = only(evidence, "packages.set")
    assert (finding.entity, finding.expected, finding.actual) == (other.name, "not installed", other.version)
    assert finding.cause == (
        "nvidia-kernel-dkms brings another kernel module of the driver than the lock's packages do, and the node may"
        " load that one."
    )
    assert finding.repair == "roles"
    assert of(evidence, "packages.holds") == []


@pytest.mark.parametrize("pinned", ["590", "580.178.04"])
def test_nvidias_pin_of_another_driver_is_named_with_the_way_out(pinned: str) -> None:
    pin = Package("nvidia-driver-pinning-" + pinned, pinned + "-1")
    finding = only(healthy.known(NODE, packages={**(NODE.packages.value or {}), pin.name: pin}), "packages.set")
    assert (finding.entity, finding.actual, finding.repair) == (pin.name, "a pin of driver %s" % pinned, "manual")
    assert "apt-get purge %s" % pin.name in finding.fix


@pytest.mark.parametrize("pinned", ["580", "580.159.03"])
def test_nvidias_pin_of_this_driver_does_no_harm(pinned: str) -> None:
    pin = Package("nvidia-driver-pinning-" + pinned, pinned + "-1")
    assert judged(healthy.known(NODE, packages={**(NODE.packages.value or {}), pin.name: pin})).golden


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("nvidia-firmware-580-server-580.126.09", "580.126.09-0ubuntu0.24.04.1"),
        ("nvlsm", "2025.06.11-1"),
        ("nvidia-modprobe", "570.133.07-1"),
        ("nvidia-settings", "550.54.14-1"),
        ("nvidia-kernel-common", "20240109+1"),
        ("libnvidia-egl-wayland1", "1.1.18-1"),
        ("nvidia-container-runtime", "3.14.0-1"),
        ("libnvidia-common-580", healthy.DRIVER + "-0ubuntu1"),
    ],
)
def test_a_package_with_a_version_of_its_own_is_no_other_driver(name: str, version: str) -> None:
    packages = {**(NODE.packages.value or {}), name: Package(name, version, held=True)}
    assert judged(healthy.known(NODE, packages=packages)).golden


@pytest.mark.parametrize(
    ("name", "version", "missed"),
    [
        ("libnvidia-common-580", healthy.DRIVER + "-0ubuntu1", True),
        ("xserver-xorg-video-nvidia-580", healthy.DRIVER + "-0ubuntu1", True),
        ("libcuda1:i386", healthy.DRIVER + "-1", True),
        ("nvidia-settings", "550.54.14-1", False),
        ("libnvidia-egl-wayland1", "1.1.18-1", False),
        ("nvidia-container-runtime", "3.14.0-1", False),
    ],
)
def test_a_part_of_the_driver_that_no_lock_names_is_held_too(name: str, version: str, missed: bool) -> None:
    """lyulyul/shine-cluster#30: the hold list did not cover the whole set of the branch."""
    evidence = healthy.known(NODE, packages={**(NODE.packages.value or {}), name: Package(name, version)})
    assert judged(evidence).golden == (not missed)
    if missed:
        assert only(evidence, "packages.holds").entity == name


MODULE = "linux-modules-nvidia-580-server-open-6.8.0-%d-generic"
DRIVER = healthy.DRIVER + "-1"


def precompiled(*others: Package) -> t.Tuple[Desired, Evidence]:
    """A node of Ubuntu's names with modules for kernel 90, and other packages."""
    packages = {"libcuda1": DRIVER, MODULE % 90: "6.8.0-90.91"}
    wanted = healthy.desired("a10", healthy.lock(driver={"packages": packages, "build": "precompiled"}))
    node = healthy.evidence("a10", wanted)
    return wanted, healthy.known(node, packages={**(node.packages.value or {}), **{p.name: p for p in others}})


@pytest.mark.parametrize("held", [True, False])
def test_precompiled_modules_for_another_kernel_are_no_other_make(held: bool) -> None:
    """They are that kernel's, whoever holds them."""
    wanted, node = precompiled(Package(MODULE % 88, "6.8.0-88.89", held))
    assert of(node, "packages.set", wanted) == of(node, "packages.holds", wanted) == []


OLD_KERNEL = ("linux-headers-6.12.48+deb13-amd64", "linux-image-6.12.48+deb13-amd64")


def held_by_us(*names: str, version: str = "6.12.48-1", wanted: Desired = WANTED) -> Evidence:
    node = healthy.evidence("a10", wanted)
    packages = {**(node.packages.value or {}), **{name: Package(name, version, held=True) for name in names}}
    return healthy.known(node, packages=packages, own_holds=(*(node.own_holds.value or ()), *names))


def test_the_kernel_of_an_earlier_lock_is_not_held_for_ever() -> None:
    found = of(held_by_us(*OLD_KERNEL), "packages.holds")
    assert [(f.entity, f.expected, f.actual, f.repair) for f in found] == [
        (name, "not held", "held", "roles") for name in OLD_KERNEL
    ]
    assert found[0].cause == (
        "A run has held linux-headers-6.12.48+deb13-amd64, and nothing wants it held any more: apt neither upgrades nor"
        " removes it."
    )


def test_where_the_kernel_is_not_pinned_any_more_our_holds_of_it_are_too_much() -> None:
    wanted = healthy.desired("a10", kernel_pin=False)
    kernels = sorted(wanted.lock["kernel"]["packages"])
    assert [f.entity for f in of(held_by_us(*kernels, wanted=wanted), "packages.holds", wanted)] == kernels


def test_a_hold_of_somebody_else_is_no_business_of_ours() -> None:
    packages = {**(NODE.packages.value or {}), **{n: Package(n, "6.12.48-1", held=True) for n in OLD_KERNEL}}
    assert judged(healthy.known(NODE, packages=packages)).golden
    wanted = healthy.desired("a10", kernel_pin=False)  # the kernel of this very lock, too
    assert judged(healthy.evidence("a10", wanted), wanted).golden


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("libnvcuvid1", DRIVER),  # a part of the driver that the lock does not name
        ("nvidia-fabricmanager", DRIVER),
        ("nvidia-kernel-dkms", DRIVER),  # packages.set says it, and a run removes it
        ("libnvoptix1", "570.211.01-1"),
        ("nvidia-settings", "570.211.01-1"),  # our pin would move it
    ],
)
def test_what_is_held_with_the_driver_or_goes_with_it_is_not_said_to_be_held_too_much(name: str, version: str) -> None:
    assert of(held_by_us(name, version=version), "packages.holds") == []


def kept(evidence: Evidence, wanted: t.Any = None) -> t.List[Finding]:
    found = judged(evidence, wanted or WANTED)
    assert found.golden
    return [finding for finding in found.findings if finding.id == "packages.kept"]


def test_package_files_that_are_not_kept_are_said_and_take_no_gold() -> None:
    files = NODE.kept_packages.value.files if NODE.kept_packages.value else ()
    (finding,) = kept(healthy.known(NODE, kept_packages=KeptPackages(files[1:], {})))
    assert (finding.status, finding.entity, finding.required) == ("fail", "this lock", False)
    assert files[0].partition("=")[0] in finding.cause


def test_the_files_of_the_lock_before_are_wanted_too() -> None:
    files = NODE.kept_packages.value.files if NODE.kept_packages.value else ()
    before = {"driver": {"libcuda1": "570.211.01-1"}, "unknown": {"other": "1"}}
    (finding,) = kept(healthy.known(NODE, kept_packages=KeptPackages(files, before)))
    assert (finding.status, finding.entity, finding.actual) == ("fail", "the lock before", "0 of them are there")
    whole = KeptPackages((*files, "libcuda1=570.211.01-1"), before)
    assert [finding.status for finding in kept(healthy.known(NODE, kept_packages=whole))] == ["pass"]


def test_where_a_mirror_keeps_them_nothing_need_be_kept() -> None:
    wanted = healthy.desired(packages_keep=False)
    evidence = dataclasses.replace(healthy.evidence("a10", wanted), kept_packages=Reading(KeptPackages((), {})))
    assert [finding.status for finding in kept(evidence, wanted)] == ["pass"]


def test_case_041_a_skew_inside_the_toolkit_is_seen_behind_its_first_package() -> None:
    """NVIDIA/nvidia-container-toolkit#1100: the pin of one package of four."""
    packages = {**(NODE.packages.value or {})}
    packages["libnvidia-container1"] = Package("libnvidia-container1", "1.19.1-1", held=True)
    assert only(healthy.known(NODE, packages=packages), "packages.versions").entity == "libnvidia-container1"


def test_an_epoch_is_part_of_the_version() -> None:
    packages = {**(NODE.packages.value or {})}
    packages["docker-ce"] = Package("docker-ce", "26.1.4-1~debian.13~trixie", held=True)
    assert only(healthy.known(NODE, packages=packages), "packages.versions").expected.startswith("5:")


def test_the_fabric_manager_is_wanted_with_an_nvswitch_only() -> None:
    packages = {n: p for n, p in (EIGHT.packages.value or {}).items() if n != "nvidia-fabricmanager"}
    assert judged(NODE).golden
    finding = only(healthy.known(EIGHT, packages=packages), "packages.versions", EIGHT_WANTED, 8)
    assert finding.entity == "nvidia-fabricmanager"


def test_another_platform_than_the_lock() -> None:
    platform = dataclasses.replace(NODE.platform.value, version_id="12")  # type: ignore[type-var]
    assert only(healthy.known(NODE, platform=platform), "packages.platform").actual == "debian-12-x86_64"


# --- host_driver -----------------------------------------------------------------------------------------------------


def test_a_reboot_is_pending_since_the_driver_was_upgraded() -> None:
    """oddmario/NVIDIA-Ubuntu-Driver-Guide#4: disk and packages agree with each other; only the loaded module is old."""
    evidence = healthy.known(NODE, driver=DriverLoaded(OLD, "open"))
    finding = only(evidence, "host_driver.loaded")
    assert "reboot is pending" in finding.cause
    assert finding.repair == "reload"
    assert "golden_allow_reboot" in finding.fix
    assert "driver_allow_reload" in finding.fix


def test_the_local_fact_sees_the_pending_reboot_too() -> None:
    evidence = healthy.cheap(healthy.known(NODE, driver=DriverLoaded(OLD, "open")))
    assert only(evidence, "host_driver.loaded").repair == "reload"


def test_a_module_that_is_old_on_disk_too_needs_the_roles() -> None:
    evidence = healthy.known(
        NODE, driver=DriverLoaded(OLD, "open"), module_on_disk=ModuleOnDisk(healthy.KERNEL, OLD, "Dual MIT/GPL")
    )
    assert of(evidence, "host_driver.loaded")[0].repair == "roles"
    assert of(evidence, "host_driver.module_on_disk")[0].repair == "roles"


def test_libraries_are_compared_by_the_file_behind_the_link() -> None:
    """tinygrad/open-gpu-kernel-modules#47: the NVML line prints two of three numbers, and both sides read 570.124."""
    lock = healthy.lock(driver={"version": "570.124.06"}, fabric_manager=None)
    wanted = healthy.desired(of_lock=lock)
    evidence = healthy.known(healthy.evidence("a10", wanted), libraries=libraries("570.124.04"))
    words = "nvidia-smi ended with code 18: Failed to initialize NVML: Driver/library version mismatch"
    evidence = dataclasses.replace(evidence, smi=Reading.unknown(words))
    found = of(evidence, "host_driver.libraries", wanted)
    assert [f.entity for f in found] == ["libcuda.so.1", "libnvidia-ml.so.1"]
    assert {(f.expected, f.repair) for f in found} == {("570.124.06", "roles")}
    assert "570.124.04" in found[0].actual


def test_a_copy_of_a_library_from_an_installer_is_named_with_its_place() -> None:
    evidence = healthy.known(NODE, libraries={**libraries(OLD, "/usr/local/lib")})
    found = of(evidence, "host_driver.libraries")
    assert "/usr/local/lib" in found[0].cause
    assert found[0].repair == "manual"


def test_no_module_for_the_running_kernel() -> None:
    """NVIDIA/nvidia-docker#365: files named nvidia lay below the running kernel, and none of them was nvidia.ko."""
    evidence = healthy.known(NODE, module_on_disk=None, driver=None, modules_loaded=(), dkms=None)
    finding = of(evidence, "host_driver.module_on_disk")[0]
    assert finding.cause.startswith("No nvidia module is built for the running kernel %s." % healthy.KERNEL)
    assert finding.repair == "roles"


def test_another_kernel_than_the_locks_needs_a_reboot_where_that_is_installed() -> None:
    boot = dataclasses.replace(NODE.boot.value, kernel="6.12.48+deb13-amd64")  # type: ignore[type-var]
    evidence = healthy.known(NODE, boot=boot, module_on_disk=None)
    assert of(evidence, "host_driver.kernel")[0].repair == "reboot"
    assert of(evidence, "host_driver.module_on_disk")[0].repair == "reboot"
    assert of(healthy.cheap(evidence), "host_driver.kernel")[0].repair == "reboot"


def test_a_kernel_that_is_not_pinned_is_not_judged() -> None:
    wanted = healthy.desired(kernel_pin=False)
    node = healthy.evidence("a10", wanted)
    boot = dataclasses.replace(node.boot.value, kernel="6.12.48+deb13-amd64")  # type: ignore[type-var]
    assert judged(healthy.known(node, boot=boot), wanted).golden


NOUVEAU: t.Dict[str, t.Any] = {"modules_loaded": ("nouveau",), "driver": None}


def test_nouveau_from_an_initramfs_of_before_the_blacklist() -> None:
    """Case 015: the blacklist file is there, and nouveau still owns the GPU after each reboot."""
    stale = in_initramfs(NODE, recorded_inputs="of before")
    evidence = healthy.known(NODE, **NOUVEAU, pci=bound_to(NODE, "nouveau"), initramfs=stale)
    finding = of(evidence, "host_driver.nouveau")[0]
    assert "its initramfs is stale" in finding.cause
    assert finding.repair == "roles"
    assert of(evidence, "host_driver.initramfs")[0].repair == "roles"


@pytest.mark.parametrize("recorded", [None, "in"])
def test_case_015_nouveau_inside_an_initramfs_without_the_blacklist(recorded: t.Optional[str]) -> None:
    """openSUSE/nvidia-driver-G06#62: the file on the disk is right, and nothing of modprobe.d is in the image."""
    log = (
        "NVRM: The NVIDIA probe routine was not called for 1 device(s).\n"
        "NVRM: This can occur when a driver such as:\nNVRM: nouveau, rivafb, nvidiafb or rivatv\n"
        "NVRM: was loaded and obtained ownership of the NVIDIA device(s).\n"
    )
    inside = in_initramfs(NODE, nouveau=True, blacklisted=False, recorded_inputs=recorded)
    evidence = healthy.known(NODE, **NOUVEAU, pci=bound_to(NODE, "nouveau"), initramfs=inside)
    evidence = dataclasses.replace(evidence, kernel_log=kernel_log.parse(log))
    finding = of(evidence, "host_driver.nouveau")[0]
    assert finding.cause == (
        "nouveau holds the GPU, and the next boot would load it again: its initramfs is stale, nouveau is inside and "
        "not blacklisted there."
    )
    assert finding.repair == "roles"
    assert of(evidence, "host_driver.loaded")[0].cause.endswith(finding.cause)
    assert of(evidence, "host_driver.initramfs")[0].actual == "nouveau is inside and not blacklisted there"


def test_nouveau_that_is_blacklisted_everywhere_waits_for_a_reboot() -> None:
    evidence = healthy.known(NODE, **NOUVEAU, pci=bound_to(NODE, "nouveau"))
    assert of(evidence, "host_driver.nouveau")[0].repair == "reboot"
    assert of(evidence, "host_driver.loaded")[0].repair == "reboot"


def test_a_blacklisted_module_is_found_under_the_name_that_the_kernel_gives_it() -> None:
    kernel = {**WANTED.settings["kernel"], "kernel_blacklist": ["my-driver"]}
    wanted = dataclasses.replace(WANTED, settings={**WANTED.settings, "kernel": kernel})
    loaded = healthy.known(NODE, modules_loaded=(*(NODE.modules_loaded.value or ()), "my_driver"))
    assert "my_driver" in of(loaded, "host_driver.nouveau", wanted)[0].cause


def test_nouveau_without_its_blacklist_needs_the_roles() -> None:
    evidence = without_file(healthy.known(NODE, **NOUVEAU, pci=bound_to(NODE, "nouveau")), BLACKLIST)
    assert of(evidence, "host_driver.nouveau")[0].repair == "roles"


def test_a_gpu_that_is_set_aside_for_a_virtual_machine_is_left_alone() -> None:
    evidence = healthy.known(NODE, driver=None, modules_loaded=(), pci=bound_to(NODE, "vfio-pci"))
    finding = only(evidence, "hardware.gpu_present")
    assert "virtual machine" in finding.cause
    assert "vfio-pci holds %s" % healthy.address(0) in finding.actual
    assert finding.repair == "manual"


def test_a_module_that_is_on_disk_and_not_loaded_is_loaded_by_the_roles() -> None:
    evidence = healthy.known(NODE, driver=None, modules_loaded=(), pci=bound_to(NODE, None))
    assert only(evidence, "host_driver.loaded").repair == "roles"


def test_a_key_that_is_not_enrolled_is_not_mended_by_a_reboot() -> None:
    """linux-surface/linux-surface#906: a key is enrolled and DKMS says installed; it is another key."""
    log = ("modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",)
    evidence = healthy.known(NODE, driver=None, modules_loaded=(), pci=bound_to(NODE, None), kernel_log=log)
    finding = of(evidence, "host_driver.loaded")[0]
    assert "not enrolled" in finding.cause
    assert "Leave Secure Boot on" in finding.fix
    assert finding.repair == "manual"


@pytest.mark.parametrize("kernel", ["other", healthy.KERNEL])
def test_a_stale_initramfs_of_any_kernel(kernel: str) -> None:
    (image,) = NODE.initramfs.value or ()
    images = {image.kernel: image, kernel: dataclasses.replace(image, kernel=kernel, recorded_inputs="of before")}
    assert only(healthy.known(NODE, initramfs=tuple(images.values())), "host_driver.initramfs").entity == kernel


@pytest.mark.parametrize("kernels", [(), ("another",)])
def test_a_kernel_whose_initramfs_is_elsewhere_is_no_proof_and_no_fault(kernels: t.Tuple[str, ...]) -> None:
    """A unified kernel image, a boot over the network, a /boot that is not mounted."""
    images = tuple(one for kernel in kernels for one in in_initramfs(NODE, kernel=kernel))
    judged = verdict.run(WANTED, healthy.known(NODE, initramfs=images), 1)
    assert judged.golden
    (said,) = judged.not_proven
    assert "It is not known what kernel %s was started from" % healthy.KERNEL in said


@pytest.mark.parametrize("kernel", ["other", healthy.KERNEL])
def test_a_kernel_that_lacks_its_initramfs(kernel: str) -> None:
    """Any may be chosen at the console, and would not come up."""
    (image,) = NODE.initramfs.value or ()
    images = {image.kernel: image, kernel: Initramfs(kernel, "", "in", "", missing=True)}
    finding = only(healthy.known(NODE, initramfs=tuple(images.values())), "host_driver.initramfs")
    assert finding.cause == "Kernel %s has no initramfs, and would not find its root file system at boot." % kernel
    assert finding.fix == "Run site.yml on this node. It builds one. Do not reboot into that kernel before."
    assert (finding.entity, finding.repair) == (kernel, "roles")


def test_a_kernel_that_boots_without_an_initramfs_by_design_is_well() -> None:
    images = (Initramfs(healthy.KERNEL, "", "in", ""),)
    assert judged(healthy.known(NODE, initramfs=images)).golden


def test_a_stale_initramfs_is_explained_by_an_edited_file_of_another_layer() -> None:
    """A mode written by hand into the driver's options is a fault of the device nodes, not of the driver."""
    path = "/etc/modprobe.d/goldennode-nvidia.conf"
    files = dict(NODE.files.value or {})
    files[path] = dataclasses.replace(files[path], sha256="edited")
    images = in_initramfs(NODE, inputs="changed since")
    evidence = healthy.known(NODE, initramfs=images, files=files)
    assert path in of(evidence, "host_driver.initramfs")[0].actual
    assert judged(evidence).first_broken == "device_nodes"
    never_built = healthy.known(NODE, initramfs=in_initramfs(NODE, recorded_inputs=None), files=files)
    assert judged(never_built).first_broken == "host_driver"


@pytest.mark.parametrize("disk", [healthy.DRIVER, ""])
def test_an_nvidia_module_inside_the_initramfs_that_is_not_the_one_on_the_disk(disk: str) -> None:
    evidence = healthy.known(NODE, initramfs=in_initramfs(NODE, nvidia_version=OLD, nvidia_on_disk=disk))
    finding = only(evidence, "host_driver.initramfs")
    assert (
        "the nvidia module %s is inside, and the disk has %s for that kernel" % (OLD, disk or "none") in finding.cause
    )
    assert finding.repair == "roles"


def test_a_kernel_that_keeps_its_own_older_driver_is_not_stale() -> None:
    """Nothing that a rebuild could mend: the disk of that kernel has the same."""
    mine = NODE.initramfs.value or ()
    other = dataclasses.replace(mine[0], kernel="6.1.0-1-amd64", nvidia_version=OLD, nvidia_on_disk=OLD)
    assert judged(healthy.known(NODE, initramfs=(*mine, other))).golden


@pytest.mark.parametrize("scope", ["full", "fact"])
def test_a_module_that_the_initramfs_brings_is_no_pending_reboot(scope: str) -> None:
    """Every boot would load the old one again; the local fact knows the image by its record, and asks no modinfo."""
    on_disk = healthy.DRIVER if scope == "full" else None
    inside = in_initramfs(NODE, nvidia_version=OLD, nvidia_on_disk=on_disk)
    evidence = healthy.known(NODE, driver=DriverLoaded(OLD, "open"), initramfs=inside)
    (finding,) = of(evidence if scope == "full" else healthy.cheap(evidence), "host_driver.loaded")
    assert finding.cause == (
        "Module %s was loaded from /boot/initrd.img-%s, which still holds it: a reboot alone would load it again."
        % (OLD, healthy.KERNEL)
    )
    assert finding.repair == "roles"


def test_a_module_of_before_whose_image_is_fresh_is_a_pending_reboot() -> None:
    inside = in_initramfs(NODE, nvidia_version=healthy.DRIVER, nvidia_on_disk=healthy.DRIVER)
    evidence = healthy.known(NODE, driver=DriverLoaded(OLD, "open"), initramfs=inside)
    assert "reboot is pending" in of(evidence, "host_driver.loaded")[0].cause


def test_an_initramfs_that_was_built_anew_by_others_and_is_right_passes() -> None:
    evidence = healthy.known(NODE, initramfs=in_initramfs(NODE, image="of the distribution's own rebuild"))
    assert judged(evidence).golden


def test_an_initramfs_that_could_not_be_read_never_passes() -> None:
    evidence = healthy.known(NODE, initramfs=in_initramfs(NODE, nouveau=None, blacklisted=None))
    assert [f.status for f in of(evidence, "host_driver.initramfs")] == ["unknown"]


def gpu_of(device: str, flavour: str, driver: str = healthy.DRIVER) -> t.Tuple[Evidence, Desired]:
    wanted = healthy.desired(of_lock=healthy.lock(driver={"flavour": flavour, "version": driver}, fabric_manager=None))
    node = healthy.evidence("a10", wanted)
    licence = "NVIDIA" if flavour == "proprietary" else "Dual MIT/GPL"
    log = "NVRM: GPU %s: RmInitAdapter failed! (0x24:0x72:1603)" % healthy.address(0)
    pci = tuple(dataclasses.replace(d, device=device) for d in node.pci.value or ())
    none = GpuTool()
    return healthy.known(
        node,
        pci=pci,
        kernel_log=(log,),
        smi=none,
        nvml=none,
        module_on_disk=ModuleOnDisk(healthy.KERNEL, driver, licence),
    ), wanted


def test_the_open_module_on_a_pascal_gpu_is_no_fault_of_the_hardware() -> None:
    """zzzhouuu/truenas-nvidia-drivers#20: RmInitAdapter is the loudest line; the flavour is the cause."""
    evidence, wanted = gpu_of("1bb3", "open")
    finding = of(evidence, "host_driver.flavour", wanted)[0]
    assert judged(evidence, wanted).first_broken == "host_driver"
    assert "Pascal" in finding.cause
    assert "proprietary" in finding.fix
    assert finding.repair == "manual"


def test_the_proprietary_module_on_a_blackwell_gpu_is_no_fault_of_the_hardware() -> None:
    """Start9Labs/start-technologies#3693: an Xid in the log calls for a hardware return; the flavour is the cause."""
    evidence, wanted = gpu_of("2901", "proprietary")
    log = ("NVRM: Xid (PCI:000f:01:00): 169, fd8cd000 94000000", *(evidence.kernel_log.value or ()))
    finding = of(healthy.known(evidence, kernel_log=log), "host_driver.flavour", wanted)[0]
    assert judged(evidence, wanted).first_broken == "host_driver"
    assert "Blackwell" in finding.cause
    assert "open" in finding.fix


def test_a_flavour_that_the_lock_would_put_right() -> None:
    evidence = healthy.known(
        NODE,
        driver=DriverLoaded(healthy.DRIVER, "proprietary"),
        module_on_disk=ModuleOnDisk(healthy.KERNEL, healthy.DRIVER, "NVIDIA"),
    )
    assert only(evidence, "host_driver.flavour").repair == "roles"
    loaded_only = healthy.known(NODE, driver=DriverLoaded(healthy.DRIVER, "proprietary"))
    assert only(loaded_only, "host_driver.flavour").repair == "reload"


def failing(evidence: Evidence, **words: str) -> Evidence:
    return dataclasses.replace(evidence, **{name: Reading.unknown(text) for name, text in words.items()})


def test_nvidia_smi_that_hangs_is_a_finding() -> None:
    words = "nvidia-smi gave no answer within 10 s and was killed (pid 4711); it does not end, state D"
    finding = only(failing(NODE, smi=words), "host_driver.nvidia_smi")
    assert finding.cause.startswith("nvidia-smi failed: it hangs")
    assert "4711" in finding.actual
    assert finding.repair == "manual"


def test_words_of_a_tool_that_nobody_knows_stay_unknown() -> None:
    found = of(failing(NODE, nvml="NVML: a new kind of trouble"), "host_driver.nvml")
    assert [(f.status, f.actual) for f in found] == [("unknown", "NVML: a new kind of trouble")]


def test_parameters_in_force_explain_a_tool_that_may_not_open_nodes_which_look_right() -> None:
    """The role has put the modes right, and the probe's own container, started by root, has put them back."""
    params = {**(NODE.driver_params.value or {}), "DeviceFileMode": "384"}
    evidence = failing(healthy.known(NODE, driver_params=params), nvml="NVML: Insufficient Permissions (code 4)")
    assert of(evidence, "host_driver.nvml")[0].status == "skip"
    assert judged(evidence).first_broken == "device_nodes"
    assert [f.repair for f in judged(evidence).broken] == ["reload"]


def test_nvidia_smi_that_is_not_installed() -> None:
    assert only(healthy.known(NODE, smi=None), "host_driver.nvidia_smi").repair == "roles"


def test_a_wsl_host_is_refused_whatever_packages_it_has() -> None:
    """microsoft/WSL#9166: error 17 of NVML reads like a denial by a control group."""
    platform = dataclasses.replace(NODE.platform.value, wsl=True)  # type: ignore[type-var]
    packages = {"nvidia-utils-510": Package("nvidia-utils-510", "510.47.03-0ubuntu1")}
    evidence = healthy.known(NODE, platform=platform, pci=(), packages=packages)
    evidence = failing(evidence, smi="nvidia-smi ended with code 17: GPU access blocked by the operating system")
    found = judged(evidence)
    assert found.first_broken == "host_driver"
    assert "WSL" in found.broken[0].cause
    assert "nvidia-utils-510" in found.broken[0].actual


@pytest.mark.parametrize(
    ("code", "name", "word", "repair"),
    [
        (802, "CUDA_ERROR_SYSTEM_NOT_READY", "fabric", "roles"),
        (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "two versions", "reload"),
        (100, "CUDA_ERROR_NO_DEVICE", "MIG", "manual"),
        (717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "CUDA_ERROR_INVALID_ADDRESS_SPACE", "manual"),
    ],
)
def test_cuda_on_the_host(code: int, name: str, word: str, repair: str) -> None:
    """NVIDIA/gpu-operator#544, #382: nvidia-smi passes on the host and in the container."""
    finding = only(healthy.known(NODE, cuda=CudaInit(code, name)), "host_driver.cuda")
    assert word in finding.cause
    assert finding.repair == repair


def test_cuda_with_another_number_of_devices() -> None:
    assert only(healthy.known(EIGHT, cuda=CudaInit(0, devices=7)), "host_driver.cuda", EIGHT_WANTED, 8).actual.endswith(
        "7 devices"
    )


def test_a_bundle_that_pairs_driver_and_fabric_manager_of_two_versions() -> None:
    lock = healthy.lock(fabric_manager={"version": "580.126.09"})
    wanted = healthy.desired("h100x8", of_lock=lock)
    assert only(healthy.evidence("h100x8", wanted), "host_driver.nvswitch", wanted, 8).repair == "manual"


def test_a_bundle_without_a_fabric_manager_on_a_node_with_nvswitches() -> None:
    wanted = healthy.desired("h100x8", of_lock=healthy.lock(fabric_manager=None))
    node = healthy.evidence("h100x8", healthy.desired("h100x8"))
    files = {p: FileState(p, f.sha256, f.mode, 0, 0, 0.0) for p, f in wanted.files.items()}
    node = healthy.known(node, files=files)
    assert "names no fabric manager" in only(node, "host_driver.nvswitch", wanted, 8).cause
    (refusal,) = verdict.refusals(None, node, 8, {"driver": wanted.lock["driver"], "fabric_manager": None})
    assert refusal.id == "host_driver.nvswitch", "before there is a lock"


NVLINK5 = (
    *(dataclasses.replace(device, device="2901") for device in EIGHT.pci.value or () if device.is_gpu),
    PciDevice("0000:05:00.0", "", "0207", nvswitch=True),
)


def nvlink5(nvlsm: bool = True, **fields: t.Any) -> Evidence:
    packages = dict(EIGHT.packages.value or {})
    if nvlsm:
        packages["nvlsm"] = Package("nvlsm", "2025.06.6-1")
    return healthy.known(EIGHT, **{"pci": NVLINK5, "packages": packages, **fields})


def fabric(evidence: Evidence, wanted: Desired = EIGHT_WANTED) -> Finding:
    (finding,) = of(evidence, "host_driver.nvswitch", wanted, 8)
    return finding


def test_switches_of_nvlink_5_need_the_fabric_manager() -> None:
    packages = {n: p for n, p in (nvlink5().packages.value or {}).items() if n != "nvidia-fabricmanager"}
    assert only(nvlink5(packages=packages), "packages.versions", EIGHT_WANTED, 8).entity == "nvidia-fabricmanager"
    assert of(nvlink5(), "host_driver.nvswitch", EIGHT_WANTED, 8) == []


def test_switches_of_nvlink_5_need_the_subnet_manager_too() -> None:
    finding = fabric(nvlink5(nvlsm=False))
    assert finding.cause == (
        "The NVSwitches of this node are of NVLink 5: their fabric manager does not start without nvlsm, which is not "
        "installed."
    )
    assert (finding.entity, finding.repair) == ("nvlsm", "manual")
    assert "apt-get install nvlsm" in finding.fix


def test_switches_before_nvlink_5_need_no_subnet_manager() -> None:
    assert "nvlsm" not in (EIGHT.packages.value or {})
    assert of(EIGHT, "host_driver.nvswitch", EIGHT_WANTED, 8) == []


def test_a_card_that_may_stand_for_switches_and_cannot_be_read_is_not_taken_for_an_ordinary_one() -> None:
    pci = (*NVLINK5[:8], PciDevice("0000:05:00.0", "", "0207", nvswitch=None))
    finding = fabric(nvlink5(pci=pci))
    assert finding.status == "unknown"
    assert finding.cause == (
        "The GPUs of this node may need a fabric manager: it is not known whether NVSwitches are behind 0000:05:00.0, "
        "whose vital product data could not be read."
    )


def test_what_only_a_person_can_mend_of_the_fabric_is_said_before_anything_is_changed() -> None:
    (refusal,) = verdict.refusals(EIGHT_WANTED, nvlink5(nvlsm=False), 8)
    assert refusal.id == "host_driver.nvswitch"


def test_units_that_cannot_be_read_are_no_refusal_where_there_is_no_nvswitch() -> None:
    assert verdict.refusals(WANTED, dataclasses.replace(NODE, units=Reading.unknown("no answer")), 1) == ()


# --- device_nodes ----------------------------------------------------------------------------------------------------


def test_a_mode_without_its_leading_zero_is_explained() -> None:
    """vowstar/vowstar-overlay#6: 666 in decimal is 01232, and the file reads as if it were right."""
    wanted = healthy.desired(device_access_mode="0666")
    node = healthy.evidence("a10", wanted)
    params = {**(node.driver_params.value or {}), "DeviceFileMode": "666"}
    nodes = tuple(
        dataclasses.replace(n, mode=0o1232) if n.path in ("/dev/nvidia0", "/dev/nvidiactl") else n
        for n in node.device_nodes.value or ()
    )
    found = of(healthy.known(node, driver_params=params, device_nodes=nodes), "device_nodes.params", wanted)
    assert "without the leading 0" in found[0].cause
    assert (found[0].expected, found[0].actual) == ("438 (0666)", "666 (01232)")
    modes = of(healthy.known(node, driver_params=params, device_nodes=nodes), "device_nodes.modes", wanted)
    assert {f.repair for f in modes} == {"reload"}
    assert "chmod alone does not last" in modes[0].fix


def test_438_is_0666() -> None:
    wanted = healthy.desired(device_access_mode="0666")
    node = healthy.evidence("a10", wanted)
    assert (node.driver_params.value or {})["DeviceFileMode"] == "438"
    assert judged(node, wanted).golden


def test_parameters_wait_for_a_reboot_once_the_file_is_right() -> None:
    params = {**(NODE.driver_params.value or {}), "DeviceFileGID": "0"}
    assert only(healthy.known(NODE, driver_params=params), "device_nodes.params").repair == "reload"
    evidence = without_file(healthy.known(NODE, driver_params=params), OPTIONS)
    assert of(evidence, "device_nodes.params")[0].repair == "roles"


def test_uvm_nodes_follow_the_rule_and_not_the_parameters() -> None:
    """NVIDIA/nvidia-modprobe#7: root:root 0666 although the options say video 0660."""
    nodes = tuple(
        dataclasses.replace(n, mode=0o666, gid=0) if "uvm" in n.path else n for n in NODE.device_nodes.value or ()
    )
    found = of(healthy.known(NODE, device_nodes=nodes), "device_nodes.modes")
    assert [f.entity for f in found] == ["/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]
    assert {f.repair for f in found} == {"roles"}


def test_a_node_left_over_from_another_major_of_uvm() -> None:
    evidence = healthy.known(NODE, device_majors={"nvidia": 195, "nvidia-uvm": 237})
    assert {f.repair for f in of(evidence, "device_nodes.uvm")} == {"roles"}


def test_uvm_that_is_not_loaded() -> None:
    evidence = healthy.known(NODE, device_majors={"nvidia": 195})
    assert "not loaded" in only(evidence, "device_nodes.uvm").cause


def test_a_group_with_another_number_than_the_driver_is_told() -> None:
    evidence = healthy.known(NODE, groups={"video": (39, ("alice", "bob"))})
    assert "device_access_gid=39" in only(evidence, "device_nodes.users").fix


@pytest.mark.parametrize(
    ("harm", "check"),
    [("mode", "device_nodes.modes"), ("uvm", "device_nodes.uvm"), ("control", "device_nodes.present")],
)
def test_tools_that_fail_for_want_of_a_node_do_not_blame_the_driver(harm: str, check: str) -> None:
    nodes = [dataclasses.replace(n, mode=0o600) if harm == "mode" else n for n in NODE.device_nodes.value or ()]
    gone = {"uvm": "/dev/nvidia-uvm", "control": "/dev/nvidiactl"}.get(harm)
    evidence = healthy.known(NODE, device_nodes=tuple(n for n in nodes if n.path != gone))
    evidence = failing(
        evidence,
        smi="nvidia-smi ended with code 4: Failed to initialize NVML: Insufficient Permissions",
        nvml="NVML: Driver Not Loaded",
    )
    evidence = healthy.known(evidence, cuda=CudaInit(999, "CUDA_ERROR_UNKNOWN"))
    found = judged(evidence)
    assert found.first_broken == "device_nodes"
    assert {f.id for f in found.broken} == {check}
    tools = [f for f in found.findings if f.id in ("host_driver.nvidia_smi", "host_driver.nvml", "host_driver.cuda")]
    assert {f.status for f in tools} == {"skip"}
    assert all("device_nodes." in f.actual for f in tools)


# --- container_runtime -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", [b'{"debug": true,}', b"[]", b"\x80"])
def test_a_malformed_daemon_json_is_named_with_its_place_and_left_alone(raw: bytes) -> None:
    evidence = dataclasses.replace(NODE, docker_config=daemon_json.parse(raw, "/etc/docker/daemon.json"))
    finding = only(evidence, "container_runtime.daemon_config")
    assert evidence.docker_config.error == finding.actual
    assert finding.actual in finding.cause
    assert finding.repair == "manual"


def test_a_daemon_json_that_cannot_be_opened_is_not_called_malformed() -> None:
    words = "/etc/docker/daemon.json could not be read: Permission denied"
    found = of(failing(NODE, docker_config=words), "container_runtime.daemon_config")
    assert [(f.status, f.actual) for f in found] == [("unknown", words)]


def test_the_toolkit_is_not_wired_into_docker() -> None:
    config = {k: v for k, v in (NODE.docker_config.value or {}).items() if k != "runtimes"}
    finding = only(healthy.known(NODE, docker_config=config), "container_runtime.daemon_config")
    assert finding.entity == "runtimes"
    assert finding.actual == "not set"


def engine(**fields: t.Any) -> Evidence:
    return healthy.known(NODE, docker=dataclasses.replace(NODE.docker.value, **fields))  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("told", "entity"),
    [
        ({"runtimes": {"runc": {"path": "runc"}}}, "runtimes.nvidia"),
        ({"runtimes": {"nvidia": {"path": "/opt/nvidia-container-runtime"}}}, "runtimes.nvidia.path"),
        ({"default-runtime": "nvidia"}, "default-runtime"),
        ({"features": {"cdi": False}}, "features.cdi"),
    ],
)
def test_a_daemon_that_was_started_before_its_settings(told: t.Dict[str, t.Any], entity: str) -> None:
    """NVIDIA/ansible-role-nvidia-docker#12: the file is right, the daemon was never restarted."""
    now = {**NODE.docker.value.told, **told}  # type: ignore[union-attr]
    finding = only(engine(told=now), "container_runtime.daemon_current")
    assert finding.entity == entity
    assert "docker_allow_restart" in finding.fix
    assert finding.repair == "roles"


def test_a_daemon_that_tells_all_that_is_wanted_needs_no_record() -> None:
    """The file is newer than the start, and what it does not tell is nothing of ours."""
    all_told = dataclasses.replace(NODE.docker.value, told=WANTED.daemon)  # type: ignore[type-var]
    assert of(newer_file(docker_record={}, docker=all_told), "container_runtime.daemon_current") == []


@pytest.mark.parametrize(
    ("config", "entity", "words"),
    [
        ({"ipv6": "true"}, "ipv6", 'ipv6: "true" is not true or false'),
        ({"log-opts": ["env=FOO"]}, "log-opts", 'log-opts: ["env=FOO"] is no object'),
        ({"runtimes": None}, "runtimes", "runtimes: null is no object; take the key out"),
        ({"default-runtime": {"a": 1}}, "default-runtime", 'default-runtime: {"a": 1} is an object'),
        ({"runtimes": {"mine": {}}}, "runtimes.mine", "runtimes.mine: {} has not one of path and runtimeType"),
    ],
)
def test_a_daemon_json_with_which_docker_would_not_start_is_for_a_person(
    config: t.Dict[str, t.Any], entity: str, words: str
) -> None:
    """Case 031: the next restart, ours or at boot, would stop all containers."""
    now = {**(NODE.docker_config.value or {}), **config}
    finding = only(healthy.known(NODE, docker_config=now), "container_runtime.daemon_config")
    assert (finding.entity, finding.repair) == (entity, "manual")
    assert words in finding.actual


def test_no_password_of_a_proxy_is_in_a_finding() -> None:
    proxies = {"http-proxy": "http://svc:S3cret@proxy.example:3128"}
    wanted = dataclasses.replace(WANTED, daemon={**WANTED.daemon, "proxies": proxies})
    found = of(NODE, "container_runtime.daemon_config", wanted)
    assert [finding.entity for finding in found] == ["proxies"]
    assert "proxy.example" in found[0].expected
    assert "S3cret" not in repr(found)


def test_no_token_of_a_log_server_is_in_a_finding() -> None:
    there = {**(NODE.docker_config.value or {}), "log-opts": {"splunk-token": "S3cret"}}
    wanted = dataclasses.replace(WANTED, daemon={**WANTED.daemon, "log-opts": {"splunk-token": "n3wS3cret"}})
    for node in (NODE, healthy.known(NODE, docker_config=there)):
        found = of(node, "container_runtime.daemon_config", wanted)
        assert [finding.status for finding in found] == ["fail"]
        assert "S3cret" not in repr(found)


def test_a_wrong_type_of_what_a_run_writes_itself_is_mended_by_the_run() -> None:
    now = {**(NODE.docker_config.value or {}), "features": {"cdi": "true"}, "runtimes": {"nvidia": {}}}
    found = of(healthy.known(NODE, docker_config=now), "container_runtime.daemon_config")
    assert {finding.repair for finding in found} == {"roles"}


def newer_file(**record: t.Any) -> Evidence:
    file = dataclasses.replace(NODE.docker_config_file.value, mtime=3000.0)  # type: ignore[type-var]
    return healthy.known(NODE, docker_config_file=file, **record)


@pytest.mark.parametrize(
    "record",
    [
        None,
        {},
        fingerprint("another start", WANTED.daemon),
        fingerprint("invocation of docker.service", {**WANTED.daemon, "log-opts": {"max-size": "1g"}}),
    ],
)
def test_a_restart_is_due_after_a_run_that_was_killed_before_it(record: t.Optional[t.Dict[str, t.Any]]) -> None:
    finding = only(newer_file(docker_record=record), "container_runtime.daemon_current")
    assert finding.repair == "roles"


def test_no_restart_is_due_for_what_the_owner_of_the_file_changed() -> None:
    assert judged(newer_file()).golden


@pytest.mark.parametrize(
    "fields",
    [
        {"root_dir": "/var/snap/docker/common/var-lib-docker"},
        {"operating_system": "Docker Desktop"},
    ],
)
def test_another_daemon_than_ours_answers(fields: t.Dict[str, str]) -> None:
    """NVIDIA/nvidia-docker#1647: "libnvidia-ml.so.1 not found" reads like a missing driver."""
    finding = only(engine(**fields), "container_runtime.daemon")
    assert "driver is not at fault" in finding.fix
    assert finding.repair == "manual"


def test_a_daemon_of_before_the_upgrade() -> None:
    assert only(engine(version="25.0.5"), "container_runtime.engine").repair == "roles"


@pytest.mark.parametrize("version", ["26.1.4", "26.1.4+dfsg1"])
def test_what_a_distribution_adds_to_the_version_does_not_count(version: str) -> None:
    assert judged(engine(version=version)).golden


def test_docker_that_is_stopped() -> None:
    units = dict(NODE.units.value or {})
    units["docker.service"] = dataclasses.replace(units["docker.service"], active="inactive", started_at=None)
    evidence = failing(healthy.known(NODE, units=units), docker="the Docker engine does not answer: Cannot connect")
    assert "docker.service is inactive" in of(evidence, "container_runtime.engine")[0].cause


def test_settings_of_a_docker_whose_start_is_not_known_are_not_taken_for_read() -> None:
    """The module that would restart it judges the same."""
    units = dict(NODE.units.value or {})
    units["docker.service"] = dataclasses.replace(units["docker.service"], started_at=None)
    known = healthy.known(NODE, units=units)
    assert judged(known).golden, "the record fits this start"
    finding = only(healthy.known(known, docker_record=None), "container_runtime.daemon_current")
    assert "log-opts.max-size" in finding.cause


def test_docker_that_is_not_installed() -> None:
    assert of(healthy.known(NODE, docker=None), "container_runtime.engine")[0].actual == "not installed"


@pytest.mark.parametrize(
    ("specs", "repair"),
    [
        ({}, "roles"),
        ({"/var/run/cdi/nvidia.yaml": OLD}, "roles"),
        ({"/etc/cdi/nvidia.yaml": OLD, "/var/run/cdi/nvidia.yaml": healthy.DRIVER}, "roles"),
    ],
)
def test_the_cdi_specification(specs: t.Dict[str, str], repair: str) -> None:
    """More of it in test_toolkit_checks."""
    there = {path: healthy.cdi_spec(driver) for path, driver in specs.items()}
    assert only(healthy.known(NODE, cdi_specs=there), "container_runtime.cdi_spec").repair == repair


def test_no_cdi_specification_is_wanted_without_cdi() -> None:
    wanted = healthy.desired(toolkit_cdi=False)
    assert judged(healthy.known(healthy.evidence("a10", wanted), cdi_specs={}), wanted).golden


def not_started(words: str, rootless: bool = False) -> Evidence:
    node = engine(security_options=("name=seccomp", "name=rootless")) if rootless else NODE
    return healthy.container(node, "runtime", started=False, error=words)


BPF = (
    "nvidia-container-cli: mount error: failed to add device rules: unable to find any existing device filters "
    "attached to the cgroup: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted: unknown."
)
REQUIREMENT = "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver"


@pytest.mark.parametrize(
    ("words", "rootless", "check", "repair"),
    [
        # libnvidia-container#154, #151: the same words, two layers.
        (BPF, True, "policy.container_devices", "manual"),
        (BPF, False, "container_runtime.injection", "manual"),
        # theroyallab/tabbyAPI#324: nvcc of the host is new enough, which says nothing.
        (REQUIREMENT, False, "image.requirement", "manual"),
        ("Unable to find image 'x' locally; No such image: x", False, "image.requirement", "roles"),
        ("unknown or invalid runtime name: nvidia", False, "container_runtime.injection", "roles"),
        ('could not select device driver "" with capabilities: [[gpu]]', False, "container_runtime.injection", "roles"),
        # nvidia-container-toolkit#1860: nvidia-ctk cdi list is green.
        ("CDI device injection failed: unresolvable CDI devices", False, "container_runtime.injection", "roles"),
        ("load library failed: libnvidia-ml.so.1: cannot open", False, "container_runtime.injection", "manual"),
        ("something that nobody has seen", False, "container_runtime.injection", "manual"),
    ],
)
def test_a_container_that_does_not_start_has_one_cause_in_one_layer(
    words: str, rootless: bool, check: str, repair: str
) -> None:
    evidence = not_started(words, rootless)
    found = [f for f in judged(evidence).findings if f.status in ("fail", "unknown")]
    assert [(f.id, f.entity, f.actual, f.repair) for f in found] == [(check, "runtime", words, repair)]
    assert judged(evidence).first_broken == check.partition(".")[0]


# --- image -----------------------------------------------------------------------------------------------------------


def test_the_image_of_the_lock_is_known_by_its_digest() -> None:
    assert (
        only(healthy.known(NODE, image_digests=("registry.testbed/cuda@sha256:0",)), "image.present").repair == "roles"
    )


def test_a_container_that_sees_fewer_gpus() -> None:
    answer = EIGHT.nvml.value
    assert answer is not None
    fewer = dataclasses.replace(answer, gpus=answer.gpus[:7])
    finding = only(healthy.container(EIGHT, "cdi", smi=Reading(fewer)), "image.gpus", EIGHT_WANTED, 8)
    assert finding.entity == "cdi"
    assert healthy.uuid(7) in finding.cause


def test_cuda_compat_that_shadows_the_hosts_library() -> None:
    """mistralai/mistral-inference#144: nvidia-smi works in the container, CUDA says 804."""
    folder = "/usr/local/cuda/compat"
    compat = Library("libcuda.so.1", folder + "/libcuda.so.1", folder + "/libcuda.so.595.45.04")
    there = {**libraries(healthy.DRIVER), "libcuda.so.1": compat}
    evidence = healthy.container(
        NODE,
        "runtime",
        libraries=Reading(there),
        cuda=Reading(CudaInit(804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE")),
    )
    finding = only(evidence, "image.libraries")
    assert "shadows" in finding.cause
    assert finding.repair == "manual"
    assert "forward compatibility" in only(evidence, "image.cuda").cause


def test_cuda_compat_that_the_bundle_asks_for() -> None:
    """cuda_compat: forward lets the image bring its libcuda, and nothing else."""
    wanted = healthy.desired(of_lock=healthy.lock(image={"cuda_compat": "forward"}))
    folder = "/usr/local/cuda/compat"
    compat = Library("libcuda.so.1", folder + "/libcuda.so.1", folder + "/libcuda.so.595.45.04")
    there = {**libraries(healthy.DRIVER), "libcuda.so.1": compat}
    evidence = healthy.container(healthy.evidence("a10", wanted), "runtime", libraries=Reading(there))
    assert judged(evidence, wanted).golden
    old = healthy.container(evidence, "runtime", libraries=Reading(libraries("550.54.14")))
    assert {f.status for f in of(old, "image.libraries", wanted)} == {"fail"}


def test_a_node_that_is_not_in_the_container() -> None:
    nodes = tuple(n for n in NODE.device_nodes.value or () if n.path != "/dev/nvidia-uvm")
    finding = only(healthy.container(NODE, "cdi", device_nodes=Reading(nodes)), "image.device_nodes")
    assert finding.entity == "cdi: /dev/nvidia-uvm"


def test_optional_cuda_is_golden_and_said_to_be_not_proven() -> None:
    wanted = healthy.desired(of_lock=healthy.lock(image={"cuda_check": "optional"}))
    node = healthy.evidence("a10", wanted)
    evidence = healthy.container(node, "cdi", cuda=Reading.unknown("the image has no python3"))
    found = judged(evidence, wanted)
    assert found.golden
    assert found.not_proven == ("image.cuda: CUDA in the container is not proven.",)
    assert not judged(healthy.container(NODE, "cdi", cuda=Reading.unknown("the image has no python3"))).golden


def test_a_command_of_the_bundles_own_need_not_count_devices() -> None:
    assert judged(healthy.container(NODE, "cdi", cuda=Reading(CudaInit(0)))).golden


def test_a_gpu_in_the_container_that_is_not_the_hosts() -> None:
    foreign = GpuTool(healthy.DRIVER, gpus=(Gpu(0, "GPU-of-another-node"),))
    finding = only(healthy.container(NODE, "cdi", smi=Reading(foreign)), "image.gpus")
    assert "GPU-of-another-node more" in finding.cause
