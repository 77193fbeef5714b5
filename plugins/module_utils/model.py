# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words of the collection as types: reading, evidence, finding, verdict, and what a node is wanted to be.

Pure data. Nothing in this file runs a command, reads a file or imports ansible, so the same types serve the
modules on a node, the agent, the controller's filters and the tests. Managed nodes run Python 3.9 and newer.
"""

from __future__ import annotations

import dataclasses
import typing as t

T = t.TypeVar("T")

SCHEMA = 1

#: The chain, in the order in which it is judged: what stands later depends on what stands before.
LAYERS = (
    "hardware",
    "packages",
    "host_driver",
    "device_nodes",
    "container_runtime",
    "image",
    "policy",
)

#: The two libraries through which everything else reaches the driver.
LIBRARIES = ("libcuda.so.1", "libnvidia-ml.so.1")

#: Drivers that keep a PCI function for a virtual machine. They bind it because somebody said so.
SET_ASIDE_BY = ("vfio-pci", "nvgrace-gpu-vfio-pci", "pci-stub", "xen-pciback")

#: PCI class of an NVSwitch that is a PCI function itself, as those before NVLink 5 are.
NVSWITCH = "0680"

STATUSES = ("pass", "fail", "unknown", "skip")

#: What mends a failed finding. ``roles``: a run of site.yml. ``reboot``: a reboot, which site.yml does by consent.
#: ``reload``: a reboot, or loading the nvidia module anew where nothing uses it; each by a consent of its own.
#: ``agent``: nothing to do, the boot unit verifies. ``manual``: a person (hardware, firmware, consent).
REPAIRS = ("roles", "reboot", "reload", "agent", "manual")


@dataclasses.dataclass(frozen=True)
class Reading(t.Generic[T]):
    """One thing read off a node: its value, or why it could not be read.

    ``error is None`` means that the value is known. A value of ``None`` then means *known to be absent*
    (no such file, no such module). An unknown reading never counts as absent.
    """

    value: t.Optional[T] = None
    error: t.Optional[str] = None

    @property
    def known(self) -> bool:
        return self.error is None

    @classmethod
    def unknown(cls, why: str) -> Reading[t.Any]:
        return cls(value=None, error=why or "no reason was given")


NOT_READ: Reading[t.Any] = Reading(error="not read in this look")


@dataclasses.dataclass(frozen=True)
class Platform:
    """Where the node stands: ``id`` and ``version_id`` of /etc/os-release, ``arch`` as uname -m gives it."""

    id: str
    version_id: str
    arch: str
    id_like: str = ""
    pretty_name: str = ""
    wsl: bool = False

    @property
    def key(self) -> str:
        """Name of the platform in bundles and locks: ``debian-13-x86_64``; the RHEL family counts by major version."""
        version = self.version_id
        if self.id in ("rhel", "rocky", "almalinux", "centos", "ol"):
            version = version.split(".")[0]
        return "%s-%s-%s" % (self.id, version, self.arch)


@dataclasses.dataclass(frozen=True)
class Boot:
    """``booted_at`` is in seconds since the epoch; both ids are read from /proc/sys/kernel, not from uname."""

    boot_id: str
    kernel: str
    booted_at: float


@dataclasses.dataclass(frozen=True)
class PciDevice:
    """One NVIDIA (vendor 10de) PCI function. ``device`` and ``pci_class`` are hex without 0x: ``2330``, ``0302``.

    ``vgpu``: a slice of a GPU that a hypervisor gives to this guest; None where that could not be told.
    ``nvswitch``: it is an NVSwitch, or the function of another vendor (15b3) that stands for those of NVLink 5; None
    where it may be such a one and that could not be told. The probe says it once, for the checks and the roles.
    """

    address: str
    device: str
    pci_class: str
    driver: t.Optional[str] = None
    vgpu: t.Optional[bool] = False
    nvswitch: t.Optional[bool] = False

    @property
    def is_gpu(self) -> bool:
        return self.pci_class in ("0300", "0302")

    @property
    def set_aside(self) -> bool:
        """Whether somebody keeps it for a virtual machine: then it is none of this node's GPUs, and is left alone."""
        return self.driver in SET_ASIDE_BY

    @property
    def is_switch_manager(self) -> bool:
        """Whether it stands for switches of NVLink 5, which need the subnet manager beside the fabric manager."""
        return self.nvswitch is True and self.pci_class != NVSWITCH


@dataclasses.dataclass(frozen=True)
class Package:
    """One installed package. ``version`` is the package manager's full version, epoch and revision included."""

    name: str
    version: str
    held: bool = False
    status: str = "installed"


@dataclasses.dataclass(frozen=True)
class AptSource:
    """One entry of apt's sources, in lines ``line`` to ``last`` of ``file``.

    ``signed_by`` are paths and fingerprints as they stand there, joined by commas; a key inside the entry is ``key``
    and its digest; "" where nothing is said. ``broken`` says why apt cannot read the entry, and so refuses every
    source. ``managed``: the file says that it is this collection's.
    """

    file: str
    line: int
    last: int
    types: t.Tuple[str, ...] = ()
    uris: t.Tuple[str, ...] = ()
    suites: t.Tuple[str, ...] = ()
    components: t.Tuple[str, ...] = ()
    signed_by: str = ""
    enabled: bool = True
    managed: bool = False
    broken: str = ""

    @property
    def place(self) -> str:
        return "%s:%d" % (self.file, self.line)


@dataclasses.dataclass(frozen=True)
class KeptPackages:
    """Package files kept on the node for going back: each that is there whole, as ``name=version``.

    ``previous``: the lock before, full version by package by axis; empty where there was none.
    """

    files: t.Tuple[str, ...]
    previous: t.Dict[str, t.Dict[str, str]]


@dataclasses.dataclass(frozen=True)
class DriverLoaded:
    """The nvidia module in the running kernel, from /sys/module/nvidia/version and /proc/driver/nvidia/version."""

    version: str
    flavour: t.Optional[str] = None  # open | proprietary


@dataclasses.dataclass(frozen=True)
class ModuleOnDisk:
    """The nvidia module that ``modprobe`` would load for ``kernel``, as modinfo tells it.

    ``signer`` is the name in the certificate of the key that signed it, ``signing_serial`` that certificate's serial
    number (hex with colons); both are empty where it is not signed. ``modified`` is when the file was put there or
    written last, in seconds since the epoch. ``built_for`` is the release that its version magic names.
    """

    kernel: str
    version: str
    licence: str = ""
    signer: str = ""
    path: str = ""
    modified: t.Optional[float] = None
    signing_serial: str = ""
    built_for: str = ""

    @property
    def flavour(self) -> str:
        return "proprietary" if self.licence == "NVIDIA" else "open"


@dataclasses.dataclass(frozen=True)
class Certificate:
    """One certificate whose key the machine's owner trusts; ``sha1`` and ``serial`` in hex with colons."""

    subject: str  # the common name
    sha1: str
    serial: str = ""


@dataclasses.dataclass(frozen=True)
class SecureBoot:
    """Whether the kernel loads signed modules only, and whose signature it takes.

    All but ``enabled`` is read where it is on alone. ``signing_key`` is the state of the key that DKMS signs with:
    ``enrolled``, ``requested`` (waits for somebody at the console), ``not enrolled``, ``blocked`` or ``missing`` (DKMS
    makes one at its first build).
    """

    enabled: bool
    enrolled: Reading[t.Tuple[Certificate, ...]] = NOT_READ  # machine owner keys
    certificate: str = ""  # path of the certificate that belongs to the key
    signing_key: Reading[str] = NOT_READ


@dataclasses.dataclass(frozen=True)
class DkmsModule:
    """One line of ``dkms status``. ``kernel`` and ``arch`` are empty for what is added and built for no kernel.

    ``state``: ``added``, ``built``, ``installed``, ``installed-weak`` or ``broken``. ``remark`` is what dkms adds in
    brackets; ``weak_from`` the kernel for which a weak module was built.
    """

    name: str
    version: str
    state: str
    kernel: str = ""
    arch: str = ""
    remark: str = ""
    weak_from: str = ""


@dataclasses.dataclass(frozen=True)
class ModprobeLine:
    """One line of modprobe.d that can keep a module out, or gives it options. ``module`` is named as the kernel does,
    with underscores.
    """

    file: str
    line: int
    command: str  # alias | blacklist | install | options
    module: str
    argument: str = ""

    @property
    def place(self) -> str:
        return "%s:%d" % (self.file, self.line)

    @property
    def text(self) -> str:
        return " ".join((self.command, self.module, self.argument)).strip()


@dataclasses.dataclass(frozen=True)
class FabricMismatch:
    """The two versions that a fabric manager called different when it started last."""

    fabric_manager: str
    driver: str


@dataclasses.dataclass(frozen=True)
class DeviceNode:
    """One character device below /dev. ``mode`` is the permission bits as an integer (0o666)."""

    path: str
    mode: int
    uid: int
    gid: int
    major: int
    minor: int

    @property
    def of_gpus(self) -> bool:
        """Whether it is one that every program opens; those of nvidia-caps have rules of their own."""
        return self.path.startswith("/dev/nvidia") and "/nvidia-caps" not in self.path

    @property
    def open_to_all(self) -> bool:
        return self.mode & 0o006 == 0o006


@dataclasses.dataclass(frozen=True)
class GpuMode:
    """A mode that takes effect at the GPU's next reset: ``pending`` is what it will be then."""

    current: bool
    pending: bool


@dataclasses.dataclass(frozen=True)
class RemappedRows:
    """Rows of the GPU's memory that spare rows stand in for, by the kind of error that led to it.

    ``pending``: one more waits for a reset; ``failed``: there was no spare row left for one.
    """

    correctable: int
    uncorrectable: int
    pending: bool
    failed: bool


@dataclasses.dataclass(frozen=True)
class PcieLink:
    """Generation and lanes of a link, now and at best; None where they are not told. Both may drop while it is idle."""

    generation: t.Optional[int] = None
    max_generation: t.Optional[int] = None
    width: t.Optional[int] = None
    max_width: t.Optional[int] = None


@dataclasses.dataclass(frozen=True)
class PciSlot:
    """What sysfs says of a GPU's place. ``numa_node`` is -1 where the firmware does not tell, None without a file."""

    link: PcieLink
    numa_node: t.Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Fabric:
    """How far the GPU is registered with the NVLink fabric, as NVML numbers it.

    ``state``: 0 it has none, 1 not started, 2 in progress, 3 completed; ``status`` is then an NVML error code.
    ``health`` is a mask of small fields, ``summary`` 1 healthy, 2 unhealthy, 3 limited; both are 0 where not told.
    """

    state: int
    status: int = 0
    health: int = 0
    summary: int = 0


@dataclasses.dataclass(frozen=True)
class GpuProcess:
    """A program that computes on a GPU. ``name`` is the program's alone, never its arguments; ``memory`` in bytes."""

    pid: int
    name: t.Optional[str] = None
    memory: t.Optional[int] = None


@dataclasses.dataclass(frozen=True)
class MigDevice:
    """A part of a GPU that a program can use, by its place among those of the GPU: 0:2 is the third one of GPU 0."""

    place: int
    uuid: str


@dataclasses.dataclass(frozen=True)
class GpuState:
    """What one GPU says of itself through NVML. A value of None: this driver or this GPU does not have such a thing.

    MIG instances are counted by the devices that a program can use: one without a compute instance is none.
    ``ecc_volatile`` counts uncorrected errors since the driver was loaded, ``ecc_aggregate`` those of the GPU's life.
    ``clock_events`` are bits (``parse.gpu_state.CLOCK_EVENTS``), ``recovery`` is the number of an action (0: none).
    """

    mig: Reading[GpuMode] = NOT_READ
    gpu_instances: Reading[int] = NOT_READ
    compute_instances: Reading[int] = NOT_READ
    mig_devices: Reading[t.Tuple[MigDevice, ...]] = NOT_READ
    ecc: Reading[GpuMode] = NOT_READ
    ecc_volatile: Reading[int] = NOT_READ
    ecc_aggregate: Reading[int] = NOT_READ
    remapped: Reading[RemappedRows] = NOT_READ
    retired_pending: Reading[bool] = NOT_READ  # pages of GPUs before Ampere
    recovery: Reading[int] = NOT_READ
    fabric: Reading[Fabric] = NOT_READ
    clock_events: Reading[int] = NOT_READ
    persistence: Reading[bool] = NOT_READ
    pcie: Reading[PcieLink] = NOT_READ
    utilization: Reading[int] = NOT_READ  # percent
    processes: Reading[t.Tuple[GpuProcess, ...]] = NOT_READ


@dataclasses.dataclass(frozen=True)
class Gpu:
    """One GPU as a tool reports it. ``error`` says why this GPU could not be asked (lost, not initialised).

    ``warning`` is what the tool says of a GPU that answers all the same. ``state`` is None where it was not asked for.
    """

    index: int
    uuid: t.Optional[str] = None
    name: t.Optional[str] = None
    pci_address: t.Optional[str] = None
    error: t.Optional[str] = None
    warning: t.Optional[str] = None
    state: t.Optional[GpuState] = None


@dataclasses.dataclass(frozen=True)
class GpuTool:
    """What nvidia-smi or NVML says: versions are those that it prints, ``cuda`` as ``12.4``."""

    driver: t.Optional[str] = None
    cuda: t.Optional[str] = None
    gpus: t.Tuple[Gpu, ...] = ()


@dataclasses.dataclass(frozen=True)
class CudaInit:
    """Result of cuInit and cuDeviceGetCount. ``code`` is a CUresult; ``library`` the file behind libcuda.so.1.

    ``uuids`` are those of the devices, in CUDA's order, which need not be NVML's; None where CUDA did not tell.
    """

    code: int
    error: t.Optional[str] = None  # CUDA_ERROR_... when code is not 0
    devices: t.Optional[int] = None
    library: t.Optional[str] = None
    uuids: t.Optional[t.Tuple[str, ...]] = None


@dataclasses.dataclass(frozen=True)
class Library:
    """A user-space driver library: what the dynamic linker finds, and the file behind the links."""

    name: str
    path: str
    target: str

    @property
    def version(self) -> t.Optional[str]:
        """Full driver version in the name of the file behind the link: ``libcuda.so.580.159.03`` -> ``580.159.03``."""
        tail = self.target.rpartition(".so.")[2]
        return tail if "." in tail else None


@dataclasses.dataclass(frozen=True)
class Initramfs:
    """One kernel's initramfs. ``inputs`` and ``image`` are digests; ``recorded_*`` those stored after the last rebuild.

    ``nouveau``: a nouveau.ko (or nova_core.ko) is inside; ``blacklisted``: it is blacklisted inside. Both come from
    the record while the image is the recorded one, else from reading the image. ``nvidia_version`` is the module
    inside, ``nvidia_on_disk`` what the same kernel would load from the disk; not asked where none is inside.
    ``path`` is "" where there is no image; ``missing``: there should be one, and a boot of this kernel would fail.
    """

    kernel: str
    path: str
    inputs: str
    image: str
    recorded_inputs: t.Optional[str] = None
    recorded_image: t.Optional[str] = None
    nouveau: t.Optional[bool] = None
    blacklisted: t.Optional[bool] = None
    nvidia_version: t.Optional[str] = None
    nvidia_on_disk: t.Optional[str] = None
    missing: bool = False


@dataclasses.dataclass(frozen=True)
class BuildFailure:
    """Why DKMS has not built the lock's driver, by the log ``path`` of the last build that failed.

    ``kernel`` is the one that it was built for, and ``cause`` what stopped it; "" where the log does not say.
    """

    path: str
    kernel: str
    cause: str
    fix: str


@dataclasses.dataclass(frozen=True)
class BootDefault:
    """What the boot loader starts when nobody chooses, read from ``config``.

    ``kernel`` is None where the entry's name of the kernel tells no release. ``once`` is the kernel, or the entry, of a
    choice that was made for the next boot alone. ``pinned`` and ``added`` are what our own file makes of it: the
    default entry, and further words on the kernel's command line.
    """

    loader: str  # grub
    config: str
    kernel: t.Optional[str]
    entry: str = ""
    arguments: t.Tuple[str, ...] = ()
    once: t.Optional[str] = None
    pinned: bool = False
    added: t.Tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Unit:
    """One systemd unit. ``started_at`` is in seconds since the epoch, None while it is not running.

    ``invocation`` is systemd's id of this one start of it.
    """

    name: str
    load: str  # loaded | not-found | masked
    active: str  # active | inactive | failed | activating
    enabled: str  # enabled | disabled | static | ...
    started_at: t.Optional[float] = None
    invocation: str = ""


@dataclasses.dataclass(frozen=True)
class DockerEngine:
    """What ``docker info`` of the default context says, parsed."""

    version: str
    root_dir: str = ""
    cgroup_driver: str = ""
    cgroup_version: str = ""
    cdi_spec_dirs: t.Tuple[str, ...] = ()
    security_options: t.Tuple[str, ...] = ()
    operating_system: str = ""
    live_restore: bool = False
    containers_running: t.Optional[int] = None
    told: t.Dict[str, t.Any] = dataclasses.field(default_factory=dict)  # its settings, in the words of daemon.json


@dataclasses.dataclass(frozen=True)
class SocketListener:
    """The process that listens on the socket which root's services ask. ``path`` is the file behind the socket's links.

    ``pid`` 1 is systemd, which listens for a unit; 0 is a process outside of this system, as in front of a container.
    ``program`` is the first word of its command line, ``cgroup`` its control group; "" where they are not known.
    """

    path: str
    pid: int
    program: str = ""
    cgroup: str = ""


@dataclasses.dataclass(frozen=True)
class DockerClient:
    """What makes the ``docker`` command of ``user`` ask a daemon that it names itself. "" is every user of the node.

    ``by``: ``context``, ``DOCKER_CONTEXT`` or ``DOCKER_HOST``; ``value`` is the context or the address, ``endpoint``
    the address behind it, "" where that is not known; ``file`` is where it stands.
    """

    user: str
    by: str
    value: str
    endpoint: str
    file: str


@dataclasses.dataclass(frozen=True)
class DockerClients:
    """Every setting of that kind, and the users of whom it could not be read, with the reason."""

    settings: t.Tuple[DockerClient, ...] = ()
    unread: t.Dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Mounted:
    """On what a directory lies. ``device`` is a word where the file system is on none, as ``tmpfs``."""

    point: str
    file_system: str
    device: str


@dataclasses.dataclass(frozen=True)
class DockerRoot:
    """Where Docker keeps its data: as the daemon says, or as daemon.json does where none answers.

    ``directory`` is what stands behind links, and ``on`` what it lies on. ``wanted`` is the directory behind the wanted
    data-root, "" where none is wanted, and ``wanted_on`` what that lies on. Where it is another one, ``moves`` is true,
    and ``left`` counts what the present one holds (containers, images, volumes).
    """

    path: str
    directory: str
    on: Mounted
    wanted: str = ""
    wanted_on: t.Optional[Mounted] = None
    moves: bool = False
    left: t.Dict[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class CdiSpec:
    """One CDI specification for devices of NVIDIA's. ``schema`` is its cdiVersion, "" where it says none.

    ``driver`` is the version in the names of its libraries: None where there is none, all where there are several.
    ``generated``: nvidia-ctk has written it.
    """

    kind: str  # nvidia.com/gpu
    schema: str = ""
    driver: t.Optional[str] = None
    devices: t.Tuple[str, ...] = ()
    generated: bool = False


@dataclasses.dataclass(frozen=True)
class FileState:
    """One regular file: ``sha256`` in hex, ``mode`` as permission bits.

    ``mtime`` is when content or status changed last, in seconds since the epoch: a copy may be given any older time.
    """

    path: str
    sha256: str
    mode: int
    uid: int
    gid: int
    mtime: float


@dataclasses.dataclass(frozen=True)
class RuntimeProgram:
    """The program by which Docker gives containers GPUs. ``mtime`` is when content or status changed last."""

    path: str
    mode: int
    mtime: float

    @property
    def executable(self) -> bool:
        return self.mode & 0o111 != 0


@dataclasses.dataclass(frozen=True)
class SELinux:
    """Whether SELinux is in force, and whether its policy lets containers use the GPUs' device nodes.

    ``boolean`` is the narrowest that the policy has for it, "" where it has none; ``allowed``: that one or a wider one
    is on. ``configured`` is what /etc/selinux/config says for the next boot, "" where it says nothing.
    """

    mode: str  # enforcing | permissive | disabled
    configured: str = ""
    boolean: str = ""
    allowed: bool = False


@dataclasses.dataclass(frozen=True)
class DriverFile:
    """A libcuda or libnvidia-ml in a container's file system. ``given``: it is mounted there, and is the host's.

    ``source`` is the image's own file that the toolkit has mounted there, as it did before 1.17.4 and still may.
    """

    path: str
    target: str
    given: bool
    source: str = ""


@dataclasses.dataclass(frozen=True)
class Framework:
    """A framework in the Python of an image, as its own files tell it, which imports nothing.

    ``cuda`` is the CUDA that it was built for as ``12.4``, "" where the files do not tell which; ``for_gpus``: whether
    it was built for NVIDIA's GPUs at all, None where they do not tell.
    """

    name: str  # torch | tensorflow | jax
    path: str
    version: str = ""
    cuda: str = ""
    for_gpus: t.Optional[bool] = None


@dataclasses.dataclass(frozen=True)
class FrameworkUse:
    """What an imported framework says of the GPUs. ``architectures`` are those that it has code for (``sm_80``), and
    ``capabilities`` those of the GPUs (``8.6``); both empty where it does not tell. ``error``: why it could not be
    asked to the end.
    """

    name: str
    version: str = ""
    cuda: str = ""
    available: t.Optional[bool] = None
    devices: t.Optional[int] = None
    architectures: t.Tuple[str, ...] = ()
    capabilities: t.Tuple[str, ...] = ()
    error: str = ""


@dataclasses.dataclass(frozen=True)
class ContainerLook:
    """What a fresh container sees. ``injection``: ``runtime`` (the nvidia runtime) or ``cdi``.

    ``smi`` is None where nvidia-smi is not in the container. ``confinement`` is the label or profile by which the
    kernel's security module confines it, "" where there is none. ``mig`` has the UUIDs of its MIG devices.
    """

    injection: str
    started: bool
    error: t.Optional[str] = None  # the engine's words, when the container did not start
    smi: Reading[GpuTool] = NOT_READ
    mig: Reading[t.Tuple[str, ...]] = NOT_READ  # None where nvidia-smi is not in the container
    libraries: Reading[t.Dict[str, Library]] = NOT_READ
    device_nodes: Reading[t.Tuple[DeviceNode, ...]] = NOT_READ
    cuda: Reading[CudaInit] = NOT_READ
    confinement: Reading[str] = NOT_READ
    ldconfig: Reading[str] = NOT_READ  # its path, None where the image has none
    driver_files: Reading[t.Tuple[DriverFile, ...]] = NOT_READ  # the host's and the image's own
    frameworks: Reading[t.Tuple[Framework, ...]] = NOT_READ


@dataclasses.dataclass(frozen=True)
class Request:
    """One GPU that a container asked for, as it was asked (an index or a UUID), and what it saw.

    ``uuid`` is the GPU that is meant, by the host's NVML; of a GPU in MIG mode it is one of its MIG devices. ``asked``
    is "" where there is no name to ask by, which ``look`` then says.
    """

    injection: str
    asked: str
    uuid: str
    look: Reading[ContainerLook] = NOT_READ


@dataclasses.dataclass(frozen=True)
class RunningContainer:
    """A running container that has something of the driver, or of which that is not known: ``error`` then says why.

    ``drivers``: versions in the names of the host's driver files that are bound into it. ``own_mounts``: whoever
    created it named such a file as a volume. ``device_allow``: what systemd lets it open, None where systemd does not
    judge its devices. ``owner`` is who else starts and stops it: compose, swarm or kubernetes, and its name there.
    ``pid`` is its first process.
    """

    id: str
    name: str
    image: str = ""
    started_at: str = ""
    restart_policy: str = ""
    owner: str = ""
    owner_name: str = ""
    drivers: t.Tuple[str, ...] = ()
    own_mounts: bool = False
    nodes: t.Tuple[DeviceNode, ...] = ()
    device_allow: t.Optional[t.Tuple[str, ...]] = None
    error: t.Optional[str] = None
    pid: int = 0

    @property
    def label(self) -> str:
        return "%s %s" % (self.name, self.id[:12])


@dataclasses.dataclass(frozen=True)
class DeviceAnswers:
    """What a process in a container may open: its device nodes of the driver, and those that the kernel denies it."""

    nodes: t.Tuple[str, ...]
    denied: t.Tuple[str, ...]
    smi: Reading[GpuTool] = NOT_READ


@dataclasses.dataclass(frozen=True)
class ReloadLook:
    """One container before and after a real ``systemctl daemon-reload``. ``not_tried`` says why there was none."""

    injection: str
    not_tried: str = ""
    before: Reading[DeviceAnswers] = NOT_READ
    after: Reading[DeviceAnswers] = NOT_READ


@dataclasses.dataclass(frozen=True)
class Stall:
    """Share of the time, in percent, in which work waited for one resource: over the last 10, 60 and 300 seconds.

    ``some``: at least one task waited. ``full``: every task that had anything to do did, so that nothing went on.
    """

    some: t.Tuple[float, ...] = ()
    full: t.Tuple[float, ...] = ()


@dataclasses.dataclass(frozen=True)
class CpuTimes:
    """Of all the time of all CPUs since boot, in percent: idle while a disk was waited for, and taken by a hypervisor.

    There is no sample of a moment: that would need a wait.
    """

    iowait: float
    steal: float


@dataclasses.dataclass(frozen=True)
class MemoryState:
    """In kibibytes, as /proc/meminfo has it. ``swapped_in``: pages that were read back from swap since boot."""

    total: int
    available: int
    swap_total: int
    swap_free: int
    swapped_in: t.Optional[int] = None
    swappiness: t.Optional[int] = None


@dataclasses.dataclass(frozen=True)
class CpuFrequency:
    """How the kernel chooses the frequency of CPUs. ``policies`` counts groups of CPUs by governor, and by preference
    where the CPU chooses itself (``powersave, power``); empty where the kernel chooses none, as in most guests.
    """

    driver: str = ""
    policies: t.Dict[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class HostLoad:
    """What can make a healthy node slow. ``stalls`` are by resource (cpu, memory, io), empty where the kernel does not
    count them; ``load`` the load averages of 1, 5 and 15 minutes; ``numa`` the CPUs of each NUMA node.
    """

    stalls: Reading[t.Dict[str, Stall]] = NOT_READ
    load: Reading[t.Tuple[float, ...]] = NOT_READ
    times: Reading[CpuTimes] = NOT_READ
    memory: Reading[MemoryState] = NOT_READ
    frequency: Reading[CpuFrequency] = NOT_READ
    online: Reading[t.Tuple[int, ...]] = NOT_READ
    isolated: Reading[t.Tuple[int, ...]] = NOT_READ
    numa: Reading[t.Dict[str, t.Tuple[int, ...]]] = NOT_READ


@dataclasses.dataclass(frozen=True)
class ContainerLimits:
    """What the control groups of one running container with GPUs let it have, and what it lacked. None is no limit.

    ``cpus`` is a number of CPUs, ``cpuset`` which ones, ``memory`` and ``shm`` (its /dev/shm) are in bytes.
    ``throttled`` is the share, in percent, of the periods since its start in which it was stopped for its quota of CPU;
    ``oom_kills`` counts processes that were killed for want of memory. ``gpu_numa``: the NUMA nodes of its GPUs.
    """

    label: str
    gpus: int
    cgroup: str = ""  # v1 | v2
    cpus: t.Optional[float] = None
    cpuset: t.Tuple[int, ...] = ()
    memory: t.Optional[int] = None
    oom_kills: t.Optional[int] = None
    pids: t.Optional[int] = None
    pids_now: t.Optional[int] = None
    throttled: t.Optional[float] = None
    shm: t.Optional[int] = None
    gpu_numa: t.Tuple[int, ...] = ()
    stalls: t.Dict[str, Stall] = dataclasses.field(default_factory=dict)
    error: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class ControlGroups:
    """``version``: 1, 2 or hybrid (1, with an empty tree of 2 beside it). ``controllers``: those of the tree of 2.

    ``delegated``: controllers that systemd hands to the users' own services, by the files of user@.service.
    """

    version: str
    controllers: t.Tuple[str, ...] = ()
    delegated: Reading[t.Tuple[str, ...]] = NOT_READ


@dataclasses.dataclass(frozen=True)
class ContainerEngine:
    """One engine that is installed. ``runtimes`` are those of its settings that are NVIDIA's, ``misplaced`` those that
    stand where this version of the file is not read. ``cdi``, ``cri`` and ``systemd_cgroup`` are None where nothing
    says it; ``error`` is why its settings are not known. ``files``: those that say anything.
    """

    name: str  # docker | podman | containerd | crio | cri-dockerd
    path: str
    version: str = ""
    active: t.Optional[bool] = None
    files: t.Tuple[str, ...] = ()
    runtimes: t.Tuple[str, ...] = ()
    misplaced: t.Tuple[str, ...] = ()
    default_runtime: str = ""
    systemd_cgroup: t.Optional[bool] = None
    cri: t.Optional[bool] = None
    cdi: t.Optional[bool] = None
    cdi_dirs: t.Tuple[str, ...] = ()
    error: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Engines:
    """Every container engine of the node. ``hooks`` are files of hooks.d that start NVIDIA's hook; ``kubelet`` the
    program that runs Kubernetes here, "" where none does; ``rootless`` the sockets of users' own engines, by user id.
    """

    engines: t.Tuple[ContainerEngine, ...] = ()
    hooks: t.Tuple[str, ...] = ()
    kubelet: str = ""
    rootless: Reading[t.Dict[str, t.Tuple[str, ...]]] = NOT_READ

    def get(self, name: str) -> t.Optional[ContainerEngine]:
        return next((engine for engine in self.engines if engine.name == name), None)


@dataclasses.dataclass(frozen=True)
class Evidence:
    """Everything read off a node in one look."""

    collected_at: str = ""
    host: str = ""
    scope: str = "full"  # full | host (no container) | fact (cheap: no NVIDIA code, no long command)
    platform: Reading[Platform] = NOT_READ
    boot: Reading[Boot] = NOT_READ
    pci: Reading[t.Tuple[PciDevice, ...]] = NOT_READ
    packages: Reading[t.Dict[str, Package]] = NOT_READ
    sources: Reading[t.Tuple[AptSource, ...]] = NOT_READ  # every entry that apt reads, in the order in which it does
    kept_packages: Reading[KeptPackages] = NOT_READ
    own_holds: Reading[t.Tuple[str, ...]] = NOT_READ  # packages whose holds this collection has set
    modules_loaded: Reading[t.Tuple[str, ...]] = NOT_READ  # names below /sys/module that matter to a GPU
    driver: Reading[DriverLoaded] = NOT_READ
    driver_params: Reading[t.Dict[str, str]] = NOT_READ  # /proc/driver/nvidia/params, values as printed (decimal)
    module_on_disk: Reading[ModuleOnDisk] = NOT_READ  # for the running kernel
    modprobe: Reading[t.Tuple[ModprobeLine, ...]] = NOT_READ  # lines of modprobe.d about nvidia and nvidia-uvm
    initramfs: Reading[t.Tuple[Initramfs, ...]] = NOT_READ  # one for every installed kernel
    kernel_log: Reading[t.Tuple[str, ...]] = NOT_READ  # NVRM and nvidia lines of this boot
    libraries: Reading[t.Dict[str, Library]] = NOT_READ
    device_nodes: Reading[t.Tuple[DeviceNode, ...]] = NOT_READ
    device_majors: Reading[t.Dict[str, int]] = NOT_READ  # /proc/devices: nvidia, nvidia-uvm, nvidia-caps
    groups: Reading[t.Dict[str, t.Tuple[int, t.Tuple[str, ...]]]] = NOT_READ  # name: (gid, members)
    smi: Reading[GpuTool] = NOT_READ
    nvml: Reading[GpuTool] = NOT_READ
    cuda: Reading[CudaInit] = NOT_READ
    units: Reading[t.Dict[str, Unit]] = NOT_READ
    docker: Reading[DockerEngine] = NOT_READ
    docker_socket: Reading[SocketListener] = NOT_READ  # None where nobody listens
    docker_clients: Reading[DockerClients] = NOT_READ  # of root and of device_access_users
    docker_root: Reading[DockerRoot] = NOT_READ
    docker_config: Reading[t.Dict[str, t.Any]] = NOT_READ  # daemon.json parsed; {} when empty or absent
    docker_config_file: Reading[FileState] = NOT_READ
    docker_record: Reading[t.Dict[str, t.Any]] = NOT_READ  # docker.json: for which start settings were known in force
    image_digests: Reading[t.Tuple[str, ...]] = NOT_READ  # repo digests of the wanted image on the node
    cdi_specs: Reading[t.Dict[str, CdiSpec]] = NOT_READ  # by path
    cdi_target: Reading[str] = NOT_READ  # where the units of the toolkit write the specification
    toolkit_config: Reading[t.Dict[str, t.Any]] = NOT_READ  # config.toml parsed; {} when empty or absent
    containers: t.Dict[str, Reading[ContainerLook]] = dataclasses.field(default_factory=dict)  # by injection
    requests: Reading[t.Tuple[Request, ...]] = NOT_READ  # single GPUs, asked for where a look is to mark the node
    files: Reading[t.Dict[str, FileState]] = NOT_READ  # the wanted files that exist
    mark: Reading[t.Dict[str, t.Any]] = NOT_READ  # mark.json as written, or None
    boot_default: Reading[BootDefault] = NOT_READ  # None where the boot loader is none that is known
    command_line: Reading[str] = NOT_READ  # /proc/cmdline
    secure_boot: Reading[SecureBoot] = NOT_READ
    apparmor: Reading[bool] = NOT_READ  # whether AppArmor is in force in the running kernel
    selinux: Reading[SELinux] = NOT_READ
    module_to_boot: Reading[ModuleOnDisk] = NOT_READ  # for the lock's kernel; the running one's where that is the same
    dkms: Reading[t.Tuple[DkmsModule, ...]] = NOT_READ  # None where dkms is not installed
    build_failure: Reading[BuildFailure] = NOT_READ  # None where no build of the lock's driver has failed
    docker_journal: Reading[t.Tuple[str, ...]] = NOT_READ  # why dockerd ended, the last first; None where it answers
    fabric_mismatch: Reading[FabricMismatch] = NOT_READ  # None where it complains of nothing, or there is no NVSwitch
    dev_char: Reading[t.Dict[str, t.Optional[str]]] = NOT_READ  # node: what its link in /dev/char leads to
    running_containers: Reading[t.Tuple[RunningContainer, ...]] = NOT_READ  # None where Docker is not installed
    pci_slots: Reading[t.Dict[str, PciSlot]] = NOT_READ  # by address, of the GPUs of this node
    numa_nodes: Reading[int] = NOT_READ  # how many the machine has
    load: Reading[HostLoad] = NOT_READ
    limits: Reading[t.Tuple[ContainerLimits, ...]] = NOT_READ  # of running containers with GPUs; None without Docker
    cgroups: Reading[ControlGroups] = NOT_READ
    engines: Reading[Engines] = NOT_READ
    image_environment: Reading[t.Dict[str, str]] = NOT_READ  # what the image sets, of those that decide over GPUs
    frameworks: Reading[t.Tuple[FrameworkUse, ...]] = NOT_READ  # imported, where a look is to mark the node
    reloads: t.Dict[str, Reading[ReloadLook]] = dataclasses.field(default_factory=dict)  # by injection; on request only
    runtime_program: Reading[RuntimeProgram] = NOT_READ  # that daemon.json shall name; None where it is not there


@dataclasses.dataclass(frozen=True)
class Finding:
    """What one check says of one entity.

    ``id`` is ``<layer>.<check>``; ``entity`` what it is about (a package, a path, a GPU) or "" for the node;
    ``cause`` and ``fix`` are sentences for people; ``repair`` is one of REPAIRS and set when status is ``fail``.
    ``waived``: until when it does not stand in the way of golden, and why; "" where it does, or never would.
    """

    id: str
    layer: str
    status: str
    entity: str = ""
    expected: str = ""
    actual: str = ""
    cause: str = ""
    fix: str = ""
    required: bool = True
    repair: str = ""
    waived: str = ""

    @property
    def page(self) -> str:
        """Where the documentation tells more of this check, from the root of the collection."""
        return "docs/checks/%s.md" % self.id

    @property
    def words(self) -> str:
        """What is wrong, for people: the cause, and what was found and is wanted where the cause leaves that out."""
        said = self.cause or self.actual
        told = self.actual in said and self.expected in said
        if not self.actual or not self.expected or told or len(self.actual + self.expected) > 120:
            return said
        return "%s Found: %s; wanted: %s." % (said, self.actual, self.expected)


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Golden or not. ``first_broken`` is the first layer, in LAYERS' order, that has a required fail or unknown."""

    golden: bool
    first_broken: t.Optional[str]
    findings: t.Tuple[Finding, ...]
    not_proven: t.Tuple[str, ...] = ()

    @property
    def broken(self) -> t.Tuple[Finding, ...]:
        """The required findings of the first broken layer that did not pass: what to mend first."""
        return tuple(
            f for f in self.findings if f.layer == self.first_broken and f.required and f.status in ("fail", "unknown")
        )


@dataclasses.dataclass(frozen=True)
class ManagedFile:
    """A file that one role owns whole. ``content`` is text; None for a binary that is known by its digest alone."""

    path: str
    role: str
    mode: int
    sha256: str
    content: t.Optional[str] = None
    source: t.Optional[str] = None  # path on the controller of a binary


@dataclasses.dataclass(frozen=True)
class Desired:
    """What one platform's nodes are wanted to be: the lock and every role variable that affects the node.

    The roles write exactly this and the checks judge exactly this; ``digest`` is over all of it.
    """

    digest: str
    platform: str
    lock: t.Dict[str, t.Any]
    settings: t.Dict[str, t.Dict[str, t.Any]]
    files: t.Dict[str, ManagedFile]
    daemon: t.Dict[str, t.Any]  # the settings wanted inside daemon.json
    units: t.Dict[str, str]  # unit: active | enabled | active+enabled
    toolkit: t.Dict[str, t.Any] = dataclasses.field(default_factory=dict)  # the settings wanted inside config.toml


def to_plain(value: t.Any) -> t.Any:
    """Turn dataclasses and tuples, nested to any depth, into dicts and lists that JSON can carry."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(v) for v in value]
    return value
