# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers that ask for one GPU: for which, by which names, and what is said where there is no name."""

from __future__ import annotations

import copy
import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    NOT_READ,
    CdiSpec,
    ContainerLook,
    Evidence,
    Gpu,
    GpuTool,
    Reading,
    to_plain,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import evidence_from_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import requests
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.budget import Budget
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.container import Manner
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.look import look
from ansible_collections.goldennode.gpu.tests.unit import healthy, mig_node, recorded

IMAGE = dict(recorded.desired().lock["image"], cuda_command=["/check", "--all"])
UUID = "GPU-7a28f504-5a42-5b26-a5b1-5568882b45a0"


def evidence(gpus: int = 2, ways: t.Sequence[str] = ("runtime", "cdi")) -> Evidence:
    tool = GpuTool("580.159.03", "13.0", tuple(Gpu(at, healthy.uuid(at)) for at in range(gpus)))
    looks = {way: Reading(ContainerLook(way, started=True)) for way in ways}
    return Evidence(nvml=Reading(tool), containers=looks, cdi_specs=Reading({}))


def ask(of: Evidence, *names: str, ways: t.Sequence[str] = ("runtime", "cdi")) -> t.Tuple[t.Any, recorded.Node]:
    node = recorded.Node()
    specs = {"/var/run/cdi/nvidia.yaml": CdiSpec("nvidia.com/gpu", devices=names)}
    specs["/etc/cdi/gds.yaml"] = CdiSpec("nvidia.com/gds", devices=("0", "1", "gpu1", "all"))
    of = dataclasses.replace(of, cdi_specs=Reading(specs))
    return requests.requests(Budget(node, 60), IMAGE, ways, of, Manner((44,))), node


def words(node: recorded.Node) -> t.List[str]:
    """What each container asked for."""
    found = []
    for command, _unprivileged, _groups in node.ran:
        found += [word for word in command.argv if word.startswith(("NVIDIA_VISIBLE_DEVICES=", "nvidia.com/gpu="))]
    return sorted(found)


def test_the_last_gpu_by_its_index_and_the_first_by_its_uuid() -> None:
    reading, node = ask(evidence(8), *(str(at) for at in range(8)), *(healthy.uuid(at) for at in range(8)), "all")
    assert [(one.injection, one.asked, one.uuid) for one in reading.value] == [
        ("runtime", "7", healthy.uuid(7)),
        ("runtime", healthy.uuid(0), healthy.uuid(0)),
        ("cdi", "7", healthy.uuid(7)),
        ("cdi", healthy.uuid(0), healthy.uuid(0)),
    ]
    assert words(node) == sorted(
        prefix + name for prefix in ("NVIDIA_VISIBLE_DEVICES=", "nvidia.com/gpu=") for name in ("7", healthy.uuid(0))
    )
    for command, _unprivileged, _groups in node.ran:
        assert command.argv[command.argv.index("--group-add") + 1] == "44"
        assert "/check" not in command.argv, "the bundle's own command may want all GPUs"


def test_the_order_is_that_of_nvml_and_not_of_the_answer() -> None:
    of = evidence(2)
    assert of.nvml.value is not None
    turned = dataclasses.replace(of, nvml=Reading(dataclasses.replace(of.nvml.value, gpus=of.nvml.value.gpus[::-1])))
    reading, _node = ask(turned, "0", "1", "all")
    assert [(one.asked, one.uuid) for one in reading.value if one.injection == "cdi"] == [("1", healthy.uuid(1))]


@pytest.mark.parametrize(
    ("names", "asked"),
    [
        (["0", "1", "all"], ["1"]),
        ([healthy.uuid(0), healthy.uuid(1), "all"], [healthy.uuid(0)]),
        (["gpu0", "gpu1", "all"], ["gpu1"]),
        (["1", healthy.uuid(0)], ["1", healthy.uuid(0)]),
    ],
)
def test_only_names_are_asked_for_that_the_specification_has(names: t.List[str], asked: t.List[str]) -> None:
    reading, _node = ask(evidence(), *names, ways=["cdi"])
    assert [one.asked for one in reading.value] == asked


def test_where_a_variable_counts_for_nothing_the_runtime_is_asked_by_a_mount() -> None:
    node = recorded.Node()
    requests.requests(Budget(node, 60), IMAGE, ["runtime"], evidence(2), Manner(by_mount=True))
    asked = {argv[argv.index("--volume") + 1] for argv in (command.argv for command, _rights, _groups in node.ran)}
    assert asked == {"/dev/null:/var/run/nvidia-container-devices/%s" % name for name in ("1", healthy.uuid(0))}
    assert words(node) == []


@pytest.mark.parametrize(("names", "shown"), [(["all"], "only all"), ([], "only nothing")])
def test_a_specification_without_single_gpus_is_said(names: t.List[str], shown: str) -> None:
    reading, node = ask(evidence(), *names, ways=["cdi"])
    (one,) = reading.value
    assert one.asked == ""
    assert one.look.error == "the CDI specification names no single GPU, %s" % shown
    assert node.ran == []


def test_a_specification_that_cannot_be_read_is_unknown() -> None:
    node = recorded.Node()
    unread = dataclasses.replace(evidence(), cdi_specs=Reading.unknown("no directory"))
    assert requests.requests(Budget(node, 60), IMAGE, ["cdi"], unread).error == "no directory"


@pytest.mark.parametrize("look_", [Reading(ContainerLook("cdi", started=False, error="x")), Reading.unknown("hung")])
def test_a_way_that_does_not_start_with_all_gpus_is_not_asked_for_one(look_: t.Any) -> None:
    of = evidence()
    of = dataclasses.replace(of, containers={**of.containers, "cdi": look_})
    reading, _node = ask(of, "0", "1", "all")
    assert {one.injection for one in reading.value} == {"runtime"}


@pytest.mark.parametrize("nvml", [Reading.unknown("NVML hangs"), Reading(GpuTool()), Reading(None)])
def test_without_a_gpu_of_the_hosts_nothing_is_asked(nvml: t.Any) -> None:
    reading, node = ask(dataclasses.replace(evidence(), nvml=nvml), "0", "all")
    assert not reading.known
    assert node.ran == []


def with_mig(parts: t.Mapping[int, int]) -> Evidence:
    """``parts``: how many MIG devices a GPU has, by its index."""
    node = mig_node.evidence(healthy.evidence("h100x8", healthy.desired("h100x8")), parts)
    return dataclasses.replace(evidence(8), nvml=node.nvml)


MIG = mig_node.uuid


def test_of_a_gpu_in_mig_mode_a_mig_device_is_asked_for() -> None:
    names = ["0:0", MIG(0, 0), "7:0", "7:1", MIG(7, 1), *(str(at) for at in range(1, 7)), "all"]
    reading, node = ask(with_mig({0: 1, 7: 2}), *names)
    assert [(one.injection, one.asked, one.uuid) for one in reading.value] == [
        (way, name, uuid) for way in ("runtime", "cdi") for name, uuid in (("7:1", MIG(7, 1)), (MIG(0, 0), MIG(0, 0)))
    ]
    assert "nvidia.com/gpu=7:1" in words(node)


def test_whole_gpus_beside_those_in_mig_mode_are_asked_for_by_their_own_names() -> None:
    reading, _node = ask(with_mig({0: 0, 3: 2}), "7", healthy.uuid(1), "gpu7", ways=["cdi"])
    assert [(one.asked, one.uuid) for one in reading.value] == [
        ("7", healthy.uuid(7)),
        (healthy.uuid(1), healthy.uuid(1)),
    ]


def test_a_specification_that_names_mig_devices_with_a_word_before() -> None:
    reading, _node = ask(with_mig({7: 2}), "mig7:0", "mig7:1", "gpu0", "all", ways=["cdi"])
    assert [(one.asked, one.uuid) for one in reading.value] == [("mig7:1", MIG(7, 1))]


def test_a_mount_cannot_have_the_index_of_a_mig_device() -> None:
    node = recorded.Node()
    requests.requests(Budget(node, 60), IMAGE, ["runtime"], with_mig({7: 2}), Manner(by_mount=True))
    asked = {argv[argv.index("--volume") + 1] for argv in (command.argv for command, _rights, _groups in node.ran)}
    assert asked == {"/dev/null:/var/run/nvidia-container-devices/%s" % name for name in (MIG(7, 1), healthy.uuid(0))}


def test_without_a_mig_device_on_any_gpu_nothing_is_asked() -> None:
    reading, node = ask(with_mig(dict.fromkeys(range(8), 0)), "all")
    assert reading.error == "MIG is on for every GPU, and the host's NVML names no MIG device to ask for"
    assert node.ran == []


def test_a_gpu_that_is_lost_is_not_asked_for() -> None:
    of = evidence(2)
    assert of.nvml.value is not None
    gpus = (of.nvml.value.gpus[0], Gpu(1, error="GPU is lost"))
    reading, _node = ask(dataclasses.replace(of, nvml=Reading(GpuTool(gpus=gpus))), "0", "1", "all", ways=["cdi"])
    assert [one.asked for one in reading.value] == ["0"]


def recorded_node() -> recorded.Node:
    """The recorded node, with the containers that ask for its one GPU."""
    node = recorded.Node()
    for plain in [plain for plain in node.capture["commands"] if plain["where"] == "container"]:
        for name in ("0", UUID):
            more = copy.deepcopy(plain)
            more["argv"] = [
                word.replace("DEVICES=all", "DEVICES=" + name).replace("gpu=all", "gpu=" + name)
                for word in more["argv"]
            ]
            node.capture["commands"].append(more)
    return recorded.Node(node.capture)


def test_a_look_asks_only_where_it_is_told_to() -> None:
    node = recorded_node()
    assert look(node, recorded.desired()).requests == NOT_READ
    assert sum(command.where == "container" for command, _unprivileged, _groups in node.ran) == 2
    found = look(recorded_node(), recorded.desired(), single_gpus=True)
    assert [(one.injection, one.asked) for one in found.requests.value or ()] == [
        (way, name) for way in ("runtime", "cdi") for name in ("0", UUID)
    ]
    assert all(one.look.value is not None and one.look.value.started for one in found.requests.value or ())
    assert evidence_from_plain(to_plain(found)) == found


@pytest.mark.parametrize("scope", ["host", "fact"])
def test_a_look_without_containers_asks_for_nothing(scope: str) -> None:
    found = look(recorded_node(), recorded.desired(), scope, single_gpus=True)
    assert found.requests == NOT_READ


def test_without_time_left_the_answers_are_unknown() -> None:
    reading = requests.requests(Budget(recorded_node(), 0), IMAGE, ["runtime"], evidence(1))
    assert {one.look.error for one in reading.value} == {"docker: no time left in this look"}
