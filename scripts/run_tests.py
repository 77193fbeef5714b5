#!/usr/bin/env python3
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the parts of the test suite, goes on after one that fails, and closes with a line that counts.

A part that writes JUnit files counts its tests; any other counts as one. A part that ends badly without a failed test,
or that should have run tests and ran none, counts as one failure.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path
from xml.etree import ElementTree

import proven

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / ".venv" / "bin"
COLLECTIONS = ROOT / "collections"
JUNIT = ROOT / "tests" / "output" / "junit"
# The default scenario only starts and removes the nodes of the others.
SCENARIOS = sorted(path for path in ROOT.glob("molecule/*/molecule.yml") if path.parent.name != "default")


@dataclasses.dataclass(frozen=True)
class Part:
    """One command. ``junit``: the folder below tests/output/junit where it writes its results; ``limit`` in seconds."""

    name: str
    command: t.Tuple[str, ...]
    junit: t.Optional[str] = None
    limit: int = 600
    variables: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Where it is remembered that the part has passed on what it covers; such a part is not run for every change.
    record: t.Optional[proven.Record] = None


@dataclasses.dataclass(frozen=True)
class Result:
    part: Part
    passed: int
    failed: int
    skipped: int
    seconds: float
    remark: str = ""


def _pytest(name: str, *arguments: str, limit: int, record: t.Optional[proven.Record] = None) -> Part:
    command = (str(BIN / "python"), "-m", "pytest", "-p", "no:cacheprovider", "--junitxml")
    results = str(JUNIT / name / "results.xml")
    return Part(name, (*command, results, *arguments), name, limit, {"PYTHONPATH": str(COLLECTIONS)}, record)


def _tool(name: str, *command: str) -> Part:
    # ansible-lint looks for collections in places of its own, not where ansible.cfg says, and first in the user's home,
    # where another copy of this collection may lie.
    variables = {"ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_HOME": str(ROOT / ".cache" / "ansible")}
    return Part(name, (str(BIN / command[0]), *command[1:]), variables=variables)


def _scenario(name: str) -> Part:
    """Each by itself: molecule would stop at the first scenario that fails."""
    command = (str(BIN / "molecule"), "--base-config", "molecule/config.yml", "test", "--scenario-name", name)
    return Part("molecule-" + name, command, junit="molecule/" + name, limit=1200)


#: A run on nodes waits for a part of its time. Each worker has nodes of its own (tests/pool/conftest.py); by files, for
#: what a file's tests start from takes minutes to make. (pytest-xdist 3.8 keeps no groups with pytest 9.2.)
SIDE_BY_SIDE = ("--numprocesses", "2", "--dist", "loadfile")

#: The tests on nodes that are run for every change.
EVERY_TIME = "not slow and not boot and not diagnosis and not engines and not packages and not rollout"

#: Real packages and a real reboot: 20 minutes where nothing else runs on two processors. The limit ends what hangs.
REAL = _pytest("real", "tests/real", limit=2400, record=proven.REAL)

BOOT = _pytest("boot", "tests/pool", "-m", "boot", *SIDE_BY_SIDE, limit=3600, record=proven.BOOT)
DIAGNOSIS = _pytest("diagnosis", "tests/pool", "-m", "diagnosis", *SIDE_BY_SIDE, limit=3600, record=proven.DIAGNOSIS)
ENGINES = _pytest("engines", "tests/pool", "-m", "engines", *SIDE_BY_SIDE, limit=3600, record=proven.ENGINES)
PACKAGES = _pytest("packages", "tests/pool", "-m", "packages", *SIDE_BY_SIDE, limit=3600, record=proven.PACKAGES)
ROLLOUT = _pytest("rollout", "tests/pool", "-m", "rollout", limit=3600, record=proven.ROLLOUT)

#: Side by side they would share two processors between two browsers.
BROWSER = _pytest("browser", "tests/browser", limit=1200, record=proven.BROWSER)

GROUPS: t.Dict[str, t.Tuple[Part, ...]] = {
    "lint": (
        _tool("ansible-lint", "ansible-lint", "-q", "--format", "pep8"),
        _tool("yamllint", "yamllint", "--strict", "."),
        _tool("ruff", "ruff", "check", "--quiet", "."),
        _tool("ruff-format", "ruff", "format", "--quiet", "--check", "."),
        _tool("mypy", "mypy", "plugins/module_utils"),
        _tool("changelog", "antsibull-changelog", "lint"),
    ),
    "sanity": (Part("sanity", ("scripts/ansible_test.sh", "sanity"), junit="sanity", limit=1200),),
    "units": (Part("units", ("scripts/ansible_test.sh", "units"), junit="units"),),
    "testbed": (_pytest("testbed", "tests/testbed/tests", limit=1800),),
    "pool": (_pytest("pool", "tests/pool", "-m", EVERY_TIME, *SIDE_BY_SIDE, limit=3600),),
    "molecule": tuple(_scenario(path.parent.name) for path in SCENARIOS),
    "boot": (BOOT,),
    "diagnosis": (DIAGNOSIS,),
    "engines": (ENGINES,),
    "packages": (PACKAGES,),
    "rollout": (ROLLOUT,),
    "browser": (BROWSER,),
    "real": (REAL,),
    "slow": (
        BROWSER,
        REAL,
        BOOT,
        DIAGNOSIS,
        ENGINES,
        PACKAGES,
        ROLLOUT,
        _pytest("pool-slow", "tests/pool", "-m", "slow", *SIDE_BY_SIDE, limit=3600),
        Part("units-all", ("scripts/ansible_test.sh", "units-all"), junit="units-all", limit=1800),
    ),
}
#: Where what they cover has not changed since they passed, these prove nothing new.
RECORDED = ("boot", "browser", "diagnosis", "engines", "packages", "real")
#: Half an hour of rollouts beside the rest would take CI beyond its hour: whoever changes them runs these.
BY_HAND = ("rollout", "slow")
EVERYTHING = tuple(group for group in GROUPS if group not in (*RECORDED, *BY_HAND))


def main(argv: t.Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    known = "of %s; when none, %s" % (", ".join(GROUPS), ", ".join(EVERYTHING))
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=known)
    due = "also %s, when what they cover has changed" % " and ".join(RECORDED)
    parser.add_argument("--ci", action="store_true", help=due)
    given = parser.parse_args(argv)
    groups = (*(given.groups or EVERYTHING), *(_due() if given.ci else ()))
    unknown = [group for group in groups if group not in GROUPS]
    if unknown:
        parser.error("no group %s; there are %s" % (", ".join(unknown), ", ".join(GROUPS)))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a part ends with us, as it does after Ctrl-C
    results = [run(part) for group in groups for part in GROUPS[group]]
    print(summary(results), flush=True)
    _remember(results)
    return 1 if any(result.failed for result in results) else 0


def _due() -> t.List[str]:
    due = []
    for group in RECORDED:
        records = [part.record for part in GROUPS[group] if part.record]
        if all(record.is_proven() for record in records):
            paths = ", ".join(record.path for record in records)
            print("%s: passed on all that it covers as it is now (%s)" % (group, paths), flush=True)
        else:
            due.append(group)
    return due


def _remember(results: t.Sequence[Result]) -> None:
    """Of each part with a record that it has passed, all of it."""
    for result in results:
        record = result.part.record
        if record and not result.failed and not result.skipped and not record.is_proven():
            words = "%d tests passed in %.0f s on %d processors, %s"
            record.write(words % (result.passed, result.seconds, os.cpu_count() or 0, time.strftime("%Y-%m-%d")))
            print("%s is new: commit it" % record.path, file=sys.stderr, flush=True)


def run(part: Part) -> Result:
    print("\n== %s: %s" % (part.name, " ".join(part.command)), flush=True)
    if part.junit:
        shutil.rmtree(JUNIT / part.junit, ignore_errors=True)
        (JUNIT / part.junit).mkdir(parents=True)
    start = time.monotonic()
    status = _execute(part)
    return judge(part, status, _counts(part), time.monotonic() - start)


def _execute(part: Part) -> t.Optional[int]:
    """The exit status, or None when the part ran past its limit and was ended."""
    path = "%s%s%s" % (BIN, os.pathsep, os.environ.get("PATH", ""))
    environment = {**os.environ, "PATH": path, **part.variables}
    process = subprocess.Popen(
        part.command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, start_new_session=True
    )
    try:
        return process.wait(part.limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # What a part has started ends with it; also when we are interrupted.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _counts(part: Part) -> t.Optional[t.Tuple[int, int, int]]:
    """Passed, failed and skipped tests in the part's JUnit files; None for a part that writes none."""
    if not part.junit:
        return None
    passed = failed = skipped = 0
    for path in sorted((JUNIT / part.junit).rglob("*.xml")):
        for case in ElementTree.parse(path).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
            elif case.find("skipped") is not None:
                skipped += 1
            else:
                passed += 1
    return passed, failed, skipped


def judge(part: Part, status: t.Optional[int], counts: t.Optional[t.Tuple[int, int, int]], seconds: float) -> Result:
    passed, failed, skipped = counts or (0, 0, 0)
    if status is None:
        return Result(part, passed, failed + 1, skipped, seconds, "ended after its limit of %d s" % part.limit)
    if status != 0:
        # A tool that fails without a failed test has not done its work.
        return Result(part, passed, failed or 1, skipped, seconds, "exit status %d" % status)
    if counts is None:
        return Result(part, 1, 0, 0, seconds)
    if passed + failed == 0:
        return Result(part, 0, 1, skipped, seconds, "no test was run")
    return Result(part, passed, failed, skipped, seconds)


def summary(results: t.Sequence[Result]) -> str:
    lines = ["", "%-24s %7s %7s %8s %8s" % ("part", "passed", "failed", "skipped", "seconds")]
    for r in results:
        row = "%-24s %7d %7d %8d %8.0f  %s" % (r.part.name, r.passed, r.failed, r.skipped, r.seconds, r.remark)
        lines.append(row.rstrip())
    passed, failed, skipped = (sum(numbers) for numbers in zip(*((r.passed, r.failed, r.skipped) for r in results)))
    lines += ["", "%d passed, %d failed%s" % (passed, failed, ", %d skipped" % skipped if skipped else "")]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
