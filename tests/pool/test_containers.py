# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Users' containers on a golden node: old ones are named, and restarted by consent alone; and who keeps his GPUs when
systemd reloads, by a real reload.
"""

from __future__ import annotations

import typing as t

import pytest
from poollib import Node, Pool, Run

pytestmark = pytest.mark.engines

#: A driver that the node does not have. Its one file is there while a container is given it.
OLD = "580.95.05"
DRIVER = "580.159.03"
FOLDER = "/usr/lib/x86_64-linux-gnu"
SPEC = "/var/run/cdi/nvidia.yaml"

CDI = "--runtime runc --device nvidia.com/gpu=all"
#: The hook, as docker run --gpus has it before Docker 29.
HOOK = "--runtime runc --gpus all"


def start(node: Node, name: str, options: str) -> None:
    """A container of the bundle's image that does nothing, and holds no device open."""
    node.ssh(
        "docker run --detach --name %s --network none --entrypoint sleep %s "
        "$(docker image ls --digests --format '{{.Repository}}@{{.Digest}}' | head -n 1) infinity" % (name, options)
    )


def start_old(node: Node, name: str) -> None:
    """One that was given its files by CDI while another driver was installed: the file behind is gone since."""
    library = "%s/libcuda.so." % FOLDER
    node.ssh("cp %s%s %s%s" % (library, DRIVER, library, OLD))
    node.ssh("sed -i 's/libcuda[.]so[.]%s/libcuda.so.%s/g' %s" % (DRIVER, OLD, SPEC))
    start(node, name, CDI)
    node.ssh("rm %s%s && systemctl restart nvidia-cdi-refresh.service" % (library, OLD))


def started_at(node: Node, name: str) -> str:
    return node.ssh("docker container inspect --format '{{.State.StartedAt}}' %s" % name).stdout.strip()


def holds(node: Node, name: str) -> str:
    """What stands in the mounts of its first process of libcuda."""
    pid = node.ssh("docker container inspect --format '{{.State.Pid}}' %s" % name).stdout.strip()
    return node.ssh("grep libcuda /proc/%s/mountinfo" % pid, check=False).stdout


def is_denied(node: Node, name: str) -> bool:
    """Whether the kernel lets nobody in the container open the driver's control node."""
    said = node.ssh("docker exec %s sh -c '( : <> /dev/nvidiactl ) 2>&1'" % name, check=False)
    return "Operation not permitted" in said.stdout


def findings(run: Run, node: Node, check: str) -> t.Dict[str, t.Dict[str, t.Any]]:
    """What the check says that is no pass, by the name of the container or the way."""
    return {f["entity"].split()[0]: f for f in run.report[node.name]["findings"] if f["id"] == check}


def test_old_containers_are_named_and_restarted_by_consent_and_no_others(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    start_old(node, "old")
    start(node, "well", CDI)
    node.ssh("cp %s/libcuda.so.%s /root/libcuda.so.%s" % (FOLDER, DRIVER, OLD))
    start(node, "own", "--volume /root/libcuda.so.%s:/opt/libcuda.so.1" % OLD)
    before = {name: started_at(node, name) for name in ("old", "well", "own")}
    assert "libcuda.so.%s//deleted" % OLD in holds(node, "old")

    looked = golden_a10.verify()
    assert looked.rc == 0, looked.output
    assert looked.report[node.name]["golden"], "a user's container takes no gold away"
    named = findings(looked, node, "container_runtime.containers")
    assert set(named) == {"old", "own"}
    assert OLD in named["old"]["cause"]
    assert "docker_allow_container_restart=true" in named["old"]["fix"]
    assert named["own"]["repair"] == "manual"
    assert "Container old" in looked.output

    left = golden_a10.site()
    assert (left.rc, left.recap(node.name)["changed"]) == (0, 0), left.output
    assert {name: started_at(node, name) for name in before} == before

    run = golden_a10.site(docker_allow_container_restart=True)
    assert run.rc == 0, run.output
    assert node.is_golden()
    after = {name: started_at(node, name) for name in before}
    assert {name for name in before if after[name] != before[name]} == {"old"}
    assert DRIVER in holds(node, "old")
    assert OLD not in holds(node, "old")
    assert set(findings(run, node, "container_runtime.containers")) == {"own"}

    again = golden_a10.site(docker_allow_container_restart=True)
    assert (again.rc, again.recap(node.name)["changed"]) == (0, 0), again.output


def test_a_run_proves_the_reload_before_it_marks(golden_a10: Pool) -> None:
    """The run that made the node golden had no user's container in its way."""
    (node,) = golden_a10.nodes
    mark = node.mark()
    assert mark is not None
    assert mark["not_proven"] == []
    assert node.ssh("docker ps --all --quiet").stdout == "", "the probe's containers are gone"


def test_a_reload_takes_the_gpus_from_the_hooks_container(golden_bookworm: Pool) -> None:
    """Case 017, with systemd 252. It is said before it happens."""
    (node,) = golden_bookworm.nodes
    start(node, "hook", HOOK)
    assert not is_denied(node, "hook")
    looked = golden_bookworm.verify()
    assert looked.report[node.name]["golden"], looked.output
    assert set(findings(looked, node, "container_runtime.behind_systemd")) == {"hook"}

    node.ssh("systemctl daemon-reload")
    assert is_denied(node, "hook")
    node.ssh("docker restart --time 0 hook")
    assert not is_denied(node, "hook"), "a new start has them again"


def test_a_reload_leaves_the_gpus_to_the_container_of_cdi(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    start(node, "cdi", CDI)
    assert findings(golden_a10.verify(), node, "container_runtime.behind_systemd") == {}
    node.ssh("systemctl daemon-reload")
    assert not is_denied(node, "cdi")


def test_a_reload_waits_for_consent_while_a_container_has_gpus(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    start(node, "busy", CDI)
    golden_a10.write_inventory({"device_access_users": ["alice"]})
    run = golden_a10.site()
    assert run.rc == 0, run.output
    mark = node.mark()
    assert mark is not None
    (said,) = mark["not_proven"]
    assert said.startswith("container_runtime.daemon_reload:")
    assert "busy" in said
    assert said in node.fact()["not_proven"]

    proven = golden_a10.site(golden_allow_daemon_reload=True)
    assert proven.rc == 0, proven.output
    mark = node.mark()
    assert mark is not None
    assert (mark["state"], mark["not_proven"]) == ("golden", [])
    assert not is_denied(node, "busy")
    again = golden_a10.site(golden_allow_daemon_reload=True)
    assert (again.rc, again.recap(node.name)["changed"]) == (0, 0), again.output


def test_the_hook_under_systemds_control_groups_is_found_by_a_look(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    node.ssh("sed -i 's/^mode = .*/mode = \"legacy\"/' /etc/nvidia-container-runtime/config.toml")
    looked = golden_a10.verify()
    assert looked.rc != 0
    assert looked.report[node.name]["layer"] == "container_runtime", looked.output
    (finding,) = findings(looked, node, "container_runtime.cgroup_driver").values()
    assert (finding["repair"], "sets the mode of the nvidia runtime to auto" in finding["fix"]) == ("roles", True)


def test_links_in_dev_char_are_there_after_a_boot_and_come_back(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    links = 'for n in nvidia0 nvidiactl nvidia-uvm; do find /dev/char -lname "*/$n" | grep -q . || echo $n; done'
    assert node.ssh(links).stdout == ""
    node.ssh("rm /dev/char/195:0; ln -sfn ../null /dev/char/195:255")
    looked = golden_a10.verify()
    assert set(findings(looked, node, "device_nodes.dev_char")) == {"/dev/nvidia0", "/dev/nvidiactl"}
    assert not node.is_golden(), "the local fact sees it too"
    mended = golden_a10.site()
    assert mended.rc == 0, mended.output
    assert node.ssh(links).stdout == ""


def test_with_the_runc_of_debian_12_the_links_decide(golden_bookworm: Pool) -> None:
    """1.1.5 does not tell systemd of a device whose link is missing when the container is created."""
    (node,) = golden_bookworm.nodes
    runtime = "--runtime nvidia --env NVIDIA_VISIBLE_DEVICES=all"
    start(node, "linked", runtime)
    node.ssh("find /dev/char -lname '*nvidia*' -delete")
    start(node, "bare", runtime)
    looked = golden_bookworm.verify()
    assert "/dev/nvidia0" in findings(looked, node, "device_nodes.dev_char")
    assert golden_bookworm.site().rc == 0
    assert set(findings(golden_bookworm.verify(), node, "container_runtime.behind_systemd")) == {"bare"}

    node.ssh("systemctl daemon-reload")
    assert is_denied(node, "bare")
    assert not is_denied(node, "linked")
