# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the next start of dockerd gets as flags, and what of it collides with daemon.json (case 029)."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import dockerd_flags

SHOWN = "{ path=/usr/bin/dockerd ; argv[]=%s ; ignore_errors=no ; start_time=[n/a] ; pid=0 ; status=0/0 }"
DEBIAN = "/usr/bin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock"


def line(exec_start, environment=()):
    service = dockerd_flags.loaded({"ExecStart": [exec_start]})
    return dockerd_flags.command_line(service.words, dict(environment))


def test_the_flags_of_the_unit():
    assert line(SHOWN % DEBIAN) == DEBIAN.split()


def test_flags_that_arrive_through_an_environment_file():
    variables = dockerd_flags.environment(
        '# a comment\nOPTIONS="--selinux-enabled \\\n --log-driver=journald"\n'
        'DOCKER_ADD_RUNTIMES="--add-runtime nvidia=/usr/bin/nvidia-container-runtime"\nNAME=eth0\n'
    )
    shown = SHOWN % "/usr/bin/dockerd $OPTIONS $DOCKER_ADD_RUNTIMES $UNSET --bridge=${NAME}"
    assert line(shown, variables) == [
        "/usr/bin/dockerd",
        "--selinux-enabled",
        "--log-driver=journald",
        "--add-runtime",
        "nvidia=/usr/bin/nvidia-container-runtime",
        "--bridge=eth0",
    ]


@pytest.mark.parametrize(
    ("exec_start", "arguments"),
    [
        ("/usr/bin/env A=b /usr/bin/dockerd -H fd://", "/usr/bin/dockerd -H fd://"),
        ("/bin/sh -c exec dockerd --debug $OPTS", "dockerd --debug --iptables=false"),
        ("/usr/bin/nice -n 5 $PROGRAM -D", "/opt/docker/dockerd -D"),
        ("/usr/bin/dockerd-ce -H fd://", "/usr/bin/dockerd-ce -H fd://"),
        ("/usr/local/sbin/start-docker -H fd://", ""),
        ("/usr/bin/dockerd-rootless.sh -H fd://", ""),
    ],
)
def test_what_stands_before_dockerd_is_not_taken_for_it(exec_start, arguments):
    variables = {"OPTS": "--iptables=false", "PROGRAM": "/opt/docker/dockerd"}
    assert line(SHOWN % exec_start, variables) == arguments.split()


UNIT = """# /usr/lib/systemd/system/docker.service
[Unit]
ExecStart=/not/this
Requires=docker.socket

[Service]
Type=notify
Environment=A=b "C=d e"
EnvironmentFile=-/etc/default/docker
# ExecStart=/usr/bin/dockerd --debug
ExecStart=/usr/sbin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock $DOCKER_OPTS
ExecReload=/bin/kill -s HUP $MAINPID
"""


def test_the_units_files_on_disk():
    service = dockerd_flags.on_disk(UNIT)
    assert service.words[:3] == ("/usr/sbin/dockerd", "-H", "fd://")
    assert service.words[-1] == "$DOCKER_OPTS"
    assert service.environment == {"A": "b", "C": "d e"}
    assert service.environment_files == ("/etc/default/docker",)


def test_a_drop_in_replaces_the_start_of_the_unit():
    """Case 029: the socket-activated start of the package, and a drop-in that takes the host out."""
    drop_in = (
        "\n# /etc/systemd/system/docker.service.d/hosts.conf\n[Service]\nEnvironmentFile=\nEnvironment=\n"
        "ExecStart=\nExecStart=-/usr/sbin/dockerd \\\n  --label 'a b'\n"
    )
    service = dockerd_flags.on_disk(UNIT + drop_in)
    assert service == dockerd_flags.Service(("/usr/sbin/dockerd", "--label", "a b"), {}, ())
    assert dockerd_flags.on_disk("") == dockerd_flags.Service()


@pytest.mark.parametrize(
    ("arguments", "on"),
    [("--live-restore", True), ("--live-restore=true", True), ("--live-restore=false", False), ("", False)],
)
def test_a_switch(arguments, on):
    assert dockerd_flags.switched_on(["dockerd", *arguments.split()], "live-restore") is on


def test_no_command_line_where_there_is_no_unit():
    assert line("") == []


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
        (["dockerd", "--config-file=/y", "--config-file", "/z"], "/z"),
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
