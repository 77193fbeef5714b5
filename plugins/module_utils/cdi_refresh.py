# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Have the CDI specification written for the GPUs that are there, and set aside what names the same devices.

It is written once, by the unit that writes it at boot too, and then looked at: one that is still not right is an error
and not written again. Nothing is deleted: a specification that is set aside keeps its name with a suffix that no engine
reads.
"""

from __future__ import annotations

import dataclasses
import typing as t

from . import backups, toolkit_wanted
from .cdi_specs import of_gpus, same_devices, same_path
from .model import CdiSpec
from .probe import docker, toolkit
from .system import System, known, said

_LOADED = "/sys/module/nvidia/version"
_COMMAND_TIMEOUT = 20.0


class CdiRefreshError(Exception):
    """The specification cannot be had. The message says what to do."""


@dataclasses.dataclass(frozen=True)
class Wanted:
    """``driver``: the version that the specification shall name; ``unit``: the service that writes it."""

    driver: str
    unit: str
    timeout: float = 150.0
    check_mode: bool = False


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What was done, or in check mode would be done. ``set_aside``: the new path by the old one."""

    changed: bool
    target: str
    written: bool = False
    set_aside: t.Dict[str, str] = dataclasses.field(default_factory=dict)
    reason: str = ""  # why nothing was written


def apply(system: System, wanted: Wanted) -> Outcome:
    target = toolkit_wanted.spec_target(wanted.unit, known(toolkit.cdi_target(system)) or "")
    loaded = (known(system.read(_LOADED)) or "").strip()
    if loaded != wanted.driver:
        # NVML, which is asked for the GPUs, answers to the driver of its own version alone.
        words = "driver %s is loaded, and not %s" % (loaded, wanted.driver) if loaded else "no driver is loaded"
        return Outcome(False, target, reason="%s: the specification is written when it is" % words)
    before = known(system.read(target))
    if wanted.check_mode:
        specs = _specs(system)
        stale = before is None or any(of_gpus(spec) and spec.driver != wanted.driver for spec in specs.values())
        aside = _set_aside(system, specs, target, really=False)
        return Outcome(stale or bool(aside), target, written=stale, set_aside=aside)
    _write(system, wanted)
    after = known(system.read(target))
    if after is None:
        raise CdiRefreshError(
            "%s ran and wrote no %s. systemctl status %s says why: where one of its conditions does not hold, it does"
            " nothing" % (wanted.unit, target, wanted.unit)
        )
    specs = _specs(system)
    _judge(specs, target, wanted)
    aside = _set_aside(system, specs, target, really=True)
    return Outcome(after != before or bool(aside), target, written=after != before, set_aside=aside)


def _write(system: System, wanted: Wanted) -> None:
    # Else failed starts before count against it.
    system.run(["systemctl", "reset-failed", wanted.unit], _COMMAND_TIMEOUT)
    ran = system.run(["systemctl", "restart", wanted.unit], wanted.timeout)
    if ran.rc != 0:
        journal = system.run(
            ["journalctl", "--unit", wanted.unit, "--lines", "15", "--no-pager", "--output", "cat"], _COMMAND_TIMEOUT
        )
        raise CdiRefreshError(
            "the CDI specification could not be written: %s. The end of its journal:\n%s" % (said(ran), journal.stdout)
        )


def _specs(system: System) -> t.Dict[str, CdiSpec]:
    """Those that a look judges: in the directories of the engine's own choice too."""
    engine = docker.engine(system).value
    return known(toolkit.cdi_specs(system, engine.cdi_spec_dirs if engine else ())) or {}


def _judge(specs: t.Mapping[str, CdiSpec], target: str, wanted: Wanted) -> None:
    spec = next((spec for path, spec in specs.items() if same_path(path, target)), None)
    if spec is None:
        raise CdiRefreshError(
            "%s has just been written, and no engine reads it there, or it describes nothing of NVIDIA's. Take the path"
            " out of %s: then it is written below /var/run/cdi" % (target, toolkit.REFRESH_ENVIRONMENT)
        )
    if spec.driver != wanted.driver:
        raise CdiRefreshError(
            "%s has just been written and names driver %s, not %s. It is not written again: see which libcuda.so the"
            " host has (ldconfig -p), and what nvidia-ctk cdi generate says"
            % (target, spec.driver or "none", wanted.driver)
        )


def _set_aside(system: System, specs: t.Mapping[str, CdiSpec], target: str, really: bool) -> t.Dict[str, str]:
    """Only what nvidia-ctk has written: it can be written again. Somebody's own stays, and is told by the check."""
    aside = {}
    for path, _other in same_devices(specs, target):
        if specs[path].generated:
            aside[path] = backups.name_for(system, path)
            if really:
                system.rename(path, aside[path])
    return aside
