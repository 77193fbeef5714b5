# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What DKMS prints while packages are installed: which modules it could not build. Pure; any text is taken."""

from __future__ import annotations

import re
import typing as t

_FAILED = re.compile(r"Bad return status for module build on kernel:? (\S+)")
_LOG = re.compile(r"[Cc]onsult (?:the )?(/var/lib/dkms/\S+?make\.log)")
_MODULE = re.compile(r"/var/lib/dkms/([^/\s]+)/([^/\s]+)/")
_NO_HEADERS = re.compile(
    r"(?:[Bb]uild|autoinstall) for kernel (\S+) was skipped since the\s+kernel headers"
    r"|kernel headers for kernel (\S+)\s+cannot be found"
)
_REFUSED = re.compile(r"^Error! Your kernel headers for kernel (\S+)\s+cannot be found", re.MULTILINE)


class Build(t.NamedTuple):
    """A build that failed. Each is "" where the text does not say."""

    module: str = ""
    version: str = ""
    kernel: str = ""
    log: str = ""

    @property
    def of_driver(self) -> bool:
        """Whether the module is NVIDIA's, as any packaging calls it: nvidia, nvidia-current, nvidia-srv."""
        return bool(re.fullmatch(r"nvidia(-(?!fs|peermem).*)?", self.module))


def failed_builds(text: str) -> t.Tuple[Build, ...]:
    """Every build that failed, in their order: one run of DKMS may be of several modules and kernels."""
    builds = []
    kernel = ""
    for line in text.splitlines():
        status, log = _FAILED.search(line), _LOG.search(line)
        if status:
            if kernel:
                builds.append(Build(kernel=kernel))
            kernel = status.group(1)
        if log:
            module = _MODULE.match(log.group(1))
            names = module.groups() if module else ("", "")
            builds.append(Build(names[0], names[1], kernel, log.group(1)))
            kernel = ""
    return tuple(dict.fromkeys(builds + ([Build(kernel=kernel)] if kernel else [])))


def skipped_for_headers(text: str) -> t.Optional[str]:
    """The kernel for which DKMS built nothing since its headers are missing, which it does not count as a failure."""
    match = _NO_HEADERS.search(text)
    return (match.group(1) or match.group(2)).strip("'\".,") if match else None


def refused_for_headers(text: str) -> t.Optional[str]:
    """The kernel without headers for which a build was asked for, which is a failure (DKMS ends with 21)."""
    match = _REFUSED.search(text)
    return match.group(1) if match else None
