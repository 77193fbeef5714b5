# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Healthy nodes for the tests: what is wanted, as the product renders it, and the evidence of a node that is so.

A test takes one and breaks one thing.
"""

from __future__ import annotations

import copy
import dataclasses
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils import desired as rendering
from ansible_collections.goldennode.gpu.plugins.module_utils.checks.wanted import packages as wanted_packages
from ansible_collections.goldennode.gpu.plugins.module_utils.docker_record import fingerprint
from ansible_collections.goldennode.gpu.plugins.module_utils.lock import lock_id
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    AptSource,
    Boot,
    BootDefault,
    CdiSpec,
    ContainerEngine,
    ContainerLook,
    ControlGroups,
    CpuFrequency,
    CpuTimes,
    CudaInit,
    Desired,
    DeviceNode,
    DkmsModule,
    DockerClients,
    DockerEngine,
    DockerRoot,
    DriverFile,
    DriverLoaded,
    Engines,
    Evidence,
    Fabric,
    FileState,
    Gpu,
    GpuMode,
    GpuState,
    GpuTool,
    HostLoad,
    Initramfs,
    KeptPackages,
    Library,
    MemoryState,
    ModuleOnDisk,
    Mounted,
    Package,
    PciDevice,
    PcieLink,
    PciSlot,
    Platform,
    Reading,
    RemappedRows,
    Request,
    RuntimeProgram,
    SecureBoot,
    SELinux,
    SocketListener,
    Stall,
    Unit,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import apt_sources

DRIVER = "580.159.03"
KERNEL = "6.12.57+deb13-amd64"
PROFILES = {"a10": 1, "h100x8": 8}
UVM_MAJOR = 508
BOOTED_AT = 1000.0

_PCI_IDS = {"a10": "2236", "h100x8": "2330"}

SETTINGS: t.Dict[str, t.Dict[str, t.Any]] = {
    "bundle": {"bundle_file": "bundle.yml"},
    "golden": {
        "golden_expected_gpus": 1,
        "golden_container_injections": ["runtime", "cdi"],
        "golden_waivers": [],
        "golden_look_timeout": 60,
        "golden_reboot_timeout": 900,
        "golden_allow_reboot": False,
        "golden_allow_daemon_reload": False,
    },
    "rollout": {
        "rollout_canaries": 1,
        "rollout_waves": ["25%"],
        "rollout_budget": 0,
        "rollout_soak_rounds": 3,
        "rollout_soak_interval": 60,
        "rollout_drain": "none",
        "rollout_drain_tasks": "",
        "rollout_gpu_wait": 0,
        "rollout_allow_stop_gpu_processes": False,
        "rollout_stale_after": 24,
        "rollout_take_over": "",
        "rollout_retry": False,
    },
    "kernel": {
        "kernel_arguments": [],
        "kernel_blacklist": ["nouveau", "nova_core", "nova_drm", "nvidiafb"],
        "kernel_pin": True,
    },
    "driver": {"driver_allow_reload": False, "driver_persistenced": True},
    "packages": {"packages_keep": True, "packages_allow_remove": []},
    "docker": {
        "docker_daemon_options": {"log-opts": {"max-size": "10m"}},
        "docker_default_runtime": "runc",
        "docker_registries": [],
        "docker_allow_restart": False,
        "docker_allow_data_root_change": False,
        "docker_allow_container_restart": False,
    },
    "toolkit": {
        "toolkit_cdi": True,
        "toolkit_cdi_additional_gids": True,
        "toolkit_runtime_mode": "auto",
        "toolkit_multi_tenant": False,
        "toolkit_config_options": {},
    },
    "device_access": {
        "device_access_group": "video",
        "device_access_mode": "0660",
        "device_access_users": ["alice", "bob"],
        "device_access_selinux_boolean": True,
    },
}

LOCK: t.Dict[str, t.Any] = {
    "schema": 1,
    "bundle": "sim",
    "bundle_digest": "sha256:" + "b" * 64,
    "platform": "debian-13-x86_64",
    "package_manager": "apt",
    "sources": [
        {
            "name": "nvidia",
            "uris": ["http://vendor.testbed/nvidia/debian13"],
            "suites": ["stable"],
            "components": ["main"],
            "key": "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----",
        }
    ],
    "kernel": {
        "release": KERNEL,
        "packages": {"linux-image-%s" % KERNEL: "6.12.57-1", "linux-image-amd64": "6.12.57-1"},
    },
    "driver": {
        "version": DRIVER,
        "flavour": "open",
        "build": "dkms",
        "source": "nvidia",
        "packages": {"libcuda1": DRIVER + "-1", "nvidia-kernel-open-dkms": DRIVER + "-1", "nvidia-smi": DRIVER + "-1"},
    },
    "fabric_manager": {"version": DRIVER, "packages": {"nvidia-fabricmanager": DRIVER + "-1"}},
    "toolkit": {
        "version": "1.20.0",
        "packages": {
            "nvidia-container-toolkit": "1.20.0-1",
            "nvidia-container-toolkit-base": "1.20.0-1",
            "libnvidia-container-tools": "1.20.0-1",
            "libnvidia-container1": "1.20.0-1",
        },
    },
    "docker": {"version": "26.1.4", "source": "docker-ce", "packages": {"docker-ce": "5:26.1.4-1~debian.13~trixie"}},
    "image": {
        "reference": "registry.testbed/cuda:13.0.1-base",
        "digest": "sha256:" + "c" * 64,
        "cuda": "13.0",
        "cuda_check": "required",
        "cuda_command": [],
    },
    "python": {"nvidia_ml_py": "13.615.71"},
}


def lock(**axes: t.Any) -> t.Dict[str, t.Any]:
    """The lock, with some axes changed: ``lock(driver={"version": "595.71.05"})``."""
    found = copy.deepcopy(LOCK)
    for axis, values in axes.items():
        found[axis] = {**found[axis], **values} if isinstance(values, dict) else values
    return dict(found, id=lock_id(found))


def settings(profile: str = "a10", **variables: t.Any) -> t.Dict[str, t.Dict[str, t.Any]]:
    found = copy.deepcopy(SETTINGS)
    found["golden"]["golden_expected_gpus"] = PROFILES[profile]
    for name, value in variables.items():
        role = next(role for role in found if name.startswith(role + "_"))
        found[role][name] = value
    return found


def desired(profile: str = "a10", of_lock: t.Optional[t.Dict[str, t.Any]] = None, **variables: t.Any) -> Desired:
    return rendering.build(of_lock or lock(), settings(profile, **variables), "a" * 64, "/controller/agent.pyz")


def address(index: int) -> str:
    return "0000:%02x:00.0" % (0x17 + 0x10 * index)


def uuid(index: int) -> str:
    return "GPU-00000000-0000-4000-8000-%012d" % index


def evidence(profile: str = "a10", of_desired: t.Optional[Desired] = None, scope: str = "full") -> Evidence:
    """What a look reads off a node that is exactly as wanted."""
    want = of_desired or desired(profile)
    count = PROFILES[profile]
    driver = want.lock["driver"]["version"]
    gpus = tuple(Gpu(index, uuid(index), "NVIDIA GPU", address(index)) for index in range(count))
    tool = GpuTool(driver=driver, cuda="13.0", gpus=gpus)
    nodes = _nodes(want, count)
    libraries = {
        name: Library(
            name, "/usr/lib/x86_64-linux-gnu/" + name, "/usr/lib/x86_64-linux-gnu/%s.%s" % (name[:-2], driver)
        )
        for name in ("libcuda.so.1", "libnvidia-ml.so.1")
    }
    uuids = tuple(uuid(index) for index in range(count))
    cuda = CudaInit(code=0, devices=count, library=libraries["libcuda.so.1"].target, uuids=uuids)
    looks = {
        way: Reading(
            ContainerLook(
                injection=way,
                started=True,
                smi=Reading(tool),
                mig=Reading(()),
                libraries=Reading(libraries),
                device_nodes=Reading(nodes),
                cuda=Reading(cuda),
                confinement=Reading("docker-default (enforce)"),
                ldconfig=Reading("/usr/sbin/ldconfig"),
                driver_files=Reading(tuple(DriverFile(one.path, one.target, True) for one in libraries.values())),
                frameworks=Reading(()),
            )
        )
        for way in want.settings["golden"]["golden_container_injections"]
    }
    full = Evidence(
        collected_at="2026-11-30T12:00:00+00:00",
        host="node1",
        scope=scope,
        platform=Reading(Platform("debian", "13", "x86_64")),
        boot=Reading(Boot("11111111-2222-4333-8444-555555555555", KERNEL, BOOTED_AT)),
        pci=Reading(_pci(profile)),
        packages=Reading(_packages(want, nvswitch=profile == "h100x8")),
        sources=Reading(_sources(want)),
        own_holds=Reading(tuple(sorted(wanted_packages(want, _pci(profile))))),
        kept_packages=Reading(_kept(want, nvswitch=profile == "h100x8")),
        modules_loaded=Reading(("nvidia", "nvidia_uvm")),
        driver=Reading(DriverLoaded(driver, want.lock["driver"]["flavour"])),
        driver_params=Reading(
            {
                "ModifyDeviceFiles": "1",
                "DeviceFileUID": "0",
                "DeviceFileGID": "44",
                "DeviceFileMode": "%d" % _mode(want),
            }
        ),
        module_on_disk=Reading(module(driver)),
        modprobe=Reading(()),
        initramfs=Reading(
            (
                Initramfs(
                    KERNEL, "/boot/initrd.img-" + KERNEL, "in", "image", "in", "image", nouveau=True, blacklisted=True
                ),
            )
        ),
        kernel_log=Reading(("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  %s" % driver,)),
        libraries=Reading(libraries),
        device_nodes=Reading(nodes),
        device_majors=Reading({"nvidia": 195, "nvidia-uvm": UVM_MAJOR}),
        groups=Reading({"root": (0, ()), "video": (44, ("alice", "bob"))}),
        smi=Reading(tool),
        nvml=Reading(with_states(tool, nvlink=profile == "h100x8")),
        cuda=Reading(cuda),
        units=Reading(_units(want)),
        docker=Reading(
            DockerEngine(
                version=want.lock["docker"]["version"],
                root_dir=_docker_root(want).path,
                cgroup_driver="systemd",
                cgroup_version="2",
                cdi_spec_dirs=("/etc/cdi", "/var/run/cdi"),
                security_options=("name=apparmor", "name=seccomp,profile=builtin"),
                operating_system="Debian GNU/Linux 13 (trixie)",
                containers_running=0,
                told={key: copy.deepcopy(want.daemon[key]) for key in want.daemon if key != "log-opts"},
            )
        ),
        docker_socket=Reading(SocketListener("/run/docker.sock", 1, "/sbin/init", "/init.scope")),
        docker_clients=Reading(DockerClients()),
        docker_root=Reading(_docker_root(want)),
        docker_config=Reading(copy.deepcopy(want.daemon)),
        docker_config_file=Reading(FileState("/etc/docker/daemon.json", "d" * 64, 0o644, 0, 0, mtime=1500.0)),
        docker_record=Reading(fingerprint("invocation of docker.service", want.daemon)),
        image_digests=Reading(("registry.testbed/cuda@" + want.lock["image"]["digest"],)),
        cdi_specs=Reading({"/var/run/cdi/nvidia.yaml": cdi_spec(driver, count)}),
        cdi_target=Reading("/var/run/cdi/nvidia.yaml"),
        toolkit_config=Reading(copy.deepcopy(want.toolkit)),
        containers=looks,
        files=Reading(
            {path: FileState(path, file.sha256, file.mode, 0, 0, mtime=1500.0) for path, file in want.files.items()}
        ),
        mark=Reading(None),
        boot_default=Reading(
            BootDefault(
                loader="grub",
                config="/boot/grub/grub.cfg",
                kernel=KERNEL,
                entry="Debian GNU/Linux",
                arguments=("root=/dev/sda1", "ro", "quiet"),
            )
        ),
        command_line=Reading("BOOT_IMAGE=/boot/vmlinuz-%s root=/dev/sda1 ro quiet" % KERNEL),
        secure_boot=Reading(SecureBoot(enabled=False)),
        apparmor=Reading(True),
        selinux=Reading(SELinux("disabled")),
        requests=Reading(tuple(_requests(looks, gpus))),
        module_to_boot=Reading(module(driver)),
        dkms=Reading((DkmsModule("nvidia", driver, "installed", KERNEL, "x86_64"),)),
        build_failure=Reading(None),
        docker_journal=Reading(None),
        fabric_mismatch=Reading(None),
        dev_char=Reading({node.path: node.path for node in nodes}),
        running_containers=Reading(()),
        pci_slots=Reading({address(index): PciSlot(LINK, index // 4) for index in range(count)}),
        numa_nodes=Reading(2),
        load=Reading(load()),
        limits=Reading(()),
        cgroups=Reading(
            ControlGroups("2", ("cpu", "cpuset", "io", "memory", "pids"), Reading(("cpu", "memory", "pids")))
        ),
        engines=Reading(
            Engines(
                (ContainerEngine("docker", "/usr/bin/dockerd"), ContainerEngine("containerd", "/usr/bin/containerd")),
                rootless=Reading({}),
            )
        ),
        image_environment=Reading({"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}),
        frameworks=Reading(()),
        runtime_program=Reading(RuntimeProgram("/usr/bin/nvidia-container-runtime", 0o755, 900.0)),
    )
    return full if scope == "full" else cheap(full)


LINK = PcieLink(generation=4, max_generation=4, width=16, max_width=16)


def state(nvlink: bool = False, **fields: t.Any) -> GpuState:
    """What a GPU says that has nothing to complain of: values, or readings where one is not known."""
    values: t.Dict[str, t.Any] = {
        "mig": GpuMode(False, False) if nvlink else None,
        "gpu_instances": 0 if nvlink else None,
        "compute_instances": 0 if nvlink else None,
        "mig_devices": () if nvlink else None,
        "ecc": GpuMode(True, True),
        "ecc_volatile": 0,
        "ecc_aggregate": 0,
        "remapped": RemappedRows(0, 0, pending=False, failed=False),
        "retired_pending": None,
        "recovery": 0,
        "fabric": Fabric(3, 0, 2, 1) if nvlink else Fabric(0),
        "clock_events": 1,
        "persistence": True,
        "pcie": LINK,
        "utilization": 0,
        "processes": (),
        **fields,
    }
    return GpuState(**{name: one if isinstance(one, Reading) else Reading(one) for name, one in values.items()})


def with_states(tool: GpuTool, nvlink: bool = False) -> GpuTool:
    """As NVML tells it, which is asked for the state of each GPU; nvidia-smi is not."""
    return dataclasses.replace(tool, gpus=tuple(dataclasses.replace(gpu, state=state(nvlink)) for gpu in tool.gpus))


def of_gpu(of: Evidence, index: int = 0, **fields: t.Any) -> Evidence:
    """The evidence with another state of one GPU: ``of_gpu(evidence, recovery=1)``."""
    tool = of.nvml.value
    assert tool is not None
    changed = {name: value if isinstance(value, Reading) else Reading(value) for name, value in fields.items()}
    gpus = tuple(
        dataclasses.replace(gpu, state=dataclasses.replace(gpu.state or GpuState(), **changed))
        if gpu.index == index
        else gpu
        for gpu in tool.gpus
    )
    return known(of, nvml=dataclasses.replace(tool, gpus=gpus))


def cheap(full: Evidence) -> Evidence:
    """The part of it that the local fact reads."""
    read = (
        "platform",
        "boot",
        "pci",
        "packages",
        "sources",
        "kept_packages",
        "own_holds",
        "modules_loaded",
        "driver",
        "driver_params",
        "device_nodes",
        "device_majors",
        "dev_char",
        "groups",
        "docker_config",
        "docker_config_file",
        "docker_record",
        "files",
        "toolkit_config",
        "runtime_program",
        "cgroups",
        "cdi_target",
        "initramfs",
        "mark",
    )
    return Evidence(full.collected_at, full.host, "fact", **{name: getattr(full, name) for name in read})


def load(**fields: t.Any) -> HostLoad:
    """Of a machine with two NUMA nodes of four CPUs each, on which nothing waits; fields are plain values."""
    still = Stall((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    plain: t.Dict[str, t.Any] = {
        "stalls": {"cpu": still, "memory": still, "io": still},
        "load": (1.0, 1.0, 1.0),
        "times": CpuTimes(iowait=0.1, steal=0.0),
        "memory": MemoryState(64 << 20, 48 << 20, 0, 0, 0, 60),
        "frequency": CpuFrequency("intel_pstate", {"performance": 8}),
        "online": tuple(range(8)),
        "isolated": (),
        "numa": {"0": (0, 1, 2, 3), "1": (4, 5, 6, 7)},
        **fields,
    }
    return HostLoad(**{name: Reading(value) for name, value in plain.items()})


def known(of: Evidence, **fields: t.Any) -> Evidence:
    """The evidence with other values: ``known(evidence, driver=None)`` has no driver loaded."""
    return dataclasses.replace(of, **{name: Reading(value) for name, value in fields.items()})


def unreadable(of: Evidence, *fields: str) -> Evidence:
    return dataclasses.replace(of, **{name: Reading.unknown("%s was unreadable" % name) for name in fields})


def container(of: Evidence, way: str, **fields: t.Any) -> Evidence:
    """The evidence with another look into one container. Values are readings, ``started`` and ``error`` are plain."""
    look = of.containers[way].value
    assert look is not None
    return dataclasses.replace(of, containers={**of.containers, way: Reading(dataclasses.replace(look, **fields))})


def module(version: str = DRIVER, kernel: str = KERNEL, **fields: t.Any) -> ModuleOnDisk:
    """The module on disk: built and signed by DKMS since the node booted, and loaded without another reboot."""
    path = "/lib/modules/%s/updates/dkms/nvidia.ko.xz" % kernel
    found = ModuleOnDisk(kernel, version, "Dual MIT/GPL", "DKMS module signing key", path, BOOTED_AT + 100, "01:02")
    return dataclasses.replace(found, **fields)


def cdi_spec(driver: t.Optional[str] = DRIVER, count: int = 1, **fields: t.Any) -> CdiSpec:
    """What nvidia-ctk writes for so many GPUs."""
    names = [name for index in range(count) for name in (str(index), uuid(index))]
    found = CdiSpec("nvidia.com/gpu", "0.7.0", driver, (*names, "all"), generated=True)
    return dataclasses.replace(found, **fields)


def _requests(looks: t.Mapping[str, Reading[ContainerLook]], gpus: t.Sequence[Gpu]) -> t.Iterator[Request]:
    """The last GPU by its index, and the first by its UUID, by each way."""
    for way, reading in looks.items():
        for asked, gpu in ((str(gpus[-1].index), gpus[-1]), (str(gpus[0].uuid), gpus[0])):
            assert reading.value is not None
            yield Request(way, asked, str(gpu.uuid), Reading(single(reading.value, gpu)))


def single(look: ContainerLook, gpu: Gpu) -> ContainerLook:
    """What it would see with this one GPU, which counts from 0 in there."""
    smi, cuda = look.smi.value or GpuTool(), look.cuda.value or CudaInit(0)
    return dataclasses.replace(
        look,
        smi=Reading(dataclasses.replace(smi, gpus=(dataclasses.replace(gpu, index=0),))),
        cuda=Reading(dataclasses.replace(cuda, devices=1, uuids=(str(gpu.uuid),))),
    )


def _mode(want: Desired) -> int:
    return int(want.settings["device_access"]["device_access_mode"], 8)


def _pci(profile: str) -> t.Tuple[PciDevice, ...]:
    devices = [PciDevice(address(index), _PCI_IDS[profile], "0302", "nvidia") for index in range(PROFILES[profile])]
    if profile == "h100x8":
        devices += [PciDevice("0000:%02x:00.0" % (0xA0 + index), "22a3", "0680", nvswitch=True) for index in range(4)]
    return tuple(devices)


def _sources(want: Desired) -> t.Tuple[AptSource, ...]:
    """Debian's own, and the files of the roles."""
    own = "deb http://deb.debian.org/debian trixie main\n"
    texts = {"/etc/apt/sources.list": own}
    texts.update({path: file.content or "" for path, file in want.files.items() if path.endswith(".sources")})
    return tuple(entry for path, text in texts.items() for entry in apt_sources.parse(path, text, "amd64"))


def _packages(want: Desired, nvswitch: bool) -> t.Dict[str, Package]:
    found = {}
    for axis in ("kernel", "driver", "toolkit", "docker") + (("fabric_manager",) if nvswitch else ()):
        for name, version in want.lock[axis]["packages"].items():
            found[name] = Package(name, version, held=True)
    return found


def _kept(want: Desired, nvswitch: bool) -> KeptPackages:
    """Of the first lock that a node ever had."""
    return KeptPackages(tuple("%s=%s" % (p.name, p.version) for p in _packages(want, nvswitch).values()), {})


def _nodes(want: Desired, count: int) -> t.Tuple[DeviceNode, ...]:
    numbers = [("nvidia%d" % index, 195, index) for index in range(count)]
    numbers += [("nvidiactl", 195, 255), ("nvidia-uvm", UVM_MAJOR, 0), ("nvidia-uvm-tools", UVM_MAJOR, 1)]
    mode = _mode(want)
    nodes = [DeviceNode("/dev/" + name, mode, 0, 44, major, minor) for name, major, minor in numbers]
    # The driver's own business: neither mode nor group of these is ours.
    return (*nodes, DeviceNode("/dev/nvidia-caps/nvidia-cap1", 0o400, 0, 0, 511, 1))


def _docker_root(want: Desired) -> DockerRoot:
    wanted = want.daemon.get("data-root", "")
    path, disk = wanted or "/var/lib/docker", Mounted("/", "ext4", "/dev/sda1")
    return DockerRoot(path, path, disk, wanted, disk if wanted else None)


def _units(want: Desired) -> t.Dict[str, Unit]:
    found = {}
    for name in (*want.units, "nvidia-fabricmanager.service"):
        found[name] = Unit(name, "loaded", "active", "enabled", 2000.0, "invocation of %s" % name)
    return found
