# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Docker answers, and whom users ask: every kind of other daemon is named, with what to do, and is never ours."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    DockerClient,
    DockerClients,
    DockerEngine,
    Evidence,
    Finding,
    Reading,
    SocketListener,
)
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)
SYSTEMD = SocketListener("/run/docker.sock", 1, "/sbin/init", "/init.scope")
SNAP_ROOT = "/var/snap/docker/common/var-lib-docker"
PODMAN_ROOT = "/var/lib/containers/storage"
SHIM = "docker info ended with code 125: Emulate Docker CLI using podman. Create /etc/containers/nodocker to quiet msg."
#: Case 020: what users see, and what a run must not answer with.
NOT_TO_DO = ("reinstall", "install the driver", "purge")


def listening(path: str, pid: int = 4711, program: str = "/usr/bin/dockerd", cgroup: str = "") -> SocketListener:
    return SocketListener(path, pid, program, cgroup)


def engine(**fields: t.Any) -> t.Any:
    assert NODE.docker.value is not None
    return dataclasses.replace(NODE.docker.value, **fields)


def of(evidence: Evidence, check: str) -> t.List[Finding]:
    found = [f for f in verdict.run(WANTED, evidence, 1).findings if f.id == "container_runtime." + check]
    assert found, check
    return found


#: Checks of the running daemon, for which the one of docker.service must be the one that answers.
OF_THE_DAEMON = ("engine", "daemon_current", "data_root", "cgroup_driver")

STRANGERS = {
    "Docker Desktop": ({"docker": engine(operating_system="Docker Desktop")}, "Docker Desktop", "docker context use"),
    "Docker Desktop's socket": (
        {"docker_socket": listening("/home/alice/.docker/desktop/docker.sock", program="/opt/docker-desktop/backend")},
        "Docker Desktop",
        "docker context use default",
    ),
    "the snap, by its root": ({"docker": engine(root_dir=SNAP_ROOT)}, SNAP_ROOT, "snap remove docker"),
    "the snap, by its unit": (
        {
            "docker_socket": listening(
                "/run/docker.sock",
                program="/snap/docker/2963/bin/dockerd",
                cgroup="/system.slice/snap.docker.dockerd.service",
            )
        },
        "the snap of Docker",
        "snap remove docker",
    ),
    "Podman behind the socket": (
        {
            "docker": engine(version="5.4.2", root_dir=PODMAN_ROOT),
            "docker_socket": listening("/run/podman/podman.sock", 1),
        },
        "Podman",
        "podman-docker",
    ),
    "Podman's command": (
        {"docker": DockerEngine("5.4.2", root_dir=PODMAN_ROOT, operating_system="debian")}, "Podman", "podman-docker",
    ),
    "a rootless daemon by a link": (
        {"docker_socket": listening("/run/user/1000/docker.sock")}, "a rootless daemon of user 1000", "context",
    ),
    "a rootless daemon by its unit": (
        {
            "docker_socket": listening(
                "/run/docker.sock", cgroup="/user.slice/user-1001.slice/user@1001.service/app.slice/docker.service"
            )
        },
        "a rootless daemon of user 1001",
        "context",
    ),
    "a dockerd by hand": (
        {"docker_socket": listening("/run/docker.sock", cgroup="/user.slice/user-0.slice/session-3.scope")},
        "a second dockerd that docker.service did not start (pid 4711 in /user.slice/user-0.slice/session-3.scope)",
        "kill 4711",
    ),
    "a dockerd of another unit": (
        {"docker_socket": listening("/run/docker.sock", cgroup="/system.slice/my-docker.service")},
        "a second dockerd",
        "kill 4711",
    ),
    "a tunnel": (
        {"docker_socket": listening("/run/docker.sock", program="/usr/bin/socat", cgroup="/system.slice/t.service")},
        "socat, which is no dockerd",
        "kill 4711",
    ),
    "outside of a container": (
        {"docker_socket": listening("/run/docker.sock", 0, "")}, "outside of this", "on the host",
    ),
}  # fmt: skip


@pytest.mark.parametrize("variant", STRANGERS)
def test_case_020_another_daemon_is_named_and_a_run_does_not_begin(variant: str) -> None:
    fields, name, advice = STRANGERS[variant]
    evidence = healthy.known(NODE, **fields)
    (finding,) = of(evidence, "daemon")
    assert (finding.status, finding.repair, finding.layer) == ("fail", "manual", "container_runtime")
    assert name in finding.cause
    assert advice in finding.fix
    assert "The driver is not at fault." in finding.fix
    assert not any(words in (finding.cause + finding.fix).lower() for words in NOT_TO_DO)
    assert finding.expected
    assert finding.actual
    assert verdict.run(WANTED, evidence, 1).first_broken == "container_runtime"
    for check in OF_THE_DAEMON:  # the stranger's settings are nobody's fault
        assert [f.status for f in of(evidence, check)] == ["skip"], check
    for wanted in (WANTED, None):  # also before there is a lock
        assert "container_runtime.daemon" in {f.id for f in verdict.refusals(wanted, evidence, 1)}


def test_case_020_the_command_of_podman_docker_does_not_answer_for_docker() -> None:
    evidence = dataclasses.replace(NODE, docker=Reading.unknown(SHIM), docker_socket=Reading(SYSTEMD))
    (finding,) = of(evidence, "daemon")
    assert "Podman, since the docker command is the one of podman-docker" in finding.cause


@pytest.mark.parametrize(
    "listener",
    [
        SYSTEMD,
        SocketListener("/run/docker.sock", 1, "", ""),
        listening("/run/docker.sock", cgroup="/system.slice/docker.service"),
        listening("/run/docker.sock", cgroup="/docker/0123abc/system.slice/docker.service"),  # in a nested node
    ],
)
def test_the_systems_own_daemon(listener: SocketListener) -> None:
    evidence = healthy.known(NODE, docker_socket=listener)
    assert [f.status for f in of(evidence, "daemon")] == ["pass"]
    assert verdict.run(WANTED, evidence, 1).golden


def test_a_rootless_option_alone_says_not_whose_daemon_it_is() -> None:
    """Case 019 is about a rootless engine, and about its control groups."""
    evidence = healthy.known(NODE, docker=engine(security_options=("name=seccomp", "name=rootless")))
    assert [f.status for f in of(evidence, "daemon")] == ["pass"]


def test_nobody_listens_where_docker_is_not_installed_and_a_run_may_begin() -> None:
    bare = healthy.known(NODE, docker=None, docker_socket=None)
    assert [f.status for f in of(bare, "daemon")] == ["pass"]
    assert [f.status for f in of(bare, "engine")] == ["fail"]
    assert {f.status for check in OF_THE_DAEMON[1:] for f in of(bare, check)} == {"skip"}, "and nothing passes"
    assert verdict.refusals(WANTED, bare, 1) == ()


def test_who_listens_must_be_known() -> None:
    evidence = healthy.unreadable(NODE, "docker_socket")
    assert [f.status for f in of(evidence, "daemon")] == ["unknown"]
    assert not verdict.run(WANTED, evidence, 1).golden


def test_another_daemon_is_told_also_where_it_is_not_known_who_listens() -> None:
    evidence = healthy.unreadable(healthy.known(NODE, docker=engine(root_dir=SNAP_ROOT)), "docker_socket")
    assert [f.status for f in of(evidence, "daemon")] == ["fail"]


# --- users --------------------------------------------------------------------------------------------------------


DESKTOP = "unix:///home/alice/.docker/desktop/docker.sock"


@pytest.mark.parametrize(
    ("client", "said", "fix"),
    [
        (
            DockerClient("alice", "context", "desktop-linux", DESKTOP, "/home/alice/.docker/config.json"),
            "alice asks Docker Desktop and not the daemon that was verified: context desktop-linux (%s)" % DESKTOP,
            "As alice: docker context use default.",
        ),
        (
            DockerClient("alice", "context", "desktop-linux", "", "/home/alice/.docker/config.json"),
            "asks Docker Desktop",
            "docker context use default",
        ),
        (
            DockerClient("bob", "DOCKER_HOST", "unix:///run/user/1000/docker.sock",
                         "unix:///run/user/1000/docker.sock", "/home/bob/.bashrc"),
            "bob asks a rootless daemon and not the daemon that was verified: DOCKER_HOST=unix:///run/user",
            "Take the line out of /home/bob/.bashrc",
        ),
        (
            DockerClient("root", "context", "rootless", "unix:///run/user/0/docker.sock", "/root/.docker/config.json"),
            "root asks a rootless daemon",
            "As root",
        ),
        (
            DockerClient("", "DOCKER_HOST", "tcp://10.0.0.5:2376", "tcp://10.0.0.5:2376", "/etc/environment"),
            "every user asks a daemon of another machine",
            "/etc/environment",
        ),
        (
            DockerClient("bob", "DOCKER_CONTEXT", "lab", "ssh://lab.example", "/home/bob/.profile"),
            "a daemon of another machine and not the daemon that was verified: DOCKER_CONTEXT=lab (ssh://lab.example)",
            "/home/bob/.profile",
        ),
        (DockerClient("bob", "context", "mine", "", "/home/bob/.docker/config.json"), "another daemon", "context use"),
    ],
)  # fmt: skip
def test_case_020_root_is_answered_and_a_user_is_not(client: DockerClient, said: str, fix: str) -> None:
    """The node works and keeps its gold; that this user's containers have GPUs is said to be not proven."""
    evidence = healthy.known(NODE, docker_clients=DockerClients((client,)))
    (finding,) = of(evidence, "clients")
    assert (finding.status, finding.required, finding.repair) == ("fail", False, "manual")
    assert said in finding.cause
    assert fix in finding.fix
    found = verdict.run(WANTED, evidence, 1)
    assert found.golden
    assert len(found.not_proven) == 1
    assert found.not_proven[0].startswith("container_runtime.clients: The docker command of ")
    assert verdict.refusals(WANTED, evidence, 1) == ()


@pytest.mark.parametrize("address", ["unix:///var/run/docker.sock", "unix:///run/docker.sock"])
def test_a_context_that_leads_to_the_systems_daemon_is_fine(address: str) -> None:
    client = DockerClient("alice", "context", "gpu", address, "/home/alice/.docker/config.json")
    evidence = healthy.known(NODE, docker_clients=DockerClients((client,)))
    assert [f.status for f in of(evidence, "clients")] == ["pass"]


def test_a_user_who_could_not_be_read_is_not_proven() -> None:
    evidence = healthy.known(NODE, docker_clients=DockerClients((), {"bob": "/home/bob gave no answer within 3 s"}))
    (finding,) = of(evidence, "clients")
    assert (finding.status, finding.entity) == ("unknown", "bob")
    assert verdict.run(WANTED, evidence, 1).not_proven == (
        "container_runtime.clients: Whom the docker command of bob asks is not known: /home/bob gave no answer within"
        " 3 s.",
    )
