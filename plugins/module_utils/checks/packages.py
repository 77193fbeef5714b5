# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer packages: the platform is the lock's, and every package of the lock is there at its full version and held."""

from __future__ import annotations

import typing as t

from .. import node_sources
from ..model import AptSource, Desired, Evidence, Finding, Package, Platform
from ..package_names import (
    axis_of,
    bare,
    has_own_version,
    is_other_module,
    moves_with,
    of_another_driver,
    pinned_by,
)
from ..parse import apt_sources
from . import source_conflicts, wanted
from .outcome import all_passed, failed, passed
from .wanted import RUN_SITE


def platform(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    here = evidence.platform.value
    if here is not None and here.key == desired.platform:
        return [passed(here.key)]
    return [
        failed(
            expected=desired.platform,
            actual=here.key if here else "no /etc/os-release",
            cause="The node is not of the platform for which its packages were resolved.",
            fix="%s It takes the lock of the node's own platform." % RUN_SITE,
            repair="roles",
        )
    ]


def platform_unknown(here: t.Optional[Platform], bundles: t.Collection[str]) -> Finding:
    """The finding of a node for whose platform there is no wanted state: no lock yet, or not in the bundle at all."""
    known = ", ".join(sorted(bundles)) or "none"
    if here is not None and here.key in bundles and not here.wsl:
        return failed(
            here.key,
            expected="a lock for %s" % here.key,
            actual="none",
            cause="The bundle has no lock for %s yet." % here.key,
            fix="%s It resolves the lock and writes it beside the bundle." % RUN_SITE,
            repair="roles",
        )
    name = "not known" if here is None else "WSL (%s)" % here.key if here.wsl else here.key
    return failed(
        name,
        expected="one of the bundle's platforms: %s" % known,
        actual=name,
        cause="The platform of this node, %s, is not one of the bundle's." % name,
        fix="Add it to platforms in the bundle if the collection supports it, or take the host out of gpu_nodes. "
        "The bundle has: %s." % known,
        repair="manual",
    )


def sources(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """No entry of the node's package sources is in the way of the bundle's: one conflict, and apt refuses them all."""
    ours = wanted_sources(desired)
    files = [path for path in desired.files if path.startswith(node_sources.FOLDER)]
    problems = [
        failed(
            misfit.entry.place,
            expected=misfit.wanted,
            actual=misfit.entry.broken or "%s %s" % (" ".join(misfit.entry.uris), " ".join(misfit.entry.suites)),
            cause=misfit.cause,
            fix=misfit.fix or "%s It %s." % (RUN_SITE, "deletes it" if misfit.ours else "sets it aside"),
            repair="roles" if misfit.removable else "manual",
        )
        for misfit in node_sources.misfits(evidence.sources.value or (), ours, files, desired.platform)
    ]
    named = {problem.entity for problem in problems}
    problems += (one for one in source_conflicts.find(evidence, files) if one.entity not in named)
    return all_passed(problems, "no entry of the package sources is in the way of the bundle's")


def wanted_sources(desired: Desired) -> t.Tuple[AptSource, ...]:
    """The entries of the files that the roles write."""
    architecture = node_sources.architecture(desired.platform)
    return tuple(
        entry
        for path, file in sorted(desired.files.items())
        if path.startswith(node_sources.FOLDER)
        for entry in apt_sources.parse(path, file.content or "", architecture)
    )


def versions(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    want, there = _want(desired, evidence), evidence.packages.value or {}
    problems = (problem for name in sorted(want) for problem in _version_problem(name, want[name], there.get(name)))
    return all_passed(problems, "%d packages at the versions of the lock" % len(want))


def _version_problem(name: str, version: str, there: t.Optional[Package]) -> t.Iterator[Finding]:
    if there is None:
        actual, cause = "not installed", "%s is not installed." % name
    elif there.status != "installed":
        actual, cause = "%s, %s" % (there.version, there.status), "The installation of %s was not finished." % name
    elif there.version != version:
        actual, cause = there.version, "%s was installed, upgraded or downgraded outside the bundle." % name
    else:
        return
    yield failed(name, expected=version, actual=actual, cause=cause, fix=RUN_SITE, repair="roles")


def holds(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """Every package of the lock, and every other part of the driver that is installed: a hold of the metapackage alone
    lets an upgrade move the libraries below it. A hold of ours on anything else lets no upgrade move it, nor anybody
    clear it up: the kernel of the lock before, or any where kernel_pin is false.
    """
    want, there = _want(desired, evidence), evidence.packages.value or {}
    driver = wanted.driver_version(desired)
    free = [
        name for name, package in sorted(there.items()) if not package.held and _is_held(name, package, want, driver)
    ]
    problems = [
        failed(
            name,
            expected="held",
            actual="not held",
            cause="Nothing keeps an upgrade from moving %s." % name,
            fix=RUN_SITE,
            repair="roles",
        )
        for name in free
    ]
    problems += [
        failed(
            name,
            expected="not held",
            actual="held",
            cause="A run has held %s, and nothing wants it held any more: apt neither upgrades nor removes it." % name,
            fix=RUN_SITE,
            repair="roles",
        )
        for name in needless_holds(desired, evidence)
    ]
    return all_passed(problems, "every package of the lock and of the driver's set that is installed is held")


def needless_holds(desired: Desired, evidence: Evidence) -> t.List[str]:
    """Installed packages that this collection holds, that are not to be held, and that no run is to remove. A fabric
    manager is none: it works with one version of the driver only, whether or not a lock names it. Nor are parts with
    versions of their own, which our pin would move to the driver's.
    """
    want, there = _want(desired, evidence), evidence.packages.value or {}
    driver = wanted.driver_version(desired)
    held = {name: there[name] for name in evidence.own_holds.value or () if name in there and there[name].held}
    return [
        name
        for name, package in sorted(held.items())
        if not _is_held(name, package, want, driver)
        and not _goes(name, package, want, driver)
        and axis_of(bare(name)) != "fabric_manager"
        and not has_own_version(bare(name))
    ]


def _is_held(name: str, package: Package, want: t.Mapping[str, str], driver: str) -> bool:
    """Whether an installed package is to be held. What is to be removed is not."""
    return name in want or (moves_with(name, package.version, driver) and not is_other_module(name, want))


def _goes(name: str, package: Package, want: t.Mapping[str, str], driver: str) -> bool:
    """Whether an installed package is in the way of the lock's driver, and so a finding of ``complete_set``."""
    return name not in want and (of_another_driver(name, package.version, driver) or is_other_module(name, want))


def kept(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """Whether this node could go back, or be mended, with repositories that have dropped the versions."""
    there, pci = evidence.kept_packages.value, evidence.pci.value or ()
    if not wanted.setting(desired, "packages_keep") or there is None:
        return [passed("package files are kept elsewhere: packages_keep is false")]
    previous = {
        name: version
        for axis in wanted.package_axes(desired, pci)
        for name, version in there.previous.get(axis, {}).items()
    }
    problems = [
        failed(
            entity,
            expected="%d package files" % len(packages),
            actual="%d of them are there" % (len(packages) - len(lacking)),
            cause="The files of %s are not kept in /var/lib/goldennode/packages, so this node cannot return to %s when"
            " no repository has them any more." % (_some(lacking), entity),
            fix="Make room there if a run said that it lacks; they are taken when packages of a lock are installed."
            " With a mirror that keeps every version, set packages_keep=false.",
            repair="manual",
            required=False,
        )
        for entity, packages in (("this lock", _want(desired, evidence)), ("the lock before", previous))
        for lacking in [[name for name in sorted(packages) if "%s=%s" % (name, packages[name]) not in there.files]]
        if lacking
    ]
    return all_passed(problems, "%d package files are kept for going back" % len(there.files))


def _some(names: t.Sequence[str]) -> str:
    return ", ".join(names[:3]) + (" and %d more" % (len(names) - 3) if len(names) > 3 else "")


def complete_set(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """No package of the driver's family stands beside the lock at another version, and no kernel module of another make
    at any: holding the metapackage alone, or a branch, flavour or build that was left behind, mixes two drivers.
    """
    want, there = _want(desired, evidence), evidence.packages.value or {}
    driver = wanted.driver_version(desired)
    problems = [
        failed(
            name,
            expected="driver version %s, or not installed" % driver,
            actual=package.version,
            cause="%s belongs to another driver than the lock's %s." % (name, driver),
            fix="%s If it is still there afterwards, remove it: apt-get purge %s" % (RUN_SITE, name),
            repair="roles",
        )
        for name, package in sorted(there.items())
        if name not in want and of_another_driver(name, package.version, driver) and not is_other_module(name, want)
    ]
    problems += [
        _other_module(there[name]) for name in sorted(there) if name not in want and is_other_module(name, want)
    ]
    problems += [_pinned_elsewhere(name, driver) for name in sorted(there) if _pins_another(name, driver)]
    return all_passed(problems, "no package of another driver is installed")


def _other_module(package: Package) -> Finding:
    return failed(
        package.name,
        expected="not installed",
        actual=package.version,
        cause="%s brings another kernel module of the driver than the lock's packages do, and the node may load that"
        " one." % package.name,
        fix="%s It removes the package." % RUN_SITE,
        repair="roles",
    )


def _pins_another(name: str, driver: str) -> bool:
    pinned = pinned_by(name)
    return pinned is not None and not (driver + ".").startswith(pinned + ".")


def _pinned_elsewhere(name: str, driver: str) -> Finding:
    """NVIDIA's pinning package has priority 1000; ours, 1001, wins for what the lock names, and for nothing else."""
    return failed(
        name,
        expected="no pin of another driver than %s" % driver,
        actual="a pin of driver %s" % pinned_by(name),
        cause="%s pins every package of NVIDIA's driver to another version than the lock's %s." % (name, driver),
        fix="Remove it: apt-get purge %s. The pin of this collection does its work." % name,
        repair="manual",
    )


def _want(desired: Desired, evidence: Evidence) -> t.Dict[str, str]:
    return wanted.packages(desired, evidence.pci.value or ())
