# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules by which a bundle is refused: each knows both sides and the ways out, and proves none of them.

Pure. Only what is known is refused. ``compat`` asks them and chooses the ways that work.
"""

from __future__ import annotations

import datetime
import typing as t

from .bundle import PlatformBundle
from .compat_cdi import first_docker_for, newest_cdi, reads_cdi, written_cdi
from .compat_pairs import Pair, Refusal, Way
from .compat_tables import (
    BRANCHES,
    CUDA_DRIVERS,
    DOCKER_RELEASES,
    FRAMEWORK_BUILDS,
    HOLES,
    KERNEL_BUILDS,
    LONG_TERM,
    MINOR_FLOORS,
    NEWEST_KERNEL,
    TOOLKIT_FLOOR,
    TOOLKIT_RELEASE,
    WAIVER_DAYS,
    Numbers,
)
from .version import version_numbers

NAMES = {"pytorch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}


def refusals(
    bundle: PlatformBundle, today: t.Optional[datetime.date], cdi: bool = True, gids: bool = True
) -> t.List[Refusal]:
    """Every pair of this bundle that is known not to work; without ``today`` all but what depends on the day."""
    found = [*_flavour(bundle), *_cuda(bundle), *_builds(bundle)]
    if today is not None:
        found += _toolkit(bundle, today)
    found += _cdi(bundle, cdi, gids)
    if bundle.kernel.release:
        found += kernel(bundle, bundle.kernel.release)
    return found


def _flavour(bundle: PlatformBundle) -> t.Iterator[Refusal]:
    driver = bundle.driver
    branch = BRANCHES.get(driver.branch)
    if branch is None:
        return
    if driver.flavour == "open" and not branch.open_modules:
        missing, other = "open modules begin with branch 515", "proprietary"
    elif driver.flavour == "proprietary" and not branch.proprietary_modules:
        missing, other = "from branch 615 on there are open modules only", "open"
    else:
        return
    message = "does not exist for driver %s: %s" % (driver.version, missing)
    same = Way(lambda pair: "%s with %s" % (other, driver.version), [{"driver.flavour": other}])
    newer = Way(
        lambda pair: "%s with %s" % (driver.flavour, pair["driver.version"]),
        [{"driver.version": version} for version in LONG_TERM],
    )
    yield Refusal("flavour", "driver.flavour", driver.flavour, message, [same, newer])


# --- CUDA and the driver ------------------------------------------------------------------------------------------


def _cuda(bundle: PlatformBundle) -> t.Iterator[Refusal]:
    """An image needs the driver of its own CUDA release, unless the bundle leans on CUDA's compatibility rules."""
    image = bundle.image
    yield from _newer(
        bundle, "image", ("image.reference", image.reference), "is CUDA", ("image", "an image of"), image.cuda
    )


def _builds(bundle: PlatformBundle) -> t.Iterator[Refusal]:
    """So does what was built for a CUDA of its own, which it brings along."""
    for axis, build in (("framework", bundle.framework), ("nccl", bundle.nccl)):
        if build is not None:
            said = (axis + ".version", build.version)
            yield from _newer(bundle, axis, said, "is built for CUDA", ("build", "a build for"), build.cuda)


def _newer(
    bundle: PlatformBundle,
    axis: str,
    said: t.Tuple[str, str],
    verb: str,
    words: t.Tuple[str, str],
    wanted: t.Optional[str],
) -> t.Iterator[Refusal]:
    driver, compat = bundle.driver.version, bundle.image.cuda_compat
    cuda = cuda_numbers(wanted)
    if cuda is None or cuda not in CUDA_DRIVERS or compat == "forward":
        return
    first, floor = CUDA_DRIVERS[cuda], MINOR_FLOORS[cuda[0]]
    loaded = version_numbers(driver)
    if loaded >= version_numbers(first) or (loaded >= version_numbers(floor) and compat == "minor"):
        return
    reached = loaded >= version_numbers(floor)
    if reached:
        message = "%s %s, and driver %s is older than that release (%s)" % (verb, wanted, driver, first)
        more = "; if the pool leans on CUDA's minor version compatibility (no PTX of a newer CUDA; data-center boards "
        more += "only where the image states its requirement), say so with image.cuda_compat: minor"
    else:
        message = "%s %s, which no driver before %s runs; the bundle has %s" % (verb, wanted, floor, driver)
        more = "; images with the matching cuda-compat package run on data-center boards: image.cuda_compat: forward "
        more += "says so"
    needed = first if compat != "minor" else floor
    ways = [Way(lambda pair: _driver_words(pair, needed, words[0]), list(_drivers(bundle, needed)))]
    older = _older(bundle, axis, loaded)
    if older:
        ways.append(
            Way(lambda pair: "%s CUDA %s or older with driver %s" % (words[1], older, driver), [_as(axis, older)])
        )
    yield Refusal("cuda of " + axis, said[0], said[1], message, ways, more)


def _as(axis: str, cuda: str) -> Pair:
    return {axis + ".cuda": cuda}


def _driver_words(pair: Pair, needed: str, what: str) -> str:
    flavour = ", %s," % pair["driver.flavour"] if "driver.flavour" in pair else ""
    return "driver %s or newer (%s%s for example) with this %s" % (needed, pair["driver.version"], flavour, what)


def _drivers(bundle: PlatformBundle, needed: str) -> t.Iterator[Pair]:
    """Releases that reach ``needed``: long-term ones first, then those of the oldest branch that does."""
    known = [*LONG_TERM, *(branch.release for branch in BRANCHES.values())]
    reached = [version for version in known if version_numbers(version) >= version_numbers(needed)]
    for version in dict.fromkeys(reached):
        yield {"driver.version": version}
    for version in dict.fromkeys(reached):
        yield {"driver.version": version, "driver.flavour": "open"}


def _older(bundle: PlatformBundle, axis: str, loaded: Numbers) -> t.Optional[str]:
    """The newest CUDA that this driver runs by itself; of a framework, one for which it is published."""
    fitting = [cuda for cuda, first in CUDA_DRIVERS.items() if version_numbers(first) <= loaded]
    published = published_builds(bundle) if axis == "framework" else None
    if published is not None:
        fitting = [cuda for cuda in fitting if cuda in published]
    return dotted(max(fitting)) if fitting else None


def published_builds(bundle: PlatformBundle) -> t.Optional[t.Tuple[Numbers, ...]]:
    """The builds of the bundle's framework that its makers publish; None where that is not known."""
    framework = bundle.framework
    for name, version, builds, _mark, _source in FRAMEWORK_BUILDS:
        if framework and name == framework.name and version == version_numbers(framework.version)[:2]:
            return builds
    return None


def cuda_numbers(cuda: t.Optional[str]) -> t.Optional[Numbers]:
    return version_numbers(cuda) if cuda else None


def dotted(numbers: t.Iterable[int]) -> str:
    return ".".join(str(number) for number in numbers)


# --- toolkit and Docker -------------------------------------------------------------------------------------------


def toolkit_holes(version: str) -> t.List[str]:
    """The known holes that are open in a release of the toolkit."""
    return [hole.name for hole in HOLES if version_numbers(version) < version_numbers(hole.fixed)]


def _toolkit(bundle: PlatformBundle, today: datetime.date) -> t.Iterator[Refusal]:
    toolkit, waiver = bundle.toolkit.version, bundle.toolkit.waiver
    holes = toolkit_holes(toolkit)
    if not holes:
        return
    newer = Way(_toolkit_words, [_toolkit_pair(None), *(_toolkit_pair(docker) for docker in DOCKER_RELEASES.values())])
    if waiver is None:
        message = "is older than %s and open to %s (a container can get out)" % (TOOLKIT_FLOOR, ", ".join(holes))
        more = "; or say in toolkit.waiver why the pool must have it (reason) and for how long (until)"
        yield Refusal("toolkit", "toolkit.version", toolkit, message, [newer], more)
        return
    until, last = datetime.date.fromisoformat(waiver.until), today + datetime.timedelta(WAIVER_DAYS)
    if until < today:
        message = "is over, and toolkit %s is open to %s" % (toolkit, ", ".join(holes))
        yield Refusal(
            "toolkit", "toolkit.waiver.until", waiver.until, message, [newer], "; or give the waiver another date"
        )
    elif until > last:
        message = "is more than %d days away: a waiver without an end in sight is none" % WAIVER_DAYS
        day = last.isoformat()
        way = Way(lambda pair: "a date up to %s" % day, [{"toolkit.waiver.until": day}])
        yield Refusal("toolkit", "toolkit.waiver.until", waiver.until, message, [way], begin="Give ")


def _toolkit_pair(docker: t.Optional[str]) -> Pair:
    pair = {"toolkit.version": TOOLKIT_RELEASE}
    return dict(pair, **{"docker.version": docker}) if docker else pair


def _toolkit_words(pair: Pair) -> str:
    docker = " with Docker %s" % pair["docker.version"] if "docker.version" in pair else ""
    return "%s or newer, %s%s for example, all four packages at one version" % (TOOLKIT_FLOOR, TOOLKIT_RELEASE, docker)


def _cdi(bundle: PlatformBundle, cdi: bool, gids: bool) -> t.Iterator[Refusal]:
    toolkit, docker = bundle.toolkit.version, bundle.docker.version
    schema = written_cdi(toolkit, gids)
    if not cdi or newest_cdi(docker) is None or reads_cdi(docker, schema) is not False:
        return
    first = first_docker_for(schema) or ""
    message = "reads CDI, but not version %s of it, which toolkit %s writes" % (schema, toolkit)
    newer = Way(
        lambda pair: "Docker %s or newer (%s for example) with toolkit %s" % (first, pair["docker.version"], toolkit),
        [{"docker.version": release} for release in DOCKER_RELEASES.values()],
    )
    older = Way(
        lambda pair: "set toolkit_cdi_additional_gids to false, with which it writes an older one",
        [{"toolkit_cdi_additional_gids": False}],
    )
    none = Way(lambda pair: "toolkit_cdi to false", [{"toolkit_cdi": False}])
    yield Refusal("cdi", "docker.version", docker, message, [newer, older, none])


# --- kernel and driver --------------------------------------------------------------------------------------------


def kernel(bundle: PlatformBundle, release: str) -> t.Iterator[Refusal]:
    """Whether the driver's modules are known not to build on a kernel.

    Only for modules that are built on the node from NVIDIA's own sources: a distribution patches its own.
    """
    driver = bundle.driver
    needed = first_that_builds(driver.branch, release)
    if driver.build != "dkms" or driver.source != "nvidia" or is_reached(driver.version, needed):
        return
    if needed:
        newer = Way(
            lambda pair: "driver %s or newer of this branch with this kernel" % needed, [{"driver.version": needed}]
        )
    else:
        newer = Way(
            lambda pair: "driver %s with this kernel" % pair["driver.version"],
            [{"driver.version": version} for version in LONG_TERM],
        )
    first = _first_refused(driver.version, driver.branch)
    older = Way(
        lambda pair: "a kernel older than %s with this driver" % dotted(first),
        [{"kernel.release": dotted((first[0], first[1] - 1))}],
    )
    message = "does not build on kernel %s" % release
    yield Refusal("kernel", "driver.version", driver.version, message, [newer, older])


def first_that_builds(branch: int, release: str) -> t.Optional[str]:
    """First driver of a branch whose own sources build on a kernel; None where none of it does."""
    needed = "0"
    for since, branches in KERNEL_BUILDS:
        if version_numbers(release)[:2] >= since and branch in branches:
            first = branches[branch]
            if first is None:
                return None
            needed = max(needed, first, key=version_numbers)
    return needed


def is_reached(version: str, needed: t.Optional[str]) -> bool:
    return needed is not None and version_numbers(version) >= version_numbers(needed)


def _first_refused(version: str, branch: int) -> Numbers:
    for since, branches in KERNEL_BUILDS:
        first = branches.get(branch, "0")
        if first is None or version_numbers(version) < version_numbers(first):
            return since
    return NEWEST_KERNEL
