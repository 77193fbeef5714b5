# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wanted image itself, as the engine describes it without starting it."""

from __future__ import annotations

import typing as t

from ..model import Reading
from ..parse import image_environment as settings
from .docker import DOCKER, pinned
from .host import Host


def environment(host: Host, image: t.Mapping[str, t.Any]) -> Reading[t.Dict[str, str]]:
    """What the image sets itself: a container has it mixed with what the engine and the toolkit put there."""
    words = [*DOCKER, "image", "inspect", "--format", settings.FORMAT, pinned(image)]
    command = host.run(words, timeout=15)
    if command.error is not None:
        return Reading.unknown(command.error)
    return settings.parse(command.stdout, command.stderr, command.rc)
