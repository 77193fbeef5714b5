# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A container that imports the frameworks of the image and has them say what they see.

An import takes seconds and reads gigabytes, so it is asked where a look is to mark a node, or a person wants to know.
It is a container of its own: what hangs in it takes nothing from what the others have said.
"""

from __future__ import annotations

import secrets
import typing as t

from ..model import ContainerLook, Evidence, FrameworkUse, Reading
from ..parse import frameworks as answers
from . import children
from .budget import Budget
from .children import frameworks as child
from .container import CLEANUP_SECONDS, PLAIN, PROBE_SECONDS, Manner, hardened, remove
from .docker import DOCKER, pinned
from .running import PROBES

#: For one framework, once the container runs; all of them have the time of one container together.
SECONDS = 30


def frameworks(
    host: Budget,
    image: t.Mapping[str, t.Any],
    ways: t.Sequence[str],
    evidence: Evidence,
    how: Manner = PLAIN,
) -> Reading[t.Tuple[FrameworkUse, ...]]:
    """Asked by the first of ``ways`` whose container with all GPUs has started: the way makes no difference to them."""
    for way in ways:
        look = evidence.containers[way].value if way in evidence.containers else None
        if look is not None and look.started:
            return _ask(host, image, way, look, how)
    return Reading.unknown("no container with GPUs has started")


def _ask(
    host: Budget, image: t.Mapping[str, t.Any], way: str, look: ContainerLook, how: Manner
) -> Reading[t.Tuple[FrameworkUse, ...]]:
    if look.frameworks.value is None:
        return Reading.unknown(look.frameworks.error or "no framework was looked for")
    names = [framework.name for framework in look.frameworks.value]
    if not names:
        return Reading(())
    name = PROBES + secrets.token_hex(6)
    run = [*DOCKER, "run", "--rm", "--pull=never", "--name", name, *hardened(way, how), "--entrypoint", "python3"]
    # Not -I: an image may name its packages' folder by PYTHONPATH, as its workloads get it.
    run += [pinned(image), "-B", "-c", children.source(child), "frameworks", str(SECONDS), *names]
    command = host.run(run, min(PROBE_SECONDS, host.left() - CLEANUP_SECONDS), where="container")
    stopped = ""
    if command.timed_out:
        stopped = "%s; %s" % (command.error, remove(host, name))
    elif command.error is not None:
        return Reading.unknown(command.error)
    return answers.parse(command.stdout, command.stderr, command.rc, names, stopped)
