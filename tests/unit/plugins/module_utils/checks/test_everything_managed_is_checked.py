# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing that a role manages is without a check: each thing is broken alone on a healthy node, and the verdict falls.

The fast path of site.yml rests on this: a host whose verdict is golden is not taken through the roles.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks.registry import CHECKS
from ansible_collections.goldennode.gpu.plugins.module_utils.model import LAYERS, Evidence, Reading
from ansible_collections.goldennode.gpu.tests.unit import healthy

ARCHITECTURE = pathlib.Path(__file__).resolve().parents[5] / "docs" / "architecture.md"

WANTED = healthy.desired("h100x8")
NODE = healthy.evidence("h100x8", WANTED)
GPUS = healthy.PROFILES["h100x8"]
#: With what only the distribution's own driver needs.
UBUNTU = healthy.desired(of_lock=healthy.lock(platform="ubuntu-24.04-x86_64", driver={"source": "distro"}))
#: With the units that a toolkit before 1.18 lacks.
OLD_TOOLKIT = healthy.desired(of_lock=healthy.lock(toolkit={"version": "1.17.8"}))

LAYER_OF_ROLE = {
    "packages": "packages",
    "kernel": "host_driver",
    "driver": "host_driver",
    "device_access": "device_nodes",
    "docker": "container_runtime",
    "golden": "policy",
    "toolkit": "container_runtime",
}


def judged(evidence: Evidence) -> verdict.Verdict:
    return verdict.run(WANTED, evidence, GPUS)


def broken_at(evidence: Evidence) -> t.Tuple[t.Optional[str], t.Set[str]]:
    found = judged(evidence)
    assert not found.golden
    return found.first_broken, {finding.id for finding in found.broken}


def section(heading: str) -> str:
    text = ARCHITECTURE.read_text()
    return text.split("\n%s\n" % heading)[1].split("\n## ")[0].split("\n### ")[0]


def documented_files() -> t.List[t.Tuple[str, str]]:
    return re.findall(r"^\| `(/[^`]+)` \| (\w+) \|", section("### Managed files (`Desired.files`)"), re.MULTILINE)


def documented_checks() -> t.Set[str]:
    rows = re.findall(r"^\| (\w+) \| (`.+`) \|$", section("## Check ids"), re.MULTILINE)
    return {check for _layer, checks in rows for check in re.findall(r"`([^`]+)`", checks)}


@pytest.mark.parametrize("profile", healthy.PROFILES)
@pytest.mark.parametrize("scope", ["full", "fact"])
def test_a_node_that_is_as_wanted_is_golden(profile: str, scope: str) -> None:
    wanted = healthy.desired(profile)
    found = verdict.run(wanted, healthy.evidence(profile, wanted, scope), healthy.PROFILES[profile])
    assert found.golden, [finding for finding in found.findings if finding.status != "pass"]
    assert found.first_broken is None
    assert found.not_proven == ()


def test_the_documented_files_are_the_managed_ones() -> None:
    documented = documented_files()
    assert documented
    rows = [(re.escape(path).replace("NAME", "[a-z0-9-]+"), role) for path, role in documented]
    managed = {**WANTED.files, **UBUNTU.files, **OLD_TOOLKIT.files}
    for path, file in managed.items():
        assert [role for pattern, role in rows if re.fullmatch(pattern, path)] == [file.role], path
    assert [p for p, _role in rows if not any(re.fullmatch(p, path) for path in managed)] == []


def test_the_documented_checks_are_the_registered_ones() -> None:
    assert documented_checks() == {check.id for check in CHECKS}


def test_each_check_is_registered_once_and_in_the_order_of_layers() -> None:
    ids = [check.id for check in CHECKS]
    assert len(ids) == len(set(ids))
    layers = [LAYERS.index(check.layer) for check in CHECKS]
    assert layers == sorted(layers)


def test_each_need_of_a_check_is_a_field_of_the_evidence() -> None:
    fields = {field.name for field in dataclasses.fields(Evidence)}
    for check in CHECKS:
        assert set(check.needs) <= fields, check.id
        assert set(check.interprets) <= set(check.needs), check.id


@pytest.mark.parametrize("path", WANTED.files)
@pytest.mark.parametrize("harm", ["gone", "edited", "mode", "owner"])
@pytest.mark.parametrize("scope", ["full", "fact"])
def test_a_managed_file(path: str, harm: str, scope: str) -> None:
    files = dict(NODE.files.value or {})
    if harm == "gone":
        del files[path]
    elif harm == "edited":
        files[path] = dataclasses.replace(files[path], sha256="f" * 64)
    elif harm == "mode":
        files[path] = dataclasses.replace(files[path], mode=0o666)
    else:
        files[path] = dataclasses.replace(files[path], uid=1000)
    evidence = healthy.known(NODE, files=files)
    layer, ids = broken_at(evidence if scope == "full" else healthy.cheap(evidence))
    assert layer == LAYER_OF_ROLE[WANTED.files[path].role]
    assert ids == {"%s.files" % layer}


@pytest.mark.parametrize("name", NODE.packages.value or {})
@pytest.mark.parametrize(("harm", "check"), [
    ("gone", "packages.versions"),
    ("moved", "packages.versions"),
    ("half installed", "packages.versions"),
    ("not held", "packages.holds"),
])  # fmt: skip
@pytest.mark.parametrize("scope", ["full", "fact"])
def test_a_package_of_the_lock(name: str, harm: str, check: str, scope: str) -> None:
    packages = dict(NODE.packages.value or {})
    if harm == "gone":
        del packages[name]
    elif harm == "moved":
        packages[name] = dataclasses.replace(packages[name], version="999.1-1")
    elif harm == "half installed":
        packages[name] = dataclasses.replace(packages[name], status="half-configured")
    else:
        packages[name] = dataclasses.replace(packages[name], held=False)
    evidence = healthy.known(NODE, packages=packages)
    assert broken_at(evidence if scope == "full" else healthy.cheap(evidence)) == ("packages", {check})


@pytest.mark.parametrize("path", [p for p, file in WANTED.files.items() if file.path.endswith(".sources")])
@pytest.mark.parametrize("scope", ["full", "fact"])
def test_a_second_entry_of_a_repository_of_ours(path: str, scope: str) -> None:
    ours = next(entry for entry in NODE.sources.value or () if entry.file == path)
    other = dataclasses.replace(ours, file="/etc/apt/sources.list.d/other.sources", signed_by="", managed=False)
    evidence = healthy.known(NODE, sources=(*(NODE.sources.value or ()), other))
    assert broken_at(evidence if scope == "full" else healthy.cheap(evidence)) == ("packages", {"packages.sources"})


def test_the_packages_of_a_node_with_an_nvswitch_are_all_of_the_lock() -> None:
    assert set(NODE.packages.value or {}) == {
        name
        for axis in ("kernel", "driver", "fabric_manager", "toolkit", "docker")
        for name in WANTED.lock[axis]["packages"]
    }


@pytest.mark.parametrize("unit", [*WANTED.units, "nvidia-fabricmanager.service"])
def test_a_wanted_unit(unit: str) -> None:
    states = {"active": ("active", "failed"), "enabled": ("enabled", "disabled")}
    for wanted in WANTED.units.get(unit, "active+enabled").split("+"):
        field, value = states[wanted]
        units = dict(NODE.units.value or {})
        units[unit] = dataclasses.replace(units[unit], **{field: value})
        layer, _ids = broken_at(healthy.known(NODE, units=units))
        expected = {"goldennode-agent.service": "policy", "docker.service": "container_runtime"}
        expected.update({"containerd.service": "container_runtime", "nvidia-cdi-refresh.path": "container_runtime"})
        expected["nvidia-cdi-refresh.service"] = "container_runtime"
        assert layer == expected.get(unit, "host_driver")


def leaves(settings: t.Mapping[str, t.Any], path: t.Tuple[str, ...] = ()) -> t.Iterator[t.Tuple[str, ...]]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


@pytest.mark.parametrize("path", list(leaves(WANTED.toolkit)), ids=".".join)
@pytest.mark.parametrize("harm", ["gone", "changed", "of another type"])
@pytest.mark.parametrize("scope", ["full", "fact"])
def test_a_wanted_setting_of_the_toolkit(path: t.Tuple[str, ...], harm: str, scope: str) -> None:
    node = healthy.evidence("h100x8", WANTED)
    config: t.Any = node.toolkit_config.value
    for key in path[:-1]:
        config = config[key]
    if harm == "gone":
        del config[path[-1]]
    elif harm == "changed":
        config[path[-1]] = not config[path[-1]] if isinstance(config[path[-1]], bool) else "cdi"
    else:
        config[path[-1]] = [config[path[-1]]]
    found = broken_at(node if scope == "full" else healthy.cheap(node))
    assert found == ("container_runtime", {"container_runtime.toolkit_config"})


@pytest.mark.parametrize("path", list(leaves(WANTED.daemon)), ids=".".join)
@pytest.mark.parametrize("harm", ["gone", "changed"])
@pytest.mark.parametrize("scope", ["full", "fact"])
def test_a_wanted_setting_of_the_daemon(path: t.Tuple[str, ...], harm: str, scope: str) -> None:
    node = healthy.evidence("h100x8", WANTED)
    config: t.Any = node.docker_config.value
    for key in path[:-1]:
        config = config[key]
    if harm == "gone":
        del config[path[-1]]
    else:
        config[path[-1]] = "something else"
    evidence = node if scope == "full" else healthy.cheap(node)
    assert broken_at(evidence) == ("container_runtime", {"container_runtime.daemon_config"})


def test_a_setting_of_the_users_own_is_no_business_of_ours() -> None:
    config = {**(NODE.docker_config.value or {}), "debug": True, "log-opts": {"max-size": "10m", "max-file": "3"}}
    assert judged(healthy.known(NODE, docker_config=config)).golden


@pytest.mark.parametrize("user", ["alice", "bob"])
@pytest.mark.parametrize("scope", ["full", "fact"])
def test_a_wanted_member_of_the_group(user: str, scope: str) -> None:
    members = tuple(name for name in ("alice", "bob") if name != user)
    evidence = healthy.known(NODE, groups={"video": (44, members)})
    assert broken_at(evidence if scope == "full" else healthy.cheap(evidence)) == (
        "device_nodes",
        {"device_nodes.users"},
    )


@pytest.mark.parametrize("name", NODE.driver_params.value or {})
@pytest.mark.parametrize("scope", ["full", "fact"])
def test_a_parameter_of_the_driver(name: str, scope: str) -> None:
    params = {**(NODE.driver_params.value or {}), name: "7"}
    evidence = healthy.known(NODE, driver_params=params)
    layer, ids = broken_at(evidence if scope == "full" else healthy.cheap(evidence))
    assert layer == "device_nodes"
    assert "device_nodes.params" in ids


@pytest.mark.parametrize("path", [n.path for n in NODE.device_nodes.value or () if "caps" not in n.path])
@pytest.mark.parametrize(("harm", "check"), [("gone", ""), ("mode", "modes"), ("group", "modes"), ("number", "")])
@pytest.mark.parametrize("scope", ["full", "fact"])
def test_a_device_node(path: str, harm: str, check: str, scope: str) -> None:
    changes = {"mode": {"mode": 0o600}, "group": {"gid": 0}, "number": {"major": 99}, "gone": {}}[harm]
    nodes = [
        dataclasses.replace(node, **changes) if node.path == path else node
        for node in NODE.device_nodes.value or ()
        if harm != "gone" or node.path != path
    ]
    evidence = healthy.known(NODE, device_nodes=tuple(nodes))
    expected = "device_nodes." + (check or ("uvm" if "uvm" in path else "present"))
    assert broken_at(evidence if scope == "full" else healthy.cheap(evidence)) == ("device_nodes", {expected})


@pytest.mark.parametrize("path", [n.path for n in NODE.device_nodes.value or () if "caps" not in n.path])
@pytest.mark.parametrize("target", [None, "/dev/null", "missing"])
@pytest.mark.parametrize("scope", ["full", "fact"])
def test_a_link_of_a_device_node(path: str, target: t.Optional[str], scope: str) -> None:
    links = {**(NODE.dev_char.value or {}), path: target}
    if target == "missing":
        del links[path]
    evidence = healthy.known(NODE, dev_char=links)
    evidence = evidence if scope == "full" else healthy.cheap(evidence)
    assert broken_at(evidence) == ("device_nodes", {"device_nodes.dev_char"})


@pytest.mark.parametrize("field", [f for check in CHECKS for f in check.needs if f not in ("containers", "reloads")])
def test_what_cannot_be_read_never_passes(field: str) -> None:
    """Some are not needed for golden, and it is said that they were not looked at.

    And where the kernel has taken the module, nothing hangs on whether it would have refused another.
    """
    found = judged(healthy.unreadable(NODE, field))
    informational = {
        "kernel_log": "hardware.gpu_healthy: Errors of the GPUs (Xid) were not looked for.",
        "kept_packages": "packages.kept: kept_packages: kept_packages was unreadable",
        "docker_root": "container_runtime.data_root: docker_root: docker_root was unreadable",
        "docker_clients": "container_runtime.clients: docker_clients: docker_clients was unreadable",
        "pci_slots": "hardware.pcie_link: pci_slots: pci_slots was unreadable",
        "numa_nodes": "hardware.numa: numa_nodes: numa_nodes was unreadable",
        "load": "hardware.cpus: load: load was unreadable",
        "limits": "container_runtime.starved: limits: limits was unreadable",
        "cgroups": "container_runtime.cgroup_mode: cgroups: cgroups was unreadable",
        "engines": "container_runtime.engines: engines: engines was unreadable",
        "running_containers": "container_runtime.containers: running_containers: running_containers was unreadable",
        "image_environment": "image.environment: What the image itself sets that hides GPUs from its workloads was not "
        "looked for.",
    }
    if field in informational:
        assert found.golden
        assert found.not_proven[0] == informational[field]
    elif field == "secure_boot":
        assert found.golden
        assert not judged(healthy.unreadable(healthy.known(NODE, driver=None), field)).golden
    else:
        assert not found.golden


@pytest.mark.parametrize("way", NODE.containers)
@pytest.mark.parametrize("field", ["smi", "libraries", "device_nodes", "cuda"])
def test_what_cannot_be_read_in_a_container_never_passes(way: str, field: str) -> None:
    evidence = healthy.container(NODE, way, **{field: Reading.unknown("no answer")})
    layer, ids = broken_at(evidence)
    assert layer == "image"
    assert len(ids) == 1


@pytest.mark.parametrize("way", NODE.containers)
def test_a_container_that_was_not_looked_into_never_passes(way: str) -> None:
    left = {other: look for other, look in NODE.containers.items() if other != way}
    layer, ids = broken_at(dataclasses.replace(NODE, containers=left))
    assert (layer, ids) == ("container_runtime", {"container_runtime.injection"})
