# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a running Docker tells of its settings is believed; what it does not tell is neither in force nor not."""

from __future__ import annotations

import json

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.daemon_in_force import contradicted, judge, untold
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import docker_info
from ansible_collections.goldennode.gpu.tests.unit import fixtures

#: With these the recorded engines were started; the data root was a link.
OPTIONS = {
    "runtimes": {
        "nvidia": {"path": "nvidia-container-runtime", "args": ["--x"]},
        "mine": {"path": "/usr/sbin/runc", "runtimeArgs": ["--debug"]},
    },
    "default-runtime": "mine",
    "log-driver": "journald",
    "log-opts": {"tag": "x"},
    "live-restore": True,
    "registry-mirrors": ["https://mirror.example", "http://two.example:5000/"],
    "insecure-registries": ["10.1.2.3/8", "reg.example:5000", "http://plain.example"],
    "labels": ["b=2", "a=1"],
    "debug": True,
    "default-address-pools": [{"base": "10.201.3.4/16", "size": 24}],
    "userns-remap": "",
    "no-new-privileges": True,
    "selinux-enabled": False,
    "data-root": "/data/docker",
    "exec-opts": ["native.cgroupdriver=cgroupfs"],
    "storage-driver": "vfs",
}
NEWER = {
    "features": {"cdi": True, "buildkit": True},
    "cdi-spec-dirs": ["/etc/cdi", "/tmp/cdi"],
    "proxies": {"http-proxy": "http://u:p@proxy.example:3128", "no-proxy": "a,b"},
}
#: What no engine tells, or not so that it proves anything.
NEVER_TOLD = [("log-opts", "tag"), ("selinux-enabled",), ("data-root",)]


def info(name: str, **changes: object) -> dict:
    return dict(json.loads(fixtures.text(name)), **changes)


OLD = info("docker_info-20.10.24-options-debian12.json")
NEW = info("docker_info-26.1.5-options-debian13.json")


def told(answer: dict, **changes: object) -> dict:
    return docker_info.parse(json.dumps({**answer, **changes}), "", 0).value.told


@pytest.mark.parametrize(
    ("answer", "settings", "silent"),
    [
        pytest.param(OLD, OPTIONS, [("no-new-privileges",), *NEVER_TOLD], id="20.10"),
        pytest.param(
            NEW, {**OPTIONS, **NEWER}, [*NEVER_TOLD, ("features", "buildkit"), ("proxies", "http-proxy")], id="26.1"
        ),
    ],
)
def test_what_real_engines_tell_of_settings_that_are_in_force(answer, settings, silent):
    assert contradicted(told(answer), settings) == []
    assert sorted(untold(told(answer), settings)) == sorted(silent)


@pytest.mark.parametrize("answer", [OLD, NEW])
@pytest.mark.parametrize(
    "settings",
    [
        {"runtimes": {"other": {"path": "x"}}},
        {"runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime"}}},
        {"runtimes": {"nvidia": {"runtimeArgs": ["--x"]}}},
        {"runtimes": {"mine": {"runtimeArgs": []}}},
        {"default-runtime": "runc"},
        {"log-driver": "json-file"},
        {"live-restore": False},
        {"live-restore": "true"},
        {"registry-mirrors": []},
        {"registry-mirrors": ["http://two.example:5000", "https://mirror.example"]},
        {"insecure-registries": ["reg.example:5000"]},
        {"insecure-registries": ["10.0.0.0/8", "reg.example:5000", "plain.example", "more.example"]},
        {"labels": ["a=1"]},
        {"labels": "a=1"},
        {"debug": False},
        {"default-address-pools": []},
        {"default-address-pools": [{"base": "10.201.0.0/16", "size": 25}]},
        {"userns-remap": "default"},
        {"exec-opts": ["native.cgroupdriver=systemd"]},
        {"exec-opts": ["native.cgroupdriver=cgroupfs", "native.cgroupdriver=systemd"]},
        {"storage-driver": "overlay2"},
        {"authorization-plugins": ["mine"]},
    ],
)
def test_what_real_engines_contradict(answer, settings):
    assert list(judge(told(answer), settings).values()) == [False]


@pytest.mark.parametrize(
    ("settings", "answers"),
    [
        ({"runtimes": {"nvidia": {"args": []}}}, [True]),  # nvidia-ctk's key, which dockerd does not read
        ({"runtimes": {"nvidia": {"runtimeArgs": []}}}, [True]),
        ({"insecure-registries": ["PLAIN.example"]}, [False]),
        (
            {"registry-mirrors": ["https://mirror.example/", "https://mirror.example", "http://two.example:5000/"]},
            [True],
        ),
        ({"default-address-pools": [{"base": "10.201.0.0/16", "size": 24}]}, [True]),
        ({"data-root": "/mnt/big/docker/"}, [True]),
        ({"data-root": "/elsewhere"}, [None]),  # may be a link to it
        ({"exec-opts": []}, [None]),
        ({"debug": None}, [None]),
        ({"mtu": 1450}, [None]),
        ({"runtimes": {}, "log-opts": {}}, []),
        ({"log-opts": {"mode": {"deep": 1}}}, [None]),
    ],
)
def test_how_a_daemon_spells_it(settings, answers):
    assert list(judge(told(NEW), settings).values()) == answers


def test_a_runtime_by_type_is_told_by_its_name_alone():
    shim = {"runtimeType": "io.containerd.runc.v2", "options": {"BinaryName": "/usr/sbin/runc"}, "runtimeArgs": ["x"]}
    assert set(judge(told(NEW), {"runtimes": {"shim": shim}}).values()) == {None}
    assert judge(told(NEW), {"runtimes": {"shim": {"path": "x"}}}) == {("runtimes", "shim", "path"): False}


@pytest.mark.parametrize(
    ("version", "directories", "answer"),
    [("24.0.9", None, None), ("25.0.0", None, False), ("25.0.0", ["/etc/cdi"], True), ("29.2.0", [], False)],
)
def test_engines_tell_of_cdi_from_25_on(version, directories, answer):
    said = told(NEW, ServerVersion=version, CDISpecDirs=directories)
    assert judge(said, {"features": {"cdi": True}}) == {("features", "cdi"): answer}
    assert judge(said, {"features": {"cdi": False}}) == {("features", "cdi"): None if answer is None else not answer}


@pytest.mark.parametrize("dirs", [None, []])
def test_directories_of_cdi_are_told_while_it_is_on(dirs):
    assert judge(told(NEW, CDISpecDirs=dirs), {"cdi-spec-dirs": ["/etc/cdi"]}) == {("cdi-spec-dirs",): None}
    assert judge(told(NEW), {"cdi-spec-dirs": ["/etc/cdi"]}) == {("cdi-spec-dirs",): False}


def test_a_remapped_user_is_told_but_not_which():
    said = told(NEW, SecurityOptions=["name=userns"], DockerRootDir="/data/docker/165536.165536")
    assert judge(said, {"userns-remap": "default"}) == {("userns-remap",): None}
    assert judge(said, {"data-root": "/data/docker"}) == {("data-root",): True}


def test_selinux_that_is_on_is_told():
    said = told(NEW, SecurityOptions=["name=selinux"])
    assert judge(said, {"selinux-enabled": True}) == {("selinux-enabled",): True}
    assert judge(said, {"selinux-enabled": False}) == {("selinux-enabled",): False}
    assert judge(told(NEW), {"selinux-enabled": True}) == {("selinux-enabled",): None}  # the kernel may have none


def test_with_containerds_image_store_the_driver_is_no_storage_driver():
    said = told(NEW, Driver="overlayfs", DriverStatus=[["driver-type", "io.containerd.snapshotter.v1"]])
    assert judge(said, {"storage-driver": "overlay2"}) == {("storage-driver",): None}
    assert judge(said, {"features": {"containerd-snapshotter": True}}) == {("features", "containerd-snapshotter"): True}
    assert judge(said, {"features": {"containerd-snapshotter": False}}) == {
        ("features", "containerd-snapshotter"): False
    }


@pytest.mark.parametrize(
    ("backend", "answer"),
    [({"Driver": "nftables"}, True), ({"Driver": "iptables+firewalld"}, False), (None, None), ("x", None)],
)
def test_the_firewall_backend_of_engines_from_28_on(backend, answer):
    said = told(NEW, FirewallBackend=backend)
    assert judge(said, {"firewall-backend": "nftables"}) == {("firewall-backend",): answer}


def test_proxies_with_a_user_are_told_crossed_out_and_older_engines_tell_those_of_their_environment():
    said = told(NEW, HttpProxy="http://proxy.example:3128")
    assert judge(said, {"proxies": {"http-proxy": "http://proxy.example:3128"}}) == {("proxies", "http-proxy"): True}
    assert judge(said, {"proxies": {"http-proxy": "http://other.example"}}) == {("proxies", "http-proxy"): False}
    old = told(OLD, HttpProxy="http://proxy.example:3128")
    assert judge(old, {"proxies": {"http-proxy": "http://other.example"}}) == {("proxies", "http-proxy"): None}


@pytest.mark.parametrize("value", [None, 3, "x", [], [3], {}, {"a": 3}, True])
def test_an_answer_of_another_shape_says_nothing_wrong(value):
    """Whatever one field of the answer holds, the others still count, and nothing is raised."""
    fields = [key for key in NEW if key not in ("ServerVersion", "ServerErrors")]
    for field in fields:
        said = told(NEW, **{field: value})
        assert set(judge(said, {**OPTIONS, **NEWER}).values()) <= {True, False, None}
