# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer container_runtime: a container still has its GPUs after ``systemctl daemon-reload`` on the host.

Where systemd keeps the control groups, it judges devices by the rules that the engine gave it when the container was
created. A hook that adds the GPUs later changes the rules in the kernel alone; at its next reload systemd puts its own
back, and the container is left with "Failed to initialize NVML: Unknown Error". Every upgrade of a package reloads.
A container that was just started has nothing of that, so one look proves nothing.
"""

from __future__ import annotations

import typing as t

from ..compat_tables import TOOLKIT_FLOOR
from ..model import NOT_READ, Desired, DeviceAnswers, Evidence, Finding, ReloadLook
from ..toolkit_wanted import REFRESHING_TOOLKIT
from ..version import version_numbers
from . import which_daemon
from .outcome import failed, passed, skipped, unknown
from .wanted import RUN_SITE, injections, setting

#: For containers that lose their GPUs, in the order in which the vendor recommends them.
WAYS_OUT = (
    "Have the GPUs put into the container's specification, where systemd learns of them: by CDI "
    "(--device nvidia.com/gpu=all) or mode jit-cdi of the nvidia runtime (toolkit 1.18 and newer); or name the nodes "
    "too (--device /dev/nvidiactl ...); or set docker_daemon_options.exec-opts to [native.cgroupdriver=cgroupfs]. "
    "Then recreate the containers."
)


def cgroup_driver(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """Before it bites: systemd's control groups together with a runtime that works behind its back."""
    not_ours, engine = which_daemon.not_ours(evidence), evidence.docker.value
    if not_ours or engine is None:
        return [not_ours or skipped("see container_runtime.engine")]
    if engine.cgroup_driver != "systemd":
        return [passed("cgroup driver %s: systemd does not judge the devices" % (engine.cgroup_driver or "none"))]
    if "runtime" not in injections(desired):
        return [passed("cgroup driver systemd, GPUs by CDI: systemd knows the devices")]
    toolkit = str(desired.lock["toolkit"]["version"])
    said = _mode(evidence.toolkit_config.value or {})
    mode = _in_effect(said, toolkit)
    if mode != "legacy":
        return [passed("cgroup driver systemd, mode %s of the nvidia runtime: systemd knows the devices" % mode)]
    fix, repair = _way_out(desired, toolkit)
    shown = "legacy" if said == "legacy" else "auto, which is legacy in toolkit %s" % toolkit
    return [
        failed(
            "runtime",
            expected="a cgroup driver and a mode of the nvidia runtime that go together",
            actual="cgroup driver systemd, mode %s" % shown,
            cause="The nvidia runtime adds the GPUs behind systemd's back: containers lose them at the next systemctl "
            "daemon-reload.",
            fix=fix,
            repair=repair,
        )
    ]


def _in_effect(mode: str, toolkit: str) -> str:
    """``auto`` puts the GPUs into the container's specification where the toolkit can, as CDI does."""
    if mode != "auto":
        return mode
    return "jit-cdi" if version_numbers(toolkit) >= REFRESHING_TOOLKIT else "legacy"


def _way_out(desired: Desired, toolkit: str) -> t.Tuple[str, str]:
    """Fix and repair: what makes this node's settings go together, and not what helps a single container."""
    wanted = str(setting(desired, "toolkit_runtime_mode"))
    if _in_effect(wanted, toolkit) != "legacy":
        return "%s It sets the mode of the nvidia runtime to %s." % (RUN_SITE, wanted), "roles"
    ways = ["Set toolkit_runtime_mode to auto"]
    if version_numbers(toolkit) < REFRESHING_TOOLKIT:
        newer = "Take toolkit.version %s or newer in the bundle, with toolkit_runtime_mode: auto"
        ways = [newer % TOOLKIT_FLOOR]
        ways += ["set toolkit_runtime_mode to cdi"]
    if "cdi" in injections(desired):
        ways += ["set golden_container_injections to [cdi], where nobody asks for GPUs by the nvidia runtime"]
    ways += ["set docker_daemon_options.exec-opts to [native.cgroupdriver=cgroupfs]"]
    return "%s. Then recreate the containers." % "; or ".join(ways), "manual"


def _mode(config: t.Mapping[str, t.Any]) -> str:
    """How the nvidia runtime injects GPUs. What the file does not say is the toolkit's default."""
    table = config.get("nvidia-container-runtime")
    return str(table.get("mode") or "auto") if isinstance(table, dict) else "auto"


def daemon_reload(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """What a container could open before and after a real reload. Asked only where a run had one made."""
    found: t.List[Finding] = []
    for way in injections(desired):
        reading = evidence.reloads.get(way, NOT_READ)
        if reading.value is None:
            found.append(unknown(reading.error or "there is no answer", way, cause=_NOT_PROVEN))
        else:
            found.append(_judge(way, reading.value))
    return found


_NOT_PROVEN = "That a container keeps its GPUs over systemctl daemon-reload is not proven."


def _judge(way: str, look: ReloadLook) -> Finding:
    if look.not_tried:
        return unknown(
            look.not_tried,
            way,
            cause="%s It was not tried: %s." % (_NOT_PROVEN, look.not_tried),
            fix="Run site.yml with golden_allow_daemon_reload=true to have it tried; container_runtime.behind_systemd "
            "names those that would lose their GPUs.",
            required=False,
        )
    before, after = look.before.value, look.after.value
    if before is None or after is None:
        return unknown(look.before.error or look.after.error or "there is no answer", way, cause=_NOT_PROVEN)
    if not before.nodes or before.denied:
        why = "could not open %s" % ", ".join(before.denied) if before.denied else "had no node of the driver"
        return unknown("before the reload the container %s" % why, way, cause=_NOT_PROVEN)
    lost = [path for path in before.nodes if path in after.denied or path not in after.nodes]
    gpus = sorted(_gpus(before) - _gpus(after))
    if not lost and not gpus:
        return passed("%d nodes open, and %d GPUs answer, after a reload" % (len(after.nodes), len(_gpus(after))), way)
    return failed(
        way,
        expected="the same nodes and GPUs after systemctl daemon-reload",
        actual="lost: %s" % ", ".join(lost + gpus),
        cause="A container loses its GPUs at systemctl daemon-reload, which every upgrade of a package does.",
        fix=WAYS_OUT,
        repair="manual",
    )


def _gpus(answers: DeviceAnswers) -> t.Set[str]:
    """An image without nvidia-smi names none; its nodes are judged all the same."""
    return {gpu.uuid for gpu in answers.smi.value.gpus if gpu.uuid and not gpu.error} if answers.smi.value else set()
