# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded node for the tests of the probe: things can be broken in it, and it remembers what was asked."""

from __future__ import annotations

import copy
import dataclasses
import threading
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Desired, ManagedFile
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import image_environment
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.capture import Replay
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.docker import DOCKER, pinned
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import PATH, Command
from ansible_collections.goldennode.gpu.tests.unit import fixtures

BLACKLIST = "/etc/modprobe.d/goldennode-blacklist.conf"
DIGEST = "sha256:1e43ee7e8e69d6bcdd172666e3ee953c3af27fbe37dcefb84b18fd95f1620712"


def desired(**lock: t.Any) -> Desired:
    """What was wanted of the node when it was recorded."""
    image = {"reference": "vendor.testbed:5000/cuda:13.0.1-base", "digest": DIGEST, "cuda": "13.0", "cuda_command": []}
    return Desired(
        digest="sha256:0",
        platform="debian-13-x86_64",
        lock={"image": image, "driver": {"packages": {"libcuda1": "580.159.03-1"}}, **lock},
        settings={"golden": {"golden_container_injections": ["runtime", "cdi"]}},
        files={BLACKLIST: ManagedFile(BLACKLIST, "kernel", 0o644, "0" * 64)},
        daemon={},
        units={},
    )


#: What a look asks by now and did not when the node was recorded. The answers are the tests' own.
ASKED_SINCE = (
    {
        "where": "host",
        "argv": [*DOCKER, "image", "inspect", "--format", image_environment.FORMAT, pinned(desired().lock["image"])],
        "rc": 0,
        "stdout": '"NVIDIA_VISIBLE_DEVICES=all"\n"NVIDIA_DRIVER_CAPABILITIES=compute,utility"\n\n',
        "stderr": "",
    },
)
#: So for the paths that it looks for by now.
LOOKED_FOR_SINCE: t.Dict[str, t.Any] = {
    **{"%s/nvidia-container-runtime" % folder: None for folder in PATH.split(":")},
    "/usr/bin/nvidia-container-runtime": {
        "kind": "file", "mode": 0o755, "uid": 0, "gid": 0, "size": 1, "mtime": 1, "major": 0, "minor": 0, "ctime": 1,
    },
}  # fmt: skip


class Node(Replay):
    """The recorded A10 node."""

    def __init__(self, capture: t.Optional[t.Dict[str, t.Any]] = None) -> None:
        self.capture = copy.deepcopy(capture) if capture else fixtures.a10_capture()
        self.capture["commands"] += copy.deepcopy(list(ASKED_SINCE)) if capture is None else []
        self.capture["stats"].update(copy.deepcopy(LOOKED_FOR_SINCE) if capture is None else {})
        self.asked: t.List[t.Tuple[str, t.Any]] = []
        self.ran: t.List[t.Tuple[Command, bool, t.Tuple[int, ...]]] = []
        self._guard = threading.Lock()
        super().__init__(self.capture)

    def answer(self, words: t.Sequence[str], **changes: t.Any) -> None:
        """Change the answer of the recorded command that holds all of ``words``."""
        found = [plain for plain in self.capture["commands"] if set(words) <= set(plain["argv"])]
        assert len(found) == 1, (words, [plain["argv"][:3] for plain in found])
        found[0].update(changes)
        super().__init__(self.capture)

    def break_path(self, section: str, path: str) -> None:
        assert path in self.capture[section], "nobody asks for %s" % path
        self.capture["errors"].setdefault(section, {})[path] = "%s could not be read: Input/output error" % path

    def run(
        self,
        argv: t.Sequence[str],
        timeout: float,
        unprivileged: bool = False,
        groups: t.Sequence[int] = (),
        where: str = "host",
    ) -> Command:
        command = super().run(argv, timeout, unprivileged, groups, where)
        with self._guard:
            self.asked.append(("run", tuple(argv)))
            self.ran.append((dataclasses.replace(command, argv=tuple(argv)), unprivileged, tuple(groups)))
        return command

    def listdir(self, path: str) -> t.Any:
        with self._guard:
            self.asked.append(("listdir", path))
        return super().listdir(path)

    def programs(self) -> t.Set[str]:
        return {command.argv[0] for command, _unprivileged, _groups in self.ran}
