# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run would change, told from what is there and from the lock alone. Pure: for filters and modules."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from .model import Package
from .package_names import (
    are_built_modules,
    axis_of,
    bare,
    driver_version_in,
    has_driver_version,
    is_other_module,
    moves_with,
    of_another_driver,
)

Packages = t.Mapping[str, t.Mapping[str, t.Any]]
Files = t.Mapping[str, t.Mapping[str, t.Any]]

#: Axes whose packages of an earlier lock give way to those of this one, whatever their names were.
_REPLACED = {"driver": ("driver", "fabric_manager"), "fabric_manager": ("fabric_manager",)}


@dataclasses.dataclass(frozen=True)
class PackagePlan:
    """What has to happen to one axis, from state.

    ``install``: wanted packages that are not there, whole and at their version. ``left``: installed parts of another
    driver, which move along or go, and kernel modules of another make or for the driver before, which go. ``hold``:
    those to hold. ``release``: names that are held and not to be: of the axis, neither installed nor wanted; those that
    were asked to be released; and where nothing shall be held, all that else would be.
    """

    install: t.Tuple[str, ...] = ()
    left: t.Tuple[str, ...] = ()
    hold: t.Tuple[str, ...] = ()
    release: t.Tuple[str, ...] = ()

    @property
    def transaction(self) -> bool:
        return bool(self.install or self.left)

    @property
    def any(self) -> bool:
        return self.transaction or bool(self.hold or self.release)


def package_plan(
    present: t.Mapping[str, Package],
    wanted: t.Mapping[str, str],
    held: t.Collection[str] = (),
    hold: bool = True,
    release: t.Collection[str] = (),
) -> PackagePlan:
    """What has to happen so that one axis is as the lock has it.

    :arg present: the installed packages, also those whose installation was not finished
    :arg wanted: full version by name
    :arg held: every name that is held, installed or not
    :arg hold: whether they shall be held
    :arg release: installed packages that shall not be held any more
    """
    there = {name: package for name, package in present.items() if name in wanted}
    install = [name for name in wanted if not _as_wanted(there.get(name), wanted[name])]
    left = _left_behind(present, wanted)
    driver = driver_version_of(wanted)
    members = [
        name
        for name, package in present.items()
        if name in wanted or (driver and name not in left and moves_with(name, package.version, driver))
    ]
    unheld = [name for name in members if not present[name].held] + [name for name in install if name not in present]
    stale = [name for name in held if name not in present and name not in wanted and _same_axis(name, wanted)]
    freed = [name for name in release if name not in members] if hold else [*members, *release]
    stale += [name for name in freed if name in present and present[name].held and name not in left]
    return PackagePlan(
        tuple(sorted(install)),
        tuple(sorted(left)),
        tuple(sorted(set(unheld))) if hold else (),
        tuple(sorted(set(stale))),
    )


def replaceable(name: str, wanted: t.Iterable[str]) -> bool:
    """Whether a package that stands beside these may be removed for them without asking: an older part of the same."""
    axes = {axis_of(bare(other)) for other in wanted}
    return axis_of(bare(name)) in {taken for axis in axes if axis for taken in _REPLACED.get(axis, ())}


def goes(name: str, wanted: t.Iterable[str]) -> bool:
    """Whether a package that is left behind goes in any case: modules do, all else may move to the wanted driver."""
    return are_built_modules(name) or is_other_module(name, wanted)


def driver_version_of(wanted: t.Mapping[str, str]) -> t.Optional[str]:
    """The one driver that these packages are of; None where they are of no driver."""
    versions = [driver_version_in(full) for name, full in sorted(wanted.items()) if has_driver_version(bare(name))]
    counted = collections.Counter(version for version in versions if version)
    return counted.most_common(1)[0][0] if counted else None


def _as_wanted(package: t.Optional[Package], version: str) -> bool:
    return package is not None and package.version == version and package.status == "installed"


def _left_behind(present: t.Mapping[str, Package], wanted: t.Mapping[str, str]) -> t.List[str]:
    driver = driver_version_of(wanted)
    if driver is None:
        return []
    # Modules that were built for another kernel ask for the driver that is replaced.
    replaced = any(of_another_driver(name, package.version, driver) for name, package in present.items())
    return [
        name
        for name, package in present.items()
        if name not in wanted
        and (
            of_another_driver(name, package.version, driver)
            or is_other_module(name, wanted)
            or (replaced and are_built_modules(name))
        )
    ]


def _same_axis(name: str, wanted: t.Iterable[str]) -> bool:
    axis = axis_of(bare(name))
    return axis is not None and axis in {axis_of(bare(other)) for other in wanted}


def package_changes(present: t.Optional[Packages], wanted: t.Mapping[str, str]) -> t.List[str]:
    """One sentence for each package that is not as the lock wants it.

    :arg present: installed packages by name, each a plain ``model.Package``; None where they could not be read
    :arg wanted: full version by name
    """
    if present is None:
        return ["%s: wanted is %s, held; what is installed is not known" % item for item in sorted(wanted.items())]
    packages = {name: Package(**dict(package)) for name, package in present.items()}
    return told(package_plan(packages, wanted), packages, wanted)


def told(plan: PackagePlan, present: t.Mapping[str, Package], wanted: t.Mapping[str, str]) -> t.List[str]:
    """A plan in words, a sentence for each package."""
    changes = {}
    for name in plan.install:
        package, version = present.get(name), wanted[name]
        kept = package is not None and package.held and name not in plan.release
        hold = " and hold it" if name in plan.hold or kept else ""
        if package is None:
            changes[name] = "%s: install %s%s" % (name, version, hold)
        elif package.version != version:
            changes[name] = "%s: %s -> %s%s" % (name, package.version, version, "," + hold if hold else "")
        else:
            changes[name] = "%s: is %s; finish to install %s%s" % (
                (name, package.status, version, "," + hold if hold else "")
            )
    for name in plan.left:
        along = "" if goes(name, wanted) else ", or moves to the wanted driver"
        changes[name] = "%s: %s goes%s" % (name, present[name].version, along)
    for name in plan.hold:
        if name not in changes:
            changes[name] = "%s: hold %s" % (name, present[name].version)
    for name in plan.release:
        if name not in changes:
            changes[name] = "%s: %srelease its hold" % (name, "" if name in present else "is not installed; ")
    return [changes[name] for name in sorted(changes)]


def file_changes(there: t.Optional[Files], wanted: Files) -> t.List[str]:
    """Paths of the managed files that are not on the node with the wanted content, mode and owner, in their order.

    :arg there: files by path, each a plain ``model.FileState``; None where they could not be read
    :arg wanted: managed files by path, each a plain ``model.ManagedFile``
    """
    present = there or {}
    return [path for path, file in wanted.items() if not _same(present.get(path), file)]


def _same(there: t.Optional[t.Mapping[str, t.Any]], wanted: t.Mapping[str, t.Any]) -> bool:
    if there is None:
        return False
    found = (there["sha256"], there["mode"], there["uid"], there["gid"])
    return found == (wanted["sha256"], wanted["mode"], 0, 0)
