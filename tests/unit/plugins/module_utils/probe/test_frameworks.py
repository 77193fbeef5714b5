# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container that imports the frameworks of an image, and what the child does with frameworks of our own make."""

from __future__ import annotations

import dataclasses
import pathlib
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    ContainerLook,
    Evidence,
    Framework,
    FrameworkUse,
    Reading,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import frameworks as answers
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import children, container, docker, frameworks
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.budget import Budget
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.children import frameworks as child
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command, LocalHost
from ansible_collections.goldennode.gpu.tests.unit import recorded

IMAGE = recorded.desired().lock["image"]
TORCH = Framework("torch", "/p", "2.9.1", "12.8", True)
JAX = Framework("jax", "/p", "0.4.35", "12", True)


class Engine(recorded.Node):
    """Runs a container for the frameworks, and gives the answer that it is told to."""

    def __init__(self, **answer: t.Any) -> None:
        super().__init__()
        self.given = answer
        self.words: t.List[t.List[str]] = []

    def run(self, argv, timeout, unprivileged=False, groups=(), where="host"):  # type: ignore[no-untyped-def]
        words = list(argv[len(docker.DOCKER) :])
        self.words.append(words)
        if words[0] == "run":
            return Command(where, tuple(argv), **self.given)
        return Command(where, tuple(argv), rc=0)


def evidence(*built: Framework, started: bool = True) -> Evidence:
    look = ContainerLook("cdi", started=started, frameworks=Reading(built))
    return Evidence(containers={"runtime": Reading(dataclasses.replace(look, started=False)), "cdi": Reading(look)})


def ask(engine: Engine, of: Evidence) -> Reading[t.Tuple[FrameworkUse, ...]]:
    return frameworks.frameworks(Budget(engine, 60), IMAGE, ("runtime", "cdi"), of)


def test_how_it_is_started() -> None:
    engine = Engine(rc=0, stdout='{"framework": "torch", "error": "x"}\n{"framework": "jax", "error": "y"}\n')
    reading = ask(engine, evidence(TORCH, JAX))
    assert [(use.name, use.error) for use in reading.value or ()] == [("torch", "x"), ("jax", "y")]
    [words] = engine.words
    assert {"--rm", "--pull=never", *container.HARDENED} <= set(words)
    assert words[words.index("--name") + 1].startswith("goldennode-probe-")
    assert "nvidia.com/gpu=all" in words  # by the way whose container has started
    at = words.index("--entrypoint")
    assert words[at : at + 5] == ["--entrypoint", "python3", docker.pinned(IMAGE), "-B", "-c"]
    assert words[at + 5 :] == [children.source(child), "frameworks", str(frameworks.SECONDS), "torch", "jax"]


@pytest.mark.parametrize(
    ("of", "found"),
    [
        (evidence(), Reading(())),
        (evidence(TORCH, started=False), Reading.unknown("no container with GPUs has started")),
        (
            Evidence(containers={"cdi": Reading(ContainerLook("cdi", True, frameworks=Reading.unknown("no answer")))}),
            Reading.unknown("no answer"),
        ),
    ],
)
def test_where_there_is_nothing_to_ask_no_container_is_started(of: Evidence, found: Reading[t.Any]) -> None:
    engine = Engine(rc=0)
    assert ask(engine, of) == found
    assert engine.words == []


def test_one_that_hangs_is_removed_and_what_it_said_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "CLEANUP_SECONDS", 0.0)
    said = '{"framework": "torch", "version": "2.9.1", "cuda": "12.8"}\n'
    engine = Engine(stdout=said, timed_out=True, pid=7, error="docker was killed (pid 7)")
    [use] = ask(engine, evidence(TORCH)).value or ()
    assert use.version == "2.9.1"
    assert use.error == "docker was killed (pid 7); its container is removed"
    assert ["rm", "--force"] in [words[:2] for words in engine.words]


# The child, with frameworks of our own make

WORKING = """
import os
__version__ = "2.9.1"
class version: cuda = "12.8"
class cuda:
    is_available = staticmethod(lambda: os.environ["OMP_NUM_THREADS"] == "1")
    device_count = staticmethod(lambda: 2)
    get_arch_list = staticmethod(lambda: ["sm_80", "sm_90"])
    get_device_capability = staticmethod(lambda number: (8, 6 + number))
"""
TENSORFLOW = """
__version__ = "2.18.0"
class sysconfig: get_build_info = staticmethod(lambda: {"cuda_version": "12.5.1"})
class test: is_built_with_cuda = staticmethod(lambda: True)
class config: list_physical_devices = staticmethod(lambda kind: [kind])
"""
JAX_WITHOUT = """
__version__ = "0.4.35"
class Cpu: platform = "cpu"
def devices(): return [Cpu]
"""


def import_them(folder: pathlib.Path, seconds: int = 30, **modules: str) -> t.Dict[str, FrameworkUse]:
    for name, text in modules.items():
        (folder / (name + ".py")).write_text(text, encoding="utf-8")
    words = ["env", "PYTHONPATH=%s" % folder, "python3", "-B", "-c", children.source(child), "frameworks", str(seconds)]
    done = LocalHost().run([*words, *modules], 60)
    reading = answers.parse(done.stdout, done.stderr, done.rc, tuple(modules))
    assert reading.value is not None, (reading, done)
    return {use.name: use for use in reading.value}


def test_each_says_what_it_sees(tmp_path: pathlib.Path) -> None:
    assert import_them(tmp_path, torch=WORKING, tensorflow=TENSORFLOW, jax=JAX_WITHOUT) == {
        "torch": FrameworkUse("torch", "2.9.1", "12.8", True, 2, ("sm_80", "sm_90"), ("8.6", "8.7")),
        "tensorflow": FrameworkUse("tensorflow", "2.18.0", "12.5.1", True, 1),
        "jax": FrameworkUse("jax", "0.4.35", "", False, 0),
    }


def test_one_that_fails_hangs_or_dies_takes_nothing_from_the_others(tmp_path: pathlib.Path) -> None:
    found = import_them(
        tmp_path,
        seconds=1,
        tensorflow="import ctypes; ctypes.CDLL(None).pause()",  # in C, where no handler of Python's would run
        torch="import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        jax=JAX_WITHOUT,
    )
    assert found["tensorflow"].error == "gave no answer within 1 s"
    assert found["torch"].error == "was ended by signal 11"
    assert found["jax"].devices == 0


def test_an_import_error_is_an_answer(tmp_path: pathlib.Path) -> None:
    found = import_them(tmp_path, torch="raise ImportError('libcudnn.so.9: cannot open shared object file')")
    assert found["torch"].error == "ImportError: libcudnn.so.9: cannot open shared object file"


def test_a_build_without_cuda(tmp_path: pathlib.Path) -> None:
    text = WORKING.replace('"12.8"', "None").replace('os.environ["OMP_NUM_THREADS"] == "1"', "False")
    found = import_them(tmp_path, torch=text.replace("lambda: 2", "lambda: 0"))
    assert found["torch"] == FrameworkUse("torch", "2.9.1", "", False, 0)
