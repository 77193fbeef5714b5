# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The field cases as data: what a report shows, and what must be said of it. See README.md beside this file."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import typing as t

import yaml

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Desired, Evidence, Finding, Verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.capture import Replay
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.look import look
from ansible_collections.goldennode.gpu.tests.unit import healthy
from ansible_collections.goldennode.gpu.tests.unit.cases import mapping
from ansible_collections.goldennode.gpu.tests.unit.cases.machine import A10, Machine

FOLDER = pathlib.Path(__file__).parent

_AXES = ("kernel", "driver", "toolkit", "docker", "image", "fabric_manager", "sources")


@dataclasses.dataclass(frozen=True)
class MustNot:
    """One thing that must not be said or done: words (``pattern``, which would match ``example``), a check that must
    not fail, or a repair that must not be asked for.
    """

    what: str
    pattern: str = ""
    example: str = ""
    check: str = ""
    repair: str = ""


@dataclasses.dataclass(frozen=True)
class Expected:
    """``says`` and ``do`` are words of the finding of ``check``. A ``golden`` case has a value of the evidence."""

    layer: str = ""
    check: str = ""
    entity: str = ""
    says: t.Tuple[str, ...] = ()
    do: t.Tuple[str, ...] = ()
    repair: str = ""
    golden: bool = False
    evidence: t.Dict[str, t.Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Case:
    """``wanted`` is what the bundle names for the node; ``filled_in`` are inputs that the report leaves out.

    ``xfail`` says why what ``xfail_of`` names of the answer cannot be right yet.
    """

    id: str
    kind: str
    source: t.Tuple[str, ...]
    about: str
    input: t.Dict[str, t.Any]
    expected: Expected
    variant: str = ""
    wanted: t.Dict[str, t.Any] = dataclasses.field(default_factory=dict)
    variables: t.Dict[str, t.Any] = dataclasses.field(default_factory=dict)
    filled_in: t.Dict[str, t.Any] = dataclasses.field(default_factory=dict)
    expected_gpus: int = 1
    must_not: t.Tuple[MustNot, ...] = ()
    xfail: str = ""
    xfail_of: t.Tuple[str, ...] = ("layer", "cause")

    @property
    def name(self) -> str:
        return " ".join(word for word in (self.id, self.variant) if word)


@functools.cache
def every() -> t.Tuple[Case, ...]:
    """All cases of all kinds. A key that no field has is an error."""
    found: t.List[Case] = []
    for path in sorted(FOLDER.glob("kind_*.yml")):
        for plain in yaml.safe_load(path.read_text(encoding="utf-8")):
            expected, forbidden = plain.pop("expected"), plain.pop("must_not", [])
            for key in ("says", "do"):
                expected[key] = tuple(expected.get(key, ()))
            plain["source"] = tuple(plain["source"])
            must_not = tuple(MustNot(**one) for one in forbidden)
            found.append(Case(**plain, expected=Expected(**expected), must_not=must_not))
    return tuple(found)


def desired(case: Case) -> Desired:
    axes = {axis: values for axis, values in case.wanted.items() if axis in _AXES}
    assert set(axes) == set(case.wanted), "the lock has no such axis"
    driver = axes.get("driver", {})
    if "fabric_manager" in axes and axes["fabric_manager"] is None:
        return healthy.desired(of_lock=healthy.lock(**axes), **case.variables)
    if "version" in driver:
        version = driver["version"]
        packages = dict.fromkeys(("libcuda1", "nvidia-kernel-open-dkms", "nvidia-smi"), version + "-1")
        axes["driver"] = {"packages": packages, **driver}
        axes.setdefault("fabric_manager", {"version": version, "packages": {"nvidia-fabricmanager": version + "-1"}})
    return healthy.desired(of_lock=healthy.lock(**axes), **case.variables)


def capture(case: Case, wanted: Desired) -> t.Dict[str, t.Any]:
    """What the node of the case answers."""
    machine = Machine(wanted, (A10,))
    mapping.apply(machine, {**case.filled_in, **case.input})
    return machine.capture()


@dataclasses.dataclass(frozen=True)
class Judged:
    """What is said of a node: the verdict, and what a run would refuse before it begins."""

    evidence: Evidence
    verdict: Verdict
    refusals: t.Tuple[Finding, ...]

    @property
    def problems(self) -> t.Tuple[Finding, ...]:
        found = (f for f in self.verdict.findings if f.status in ("fail", "unknown"))
        return (*found, *self.refusals)


def judged(case: Case) -> Judged:
    """From the capture alone, as if there were no node."""
    wanted = desired(case)
    evidence = look(Replay(capture(case, wanted)), wanted, single_gpus=True)
    found = verdict.run(wanted, evidence, case.expected_gpus)
    return Judged(evidence, found, verdict.refusals(wanted, evidence, case.expected_gpus))
