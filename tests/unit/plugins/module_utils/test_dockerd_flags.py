# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the next start of dockerd gets as flags, and what of it collides with daemon.json (case 029)."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import dockerd_flags

SHOWN = "{ path=/usr/bin/dockerd ; argv[]=%s ; ignore_errors=no ; start_time=[n/a] ; pid=0 ; status=0/0 }"
DEBIAN = "/usr/bin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock"


def test_the_flags_of_the_unit():
    assert dockerd_flags.command_line(SHOWN % DEBIAN, {}) == DEBIAN.split()


def test_flags_that_arrive_through_an_environment_file():
    variables = dockerd_flags.environment(
        '# a comment\nOPTIONS="--selinux-enabled \\\n --log-driver=journald"\n'
        'DOCKER_ADD_RUNTIMES="--add-runtime nvidia=/usr/bin/nvidia-container-runtime"\nNAME=eth0\n'
    )
    shown = SHOWN % "/usr/bin/dockerd $OPTIONS $DOCKER_ADD_RUNTIMES $UNSET --bridge=${NAME}"
    assert dockerd_flags.command_line(shown, variables) == [
        "/usr/bin/dockerd",
        "--selinux-enabled",
        "--log-driver=journald",
        "--add-runtime",
        "nvidia=/usr/bin/nvidia-container-runtime",
        "--bridge=eth0",
    ]


def test_no_command_line_where_there_is_no_unit():
    assert dockerd_flags.command_line("", {}) == []


def test_environment_of_the_unit_itself():
    assert dockerd_flags.environment_of_unit('A=b "C=d e" F=') == {"A": "b", "C": "d e", "F": ""}


def test_paths_of_environment_files():
    shown = ["/etc/default/docker (ignore_errors=yes)", "/etc/sysconfig/docker (ignore_errors=no)", ""]
    assert dockerd_flags.environment_files(shown) == ["/etc/default/docker", "/etc/sysconfig/docker"]


def test_an_unbalanced_quote_hides_no_flag():
    assert dockerd_flags.environment("OPTIONS='--debug\n") == {"OPTIONS": "'--debug"}
    assert dockerd_flags.environment('OPTIONS=--debug "x\n') == {"OPTIONS": '--debug "x'}


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (DEBIAN.split(), "/etc/docker/daemon.json"),
        (["dockerd", "--config-file", "/x"], "/x"),
        (["dockerd", "--config-file=/y"], "/y"),
    ],
)
def test_the_file_that_dockerd_reads(arguments, path):
    assert dockerd_flags.config_path(arguments) == path


@pytest.mark.parametrize(
    ("arguments", "config", "found"),
    [
        pytest.param(
            DEBIAN, {"hosts": ["tcp://127.0.0.1:2376", "unix:///var/run/docker.sock"]}, [("hosts", "-H")], id="case 029"
        ),
        pytest.param("dockerd -DH fd://", {"debug": True, "hosts": []}, [("debug", "-DH"), ("hosts", "-DH")], id="-DH"),
        pytest.param("dockerd -Hfd://D", {"debug": True}, [], id="letters of a value are no flags"),
        pytest.param(
            "dockerd --log-opt max-size=1m", {"log-opts": {"max-file": "3"}}, [("log-opts", "--log-opt")], id="opts"
        ),
        pytest.param(
            "dockerd --log-level=debug", {"log-level": "info"}, [("log-level", "--log-level")], id="same name"
        ),
        pytest.param(
            "dockerd --tlscacert=/x", {"tls-opts": {"tlscacert": "/y"}}, [("tlscacert", "--tlscacert")], id="inside"
        ),
        pytest.param("dockerd --max-size=1", {"log-opts": {"max-size": "1m"}}, [], id="not inside options"),
        pytest.param(DEBIAN, {"features": {"cdi": True}, "default-runtime": "runc"}, [], id="none"),
    ],
)
def test_conflicts(arguments, config, found):
    assert dockerd_flags.conflicts(arguments.split(), config) == found


@pytest.mark.parametrize(
    ("version", "found"),
    [((17, 12), [("runtimes", "--add-runtime")]), ((18, 9), []), ((26, 1), []), (None, [])],
)
def test_runtimes_in_both_places_are_fatal_to_old_engines_only(version, found):
    """Case 029, the variant."""
    arguments = ["dockerd", "--add-runtime", "nvidia=/usr/bin/nvidia-container-runtime"]
    assert dockerd_flags.conflicts(arguments, {"runtimes": {"nvidia": {"path": "x"}}}, version) == found
