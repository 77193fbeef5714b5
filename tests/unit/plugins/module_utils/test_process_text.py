# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever stands in /proc, or is printed by the child, is understood or said not to be; nothing raises."""

from __future__ import annotations

import random

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import process_text as text

ID = "3f" * 32
OTHER = "a0" * 32
LINE = "4711 (%s) S 12 4711 4711 0 -1 4194304 0 0 0 0 90 10 0 0 20 0 1 0 881245 1 1 1\n"


@pytest.mark.parametrize("name", ["python3", "a b", "x) R 1 (y", "(sd-pam)", ")", ""])
def test_a_name_may_look_like_anything(name):
    found = text.process(LINE % name).value
    assert found == text.Process(name, "S", 12, 881245, 100, False)


def test_a_thread_of_the_kernel():
    assert text.process(LINE.replace("4194304", "2129984") % "kworker/0:1").value.of_kernel


@pytest.mark.parametrize(
    "bad", ["", "4711", "4711 (x", "4711 x) S 1", "4711 (x) S 1 2", LINE.replace("881245", "-1"), "\0\n", "(()))"]
)
def test_a_stat_that_is_none(bad):
    found = text.process(bad)
    assert not found.known
    assert found.error.startswith("its stat is not understood: ")


def test_any_text_is_read_without_an_error():
    pieces = [
        "(",
        ")",
        " ",
        "\n",
        ":",
        "9" * 25,
        ID,
        "/system.slice/",
        "x.service",
        "Uid:\t",
        "at ",
        "has 7",
        "é",
        "-1",
    ]
    dice = random.Random(6)
    for _round in range(500):
        some = "".join(dice.choice(pieces) for _piece in range(dice.randrange(40)))
        text.process(some)
        text.owner(some)
        text.accounts(some)
        text.containers(some)
        text.unit(some)
        text.mapped(some)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("0::/system.slice/docker-%s.scope" % ID, (ID,)),
        ("12:devices:/docker/%s" % ID, (ID,)),
        ("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-%s.scope" % ID, (ID,)),
        ("0::/kubepods/burstable/pod1/%s" % ID, (ID,)),
        ("0::/kubepods.slice/crio-%s.scope/container" % ID, (ID,)),
        ("0::/machine.slice/libpod-%s.scope/container" % ID, (ID,)),
        ("0::/docker/%s/docker/%s" % (ID, OTHER), (ID, OTHER)),
        ("0::/docker/%s\n1:name=systemd:/docker/%s" % (ID, ID), (ID,)),
        ("0::/system.slice/x-%s0.service" % ID, ()),
        ("0::/user.slice", ()),
    ],
)
def test_the_containers_of_a_process(path, found):
    assert text.containers(path) == found


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("0::/system.slice/nvidia-dcgm.service", "nvidia-dcgm.service"),
        ("0::/docker/x/system.slice/jupyter.service/sub", "jupyter.service"),
        ("0::/system.slice/system-trainer.slice/trainer@1.service", "trainer@1.service"),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/nvidia-dcgm.service", ""),
        ("0::/system.slice/docker-%s.scope" % ID, ""),
        ("0::/", ""),
    ],
)
def test_the_service_of_a_process(path, unit):
    assert text.unit(path) == unit


def test_the_first_name_of_a_number_counts():
    assert text.accounts("a:x:5:5\nb:x:5:5\nc:x:y\n\nd\n") == {5: "a"}


def test_what_a_child_said_that_ended():
    said = "at 5\nhas 5 /dev/nvidia0\nhas 5 /dev/nvidia0\nat 6\nnot 6 Permission denied\nWarning: x\nend\n"
    assert text.mapped(said) == text.Mapped({5: ("/dev/nvidia0",)}, {6: "Permission denied"}, True, None)


def test_what_a_child_said_that_hung():
    assert text.mapped("at 5\nhas 5 /dev/nvidia0\nat 6\n") == text.Mapped({5: ("/dev/nvidia0",)}, {}, False, 6)
