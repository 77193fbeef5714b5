# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where Docker keeps its data: read off files, judged against what is wanted, and never lost at a reboot unsaid."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    Desired,
    DockerEngine,
    DockerRoot,
    Finding,
    Mounted,
    Reading,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import mountinfo
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import docker as probe
from ansible_collections.goldennode.gpu.tests.unit import healthy, rooted

PLAIN = healthy.desired()
ASKED = healthy.desired(docker_data_root="/srv/docker")


def judged(of_wanted: Desired, **fields: t.Any) -> t.Tuple[verdict.Verdict, t.List[Finding]]:
    evidence = healthy.evidence("a10", of_wanted)
    root = dataclasses.replace(evidence.docker_root.value, **fields)  # type: ignore[type-var]
    found = verdict.run(of_wanted, healthy.known(evidence, docker_root=root), 1)
    return found, [f for f in found.findings if f.id == "container_runtime.data_root"]


@pytest.mark.parametrize("wanted", [PLAIN, ASKED], ids=["not asked", "asked"])
def test_a_directory_on_a_disk(wanted: Desired) -> None:
    found, (finding,) = judged(wanted)
    assert found.golden
    assert finding.status == "pass"


@pytest.mark.parametrize(
    ("file_system", "device", "said"),
    [
        ("tmpfs", "tmpfs", "in memory"),
        ("ramfs", "none", "in memory"),
        ("ext4", "/dev/ram0", "in memory"),
        ("ext4", "/dev/zram1", "in memory"),
        ("overlay", "overlay", "an overlay, as a live system"),
    ],
)
@pytest.mark.parametrize(("wanted", "required"), [(PLAIN, False), (ASKED, True)], ids=["not asked", "asked"])
def test_what_a_reboot_empties(file_system: str, device: str, said: str, wanted: Desired, required: bool) -> None:
    on = Mounted("/", file_system, device)
    found, (finding,) = judged(wanted, on=on, wanted_on=on if required else None)
    assert said in finding.cause
    assert finding.cause.startswith("Docker keeps images")
    assert "docker_data_root" in finding.fix
    assert (finding.status, finding.required, finding.repair) == ("fail", required, "manual")
    assert found.golden is not required


MEMORY = Mounted("/scratch", "tmpfs", "tmpfs")


def test_a_place_that_a_reboot_empties_is_refused_before_docker_is_there() -> None:
    _found, (finding,) = judged(ASKED, path="/var/lib/docker", moves=True, wanted_on=MEMORY)
    assert finding.entity == "/srv/docker"
    assert finding.cause == (
        "Docker would keep images, containers and volumes in /srv/docker, and that is in memory: a reboot empties it."
    )
    evidence = healthy.evidence("a10", ASKED)
    root = dataclasses.replace(evidence.docker_root.value, wanted_on=MEMORY)  # type: ignore[type-var]
    bare = healthy.known(evidence, docker_root=root, docker=None, packages={})
    assert [f.id for f in verdict.refusals(ASKED, bare, 1)] == ["container_runtime.data_root"]
    assert verdict.refusals(ASKED, evidence, 1) == ()
    unread = dataclasses.replace(evidence, docker_root=Reading.unknown("Input/output error"))
    assert [f.status for f in verdict.refusals(ASKED, unread, 1)] == ["unknown"]
    nobody_asked = dataclasses.replace(healthy.evidence("a10"), docker_root=Reading.unknown("Input/output error"))
    assert verdict.refusals(PLAIN, nobody_asked, 1) == ()


def test_a_place_that_is_left_may_be_in_memory() -> None:
    """As on a live system: the way out of it is a data-root on a disk."""
    _found, (finding,) = judged(ASKED, path="/var/lib/docker", moves=True, on=MEMORY)
    assert (finding.repair, finding.expected) == ("roles", "/srv/docker")


def test_an_engine_that_keeps_its_data_elsewhere() -> None:
    found, (finding,) = judged(ASKED, path="/var/lib/docker", moves=True, left={"images": 3, "containers": 1})
    assert not found.golden
    assert (finding.expected, finding.actual, finding.repair) == ("/srv/docker", "/var/lib/docker", "roles")
    assert "docker_allow_data_root_change=true, as /var/lib/docker holds containers: 1, images: 3." in finding.fix
    _found, (finding,) = judged(ASKED, path="/var/lib/docker", moves=True)
    assert "docker_allow_data_root_change" not in finding.fix


def test_a_data_root_behind_a_link() -> None:
    found, (finding,) = judged(ASKED, wanted="/mnt/volume/docker", path="/mnt/volume/docker")
    assert not found.golden
    assert finding.fix == "Set docker_data_root to /mnt/volume/docker."
    assert finding.repair == "manual"


@pytest.mark.parametrize(("wanted", "golden"), [(PLAIN, True), (ASKED, False)])
def test_what_is_not_known_passes_only_where_nobody_asked(wanted: Desired, golden: bool) -> None:
    evidence = healthy.unreadable(healthy.evidence("a10", wanted), "docker_root")
    found = verdict.run(wanted, evidence, 1)
    assert found.golden is golden
    assert found.not_proven if golden else found.first_broken == "container_runtime"


def test_without_docker_the_engine_is_the_finding() -> None:
    evidence = healthy.known(healthy.evidence("a10", ASKED), docker=None)
    found = [f for f in verdict.run(ASKED, evidence, 1).findings if f.id == "container_runtime.data_root"]
    assert [f.status for f in found] == ["skip"]


# --- mountinfo ----------------------------------------------------------------------------------------------------


MOUNTS = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
23 22 0:5 / /dev rw - devtmpfs udev rw
40 22 8:17 / /srv rw master:3 propagate_from:2 - xfs /dev/sdb1 rw
41 40 0:61 / /srv/docker rw - tmpfs tmpfs rw
42 40 8:33 / /srv/docker rw - ext4 /dev/sdc1 rw
43 22 8:49 / /mnt/with\040blank rw - ext4 /dev/disk/by-label/a\134b rw
44 22 0:70 / /srv/dock rw - nfs4 filer:/x rw
not a line of mountinfo
"""


@pytest.mark.parametrize(
    ("path", "mount"),
    [
        ("/", ("/", "ext4", "/dev/sda1")),
        ("/var/lib/docker", ("/", "ext4", "/dev/sda1")),
        ("/srv", ("/srv", "xfs", "/dev/sdb1")),
        ("/srv/dockers", ("/srv", "xfs", "/dev/sdb1")),
        ("/srv/docker", ("/srv/docker", "ext4", "/dev/sdc1")),
        ("/srv/docker/overlay2", ("/srv/docker", "ext4", "/dev/sdc1")),
        ("/srv/dock/er", ("/srv/dock", "nfs4", "filer:/x")),
        ("/mnt/with blank/x", ("/mnt/with blank", "ext4", "/dev/disk/by-label/a\\b")),
    ],
)
def test_the_mount_of_a_path(path: str, mount: t.Tuple[str, str, str]) -> None:
    found = mountinfo.containing(MOUNTS, path).value
    assert found is not None
    assert found[1:] == mount


def test_no_mount_is_not_known() -> None:
    assert "names no mount for /x" in (mountinfo.containing("", "/x").error or "")


# --- the probe ----------------------------------------------------------------------------------------------------


class Node(rooted.Rooted):
    def __init__(self, root: t.Any) -> None:
        self.root = root

    def realpath(self, path: str) -> Reading[str]:
        found = super().realpath(self.real(path))
        return Reading(found.value[len(str(self.root)) :]) if found.value else found


@pytest.fixture
def node(tmp_path: t.Any) -> Node:
    found = Node(tmp_path.resolve())
    found.write("/proc/self/mountinfo", MOUNTS.encode())
    return found


def read(node: Node, running: str = "/var/lib/docker", wanted: t.Optional[Desired] = ASKED) -> DockerRoot:
    found = probe.root(node, Reading(DockerEngine("26.1.4", root_dir=running)), Reading({}), wanted)
    assert found.value is not None, found.error
    return found.value


def fill(node: Node, root: str) -> None:
    for path in (
        "containers/0123/config.v2.json",
        "containers/4567/config.v2.json",
        "volumes/data/_data/x",
        "volumes/metadata.db",
        "image/overlay2/imagedb/content/sha256/0123",
        "image/overlay2/repositories.json",
    ):
        node.write("%s/%s" % (root, path), b"{}")


def test_what_would_stay_behind_is_counted_where_the_root_moves(node: Node) -> None:
    fill(node, "/var/lib/docker")
    found = read(node)
    assert (found.path, found.wanted, found.moves) == ("/var/lib/docker", "/srv/docker", True)
    assert found.left == {"containers": 2, "volumes": 1, "images": 1}
    assert found.on == Mounted("/", "ext4", "/dev/sda1")
    assert found.wanted_on == Mounted("/srv/docker", "ext4", "/dev/sdc1")


def test_an_empty_root_leaves_nothing_behind(node: Node) -> None:
    assert (read(node).moves, read(node).left) == (True, {})


@pytest.mark.parametrize("wanted", [ASKED, PLAIN, None])
def test_nothing_is_counted_where_nothing_moves(node: Node, wanted: t.Optional[Desired]) -> None:
    fill(node, "/srv/docker")
    found = read(node, "/srv/docker", wanted)
    assert (found.moves, found.left, found.on.file_system) == (False, {}, "ext4")
    assert (found.wanted_on is None) is (wanted is not ASKED)


def test_with_user_namespaces_the_daemon_says_a_directory_below(node: Node) -> None:
    assert not read(node, "/srv/docker/165536.165536").moves
    assert read(node, "/srv/docker/old").moves


def test_a_link_is_followed(node: Node, tmp_path: t.Any) -> None:
    (tmp_path / "mnt" / "volume").mkdir(parents=True)
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv" / "docker").symlink_to(tmp_path.resolve() / "mnt" / "volume")
    found = read(node, "/mnt/volume")
    assert (found.wanted, found.moves) == ("/mnt/volume", False)


def test_a_link_further_up_is_followed_where_the_last_part_is_not_there_yet(node: Node, tmp_path: t.Any) -> None:
    (tmp_path / "mnt" / "volume").mkdir(parents=True)
    (tmp_path / "srv").symlink_to(tmp_path.resolve() / "mnt" / "volume")
    found = read(node)
    assert found.wanted == "/mnt/volume/docker"
    assert found.wanted_on == Mounted("/", "ext4", "/dev/sda1")


def test_without_an_answer_daemon_json_says_where_the_data_is(node: Node) -> None:
    fill(node, "/data")
    silent: Reading[DockerEngine] = Reading.unknown("no answer")
    found = probe.root(node, silent, Reading({"data-root": "/data"}), ASKED)
    assert found.value is not None
    assert (found.value.path, found.value.left["containers"]) == ("/data", 2)
    assert probe.root(node, silent, Reading({}), ASKED).value == read(node)
    unread = probe.root(node, silent, Reading.unknown("line 3: no JSON"), ASKED)
    assert unread.error == "no engine answers, and daemon.json cannot be read: line 3: no JSON"
