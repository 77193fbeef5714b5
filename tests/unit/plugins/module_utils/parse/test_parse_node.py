# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text of the kernel and of the distribution: driver, modules, log, packages, units, groups."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    DriverLoaded,
    ModprobeLine,
    ModuleOnDisk,
    Package,
    Platform,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import (
    devices,
    dpkg,
    groups,
    kernel_log,
    ldconfig,
    modinfo,
    modprobe_d,
    os_release,
    proc_nvidia,
    systemctl_show,
)
from ansible_collections.goldennode.gpu.tests.unit import fixtures

OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (dvs-builder@U16)\n"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Apr  8 12:41:17 UTC 2025\nGCC version: ...\n"


@pytest.mark.parametrize(
    ("proc", "sysfs", "value"),
    [
        (OPEN, "570.124.06\n", DriverLoaded("570.124.06", "open")),
        (CLOSED, "550.163.01\n", DriverLoaded("550.163.01", "proprietary")),
        (None, "550.163.01\n", DriverLoaded("550.163.01", None)),
        (None, None, None),
    ],
)
def test_the_loaded_driver(proc, sysfs, value):
    reading = proc_nvidia.loaded(proc, sysfs)
    assert (reading.value, reading.error) == (value, None)


@pytest.mark.parametrize(
    ("proc", "sysfs", "why"),
    [
        (OPEN, "570.124.04\n", "the loaded driver gives two versions: "),
        ("NVRM version: ???\n", "570.124.06\n", "/proc/driver/nvidia/version has no line that names"),
        ("", None, "/proc/driver/nvidia/version has no line that names"),
        (None, "kaputt\n", "/sys/module/nvidia/version holds 'kaputt'"),
    ],
)
def test_a_driver_that_contradicts_itself_is_unknown(proc, sysfs, why):
    reading = proc_nvidia.loaded(proc, sysfs)
    assert reading.value is None
    assert reading.error.startswith(why)


def test_parameters_stay_as_they_are_printed():
    """Case 049: the driver prints modes in decimal, and whoever reads them as octal finds the reverse of the truth."""
    params = proc_nvidia.params(fixtures.text("proc_nvidia_params-580.159.03-debian13.txt")).value
    assert params["DeviceFileMode"] == "438"
    assert params["ModifyDeviceFiles"] == "1"
    assert not proc_nvidia.params("").known


def test_the_module_on_disk():
    text = fixtures.text("modinfo-34-debian13.txt")
    reading = modinfo.parse(text, "", 0, "6.12.117+deb13-amd64")
    assert reading.value == ModuleOnDisk(
        "6.12.117+deb13-amd64",
        "580.159.03",
        licence="Dual MIT/GPL",
        signer="DKMS module signing key",
        path="/lib/modules/6.12.117+deb13-amd64/updates/dkms/nvidia.ko.xz",
        signing_serial="11:36:aa:62:c8:e2:9b:3d:9b:ad:4e:ac:78:6a:98:c2:e6:93:cb:fe",
        built_for="6.12.117+deb13-amd64",
    )
    assert reading.value.flavour == "open"


def test_the_lines_of_modprobe_d_that_keep_a_module_out_or_set_its_options():
    text = (
        "# blacklist nvidia\n  blacklist nvidia # by hand\noptions nvidia NVreg_X=1\n"
        "install nvidia-uvm \\\n  /bin/false\nalias nvidia off\nalias\n"
    )
    assert list(modprobe_d.parse("/etc/modprobe.d/x.conf", text)) == [
        ModprobeLine("/etc/modprobe.d/x.conf", 2, "blacklist", "nvidia", "# by hand"),
        ModprobeLine("/etc/modprobe.d/x.conf", 3, "options", "nvidia", "NVreg_X=1"),
        ModprobeLine("/etc/modprobe.d/x.conf", 4, "install", "nvidia_uvm", "/bin/false"),
        ModprobeLine("/etc/modprobe.d/x.conf", 6, "alias", "nvidia", "off"),
    ]


def test_no_module_is_known_to_be_absent_and_a_failure_is_not():
    for words in ("Module nvidia not found.", "Module alias nvidia not found."):
        absent = modinfo.parse("", "modinfo: ERROR: %s\n" % words, 1, "6.12")
        assert (absent.value, absent.error) == (None, None)
    failed = modinfo.parse("", "modinfo: ERROR: could not read modules.dep\n", 1, "6.12")
    assert failed.error == "modinfo -k 6.12 nvidia ended with code 1: modinfo: ERROR: could not read modules.dep"
    assert modinfo.parse("filename: /x/nvidia.ko\n", "", 0, "6.12").error == "modinfo -k 6.12 nvidia names no version"


def test_lines_of_the_log_that_a_function_of_the_driver_prints_are_lines_of_their_own():
    """The number behind "GPU" is the driver's own count."""
    lines = (
        "NVRM: GPU0 _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP",
        "NVRM: GPU0 RmInitAdapter: Cannot initialize GSP firmware RM",
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid: BAR1 is 0M @ 0x0 (PCI:0000:17:00.0)",
    )
    text = "\n".join(lines).replace("invalid: BAR1", "invalid:\n[    1.0] NVRM: BAR1")
    assert kernel_log.parse(text).value == lines


def test_sentences_that_the_driver_wraps_are_one_line():
    """Cases 007, 009, 015, as dmesg prints them: a second line of one message has no time of its own."""
    lines = kernel_log.parse(
        "[    3.141592] NVRM: The NVIDIA GPU 0000:03:00.0 (PCI ID: 10de:1bb3)\n"
        "               NVRM: installed in this system is not supported by open\n"
        "               NVRM: nvidia.ko because it does not include the required GPU\n"
        "               NVRM: System Processor (GSP).\n"
        "[    3.200000] NVRM: GPU 0000:03:00.0: RmInitAdapter failed! (0x24:0x72:1603)\n"
        "[    3.200001] NVRM: API mismatch: the client has the version 570.153.02, but\n"
        "NVRM: this kernel module has the version 570.144.\n"
        "[    3.200002] usb 1-1: new high-speed USB device\n"
        "[    4.000000] NVRM: The NVIDIA probe routine was not called for 1 device(s).\n"
        "[    4.000000] NVRM: This can occur when a driver such as:\n"
        "[    4.000000] NVRM: nouveau, rivafb, nvidiafb or rivatv\n"
        "[    4.000000] NVRM: was loaded and obtained ownership of the NVIDIA device(s).\n"
        "[    4.000000] NVRM: Try unloading the conflicting kernel module (and/or\n"
        "[    4.000000] NVRM: reconfigure your kernel without the conflicting\n"
        "[    4.000000] NVRM: driver(s)), then try loading the NVIDIA kernel module\n"
        "[    4.000000] NVRM: again.\n"
    ).value
    assert lines == (
        "NVRM: The NVIDIA GPU 0000:03:00.0 (PCI ID: 10de:1bb3) installed in this system is not supported by open "
        "nvidia.ko because it does not include the required GPU System Processor (GSP).",
        "NVRM: GPU 0000:03:00.0: RmInitAdapter failed! (0x24:0x72:1603)",
        "NVRM: API mismatch: the client has the version 570.153.02, but this kernel module has the version 570.144.",
        "NVRM: The NVIDIA probe routine was not called for 1 device(s).",
        "NVRM: This can occur when a driver such as: nouveau, rivafb, nvidiafb or rivatv "
        "was loaded and obtained ownership of the NVIDIA device(s).",
        "NVRM: Try unloading the conflicting kernel module (and/or reconfigure your kernel without the conflicting "
        "driver(s)), then try loading the NVIDIA kernel module again.",
    )


def test_messages_of_their_own_are_not_joined():
    """Case 008: an Xid and what follows from it."""
    lines = (
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Apr  8 12:41:17 UTC 2025",
        "NVRM: Xid (PCI:000f:01:00): 169, fd8cd000 94000000",
        "NVRM: GPU 000f:01:00.0: RmInitAdapter failed! (0x62:0x1a:2631)",
        "NVRM: rm_init_adapter failed, device minor number 0",
        "nvidia 0000:07:00.0: Direct firmware load for nvidia/570.144/gsp_ga10x.bin failed with error -2",
        "NVRM: RmFetchGspRmImages: No firmware image found",
    )
    assert kernel_log.parse("\n".join(lines)).value == lines


def test_a_storm_of_lines_keeps_beginning_and_end():
    lines = kernel_log.parse("\n".join("NVRM: Xid (PCI:0000:01:00): 79, n %d" % n for n in range(100_000))).value
    assert len(lines) == kernel_log.KEPT_FIRST + kernel_log.KEPT_LAST
    assert lines[0].endswith(" 0")
    assert lines[-1].endswith(" 99999")


def test_programs_that_fail_all_day_push_no_fault_of_a_gpu_out_of_sight():
    fault, again = (
        "NVRM: Xid (PCI:0000:05:00): 95, pid=1, Uncontained: LTC TAG.",
        "NVRM: Xid (PCI:0000:05:00): 95, pid=2, Uncontained: LTC TAG.",
    )
    switch = "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)"
    storm = ["NVRM: Xid (PCI:0000:01:00): 31, pid=%d, MMU Fault." % n for n in range(1000)]
    lines = kernel_log.parse("\n".join([*storm, fault, fault, switch, *storm, again, *storm])).value
    assert [line for line in lines if line not in storm] == [fault, switch, again]
    assert len(lines) == kernel_log.KEPT_FIRST + kernel_log.KEPT_LAST + 3


def test_what_is_kept_between_beginning_and_end_has_an_end_too():
    lines = ["NVRM: Xid (PCI:%04x:01:00): 31, n" % n for n in range(20_000)]
    kept = kernel_log.parse("\n".join(lines)).value
    assert len(kept) == kernel_log.KEPT_FIRST + kernel_log.KEPT_LAST + kernel_log.KEPT_XIDS


def test_packages_that_matter_with_their_holds():
    found = dpkg.parse(fixtures.text("dpkg_query-1.22.22-debian13.txt"), ("libcuda*", "nvidia-*", "bash")).value
    assert found["libcuda1"] == Package("libcuda1", "580.159.03-1", held=True)
    assert found["nvidia-driver-cuda"].held is False
    assert found["bash"].status == "installed"
    assert "dpkg" not in found


def test_what_is_not_wholly_installed_says_so():
    lines = (
        "dpkg\tamd64\t1.22\tinstall\tok\tinstalled",
        "nvidia-a\tamd64\t1-1\tinstall\tok\thalf-configured",
        "nvidia-b\tamd64\t1-1\tinstall\treinstreq\thalf-installed",
        "nvidia-c\tamd64\t1-1\tdeinstall\tok\tconfig-files",
        "nvidia-d\ti386\t1-1\thold\tok\tinstalled",
        "nvidia-e\tall\t1-1\tinstall\tok\tinstalled",
    )
    found = dpkg.parse("\n".join(lines), ("nvidia-*",)).value
    assert {name: package.status for name, package in found.items()} == {
        "nvidia-a": "half-configured",
        "nvidia-b": "half-installed, reinstreq",
        "nvidia-d:i386": "installed",
        "nvidia-e": "installed",
    }
    assert found["nvidia-d:i386"].held


def test_half_a_list_of_packages_is_unknown():
    whole = fixtures.text("dpkg_query-1.22.22-debian13.txt")
    assert not dpkg.parse(whole[: whole.index("dpkg\t")], ("*",)).known
    assert not dpkg.parse(whole[:-30], ("*",)).known
    assert not dpkg.parse("", ("*",)).known


def test_platform():
    text = fixtures.text("os_release-debian13.txt")
    reading = os_release.parse(text, "x86_64", "6.12.117+deb13-amd64\n")
    assert reading.value == Platform("debian", "13", "x86_64", pretty_name="Debian GNU/Linux 13 (trixie)")
    assert reading.value.key == "debian-13-x86_64"
    # Case 027: the facts of WSL say Ubuntu.
    assert os_release.parse(text, "x86_64", "5.15.90.1-microsoft-standard-WSL2").value.wsl is True
    rocky = os_release.parse('ID="rocky"\nVERSION_ID=\'9.6\'\nID_LIKE="rhel centos fedora"\n', "aarch64", "5.14")
    assert rocky.value.key == "rocky-9-aarch64"
    assert os_release.parse("ID=debian\n", "x86_64", "6").error == "/etc/os-release has no VERSION_ID"


def test_the_linker_takes_the_first_library_of_this_machine():
    text = fixtures.text("ldconfig-2.41-debian13.txt")
    assert ldconfig.parse(text, "x86_64", ("libcuda.so.1", "libnvidia-ml.so.1")).value == {
        "libcuda.so.1": "/lib/x86_64-linux-gnu/libcuda.so.1",
        "libnvidia-ml.so.1": "/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
    }
    two = (
        "\tlibcuda.so.1 (libc6) => /lib/i386-linux-gnu/libcuda.so.1\n"
        "\tlibcuda.so.1 (libc6,x86-64, OS ABI: Linux 3.2.0) => /opt/first/libcuda.so.1\n"
        "\tlibcuda.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcuda.so.1\n"
    )
    assert ldconfig.parse(two, "x86_64", ("libcuda.so.1",)).value == {"libcuda.so.1": "/opt/first/libcuda.so.1"}
    assert ldconfig.parse(two, "aarch64", ("libcuda.so.1",)).value == {}
    assert not ldconfig.parse("ldconfig: Cannot open cache file", "x86_64", ("libcuda.so.1",)).known
    assert not ldconfig.parse(two, "sparc", ("libcuda.so.1",)).known


def test_majors_come_from_the_character_devices():
    text = "Character devices:\n195 nvidia\n195 nvidiactl\n511 nvidia-caps\n508 nvidia-uvm\n"
    text += "\nBlock devices:\n259 nvidiablk\n"
    assert devices.parse(text).value == {"nvidia": 195, "nvidiactl": 195, "nvidia-caps": 511, "nvidia-uvm": 508}
    assert devices.parse("Character devices:\n  1 mem\n\nBlock devices:\n").value == {}
    assert not devices.parse("").known


def test_units():
    units = systemctl_show.parse(fixtures.text("systemctl_show-257-debian13.txt"), "", 0).value
    docker = units["docker.service"]
    assert (docker.load, docker.active, docker.enabled) == ("loaded", "active", "enabled")
    # The start of the main process, and not the moment at which it said that it was ready, 1.3 s later.
    assert docker.started_at == pytest.approx(1796054868.434437, abs=1e-6)
    assert docker.invocation == "995422feadee444898a2749f60d0e1d9"
    assert units["nvidia-cdi-refresh.service"].started_at is None
    assert (units["nvidia-fabricmanager.service"].load, units["nvidia-fabricmanager.service"].active) == (
        "not-found",
        "inactive",
    )


def test_no_systemd_is_unknown():
    said = "System has not been booted with systemd as init system (PID 1). Can't operate."
    assert systemctl_show.parse("", said, 1).error == "systemctl show ended with code 1: " + said
    assert not systemctl_show.parse("", "", 0).known


def test_groups():
    assert groups.parse("root:x:0:\nvideo:x:44:alice,bob\nbroken\n+::\n").value == {
        "root": (0, ()),
        "video": (44, ("alice", "bob")),
    }
    assert not groups.parse("").known
