# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reload probe: what a container may open before and after a real ``systemctl daemon-reload`` on the host.

No look does this by itself: a reload takes the GPUs from any running container that has the fault which is looked for.
One container for each way in which GPUs are given, and one reload for all of them.
"""

from __future__ import annotations

import concurrent.futures
import secrets
import typing as t

from ..model import DeviceAnswers, Reading, ReloadLook, RunningContainer
from ..parse import device_answers
from ..parse.nvidia_smi import FIELDS
from ..parse.text import failure
from .budget import Budget
from .container import CLEANUP_SECONDS, INJECTIONS, remove
from .docker import DOCKER, pinned
from .host import Host
from .running import PROBES

#: Seconds for all of it.
SECONDS = 60.0

#: A container whose remover was killed ends by itself.
_LIFE = 90
_START_SECONDS = 30.0
_ASK_SECONDS = 15.0
_RELOAD_SECONDS = 30.0

#: The lines are read by parse.device_answers. Opened as a program does it, for reading and writing. In a shell of its
#: own: a redirection that fails ends the shell that meets it.
SCRIPT = r"""
for node in /dev/nvidia[0-9]* /dev/nvidiactl /dev/nvidia-uvm /dev/nvidia-uvm-tools; do
    [ -c "$node" ] || continue
    said=$( ( : <> "$node" ) 2>&1 )
    printf 'node %s %s\n' "$node" "${said:-opened}"
done
said=$(nvidia-smi --query-gpu=@FIELDS@ --format=csv,noheader 2>&1 < /dev/null)
printf 'smi %s\n%s\n' "$?" "$said"
""".replace("@FIELDS@", ",".join(FIELDS))

Answers = t.Dict[str, Reading[DeviceAnswers]]


def would_disturb(running: Reading[t.Tuple[RunningContainer, ...]]) -> t.Optional[str]:
    """Why a reload might cost somebody else his GPUs, in words.

    None where systemd has no say in the devices of any container with GPUs: it then takes nothing from them.
    """
    if not running.known:
        return "it is not known which containers run (%s)" % running.error
    names = [one.label for one in running.value or () if one.error or (one.nodes and one.device_allow is not None)]
    if not names:
        return None
    more = " and %d more" % (len(names) - 3) if len(names) > 3 else ""
    return "containers with GPUs run: %s%s" % (", ".join(names[:3]), more)


def not_tried(ways: t.Iterable[str], why: str) -> t.Dict[str, Reading[ReloadLook]]:
    return {way: Reading(ReloadLook(way, not_tried=why)) for way in ways}


def looks(host: Host, image: t.Mapping[str, t.Any], ways: t.Sequence[str]) -> t.Dict[str, Reading[ReloadLook]]:
    """What a container of each way may open, before and after the reload."""
    limited = Budget(host, SECONDS)
    working = _Work(limited, image, {way: PROBES + secrets.token_hex(6) for way in ways})
    with concurrent.futures.ThreadPoolExecutor(max(len(ways), 1)) as pool:
        try:
            return working.run(pool)
        finally:
            # With its own time: what was started must go, whatever has used up the probe's.
            rest = Budget(host, CLEANUP_SECONDS + 2.0)
            list(pool.map(lambda name: remove(rest, name), working.names.values()))


class _Work:
    def __init__(self, host: Budget, image: t.Mapping[str, t.Any], names: t.Mapping[str, str]) -> None:
        self._host = host
        self._image = image
        self.names = names

    def run(self, pool: concurrent.futures.Executor) -> t.Dict[str, Reading[ReloadLook]]:
        failed = {way: why for way, why in zip(self.names, pool.map(self._start, self.names)) if why}
        started = [way for way in self.names if way not in failed]
        before = self._ask(pool, started)
        why = self._reload() if started else ""
        after = self._ask(pool, started) if not why else {way: Reading.unknown(why) for way in started}
        found: t.Dict[str, Reading[ReloadLook]] = {way: Reading.unknown(why) for way, why in failed.items()}
        found.update({way: Reading(ReloadLook(way, "", before[way], after[way])) for way in started})
        return {way: found[way] for way in self.names}

    def _start(self, way: str) -> str:
        """Why its container does not run; "" where it does."""
        run = [*DOCKER, "run", "--detach", "--rm", "--pull=never", "--name", self.names[way], "--network", "none"]
        run += ["--log-driver", "none", "--entrypoint", "sleep", *INJECTIONS[way], pinned(self._image), str(_LIFE)]
        command = self._host.run(run, _START_SECONDS)
        if command.error is not None:
            return command.error
        return "" if command.rc == 0 else failure("docker run", command.rc, "", command.stderr)

    def _ask(self, pool: concurrent.futures.Executor, ways: t.Sequence[str]) -> Answers:
        return dict(zip(ways, pool.map(self._answers, ways)))

    def _answers(self, way: str) -> Reading[DeviceAnswers]:
        ask = [*DOCKER, "exec", self.names[way], "sh", "-c", SCRIPT]
        command = self._host.run(ask, _ASK_SECONDS, where="container")
        if command.error is not None:
            return Reading.unknown(command.error)
        return device_answers.parse(command.stdout, command.stderr, command.rc)

    def _reload(self) -> str:
        command = self._host.run(["systemctl", "daemon-reload"], _RELOAD_SECONDS)
        if command.error is not None:
            return command.error
        return "" if command.rc == 0 else failure("systemctl daemon-reload", command.rc, "", command.stderr)
