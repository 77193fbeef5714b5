# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the docker role derives from a look before it touches an engine, with the real templating."""

from __future__ import annotations

import dataclasses
import pathlib
import typing as t

import pytest
from ansible.parsing.dataloader import DataLoader

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Evidence, Package, Reading, to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.docker import pinned
from ansible_collections.goldennode.gpu.plugins.module_utils.registry import parse
from ansible_collections.goldennode.gpu.tests.unit import actions, healthy

VARIABLES = pathlib.Path(__file__).parents[3] / "roles" / "docker" / "vars" / "main.yml"
CE = {
    "docker-ce": "5:26.1.4-1~debian.13~trixie",
    "docker-ce-cli": "5:26.1.4-1~debian.13~trixie",
    "containerd.io": "1.7.24-1",
}
WANTED = healthy.desired(of_lock=healthy.lock(docker={"version": "26.1.4", "packages": CE}))
NODE = healthy.evidence("a10", WANTED)


def derived(name: str, evidence: Evidence = NODE, **registered: t.Any) -> t.Any:
    variables = actions.trusted(DataLoader().load_from_file(str(VARIABLES)))
    variables["__goldennode_desired"] = to_plain(registered.pop("wanted", WANTED))
    variables["__goldennode_look"] = {"evidence": to_plain(evidence)}
    variables["docker_registries"] = []
    variables.update(registered)
    return actions.with_filters(variables).template(variables[name])


def having(evidence: Evidence, gone: t.Sequence[str] = (), **versions: str) -> Evidence:
    """The node with other versions; ``_`` in a name stands for ``-``."""
    packages = {name: package for name, package in (evidence.packages.value or {}).items() if name not in gone}
    for name, version in versions.items():
        name = name.replace("_", "-").replace("containerd-io", "containerd.io").replace("docker-io", "docker.io")
        packages[name] = Package(name, version, held=True)
    return healthy.known(evidence, packages=packages)


def engine(evidence: Evidence, **fields: t.Any) -> Evidence:
    return healthy.known(evidence, docker=dataclasses.replace(evidence.docker.value, **fields))


OLD_CE = having(NODE, docker_ce="5:26.1.3-1", docker_ce_cli="5:26.1.3-1")
LIVE = {"live_restore": True}


def test_a_node_as_it_is_wanted_replaces_nothing():
    assert derived("docker_replaced") == []
    assert not derived("docker_stops_containers")


def test_a_package_that_lacks_its_hold_is_not_replaced():
    packages = {name: dataclasses.replace(one, held=False) for name, one in (NODE.packages.value or {}).items()}
    assert derived("docker_replaced", healthy.known(NODE, packages=packages)) == []


@pytest.mark.parametrize(
    ("evidence", "bound", "stops"),
    [
        pytest.param(OLD_CE, "", True, id="another engine"),
        pytest.param(engine(OLD_CE, **LIVE, version="26.1.3"), "", False, id="live-restore, a patch release"),
        pytest.param(engine(OLD_CE, **LIVE, version="26.0.2"), "", True, id="live-restore, another release"),
        pytest.param(engine(OLD_CE, **LIVE, version="20.10.24+dfsg1"), "", True, id="live-restore, another major"),
        pytest.param(having(NODE, containerd_io="1.7.20-1"), "multi-user.target\n", False, id="containerd alone"),
        pytest.param(having(NODE, containerd_io="1.7.20-1"), "docker.service\n\n", True, id="docker requires it"),
        pytest.param(having(NODE, containerd_io="1.7.20-1"), "\ndocker.service\n", True, id="docker is bound to it"),
        pytest.param(having(NODE, docker_ce_cli="5:26.1.3-1"), "", False, id="the client alone"),
        pytest.param(
            having(NODE, list(CE), docker_io="26.1.5+dfsg1-9", containerd="1.7.24~ds1-6"), "", True, id="another source"
        ),
        pytest.param(
            engine(having(NODE, list(CE), docker_io="26.1.4+dfsg1-9"), **LIVE, version="26.1.4"), "", True,
            id="another source, live-restore",
        ),
    ],
)  # fmt: skip
def test_what_stops_containers(evidence, bound, stops):
    assert derived("docker_replaced", evidence)
    assert derived("docker_stops_containers", evidence, docker_bound={"stdout": bound}) is stops


def test_an_engine_whose_installation_was_not_finished_is_replaced():
    packages = dict(NODE.packages.value or {})
    packages["docker-ce"] = dataclasses.replace(packages["docker-ce"], status="half-configured")
    assert derived("docker_stops_containers", healthy.known(NODE, packages=packages))


def test_a_bare_node_replaces_nothing():
    bare = having(healthy.known(NODE, docker=None), list(CE))
    assert derived("docker_replaced", bare) == []


def test_an_engine_that_runs_and_does_not_answer_may_have_containers():
    silent = dataclasses.replace(OLD_CE, docker=Reading.unknown("docker gave no answer within 15 s"))
    assert derived("docker_is_silent", silent)
    assert derived("docker_stops_containers", silent)
    units = dict(silent.units.value or {})
    units["docker.service"] = dataclasses.replace(units["docker.service"], active="inactive")
    assert not derived("docker_is_silent", healthy.known(silent, units=units))


def test_what_would_stay_behind_is_told_in_words():
    wanted = healthy.desired(docker_data_root="/srv/docker")
    root = dataclasses.replace(
        NODE.docker_root.value, wanted="/srv/docker", moves=True, left={"volumes": 1, "containers": 2}
    )
    evidence = healthy.known(NODE, docker_root=root)
    assert derived("docker_root_wanted", evidence, wanted=wanted) == "/srv/docker"
    assert derived("docker_moves", evidence, wanted=wanted)
    assert derived("docker_left", evidence, wanted=wanted) == "containers: 2, volumes: 1"
    assert derived("docker_root_wanted") == ""
    unread = dataclasses.replace(NODE, docker_root=Reading.unknown("no answer"))
    assert not derived("docker_moves", unread)
    assert derived("docker_left", unread) == ""


@pytest.mark.parametrize(
    ("reference", "registry"),
    [
        ("vendor.testbed:5000/cuda:13.0.1-base", "vendor.testbed:5000"),
        ("nvcr.io/nvidia/cuda:13.0", "nvcr.io"),
        ("localhost/cuda:13.0", "localhost"),
        ("nvidia/cuda:13.0", "docker.io"),
        ("ubuntu:24.04", "docker.io"),
        ("docker.io/nvidia/cuda:13.0", "docker.io"),
        ("index.docker.io/nvidia/cuda:13.0", "docker.io"),
    ],
)
def test_the_login_is_that_of_the_images_registry(reference, registry):
    wanted = healthy.desired(of_lock=healthy.lock(image={"reference": reference}))
    logins = [{"registry": name, "username": name, "password": "x"} for name in ("other.example", registry)]
    assert derived("docker_registry", wanted=wanted) == registry
    assert derived("docker_login", wanted=wanted, docker_registries=logins)["username"] == registry
    assert derived("docker_login", wanted=wanted, docker_registries=logins[:1]) == {}
    assert derived("docker_login", wanted=wanted) == {}
    # What resolves a lock and what starts a container read a reference in the same way.
    assert {"registry-1.docker.io": "docker.io"}.get(parse(reference).host, parse(reference).host) == registry
    assert derived("docker_image", wanted=wanted) == pinned(wanted.lock["image"])
