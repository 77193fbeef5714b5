# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action goldennode.gpu.rollout: plans a rollout, says after each wave whether it goes on, and sums it up at the end.

It touches no node. What it prints goes straight to the terminal.
"""

from __future__ import annotations

import datetime
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.goldennode.gpu.plugins.module_utils import (
    rollout_back,
    rollout_plan,
    rollout_settings,
    rollout_text,
    waves,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.rollout_plan import Plan
from ansible_collections.goldennode.gpu.plugins.plugin_utils import (
    json_file,
    role_variables,
    rollout_pool,
    terminal,
)
from ansible_collections.goldennode.gpu.plugins.plugin_utils.plain import plain

#: Of the file for machines.
_SCHEMA = 1

Result = t.Dict[str, t.Any]


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: t.Any = None, task_vars: t.Optional[t.Dict[str, t.Any]] = None) -> Result:
        result: Result = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(
            {
                "step": {"type": "str", "required": True, "choices": ["plan", "wave", "end"]},
                "hosts": {"type": "list", "elements": "str"},
                "back": {"type": "bool", "default": False},
                "plan": {"type": "dict"},
                "wave": {"type": "str"},
                "outcomes": {"type": "dict"},
                "result_file": {"type": "path"},
            },
            required_if=[["step", "plan", ["hosts"]], ["step", "wave", ["plan", "wave"]], ["step", "end", ["plan"]]],
        )
        arguments = plain(arguments)
        if arguments["step"] == "plan":
            planned = self._plan_back if arguments["back"] else self._plan
            found = planned(arguments["hosts"], task_vars or {})
        else:
            found = self._after(arguments, (task_vars or {}).get("hostvars", {}))
        if arguments["result_file"]:
            content = {"schema": _SCHEMA, "step": arguments["step"], **found}
            json_file.write(arguments["result_file"], content, "result_file: %s" % arguments["result_file"])
        result.update(found, changed=False)
        return result

    def _plan(self, hosts: t.Sequence[str], variables: t.Mapping[str, t.Any]) -> Result:
        hostvars = variables.get("hostvars", {})
        pool = rollout_pool.read(hosts, hostvars)
        identity = pool.target.id if pool.target and pool.target.locks else ""
        made, was, wanted, brings = Plan(identity, pool.refused), {}, {}, {}
        if pool.target and pool.settings and not pool.refused:
            settings = rollout_pool.within(pool.settings, variables)
            made = rollout_plan.plan(pool.known, settings, identity, datetime.datetime.now(datetime.timezone.utc))
            held = rollout_pool.without_consent(made, hostvars)
            made = Plan(identity, tuple(held)) if held else made
            was = {host.name: host.lock for host in pool.known}
            wanted = {host.name: pool.target.locks.get(host.platform or "", "") for host in pool.known}
            brings = dict(pool.target.brings)
        elif not hosts:
            made = Plan(identity, (rollout_plan.NO_NODE,))
        self._show(rollout_text.plan(made, was, wanted, brings))
        return rollout_pool.to_result(made, was, wanted)

    def _plan_back(self, hosts: t.Sequence[str], variables: t.Mapping[str, t.Any]) -> Result:
        hostvars = variables.get("hostvars", {})
        pool = rollout_pool.read_back(hosts, hostvars)
        settings = pool.settings or rollout_settings.settings(role_variables.roles()["rollout"].defaults)
        made = rollout_back.plan(pool.known, pool.locks, pool.errors, rollout_pool.within(settings, variables))
        held = rollout_pool.without_consent(made, hostvars)
        made = Plan(made.id, tuple(held)) if held else made
        was = {host.name: host.lock for host in pool.known}
        self._show(rollout_text.plan(made, was, pool.locks, pool.brings))
        return rollout_pool.to_result(made, was, pool.locks)

    def _after(self, arguments: t.Mapping[str, t.Any], hostvars: t.Mapping[str, t.Any]) -> Result:
        """After a wave, or after the last one."""
        try:
            made = rollout_pool.of_result(arguments["plan"])
            if arguments["outcomes"] is None:
                arguments["outcomes"] = rollout_pool.outcomes(made, hostvars)
            reached = arguments["wave"] or ""
            came = rollout_pool.came(made, arguments["outcomes"], reached)
        except ValueError as error:
            raise AnsibleActionFail("rollout: %s" % error) from None
        then = waves.after_wave(came.outcomes, made.canaries, made.budget)
        if made.halted:
            then = waves.Next(True, made.halted)
        if arguments["step"] == "wave":
            self._show(rollout_text.progress(made, reached, came.outcomes, then))
            return {"stop": then.stop, "reason": then.reason, "again": then.again, "wave": reached}
        return self._end(made, came, then)

    def _end(self, made: Plan, came: rollout_pool.Came, then: waves.Next) -> Result:
        if made.refused:
            return {"message": "The rollout was refused: %s" % " | ".join(made.refused), "nodes": {}}
        for name in made.steps:
            if name not in came.outcomes:
                came.outcomes[name] = waves.STOPPED
                came.reasons[name] = "the rollout ended before its turn"
        self._show(rollout_text.summary(made, came.outcomes, came.reasons, terminal.paint))
        return {
            "id": made.id,
            "message": rollout_text.message(made, came.outcomes, then),
            "nodes": {
                name: {"wave": step.wave, "outcome": came.outcomes[name], "reason": came.reasons.get(name, "")}
                for name, step in made.steps.items()
            },
        }

    def _show(self, text: str) -> None:
        self._display.display("\n%s\n" % text)
