# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of what fits what: the tables by which a bundle is refused, each row with its source."""

from __future__ import annotations

import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils import compat_tables as tables
from ansible_collections.goldennode.gpu.plugins.module_utils.compat_rules import NAMES, dotted
from ansible_collections.goldennode.gpu.plugins.module_utils.generations import GENERATIONS, Generation, newest_cuda

from .markdown import document, table

_INTRODUCTION = """# What fits what

The tables by which this collection refuses a bundle before anything is changed, with where each row was read. Rows
marked \\* come from a public source that is not the vendor's, or are worked out from one. What no table knows is never
refused: it is a warning. As of November 2026.

A refusal names both sides and proposes a pair. What it proposes was judged by the same rules; whether the packages are
in your repositories, the lock finds out. In the repository, tests/unit/compat_pairs.yml has examples, right and wrong,
each with its answer and its source."""

_JUDGED = (
    ("image, framework and NCCL against the driver, by CUDA", "bundle", "refused; a warning where it is not known"),
    ("flavour against branch", "bundle", "refused"),
    ("kernel against a driver that is built from NVIDIA's sources", "bundle, and its resolved metapackage", "refused"),
    ("fabric manager against driver", "bundle", "refused unless equal in every digit"),
    ("toolkit against known holes", "bundle", "refused, but for a waiver with reason and day"),
    ("CDI that the toolkit writes against Docker", "bundle", "refused"),
    ("end of life of a branch", "bundle", "a warning"),
    ("GPUs against branch and flavour ([check](checks/host_driver.flavour.md))", "node", "refused"),
    (
        "GPUs against the image ([check](checks/image.fits_gpus.md))",
        "node",
        "refused where no CUDA program runs, else told",
    ),
    ("NVSwitches against the fabric manager ([check](checks/host_driver.nvswitch.md))", "node", "refused"),
)
_WHEN = (
    "What is judged of the bundle is said before any node is looked at, and what of the node before a role changes it."
)


def page() -> str:
    return document(
        _INTRODUCTION,
        "## What is judged, and when\n\n" + table(("what", "of the", "says"), _JUDGED) + "\n\n" + _WHEN,
        "## Drivers\n\n" + _branches(),
        "## CUDA and the driver\n\n" + _cuda(),
        "## GPUs\n\n" + _gpus(),
        "## Kernels\n\n" + _kernels(),
        "## Toolkit and engines\n\n" + _toolkit(),
        "## Frameworks and NCCL\n\n" + _frameworks(),
        "## Sources\n\n" + _sources(),
    )


def _source(key: str, mark: str = "V") -> str:
    return "[%s](%s)%s" % (tables.SOURCES[key].title, tables.SOURCES[key].address, "" if mark == "V" else " \\*")


def _branches() -> str:
    rows = []
    for number, branch in tables.BRANCHES.items():
        flavours = [
            name
            for name, there in (("open", branch.open_modules), ("proprietary", branch.proprietary_modules))
            if there
        ]
        end = "ended" if branch.ended else "%d-%02d" % (branch.eol[0], branch.eol[1]) if branch.eol else "not known"
        cuda = dotted(branch.cuda or ())
        rows.append((str(number), cuda, end, ", ".join(flavours), branch.release, _source(branch.source, branch.mark)))
    head = ("branch", "its CUDA", "end of life", "flavours", "a release", "source")
    flavours = "The open modules begin with 515 (%s), and from 615 on there are no others (%s)." % (
        _source("flavours"),
        _source("flavours-620", "2"),
    )
    return table(head, rows) + "\n\n" + flavours


def _cuda() -> str:
    first = table(
        ("CUDA", "first driver", "source"),
        ((dotted(row.cuda), row.driver, _source(row.source, row.mark)) for row in tables.CUDA_RELEASES),
    )
    floors = ", ".join("%d.x from %s on" % (major, driver) for major, driver in tables.MINOR_FLOORS.items())
    return (
        "A driver runs its own CUDA and every older one. A newer one it runs by rules that the bundle must name"
        " (`image.cuda_compat`):\n\n"
        "- `minor`: within a major release (%s; %s). No PTX of a newer toolkit, no call newer than the driver.\n"
        "- `forward`: with the matching cuda-compat package in the image, on data-center boards and some RTX boards; on"
        " GeForce CUDA ends with error 804 (%s).\n\n%s"
    ) % (floors, _source(tables.MINOR_SOURCE), _source(tables.FORWARD_SOURCE), first)


def _gpus() -> str:
    head = ("generation", "first branch", "last branch", "modules", "code by CUDA", "source")
    return table(head, (_generation(one) for one in GENERATIONS.values()))


def _generation(one: Generation) -> t.Tuple[str, ...]:
    modules = "open" if one.needs_open else "proprietary" if one.needs_proprietary else "either"
    first = "from %s on" % dotted(one.first_cuda) if one.first_cuda else ""
    last = "up to %s" % (newest_cuda(one) or one.last_cuda) if one.last_cuda else ""
    branches = [str(branch) if branch else "" for branch in (one.min_branch, one.max_branch)]
    return (one.name, *branches, modules, " ".join(filter(None, (first, last))), _source(one.source, one.mark))


def _kernels() -> str:
    rows = []
    for since, branches in tables.KERNEL_BUILDS:
        for branch, first in branches.items():
            rows.append((dotted(since), str(branch), first or "none", _source(tables.KERNEL_SOURCE)))
    hints = ", ".join("%d from %s on" % hint for hint in tables.NEW_KERNEL_HINTS.items())
    return (
        "First driver of a branch whose own sources build on a kernel and those after it; a branch that is not named"
        " builds as far as is known. A distribution patches its own packages, so of these only a warning is given. Of"
        " kernels after 6.17 the sources of some branches say something (%s), and of none after %s.\n\n%s"
    ) % (
        hints,
        dotted(tables.NEWEST_KERNEL),
        table(("kernel", "branch", "first driver", "source"), rows),
    )


def _toolkit() -> str:
    holes = table(
        ("hole", "first toolkit without", "source"),
        ((hole.name, hole.fixed, _source(hole.source, hole.mark)) for hole in tables.HOLES),
    )
    readers = [
        ("Docker %s" % docker, cdi, _source("moby", tables.CDI_MARKS[cdi])) for docker, cdi in tables.CDI_READERS
    ]
    readers += [
        ("Podman %s" % tables.PODMAN_060, tables.CDI_BEFORE_GIDS, _source("podman-4")),
        ("Podman %s" % tables.PODMAN_070, "0.7.0", _source("podman-5")),
    ]
    return (
        "All four packages have one version. A container can get out of a toolkit with an open hole: %s is the floor."
        "\n\n%s\n\nFrom %s on the toolkit writes CDI 0.7.0 (%s), unless `toolkit_cdi_additional_gids` is false;"
        " before, 0.6.0 at most. Docker before 25 reads no CDI, and gets its GPUs by the runtime.\n\n%s"
    ) % (
        tables.TOOLKIT_FLOOR,
        holes,
        tables.CDI_070_TOOLKIT,
        _source("toolkit"),
        table(("engine from", "newest CDI that it reads", "source"), readers),
    )


def _frameworks() -> str:
    rows = (
        ("%s %s" % (NAMES[name], dotted(version)), ", ".join(map(dotted, builds)), _source(source, mark))
        for name, version, builds, mark, source in tables.FRAMEWORK_BUILDS
    )
    return (
        "A framework and NCCL bring the CUDA that they were built for, whatever the image has, so each is held against"
        " the driver by the table of CUDA above. A build that is not published, and one of another CUDA major than what"
        " it stands beside, is a warning.\n\n%s"
    ) % table(("release", "published for CUDA", "source"), rows)


def _sources() -> str:
    return "\n".join("- %s: <%s>" % (source.title, source.address) for source in tables.SOURCES.values())
