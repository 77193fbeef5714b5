# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who denies a container the GPUs that were given to it: the nodes' modes, SELinux, AppArmor or a device rule.

All of them look alike from within ("Insufficient Permissions", no device for CUDA), so the evidence decides: the
nodes as the container has them, what confines it, and what the kernel's log says was denied. The container has no
capability; none is needed to open a node, so a lack of one is never the reason.
"""

from __future__ import annotations

import re
import typing as t

from ..model import ContainerLook, Desired, Evidence, SELinux
from ..parse.container import NOT_STARTED
from .wanted import RUN_SITE, octal, selinux_confines, setting

#: Of nvidia-smi and NVML: codes 4 and 17 and their words.
_REFUSED = re.compile(
    r"insufficient permissions|NO_PERMISSION|blocked by the operating system|permission denied|operation not permitted",
    re.IGNORECASE,
)
#: And what these say where a device rule makes the control device give EPERM.
_VAGUE = re.compile(r"unknown error", re.IGNORECASE)
#: CUDA says no more than that there is no device, that the system does not allow it, or nothing.
_CUDA_REFUSED = (100, 304, 999)

_AVC = re.compile(r"avc:\s+denied\s.*nvidia", re.IGNORECASE)
_AVC_TARGET = re.compile(r"\btcontext=\S+?:\S+?:([\w-]+)")
_APPARMOR = re.compile(r'apparmor="DENIED".*nvidia', re.IGNORECASE)
_APPARMOR_PROFILE = re.compile(r'profile="([^"]+)"')

#: Types that SELinux does not confine, as Docker gives them without --selinux-enabled or with label=disable.
_FREE_TYPES = ("spc_t", "unconfined_t", "container_runtime_t", "docker_t", "unconfined_service_t", "kernel_t")


class Denial(t.NamedTuple):
    """``check`` is the one that says it; the others of that container are then consequences."""

    check: str
    cause: str
    fix: str
    repair: str


def of(desired: Desired, evidence: Evidence, look: ContainerLook) -> t.Optional[Denial]:
    """Why a started container is refused the GPUs; None where it is not, or where nothing is known of a reason."""
    words = _refusal(look)
    if not words:
        return None
    return (
        _by_modes(look, evidence)
        or _by_selinux(desired, evidence, look)
        or _by_apparmor(evidence, look)
        or _by_device_rule(words)
    )


def selinux_type(look: ContainerLook) -> str:
    """``container_t`` of ``system_u:system_r:container_t:s0:c1,c2``; "" where no SELinux label is known."""
    parts = (look.confinement.value or "").split(":")
    return parts[2] if len(parts) >= 4 else ""


def confined_by_selinux(look: ContainerLook) -> bool:
    kind = selinux_type(look)
    return bool(kind) and kind not in _FREE_TYPES


def apparmor_profile(look: ContainerLook) -> str:
    """``docker-default`` of ``docker-default (enforce)``; "" where no profile confines it."""
    found = re.match(r"^(\S+) \((?:enforce|mixed|kill)\)$", look.confinement.value or "")
    return found.group(1) if found else ""


def _refusal(look: ContainerLook) -> str:
    """A tool's words, "" where nothing was refused."""
    gpus = look.smi.value.gpus if look.smi.value else ()
    smi = look.smi.error or next((gpu.error for gpu in gpus if gpu.error), "")
    if smi.startswith(NOT_STARTED):
        return ""  # a file of the image, or its linker
    if _REFUSED.search(smi) or _VAGUE.search(smi):
        return smi
    if gpus and not smi:
        return ""  # NVML opens the nodes too
    cuda = look.cuda.value
    if cuda is not None and cuda.code in _CUDA_REFUSED:
        return cuda.error or "CUDA error %d" % cuda.code
    return ""


def _by_modes(look: ContainerLook, evidence: Evidence) -> t.Optional[Denial]:
    """The nodes inside, as nobody may open them who is in the groups of the host's nodes."""
    groups = {node.gid for node in evidence.device_nodes.value or () if node.of_gpus and not node.open_to_all} - {0}
    # No user and no group of such a container is one of the host's.
    engine = evidence.docker.value
    remapped = engine is not None and any("userns" in option for option in engine.security_options)
    for node in look.device_nodes.value or ():
        bits = node.mode >> 3 if node.gid in groups and not remapped else node.mode
        if not node.of_gpus or bits & 0o006 == 0o006:
            continue
        seen = (node.path, octal(node.mode), node.gid)
        cause = "%s has mode %s and group %d in the container, and a user there may not open it" % seen
        if remapped:
            return Denial(
                "image.gpus",
                cause + ": the engine maps users (userns-remap), so no group of the host's is one in a container.",
                'Set device_access_mode: "0666", or take userns-remap out of the configuration of Docker.',
                "manual",
            )
        return Denial("image.gpus", cause + ".", "%s With CDI the specification may have it so." % RUN_SITE, "roles")
    return None


def _by_selinux(desired: Desired, evidence: Evidence, look: ContainerLook) -> t.Optional[Denial]:
    state = evidence.selinux.value
    if state is None or state.mode != "enforcing" or not confined_by_selinux(look):
        return None
    line = _last(_AVC, evidence)
    if not line and state.allowed:
        return None
    target = _AVC_TARGET.search(line)
    if state.allowed and target and target.group(1) in ("device_t", "unlabeled_t"):
        return Denial(
            "policy.selinux",
            "SELinux denies it: the device nodes have the label %s, which says nothing of what they are."
            % target.group(1),
            "Run restorecon -v /dev/nvidia*, and let nvidia-modprobe make them with the policy's label. SELinux stays "
            "enforcing.",
            "manual",
        )
    said = " (%s)" % line if line else ""
    return Denial("policy.selinux", "SELinux denies it%s." % said, *selinux_way_out(desired, evidence, state))


def selinux_way_out(desired: Desired, evidence: Evidence, state: SELinux) -> t.Tuple[str, str]:
    """What lets confined containers use the nodes while SELinux stays enforcing: fix and repair."""
    if state.boolean and not state.allowed:
        command = "setsebool -P %s on" % state.boolean
        if not selinux_confines(desired, evidence):
            return "Run %s on the node. SELinux stays enforcing." % command, "manual"
        if setting(desired, "device_access_selinux_boolean"):
            return "%s It runs %s; SELinux stays enforcing." % (RUN_SITE, command), "roles"
        return "Set device_access_selinux_boolean=true, or run %s. SELinux stays enforcing." % command, "manual"
    if not state.boolean:
        return (
            "Update container-selinux: its policies since 2024 have the boolean container_use_xserver_devices. SELinux "
            "stays enforcing.",
            "manual",
        )
    return (
        "Look at ausearch -m avc -ts boot, and allow what is denied in a policy module of its own. SELinux stays "
        "enforcing.",
        "manual",
    )


def _by_apparmor(evidence: Evidence, look: ContainerLook) -> t.Optional[Denial]:
    profile, line = apparmor_profile(look), _last(_APPARMOR, evidence)
    said = _APPARMOR_PROFILE.search(line)
    if not profile or not said or said.group(1) != profile:
        return None
    return Denial(
        "policy.apparmor",
        "AppArmor's profile %s denies it (%s)." % (profile, line),
        "Allow the path in that profile and load it with apparmor_parser -r; the one that Docker writes itself does "
        "allow it. AppArmor stays in force.",
        "manual",
    )


def _by_device_rule(words: str) -> t.Optional[Denial]:
    if not _REFUSED.search(words):
        return None
    return Denial(
        "image.gpus",
        "The container may not open the device nodes, which its user may by their modes, and no denial of SELinux or "
        "AppArmor is known: a device rule of its control group refuses.",
        "Look at journalctl -k and ausearch -m avc -ts boot; give the GPUs out by CDI (toolkit_cdi=true), which states "
        "the rules to the engine.",
        "manual",
    )


def _last(pattern: t.Pattern[str], evidence: Evidence) -> str:
    return next((line for line in reversed(evidence.kernel_log.value or ()) if pattern.search(line)), "")
