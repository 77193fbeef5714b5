# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What cannot work together is refused, with both sides and a pair that works; what is not known is a warning.

Pure. The tables and their sources are in ``compat_tables``, the rules in ``compat_rules``, the choice of what a refusal
proposes in ``compat_pairs``. What only a node can tell, which GPUs it has, is judged by ``checks``.
"""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from .bundle import Kernel, PlatformBundle
from .compat_cdi import first_docker_for, newest_cdi, podman_reads_cdi, reads_cdi, written_cdi
from .compat_pairs import Pair, problem
from .compat_rules import (
    NAMES,
    cuda_numbers,
    dotted,
    first_that_builds,
    is_reached,
    published_builds,
    refusals,
    toolkit_holes,
)
from .compat_tables import (
    BRANCHES,
    CDI_070_TOOLKIT,
    CDI_READERS,
    CUDA_DRIVERS,
    LONG_TERM,
    MINOR_FLOORS,
    NEW_KERNEL_HINTS,
    NEWEST_KERNEL,
    PODMAN_070,
    PODMAN_CDI,
    TOOLKIT_FLOOR,
)
from .node_sources import cuda_release, cuda_release_of
from .problem import Problem
from .version import version_numbers

#: What others ask this module for.
__all__ = (
    "BRANCHES",
    "CDI_070_TOOLKIT",
    "CDI_READERS",
    "CUDA_DRIVERS",
    "LONG_TERM",
    "MINOR_FLOORS",
    "PODMAN_070",
    "PODMAN_CDI",
    "TOOLKIT_FLOOR",
    "first_docker_for",
    "kernel_problems",
    "kernel_warning",
    "newest_cdi",
    "podman_reads_cdi",
    "problems",
    "reads_cdi",
    "toolkit_holes",
    "warnings",
    "written_cdi",
)


def problems(bundle: PlatformBundle, today: datetime.date, cdi: bool = True, cdi_gids: bool = True) -> t.List[Problem]:
    """Every pair of this bundle that is known not to work.

    :arg cdi: whether Docker is to give GPUs out by CDI (``toolkit_cdi``)
    :arg cdi_gids: whether specifications name the groups of device nodes (``toolkit_cdi_additional_gids``)
    """
    return _told(bundle, today, cdi, cdi_gids)


def kernel_problems(bundle: PlatformBundle, release: str) -> t.List[Problem]:
    """Whether the driver's modules are known not to build on a kernel, which a metapackage may have led to."""
    on_it = dataclasses.replace(bundle, kernel=Kernel(release=release))
    return _told(on_it, None, True, True, only="kernel")


def _told(
    bundle: PlatformBundle, today: t.Optional[datetime.date], cdi: bool, gids: bool, only: str = ""
) -> t.List[Problem]:
    def judge(other: PlatformBundle, settings: Pair) -> t.Set[str]:
        with_cdi = bool(settings.get("toolkit_cdi", cdi))
        with_gids = bool(settings.get("toolkit_cdi_additional_gids", gids))
        return {refusal.rule for refusal in refusals(other, today, with_cdi, with_gids)}

    found = refusals(bundle, today, cdi, gids)
    before = {refusal.rule for refusal in found}
    return [problem(refusal, bundle, before, judge) for refusal in found if only in ("", refusal.rule)]


def warnings(bundle: PlatformBundle, today: datetime.date) -> t.List[str]:
    """What works, or may work, and should be known: ends of life, what the tables do not know, compatibility modes."""
    found = [_branch_warning(bundle, today), _cuda_warning(bundle), *_build_warnings(bundle)]
    found += [_repository_warning(bundle), _waiver_warning(bundle)]
    if bundle.kernel.release:
        found.append(kernel_warning(bundle, bundle.kernel.release))
    return [warning for warning in found if warning]


def _waiver_warning(bundle: PlatformBundle) -> str:
    toolkit, waiver = bundle.toolkit.version, bundle.toolkit.waiver
    if waiver is None:
        return ""
    holes = toolkit_holes(toolkit)
    if not holes:
        return "toolkit %s: the waiver (%s) is not needed, no known hole is open; take it out" % (
            toolkit,
            waiver.reason,
        )
    return "toolkit %s is open to %s, waived until %s: %s" % (toolkit, ", ".join(holes), waiver.until, waiver.reason)


def _branch_warning(bundle: PlatformBundle, today: datetime.date) -> str:
    version, branch = bundle.driver.version, BRANCHES.get(bundle.driver.branch)
    if branch is None:
        return (
            "driver %s: its branch is not in the tables of this collection, so nothing about it was checked" % version
        )
    if branch.ended or (branch.eol and (today.year, today.month) > branch.eol):
        when = " since %d-%02d" % (branch.eol[0], branch.eol[1]) if branch.eol else ""
        return "driver %s: its branch is past its end of life%s: no more security fixes; %s are long-term ones" % (
            version,
            when,
            " and ".join(LONG_TERM),
        )
    return ""


def _cuda_warning(bundle: PlatformBundle) -> str:
    image = bundle.image
    return _level_warning(bundle, "image %s" % image.reference, "image", image.cuda, "image.cuda")


def _build_warnings(bundle: PlatformBundle) -> t.Iterator[str]:
    """What was built for a CUDA of its own works with the driver by the same rules as an image."""
    framework, nccl = bundle.framework, bundle.nccl
    if framework is not None:
        said = "%s %s" % (NAMES.get(framework.name, framework.name), framework.version)
        yield _level_warning(bundle, said, "framework", framework.cuda, "framework.cuda")
        yield _published_warning(bundle, said)
        yield _other_major(said, framework.cuda, "the image", bundle.image.cuda)
    if nccl is not None:
        said = "NCCL %s" % nccl.version
        yield _level_warning(bundle, said, "NCCL", nccl.cuda, "nccl.cuda")
        beside = ("the framework", framework.cuda) if framework is not None else ("the image", bundle.image.cuda)
        yield _other_major(said, nccl.cuda, *beside)


def _level_warning(bundle: PlatformBundle, said: str, what: str, cuda: t.Optional[str], key: str) -> str:
    numbers, driver, compat = cuda_numbers(cuda), bundle.driver.version, bundle.image.cuda_compat
    if numbers is None:
        return "%s: its CUDA version is not known, so driver and %s were not compared (set %s)" % (said, what, key)
    if numbers not in CUDA_DRIVERS:
        return "%s: CUDA %s is not in the tables of this collection, so driver and %s were not compared" % (
            said,
            cuda,
            what,
        )
    if version_numbers(driver) >= version_numbers(CUDA_DRIVERS[numbers]) or compat == "none":
        return ""
    if compat == "minor" and version_numbers(driver) < version_numbers(MINOR_FLOORS[numbers[0]]):
        return ""  # it is refused
    by = "%s: CUDA %s runs on driver %s by %s compatibility only" % (said, cuda, driver, compat)
    return by + _FORWARD if compat == "forward" else by


#: What the vendor's pages do not tell us is left to the proof on the node.
_FORWARD = (
    ", which is for data-center boards; whether the image has the cuda-compat package, and whether that is for this"
    " branch, is not known before a container proves it"
)


def _published_warning(bundle: PlatformBundle, said: str) -> str:
    framework, builds = bundle.framework, published_builds(bundle)
    if framework is None or framework.cuda is None:
        return ""
    if builds is None:
        return "%s: its release is not in the tables of this collection, so only its CUDA was compared" % said
    if cuda_numbers(framework.cuda) in builds:
        return ""
    known = ", ".join(dotted(build) for build in builds)
    return "%s: its makers publish it for CUDA %s, and the bundle says %s" % (said, known, framework.cuda)


def _other_major(said: str, cuda: t.Optional[str], beside: str, other: t.Optional[str]) -> str:
    if not cuda or not other or version_numbers(cuda)[0] == version_numbers(other)[0]:
        return ""
    return "%s: it is built for CUDA %s and %s is of CUDA %s: it works only with libraries of CUDA %d of its own" % (
        said,
        cuda,
        beside,
        other,
        version_numbers(cuda)[0],
    )


def _repository_warning(bundle: PlatformBundle) -> str:
    """NVIDIA makes a repository for each release: another one's packages fit by luck, and its key may be refused."""
    here = cuda_release(bundle.platform)
    for source in bundle.sources:
        for release in filter(None, map(cuda_release_of, source.uris)):
            if release != here:
                return "repository %s: it is NVIDIA's for %s, and the platform is %s (its directory would be %s)" % (
                    source.name,
                    release,
                    bundle.platform,
                    here,
                )
    return ""


def kernel_warning(bundle: PlatformBundle, release: str) -> str:
    """What is not known about building the driver's modules on a kernel; "" where it is known, or nothing is built."""
    driver, kernel = bundle.driver, version_numbers(release)[:2]
    if driver.build != "dkms" or kernel_problems(bundle, release):
        return ""
    if not is_reached(driver.version, first_that_builds(driver.branch, release)):
        return (
            "driver %s: NVIDIA's own sources of it do not build on kernel %s; whether the distribution has mended its"
            " package for it is not known, and the run ends where it does not build" % (driver.version, release)
        )
    hint = NEW_KERNEL_HINTS.get(driver.branch)
    if kernel > NEWEST_KERNEL or (
        kernel > (6, 17) and hint and version_numbers(driver.version) < version_numbers(hint)
    ):
        return "driver %s: nothing is known about building it on kernel %s" % (driver.version, release)
    return ""
