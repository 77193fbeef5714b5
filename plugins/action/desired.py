# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action goldennode.gpu.desired: everything that can be known before a node is touched, on the controller.

Bundle, locks and all role variables of the host are read and checked together; every problem is reported at once.
"""

from __future__ import annotations

import datetime
import os
import pathlib
import secrets
import socket
import typing as t

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.goldennode.gpu.plugins.module_utils import (
    compat,
    lock_changes,
    rollout_settings,
    source_keys,
    waivers,
)
from ansible_collections.goldennode.gpu.plugins.module_utils import desired as rendering
from ansible_collections.goldennode.gpu.plugins.module_utils import lock as locks
from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import MISSING, Bundle, BundleError, Problem
from ansible_collections.goldennode.gpu.plugins.module_utils.model import to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import desired_from_plain
from ansible_collections.goldennode.gpu.plugins.plugin_utils import (
    agent_zip,
    bundle_file,
    lock_file,
    role_variables,
    terminal_locks,
    yaml_file,
)
from ansible_collections.goldennode.gpu.plugins.plugin_utils.plain import plain

#: One for each ansible-playbook: the strategy loads this file before it forks, so all hosts of a run share it.
RUN = "%s-%s-%d-%s" % (
    datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ"),
    socket.gethostname().partition(".")[0],
    os.getpid(),
    secrets.token_hex(3),
)

#: Problems that one message shows.
_SHOWN = 20


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: t.Any = None, task_vars: t.Optional[t.Dict[str, t.Any]] = None) -> t.Dict[str, t.Any]:
        result: t.Dict[str, t.Any] = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(
            {
                "lock": {"type": "dict"},
                "write": {"type": "bool", "default": False},
                "ignore_locks": {"type": "bool", "default": False},
                "stored": {"type": "dict"},
            },
            mutually_exclusive=[["stored", "lock"], ["stored", "write"], ["stored", "ignore_locks"]],
        )
        lock = plain(arguments["lock"])
        look = _Preparation(self._reader(task_vars or {}), lock, arguments["ignore_locks"])
        stored = plain(arguments["stored"])
        prepared = look.back_to(stored, task_vars or {}) if stored else look.prepare(task_vars or {})
        if look.problems:
            raise AnsibleActionFail(told(look.problems))
        result.update(prepared, changed=False, run=RUN)
        if lock and arguments["write"] and not self._task.check_mode:
            result["changed"] = look.write(lock, self._display)
            result["warnings"] = list(dict.fromkeys(look.warnings))
        return result

    def _reader(self, task_vars: t.Dict[str, t.Any]) -> t.Callable[[str], t.Any]:
        def value_of(name: str) -> t.Any:
            try:
                return plain(self._templar.template(task_vars[name]))
            except AnsibleError as error:
                raise ValueError(" ".join(str(error).split())) from error

        return value_of


class _Preparation:
    """Collects what the result needs, and every problem on the way."""

    def __init__(
        self, value_of: t.Callable[[str], t.Any], new_lock: t.Optional[t.Dict[str, t.Any]], ignore_locks: bool
    ) -> None:
        self.problems: t.List[Problem] = []
        self.warnings: t.List[str] = []
        self._value_of = value_of
        self._new_lock = new_lock
        self._ignore_locks = ignore_locks
        self._path: t.Any = None

    def prepare(self, task_vars: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
        settings, problems = role_variables.read(task_vars, self._value_of)
        self.problems += problems
        self.problems += rendering.setting_problems(settings)
        self.problems += rollout_settings.problems(settings["rollout"])
        # In UTC, as the day of a look is: controller, node and agent let a waiver end at the same moment.
        today = datetime.datetime.now(datetime.timezone.utc).date()
        self.problems += waivers.problems(settings["golden"].get(waivers.VARIABLE, ()), today)
        bundle = self._bundle(settings["bundle"].get("bundle_file"), task_vars)
        if bundle is None:
            return {}
        for platform in bundle.platforms.values():
            self.problems += compat.problems(
                platform,
                today,
                cdi=settings["toolkit"]["toolkit_cdi"],
                cdi_gids=settings["toolkit"]["toolkit_cdi_additional_gids"],
            )
            self.problems += source_keys.problems(platform, today)
            known = compat.warnings(platform, today) + source_keys.warnings(platform)
            self.warnings += ["%s: %s" % (platform.platform, warning) for warning in known]
        found = self._locks(bundle)
        if self.problems:
            return {}
        return {
            "desired": {platform: to_plain(self._desired(lock, settings)) for platform, lock in found.items()},
            "missing_locks": sorted(set(bundle.platforms) - set(found)),
            "bundles": {key: to_plain(platform) for key, platform in bundle.platforms.items()},
            "bundle_file": str(self._path),
            "expected_gpus": settings["golden"]["golden_expected_gpus"],
            "settings": rendering.without_secrets(settings),
            "warnings": list(dict.fromkeys(self.warnings)),
        }

    def back_to(self, kept: t.Dict[str, t.Any], task_vars: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
        """The same result for a state that a node has kept: what was proven there, whatever bundle and variables say.

        What steers a run is that of now, consent too; so is the agent, which is this collection's. Of nvidia-ml-py the
        controller has one version, that of the new bundle: if the old one's were asked for, there would be no way back.
        """
        settings, problems = role_variables.read(task_vars, self._value_of)
        self.problems += problems
        try:
            there = desired_from_plain(kept["desired"])
            digest, source = agent_zip.build(agent_zip.installed())
            wanted, expected = rendering.with_agent(there, digest, str(source)), int(kept["expected_gpus"])
        except agent_zip.AgentError as error:
            self.problems.append(error.problem)
        except (KeyError, TypeError, ValueError) as error:
            fix = "Bring this node to a bundle by site.yml: what it kept is of another version of this collection"
            self.problems.append(Problem("stored", MISSING, "cannot be understood: %s" % error, fix))
        if self.problems:
            return {}
        now = rendering.without_secrets(settings)
        return {
            "desired": {wanted.platform: to_plain(wanted)},
            "missing_locks": [],
            "bundles": {wanted.platform: {}},
            "bundle_file": "",
            "expected_gpus": expected,
            "settings": {role: {**values, **wanted.settings.get(role, {})} for role, values in now.items()},
            "warnings": [],
        }

    def write(self, lock: t.Dict[str, t.Any], display: t.Any) -> bool:
        """Put a lock beside the bundle that was prepared; whether that changed the file.

        What it changes is shown where it takes the place of another: a lock is reviewed.
        """
        path = bundle_file.lock_path(self._path, lock["platform"])
        before = self._replaced(path, lock["platform"])
        try:
            changed = bundle_file.write_lock(path, lock)
        except OSError as error:
            fix = "Make the bundle's directory writable, or run ansible-playbook goldennode.gpu.lock where it is"
            problem = Problem(str(path), MISSING, "cannot be written: %s" % error.strerror, fix)
            raise AnsibleActionFail(told([problem])) from error
        if changed and before:
            found = lock_changes.changes(before, lock)
            terminal_locks.show(before, lock, found, display, lock_file.remarks(before, "The lock before"))
        return changed

    def _replaced(self, path: pathlib.Path, platform: str) -> t.Optional[lock_file.Lock]:
        """The lock that is about to be replaced; None where there is none to compare with."""
        if not path.exists():
            return None
        try:
            found = lock_file.read(path)
        except lock_file.LockFileError as error:
            self.warnings.append("What the new lock changes is not said, since the file that it replaces %s" % error)
            return None
        return found if found["platform"] == platform else None

    def _bundle(self, name: t.Optional[str], task_vars: t.Mapping[str, t.Any]) -> t.Optional[Bundle]:
        if name is None:
            return None
        try:
            self._path = bundle_file.find(name, (task_vars.get("inventory_dir"), task_vars.get("playbook_dir")))
            return bundle_file.read_bundle(self._path)
        except (bundle_file.NotFoundError, yaml_file.YamlError) as error:
            self.problems.append(error.problem)
        except BundleError as error:
            place = os.path.basename(error.name)
            self.problems += [
                Problem("%s: %s" % (place, problem.path), problem.value, problem.message, problem.fix)
                for problem in error.problems
            ]
        return None

    def _locks(self, bundle: Bundle) -> t.Dict[str, t.Dict[str, t.Any]]:
        """The lock of each platform that has one that fits.

        A lock that does not fit is a problem, but not while a new one is being made: the others wait for their turn.
        """
        found = {}
        for key, platform in bundle.platforms.items():
            if self._new_lock and self._new_lock.get("platform") == key:
                lock, problems = self._new_lock, locks.problems(self._new_lock, platform, "the new lock")
            elif self._ignore_locks:
                continue
            else:
                lock, problems = bundle_file.read_lock(bundle_file.lock_path(self._path, key), platform)
                problems = [] if self._new_lock else problems
            self.problems += problems
            if lock and not problems:
                release = lock["kernel"]["release"]
                self.problems += compat.kernel_problems(platform, release)
                unknown = compat.kernel_warning(platform, release)
                self.warnings += ["%s: %s" % (key, unknown)] if unknown else []
                found[key] = lock
        if self._new_lock and self._new_lock.get("platform") not in bundle.platforms:
            fix = "Give the result of goldennode.gpu.lock_resolve"
            self.problems.append(
                Problem("lock", self._new_lock.get("platform"), "is of no platform of the bundle", fix)
            )
        return found

    def _desired(self, lock: t.Dict[str, t.Any], settings: role_variables.Values) -> t.Any:
        try:
            digest, source = agent_zip.build(lock["python"]["nvidia_ml_py"])
            desired = rendering.build(lock, settings, digest, str(source))
        except agent_zip.AgentError as error:
            self.problems.append(error.problem)
            return None
        except rendering.DesiredError as error:
            self.problems += error.problems
            return None
        asked = settings["golden"]["golden_container_injections"]
        if list(asked) != desired.settings["golden"]["golden_container_injections"]:
            reason = "Docker %s does not read it" % lock["docker"]["version"]
            if not settings["toolkit"]["toolkit_cdi"]:
                reason = "toolkit_cdi is false"
            self.warnings.append("%s: cdi is left out of golden_container_injections: %s" % (lock["platform"], reason))
        return desired


def told(problems: t.Iterable[Problem]) -> str:
    """All problems in one message, a line for each."""
    lines = list(dict.fromkeys(str(problem) for problem in problems))
    if len(lines) == 1:
        return lines[0]
    shown = ["- " + line for line in lines[:_SHOWN]]
    if len(lines) > _SHOWN:  # a file that is no bundle at all has as many as it has lines
        shown.append("- and %d more" % (len(lines) - _SHOWN))
    return "%d problems, and nothing was changed:\n%s" % (len(lines), "\n".join(shown))
