# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wanted inside config.toml, and of the units that write the CDI specification, by variables and toolkit."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import desired as rendering
from ansible_collections.goldennode.gpu.plugins.module_utils.compat import TOOLKIT_FLOOR
from ansible_collections.goldennode.gpu.plugins.module_utils.toolkit_wanted import DROP_IN, ENVVAR, MOUNTS, NO_GIDS
from ansible_collections.goldennode.gpu.tests.unit.healthy import desired, lock, settings

OWN = ["/etc/systemd/system/goldennode-cdi-refresh.path", "/etc/systemd/system/goldennode-cdi-refresh.service"]


def of_toolkit(version, **variables):
    return desired(of_lock=lock(toolkit={"version": version}), **variables)


def said(**variables):
    return [str(problem) for problem in rendering.setting_problems(settings(**variables))]


def test_the_toolkits_defaults_are_written_too():
    assert desired().toolkit == {
        ENVVAR: True,
        MOUNTS: False,
        "nvidia-container-cli": {"no-cgroups": False},
        "nvidia-container-runtime": {"mode": "auto"},
        "features": {NO_GIDS: False},
    }


def test_tenants_ask_by_mounts_and_not_by_the_variable():
    found = desired(toolkit_multi_tenant=True).toolkit
    assert (found[ENVVAR], found[MOUNTS]) == (False, True)


def test_options_stand_beside_ours_and_are_not_changed_themselves():
    options = {"disable-require": True, "nvidia-container-cli": {"debug": "/x"}, "nvidia-ctk": {"path": "y"}}
    found = desired(toolkit_config_options=options).toolkit
    assert found["nvidia-container-cli"] == {"debug": "/x", "no-cgroups": False}
    assert (found["disable-require"], found["nvidia-ctk"]) == (True, {"path": "y"})
    assert options["nvidia-container-cli"] == {"debug": "/x"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {ENVVAR: False},
            "toolkit_config_options.%s: False is managed by this collection. Set toolkit_multi_tenant" % ENVVAR,
        ),
        ({MOUNTS: True}, "Set toolkit_multi_tenant instead"),
        ({"nvidia-container-cli": {"no-cgroups": True}}, "a rootless engine has a file of its own"),
        ({"nvidia-container-runtime": {"mode": "csv"}}, "Set toolkit_runtime_mode instead"),
        ({"features": {NO_GIDS: True}}, "Set toolkit_cdi_additional_gids instead"),
        ({"features": 1}, "toolkit_config_options.features: 1 is not a dictionary"),
        ({"nvidia-container-cli.no-cgroups": True}, "is one key with a dot in it, and no table"),
        ({"a": {"b": None}}, 'cannot be written: setting "a.b": TOML cannot carry a NoneType'),
    ],
)
def test_options_that_cannot_be_are_refused(options, words):
    (found,) = said(toolkit_config_options=options)
    assert words in found


def test_the_mode_cdi_needs_the_specification():
    (found,) = said(toolkit_runtime_mode="cdi", toolkit_cdi=False)
    assert "toolkit_runtime_mode: 'cdi' reads the CDI specification, which is not kept" in found
    assert said(toolkit_runtime_mode="cdi") == []


def test_a_mode_that_the_toolkit_does_not_know():
    with pytest.raises(rendering.DesiredError) as caught:
        of_toolkit("1.17.8", toolkit_runtime_mode="jit-cdi")
    assert "is a mode that toolkit 1.17.8 does not know. Take auto, or toolkit %s or newer" % TOOLKIT_FLOOR in str(
        caught.value
    )
    assert of_toolkit("1.18.0", toolkit_runtime_mode="jit-cdi").toolkit["nvidia-container-runtime"]["mode"] == "jit-cdi"


def test_the_switch_of_the_groups_is_for_toolkits_that_have_it():
    assert "features" not in of_toolkit("1.18.2").toolkit
    assert of_toolkit("1.19.1", toolkit_cdi_additional_gids=False).toolkit["features"] == {NO_GIDS: True}
    line = "Environment=NVIDIA_CTK_CDI_GENERATE_FEATURE_FLAGS=no-additional-gids-for-device-nodes\n"
    assert of_toolkit("1.20.1", toolkit_cdi_additional_gids=False).files[DROP_IN].content.endswith(line)
    assert "Environment" not in of_toolkit("1.20.1").files[DROP_IN].content


def test_our_units_stand_in_where_the_vendor_has_none():
    old, new = of_toolkit("1.17.8"), of_toolkit("1.18.0")
    assert [path for path in old.files if "cdi" in path] == OWN
    assert [path for path in new.files if "cdi" in path] == [DROP_IN]
    assert {unit: state for unit, state in old.units.items() if "cdi" in unit} == {
        "goldennode-cdi-refresh.path": "active+enabled",
        "goldennode-cdi-refresh.service": "enabled",
    }
    service = old.files[OWN[1]].content
    written, renamed = (
        "--output=/run/goldennode-cdi/nvidia.yaml\n",
        "-f /run/goldennode-cdi/nvidia.yaml /run/cdi/nvidia.yaml",
    )
    assert service.index(written) < service.index(renamed), "no engine reads half of a specification"
    for content in (service, new.files[DROP_IN].content):
        assert "Before=docker.service\n" in content
        assert "TimeoutStartSec=120\n" in content, "a driver that hangs must not hold Docker for ever"


def test_without_cdi_there_is_nothing_to_write():
    found = desired(toolkit_cdi=False)
    assert [name for name in (*found.files, *found.units) if "cdi" in name] == []
    legacy = desired(of_lock=lock(docker={"version": "20.10.24"}))
    assert [name for name in (*legacy.files, *legacy.units) if "cdi" in name] == []
