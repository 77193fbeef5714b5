# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a container with GPUs did not start, from the engine's words: which layer is at fault, what mends it.

One table for three layers. The check of each layer takes from it what is its own, so the broken link is named once.
"""

from __future__ import annotations

import re
import typing as t

from ..model import ContainerLook, Desired, Evidence
from . import wanted
from .wanted import RUN_SITE


class StartError(t.NamedTuple):
    """``pattern`` is searched in the engine's words, whatever the case; ``rootless`` limits a row to such engines."""

    pattern: str
    layer: str
    cause: str
    fix: str
    repair: str
    rootless: t.Optional[bool] = None


#: Device rules of a control group, as the toolkit puts them there: by eBPF, or in the files of version 1.
_DEVICE_RULES = r"bpf_prog_\w+|failed to add device rules"

#: What the engine needs for the words by which CDI devices are asked for: features.cdi, and Docker 25 or newer.
_NO_CDI = r"device driver \"?cdi\"? with|gathering device information while adding custom device \"?[\w.-]+/[\w.-]+="

#: The driver's libraries are not where the toolkit looks for them.
_NO_LIBRARY = r"load library failed|cannot open shared object file|ERROR_LIBRARY_NOT_FOUND"

#: Ordered: the special before the general.
START_ERRORS = (
    StartError(
        _DEVICE_RULES + r"|devices\.allow: permission denied|cgroup subsystem devices not found",
        "policy",
        "The engine is rootless, and an unprivileged user may not edit the device rules of a control group.",
        "Give the GPUs out by CDI (toolkit_cdi=true), or set no-cgroups=true in the user's own "
        "nvidia-container-runtime/config.toml.",
        "manual",
        rootless=True,
    ),
    StartError(
        r"cgroup subsystem devices not found|/sys/fs/cgroup/\S*devices\.allow: no such file",
        "container_runtime",
        "The toolkit is too old for control groups of version 2: it looks for those of version 1.",
        "Take a newer toolkit.version in the bundle. The kernel's control groups are not at fault.",
        "manual",
    ),
    StartError(
        _DEVICE_RULES,
        "container_runtime",
        "The toolkit could not edit the device rules of the control group: it does not fit this kernel.",
        "Take a newer toolkit.version in the bundle, or give the GPUs out by CDI (toolkit_cdi=true).",
        "manual",
    ),
    StartError(
        r"insufficient privileges to read device list",
        "container_runtime",
        "The toolkit takes the request from NVIDIA_VISIBLE_DEVICES from privileged containers alone "
        "(accept-nvidia-visible-devices-envvar-when-unprivileged is false).",
        "%s It puts config.toml right; with toolkit_multi_tenant=true GPUs are asked for by CDI or a mount." % RUN_SITE,
        "roles",
    ),
    StartError(
        r"nvml error: insufficient permissions",
        "container_runtime",
        "nvidia-container-cli asks the driver as an ordinary user, whom the mode of the device nodes keeps out.",
        'Set toolkit_config_options: {nvidia-container-cli: {user: "root:GROUP"}} with the group of the nodes, or give '
        'the GPUs out by CDI, or to everybody (device_access_mode: "0666").',
        "manual",
    ),
    StartError(
        r"driver/library version mismatch",
        "container_runtime",
        "The module that is loaded and the libraries that the toolkit finds are of two versions.",
        "Run ldconfig on the host, and look for a second copy of them: ldconfig -p | grep libnvidia-ml.",
        "manual",
    ),
    StartError(
        r"nvml error: (?:driver not loaded|gpu is lost|gpu requires reset)|fallen off the bus",
        "container_runtime",
        "The toolkit reaches no driver, or no GPU, at the start of the container.",
        "Look at journalctl -k for what has become of the driver or of the GPU.",
        "manual",
    ),
    StartError(
        r"driver (?:rpc )?error: (?:timed out|failed to process request)|driver rpc error",
        "container_runtime",
        "The driver did not answer the toolkit in time: GPUs that nothing keeps awake are slow, a hung driver is mute.",
        "Keep driver_persistenced=true, and look at journalctl -k for Xid and NVRM lines.",
        "manual",
    ),
    StartError(
        r"file creation failed: .*nvidia-persistenced/socket|nvidia-persistenced/socket: no such device",
        "container_runtime",
        "The socket of nvidia-persistenced cannot be given into the container: it is stale, or /run of the host is "
        "mounted there.",
        "Restart nvidia-persistenced.service; a workload mounts what it needs of /run, and not the whole.",
        "manual",
    ),
    StartError(
        r"file creation failed: .*: file exists",
        "image",
        "The image has files of a driver of its own where the host's are given in.",
        "Name an image without packages of the driver (libnvidia-*, nvidia-utils) in the bundle; the host's driver and "
        "the toolkit are not at fault.",
        "manual",
    ),
    StartError(
        r"ldcache error|update ldcache|error running ldconfig",
        "container_runtime",
        "The toolkit could not run ldconfig for the container: the one that config.toml names is not the host's own "
        "program, or it failed there.",
        'Set toolkit_config_options: {nvidia-container-cli: {ldconfig: "@/sbin/ldconfig"}}, on Ubuntu '
        '"@/sbin/ldconfig.real". If that is so already, look at the image: its own linker cache cannot be written.',
        "manual",
    ),
    StartError(
        r"change root failed|/run/nvidia/driver\S*: no such file",
        "container_runtime",
        "config.toml has the toolkit look for the driver below another root, which is not there.",
        "Take root out of the table nvidia-container-cli in /etc/nvidia-container-runtime/config.toml.",
        "manual",
    ),
    StartError(
        r"(?:load|loading|read|parse|parsing) (?:the )?config\b|nvidia-container-runtime/config\.toml|\btoml: ",
        "container_runtime",
        "The toolkit cannot read its config.toml.",
        "%s It names line and column of what is wrong in it." % RUN_SITE,
        "roles",
    ),
    StartError(
        r"libnvidia-container(?:-go)?\.so",
        "container_runtime",
        "A library of the toolkit itself is missing: its four packages are not of one version.",
        RUN_SITE,
        "roles",
    ),
    # The probe's own sh, and no program of the toolkit's.
    StartError(
        r"exec: \"?(?:\S*/)?sh\"?: (?:executable file not found|stat |no such file)|exec \S*/sh: no such file",
        "image",
        "The image has no shell, so it cannot tell what it sees; the GPUs and the toolkit are not at fault.",
        "Name an image with a shell in the bundle, such as NVIDIA's CUDA base images; workloads may have none.",
        "manual",
    ),
    StartError(
        r"exec: \"?(?:\S*/)?sh\"?: permission denied|exec \S*/sh: permission denied",
        "image",
        "The image's shell is for root alone, and the container runs as an ordinary user.",
        "Name an image in the bundle whose programs everybody may run.",
        "manual",
    ),
    StartError(
        r"exec format error|does not (?:match|provide) the (?:specified|detected host) platform",
        "image",
        "The image is for another processor than the node's.",
        "Name the digest of the image for this platform in the bundle.",
        "manual",
    ),
    StartError(
        r"AppArmor enabled on system but|apparmor_parser",
        "policy",
        "AppArmor is in force, and Docker could not load its profile docker-default.",
        "Install the package apparmor, mend what its parser complains of below /etc/apparmor.d, and restart Docker. "
        "AppArmor stays in force.",
        "manual",
    ),
    StartError(
        r"apply apparmor profile|apparmor failed to apply profile",
        "policy",
        "The profile docker-default is not loaded any more: it was taken out of the kernel after Docker was started.",
        "Restart Docker, which loads it; a reload of all profiles (aa-teardown) takes it away again.",
        "manual",
    ),
    StartError(
        r"attr/(?:keycreate|exec): invalid argument",
        "policy",
        "SELinux does not know the label that the engine wants to confine the container with.",
        "Install or update container-selinux, and restart Docker. SELinux stays enforcing.",
        "manual",
    ),
    StartError(
        r"unsatisfied condition: (?:brand|driver|arch)",
        "image",
        "The image needs a newer driver than the host's, or is for other cards: its NVIDIA_REQUIRE_CUDA names those "
        "that do with an older one.",
        "Take a newer driver.version or an older image in the bundle. A CUDA toolkit on the host does not help.",
        "manual",
    ),
    StartError(
        r"requirement error|unsatisfied condition",
        "image",
        "The image needs a newer CUDA than the host's driver offers.",
        "Take a newer driver.version or an older image in the bundle. A CUDA toolkit on the host does not help.",
        "manual",
    ),
    StartError(
        r"no such image|unable to find image|pull access denied|manifest unknown",
        "image",
        "The image of the bundle is not on the node.",
        RUN_SITE,
        "roles",
    ),
    StartError(
        r"unknown or invalid runtime name|unknown runtime|no such runtime",
        "container_runtime",
        "The running daemon does not know the nvidia runtime.",
        "%s It registers the runtime and restarts Docker, which needs docker_allow_restart=true while containers run."
        % RUN_SITE,
        "roles",
    ),
    StartError(
        r"invoking the NVIDIA Container Runtime Hook directly",
        "container_runtime",
        "config.toml has mode = cdi, in which docker run --gpus is refused.",
        "Leave toolkit_runtime_mode=auto, or ask for GPUs by --device nvidia.com/gpu=all.",
        "manual",
    ),
    StartError(
        _NO_CDI,
        "container_runtime",
        "The user's own rootless daemon does not read CDI.",
        "Set features.cdi=true in the user's ~/.config/docker/daemon.json, and restart that daemon, which must be of "
        "Docker 25 or newer.",
        "manual",
        rootless=True,
    ),
    StartError(
        _NO_CDI,
        "container_runtime",
        "The running daemon does not read CDI: features.cdi is not in force, or Docker is older than 25.",
        "%s It sets features.cdi and restarts Docker, which needs docker_allow_restart=true while containers run. "
        "Docker before 25 has none: take a newer docker.version in the bundle, or toolkit_cdi=false." % RUN_SITE,
        "roles",
    ),
    StartError(
        r"(?:stat CDI host device|fill device info from host|error mounting|cannot stat) *\(?\\*\"?[^\"]*"
        r"(?:nvidia|libcuda)[^\"]*.*no such file",
        "container_runtime",
        "The CDI specification is of another driver or of other device nodes: it names what is not on the node.",
        "%s It has the specification written anew." % RUN_SITE,
        "roles",
    ),
    StartError(
        r"runtime\.nvidia\.com/|CDI spec modifier|create device CDI specs",
        "container_runtime",
        "The nvidia runtime makes a CDI specification of its own for each container, and could not.",
        "Run nvidia-ctk cdi generate, which says what it does not find; toolkit_runtime_mode=legacy goes by the hook.",
        "manual",
    ),
    StartError(
        r"GPU vendor from CDI|no known GPU vendor",
        "container_runtime",
        "The engine finds no CDI specification of a GPU.",
        RUN_SITE,
        "roles",
    ),
    StartError(
        r"unresolvable CDI devices",
        "container_runtime",
        "The user's own rootless daemon finds no CDI specification: it has a /run and an /etc of its own.",
        "Copy the specification to a directory of the user's, and name that in cdi-spec-dirs of "
        "~/.config/docker/daemon.json; after a change of the driver copy it again.",
        "manual",
        rootless=True,
    ),
    StartError(
        r"unresolvable CDI devices|CDI device injection failed|failed to inject CDI",
        "container_runtime",
        "The engine cannot resolve the CDI devices: it finds no specification, or cannot read its schema.",
        "%s If it stays, pair a newer docker.version or an older toolkit.version in the bundle: toolkits from 1.19.1 "
        "write CDI 0.7.0, which needs Docker 26.1. nvidia-ctk cdi list proves nothing here." % RUN_SITE,
        "roles",
    ),
    StartError(
        r"could not select device driver",
        "container_runtime",
        "The daemon has no driver for GPUs: it was started before the toolkit was installed, or cannot see it.",
        "%s It restarts Docker, which needs docker_allow_restart=true while containers run." % RUN_SITE,
        "roles",
    ),
    StartError(
        _NO_LIBRARY,
        "container_runtime",
        "The toolkit does not find the driver's libraries; the host has them, as the layer host_driver shows.",
        "Run ldconfig on the host. If it stays, the request reaches a daemon that cannot see the host's libraries: "
        "see docker context ls.",
        "manual",
    ),
    StartError(
        r"nvidia-c(?:ontainer-(?:runtime|toolkit|cli)|tk|di-hook)[^/ ]*: (?:no such file|executable file not found)"
        r"|nvidia-container-runtime-hook.*not found",
        "container_runtime",
        "A program of the container toolkit is missing.",
        RUN_SITE,
        "roles",
    ),
    StartError(
        r"executable file not found|fork/exec \S*: no such file",
        "container_runtime",
        "A program that Docker starts is missing, of containerd or runc.",
        "%s It installs the lock's packages of Docker." % RUN_SITE,
        "roles",
    ),
    StartError(
        r"/dev/nvidia\S*: no such file",
        "container_runtime",
        "A device node was not there when the container was started.",
        "%s goldennode-uvm.service makes it before Docker." % RUN_SITE,
        "roles",
    ),
    StartError(
        r"unknown device(?: id)?\b",
        "container_runtime",
        "A GPU was asked for that the toolkit does not find on this node.",
        "Ask for GPUs by an index or a UUID that nvidia-smi -L shows.",
        "manual",
    ),
    StartError(
        r"no space left on device|disk quota exceeded",
        "container_runtime",
        "The disk that Docker keeps its data on is full.",
        "Make room below its data-root: docker system df says what takes it.",
        "manual",
    ),
    StartError(
        r"cannot connect to the docker daemon",
        "container_runtime",
        "Docker does not run, or does not answer.",
        "%s journalctl -b -u docker says why it does not run." % RUN_SITE,
        "roles",
    ),
    StartError(
        r"permission denied|operation not permitted",
        "container_runtime",
        "The engine was refused a permission while it gave the GPUs in (SELinux, AppArmor or a nested container).",
        "Look at journalctl -k for the denial, and allow it in the policy of the host.",
        "manual",
    ),
    StartError(
        r"nvidia-container-cli\S*: (?:initialization|detection|device|driver|cuda) error|failed to initialize NVML",
        "container_runtime",
        "The toolkit could not ask the driver.",
        "Run nvidia-container-cli -k -d /dev/tty info on the host, which says at what it fails.",
        "manual",
    ),
    StartError(
        r"nvidia-container-runtime\S* did not terminate successfully",
        "container_runtime",
        "The nvidia runtime itself failed before it started anything.",
        "Run nvidia-container-runtime --version on the host; runc must be in its path.",
        "manual",
    ),
)

_UNEXPLAINED = StartError(
    "",
    "container_runtime",
    "The engine did not start a container with GPUs.",
    "Look at journalctl -u docker for the whole message.",
    "manual",
)


def explain(words: str, rootless: bool) -> StartError:
    for row in START_ERRORS:
        if row.rootless in (None, rootless) and re.search(row.pattern, words, re.IGNORECASE):
            return row
    return _UNEXPLAINED


def of_layer(layer: str, desired: Desired, evidence: Evidence) -> t.Iterator[t.Tuple[str, str, StartError]]:
    """(injection, the engine's words, their meaning) of each container that did not start for a reason of ``layer``."""
    for injection, look in looks(desired, evidence):
        if look is not None and not look.started:
            words = look.error or "the engine said nothing"
            error = _by_config(explain(words, wanted.rootless(evidence)), evidence)
            if error.layer == layer:
                yield injection, words, error


def _by_config(error: StartError, evidence: Evidence) -> StartError:
    """A library that is not found is looked for where config.toml says."""
    table = (evidence.toolkit_config.value or {}).get("nvidia-container-cli")
    root = table.get("root") if isinstance(table, dict) else None
    if error.pattern != _NO_LIBRARY or not isinstance(root, str) or root in ("", "/"):
        return error
    return error._replace(
        cause="config.toml has the toolkit look for the driver below another root, %s, and it is not there." % root,
        fix="Take root out of the table nvidia-container-cli in /etc/nvidia-container-runtime/config.toml.",
    )


def looks(desired: Desired, evidence: Evidence) -> t.Iterator[t.Tuple[str, t.Optional[ContainerLook]]]:
    """Every wanted injection with what its container saw; None where that is not known."""
    for injection in wanted.injections(desired):
        reading = evidence.containers.get(injection)
        yield injection, reading.value if reading is not None else None
