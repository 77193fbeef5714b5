# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recorded node, broken in the ways of the field, as captures: for what must hold of a capture of any node."""

from __future__ import annotations

import copy
import json
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Desired, to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.children.nvml import QUESTIONS
from ansible_collections.goldennode.gpu.tests.unit import healthy, recorded

IMAGE = "vendor.testbed:5000/cuda:13.0.1-base@" + recorded.DIGEST

NOT_SUPPORTED = 3  # NVML's code

Break = t.Callable[[recorded.Node], None]


def _not_loaded(node: recorded.Node) -> None:
    for path in ("/proc/driver/nvidia/version", "/sys/module/nvidia/version", "/proc/driver/nvidia/params"):
        node.capture["files"][path] = None
    for name in ("nvidia", "nvidia_uvm"):
        node.capture["stats"]["/sys/module/" + name] = None


def _old_module(node: recorded.Node) -> None:
    files = node.capture["files"]
    files["/sys/module/nvidia/version"] = "580.126.09\n"
    files["/proc/driver/nvidia/version"] = files["/proc/driver/nvidia/version"].replace("580.159.03", "580.126.09")


def _no_docker(node: recorded.Node) -> None:
    words = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
    node.answer(["info"], rc=1, stdout="", stderr=words + "\n")


def _malformed(node: recorded.Node) -> None:
    node.capture["files"]["/etc/docker/daemon.json"] = '{"registry-token": "S3cret-of-mine-1",\n "runtimes": {'


def _no_gpu(node: recorded.Node) -> None:
    node.capture["dirs"]["/sys/bus/pci/devices"] = {}


def _closed(node: recorded.Node) -> None:
    for name, entry in node.capture["dirs"]["/dev"].items():
        if name.startswith("nvidia"):
            entry["mode"] = 0o600


def _unreadable(node: recorded.Node) -> None:
    node.break_path("files", "/etc/group")


def _tell_states(node: recorded.Node) -> None:
    """The recorded look is older than the questions for the state of a GPU: none of them is supported here."""
    (nvml,) = [one for one in node.capture["commands"] if "nvml" in one["argv"]]
    for name, _question in QUESTIONS:
        said = {"state": 0, "of": name, "error": "Not Supported", "code": NOT_SUPPORTED}
        nvml["stdout"] += json.dumps(said) + "\n"


BREAKS: t.Dict[str, t.Optional[Break]] = {
    "well": None,
    "not loaded": _not_loaded,
    "old module": _old_module,
    "no docker": _no_docker,
    "malformed": _malformed,
    "no gpu": _no_gpu,
    "closed": _closed,
    "unreadable": _unreadable,
}


def capture(how: str, desired: t.Optional[Desired] = None, gpus: t.Optional[int] = 1) -> t.Dict[str, t.Any]:
    """What the node_verify of a node that is broken like this takes along, before it is masked."""
    node, harm = recorded.Node(), BREAKS[how]
    _tell_states(node)
    if harm:
        harm(node)
    judged = {
        "name": "gpu-of-mine",
        "expected_gpus": gpus,
        "image": IMAGE,
        "scope": "full",
        "single_gpus": False,
        "collection": "0.1.0",
        "desired": to_plain(desired),
        "mark_objection": "",
    }
    return copy.deepcopy({**node.capture, "judged": judged})


def wanted() -> Desired:
    """A wanted state with a lock and people; the node has the image of the lock."""
    image = {"reference": "vendor.testbed:5000/cuda:13.0.1-base", "digest": recorded.DIGEST}
    return healthy.desired(of_lock=healthy.lock(image=image), device_access_users=["alice"])
