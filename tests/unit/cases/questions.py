# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every command that a look may run, by the name under which the tests answer it.

The list is closed: a command that is not in it has no name, and a test fails. So a new command of the probe comes here
first, where a reviewer sees whether it only looks.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.parse import (
    dpkg,
    image_environment,
    running_containers,
    systemctl_show,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import container

DOCKER = ("docker", "--host", "unix:///var/run/docker.sock")

#: A regular expression for each word; ``...`` is any number of further words that are names.
_SCRIPT = ("python3", "-I", "-c", r"(?s).*\n.*")
_NAME = r"[A-Za-z0-9][\w@.+-]*"
_UNTIL_NOW = (r"--boot", r"--no-pager", r"--quiet", r"--output=cat", r"--lines=\d+")

_HOST: t.Tuple[t.Tuple[str, t.Tuple[t.Any, ...]], ...] = (
    ("nvidia-smi", ("nvidia-smi",)),
    ("nvidia-smi -L", ("nvidia-smi", "-L")),
    ("nvidia-smi query", ("nvidia-smi", r"--query-gpu=[a-z._,]+", "--format=csv,noheader")),
    ("nvml", (*_SCRIPT, "nvml", r"/\S+\.pyz")),
    ("cuda", (*_SCRIPT, "cuda")),
    ("initramfs {5}", (*_SCRIPT, "initramfs", r"/boot/\S+")),
    ("docker socket", (*_SCRIPT, r"/var/run/docker\.sock")),
    ("docker clients", (*_SCRIPT, "root", ...)),
    ("ldconfig", ("ldconfig", "-p")),
    ("dpkg-query", ("dpkg-query", "-W", "-f", re.escape(dpkg.FORMAT))),
    ("dkms status", ("dkms", "status")),
    ("dmesg", ("dmesg",)),
    ("journal of the kernel", ("journalctl", r"--boot", r"--dmesg", *_UNTIL_NOW[1:])),
    ("search in the journal of the kernel", ("journalctl", r"--boot", r"--dmesg", *_UNTIL_NOW[1:-1], r"--grep=[^/]+")),
    ("journal of {1}", ("journalctl", r"--unit=(nvidia-fabricmanager\.service|docker\.service)", *_UNTIL_NOW)),
    ("modinfo {2} {3}", ("modinfo", "-k", _NAME, _NAME)),
    ("modprobe {2}", ("modprobe", "--set-version", _NAME, "--show-depends", "nvidia")),
    ("mokutil --sb-state", ("mokutil", "--sb-state")),
    ("mokutil --list-enrolled", ("mokutil", "--list-enrolled")),
    ("mokutil --test-key", ("mokutil", "--test-key", r"/\S+")),
    (
        "units",
        ("systemctl", "show", r"--timestamp=us\+utc", "--property=" + ",".join(systemctl_show.PROPERTIES), ...),
    ),
    ("device rules", ("systemctl", "show", "--property=Id,DevicePolicy,DeviceAllow", ...)),
    ("vital product data", ("grep", "-l", "-F", "SW_MNG", ...)),
    ("docker info", (*DOCKER, "info", "--format", r"\{\{json \.\}\}")),
    ("docker image", (*DOCKER, "image", "inspect", "--format", r"\{\{json \.\}\}", r"\S+@sha256:[0-9a-f]{64}")),
    (
        "image environment",
        (*DOCKER, "image", "inspect", "--format", re.escape(image_environment.FORMAT), r"\S+@sha256:[0-9a-f]{64}"),
    ),
    ("{0} --version", (r"podman|crio|containerd", "--version")),
    ("containers", (*DOCKER, "container", "ls", "--format", r"\{\{\.ID\}\} \{\{\.Names\}\}")),
    ("described", (*DOCKER, "container", "inspect", "--format", re.escape(running_containers.FORMAT), ...)),
    # Only of a probe whose client had to be killed: the one thing that a look puts away is its own container.
    ("kill the probe", (*DOCKER, "kill", r"goldennode-probe-[0-9a-f]+")),
    ("remove the probe", (*DOCKER, "rm", "--force", r"goldennode-probe-[0-9a-f]+")),
    (
        "is the probe gone",
        (*DOCKER, "ps", "--all", "--quiet", "--filter", r"name=\^/\?goldennode-probe-[0-9a-f]+\$"),
    ),
)

#: What a container of the probe is started with; it can write nothing of the node.
_RUN = (*DOCKER, "run", "--rm", "--pull=never", "--name", r"goldennode-probe-[0-9a-f]+")
_HARDENED = tuple(re.escape(word) for word in container.HARDENED)
_WAYS = (
    ("runtime", ("--runtime", "nvidia", "--env", r"NVIDIA_VISIBLE_DEVICES=([\w-]+)")),
    ("runtime", ("--runtime", "nvidia", "--volume", r"/dev/null:/var/run/nvidia-container-devices/([\w-]+)")),
    ("cdi", ("--runtime", "runc", "--device", r"nvidia\.com/gpu=([\w-]+)")),
)
_CAPABILITIES = ("--env", "NVIDIA_DRIVER_CAPABILITIES=compute,utility")
_ASKED = ("--entrypoint", "sh", r"\S+@sha256:[0-9a-f]{64}", "-c", r"(?s).*\n.*", "goldennode", r"(?s).*\n.*")
#: What imports the frameworks of the image, in a further container of the same hardening. Not isolated (-I), as the
#: image may name its packages by PYTHONPATH; nothing is written (-B).
_IMPORTS = ("--entrypoint", "python3", r"\S+@sha256:[0-9a-f]{64}", "-B", "-c", r"(?s).*\n.*", "frameworks", r"\d+")


def name_of(where: str, argv: t.Sequence[str]) -> t.Optional[str]:
    """The name of a command; None of one that is not in the list."""
    if where == "container":
        return _container(argv)
    for name, words in _HOST:
        if _fits(words, argv):
            return name.format(*(_inside(word, said) for word, said in zip(words, argv)))
    return None


def _container(argv: t.Sequence[str]) -> t.Optional[str]:
    """``container WAY DEVICE`` or ``frameworks``; what it may be told besides are the groups that open the nodes."""
    for way, words in _WAYS:
        for groups in range(8):
            front = (*_RUN, *_HARDENED, *(("--group-add", r"[1-9]\d*") * groups), *words)
            capabilities = _CAPABILITIES if way == "runtime" else ()
            rest = (*capabilities, *_ASKED)
            if _fits((*front, *capabilities, *_IMPORTS, ...), argv):
                return "frameworks"
            if _fits((*front, *rest), argv) or _fits((*front, *rest, ...), argv):
                return "container %s %s" % (way, _inside(words[-1], argv[len(front) - 1]))
    return None


def _fits(words: t.Sequence[t.Any], argv: t.Sequence[str]) -> bool:
    open_end = bool(words) and words[-1] is ...
    fixed = words[:-1] if open_end else words
    if len(argv) < len(fixed) or (len(argv) > len(fixed) and not open_end):
        return False
    # An option behind the last fixed word could make anything of a command that looks.
    if any(word.startswith("-") for word in argv[len(fixed) :]):
        return False
    return all(re.fullmatch(word, said) for word, said in zip(fixed, argv))


def _inside(word: t.Any, said: str) -> str:
    match = None if word is ... else re.fullmatch(word, said)
    return match.group(1) if match and match.groups() else said
