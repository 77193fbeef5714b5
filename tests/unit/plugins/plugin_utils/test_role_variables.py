# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role variables: specs and defaults agree, values are judged by their specs, and misspellings are noticed."""

from __future__ import annotations

import pathlib
import re

import pytest
import yaml

from ansible_collections.goldennode.gpu.plugins.module_utils.desired import affects_node
from ansible_collections.goldennode.gpu.plugins.plugin_utils import role_variables

ROOT = pathlib.Path(__file__).resolve().parents[4]
NEEDED = {"bundle_file": "pool.yml", "golden_expected_gpus": 8}
OPTIONS = [
    pytest.param(role, name, option, id=name)
    for role, variables in role_variables.roles().items()
    for name, option in variables.options.items()
]


def read(**values):
    found = {**NEEDED, **values}
    return role_variables.read(found, found.__getitem__)


def only(**values):
    _values, problems = read(**values)
    assert len(problems) == 1, problems
    return str(problems[0])


# --- specs and defaults -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("role", "name", "option"), OPTIONS)
def test_spec_and_default_of_a_variable_agree(role, name, option):
    defaults = role_variables.roles()[role].defaults
    assert name.startswith(role + "_")
    assert option["description"].strip()
    assert "type" in option
    assert option.get("default") == defaults.get(name)
    assert "default" in option or option.get("required") or name in ("device_access_gid", "docker_data_root")
    if "default" in option:
        assert role_variables.validate(name, option, option["default"]) == (option["default"], None)


@pytest.mark.parametrize("role", role_variables.ROLES)
def test_a_role_has_no_default_without_a_spec(role):
    variables = role_variables.roles()[role]
    assert set(variables.defaults) <= set(variables.options)


def test_consent_is_off_and_does_not_count():
    consents = [(name, option) for _role, name, option in (param.values for param in OPTIONS) if "_allow_" in name]
    assert len(consents) == 8
    for name, option in consents:
        assert not option["default"]
        assert not affects_node(name)


def test_every_variable_is_in_the_table_of_the_documentation():
    table = (ROOT / "docs" / "architecture.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z_]+)` \| ([^|]*) \|", table, re.MULTILINE))
    for param in OPTIONS:
        _role, name, option = param.values
        assert name in rows, name
        default = rows[name].strip().strip("`")
        if "default" in option:
            assert yaml.safe_load(default) == option["default"], name
        else:
            assert default.startswith("none"), name


# --- reading ------------------------------------------------------------------------------------------------------


def test_defaults_fill_what_is_not_set():
    values, problems = read()
    assert problems == []
    assert values["golden"]["golden_expected_gpus"] == 8
    assert values["docker"] == {
        "docker_daemon_options": {},
        "docker_default_runtime": "runc",
        "docker_registries": [],
        "docker_allow_restart": False,
        "docker_allow_data_root_change": False,
        "docker_allow_container_restart": False,
    }
    assert "device_access_gid" not in values["device_access"]


@pytest.mark.parametrize(
    ("name", "given", "taken"),
    [
        ("golden_expected_gpus", "4", 4),
        ("golden_allow_reboot", "yes", True),
        ("device_access_gid", "2001", 2001),
        ("kernel_blacklist", "nouveau,nvidiafb", ["nouveau", "nvidiafb"]),
        ("docker_daemon_options", {"log-driver": "local"}, {"log-driver": "local"}),
        ("docker_default_runtime", None, "runc"),
        ("docker_default_runtime", "", "runc"),
        ("kernel_blacklist", [], []),
        ("golden_allow_reboot", False, False),
    ],
)
def test_values_are_brought_to_their_type(name, given, taken):
    values, problems = read(**{name: given})
    assert problems == []
    assert next(role[name] for role in values.values() if name in role) == taken


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("golden_expected_gpus", "many", "golden_expected_gpus: 'many' is not a whole number. It takes int: "),
        ("golden_expected_gpus", True, "golden_expected_gpus: True is not a number. It takes int: How many GPUs"),
        ("rollout_retry", "often", "rollout_retry: 'often' is neither true nor false. It takes bool: "),
        ("golden_expected_gpus", [8], "golden_expected_gpus: [8] is not a whole number. It takes int: "),
        ("golden_allow_reboot", "maybe", "It takes bool: Consent to reboot a node when that is due."),
        ("golden_container_injections", ["runtime", "hook"], "hook. It takes one of runtime, cdi: "),
        ("device_access_mode", 432, "device_access_mode: 432 is not text. Put quotes around it"),
        ("docker_daemon_options", "log", "docker_daemon_options: 'log' is refused"),
        ("golden_expected_gpus", None, "golden_expected_gpus is not set. Set it for each host or group of hosts"),
        (
            "bundle_file",
            "",
            "bundle_file is not set. Set it for the group gpu_nodes, for example bundle_file: bundles/debian13.yml",
        ),
    ],
)
def test_a_wrong_value_is_told_with_what_it_takes(name, value, said):
    assert said in only(**{name: value})


def test_help_is_without_markup():
    assert 'for example "0660".' in only(device_access_mode=432)


def test_in_place_of_a_refused_value_stands_the_default():
    values, problems = read(golden_look_timeout="soon", golden_expected_gpus="many")
    assert len(problems) == 2
    assert values["golden"]["golden_look_timeout"] == 60
    assert "golden_expected_gpus" not in values["golden"]


def test_a_variable_that_cannot_be_templated_is_told():
    def value_of(name):
        if name == "golden_expected_gpus":
            raise ValueError("'gpus' is undefined")
        return NEEDED[name]

    _values, problems = role_variables.read(NEEDED, value_of)
    assert [str(problem) for problem in problems] == [
        "golden_expected_gpus cannot be templated: 'gpus' is undefined. Mend the expression."
    ]


def test_only_public_variables_are_templated():
    asked = []
    role_variables.read({**NEEDED, "docker_users": 1, "other": 2}, lambda name: asked.append(name) or NEEDED[name])
    assert sorted(asked) == ["bundle_file", "golden_expected_gpus"]


# --- misspellings -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("golden_allow_rebot", "golden_allow_reboot"),
        ("golden_expected_gpu", "golden_expected_gpus"),
        ("golden_expect_gpus", "golden_expected_gpus"),
        ("docker_deamon_options", "docker_daemon_options"),
        ("docker_daemon_option", "docker_daemon_options"),
        ("kernel_blacklists", "kernel_blacklist"),
        ("device_access_modes", "device_access_mode"),
        ("driver_persistence", "driver_persistenced"),
        ("bundle_files", "bundle_file"),
        ("toolkit_cdi_", "toolkit_cdi"),
        ("rollout_drian", "rollout_drain"),
    ],
)
def test_a_misspelt_variable_is_told(name, meant):
    assert "%s is not a variable of this collection. Did you mean %s?" % (name, meant) in only(**{name: 1})


@pytest.mark.parametrize(
    "name",
    [
        "docker_users",
        "driver_version",
        "kernel_parameters",
        "golden_image_bucket",
        "bundle_exec",
        "docker_edition",
        "_golden_allow_rebot",
        "__goldennode_look",
        "dockerd_daemon_options",
        "inventory_hostname",
    ],
)
def test_variables_of_others_are_left_alone(name):
    assert read(**{name: 1})[1] == []


def test_no_name_that_our_own_roles_use_looks_like_a_misspelling():
    """What a role registers or derives is among the host's variables when the action runs again."""
    used = set()
    for path in [*ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("roles/*/vars/*.yml"), *ROOT.glob("playbooks/**/*.yml")]:
        text = path.read_text()
        used |= set(re.findall(r"^\s*register: (\w+)", text, re.MULTILINE))
        used |= set(re.findall(r"^\s*([a-z_]+):(?: |$)", text, re.MULTILINE))
    assert "docker_daemon_merged" in used
    assert role_variables.misspelt(used) == []
