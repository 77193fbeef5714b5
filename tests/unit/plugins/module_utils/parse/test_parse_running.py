# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What running containers hold, from mountinfo, docker and systemd; and the mode of the nvidia runtime."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.parse import (
    device_answers,
    mountinfo,
    running_containers,
)

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
ID = "0123456789ab" + "c" * 52

#: As a container of the nvidia runtime has them: its root, /proc, /dev and the driver's files.
BASE = """\
612 580 0:60 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A:/var/lib/docker/overlay2/l/B
613 612 0:63 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
614 612 0:64 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755,inode64
615 614 0:65 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,gid=5,mode=620,ptmxmode=666
"""


def bound(root: str, point: str = "", options: str = "master:1 ") -> str:
    return "700 612 8:1 %s %s ro,nosuid,nodev,relatime %s- ext4 /dev/sda1 rw\n" % (root, point or root, options)


def versions(text: str) -> t.Tuple[str, ...]:
    mounts = mountinfo.parse(text)
    assert mounts.value is not None
    return mountinfo.driver_versions(mounts.value)


@pytest.mark.parametrize(
    ("root", "found"),
    [
        (LIBRARIES + "/libcuda.so.580.95.05", "580.95.05"),
        (LIBRARIES + "/libnvidia-ml.so.580.159.03", "580.159.03"),
        (LIBRARIES + "/libnvidia-ml.so.580.159.03//deleted", "580.159.03"),
        ("/@rootfs/usr/lib64/libnvidia-ptxjitcompiler.so.570.124.06", "570.124.06"),  # a subvolume of btrfs
        ("/lib/firmware/nvidia/580.95.05/gsp_ga10x.bin", "580.95.05"),
        ("/lib/firmware/nvidia/580.95.05/gsp_tu10x.bin//deleted", "580.95.05"),
        (LIBRARIES + "/libcuda.so.1", None),
        (LIBRARIES + "/libc.so.6", None),
        ("/usr/bin/nvidia-smi", None),
        ("/data/libcuda.so.580.95.05/file", None),
        ("/data/xlibcuda.so.580.95.05", None),
        ("/usr/local/cuda/lib64/libcudart.so.13.0.48", None),
    ],
)
def test_the_version_of_a_bound_file_is_in_its_name(root, found):
    assert versions(BASE + bound(root)) == ((found,) if found else ())


def test_the_name_on_the_host_counts_and_not_the_name_inside():
    """A link is followed when a file is bound, so what is mounted has its version also where its place has none."""
    assert versions(BASE + bound(LIBRARIES + "/libcuda.so.570.86.15", "/opt/libcuda.so.580.95.05")) == ("570.86.15",)


def test_several_drivers_at_once_are_all_named():
    text = BASE + bound(LIBRARIES + "/libcuda.so.580.95.05") + bound(LIBRARIES + "/libnvidia-ml.so.570.86.15")
    assert versions(text) == ("570.86.15", "580.95.05")


def test_blanks_in_a_path_are_octal_and_optional_fields_may_be_none_or_many():
    root = r"/a\040b/libcuda.so.580.95.05"
    for options in ("", "master:1 ", "shared:7 master:1 propagate_from:2 "):
        (mount,) = mountinfo.parse(bound(root, options=options)).value
        assert mount.root == "/a b/libcuda.so.580.95.05"
        assert mount.type == "ext4"


@pytest.mark.parametrize(
    ("more", "own"),
    [
        ("", True),
        ("900 612 0:5 / /dev rw - devtmpfs udev rw\n", True),
        ("900 612 0:99 / /dev rw - nfs4 server:/dev rw\n", False),
    ],
)
def test_dev_is_listed_only_where_it_is_in_memory(more, own):
    assert mountinfo.dev_is_own(mountinfo.parse(BASE + more).value) is own


def test_a_text_without_mounts_is_not_known():
    assert not mountinfo.parse("").known
    assert not mountinfo.dev_is_own(())


# --- docker container inspect ----------------------------------------------------------------------------------------


def line(**fields: t.Any) -> str:
    plain = {"id": ID, "name": "/web", "image": "cuda:13", "pid": 4711, "started_at": "2026-11-30T10:00:00Z"}
    plain.update({"restart_policy": "always", "mounts": [], "compose": "", "swarm": "", "pod": ""}, **fields)
    return json.dumps(plain) + "\n"


def test_the_question_leaves_the_environment_out():
    assert "Env" not in running_containers.FORMAT
    assert running_containers.FORMAT.startswith('{"id":{{json .Id}},"name":{{json .Name}}')


def test_a_container_as_docker_describes_it():
    ((pid, one),) = running_containers.described(line(), "", 0).value
    assert (pid, one.label, one.image, one.restart_policy) == (4711, "web 0123456789ab", "cuda:13", "always")
    assert (one.owner, one.own_mounts, one.drivers) == ("", False, ())


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        ({"compose": "shop", "compose_service": "api"}, ("compose", "shop/api")),
        ({"swarm": "shop_api"}, ("swarm", "shop_api")),
        ({"pod": "api-0", "namespace": "shop"}, ("kubernetes", "shop/api-0")),
        ({"pod": "api-0"}, ("kubernetes", "default/api-0")),
        ({"swarm": "a", "compose": "b"}, ("swarm", "a")),
        ({"compose": None, "swarm": 7}, ("", "")),
    ],
)
def test_who_else_starts_it(labels, owner):
    ((_pid, one),) = running_containers.described(line(**labels), "", 0).value
    assert (one.owner, one.owner_name) == owner


@pytest.mark.parametrize("end", ["Source", "Destination"])
def test_a_file_of_the_driver_among_its_own_volumes(end):
    mounts = [{"Source": "/data", "Destination": "/data"}, {end: LIBRARIES + "/libcuda.so.580.95.05"}]
    ((_pid, one),) = running_containers.described(line(mounts=mounts), "", 0).value
    assert one.own_mounts


def test_one_that_ended_meanwhile_or_is_being_restarted_is_left_out():
    gone = "Error response from daemon: No such container: feedfeedfeed\n"
    found = running_containers.described(line() + line(pid=0), gone, 1)
    assert [one.pid for one in found.value] == [4711]
    assert running_containers.described("", gone, 1).value == ()


@pytest.mark.parametrize(
    ("stdout", "stderr", "rc"),
    [
        (line(), "Cannot connect to the Docker daemon\n", 1),
        (line(), "Error: No such container: x\npermission denied\n", 1),
        ("", "", 1),
        ("[]\n", "", 0),
        ('{"id": "x"}\n', "", 0),
        (line(pid="7"), "", 0),
    ],
)
def test_an_answer_that_is_not_whole_is_not_known(stdout, stderr, rc):
    assert not running_containers.described(stdout, stderr, rc).known


# --- systemctl show --------------------------------------------------------------------------------------------------

SHOWN = """\
Id=docker-%s.scope
DevicePolicy=strict
DeviceAllow=/dev/char/195:255 rw
DeviceAllow=char-pts rwm

Id=docker-%s.scope
DevicePolicy=auto

Id=session-1.scope
DevicePolicy=strict
DeviceAllow=/dev/null r
""" % (ID, "d" * 64)


def test_what_systemd_lets_a_scope_open():
    assert running_containers.device_allow(SHOWN, "", 0).value == {ID: ("/dev/char/195:255 rw", "char-pts rwm")}


def test_a_scope_that_may_open_nothing_is_judged_all_the_same():
    text = "Id=docker-%s.scope\nDevicePolicy=strict\nDeviceAllow=\n" % ID
    assert running_containers.device_allow(text, "", 0).value == {ID: ()}


def test_a_systemctl_that_failed_is_not_known():
    assert not running_containers.device_allow("", "Failed to connect to bus", 1).known


# --- config.toml -----------------------------------------------------------------------------------------------------


# --- the reload probe ------------------------------------------------------------------------------------------------

GPU = "GPU-7a28f504-5a42-5b26-a5b1-5568882b45a0"


def test_which_nodes_are_denied_and_which_gpus_answer():
    text = (
        "node /dev/nvidia0 sh: 5: cannot open /dev/nvidia0: Operation not permitted\n"
        "node /dev/nvidiactl /bin/sh: line 4: /dev/nvidiactl: No such device or address\n"
        "node /dev/nvidia-uvm sh: can't open '/dev/nvidia-uvm': Permission denied\n"
        "node /dev/nvidia-uvm-tools opened\n"
        "smi 0\n0, %s, NVIDIA A10, 00000000:17:00.0, 580.159.03\n" % GPU
    )
    answers = device_answers.parse(text, "", 0).value
    assert answers.nodes == ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
    assert answers.denied == ("/dev/nvidia0",)
    assert [gpu.uuid for gpu in answers.smi.value.gpus] == [GPU]


def test_an_image_without_nvidia_smi_is_asked_for_its_nodes():
    answers = device_answers.parse("node /dev/nvidia0 opened\nsmi 127\nsh: nvidia-smi: not found\n", "", 0).value
    assert (answers.nodes, answers.denied, answers.smi.known) == (("/dev/nvidia0",), (), False)


def test_a_script_that_did_not_come_to_its_end_is_not_known():
    reading = device_answers.parse("node /dev/nvidia0 opened\n", "container is not running", 1)
    assert "container is not running" in reading.error
