# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One look at a recorded node: what is read, in which order, and that a broken reading is not an absent one."""

from __future__ import annotations

import base64
import dataclasses
import json
import threading

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    CdiSpec,
    DriverLoaded,
    Evidence,
    FabricMismatch,
    Gpu,
    GpuTool,
    PcieLink,
    PciSlot,
    Reading,
    SecureBoot,
    to_plain,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import image_environment
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import evidence_from_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import container, docker, initramfs, kernel
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.capture import NOT_CAPTURED, Recorder, Replay
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.look import choose, look
from ansible_collections.goldennode.gpu.tests.unit import recorded as nodes

GPU = Gpu(0, "GPU-7a28f504-5a42-5b26-a5b1-5568882b45a0", "NVIDIA A10", "0000:17:00.0")
KERNEL = "6.12.117+deb13-amd64"
CLOUD = "6.12.117+deb13-cloud-amd64"


def readings(evidence: Evidence):
    """Every reading of the evidence by name, those of containers too. Without what only a look that marks asks."""
    found = {
        field.name: getattr(evidence, field.name)
        for field in dataclasses.fields(evidence)
        if isinstance(getattr(evidence, field.name), Reading) and field.name not in ("requests", "frameworks")
    }
    found.update({"containers %s" % way: reading for way, reading in evidence.containers.items()})
    return found


def test_a_healthy_node_is_read_whole():
    evidence = look(nodes.Node(), nodes.desired())
    assert {name: reading.error for name, reading in readings(evidence).items() if not reading.known} == {}
    assert evidence.host == "h4"
    assert evidence.collected_at.startswith("2026-11-30T16:08:")
    assert evidence.platform.value.key == "debian-13-x86_64"
    assert evidence.boot.value.kernel == KERNEL
    assert [(d.address, d.is_gpu, d.driver) for d in evidence.pci.value] == [("0000:17:00.0", True, "nvidia")]
    assert evidence.packages.value["libcuda1"].held
    assert [(one.place, one.suites[0]) for one in evidence.sources.value] == [
        ("/etc/apt/sources.list:1", "trixie"),
        ("/etc/apt/sources.list:2", "trixie-updates"),
        ("/etc/apt/sources.list:3", "trixie-security"),
    ]
    assert "nouveau" not in evidence.modules_loaded.value
    assert evidence.driver.value == DriverLoaded("580.159.03", "open")
    assert evidence.driver_params.value["DeviceFileMode"] == "438"
    assert evidence.module_on_disk.value.version == "580.159.03"
    assert evidence.libraries.value["libnvidia-ml.so.1"].version == "580.159.03"
    assert [node.path for node in evidence.device_nodes.value] == [
        "/dev/nvidia-uvm",
        "/dev/nvidia-uvm-tools",
        "/dev/nvidia0",
        "/dev/nvidiactl",
    ]
    assert evidence.device_majors.value["nvidia"] == 195
    assert evidence.dev_char.value == {node.path: node.path for node in evidence.device_nodes.value}
    assert evidence.running_containers.value == ()
    assert evidence.pci_slots.value == {GPU.pci_address: PciSlot(PcieLink(4, 4, 16, 16), 0)}
    assert evidence.numa_nodes.value == 1
    assert evidence.reloads == {}
    assert evidence.groups.value["video"] == (44, ())
    assert evidence.smi.value == evidence.nvml.value == GpuTool("580.159.03", "13.0", (GPU,))
    assert (evidence.cuda.value.code, evidence.cuda.value.devices) == (0, 1)
    assert evidence.units.value["docker.service"].active == "active"
    assert evidence.docker.value.version == "26.1.5+dfsg1"
    assert evidence.docker_config.value["features"] == {"cdi": True}
    assert evidence.image_digests.value == ("vendor.testbed:5000/cuda@" + nodes.DIGEST,)
    assert evidence.cdi_specs.value == {
        "/var/run/cdi/nvidia.yaml": CdiSpec("nvidia.com/gpu", "0.7.0", "580.159.03", ("0", GPU.uuid, "all"), True)
    }
    assert evidence.cdi_target.value == "/var/run/cdi/nvidia.yaml"
    assert evidence.toolkit_config.value["nvidia-container-runtime"]["mode"] == "auto"
    assert list(evidence.files.value) == [nodes.BLACKLIST]
    assert (evidence.mark.value, evidence.docker_record.value) == (None, None)
    assert (evidence.boot_default.value, evidence.command_line.value.split()[-1]) == (None, "quiet")
    for way in ("runtime", "cdi"):
        inside = evidence.containers[way].value
        assert inside.smi.value.gpus == (GPU,)
        assert inside.cuda.value.devices == 1
    for image in evidence.initramfs.value:
        assert image.image == image.recorded_image
        assert image.inputs == image.recorded_inputs
        assert image.blacklisted


def test_nodes_are_listed_before_anything_runs():
    node = nodes.Node()
    look(node, nodes.desired())
    assert node.asked[0] == ("listdir", "/dev")
    first_run = next(at for at, (kind, _what) in enumerate(node.asked) if kind == "run")
    listed = {what for kind, what in node.asked[:first_run] if kind == "listdir"}
    assert {"/dev", "/dev/nvidia-caps"} <= listed


def test_what_could_create_nodes_runs_without_rights_in_the_groups_of_the_nodes():
    node = nodes.Node()
    node.capture["dirs"]["/dev"]["nvidia0"].update(gid=44, mode=0o660)
    look(node, nodes.desired())
    for command, unprivileged, groups in node.ran:
        of_docker = command.argv[-1] in (docker.SOCKET, "root")  # calls nothing of NVIDIA's
        if command.argv[0] == "nvidia-smi" or (command.argv[0] == "python3" and not of_docker):
            assert (unprivileged, groups) == (True, (44,)), command.argv
        else:
            assert not unprivileged


BROKEN_COMMANDS = {
    "smi": ["nvidia-smi", "--format=csv,noheader"],
    "nvml": ["nvml"],
    "cuda": ["cuda"],
    "libraries": ["ldconfig"],
    "packages": ["dpkg-query"],
    "units": ["systemctl"],
    "kernel_log": ["dmesg"],
    "module_on_disk": ["modinfo"],
    "dkms": ["dkms"],
    "docker": ["docker", "info"],
    "docker_socket": ["python3", docker.SOCKET],
    "docker_clients": ["python3", "root"],
    "image_digests": ["docker", "image", "{{json .}}"],
    "image_environment": ["docker", image_environment.FORMAT],
    "running_containers": ["docker", "ls"],
    "containers runtime": ["docker", "NVIDIA_VISIBLE_DEVICES=all"],
    "containers cdi": ["docker", "nvidia.com/gpu=all"],
}


#: What is read out of them. The running kernel is the one that shall boot; no engine answered, and no journal does.
ALSO_UNKNOWN = {
    "module_on_disk": ["module_to_boot"],
    "dkms": ["build_failure"],
    "docker": ["docker_journal"],
    "running_containers": ["limits"],
}


@pytest.mark.parametrize("name", sorted(BROKEN_COMMANDS))
def test_a_command_that_hung_makes_its_reading_unknown_and_no_other(name, monkeypatch):
    monkeypatch.setattr(container, "CLEANUP_SECONDS", 0.0)
    node = nodes.Node()
    why = "it gave no answer within 30 s and was killed (pid 4711)"
    node.answer(BROKEN_COMMANDS[name], rc=None, stdout="", stderr="", timed_out=True, pid=4711, error=why)
    found = readings(look(node, nodes.desired()))
    assert found[name].value is None
    assert "4711" in found[name].error or name == "kernel_log"
    assert [other for other, reading in found.items() if not reading.known] == [name, *ALSO_UNKNOWN.get(name, ())]


@pytest.mark.parametrize("name", sorted(set(BROKEN_COMMANDS) - {"containers runtime", "containers cdi"}))
def test_a_command_that_failed_makes_its_reading_unknown(name):
    node = nodes.Node()
    node.answer(BROKEN_COMMANDS[name], rc=1, stdout="", stderr="Something is wrong\n")
    found = readings(look(node, nodes.desired()))
    assert found[name].value is None
    assert found[name].error


BROKEN_PATHS = [
    ("platform", "files", "/etc/os-release"),
    ("boot", "files", "/proc/sys/kernel/random/boot_id"),
    ("pci", "dirs", "/sys/bus/pci/devices"),
    ("pci", "files", "/sys/bus/pci/devices/0000:17:00.0/vendor"),
    ("pci", "links", "/sys/bus/pci/devices/0000:17:00.0/driver"),
    ("pci", "files", "/sys/bus/pci/devices/0000:17:00.0/config"),
    ("pci_slots", "files", "/sys/bus/pci/devices/0000:17:00.0/current_link_width"),
    ("pci_slots", "files", "/sys/bus/pci/devices/0000:17:00.0/numa_node"),
    ("numa_nodes", "dirs", "/sys/devices/system/node"),
    ("secure_boot", "stats", "/sys/firmware/efi"),
    ("apparmor", "files", "/sys/module/apparmor/parameters/enabled"),
    ("apparmor", "files", "/sys/kernel/security/lsm"),
    ("selinux", "stats", "/sys/fs/selinux"),
    ("selinux", "files", "/etc/selinux/config"),
    ("module_on_disk", "stats", "/lib/modules/%s/updates/dkms/nvidia.ko.xz" % KERNEL),
    ("modprobe", "dirs", "/run/modprobe.d"),
    ("modprobe", "files", "/etc/modprobe.d/dkms.conf"),
    ("modules_loaded", "stats", "/sys/module"),
    ("modules_loaded", "stats", "/sys/module/nouveau"),
    ("driver", "files", "/proc/driver/nvidia/version"),
    ("driver", "files", "/sys/module/nvidia/version"),
    ("driver_params", "files", "/proc/driver/nvidia/params"),
    ("device_nodes", "dirs", "/dev"),
    ("device_nodes", "dirs", "/dev/nvidia-caps"),
    ("device_majors", "files", "/proc/devices"),
    ("groups", "files", "/etc/group"),
    ("sources", "files", "/etc/apt/sources.list"),
    ("sources", "dirs", "/etc/apt/sources.list.d"),
    ("libraries", "links", "/lib/x86_64-linux-gnu/libcuda.so.1"),
    ("dev_char", "links", "/dev/char/195:255"),
    ("docker_config", "files", "/etc/docker/daemon.json"),
    ("docker_config_file", "states", "/etc/docker/daemon.json"),
    ("docker_record", "files", "/var/lib/goldennode/docker.json"),
    ("own_holds", "files", "/var/lib/goldennode/holds.json"),
    ("toolkit_config", "files", "/etc/nvidia-container-runtime/config.toml"),
    ("cdi_target", "files", "/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env"),
    ("cdi_specs", "dirs", "/var/run/cdi"),
    ("cdi_specs", "files", "/var/run/cdi/nvidia.yaml"),
    ("files", "states", nodes.BLACKLIST),
    ("mark", "files", "/var/lib/goldennode/mark.json"),
    ("cgroups", "files", "/proc/self/mountinfo"),
    ("cgroups", "files", "/sys/fs/cgroup/cgroup.controllers"),
    ("runtime_program", "stats", "/usr/bin/nvidia-container-runtime"),
    ("engines", "stats", "/usr/sbin/dockerd"),
    ("initramfs", "dirs", "/lib/modules"),
    ("initramfs", "files", "/var/lib/goldennode/initramfs.json"),
    ("initramfs", "stats", "/boot/initrd.img-" + KERNEL),
    ("initramfs", "dirs", "/etc/initramfs-tools"),
    ("initramfs", "dirs", "/lib/modules/%s/updates" % KERNEL),
]


@pytest.mark.parametrize(("name", "section", "path"), BROKEN_PATHS)
def test_a_path_that_cannot_be_read_is_unknown_and_not_absent(name, section, path):
    node = nodes.Node()
    node.break_path(section, path)
    found = readings(look(node, nodes.desired()))
    assert found[name].value is None
    assert found[name].error == "%s could not be read: Input/output error" % path


NO_MODULE = "modinfo: ERROR: Module nvidia not found.\n"


def show_depends(release, rc=1, stdout=""):
    """What modprobe would do for nvidia; nothing where no module and no command of that name is there."""
    argv = ["modprobe", "--set-version", release, "--show-depends", "nvidia"]
    return {"where": "host", "argv": argv, "rc": rc, "stdout": stdout, "stderr": ""}


def with_modprobe_d(**texts):
    """The node with further files of modprobe.d, by directory and name."""
    node = nodes.Node()
    plain = dict(node.capture["dirs"]["/etc/modprobe.d"]["dkms.conf"])
    for path, text in texts.items():
        folder, _slash, name = path.rpartition("/")
        node.capture["dirs"][folder] = {**(node.capture["dirs"][folder] or {}), name: plain}
        node.capture["files"][path] = text
    return node


def test_lines_of_modprobe_d_about_nvidia_are_read_with_their_place():
    """prime-select intel writes such a file."""
    off = "# This file was generated by nvidia-prime\nblacklist nvidia\nalias nvidia off\nalias nvidia-drm off\n"
    node = with_modprobe_d(**{"/lib/modprobe.d/blacklist-nvidia.conf": off})
    lines = kernel.modprobe(node).value
    assert [(line.place, line.text) for line in lines] == [
        ("/lib/modprobe.d/blacklist-nvidia.conf:2", "blacklist nvidia"),
        ("/lib/modprobe.d/blacklist-nvidia.conf:3", "alias nvidia off"),
    ]


def test_a_file_of_modprobe_d_hides_its_namesake_in_a_later_directory():
    texts = {
        "/etc/modprobe.d/x.conf": "blacklist nouveau\n",
        "/lib/modprobe.d/x.conf": "alias nvidia off\n",
        "/lib/modprobe.d/y.txt": "alias nvidia off\n",
    }
    assert kernel.modprobe(with_modprobe_d(**texts)).value == ()


def test_a_framebuffer_driver_below_a_directory_called_nvidia_is_no_module_of_nvidia():
    """Case 004: kernel/drivers/video/nvidia/nvidiafb.ko lay below the running kernel, and no nvidia.ko."""
    node = nodes.Node()
    plain = dict(node.capture["dirs"]["/etc/modprobe.d"]["dkms.conf"])
    node.capture["dirs"]["/lib/modules/%s/kernel/drivers/video/nvidia" % KERNEL] = {"nvidiafb.ko": plain}
    node.capture["dirs"]["/lib/modules/%s/kernel/drivers/net/ethernet/nvidia" % KERNEL] = {"forcedeth.ko": plain}
    node.answer(["modinfo"], rc=1, stdout="", stderr=NO_MODULE)
    node.capture["commands"].append(show_depends(KERNEL))
    assert look(nodes.Node(node.capture)).module_on_disk == Reading(None)


def test_a_bare_node_has_no_driver_and_that_is_known():
    node = nodes.Node()
    for path in ("/proc/driver/nvidia/version", "/sys/module/nvidia/version", "/proc/driver/nvidia/params"):
        node.capture["files"][path] = None
    node.capture["stats"]["/sys/module/nvidia"] = None
    for words in (["nvidia-smi", "--format=csv,noheader"], ["docker", "info"]):
        node.answer(words, rc=None, stdout="", missing=True, error="%s is not installed" % words[0])
    node.answer(["modinfo"], rc=1, stdout="", stderr=NO_MODULE)
    node.capture["commands"].append(show_depends(KERNEL))
    node.answer(["cuda"], stdout='{"missing": "libcuda.so.1: cannot open shared object file: No such file"}\n')
    evidence = look(nodes.Node(node.capture))
    for name in ("driver", "driver_params", "module_on_disk", "smi", "cuda", "docker"):
        reading = getattr(evidence, name)
        assert (reading.value, reading.error) == (None, None), name


def test_without_a_lock_no_container_is_started():
    node = nodes.Node()
    evidence = look(node)
    assert evidence.containers == {}
    assert not evidence.image_digests.known
    assert not evidence.files.known
    assert not any(command.where == "container" for command, _unprivileged, _groups in node.ran)


@pytest.mark.parametrize("gone", ["nvidia-uvm", "nvidiactl", "nvidia0"])
def test_no_container_is_started_that_would_create_a_missing_node(gone):
    node = nodes.Node()
    del node.capture["dirs"]["/dev"][gone]
    evidence = look(node, nodes.desired())
    assert not any(command.where == "container" for command, _unprivileged, _groups in node.ran)
    for reading in evidence.containers.values():
        assert reading.error.startswith("no container was started: ")
    assert "/dev/" + gone not in [device.path for device in evidence.device_nodes.value]


def test_what_is_done_meanwhile_is_done_while_the_commands_run():
    done, waited = threading.Event(), []

    class Waiting(nodes.Node):
        def run(self, argv, *arguments, **named):
            waited.append(done.wait(10))
            return super().run(argv, *arguments, **named)

    evidence = look(Waiting(), nodes.desired(), meanwhile=done.set)
    assert waited
    assert all(waited), "the commands were waited for before it"
    assert evidence == look(nodes.Node(), nodes.desired())


def wanted_driver(version="580.159.03"):
    return nodes.desired(driver={"version": version, "build": "dkms", "packages": {"libcuda1": version + "-1"}})


def test_a_short_look_does_not_ask_dkms_of_a_driver_that_is_as_wanted():
    node = nodes.Node()
    evidence = look(node, wanted_driver(), short=True)
    assert evidence.dkms.error == "not asked: the driver that is wanted is built and loaded"
    assert "dkms" not in node.programs()
    whole = look(nodes.Node(), wanted_driver())
    assert dataclasses.replace(evidence, dkms=whole.dkms, build_failure=whole.build_failure) == whole


def without_module(node):
    node.answer(["modinfo"], rc=1, stdout="", stderr=NO_MODULE)
    node.capture["commands"].append(show_depends(KERNEL))


def without_driver(node):
    node.capture["files"]["/proc/driver/nvidia/version"] = node.capture["files"]["/sys/module/nvidia/version"] = None
    node.capture["stats"]["/sys/module/nvidia"] = None


@pytest.mark.parametrize(
    ("break_it", "wanted"),
    [
        (without_module, wanted_driver()),
        (without_driver, wanted_driver()),
        (lambda node: node.answer(["modinfo"], rc=None, error="modinfo gave no answer"), wanted_driver()),
        (lambda node: None, wanted_driver("580.1.1")),
        (lambda node: None, nodes.desired()),  # whose lock names no version
        (lambda node: None, None),
    ],
)
def test_a_short_look_asks_dkms_where_it_could_explain_something(break_it, wanted):
    node = nodes.Node()
    break_it(node)
    evidence = look(nodes.Node(node.capture), wanted, short=True)
    assert {(one.name, one.state) for one in evidence.dkms.value} == {("nvidia", "installed")}
    assert evidence == look(nodes.Node(node.capture), wanted)


def test_the_cheap_look_runs_nothing_but_the_package_list():
    node = nodes.Node()
    evidence = look(node, nodes.desired(), "fact")
    assert node.programs() == {"dpkg-query"}
    not_read = {name for name, reading in readings(evidence).items() if reading.error == "not read in this look"}
    assert not_read == {
        "apparmor", "boot_default", "build_failure", "command_line", "cuda", "dkms", "docker",
        "docker_clients", "docker_journal", "docker_root", "docker_socket", "engines", "fabric_mismatch",
        "image_digests", "image_environment", "kernel_log", "libraries", "limits", "load", "modprobe",
        "module_on_disk", "module_to_boot", "numa_nodes", "nvml", "pci_slots", "running_containers",
        "secure_boot", "selinux", "smi", "units",
    }  # fmt: skip
    assert evidence.scope == "fact"
    assert evidence.containers == {}


def test_the_look_at_the_host_alone_starts_no_container():
    node = nodes.Node()
    evidence = look(node, nodes.desired(), "host")
    assert evidence.containers == {}
    assert evidence.cuda.value.code == 0
    assert not any(command.where == "container" for command, _unprivileged, _groups in node.ran)


def test_without_time_left_commands_are_unknown_and_files_are_read():
    evidence = look(nodes.Node(), nodes.desired(), budget_seconds=0)
    for name in ("smi", "nvml", "cuda", "docker", "packages", "units"):
        assert getattr(evidence, name).error.endswith("no time left in this look"), name
    for reading in evidence.containers.values():
        assert reading.error.endswith("no time left in this look")
    assert evidence.driver.known


def test_what_is_held_by_us_is_read_whatever_its_name():
    node = nodes.Node()
    assert "bash" not in look(node, nodes.desired(), "fact").packages.value
    node.capture["files"]["/var/lib/goldennode/holds.json"] = '{"schema": 1, "names": ["bash"]}'
    found = look(node, nodes.desired(), "fact")
    assert found.own_holds.value == ("bash",)
    assert "bash" in found.packages.value


def test_a_gpu_without_handle_is_told_beside_the_others():
    """The query stops at it; the list goes on."""
    node = nodes.Node()
    said = "Unable to determine the device handle for GPU0000:61:00.0: Unknown Error\n"
    node.answer(["nvidia-smi", "--format=csv,noheader"], rc=255, stdout=said)
    listing = "GPU 0: NVIDIA A10 (UUID: %s)\n%s" % (GPU.uuid, said.replace("GPU0000", "gpu 0000"))
    node.capture["commands"].append({"where": "host", "argv": ["nvidia-smi", "-L"], "rc": 255, "stdout": listing})
    evidence = look(nodes.Node(node.capture), nodes.desired())
    assert [(gpu.uuid, gpu.pci_address, gpu.error) for gpu in evidence.smi.value.gpus] == [
        (None, "0000:61:00.0", "Unknown Error"),
        (GPU.uuid, None, None),
    ]


def test_the_kernel_log_where_dmesg_is_refused():
    node = nodes.Node()
    node.answer(["dmesg"], rc=1, stdout="", stderr="dmesg: read kernel buffer failed: Operation not permitted")
    argv = ["journalctl", "--boot", "--dmesg", "--no-pager", "--quiet", "--output=cat", "--lines=20000"]
    node.capture["commands"].append({"where": "host", "argv": argv, "rc": 0, "stdout": "NVRM: from the journal.\n"})
    assert look(nodes.Node(node.capture)).kernel_log.value == ("NVRM: from the journal.",)


RING = """[99.1] eth0: up
[99.2] NVRM: Xid (PCI:0000:01:00): 31, b
[99.3] eth0: down
[99.4] NVRM: Xid (PCI:0000:01:00): 45, c
"""
OLD, SHARED, NEW = ("NVRM: Xid (PCI:0000:01:00): %s" % said for said in ("95, a", "31, b", "45, c"))


@pytest.mark.parametrize(
    ("journal", "lines"),
    [
        ({"rc": 0, "stdout": "%s\n%s\n" % (OLD, SHARED)}, (OLD, SHARED, NEW)),
        ({"rc": 0, "stdout": "%s\n" % OLD}, (OLD, SHARED, NEW)),
        ({"rc": 1, "stdout": ""}, (SHARED, NEW)),
        ({"rc": None, "stdout": OLD, "timed_out": True, "error": "killed"}, (SHARED, NEW)),
    ],
)
def test_what_the_kernel_has_forgotten_of_this_boot_is_in_the_journal(journal, lines):
    node = nodes.Node()
    node.answer(["dmesg"], rc=0, stdout=RING, stderr="")
    words = "nvrm|nvidia|nouveau|nova[-_]|unsigned module|unavailable key|trusted key|key was rejected"
    argv = ["journalctl", "--boot", "--dmesg", "--no-pager", "--quiet", "--output=cat"]
    node.capture["commands"].append({"where": "host", "argv": [*argv, "--grep=%s" % words], "stderr": "", **journal})
    node = nodes.Node(node.capture)
    assert look(node).kernel_log.value == lines
    assert any("--grep=%s" % words in command.argv for command, _unprivileged, _groups in node.ran)


def test_a_log_from_the_beginning_of_the_boot_is_all_there_is():
    node = nodes.Node()
    look(node)
    assert not [command.argv for command, _unprivileged, _groups in node.ran if "--dmesg" in command.argv]


def test_an_image_that_is_not_the_recorded_one_is_read_and_a_cheap_look_says_that_it_was_not():
    node = nodes.Node()
    record = json.loads(node.capture["files"]["/var/lib/goldennode/initramfs.json"])
    record["kernels"][KERNEL]["image"] = "another"
    node.capture["files"]["/var/lib/goldennode/initramfs.json"] = json.dumps(record)
    path = "/boot/initrd.img-" + KERNEL
    inside = {"modules": ["nouveau.ko.xz"], "modprobe": {}, "nvidia": {"updates/dkms/nvidia.ko": "580.95.05"}}
    argv = ["python3", "-I", "-c", "the script\n", "initramfs", path]
    node.capture["commands"].append({"where": "host", "argv": argv, "rc": 0, "stdout": json.dumps(inside)})
    images = {image.kernel: image for image in look(nodes.Node(node.capture)).initramfs.value}
    assert (images[KERNEL].nouveau, images[KERNEL].blacklisted, images[KERNEL].nvidia_version) == (
        True,
        False,
        "580.95.05",
    )
    assert images[KERNEL].recorded_image == "another"
    assert (images[CLOUD].nouveau, images[CLOUD].blacklisted) == (False, True)
    cheap = {image.kernel: image for image in look(nodes.Node(node.capture), scope="fact").initramfs.value}
    assert (cheap[KERNEL].nouveau, cheap[CLOUD].nouveau) == (None, False)


@pytest.mark.parametrize(
    ("section", "path", "change"),
    [
        ("states", nodes.BLACKLIST, {"sha256": "1" * 64}),
        ("states", "/etc/initramfs-tools/modules", {"sha256": "1" * 64}),
        ("dirs", "/lib/modules/%s/updates/dkms" % KERNEL, {"nvidia.ko.xz": None}),
    ],
)
def test_a_change_of_what_an_initramfs_is_built_from_is_seen(section, path, change):
    node = nodes.Node()
    entry = node.capture[section][path]
    entry.update(change)
    node.capture[section][path] = {name: value for name, value in entry.items() if value is not None}
    image = {image.kernel: image for image in look(node).initramfs.value}[KERNEL]
    assert image.recorded_inputs is not None
    assert image.inputs != image.recorded_inputs


def without_image():
    node = nodes.Node()
    node.capture["stats"].update({pattern.format(KERNEL): None for pattern in initramfs.IMAGES})
    node.capture["files"]["/boot/config-" + KERNEL] = "CONFIG_BLK_DEV_INITRD=y\n"
    return node


def test_a_kernel_without_an_image_beside_one_that_has_its_own_should_have_one():
    images = {image.kernel: image for image in look(without_image()).initramfs.value}
    assert (images[KERNEL].missing, images[KERNEL].path) == (True, "")
    assert not images[CLOUD].missing


def test_whether_an_image_is_missing_is_not_known_where_that_cannot_be_read():
    node = without_image()
    node.break_path("files", "/boot/config-" + KERNEL)
    assert look(node).initramfs.error == "/boot/config-%s could not be read: Input/output error" % KERNEL


def test_the_same_configuration_written_again_is_no_change():
    node = nodes.Node()
    node.capture["states"][nodes.BLACKLIST]["mtime"] += 100
    node.capture["stats"][nodes.BLACKLIST]["mtime"] += 100
    for image in look(node).initramfs.value:
        assert image.inputs == image.recorded_inputs


def test_the_platform_chooses_what_is_wanted():
    wanted = nodes.desired()
    platform, chosen = choose(nodes.Node(), {"debian-13-x86_64": wanted, "ubuntu-24.04-x86_64": nodes.desired(x=1)})
    assert platform.value.key == "debian-13-x86_64"
    assert chosen is wanted
    assert choose(nodes.Node(), {})[1] is None
    broken = nodes.Node()
    broken.break_path("files", "/etc/os-release")
    platform, chosen = choose(broken, {"debian-13-x86_64": wanted})
    assert (platform.known, chosen) == (False, None)


def test_an_unknown_scope_is_refused():
    with pytest.raises(ValueError, match="scope 'all' is none of full, host, fact"):
        look(nodes.Node(), scope="all")


def test_a_capture_of_a_look_gives_the_same_evidence():
    recorder = Recorder(nodes.Node())
    evidence = look(recorder, nodes.desired())
    again = look(Replay(json.loads(json.dumps(recorder.capture()))), nodes.desired())
    assert again == evidence


def test_what_is_not_in_a_capture_is_unknown():
    empty = {name: {} for name in ("files", "dirs", "stats", "links", "states", "errors")}
    empty.update(schema=1, collected_at=0, host="x", machine="x86_64", commands=[])
    evidence = look(Replay(empty), nodes.desired())
    for name, reading in readings(evidence).items():
        assert not reading.known, name
        assert NOT_CAPTURED in reading.error or name.startswith(("containers", "module_on_disk", "kernel_log")), name


def test_evidence_survives_json():
    evidence = look(nodes.Node(), nodes.desired())
    assert evidence_from_plain(json.loads(json.dumps(to_plain(evidence)))) == evidence


def test_a_module_that_the_user_blacklists_is_looked_for_too():
    class Modules:
        def stat(self, path):
            return Reading(path in ("/sys/module", "/sys/module/my_driver") or None)

    assert kernel.modules_loaded(Modules(), ["my-driver"]) == Reading(("my_driver",))
    assert kernel.modules_loaded(Modules()) == Reading(())


@pytest.mark.parametrize(
    ("parameter", "modules", "in_force"),
    [
        ("Y\n", "lockdown,capability,landlock,yama,apparmor,bpf", True),
        ("Y\n", "lockdown,capability,selinux", False),  # lsm= on the kernel's command line
        ("N\n", None, False),  # apparmor=0
        (None, None, False),  # a kernel without it
        ("Y\n", None, None),  # securityfs is not mounted
        ("Y\n", "capability,apparmor2", False),
        ("\n", "apparmor", None),
    ],
)
def test_apparmor_is_in_force_when_it_is_on_and_the_kernel_lists_it(parameter, modules, in_force):
    node = nodes.Node()
    node.capture["files"].update({kernel.APPARMOR: parameter, kernel.SECURITY_MODULES: modules})
    reading = look(nodes.Node(node.capture), nodes.desired()).apparmor
    assert reading.value is in_force
    assert reading.known is (in_force is not None)


SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
SHIM = "/sys/firmware/efi/efivars/MokSBStateRT-605dab50-e046-4300-abb6-3dd810dd8b23"
ON, OFF = "\x06\0\0\0\x01", "\x06\0\0\0\0"


def uefi_node(variable=ON, shim=None, certificate=True, **answers):
    """A node booted by UEFI; ``answers`` are those of mokutil by their first option: (code, stdout)."""
    node = nodes.Node()
    entry = dict(node.capture["stats"]["/sys/module"])
    node.capture["stats"].update(
        {"/sys/firmware/efi": entry, "/var/lib/dkms/mok.pub": dict(entry, kind="file") if certificate else None}
    )
    node.capture["files"].update({SECURE_BOOT: variable, SHIM: shim, "/etc/dkms/framework.conf": "# nothing\n"})
    node.capture["dirs"]["/etc/dkms/framework.conf.d"] = None
    for option, (rc, stdout) in answers.items():
        argv = ["mokutil", "--" + option.replace("_", "-")]
        if option == "test_key":
            argv.append("/var/lib/dkms/mok.pub")
        node.capture["commands"].append({"where": "host", "argv": argv, "rc": rc, "stdout": stdout})
    return nodes.Node(node.capture)


def test_secure_boot_and_the_key_that_dkms_signs_with():
    node = uefi_node(test_key=(1, "/var/lib/dkms/mok.pub is not enrolled\n"), list_enrolled=(0, "MokListRT is empty\n"))
    found = look(node, nodes.desired()).secure_boot.value
    assert (found.enabled, found.enrolled.value, found.certificate) == (True, (), "/var/lib/dkms/mok.pub")
    assert found.signing_key.value == "not enrolled"


def test_a_key_that_dkms_has_not_made_yet_is_missing():
    node = uefi_node(certificate=False, list_enrolled=(0, ""))
    assert look(node, nodes.desired()).secure_boot.value.signing_key.value == "missing"


@pytest.mark.parametrize(("variable", "shim"), [(OFF, None), (ON, ON)])
def test_mokutil_is_not_asked_where_secure_boot_is_off_in_the_firmware_or_in_shim(variable, shim):
    node = uefi_node(variable, shim)
    assert look(node, nodes.desired()).secure_boot.value == SecureBoot(enabled=False)
    assert "mokutil" not in node.programs()


@pytest.mark.parametrize("variable", [None, "\x06", "unreadable"])
@pytest.mark.parametrize(
    ("said", "enabled"), [("SecureBoot enabled\n", True), ("SecureBoot disabled\n", False), ("What?\n", None)]
)
def test_mokutil_is_the_second_source_and_what_neither_tells_is_unknown(variable, said, enabled):
    node = uefi_node(variable, sb_state=(0, said), list_enrolled=(0, ""), test_key=(0, ""))
    if variable == "unreadable":
        node.break_path("files", SECURE_BOOT)
    reading = look(node, nodes.desired()).secure_boot
    assert reading.known is (enabled is not None)
    if enabled is not None:
        assert reading.value.enabled is enabled


def test_without_mokutil_the_key_is_unknown_and_secure_boot_is_not():
    node = uefi_node()
    missing = {"where": "host", "rc": None, "missing": True, "error": "mokutil is not installed"}
    for argv in (["mokutil", "--list-enrolled"], ["mokutil", "--test-key", "/var/lib/dkms/mok.pub"]):
        node.capture["commands"].append(dict(missing, argv=argv))
    found = look(nodes.Node(node.capture), nodes.desired()).secure_boot.value
    assert found.enabled
    assert found.signing_key.error == found.enrolled.error == "mokutil is not installed"


def test_the_module_for_the_kernel_of_the_lock_is_read_where_another_one_runs():
    node = nodes.Node()
    argv = ["modinfo", "-k", CLOUD, "nvidia"]
    node.capture["commands"].append({"where": "host", "argv": argv, "rc": 1, "stderr": NO_MODULE})
    node.capture["commands"].append(show_depends(CLOUD))
    wanted = nodes.desired(kernel={"release": CLOUD})
    golden = wanted.settings["golden"]
    wanted = dataclasses.replace(wanted, settings={"golden": golden, "kernel": {"kernel_pin": True}})
    evidence = look(nodes.Node(node.capture), wanted)
    assert (evidence.module_to_boot.value, evidence.module_to_boot.error) == (None, None)
    assert evidence.module_on_disk.value.kernel == KERNEL
    assert look(nodes.Node(), nodes.desired()).module_to_boot.value.kernel == KERNEL


@pytest.mark.parametrize("built", [True, False])
def test_the_module_of_debians_own_packages_has_another_name(built):
    """modinfo does not follow the command by which modprobe does."""
    node = nodes.Node()
    asked = next(c for c in node.capture["commands"] if c["argv"] == ["modinfo", "-k", KERNEL, "nvidia"])
    current = dict(asked, argv=["modinfo", "-k", KERNEL, "nvidia-current"])
    refused = {"rc": 1, "stdout": "", "stderr": NO_MODULE}
    asked.update(refused)
    if not built:
        current.update(refused, stderr="modinfo: ERROR: Module nvidia-current not found.\n")
    said = "install modprobe -i nvidia-current $CMDLINE_OPTS \n"
    node.capture["commands"] += [current, show_depends(KERNEL, 0, said)]
    reading = look(nodes.Node(node.capture), nodes.desired()).module_on_disk
    assert reading.known
    assert (reading.value and reading.value.version) == ("580.159.03" if built else None)


def test_when_a_module_was_put_there_counts_and_not_when_it_was_built():
    node = nodes.Node()
    path = "/lib/modules/%s/updates/dkms/nvidia.ko.xz" % KERNEL
    node.capture["stats"][path].update(mtime=1000, ctime=2000)
    assert look(node, nodes.desired()).module_on_disk.value.modified == 2000.0


def test_a_vgpu_is_seen_without_a_driver():
    node = nodes.Node()
    raw = bytearray(256)
    raw[0x06], raw[0x34] = 0x10, 0xD0
    raw[0xD0:0xD5] = b"\x09\x00\x1bVF"
    node.capture["files"]["/sys/bus/pci/devices/0000:17:00.0/config"] = {"base64": base64.b64encode(raw).decode()}
    assert [device.vgpu for device in look(node, nodes.desired()).pci.value] == [True]


def test_the_journal_of_the_fabric_manager_is_read_with_an_nvswitch_only():
    node = nodes.Node()
    assert look(node, nodes.desired()).fabric_mismatch == Reading(None)
    assert "journalctl" not in node.programs()
    node.capture["files"]["/sys/bus/pci/devices/0000:17:00.0/class"] = "0x068000\n"
    argv = ["journalctl", "--unit=nvidia-fabricmanager.service", "--boot", "--no-pager", "--quiet", "--output=cat"]
    said = "interface version 530.30.02 don't match with driver version 530.41.03.\n"
    plain = {"where": "host", "argv": [*argv, "--lines=500"], "rc": 0, "stdout": said}
    node.capture["commands"].append(plain)
    assert look(nodes.Node(node.capture), nodes.desired()).fabric_mismatch.value == FabricMismatch(
        "530.30.02", "530.41.03"
    )
    plain.update(rc=1, stdout="", stderr="No journal files were found.\n")
    assert "No journal files" in look(nodes.Node(node.capture), nodes.desired()).fabric_mismatch.error


# Switches of NVLink 5: no PCI functions, but a network function of Mellanox's stands for them

SYSFS = "/sys/bus/pci/devices"
BRIDGE, ORDINARY = "0000:05:00.0", "0000:06:00.0"


def hgx_b200(device="0x2901", vpd=(BRIDGE, ORDINARY), classes=("0x020700", "0x020000"), **grep):
    """The recorded node with a B200 in place of its GPU, and two cards of Mellanox's."""
    node = nodes.Node()
    files, stats = node.capture["files"], node.capture["stats"]
    files[SYSFS + "/0000:17:00.0/device"] = device + "\n"
    for address, code in zip((BRIDGE, ORDINARY), classes):
        node.capture["dirs"][SYSFS][address] = dict(next(iter(node.capture["dirs"][SYSFS].values())))
        files["%s/%s/vendor" % (SYSFS, address)] = "0x15b3\n"
        files["%s/%s/class" % (SYSFS, address)] = code + "\n"
        path = "%s/%s/vpd" % (SYSFS, address)
        stats[path] = {**stats[BLOCKER], "kind": "file"} if address in vpd else None
    asked = ["%s/%s/vpd" % (SYSFS, address) for address in vpd]
    plain = {"where": "host", "argv": ["grep", "-l", "-F", "SW_MNG", *asked], "stdout": "", "stderr": "", **grep}
    node.capture["commands"].append(plain)
    return nodes.Node(node.capture)


BLOCKER = "/boot/initrd.img-" + KERNEL
VPD = SYSFS + "/%s/vpd"


def switches(node):
    read = kernel.pci(node)
    assert read.known, read.error
    return {device.address: device.nvswitch for device in read.value if not device.is_gpu}


def test_a_function_that_manages_switches_stands_for_them():
    assert switches(hgx_b200(rc=0, stdout=VPD % BRIDGE + "\n")) == {BRIDGE: True}


def test_where_one_stands_for_switches_the_others_may_be_as_they_like():
    failed = "grep: %s: Input/output error\n" % (VPD % ORDINARY)
    assert switches(hgx_b200(rc=2, stdout=VPD % BRIDGE + "\n", stderr=failed)) == {BRIDGE: True}


def test_cards_that_are_all_ordinary_stand_for_nothing():
    """A tray of an NVL72 rack, whose switches are in trays of their own; a guest that was given GPUs alone."""
    assert switches(hgx_b200(device="0x2941", rc=1)) == {}


def test_data_that_cannot_be_read_is_not_known():
    failed = "grep: %s: Input/output error\n" % (VPD % ORDINARY)
    assert switches(hgx_b200(rc=2, stderr=failed)) == {ORDINARY: None}


@pytest.mark.parametrize(
    "end",
    [
        {"rc": None, "timed_out": True, "pid": 7, "error": "grep gave no answer within 5 s and was killed (pid 7)"},
        {"rc": None, "missing": True, "error": "grep is not installed"},
        {"rc": 2, "stderr": "grep: something else\n"},
    ],
)
def test_cards_that_give_no_answer_are_all_not_known(end):
    assert switches(hgx_b200(**end)) == {BRIDGE: None, ORDINARY: None}


def test_a_card_without_such_data_is_an_ordinary_one():
    assert switches(hgx_b200(vpd=())) == {}
    assert switches(hgx_b200(vpd=(BRIDGE,), rc=0, stdout=VPD % BRIDGE + "\n")) == {BRIDGE: True}


def test_functions_that_are_no_network_functions_are_not_asked():
    node = hgx_b200(classes=("0x080100", "0x060400"))
    assert switches(node) == {}
    assert "grep" not in node.programs()


def test_nodes_with_other_gpus_read_no_such_data():
    node = hgx_b200(device="0x2330", rc=0, stdout=VPD % BRIDGE + "\n")
    assert switches(node) == {}
    assert "grep" not in node.programs()


@pytest.mark.parametrize("by_mount", [False, True])
def test_the_runtime_is_asked_for_gpus_as_the_toolkit_is_told_to_take_it(by_mount):
    wanted = dataclasses.replace(nodes.desired(), toolkit={"accept-nvidia-visible-devices-as-volume-mounts": by_mount})
    node = nodes.Node()
    look(node, wanted)
    argvs = [" ".join(command.argv) for command, _unprivileged, _groups in node.ran]
    (runtime,) = [argv for argv in argvs if "--runtime nvidia" in argv]
    assert ("/var/run/nvidia-container-devices/all" in runtime) is by_mount
    assert ("NVIDIA_VISIBLE_DEVICES=all" in runtime) is not by_mount
