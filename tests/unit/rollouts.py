# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records and hosts of rollouts for tests."""

from __future__ import annotations

import datetime
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils import rollout_settings
from ansible_collections.goldennode.gpu.plugins.module_utils.rollout import Known, Record
from ansible_collections.goldennode.gpu.plugins.module_utils.rollout_settings import Settings

T0 = "2026-12-01T00:00:00Z"

#: The rollout that tests plan.
ID = "pool-2026.12-0123456789ab"

DEFAULTS: t.Dict[str, t.Any] = {
    "rollout_canaries": 1,
    "rollout_waves": ["25%"],
    "rollout_drain_tasks": "",
    "rollout_budget": 0,
    "rollout_soak_rounds": 3,
    "rollout_soak_interval": 60,
    "rollout_gpu_wait": 0,
    "rollout_stale_after": 24,
    "rollout_take_over": "",
    "rollout_retry": False,
}


def moment(minutes: float = 0) -> datetime.datetime:
    start = datetime.datetime(2026, 12, 1, tzinfo=datetime.timezone.utc)
    return start + datetime.timedelta(minutes=minutes)


def later(minutes: float) -> str:
    return moment(minutes).strftime("%Y-%m-%dT%H:%M:%SZ")


def record(state: str, identity: str = ID, base: str = "sha256:base", **more: t.Any) -> Record:
    fields = {
        "schema": 1,
        "run": "run-1",
        "wave": "wave-1",
        "started": T0,
        "since": T0,
        "base_lock": base,
        "base_digest": base and "digest-of-base",
        "boot_id": "boot-1",
    }
    return Record(**{**fields, **more, "rollout": identity, "state": state})


def host(name: str, state: str = "", **more: t.Any) -> Known:
    """A host that can be reached, golden for something else; with a record of this rollout where a state is given."""
    fields = {
        "reachable": True,
        "record": record(state) if state else None,
        "platform": "debian-13-x86_64",
        "platform_known": True,
        "base": True,
        "boot_id": "boot-1",
        "booted_at": T0,
        "lock": "sha256:base",
    }
    return Known(name, **{**fields, **more})


def hosts(count: int) -> t.List[Known]:
    return [host("n%d" % number) for number in range(1, count + 1)]


def settings(**values: t.Any) -> Settings:
    """Settings out of variables, which are named without their prefix."""
    return rollout_settings.settings({**DEFAULTS, **{"rollout_" + name: value for name, value in values.items()}})
