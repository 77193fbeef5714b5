# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The agent: the same probe and judge on the node itself, without Ansible.

``verify`` judges the node and suspends the golden mark or gives it back; ``fact`` prints what ansible_local.goldennode
says; ``look`` prints what was read. Every command ends in time and says in one line what it found.
"""

# The agent is a program of its own: it prints, and there is no module.
# pylint: disable=ansible-bad-function

from __future__ import annotations

import argparse
import json
import sys
import time
import typing as t

from . import docker_record, drift, drift_since
from . import mark as marks
from .checks.wanted import setting
from .mark import GOLDEN, REVOKED, LockBusy, MarkRefused, State
from .model import SCHEMA, Evidence, Verdict, to_plain
from .probe import docker
from .probe import drift as drift_probe
from .probe.host import Host, LocalHost
from .probe.look import look
from .verdict import run as judge

#: Exit codes of ``verify``. Trouble: the node could not be judged.
EXIT_GOLDEN, EXIT_NOT_GOLDEN, EXIT_TROUBLE = 0, 1, 2

#: Seconds. The unit's own limit is above the sum of these and of the look.
LOCK_WAIT = 60.0
DOCKER_WAIT = 90.0
FACT_SECONDS = 5.0

_DOCKER_POLL = 2.0


class Trouble(Exception):
    """The node cannot be judged; the message says why and what to do."""


def main(argv: t.Optional[t.Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="agent.pyz", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    verifying = commands.add_parser("verify", help="judge the node; suspend the golden mark or give it back")
    verifying.add_argument(
        "--boot", action="store_true", help="wait until Docker answers, as it may not right after a boot"
    )
    commands.add_parser("fact", help="print what the local fact says, as JSON")
    commands.add_parser("look", help="print everything that one look reads, as JSON")
    arguments = parser.parse_args(argv)
    state, host = State(), LocalHost()
    if arguments.command == "fact":
        print(json.dumps(fact(state, host)))
        return 0
    try:
        if arguments.command == "look":
            print(json.dumps(to_plain(full_look(state, host))))
            return 0
        golden, said = verify(state, host, arguments.boot)
    except (LockBusy, Trouble, OSError) as error:
        print("not judged: %s" % error, file=sys.stderr)
        return EXIT_TROUBLE
    print(said)
    return EXIT_GOLDEN if golden else EXIT_NOT_GOLDEN


def verify(state: State, host: Host, at_boot: bool) -> t.Tuple[bool, str]:
    """Whether the node carries a golden mark afterwards, and one line that says why."""
    # Held all the time: a run that starts meanwhile waits, and no verdict of before it can touch its mark.
    with state.locked(LOCK_WAIT):
        mark = state.mark()
        if mark.value is None:
            return False, "not golden: %s. Run site.yml on this node." % (mark.error or "the node was never verified")
        if mark.value.state == REVOKED:
            return False, "not golden: revoked by run %s (%s); only a run changes that." % (
                mark.value.run,
                mark.value.reason,
            )
        stored = state.stored()
        if stored.value is None:
            raise Trouble("%s. Run site.yml on this node." % (stored.error or "there is no desired.json"))
        desired, expected_gpus = stored.value.desired, stored.value.expected_gpus
        if at_boot:
            _wait_for_docker(host)
        evidence = look(host, desired, "full", float(setting(desired, "golden_look_timeout")), short=True)
        verdict = judge(desired, evidence, expected_gpus)
        golden, said = _settle(state, stored.value, verdict, evidence)
        state.put_last(_last(verdict, golden, said))
        if golden:
            state.put_docker(docker_record.of_verified(desired, evidence))
        return golden, said


def _settle(state: State, stored: marks.Stored, verdict: Verdict, evidence: Evidence) -> t.Tuple[bool, str]:
    """Bring the mark to the verdict, as far as the agent may."""
    try:
        change = marks.restore(state, stored.desired, verdict, evidence)
    except MarkRefused as refused:
        first = next(iter(verdict.broken), None)
        reason = str(refused) if verdict.golden or first is None else marks.first_words(verdict)
        mark = state.mark().value
        over = marks.differences(mark, stored.desired.digest, evidence).get("waiver") if mark else None
        reason = "%s (%s)" % (reason, over) if over else reason
        if mark is not None and mark.state == GOLDEN:
            marks.suspend(state, reason)
        return False, "not golden: %s%s" % (reason, " Fix: %s" % first.fix if first and first.fix else "")
    not_proven = "; not proven: %s" % ", ".join(verdict.not_proven) if verdict.not_proven else ""
    return True, "golden: %s%s" % ("the mark was given back" if change.changed else "the mark stays", not_proven)


def _last(verdict: Verdict, golden: bool, said: str) -> t.Dict[str, t.Any]:
    return {"schema": SCHEMA, "at": marks.now(), "golden": golden, "said": said, "verdict": to_plain(verdict)}


def _wait_for_docker(host: Host) -> None:
    """Until the engine answers or is known not to be installed; what then is wrong, the look says."""
    end = time.monotonic() + DOCKER_WAIT
    while not docker.engine(host).known and time.monotonic() < end:
        time.sleep(_DOCKER_POLL)


def full_look(state: State, host: Host) -> Evidence:
    stored = state.stored()
    if not stored.known:
        raise Trouble(str(stored.error))
    return look(host, stored.value.desired if stored.value else None)


def fact(state: State, host: Host) -> t.Dict[str, t.Any]:
    """The local fact. Whatever happens it is an answer, since a fact that fails would look like a node without one."""
    try:
        return _fact(state, host)
    except Exception as error:
        return {"golden": False, "reason": "the local fact failed: %s: %s" % (type(error).__name__, error)}


def _fact(state: State, host: Host) -> t.Dict[str, t.Any]:
    """``drift`` is null where there is nothing to hold the node against, or a run is at work on it."""
    mark, stored = state.mark(), state.stored()
    if mark.value is None or mark.value.state == REVOKED or stored.value is None:
        return {**to_plain(marks.status(mark, stored, Evidence(), None)), "drift": None}
    desired, expected_gpus = stored.value.desired, stored.value.expected_gpus
    evidence = look(host, desired, "fact", FACT_SECONDS)
    verdict = judge(desired, evidence, expected_gpus) if mark.value.state == GOLDEN else None
    whole = drift_since.last_whole(to_plain(mark.value), state.last().value)
    found = drift_probe.rows(host, desired, evidence, expected_gpus, whole)
    return {
        **to_plain(marks.status(mark, stored, evidence, verdict)),
        "drift": [drift.brief(row) for row in found],
    }
