# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock, a bundle resolved for one platform to exact versions and digests: its shape, its id, and whether it fits.

Pure. The shape is in docs/architecture.md; the file is written by machine and kept by people in version control.
"""

from __future__ import annotations

import typing as t

from .bundle import MISSING, PlatformBundle, Problem, digest_of
from .model import SCHEMA, to_plain

#: Axes of the lock that are made of packages.
PACKAGE_AXES = ("kernel", "driver", "fabric_manager", "toolkit", "docker")

RELOCK = "Run ansible-playbook goldennode.gpu.lock, look at what changed, and commit the file"

_REQUIRED = (
    "id",
    "bundle",
    "bundle_digest",
    "platform",
    "package_manager",
    "sources",
    "image",
    "python",
) + PACKAGE_AXES


def build(
    bundle: PlatformBundle,
    package_manager: str,
    kernel_release: str,
    packages: t.Mapping[str, t.Mapping[str, str]],
    image_digest: str,
) -> t.Dict[str, t.Any]:
    """The lock of a bundle.

    :arg packages: full version by package name, for each of PACKAGE_AXES that the bundle has
    :arg image_digest: what the registry says, or what the bundle pins
    """
    manager = bundle.fabric_manager
    lock: t.Dict[str, t.Any] = {
        "schema": SCHEMA,
        "bundle": bundle.bundle,
        "bundle_digest": bundle.digest,
        "platform": bundle.platform,
        "package_manager": package_manager,
        "sources": [
            {
                "name": source.name,
                "uris": list(source.uris),
                "suites": list(source.suites),
                "components": list(source.components),
                "key": source.key,
                "keyring": source.keyring,
            }
            for source in bundle.sources
        ],
        "kernel": {"release": kernel_release, "packages": dict(packages["kernel"])},
        "driver": dict(to_plain(bundle.driver), packages=dict(packages["driver"])),
        "fabric_manager": {"version": manager.version, "packages": dict(packages["fabric_manager"])}
        if manager
        else None,
        "toolkit": dict(_toolkit(bundle), packages=dict(packages["toolkit"])),
        "docker": {
            "version": bundle.docker.version,
            "source": bundle.docker.source,
            "packages": dict(packages["docker"]),
        },
        "image": dict(to_plain(bundle.image), digest=image_digest),
        "python": to_plain(bundle.python),
    }
    lock["id"] = lock_id(lock)
    return lock


def _toolkit(bundle: PlatformBundle) -> t.Dict[str, t.Any]:
    """With the waiver, where there is one: whoever reads a lock sees what was waived."""
    found: t.Dict[str, t.Any] = to_plain(bundle.toolkit)
    return found if found["waiver"] else {"version": found["version"]}


def lock_id(lock: t.Mapping[str, t.Any]) -> str:
    return digest_of({key: value for key, value in lock.items() if key != "id"})


def packages_of(lock: t.Mapping[str, t.Any], kernel: bool = True) -> t.Dict[str, str]:
    """Full version by name of every package of the lock; without the kernel's where it is not pinned."""
    found: t.Dict[str, str] = {}
    for axis in PACKAGE_AXES:
        if lock[axis] and (kernel or axis != "kernel"):
            found.update(lock[axis]["packages"])
    return found


def problems(lock: t.Any, bundle: PlatformBundle, path: str) -> t.List[Problem]:
    """Why this lock cannot be used for this bundle; nothing when it can.

    :arg path: the lock's file, for the messages
    """
    if not isinstance(lock, dict):
        return [Problem(path, MISSING, "is not a lock: it holds no JSON object", RELOCK)]
    if lock.get("schema") != SCHEMA:
        message = "has schema %r, and this version of the collection reads %d" % (lock.get("schema"), SCHEMA)
        return [Problem(path, MISSING, message, RELOCK)]
    lacking = [key for key in _REQUIRED if key not in lock]
    if lacking:
        return [Problem(path, MISSING, "is not a whole lock: it lacks %s" % ", ".join(lacking), RELOCK)]
    if lock["platform"] != bundle.platform:
        return [Problem(path, MISSING, "is the lock of %s, not of %s" % (lock["platform"], bundle.platform), RELOCK)]
    if lock["id"] != lock_id(lock):
        message = "was changed by hand: its id is not the digest of its content"
        return [Problem(path, MISSING, message, RELOCK + "; to change a version, change the bundle")]
    if lock["bundle_digest"] != bundle.digest:
        message = "was resolved from another state of the bundle %s for %s" % (bundle.bundle, bundle.platform)
        return [Problem(path, MISSING, message, RELOCK)]
    return []


def axes_of(lock: t.Mapping[str, t.Any]) -> t.Dict[str, str]:
    """What the lock pins on each axis, for people: a version, a kernel release, an image by tag and digest."""
    image = lock["image"]
    return {
        "bundle": str(lock["bundle"]),
        "kernel": str(lock["kernel"]["release"]),
        "driver": "%s %s" % (lock["driver"]["version"], lock["driver"]["flavour"]),
        "toolkit": str(lock["toolkit"]["version"]),
        "docker": str(lock["docker"]["version"]),
        "image": "%s@%s" % (image["reference"], str(image["digest"])[:19]),
    }
