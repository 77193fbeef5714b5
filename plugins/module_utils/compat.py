# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What cannot work together, as tables with their sources, and the refusals that follow from them.

Pure. Only what is known is refused, with both sides named and a pair that works. What the tables do not know yet, such
as a newer branch, is a warning. Marks: [V] read in the vendor's own source; [2] in a public source that is not the
vendor's. State of the tables: November 2026.
"""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from .generations import LONG_TERM
from .node_sources import cuda_release, cuda_release_of
from .problem import Problem
from .version import version_numbers

if t.TYPE_CHECKING:
    from .bundle import PlatformBundle

Numbers = t.Tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Branch:
    """A driver branch. ``eol`` is its last supported month as (year, month); ``cuda`` the level that it reports."""

    cuda: t.Optional[Numbers]
    eol: t.Optional[Numbers] = None
    ended: bool = False  # unmaintained, with no date that is known
    open_modules: bool = True
    proprietary_modules: bool = True


#: CUDA levels: 580 to 615 [2] and the vendor's redistribution manifests; older by pairing with the toolkit that came
#: with them. End of life: data-center driver documentation of 615 and 620 [V], else [2].
BRANCHES: t.Dict[int, Branch] = {
    450: Branch((11, 0), ended=True, open_modules=False),
    455: Branch((11, 1), ended=True, open_modules=False),
    460: Branch((11, 2), ended=True, open_modules=False),
    465: Branch((11, 3), ended=True, open_modules=False),
    470: Branch((11, 4), ended=True, open_modules=False),
    495: Branch((11, 5), ended=True, open_modules=False),
    510: Branch((11, 6), ended=True, open_modules=False),
    515: Branch((11, 7), ended=True),
    520: Branch((11, 8), ended=True),
    525: Branch((12, 0), ended=True),
    530: Branch((12, 1), ended=True),
    535: Branch((12, 2), eol=(2026, 6)),  # [V]
    545: Branch((12, 3), ended=True),
    550: Branch((12, 4), ended=True),
    555: Branch((12, 5), ended=True),
    560: Branch((12, 6), ended=True),
    565: Branch((12, 7), ended=True),
    570: Branch((12, 8), eol=(2026, 2)),  # [2]
    575: Branch((12, 9), ended=True),
    580: Branch((13, 0), eol=(2028, 6)),  # [V]
    590: Branch((13, 1)),
    595: Branch((13, 2), eol=(2027, 3)),  # [V]
    610: Branch((13, 3), eol=(2026, 8)),  # [V]
    615: Branch((13, 4), proprietary_modules=False),  # [2]
    620: Branch((13, 5), eol=(2029, 9), proprietary_modules=False),  # [V]
}

#: First driver of each CUDA release: the vendor's release notes [V] up to 13.1, then [2]. From 13.4 on the driver comes
#: apart from the toolkit, and the branch that reports the level stands here [2].
CUDA_DRIVERS: t.Dict[Numbers, str] = {
    (11, 0): "450.36.06",
    (11, 1): "455.23",
    (11, 2): "460.27.03",
    (11, 3): "465.19.01",
    (11, 4): "470.42.01",
    (11, 5): "495.29.05",
    (11, 6): "510.39.01",
    (11, 7): "515.43.04",
    (11, 8): "520.61.05",
    (12, 0): "525.60.13",
    (12, 1): "530.30.02",
    (12, 2): "535.54.03",
    (12, 3): "545.23.06",
    (12, 4): "550.54.14",
    (12, 5): "555.42.02",
    (12, 6): "560.28.03",
    (12, 8): "570.26",
    (12, 9): "575.51.03",
    (13, 0): "580.65.06",
    (13, 1): "590.44.01",
    (13, 2): "595.45.04",
    (13, 3): "610.43.02",
    (13, 4): "615",
    (13, 5): "620",
}

#: Oldest driver that runs a later minor release of the same CUDA major ("minor version compatibility") [V].
MINOR_FLOORS: t.Dict[int, str] = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}

#: Holes of the toolkit by which a container can get out or do harm, and the first release without each: [V] up to
#: CVE-2025-23359, then [2]. The newest makes the floor.
TOOLKIT_HOLES: t.Tuple[t.Tuple[str, str], ...] = (
    ("CVE-2024-0132", "1.16.2"),
    ("CVE-2024-0134", "1.17.0"),
    ("CVE-2024-0135", "1.17.3"),
    ("CVE-2025-23359", "1.17.4"),
    ("CVE-2025-23266", "1.17.8"),
    ("CVE-2025-23267", "1.17.8"),
    ("CVE-2026-24260", "1.19.1"),
)
TOOLKIT_FLOOR = "1.19.1"
#: Longest time for which a toolkit with known holes may be waived, in days: a waiver is looked at again.
WAIVER_DAYS = 366

#: The newest CDI that an engine reads: the reader that each release was built with, [V] for 0.7.0, else [2] (moby's own
#: changes). What is newer than the last row, nobody has told us; before Docker 25 there is no CDI.
CDI_READERS: t.Tuple[t.Tuple[str, str], ...] = (("25.0", "0.6.0"), ("26.1", "0.7.0"), ("27.4", "0.8.0"))
#: Podman reads CDI from 4.1 on. 4.9.3 reads what is older than 0.7.0 (NVIDIA/nvidia-container-toolkit#1860), and 5.7
#: reads 0.7.0 (#1940) [V]. What those between read, and how old a specification those before need, nobody has told us.
PODMAN_CDI, PODMAN_060, PODMAN_NOT_070, PODMAN_070 = "4.1", "4.9", "5.0", "5.7"
#: The newest CDI before groups of device nodes came into it.
CDI_BEFORE_GIDS = "0.6.0"
#: From this toolkit on, specifications have CDI 0.7.0, for the groups of device nodes [V]; without these, and before,
#: they have 0.6.0 at most, which every engine that reads CDI can read.
CDI_070_TOOLKIT = "1.19.1"

#: First driver of a branch that builds on a kernel, computed from the published sources of the open modules [V]; None:
#: the branch never did. A newer kernel needs all rows up to it.
KERNEL_BUILDS: t.Tuple[t.Tuple[Numbers, t.Dict[int, t.Optional[str]]], ...] = (
    ((6, 13), {535: "535.247.01", 550: "550.163.01", 555: None, 560: None, 565: None, 570: "570.123.01"}),
    ((6, 15), {535: "535.261.03", 550: None, 570: "570.153.02", 575: "575.57.08", 580: "580.65.06"}),
    ((6, 17), {535: "535.274.02", 550: None, 570: "570.190", 575: None, 580: "580.82.07"}),
    ((6, 19), {590: None}),
)
#: Newest kernel that the sources say anything about; beyond, nobody has shown us a build.
NEWEST_KERNEL = (7, 0)
#: First driver whose sources mention kernels after 6.17 at all: hints, and not proofs [V].
NEW_KERNEL_HINTS: t.Dict[int, str] = {580: "580.142", 595: "595.45.04"}


def problems(bundle: PlatformBundle, today: datetime.date, cdi: bool = True, cdi_gids: bool = True) -> t.List[Problem]:
    """Every pair of this bundle that is known not to work.

    :arg cdi: whether Docker is to give GPUs out by CDI (``toolkit_cdi``)
    :arg cdi_gids: whether specifications name the groups of device nodes (``toolkit_cdi_additional_gids``)
    """
    found = _flavour_problems(bundle) + _cuda_problems(bundle)
    found += _floor_problems(bundle, today) + _cdi_problems(bundle, cdi, cdi_gids)
    if bundle.kernel.release:
        found += kernel_problems(bundle, bundle.kernel.release)
    return found


def warnings(bundle: PlatformBundle, today: datetime.date) -> t.List[str]:
    """What works, or may work, and should be known: ends of life, what the tables do not know, compatibility modes."""
    found = [_branch_warning(bundle, today), _cuda_warning(bundle), _repository_warning(bundle)]
    found.append(_waiver_warning(bundle))
    if bundle.kernel.release:
        found.append(kernel_warning(bundle, bundle.kernel.release))
    return [warning for warning in found if warning]


def _flavour_problems(bundle: PlatformBundle) -> t.List[Problem]:
    driver = bundle.driver
    branch = BRANCHES.get(driver.branch)
    if branch is None:
        return []
    if driver.flavour == "open" and not branch.open_modules:
        fix = "Use proprietary with %s, or open with %s" % (driver.version, LONG_TERM[0])
        message = "does not exist for driver %s: open modules begin with branch 515" % driver.version
        return [Problem("driver.flavour", driver.flavour, message, fix)]
    if driver.flavour == "proprietary" and not branch.proprietary_modules:
        fix = "Use open with %s, or proprietary with %s" % (driver.version, LONG_TERM[0])
        message = "does not exist for driver %s: from branch 615 on there are open modules only" % driver.version
        return [Problem("driver.flavour", driver.flavour, message, fix)]
    return []


def _cuda_problems(bundle: PlatformBundle) -> t.List[Problem]:
    """An image needs the driver of its own CUDA release, unless the bundle leans on CUDA's compatibility rules."""
    image, driver = bundle.image, bundle.driver
    cuda = _cuda(bundle)
    if cuda is None or cuda not in CUDA_DRIVERS or image.cuda_compat == "forward":
        return []
    first, floor = CUDA_DRIVERS[cuda], MINOR_FLOORS[cuda[0]]
    loaded = version_numbers(driver.version)
    if loaded >= version_numbers(first):
        return []
    newest = _newest_cuda(driver.version)
    older = "an image of CUDA %s or older" % _dotted(newest) if newest else "an older image"
    pair = "Use driver %s or newer with this image, or %s with driver %s" % (first, older, driver.version)
    if loaded >= version_numbers(floor):
        if image.cuda_compat == "minor":
            return []
        message = "is CUDA %s, and driver %s is older than that release (%s)" % (image.cuda, driver.version, first)
        why = "; if the pool leans on CUDA's minor version compatibility (no PTX of a newer CUDA; data-center boards "
        why += "only where the image states its requirement), say so with image.cuda_compat: minor"
        return [Problem("image.reference", image.reference, message, pair + why)]
    message = "is CUDA %s, which no driver before %s runs; the bundle has %s" % (image.cuda, floor, driver.version)
    why = "; images with the matching cuda-compat package run on data-center boards: image.cuda_compat: forward says so"
    return [Problem("image.reference", image.reference, message, pair + why)]


def toolkit_holes(version: str) -> t.List[str]:
    """The known holes that are open in a release of the toolkit."""
    return [name for name, fixed in TOOLKIT_HOLES if version_numbers(version) < version_numbers(fixed)]


def _floor_problems(bundle: PlatformBundle, today: datetime.date) -> t.List[Problem]:
    toolkit, waiver = bundle.toolkit.version, bundle.toolkit.waiver
    holes = toolkit_holes(toolkit)
    newer = "Use %s or newer, 1.20.1 for example, all four packages at one version" % TOOLKIT_FLOOR
    if not holes:
        return []
    if waiver is None:
        message = "is older than %s and open to %s (a container can get out)" % (TOOLKIT_FLOOR, ", ".join(holes))
        fix = newer + "; or say in toolkit.waiver why the pool must have it (reason) and for how long (until)"
        return [Problem("toolkit.version", toolkit, message, fix)]
    until = datetime.date.fromisoformat(waiver.until)
    if until < today:
        message = "is over, and toolkit %s is open to %s" % (toolkit, ", ".join(holes))
        return [Problem("toolkit.waiver.until", waiver.until, message, newer + "; or give the waiver another date")]
    if (until - today).days > WAIVER_DAYS:
        message = "is more than %d days away: a waiver without an end in sight is none" % WAIVER_DAYS
        fix = "Give a date up to %s" % (today + datetime.timedelta(WAIVER_DAYS)).isoformat()
        return [Problem("toolkit.waiver.until", waiver.until, message, fix)]
    return []


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


def newest_cdi(docker: str) -> t.Optional[str]:
    """The newest CDI that this engine is known to read; None where it reads none."""
    known = [cdi for first, cdi in CDI_READERS if version_numbers(docker) >= version_numbers(first)]
    return known[-1] if known else None


def reads_cdi(docker: str, schema: str) -> t.Optional[bool]:
    """Whether an engine reads a specification of this cdiVersion; None where the table does not know."""
    newest = newest_cdi(docker)
    if newest is None:
        return False
    if not version_numbers(schema):
        return None
    if version_numbers(schema) <= version_numbers(newest):
        return True
    return None if newest == CDI_READERS[-1][1] else False


def podman_reads_cdi(podman: str, schema: str) -> t.Optional[bool]:
    """Whether Podman reads a specification of this cdiVersion; None where nobody has told us."""
    numbers, wanted = version_numbers(podman), version_numbers(schema)
    if not numbers or not wanted:
        return None
    if numbers < version_numbers(PODMAN_CDI):
        return False
    if wanted <= version_numbers(CDI_BEFORE_GIDS):
        return True if numbers >= version_numbers(PODMAN_060) else None
    if numbers < version_numbers(PODMAN_NOT_070):
        return False
    return True if numbers >= version_numbers(PODMAN_070) and wanted <= (0, 7, 0) else None


def written_cdi(toolkit: str, gids: bool) -> str:
    """The newest CDI that specifications of this toolkit may have."""
    return "0.7.0" if gids and version_numbers(toolkit) >= version_numbers(CDI_070_TOOLKIT) else "0.6.0"


def first_docker_for(schema: str) -> t.Optional[str]:
    """The first engine that is known to read a cdiVersion."""
    fitting = (docker for docker, cdi in CDI_READERS if version_numbers(cdi) >= version_numbers(schema))
    return next(fitting, None)


def _cdi_problems(bundle: PlatformBundle, cdi: bool, gids: bool) -> t.List[Problem]:
    toolkit, docker = bundle.toolkit.version, bundle.docker.version
    schema = written_cdi(toolkit, gids)
    if not cdi or newest_cdi(docker) is None or reads_cdi(docker, schema) is not False:
        return []
    message = "reads CDI, but not version %s of it, which toolkit %s writes" % (schema, toolkit)
    fix = (
        "Use Docker %s or newer (26.1.4 for example) with toolkit %s, or set toolkit_cdi_additional_gids to false, with"
        " which it writes an older one, or toolkit_cdi to false" % (first_docker_for(schema), toolkit)
    )
    return [Problem("docker.version", docker, message, fix)]


def kernel_problems(bundle: PlatformBundle, release: str) -> t.List[Problem]:
    """Whether the driver's modules are known not to build on a kernel.

    Only for modules that are built on the node from NVIDIA's own sources: a distribution patches its own.
    """
    driver = bundle.driver
    needed = _first_that_builds(driver.branch, release)
    if driver.build != "dkms" or driver.source != "nvidia" or _is_reached(driver.version, needed):
        return []
    older = "a kernel older than %s" % _dotted(_first_refused(driver.version, driver.branch))
    newer = "driver %s or newer of this branch" % needed if needed else "driver %s" % LONG_TERM[0]
    message = "does not build on kernel %s" % release
    return [
        Problem(
            "driver.version",
            driver.version,
            message,
            "Use %s with this kernel, or %s with this driver" % (newer, older),
        )
    ]


def _first_that_builds(branch: int, release: str) -> t.Optional[str]:
    """First driver of a branch whose own sources build on a kernel; None where none of it does."""
    needed = "0"
    for since, branches in KERNEL_BUILDS:
        if version_numbers(release)[:2] >= since and branch in branches:
            first = branches[branch]
            if first is None:
                return None
            needed = max(needed, first, key=version_numbers)
    return needed


def _is_reached(version: str, needed: t.Optional[str]) -> bool:
    return needed is not None and version_numbers(version) >= version_numbers(needed)


def _first_refused(version: str, branch: int) -> Numbers:
    for since, branches in KERNEL_BUILDS:
        first = branches.get(branch, "0")
        if first is None or version_numbers(version) < version_numbers(first):
            return since
    return NEWEST_KERNEL


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
    image, cuda = bundle.image, _cuda(bundle)
    if cuda is None:
        return (
            "image %s: its CUDA version is not known, so driver and image were not compared (set image.cuda)"
            % image.reference
        )
    if cuda not in CUDA_DRIVERS:
        return "image %s: CUDA %s is not in the tables of this collection, so driver and image were not compared" % (
            image.reference,
            image.cuda,
        )
    if version_numbers(bundle.driver.version) < version_numbers(CUDA_DRIVERS[cuda]):
        return "image %s: CUDA %s runs on driver %s by %s compatibility only" % (
            image.reference,
            image.cuda,
            bundle.driver.version,
            image.cuda_compat,
        )
    return ""


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
    if not _is_reached(driver.version, _first_that_builds(driver.branch, release)):
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


def _cuda(bundle: PlatformBundle) -> t.Optional[Numbers]:
    return version_numbers(bundle.image.cuda) if bundle.image.cuda else None


def _newest_cuda(driver: str) -> t.Optional[Numbers]:
    fitting = [cuda for cuda, first in CUDA_DRIVERS.items() if version_numbers(first) <= version_numbers(driver)]
    return max(fitting) if fitting else None


def _dotted(numbers: t.Iterable[int]) -> str:
    return ".".join(str(number) for number in numbers)
