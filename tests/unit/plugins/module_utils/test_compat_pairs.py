# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of pairs: each through the real validator, and with its pool's GPUs through what is said before a run
changes anything; what each refusal proposes is applied and judged again."""

from __future__ import annotations

import copy
import datetime
import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.goldennode.gpu.plugins.module_utils import bundle as bundles
from ansible_collections.goldennode.gpu.plugins.module_utils import compat, compat_tables, generations, verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks import fits_gpus
from ansible_collections.goldennode.gpu.plugins.module_utils.compat_gpus import image_misfits
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    Desired,
    Evidence,
    Finding,
    PciDevice,
    to_plain,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.version import version_numbers
from ansible_collections.goldennode.gpu.tests.unit import bundles as sound
from ansible_collections.goldennode.gpu.tests.unit import healthy

TODAY = datetime.date(2026, 11, 30)
FILE = pathlib.Path(__file__).parents[2] / "compat_pairs.yml"
TABLE = yaml.safe_load(FILE.read_text(encoding="utf-8"))
PAIRS: t.List[t.Dict[str, t.Any]] = TABLE["pairs"]
KEYS = {
    "name",
    "bundle",
    "pool",
    "settings",
    "refused",
    "pair",
    "warned",
    "node_refused",
    "node_pair",
    "told",
    "source",
}
OF_NODES = ("host_driver.flavour", "host_driver.nvswitch", "image.fits_gpus")
Words = t.Dict[str, str]


@pytest.fixture(params=PAIRS, ids=lambda pair: pair["name"])
def pair(request: pytest.FixtureRequest) -> t.Dict[str, t.Any]:
    return request.param  # type: ignore[no-any-return]


def data(pair: t.Mapping[str, t.Any], changes: t.Optional[t.Mapping[str, t.Any]] = None) -> t.Dict[str, t.Any]:
    """The bundle as people write it, with what a refusal proposes, by path."""
    said = {**TABLE["defaults"]["bundle"], **pair.get("bundle", {})}
    plain = copy.deepcopy(sound.DATA)
    plain["platforms"] = {said["platform"]: plain["platforms"][sound.PLATFORM]}
    plain["kernel"] = {"release": said["kernel"]}
    plain["driver"] = {key: said[key] for key in ("flavour", "build", "source") if key in said}
    plain["driver"]["version"] = said["driver"]
    plain["fabric_manager"] = {"version": said.get("fabric_manager", said["driver"])}
    if "fabric_manager" not in said:
        del plain["fabric_manager"]
    plain["toolkit"] = {key: said[old] for key, old in (("version", "toolkit"), ("waiver", "waiver")) if old in said}
    plain["docker"] = {"version": said["docker"]}
    plain["image"] = {"reference": said.get("reference", "registry.example/cuda:%s-base" % said["cuda"])}
    plain["image"]["cuda_compat"] = said.get("cuda_compat", "none")
    plain.update({axis: said[axis] for axis in ("framework", "nccl") if axis in said})
    plain = copy.deepcopy(plain)
    for path, value in (changes or {}).items():
        axis, *fields = path.split(".")
        if not fields:
            continue
        at = plain.setdefault(axis, {})
        for field in fields[:-1]:
            at = at[field]
        at[fields[-1]] = value
        if path == "driver.version" and "fabric_manager" in plain:
            plain["fabric_manager"]["version"] = value
        if path == "image.cuda":  # the image is another one then
            plain["image"]["reference"] = "registry.example/cuda:%s-base" % value
    return plain


def problems(
    pair: t.Mapping[str, t.Any], changes: t.Optional[t.Mapping[str, t.Any]] = None
) -> t.Tuple[t.List[bundles.Problem], t.Optional[bundles.PlatformBundle]]:
    settings = {**pair.get("settings", {}), **{k: v for k, v in (changes or {}).items() if "." not in k}}
    try:
        (platform,) = sound.load(data(pair, changes)).platforms.values()
    except bundles.BundleError as error:
        return list(error.problems), None
    cdi, gids = settings.get("toolkit_cdi", True), settings.get("toolkit_cdi_additional_gids", True)
    return compat.problems(platform, TODAY, cdi, gids), platform


def gpus(pair: t.Mapping[str, t.Any]) -> t.List[str]:
    return [str(device) for device in {**TABLE["defaults"]["pool"], **pair.get("pool", {})}["gpus"]]


def on_nodes(pair: t.Mapping[str, t.Any], platform: bundles.PlatformBundle) -> t.List[Finding]:
    """What is found on a bare node of the pool, whose lock is not resolved yet."""
    devices = [PciDevice(healthy.address(i), device, "0302") for i, device in enumerate(gpus(pair))]
    if pair.get("pool", {}).get("nvswitch"):
        devices.append(PciDevice("0000:a0:00.0", "22a3", "0680", nvswitch=True))
    look = healthy.known(
        Evidence("2026-11-30T12:00:00+00:00", "node1", "host"), pci=tuple(devices), driver=None, module_on_disk=None
    )
    lock = {"driver": to_plain(platform.driver), "image": to_plain(platform.image)}
    told = fits_gpus.fits_gpus(Desired("", platform.platform, lock, {}, {}, {}, {}), look, len(devices))
    refused = verdict.refusals(None, look, len(devices), bundle=to_plain(platform))
    mine = [finding for finding in refused if finding.id in OF_NODES]
    return mine + [finding for finding in told if not finding.required and finding.status in ("fail", "unknown")]


def proposals(pair: t.Mapping[str, t.Any], platform: bundles.PlatformBundle) -> t.List[t.Mapping[str, t.Any]]:
    driver, image = to_plain(platform.driver), to_plain(platform.image)
    found: t.List[t.Mapping[str, t.Any]] = []
    for device in gpus(pair):
        generation = generations.gpu_generation(device)
        misfit = generations.misfit(generation, platform.driver.flavour, platform.driver.branch)
        if misfit is not None:
            found.append(misfit.pair)
        found += [one.pair for one in image_misfits(device, driver, image) if one.refused]
    if pair.get("pool", {}).get("nvswitch") and platform.fabric_manager is None:
        found.append({"fabric_manager.version": platform.driver.version})
    return found


def assert_each_is_said(expected: t.Sequence[str], said: t.Sequence[str]) -> None:
    assert len(said) == len(expected), said
    for words in expected:
        assert any(words in one for one in said), (words, said)


def test_a_pair_is_answered_as_the_table_says(pair: t.Dict[str, t.Any]) -> None:
    found, platform = problems(pair)
    refused: Words = pair.get("refused", {})
    assert {problem.path for problem in found} == set(refused), [str(problem) for problem in found]
    for problem in found:
        assert refused[problem.path] in str(problem)
    assert_each_is_said(pair.get("warned", []), compat.warnings(platform, TODAY) if platform else [])
    if "pair" in pair:
        assert pair["pair"] in [dict(one) for problem in found for one in problem.pairs]


def test_a_refusal_names_both_sides_and_a_pair_that_is_not_refused(pair: t.Dict[str, t.Any]) -> None:
    found, _platform = problems(pair)
    for problem in found:
        assert problem.pairs, str(problem)
        for proposed in problem.pairs:
            left, _changed = problems(pair, proposed)
            assert not any(one.path == problem.path and one.message == problem.message for one in left), proposed
            assert {one.path for one in left} <= {one.path for one in found} - {problem.path}, proposed
            words = [str(value).lower() for path, value in proposed.items() if "." in path]
            if problem.path != "driver.version" or "kernel.release" not in proposed:  # "older than 6.15" is 6.14
                assert all(word in problem.fix.lower() for word in words), problem.fix


def test_nodes_answer_as_the_table_says(pair: t.Dict[str, t.Any]) -> None:
    _found, platform = problems(pair)
    if platform is None:
        return
    findings = on_nodes(pair, platform)
    refused: Words = pair.get("node_refused", {})
    assert {f.id for f in findings if f.required} == set(refused), findings
    for finding in findings:
        if finding.required:
            assert refused[finding.id] in finding.cause
            assert finding.repair == "manual"
    assert_each_is_said(pair.get("told", []), [f.cause for f in findings if not f.required])


def test_what_nodes_propose_is_refused_by_neither(pair: t.Dict[str, t.Any]) -> None:
    _found, platform = problems(pair)
    proposed = proposals(pair, platform) if platform is not None and pair.get("node_refused") else []
    wanted = pair.get("node_pair")
    if wanted is not None:
        assert any(wanted.items() <= one.items() for one in proposed), proposed
    for one in proposed:
        if not one:
            assert "of which nothing is known here" in on_nodes(pair, platform)[0].fix  # type: ignore[arg-type]
            continue
        left, changed = problems(pair, one)
        assert left == [], one
        assert changed is not None
        assert [f for f in on_nodes(pair, changed) if f.required] == [], one


# --- the table itself ---------------------------------------------------------------------------------------------


def test_the_table_is_large_and_has_both_kinds() -> None:
    wrong = [pair for pair in PAIRS if pair.get("refused") or pair.get("node_refused")]
    assert len(PAIRS) >= 40
    assert len(wrong) >= 20
    assert len(PAIRS) - len(wrong) >= 20
    assert len({pair["name"] for pair in PAIRS}) == len(PAIRS)


def test_every_pair_has_a_source_that_can_be_looked_up() -> None:
    for pair in PAIRS:
        assert set(pair) <= KEYS | {"checked"}, pair["name"]
        assert pair["source"] in compat_tables.SOURCES or pair["source"].startswith("https://"), pair["name"]


def used(pair: t.Mapping[str, t.Any]) -> t.Iterator[str]:
    """The rows of the tables that a pair is about."""
    (platform,) = sound.load(
        data({"bundle": {k: v for k, v in pair.get("bundle", {}).items() if k != "fabric_manager"}})
    ).platforms.values()
    branch = platform.driver.branch
    yield "branch %d" % branch
    for build in (platform.image, platform.framework, platform.nccl):
        if build is not None and build.cuda:
            yield "cuda %s" % build.cuda
            if platform.image.cuda_compat == "minor":
                yield "minor %s" % build.cuda.partition(".")[0]
    for hole in compat_tables.HOLES:
        if version_numbers(platform.toolkit.version) < version_numbers(hole.fixed):
            yield "hole %s" % hole.name
    for first, _cdi in compat_tables.CDI_READERS:
        if version_numbers(platform.docker.version) >= version_numbers(first):
            yield "cdi %s" % first
    for since, branches in compat_tables.KERNEL_BUILDS:
        if version_numbers(platform.kernel.release or "")[:2] >= since and branch in branches:
            yield "kernel %d.%d %d" % (*since, branch)
    if version_numbers(platform.kernel.release or "")[:2] > (6, 17):
        yield "hint %d" % branch
    for device in gpus(pair):
        yield "generation %s" % generations.gpu_generation(device)
    if platform.framework:
        version = version_numbers(platform.framework.version)[:2]
        yield "build %s %d.%d" % (platform.framework.name, *version)


def rows() -> t.Iterator[str]:
    yield from ("branch %d" % branch for branch in compat_tables.BRANCHES)
    yield from ("cuda %d.%d" % cuda for cuda in compat_tables.CUDA_DRIVERS)
    yield from ("minor %d" % major for major in compat_tables.MINOR_FLOORS)
    yield from ("hole %s" % hole.name for hole in compat_tables.HOLES)
    yield from ("cdi %s" % first for first, _cdi in compat_tables.CDI_READERS)
    for since, branches in compat_tables.KERNEL_BUILDS:
        yield from ("kernel %d.%d %d" % (*since, branch) for branch in branches)
    yield from ("hint %d" % branch for branch in compat_tables.NEW_KERNEL_HINTS)
    yield from ("generation %s" % generation for generation in generations.GENERATIONS)
    yield from ("build %s %d.%d" % (name, *version) for name, version, *_rest in compat_tables.FRAMEWORK_BUILDS)
    yield "podman"


def test_every_row_of_the_tables_is_used_by_a_pair_or_named_as_not_covered() -> None:
    covered = {row for pair in PAIRS for row in used(pair)}
    left = set(rows()) - covered
    assert left == set(TABLE["not_covered"])
    assert all(TABLE["not_covered"].values())


def test_every_row_names_a_source() -> None:
    named = {branch.source for branch in compat_tables.BRANCHES.values()}
    named |= {row.source for row in compat_tables.CUDA_RELEASES} | {hole.source for hole in compat_tables.HOLES}
    named |= {row[4] for row in compat_tables.FRAMEWORK_BUILDS}
    named |= {generation.source for generation in generations.GENERATIONS.values()}
    named |= {compat_tables.MINOR_SOURCE, compat_tables.FORWARD_SOURCE, compat_tables.KERNEL_SOURCE}
    assert named <= set(compat_tables.SOURCES)
    assert set(compat_tables.CDI_MARKS) == {cdi for _first, cdi in compat_tables.CDI_READERS}


def test_the_releases_that_are_named_as_examples_are_of_their_branch() -> None:
    for number, branch in compat_tables.BRANCHES.items():
        assert version_numbers(branch.release)[0] == number
    for first, release in compat_tables.DOCKER_RELEASES.items():
        assert version_numbers(release) >= version_numbers(first)
    assert compat.toolkit_holes(compat_tables.TOOLKIT_RELEASE) == []
    assert compat_tables.HOLES[-1].fixed == compat_tables.TOOLKIT_FLOOR
