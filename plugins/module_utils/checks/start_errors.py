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


#: Ordered: the special before the general.
START_ERRORS = (
    StartError(
        r"bpf_prog_query|failed to add device rules",
        "policy",
        "The engine is rootless, and an unprivileged user may not edit the device rules of a control group.",
        "Give the GPUs out by CDI (toolkit_cdi=true), or set no-cgroups=true in the user's own "
        "nvidia-container-runtime/config.toml.",
        "manual",
        rootless=True,
    ),
    StartError(
        r"bpf_prog_query|failed to add device rules",
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
        r"exec format error|does not match the (?:specified|detected host) platform",
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
        r"libnvidia-ml\.so\S* ?:? ?cannot open|libnvidia-ml\.so\.1: cannot|load library failed",
        "container_runtime",
        "The toolkit does not find the driver's libraries; the host has them, as the layer host_driver shows.",
        "Run ldconfig on the host. If it stays, the request reaches a daemon that cannot see the host's libraries: "
        "see docker context ls.",
        "manual",
    ),
    StartError(
        r"nvidia-container-runtime\S*: no such file|executable file not found|nvidia-container-runtime-hook.*not found",
        "container_runtime",
        "A program of the container toolkit is missing.",
        RUN_SITE,
        "roles",
    ),
    StartError(
        r"permission denied|operation not permitted",
        "container_runtime",
        "The engine was refused a permission while it gave the GPUs in (SELinux, AppArmor or a nested container).",
        "Look at journalctl -k for the denial, and allow it in the policy of the host.",
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
            error = explain(words, wanted.rootless(evidence))
            if error.layer == layer:
                yield injection, words, error


def looks(desired: Desired, evidence: Evidence) -> t.Iterator[t.Tuple[str, t.Optional[ContainerLook]]]:
    """Every wanted injection with what its container saw; None where that is not known."""
    for injection in wanted.injections(desired):
        reading = evidence.containers.get(injection)
        yield injection, reading.value if reading is not None else None
