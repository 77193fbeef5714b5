# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real engines and their daemon.json: 26 with CDI (Debian 13), and 20.10 without, where GPUs come by the hook."""

from __future__ import annotations

import json
import typing as t

import pytest
from poollib import PRIVATE_REGISTRY, REGISTRY, Node, Pool, bed

pytestmark = pytest.mark.engines

DAEMON_JSON = "/etc/docker/daemon.json"
OPTIONS: t.Dict[str, t.Any] = {"insecure-registries": [REGISTRY]}


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
    image = node.image()
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
    image = node.image()
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


# --- a registry that asks who pulls ----------------------------------------------------------------------------------

PASSWORD = "for-the-test-bed-only"
BOTH = {"docker_daemon_options": {"insecure-registries": [REGISTRY, PRIVATE_REGISTRY]}}


def login(password: str) -> t.Dict[str, t.Any]:
    return {**BOTH, "docker_registries": [{"registry": PRIVATE_REGISTRY, "username": "reader", "password": password}]}


def left_of_the_password(node: Node) -> str:
    """Files on the node with the password, as it is and as Docker's client and HTTP carry it; and the whole journal."""
    words = "-e %s -e %s" % (PASSWORD, "cmVhZGVyOmZvci10aGUtdGVzdC1iZWQtb25seQ")
    files = "grep -rIl --binary-files=text %s /run /etc /root /home /tmp /var/tmp /var/log /var/lib/goldennode" % words
    journal = "journalctl --no-pager --output cat | grep -F %s" % words
    return node.ssh("%s; %s; ls -d /run/goldennode-login-*" % (files, journal), check=False).stdout


def test_an_image_that_needs_a_login_is_resolved_and_pulled_with_it_and_nothing_stays(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    golden_a10.bundle.write_text(golden_a10.bundle.read_text().replace(REGISTRY, PRIVATE_REGISTRY))
    for lock in golden_a10.locks():
        lock.unlink()

    nobody = golden_a10.site(**BOTH)
    assert nobody.rc != 0
    said = " ".join(nobody.output.split())
    assert "may not be read without a login on %s. Set docker_registries (registry: " % PRIVATE_REGISTRY in said
    stranger = golden_a10.site(**login("guessed"))
    assert stranger.rc != 0
    assert "%s refuses the user reader" % PRIVATE_REGISTRY in " ".join(stranger.output.split())
    assert golden_a10.locks() == []

    run = golden_a10.site("-vvv", **login(PASSWORD))
    assert run.rc == 0, run.output
    assert node.is_golden()
    assert PRIVATE_REGISTRY in node.ssh("docker image ls").stdout
    assert PASSWORD not in run.output
    (lock,) = golden_a10.locks()
    assert PASSWORD not in lock.read_text()
    assert left_of_the_password(node) == ""
    again = golden_a10.site(**login(PASSWORD))
    assert (again.rc, again.recap(node.name)["changed"]) == (0, 0), again.output


def test_a_pull_with_a_wrong_password_is_told_and_leaves_nothing(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    (lock,) = golden_a10.locks()
    digest = json.loads(lock.read_text())["image"]["digest"]
    text = golden_a10.bundle.read_text()
    here = "  reference: %s/cuda:13.0.1-base\n" % REGISTRY
    assert here in text
    golden_a10.bundle.write_text(
        text.replace(here, "  reference: %s/cuda:13.0.1-base\n  digest: %s\n" % (PRIVATE_REGISTRY, digest))
    )
    lock.unlink()
    for variables, told in (
        (BOTH, "may not be pulled without a login. Set docker_registries"),
        (login("guessed-wrongly"), "to the user reader. Correct username and password for it in docker_registries"),
    ):
        run = golden_a10.site(**variables)
        assert run.rc != 0
        assert told in " ".join(run.output.split())
        assert not node.is_golden()
    assert node.ssh("ls -d /run/goldennode-login-*", check=False).stdout == ""
    assert "guessed-wrongly" not in run.output
    run = golden_a10.site(**login(PASSWORD))
    assert run.rc == 0, run.output
    assert node.is_golden()
    assert left_of_the_password(node) == ""


# --- Docker's data on a volume of its own ----------------------------------------------------------------------------


def volume(node: Node) -> None:
    """A volume that the node mounts at /srv at every boot: a part of the one disk that it has beside its overlay."""
    node.ssh(
        "mkdir -p /var/lib/docker/volume-of-its-own"
        " && echo '/var/lib/docker/volume-of-its-own /srv none bind,nofail 0 0' >> /etc/fstab"
        " && systemctl daemon-reload && systemctl start srv.mount"
    )


def root_of(node: Node) -> str:
    return node.ssh("docker info --format '{{.DockerRootDir}}'").stdout.strip()


@pytest.mark.parametrize("first", [False, True], ids=["with a lock", "without a lock"])
def test_a_data_root_that_a_reboot_empties_is_refused_before_anything_is_changed(golden_a10: Pool, first: bool) -> None:
    (node,) = golden_a10.nodes
    if first:
        for lock in golden_a10.locks():
            lock.unlink()
    node.ssh("mount -t tmpfs tmpfs /mnt")
    before, since = settings(node), started(node)
    for place, told in (("/mnt/docker", "that is in memory: a reboot empties it"), ("/opt/docker", "is an overlay")):
        run = golden_a10.site(docker_data_root=place, docker_allow_data_root_change=True)
        assert run.rc != 0
        assert told in " ".join(run.output.split()), run.output
        assert (settings(node), started(node)) == (before, since)
    assert not node.is_golden()
    node.ssh("umount /mnt")
    assert golden_a10.site().rc == 0
    assert node.is_golden()


def test_data_on_a_volume_of_its_own_is_there_after_a_reboot_and_docker_waits_for_the_volume(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    volume(node)
    wanted: t.Dict[str, t.Any] = {"docker_data_root": "/srv/docker"}
    refused = golden_a10.site(**wanted)
    assert refused.rc != 0
    assert "docker_allow_data_root_change=true" in refused.output
    assert root_of(node) == "/var/lib/docker"

    run = golden_a10.site(docker_allow_data_root_change=True, **wanted)
    assert run.rc == 0, run.output
    assert node.is_golden()
    assert root_of(node) == "/srv/docker"
    bed("reboot", node.name)
    node.wait("golden by the boot unit", node.is_golden)
    assert root_of(node) == "/srv/docker"
    again = golden_a10.site(**wanted)
    assert (again.rc, again.recap(node.name)["changed"]) == (0, 0), again.output

    # A volume that cannot be mounted (systemd would make a directory anew): Docker must not fill what is below it.
    node.ssh("cd /var/lib/docker && mv volume-of-its-own lost && touch volume-of-its-own")
    bed("reboot", node.name)
    # The boot unit looks at a Docker that does not answer, for as long as a look may take.
    node.ssh("systemctl is-system-running --wait", check=False, timeout=240)
    assert not node.is_golden()
    assert node.ssh("systemctl is-active docker", check=False).stdout.strip() != "active"
    assert node.ssh("ls -A /srv").stdout == ""
