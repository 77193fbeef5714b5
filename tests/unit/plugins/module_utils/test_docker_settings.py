# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docker_data_root and docker_registries: bad values are told before anything is changed, and no password ever is."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import desired as rendering
from ansible_collections.goldennode.gpu.plugins.module_utils import docker_settings
from ansible_collections.goldennode.gpu.plugins.module_utils.model import to_plain
from ansible_collections.goldennode.gpu.plugins.plugin_utils import role_variables
from ansible_collections.goldennode.gpu.tests.unit import healthy

PASSWORD = "s3cr3t-of-mine"
LOGIN = {"registry": "nvcr.io", "username": "$oauthtoken", "password": PASSWORD}
DROP_IN = "/etc/systemd/system/docker.service.d/goldennode.conf"


def told(**variables: t.Any) -> t.List[str]:
    return [str(problem) for problem in docker_settings.problems(variables)]


@pytest.mark.parametrize("path", ["/srv/docker", "/data", "/mnt/nvme0/docker-26.1", "/running/x", "/tmpfs"])
def test_a_plain_path_is_fine(path):
    assert told(docker_data_root=path) == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("srv/docker", "is not a plain absolute path"),
        ("/", "is not a plain absolute path"),
        ("/srv/docker/", "is not a plain absolute path"),
        ("/srv//docker", "is not a plain absolute path"),
        ("/srv/../etc", "is not a plain absolute path"),
        ("/srv/.", "is not a plain absolute path"),
        ("/srv/my docker", "is not a plain absolute path"),
        ("/srv/%h", "is not a plain absolute path"),
        ("/srv/x\nExecStart=/bin/false", "is not a plain absolute path"),
        ("~/docker", "is not a plain absolute path"),
        ("/run/docker-data", "is below /run, which is not kept over a reboot"),
        ("/var/run/docker-data", "is below /var/run"),
        ("/tmp", "is below /tmp"),
        ("/dev/shm/docker", "is below /dev"),
    ],
)
def test_any_other_path_is_refused(path, said):
    (line,) = told(docker_data_root=path)
    assert line.startswith("docker_data_root: %r %s" % (path, said))


@pytest.mark.parametrize(
    "registry", ["nvcr.io", "docker.io", "registry.example:5000", "localhost:5000", "[::1]:5000", "10.0.0.1"]
)
def test_a_login_is_fine(registry):
    assert told(docker_registries=[dict(LOGIN, registry=registry)]) == []


@pytest.mark.parametrize(
    ("login", "said"),
    [
        ({"registry": "https://nvcr.io/v2/"}, "registry: 'https://nvcr.io/v2/' has a scheme. Write nvcr.io"),
        ({"registry": "nvcr.io/nvidia"}, "has a path: a login is for a whole registry. Write nvcr.io"),
        ({"registry": "index.docker.io"}, "Write docker.io"),
        ({"registry": ""}, "is empty"),
        ({"registry": "nvcr io"}, "is not the name of a host"),
        ({"registry": "alice:%s@nvcr.io" % PASSWORD}, "'nvcr.io' has a user in front"),
        ({"username": ""}, "docker_registries[0].username of nvcr.io is empty"),
        ({"username": "a:b"}, "has a colon in it"),
        ({"password": ""}, "docker_registries[0].password of nvcr.io is empty"),
        ({"password": None}, "docker_registries[0].password of nvcr.io is empty"),
    ],
)  # fmt: skip
def test_a_login_that_cannot_work_is_refused(login, said):
    (line,) = told(docker_registries=[{**LOGIN, **login}])
    assert said in line
    assert PASSWORD not in line


def test_one_login_for_each_registry():
    assert "is there twice" in "".join(told(docker_registries=[LOGIN, LOGIN]))


def test_bad_values_are_among_the_problems_of_the_settings():
    found = rendering.setting_problems(healthy.settings(docker_data_root="x", docker_registries=[{"registry": ""}]))
    assert len(found) == 4


def test_data_root_has_a_variable_of_its_own():
    options = {"data-root": "/srv/docker"}
    (found,) = rendering.setting_problems(healthy.settings(docker_daemon_options=options))
    assert str(found).startswith("docker_daemon_options.data-root: '/srv/docker' is managed by a variable of its own")


def test_the_data_root_is_wanted_in_daemon_json_and_the_unit_waits_for_its_volume():
    wanted = healthy.desired(docker_data_root="/srv/docker")
    assert wanted.daemon["data-root"] == "/srv/docker"
    assert wanted.files[DROP_IN].role == "docker"
    assert (wanted.files[DROP_IN].content or "").endswith("\n[Unit]\nRequiresMountsFor=/srv/docker\n")


def test_a_wish_that_is_taken_back_is_gone_from_the_unit():
    wanted = healthy.desired()
    assert "data-root" not in wanted.daemon
    assert "RequiresMountsFor" not in (wanted.files[DROP_IN].content or "")


# --- secrets ------------------------------------------------------------------------------------------------------


def test_a_login_is_in_nothing_that_is_kept_or_shown():
    wanted = healthy.desired(docker_registries=[LOGIN])
    assert wanted.digest == healthy.desired().digest
    assert PASSWORD not in json.dumps(to_plain(wanted))
    shown = rendering.without_secrets(healthy.settings(docker_registries=[LOGIN]))
    assert PASSWORD not in json.dumps(shown)
    assert "docker_default_runtime" in shown["docker"]


def test_every_variable_that_is_not_to_be_logged_is_a_secret_and_the_other_way_round():
    options = {name: option for role in role_variables.roles().values() for name, option in role.options.items()}
    assert {name for name, option in options.items() if option.get("no_log")} == set(docker_settings.SECRET)
    assert options["docker_registries"]["options"]["password"]["no_log"]


@pytest.mark.parametrize(
    "value",
    [
        "nvcr.io:%s" % PASSWORD,
        [{"registry": "nvcr.io", "username": "a", "password": PASSWORD, "email": PASSWORD}],
        [{"registry": "nvcr.io", "password": PASSWORD}],
        {"nvcr.io": PASSWORD},
    ],
)
def test_a_value_of_the_wrong_form_is_told_without_it(value):
    option = role_variables.roles()["docker"].options["docker_registries"]
    _value, problem = role_variables.validate("docker_registries", option, value)
    assert PASSWORD not in str(problem)
    assert str(problem).startswith("docker_registries is not what it takes. It takes list: Logins of registries")
    assert str(problem).endswith("Each has registry, username, password, and nothing else.")


def test_values_become_text():
    option = role_variables.roles()["docker"].options["docker_registries"]
    value, problem = role_variables.validate("docker_registries", option, [dict(LOGIN, password=1234)])
    assert (value[0]["password"], problem) == ("1234", None)
