# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A broken node and the check that must name it first. The documentation has its words from the real judge.

Nodes are those of tests/unit/healthy.py with one thing broken; what tools say goes through the real parsers.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pathlib
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    Desired,
    Evidence,
    Finding,
    Gpu,
    GpuTool,
    Reading,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import container, nvidia_smi
from ansible_collections.goldennode.gpu.tests.unit import healthy

_CASES = pathlib.Path(__file__).parent / "cases"
_BROKEN = ("fail", "unknown")


@dataclasses.dataclass(frozen=True)
class Node:
    """What is wanted of a node, and what was read off it."""

    desired: Desired
    evidence: Evidence
    expected_gpus: int = 1


@dataclasses.dataclass(frozen=True)
class Case:
    """``what`` is wrong in a few words; ``node`` makes it; ``symptoms`` are keys of symptoms.SYMPTOMS that it causes.

    ``says`` is what programs print of this very cause, word for word, where the evidence has not got it.
    """

    check: str
    what: str
    node: t.Callable[[], Node]
    symptoms: t.Tuple[str, ...] = ()
    says: t.Tuple[str, ...] = ()


class CaseError(ValueError):
    """The judge names something else than the case says."""


def load() -> t.Tuple[Case, ...]:
    """Every case of every file in ``cases``, in the order of the files' names."""
    package = __name__.rpartition(".")[0]
    names = sorted(path.stem for path in _CASES.glob("*.py"))
    return tuple(case for name in names for case in importlib.import_module("%s.cases.%s" % (package, name)).CASES)


@functools.cache
def finding(case: Case) -> Finding:
    """What the judge says of it: the first finding of the first broken layer, or the informational one that it is for.

    :raises CaseError: when the judge names another check first, or the node cannot be made any more
    """
    try:
        node = case.node()
        found = verdict.run(node.desired, node.evidence, node.expected_gpus)
    except Exception as error:
        said = (case.check, case.what, type(error).__name__, error)
        raise CaseError("%s (%s): the example cannot be judged: %s: %s" % said) from error
    mine = [f for f in found.findings if f.id == case.check and f.status in _BROKEN]
    first = next(iter(found.broken), None)
    if mine and (not mine[0].required or (first is not None and first.layer == mine[0].layer)):
        return mine[0]
    named = "%s: %s" % (first.id, first.words) if first else "nothing"
    raise CaseError("%s (%s): the judge names %s" % (case.check, case.what, named))


# --- making nodes -------------------------------------------------------------------------------------------------


def node(profile: str = "a10", of_lock: t.Optional[t.Dict[str, t.Any]] = None, **variables: t.Any) -> Node:
    """A healthy node."""
    wanted = healthy.desired(profile, of_lock, **variables)
    return Node(wanted, healthy.evidence(profile, wanted), healthy.PROFILES[profile])


def with_(of: Node, **values: t.Any) -> Node:
    """The node with other values read off it."""
    return dataclasses.replace(of, evidence=healthy.known(of.evidence, **values))


def known(**values: t.Any) -> t.Callable[[], Node]:
    """A healthy node with one GPU, but for these values."""
    return lambda: with_(node(), **values)


def unread(field: str, why: str) -> t.Callable[[], Node]:
    """The same where one thing could not be read."""

    def made() -> Node:
        of = node()
        return dataclasses.replace(of, evidence=dataclasses.replace(of.evidence, **{field: Reading.unknown(why)}))

    return made


def says(text: str, rc: int) -> Reading[GpuTool]:
    """What nvidia-smi printed, through the parser."""
    return nvidia_smi.query(text, "", rc)


def smi(text: str, rc: int, **values: t.Any) -> t.Callable[[], Node]:
    """A node whose nvidia-smi and NVML say this; NVML gives the same words."""

    def made() -> Node:
        of = with_(node(), **values)
        answer = says(text, rc)
        return dataclasses.replace(of, evidence=dataclasses.replace(of.evidence, smi=answer, nvml=answer))

    return made


def in_container(**fields: t.Any) -> t.Callable[[], Node]:
    """A node whose containers see something else, by each way. Values are readings or plain, as in ContainerLook."""

    def made() -> Node:
        return seen(node(), **fields)

    return made


def seen(of: Node, **fields: t.Any) -> Node:
    evidence = of.evidence
    for way in evidence.containers:
        evidence = healthy.container(evidence, way, **fields)
    return dataclasses.replace(of, evidence=evidence)


def refused(engine: str, way: str = "runtime") -> t.Callable[[], Node]:
    """A node where docker run says this, and starts nothing, by one way."""

    def made() -> Node:
        of = node()
        answer = container.parse("", engine, 125, way, "x86_64")
        containers = {**of.evidence.containers, way: answer}
        return dataclasses.replace(of, evidence=dataclasses.replace(of.evidence, containers=containers))

    return made


def items(of: t.Optional[Reading[t.Any]], values: t.Any) -> t.Any:
    """A reading of a mapping with some of its items replaced; None takes one out."""
    merged = {**((of.value if of else None) or {}), **values}
    return {key: value for key, value in merged.items() if value is not None}


def no_gpu(**fields: t.Any) -> GpuTool:
    """A tool that answers and lists no GPU."""
    return GpuTool(driver=healthy.DRIVER, cuda="13.0", **fields)


def gpu(index: int = 0, **fields: t.Any) -> Gpu:
    return Gpu(index, healthy.uuid(index), "NVIDIA GPU", healthy.address(index), **fields)
