# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The golden mark on a node: its record, its states, and who may change it to what.

A run revokes before it changes anything and marks after the last check; only the run that revoked may mark, and only a
run clears a revocation. The agent may suspend a golden mark, and give it back where nothing but the boot has changed.
So a node on which anything was killed at any point says *not golden*.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import errno
import fcntl
import json
import os
import time
import typing as t

from . import docker_record, waivers
from .model import NOT_READ, SCHEMA, Desired, Evidence, Reading, Verdict, to_plain
from .plain import desired_from_plain, from_plain
from .system import System
from .verdict import findings_digest
from .version import VERSION

DIRECTORY = "/var/lib/goldennode"

#: In /run and not in /run/lock, where any user of the node could make the file first and hold the lock for ever.
LOCK = "/run/goldennode.lock"

GOLDEN, SUSPENDED, REVOKED = "golden", "suspended", "revoked"

_POLL = 0.2


class MarkRefused(Exception):
    """The mark may not be changed like this; the message says why and what to do."""


class LockBusy(Exception):
    """Somebody else holds the node lock."""


@dataclasses.dataclass(frozen=True)
class Mark:
    """mark.json. What was proven, from ``desired_digest`` on, is kept while a mark is suspended.

    ``waived_until``: the last day on which the mark can hold, where it rests on findings that are waived.
    """

    schema: int
    state: str
    reason: str
    by: str  # run | agent
    run: str  # the run that revoked or marked last
    since: str  # when this state began, UTC
    desired_digest: str = ""
    lock: str = ""
    boot_id: str = ""
    kernel: str = ""
    driver: str = ""
    gpus: t.Tuple[str, ...] = ()
    collection_version: str = ""
    not_proven: t.Tuple[str, ...] = ()
    findings_digest: str = ""
    waived_until: str = ""
    cgroups: str = ""  # the version of control groups, and by whom Docker has them kept
    cgroup_driver: str = ""


@dataclasses.dataclass(frozen=True)
class Stored:
    """What the node is wanted to be, as it is kept on the node for the agent."""

    desired: Desired
    expected_gpus: int


@dataclasses.dataclass(frozen=True)
class Change:
    """One step of the mark or of what is kept beside it; equal sides mean that nothing is to be written."""

    before: t.Any
    after: t.Any

    @property
    def changed(self) -> bool:
        return bool(self.before != self.after)


class State:
    """The directory on the node. ``dry``: decide and refuse as always, and write nothing."""

    def __init__(self, directory: str = DIRECTORY, lock: str = LOCK, dry: bool = False) -> None:
        self._directory = directory
        self._lock = lock
        self._dry = dry
        self._system = System()

    @property
    def dry(self) -> bool:
        return self._dry

    def path(self, name: str) -> str:
        return os.path.join(self._directory, name)

    @contextlib.contextmanager
    def locked(self, wait: float) -> t.Iterator[None]:
        """Hold the node lock, which runs and the agent share. The kernel lets go of it when its holder dies."""
        if self._dry:
            yield
            return
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            self._acquire(handle, wait)
            os.ftruncate(handle, 0)
            os.pwrite(handle, b"%d\n" % os.getpid(), 0)
            yield
        finally:
            os.close(handle)

    def _acquire(self, handle: int, wait: float) -> None:
        end = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise
            if time.monotonic() >= end:
                holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "not known"
                raise LockBusy(
                    "%s is held by process %s for more than %g s: another run or the agent is at work on this node. "
                    "Wait for it, or look at that process." % (self._lock, holder, wait)
                )
            time.sleep(_POLL)

    def mark(self) -> Reading[Mark]:
        """None: there is none. Unknown: it cannot be understood, and counts as not golden."""
        plain = self._read("mark.json")
        if plain.value is None:
            return Reading(None, plain.error)
        try:
            mark = t.cast(Mark, from_plain(Mark, plain.value, "mark.json"))
        except ValueError as error:
            return Reading.unknown(str(error))
        if mark.schema != SCHEMA or mark.state not in (GOLDEN, SUSPENDED, REVOKED):
            return Reading.unknown("mark.json: schema %r, state %r are not known" % (mark.schema, mark.state))
        return Reading(mark)

    def stored(self) -> Reading[Stored]:
        """What a run left for the agent; None when none has been here."""
        return self._stored("desired.json")

    def _stored(self, name: str) -> Reading[Stored]:
        plain = self._read(name)
        if plain.value is None:
            return Reading(None, plain.error)
        try:
            return Reading(Stored(desired_from_plain(plain.value["desired"]), int(plain.value["expected_gpus"])))
        except (KeyError, TypeError, ValueError) as error:
            return Reading.unknown("%s cannot be understood: %s" % (name, error))

    def last(self) -> Reading[t.Dict[str, t.Any]]:
        """The agent's last answer; None where it has given none."""
        return self._read("last.json")

    def put_mark(self, mark: Mark) -> Change:
        before = self.mark()
        if not before.known and not self._dry:
            self._put_aside("mark.json")
        try:
            return self._put("mark.json", to_plain(before.value), to_plain(mark))
        except OSError:
            # A full disk must not keep a node golden: without a mark it is not.
            if mark.state != GOLDEN:
                self._system.remove(self.path("mark.json"))
            raise

    def put_stored(self, stored: Stored) -> Change:
        """Write desired.json and lock.json. Another lock pushes the one before it to previous.json."""
        lock, desired = self._read("lock.json").value, self._read("desired.json").value
        if lock and lock.get("id") != stored.desired.lock["id"]:
            self._put("previous.json", self._read("previous.json").value, lock)
        changes = (
            self._put("lock.json", lock, stored.desired.lock),
            self._put("desired.json", desired, portable(stored)),
        )
        return Change([change.before for change in changes], [change.after for change in changes])

    def proven(self) -> t.Tuple[Reading[Stored], Reading[Stored]]:
        """What was proven last, and what was proven before that with another lock: the states to go back to."""
        return self._stored("proven.json"), self._stored("proven-before.json")

    def put_proven(self, stored: Stored) -> None:
        """Keep what is going to be marked golden. Killed between the two, the one before stands in both files."""
        last = self._stored("proven.json").value
        if last is not None and last.desired.lock["id"] != stored.desired.lock["id"]:
            self._put("proven-before.json", self._read("proven-before.json").value, portable(last))
        self._put("proven.json", self._read("proven.json").value, portable(stored))

    def put_last(self, last: t.Mapping[str, t.Any]) -> None:
        """The agent's last answer, for people and for monitoring."""
        self._put("last.json", None, dict(last))

    def put_docker(self, record: t.Optional[t.Mapping[str, t.Any]]) -> None:
        """For which start of Docker the wanted settings are known to be in force; nothing, where it is not known."""
        if record is not None:
            self._put("docker.json", self._read("docker.json").value, dict(record))

    def _read(self, name: str) -> Reading[t.Dict[str, t.Any]]:
        text = self._system.read(self.path(name))
        if text.value is None:
            return Reading(None, text.error)
        try:
            plain = json.loads(text.value)
        except ValueError as error:
            return Reading.unknown("%s is not JSON: %s" % (self.path(name), error))
        if not isinstance(plain, dict):
            return Reading.unknown("%s holds no JSON object" % self.path(name))
        return Reading(plain)

    def _put(self, name: str, before: t.Any, after: t.Any) -> Change:
        change = Change(before, after)
        if change.changed and not self._dry:
            text = json.dumps(after, indent=1, sort_keys=True) + "\n"
            self._system.write(self.path(name), text.encode("utf-8"))
        return change

    def _put_aside(self, name: str) -> None:
        """Keep a file that cannot be understood. Killed right after, the node has no mark, and is not golden."""
        with contextlib.suppress(FileNotFoundError):
            os.replace(self.path(name), self.path("%s.corrupt-%s" % (name, now().replace(":", ""))))


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- what a run may do; the caller holds the node lock ---------------------------------------------------------------


def revoke(state: State, run: str, reason: str) -> Change:
    """Before a run changes anything. Always allowed: a second run takes the node over from the first."""
    old = state.mark().value
    if old is not None and old.state == REVOKED and old.run == run:
        return Change(to_plain(old), to_plain(old))
    return state.put_mark(Mark(SCHEMA, REVOKED, reason, "run", run, now(), collection_version=VERSION))


def prepare(state: State, run: str, stored: Stored) -> Change:
    """Keep on the node what it is wanted to be. Never under a mark that was given for something else."""
    there = state.stored().value
    if there is None or portable(there) != portable(stored):
        _need_own_revocation(state, run, "keep another wanted state on the node")
    return state.put_stored(stored)  # also where desired.json is right: a kill may have left lock.json behind


def golden(state: State, run: str, desired: Desired, verdict: Verdict, evidence: Evidence) -> Change:
    """The last thing that a run does."""
    _need_whole_look(evidence)
    if not verdict.golden:
        raise MarkRefused(
            "the verdict is not golden: the layer %s is broken. Mend it and verify again before marking."
            % verdict.first_broken
        )
    stored = state.stored().value
    if not state.dry and (stored is None or stored.desired.digest != desired.digest):
        raise MarkRefused(
            "the node keeps another wanted state (%s) than the one that was verified (%s): call golden_mark with "
            "state=prepared first." % (stored.desired.digest if stored else "none", desired.digest)
        )
    kept = stored or Stored(desired, len(_uuids(evidence)))  # in check mode nothing is kept
    mark = _proven(run, desired, verdict, evidence)
    old = state.mark().value
    if old is not None and not differences(old, desired.digest, evidence) and old.state == GOLDEN:
        state.put_proven(kept)
        return Change(to_plain(old), to_plain(old))
    if evidence.requests == NOT_READ:
        raise MarkRefused(
            "the look has not asked for single GPUs: a first mark needs one of node_verify with single_gpus=true"
        )
    _need_own_revocation(state, run, "mark the node golden")
    state.put_docker(docker_record.of_verified(desired, evidence))
    state.put_proven(kept)
    return state.put_mark(mark)


def _proven(run: str, desired: Desired, verdict: Verdict, evidence: Evidence) -> Mark:
    boot = evidence.boot.value
    if boot is None:
        raise MarkRefused("the boot id of the node is not known: %s" % evidence.boot.error)
    until = waivers.ends(desired, evidence, verdict.findings)
    return Mark(
        schema=SCHEMA,
        state=GOLDEN,
        reason="every required check passed%s" % (", but for what is waived until %s" % until if until else ""),
        by="run",
        run=run,
        since=now(),
        desired_digest=desired.digest,
        lock=str(desired.lock["id"]),
        boot_id=boot.boot_id,
        kernel=boot.kernel,
        driver=_driver(evidence),
        gpus=_uuids(evidence),
        collection_version=VERSION,
        not_proven=verdict.not_proven,
        findings_digest=findings_digest(verdict.findings),
        waived_until=until,
        cgroups=evidence.cgroups.value.version if evidence.cgroups.value else "",
        cgroup_driver=evidence.docker.value.cgroup_driver if evidence.docker.value else "",
    )


def _need_whole_look(evidence: Evidence) -> None:
    """A cheap look leaves checks out: all that it asked may pass with no GPU ever touched."""
    if evidence.scope != "full":
        raise MarkRefused("a look of scope %s proves no GPU; a mark needs one of scope full" % evidence.scope)


def _need_own_revocation(state: State, run: str, what: str) -> None:
    mark = state.mark()
    old = mark.value
    if state.dry or (old is not None and old.state == REVOKED and old.run == run):
        return  # in check mode the run has revoked nothing, and would have
    if not mark.known:
        found = "the mark cannot be understood (%s)" % mark.error
    elif old is None:
        found = "the node has no mark"
    else:
        found = "the mark is %s, by run %s since %s" % (old.state, old.run, old.since)
    raise MarkRefused(
        "run %s may not %s: %s, and only the run that has revoked the mark may. If another run took the node over, let "
        "it finish; else run site.yml again." % (run, what, found)
    )


def way_back(state: State, fits: t.Callable[[Desired], bool]) -> Reading[Stored]:
    """The newest proven state that fits; None where the node was never golden for such a one."""
    readings = state.proven()
    for reading in readings:
        if reading.value is not None and fits(reading.value.desired):
            return reading
    return next((reading for reading in readings if not reading.known), Reading(None))


# --- what the agent may do; the caller holds the node lock -----------------------------------------------------------


def suspend(state: State, reason: str) -> Change:
    """The agent takes a golden mark away. Any other state is left as it is."""
    old = state.mark().value
    if old is None or old.state != GOLDEN:
        raise MarkRefused("the agent suspends a golden mark only; the mark is %s" % (old.state if old else "missing"))
    return state.put_mark(dataclasses.replace(old, state=SUSPENDED, reason=reason, by="agent", since=now()))


def restore(state: State, desired: Desired, verdict: Verdict, evidence: Evidence) -> Change:
    """The agent gives a mark back: where the boot alone has changed, or where it had suspended the mark itself."""
    old = state.mark().value
    _need_whole_look(evidence)
    if not verdict.golden:
        raise MarkRefused("the verdict is not golden: the layer %s is broken" % verdict.first_broken)
    if old is None or old.state == REVOKED:
        raise MarkRefused("only a run clears a revocation or gives a first mark; run site.yml")
    if old.state == SUSPENDED and old.by != "agent":
        raise MarkRefused("the mark was suspended by %s, and only the agent's own suspension is lifted by it" % old.by)
    found = differences(old, desired.digest, evidence)
    # What was waived and is not any more has been judged by this verdict, as the boot has.
    other = [text for name, text in found.items() if name not in ("boot", "waiver")]
    boot = evidence.boot.value
    if boot is None or other:  # an unknown boot is among the others
        raise MarkRefused("%s; that is renewed by a run only: run site.yml" % "; ".join(other))
    if old.state == GOLDEN and old.boot_id == boot.boot_id and "waiver" not in found:
        return Change(to_plain(old), to_plain(old))
    return state.put_mark(
        dataclasses.replace(
            old,
            state=GOLDEN,
            reason="every required check passed again",
            by="agent",
            since=now(),
            boot_id=boot.boot_id,
            not_proven=verdict.not_proven + _not_asked(old, verdict),
            findings_digest=findings_digest(verdict.findings),
            waived_until=waivers.ends(desired, evidence, verdict.findings),
        )
    )


def _not_asked(old: Mark, verdict: Verdict) -> t.Tuple[str, ...]:
    """What the run could not prove and this look did not ask: it stays unproven."""
    asked = {finding.id for finding in verdict.findings}
    return tuple(text for text in old.not_proven if text.partition(":")[0] not in asked)


# --- what the mark says ----------------------------------------------------------------------------------------------


def differences(mark: Mark, desired_digest: str, evidence: Evidence) -> t.Dict[str, str]:
    """What is not as it was when the mark was given: ``desired``, ``boot``, ``kernel``, ``driver``, ``gpus``, in words.

    The GPUs are compared where the look has asked for them; the local fact does not. ``waiver``: what the mark rests on
    is waived no longer, whether or not this look can judge it.
    """
    found: t.Dict[str, str] = {}
    boot = evidence.boot.value
    if mark.desired_digest != desired_digest:
        found["desired"] = "the node is wanted to be something else than what was verified"
    if boot is None:
        found["kernel"] = "boot and kernel are not known: %s" % (evidence.boot.error or "no such files")
    else:
        if boot.kernel != mark.kernel:
            found["kernel"] = "kernel %s runs, verified was %s" % (boot.kernel, mark.kernel)
        if boot.boot_id != mark.boot_id:
            found["boot"] = "rebooted: not verified since"
    if _driver(evidence) != mark.driver:
        found["driver"] = "driver %s is loaded, verified was %s" % (_driver(evidence) or "none", mark.driver)
    if (evidence.nvml.value or evidence.smi.value) and _uuids(evidence) != mark.gpus:
        found["gpus"] = "the GPUs are not those that were verified: %s" % (", ".join(_uuids(evidence)) or "none")
    if _waiver_over(mark, evidence):
        found["waiver"] = "what the mark rests on was waived until %s, which is over" % mark.waived_until
    return found


def _waiver_over(mark: Mark, evidence: Evidence) -> bool:
    """Also where no day is known: then no waiver counts."""
    last, today = waivers.day(mark.waived_until), waivers.day_of(evidence)
    return bool(mark.waived_until) and (last is None or today is None or last < today)


def objection(mark: Reading[Mark], stored: Reading[Stored], desired: Desired, evidence: Evidence) -> str:
    """Why the mark does not say *golden* for what is wanted, on this boot, kernel and driver; empty where it does.

    Without what is stored the agent and the local fact can say nothing, and only a run writes it again.
    """
    there = mark.value
    if there is None:
        return _no_mark(mark)
    other = _not_golden_state(there) or "; ".join(differences(there, desired.digest, evidence).values())
    return other or _not_stored(stored, desired.digest)


def _not_stored(stored: Reading[Stored], digest: str) -> str:
    if stored.value is None:
        return "desired.json cannot be read: %s" % (stored.error or "it is not there")
    return "" if stored.value.desired.digest == digest else "desired.json is not that of the mark"


def _no_mark(mark: Reading[Mark]) -> str:
    return "the mark cannot be read: %s" % mark.error if mark.error else "the node was never verified"


def _not_golden_state(mark: Mark) -> str:
    if mark.state == REVOKED:
        return "revoked by run %s: %s" % (mark.run, mark.reason)
    if mark.state == SUSPENDED:
        return "suspended by the %s: %s" % (mark.by, mark.reason)
    return ""


@dataclasses.dataclass(frozen=True)
class Status:
    """What the local fact says. ``layer`` and ``fix`` belong to the reason."""

    golden: bool
    reason: str
    state: str
    layer: t.Optional[str] = None
    fix: str = ""
    desired_digest: str = ""
    lock: str = ""
    since: str = ""
    not_proven: t.Tuple[str, ...] = ()


def status(mark: Reading[Mark], stored: Reading[Stored], evidence: Evidence, verdict: t.Optional[Verdict]) -> Status:
    """Whether the node is golden now, as far as a cheap look can tell; and if not, why.

    ``verdict`` is that of the cheap checks, None where there is nothing to judge by.
    """
    there = mark.value
    if there is None:
        return Status(False, _no_mark(mark), "none", fix=_RUN)
    reason, layer, fix = _not_golden(there, stored, evidence, verdict)
    return Status(
        golden=not reason,
        reason=reason or there.reason,
        state=there.state,
        layer=layer,
        fix=fix,
        desired_digest=there.desired_digest,
        lock=there.lock,
        since=there.since,
        not_proven=there.not_proven,
    )


_RUN = "Run site.yml on this node."
_WAIVER = "Mend what was waived and take the waiver out of golden_waivers, or give it another day; then run site.yml."
_AGENT = "goldennode-agent.service verifies after the boot; journalctl -b -u goldennode-agent tells. Else run site.yml."


def _not_golden(
    mark: Mark, stored: Reading[Stored], evidence: Evidence, verdict: t.Optional[Verdict]
) -> t.Tuple[str, t.Optional[str], str]:
    """(reason, layer, fix); an empty reason where nothing speaks against the mark."""
    if mark.state != GOLDEN:
        return _not_golden_state(mark), verdict.first_broken if verdict else None, _RUN
    if stored.value is None:
        return _not_stored(stored, mark.desired_digest), None, _RUN
    other = differences(mark, stored.value.desired.digest, evidence)
    if "desired" in other:
        return other["desired"], None, _RUN
    if "boot" in other:
        kernel = "; %s" % other["kernel"] if "kernel" in other else ""
        return other["boot"] + kernel, "host_driver" if kernel else None, _RUN if kernel else _AGENT
    if verdict is None or not verdict.golden:
        return _broken(verdict)
    if "waiver" in other:
        return other["waiver"], None, _WAIVER
    if other:
        return "; ".join(other.values()), "host_driver", _RUN
    return "", None, ""


def _broken(verdict: t.Optional[Verdict]) -> t.Tuple[str, t.Optional[str], str]:
    first = next(iter(verdict.broken), None) if verdict else None
    if verdict is None or first is None:
        return "the node was not judged", None, _RUN
    return first_words(verdict), verdict.first_broken, first.fix or _RUN


def first_words(verdict: Verdict) -> str:
    """The first thing to mend, in one sentence: check, entity, cause."""
    first = next(iter(verdict.broken), None)
    if first is None:
        return "no finding says why"
    entity = " (%s)" % first.entity if first.entity else ""
    return "%s%s: %s" % (first.id, entity, first.words)


def portable(stored: Stored) -> t.Dict[str, t.Any]:
    """As it is kept on the node: without the controller's own paths, which say nothing of the node."""
    desired = stored.desired
    files = {path: dataclasses.replace(file, source=None) for path, file in desired.files.items()}
    return {
        "desired": to_plain(dataclasses.replace(desired, files=files)),
        "expected_gpus": stored.expected_gpus,
    }


def _driver(evidence: Evidence) -> str:
    return evidence.driver.value.version if evidence.driver.value else ""


def _uuids(evidence: Evidence) -> t.Tuple[str, ...]:
    answer = evidence.nvml.value or evidence.smi.value
    return tuple(sorted(gpu.uuid for gpu in answer.gpus if gpu.uuid)) if answer else ()
