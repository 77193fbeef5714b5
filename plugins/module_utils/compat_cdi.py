# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engine reads which CDI specification, and what a toolkit writes. Pure; the tables are in ``compat_tables``."""

from __future__ import annotations

import typing as t

from .compat_tables import (
    CDI_070_TOOLKIT,
    CDI_BEFORE_GIDS,
    CDI_READERS,
    PODMAN_060,
    PODMAN_070,
    PODMAN_CDI,
    PODMAN_NOT_070,
)
from .version import version_numbers


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
