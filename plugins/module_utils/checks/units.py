# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The systemd units that a role starts or enables. One judge, called once for each layer."""

from __future__ import annotations

import typing as t

from ..model import Desired, Evidence, Finding, Unit
from .outcome import all_passed, failed, unknown
from .wanted import RUN_SITE

FABRIC_MANAGER = "nvidia-fabricmanager.service"

#: A unit that is not named belongs to the driver, so that no wanted unit can be without a check.
_LAYERS = {
    "docker": "container_runtime",
    "containerd": "container_runtime",
    "nvidia-cdi-refresh": "container_runtime",
    "goldennode-cdi-refresh": "container_runtime",
    "goldennode-agent": "policy",
}


def layer_of(name: str) -> str:
    return _LAYERS.get(name.partition(".")[0], "host_driver")


def host_driver(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    return _judge("host_driver", desired, evidence)


def container_runtime(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    return _judge("container_runtime", desired, evidence)


def policy(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    return _judge("policy", desired, evidence)


def _judge(layer: str, desired: Desired, evidence: Evidence) -> t.List[Finding]:
    # The fabric manager is wanted on nodes with an NVSwitch only and has a check of its own.
    mine = {name: want for name, want in desired.units.items() if layer_of(name) == layer and name != FABRIC_MANAGER}
    problems = (problem for name, want in sorted(mine.items()) for problem in problems_of(name, want, evidence))
    return all_passed(problems, ", ".join("%s %s" % unit for unit in sorted(mine.items())) or "no unit is wanted")


def problems_of(name: str, want: str, evidence: Evidence) -> t.Iterator[Finding]:
    """What is wrong with one unit; ``want`` is ``active``, ``enabled`` or both joined by ``+``."""
    unit = (evidence.units.value or {}).get(name)
    if unit is None:
        yield unknown("the look did not read this unit", name)
        return
    missing = sorted(state for state in want.split("+") if not _is(unit, state))
    if missing:
        cause, repair = _cause(unit, missing)
        yield failed(
            name,
            expected=want,
            actual="%s, %s, %s" % (unit.load, unit.active, unit.enabled),
            cause=cause,
            fix=RUN_SITE if repair == "roles" else "systemctl unmask %s, then run site.yml on this node." % name,
            repair=repair,
        )


def _is(unit: Unit, state: str) -> bool:
    if state == "active":
        return unit.active == "active"
    # A static or generated unit cannot be enabled, and needs it not; "enabled-runtime" is gone after a reboot.
    return unit.enabled in ("enabled", "static", "indirect", "generated", "alias")


def _cause(unit: Unit, missing: t.Sequence[str]) -> t.Tuple[str, str]:
    if unit.load == "masked":
        return "%s was masked by hand." % unit.name, "manual"
    if unit.load == "not-found":
        return "%s is not installed." % unit.name, "roles"
    if unit.active == "failed":
        return "%s failed; journalctl -b -u %s says why." % (unit.name, unit.name), "roles"
    return "%s is not %s." % (unit.name, " and not ".join(missing)), "roles"
