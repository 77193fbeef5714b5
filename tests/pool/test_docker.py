# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real engines and their daemon.json: 26 with CDI (Debian 13), and 20.10 without, where GPUs come by the hook."""

from __future__ import annotations

import json
import typing as t

import pytest
from poollib import REGISTRY, Node, Pool

pytestmark = pytest.mark.engines

DAEMON_JSON = "/etc/docker/daemon.json"
OPTIONS: t.Dict[str, t.Any] = {"insecure-registries": [REGISTRY]}


#: By name, and so not seen by conftest.py, which keeps those of one kind on one worker.
_BOOKWORM = pytest.param("golden_bookworm", marks=pytest.mark.xdist_group("golden_bookworm"))


@pytest.fixture(params=["golden_a10", _BOOKWORM])
def golden(request: pytest.FixtureRequest) -> Pool:
    return t.cast(Pool, request.getfixturevalue(request.param))


def started(node: Node) -> str:
    return node.ssh("systemctl show -p ExecMainStartTimestampMonotonic --value docker").stdout


def settings(node: Node) -> t.Dict[str, t.Any]:
    return t.cast("t.Dict[str, t.Any]", json.loads(node.ssh("cat %s" % DAEMON_JSON).stdout))


def test_an_engine_that_knows_no_cdi_gives_gpus_by_the_hook(golden_bookworm: Pool) -> None:
    (node,) = golden_bookworm.nodes
    assert node.ssh("docker version --format '{{.Server.Version}}'").stdout.startswith("20.10.")
    assert "features" not in settings(node)
    run = golden_bookworm.site()
    assert (run.rc, run.recap(node.name)["changed"]) == (0, 0), run.output
    image = node.ssh("docker image ls --digests --format '{{.Repository}}@{{.Digest}}' | head -n 1").stdout.strip()
    seen = node.ssh("docker run --rm --network none --gpus all %s nvidia-smi -L" % image)
    assert seen.stdout == node.ssh("nvidia-smi -L").stdout


def test_the_vendors_own_tool_and_the_role_agree(golden: Pool) -> None:
    """It writes the file anew, in an order and an indentation of its own, and nothing that is managed has changed."""
    (node,) = golden.nodes
    before, since = node.ssh("cat %s" % DAEMON_JSON).stdout, started(node)
    node.ssh("nvidia-ctk runtime configure --runtime=docker")
    rewritten = node.ssh("cat %s" % DAEMON_JSON).stdout
    assert rewritten != before
    run = golden.site()
    assert (run.rc, run.recap(node.name)["changed"]) == (0, 0), run.output
    assert (started(node), node.ssh("cat %s" % DAEMON_JSON).stdout) == (since, rewritten)
    assert node.is_golden()


def test_what_the_vendors_own_tool_drops_is_named_and_put_back(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    options = {**OPTIONS, "features": {"buildkit": True}}
    assert golden_a10.site(docker_daemon_options=options).rc == 0
    node.ssh("nvidia-ctk runtime configure --runtime=docker --cdi.enabled")
    assert settings(node)["features"] == {"cdi": True}
    look = golden_a10.verify("-e", json.dumps({"docker_daemon_options": options}))
    assert look.rc != 0
    assert look.report[node.name]["layer"] == "container_runtime"
    assert "features.buildkit" in look.report[node.name]["reason"]
    run = golden_a10.site(docker_daemon_options=options)
    assert run.rc == 0, run.output
    assert settings(node)["features"] == {"cdi": True, "buildkit": True}


def test_a_file_that_docker_refuses_is_put_back_and_containers_live_on(golden: Pool) -> None:
    (node,) = golden.nodes
    options = {**OPTIONS, "live-restore": True}
    assert golden.site(docker_daemon_options=options).rc == 0
    image = node.ssh("docker image ls --digests --format '{{.Repository}}@{{.Digest}}' | head -n 1").stdout.strip()
    node.ssh("docker run --detach --name mine --network none %s sleep 1000" % image)
    state = "docker inspect --format '{{.State.Running}} {{.State.Pid}} {{.State.StartedAt}}' mine"
    before, container = node.ssh("cat %s" % DAEMON_JSON).stdout, node.ssh(state).stdout
    assert container.startswith("true ")
    broken = {**options, "storage-driver": "no-such-driver"}
    since = started(node)
    run = golden.site(docker_daemon_options=broken, docker_allow_restart=False)
    assert "live-restore does not keep them where storage-driver changes" in " ".join(run.output.split())
    assert started(node) == since
    node.ssh("cat > %s << 'END'\n%s\nEND" % (DAEMON_JSON, before.rstrip("\n")))
    run = golden.site(docker_daemon_options=broken)
    assert run.rc != 0
    assert "The old file was put back and Docker runs again." in " ".join(run.output.split())
    assert "no-such-driver" in run.output
    assert node.ssh("cat %s" % DAEMON_JSON).stdout.rstrip("\n") == before.rstrip("\n")
    assert node.ssh("systemctl is-active docker").stdout.strip() == "active"
    assert node.ssh(state).stdout == container
    assert not node.is_golden()
    run = golden.site(docker_daemon_options=options)
    assert run.rc == 0, run.output
    assert node.ssh(state).stdout == container


def test_a_file_with_which_docker_would_not_start_is_refused_at_once(golden_a10: Pool) -> None:
    """Case 031: valid JSON, and the next restart would stop all containers."""
    (node,) = golden_a10.nodes
    edited, since = {**settings(node), "ipv6": "true"}, started(node)
    node.ssh("cat > %s << 'END'\n%s\nEND" % (DAEMON_JSON, json.dumps(edited)))
    run = golden_a10.site()
    assert run.rc != 0
    assert "is not true or false" in " ".join(run.output.split())
    assert (settings(node), started(node)) == (edited, since)


def test_an_unknown_key_is_refused_by_dockerd_itself_on_every_engine(golden: Pool) -> None:
    """20.10 cannot validate; it reads the file in a start without rights, and leaves nothing behind."""
    (node,) = golden.nodes
    before, since = node.ssh("cat %s" % DAEMON_JSON).stdout, started(node)
    run = golden.site(docker_daemon_options={**OPTIONS, "no-such-setting": True})
    assert run.rc != 0
    assert "don't match any configuration option" in " ".join(run.output.split())
    assert (node.ssh("cat %s" % DAEMON_JSON).stdout, started(node)) == (before, since)
