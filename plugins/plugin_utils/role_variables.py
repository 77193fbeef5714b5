# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The public role variables: which there are (from the roles' own argument specs), and the values that one host has.

Controller only. Every variable of every role is judged in one go, before any node is touched; a role alone would see
its own, and only when its turn comes.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import pathlib
import re
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import MISSING, Problem
from ansible_collections.goldennode.gpu.plugins.plugin_utils import yaml_file

ROLES = ("bundle", "packages", "kernel", "driver", "docker", "toolkit", "device_access", "golden", "rollout")

_ROLES_DIRECTORY = pathlib.Path(__file__).resolve().parent.parent.parent / "roles"
#: From here on a name is taken for a misspelling of a public variable. A test holds the roles' own names below it.
_ALIKE = 0.93

#: By type, what is wrong with a value that is not of it: Ansible tells at length how it failed to convert it.
_NO_SUCH = {"int": "is not a whole number", "bool": "is neither true nor false"}

Values = t.Dict[str, t.Dict[str, t.Any]]


@dataclasses.dataclass(frozen=True)
class RoleVariables:
    """The options of a role's entry point ``main``, and its defaults."""

    options: t.Dict[str, t.Dict[str, t.Any]]
    defaults: t.Dict[str, t.Any]


@functools.cache
def roles() -> t.Dict[str, RoleVariables]:
    """The public variables of every role."""
    found = {}
    for role in ROLES:
        specs = yaml_file.read(_ROLES_DIRECTORY / role / "meta" / "argument_specs.yml")
        defaults = yaml_file.read(_ROLES_DIRECTORY / role / "defaults" / "main.yml")
        found[role] = RoleVariables(specs["argument_specs"]["main"]["options"], defaults or {})
    return found


def read(names: t.Iterable[str], value_of: t.Callable[[str], t.Any]) -> t.Tuple[Values, t.List[Problem]]:
    """The values of all public variables for one host, by role, and what is wrong with them.

    A variable that is not set and has no default is left out of the values. In place of a value that is refused stands
    the default, so that the others can still be judged.

    :arg names: every variable that the host has
    :arg value_of: gives the plain, templated value of one; raises ValueError with the reason when it cannot
    """
    names = set(names)
    values: Values = {}
    problems = misspelt(names)
    for role, variables in roles().items():
        values[role] = {}
        for name, option in variables.options.items():
            try:
                value = value_of(name) if name in names else None
            except ValueError as error:
                problems.append(Problem(name, MISSING, "cannot be templated: %s" % error, "Mend the expression"))
                continue
            default = variables.defaults.get(name)
            checked, problem = validate(name, option, default if value is None or value == "" else value)
            if problem:
                problems.append(problem)
                checked = default
            if checked is not None:
                values[role][name] = checked
    return values, problems


def validate(name: str, option: t.Mapping[str, t.Any], value: t.Any) -> t.Tuple[t.Any, t.Optional[Problem]]:
    """One value as its type, by the same validator that Ansible uses for a role's arguments."""
    if value is None:
        return None, _missing(name, option) if option.get("required") else None
    if option["type"] == "str" and not isinstance(value, str):
        fix = "Put quotes around it: YAML makes other values of text, 432 of an unquoted 0660. %s" % _help(option)
        return None, Problem(name, value, "is not text", fix)
    if option["type"] == "int" and isinstance(value, bool):  # to Python it is one, and Ansible's validator lets it pass
        return None, Problem(name, value, "is not a number", _help(option))
    spec = {key: option[key] for key in ("type", "elements", "choices", "options") if key in option}
    result = ArgumentSpecValidator({name: spec}).validate({name: value})
    if result.error_messages and option.get("no_log"):
        return None, Problem(name, MISSING, "is not what it takes", "%s. %s" % (_help(option), _suboptions(option)))
    if result.error_messages and option["type"] in _NO_SUCH and "choices" not in option:
        return None, Problem(name, value, _NO_SUCH[option["type"]], _help(option))
    if result.error_messages:
        return None, Problem(name, value, "is refused: %s" % "; ".join(result.error_messages), _help(option))
    return result.validated_parameters[name], None


def misspelt(names: t.Iterable[str]) -> t.List[Problem]:
    """Variables that look like a public one and are none: they would be ignored in silence."""
    public = [name for variables in roles().values() for name in variables.options]
    problems = []
    for name in sorted(names):
        if name in public or name.startswith(("_", "goldennode_")):
            continue
        if any(name.startswith(role + "_") for role in ROLES):
            close = difflib.get_close_matches(name, public, n=1, cutoff=_ALIKE) or _swapped(name, public)
            if close:
                fix = "Did you mean %s? If it is a variable of your own, give it another name" % close[0]
                problems.append(Problem(name, MISSING, "is not a variable of this collection", fix))
    return problems


def _swapped(name: str, public: t.Iterable[str]) -> t.List[str]:
    """The public names of which this one has two neighbouring letters in each other's place."""
    pairs = range(len(name) - 1)
    ways = {name[:at] + name[at + 1] + name[at] + name[at + 2 :] for at in pairs}
    return [one for one in public if one in ways]


def _missing(name: str, option: t.Mapping[str, t.Any]) -> Problem:
    examples = {
        "bundle_file": "Set it for the group gpu_nodes, for example bundle_file: bundles/debian13.yml",
        "golden_expected_gpus": "Set it for each host or group of hosts, for example golden_expected_gpus: 8",
    }
    return Problem(name, MISSING, "is not set", "%s. %s" % (examples.get(name, "Set it"), _help(option)))


def _suboptions(option: t.Mapping[str, t.Any]) -> str:
    """The names of what each item holds, where the value itself must not be shown."""
    return "Each has %s, and nothing else" % ", ".join(option.get("options", ()))


def _help(option: t.Mapping[str, t.Any]) -> str:
    kind = "one of %s" % ", ".join(option["choices"]) if "choices" in option else option["type"]
    text = re.sub(r"\bV\(([^)]*)\)", r"\1", str(option["description"]))
    return "It takes %s: %s" % (kind, text.rstrip("."))
