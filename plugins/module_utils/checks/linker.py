# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why the linker in a container does not find what the toolkit gave in, or why nobody knows what it finds.

The toolkit mounts a library under its whole name. The link of the name that programs ask for, and the linker's cache,
are made by ldconfig: the host's own, run for the container.
"""

from __future__ import annotations

from ..model import ContainerLook, Finding
from .outcome import failed, unknown
from .wanted import RUN_SITE


def not_listed(way: str, look: ContainerLook) -> Finding:
    why = look.libraries.error or ""
    if not look.ldconfig.known or look.ldconfig.value is not None:
        return unknown(why, way)
    return unknown(
        why,
        way,
        cause="The image has no ldconfig, so which libraries the linker finds in it is not proven. The toolkit does "
        "not need one in the image: it runs the host's.",
        fix="Name an image with glibc's ldconfig in the bundle, such as NVIDIA's CUDA base images; workloads may have "
        "none.",
    )


def without_link(name: str, look: ContainerLook) -> str:
    """The host's file of a library that the linker does not find; "" where that was not given either."""
    stem = name.partition(".so")[0] + ".so."
    files = (file.target for file in look.driver_files.value or () if file.given)
    return next((file for file in files if file.rpartition("/")[2].startswith(stem)), "")


def not_linked(way: str, name: str, want: str, file: str) -> Finding:
    return failed(
        "%s: %s" % (way, name),
        expected=want,
        actual="%s, which the linker does not find" % file,
        cause="The host's library was given into the container, and the linker does not find it: the toolkit could not "
        "run ldconfig for the container, which makes the link %s and writes the linker's cache." % name,
        fix="%s It has config.toml name the host's own ldconfig, and has the CDI specification written anew. If it "
        "stays, run nvidia-ctk cdi generate and look for the hook update-ldcache in what it prints." % RUN_SITE,
        repair="roles",
    )
