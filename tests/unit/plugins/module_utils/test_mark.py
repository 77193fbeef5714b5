# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The golden mark: who may change it to what, that a killed run leaves no golden node, and what the local fact says."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import stat
import subprocess
import sys
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import docker_record, verdict, version
from ansible_collections.goldennode.gpu.plugins.module_utils import mark as marks
from ansible_collections.goldennode.gpu.plugins.module_utils.mark import Mark, MarkRefused, State, Stored
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    NOT_READ,
    Boot,
    Desired,
    DriverLoaded,
    Evidence,
    Reading,
    ReloadLook,
)
from ansible_collections.goldennode.gpu.tests.unit import healthy

RUN = "20261130T120000Z-controller-1-abcdef"
OTHER_RUN = "20261130T120500Z-controller-2-fedcba"

WANTED = healthy.desired()
STORED = Stored(WANTED, 1)
NODE = healthy.evidence("a10", WANTED)
GOOD = verdict.run(WANTED, NODE, 1)

OTHER_WANTED = healthy.desired(device_access_users=["alice", "bob", "carol"])


def rebooted(evidence: Evidence = NODE, kernel: str = healthy.KERNEL) -> Evidence:
    return healthy.known(evidence, boot=Boot("99999999-2222-4333-8444-555555555555", kernel, 5000.0))


def judged(evidence: Evidence, wanted: Desired = WANTED) -> verdict.Verdict:
    return verdict.run(wanted, evidence, 1)


BROKEN = healthy.known(NODE, driver=DriverLoaded("580.126.09", "open"))


@pytest.fixture
def state(tmp_path: pathlib.Path) -> State:
    return State(str(tmp_path / "goldennode"), str(tmp_path / "lock"))


@pytest.fixture
def golden(state: State) -> State:
    marks.revoke(state, RUN, "a run is changing the node")
    marks.prepare(state, RUN, STORED)
    marks.golden(state, RUN, WANTED, GOOD, NODE)
    return state


def present(state: State) -> Mark:
    found = state.mark().value
    assert found is not None
    return found


def fact(state: State, evidence: Evidence = NODE) -> marks.Status:
    stored = state.stored()
    cheap = healthy.cheap(evidence)
    found = verdict.run(stored.value.desired, cheap, stored.value.expected_gpus) if stored.value else None
    return marks.status(state.mark(), stored, cheap, found)


def test_the_version_is_that_of_the_collection() -> None:
    galaxy = pathlib.Path(__file__).resolve().parents[4] / "galaxy.yml"
    assert "\nversion: %s\n" % version.VERSION in galaxy.read_text()


# --- a run -----------------------------------------------------------------------------------------------------------


def test_a_run_from_revoked_to_golden(golden: State) -> None:
    mark = present(golden)
    assert (mark.state, mark.by, mark.run) == ("golden", "run", RUN)
    assert mark.desired_digest == WANTED.digest
    assert mark.lock == WANTED.lock["id"]
    assert (mark.kernel, mark.driver) == (healthy.KERNEL, healthy.DRIVER)
    assert mark.gpus == (healthy.uuid(0),)
    assert mark.findings_digest == verdict.findings_digest(GOOD.findings)
    assert fact(golden).golden


def test_a_run_keeps_for_which_start_of_docker_it_has_verified(golden: State) -> None:
    """A reboot in the run has started Docker anew, and nothing was to be written into its file after it."""
    kept = json.loads(pathlib.Path(golden.path("docker.json")).read_text())
    assert NODE.units.value is not None
    assert kept == docker_record.fingerprint(NODE.units.value["docker.service"].invocation, WANTED.daemon)


def test_the_mark_can_be_read_by_everybody_and_written_by_its_owner_alone(golden: State) -> None:
    assert stat.S_IMODE(pathlib.Path(golden.path("mark.json")).stat().st_mode) == 0o644
    assert stat.S_IMODE(pathlib.Path(golden.path("desired.json")).stat().st_mode) == 0o644


@pytest.mark.parametrize("verdict_of", [BROKEN, healthy.unreadable(NODE, "nvml")])
def test_a_verdict_that_is_not_golden_gives_no_mark(state: State, verdict_of: Evidence) -> None:
    marks.revoke(state, RUN, "r")
    marks.prepare(state, RUN, STORED)
    with pytest.raises(MarkRefused, match="layer host_driver is broken"):
        marks.golden(state, RUN, WANTED, judged(verdict_of), verdict_of)
    assert present(state).state == "revoked"


def test_a_cheap_look_gives_no_mark_although_all_that_it_asked_passes(state: State) -> None:
    marks.revoke(state, RUN, "r")
    marks.prepare(state, RUN, STORED)
    cheap = healthy.cheap(NODE)
    assert judged(cheap).golden
    with pytest.raises(MarkRefused, match="scope fact proves no GPU"):
        marks.golden(state, RUN, WANTED, judged(cheap), cheap)
    assert present(state).state == "revoked"


def test_a_look_that_asked_for_no_single_gpu_gives_no_first_mark_and_keeps_one_that_holds(state: State) -> None:
    """As the first look of site.yml and the agent's: everything that it asked passes."""
    node = dataclasses.replace(NODE, requests=NOT_READ)
    found = verdict.run(WANTED, node, 1)
    assert found.golden
    marks.revoke(state, RUN, "r")
    marks.prepare(state, RUN, STORED)
    with pytest.raises(MarkRefused, match="has not asked for single GPUs"):
        marks.golden(state, RUN, WANTED, found, node)
    assert present(state).state == "revoked"
    assert marks.golden(state, RUN, WANTED, GOOD, NODE).changed
    assert not marks.golden(state, RUN, WANTED, found, node).changed
    assert present(state).state == "golden"


def test_the_agent_gives_nothing_back_for_a_cheap_look(golden: State) -> None:
    cheap = healthy.cheap(rebooted())
    with pytest.raises(MarkRefused, match="scope fact"):
        marks.restore(golden, WANTED, judged(cheap), cheap)


def test_a_node_that_was_never_revoked_gets_no_mark(state: State) -> None:
    with pytest.raises(MarkRefused, match="the node has no mark"):
        marks.prepare(state, RUN, STORED)


def test_a_second_run_takes_the_node_over_and_the_first_cannot_mark(state: State) -> None:
    marks.revoke(state, RUN, "r")
    marks.prepare(state, RUN, STORED)
    marks.revoke(state, OTHER_RUN, "r")
    with pytest.raises(MarkRefused, match=OTHER_RUN):
        marks.golden(state, RUN, WANTED, GOOD, NODE)
    assert marks.golden(state, OTHER_RUN, WANTED, GOOD, NODE).changed


def test_the_wanted_state_is_not_replaced_under_a_golden_mark(golden: State) -> None:
    with pytest.raises(MarkRefused, match="keep another wanted state"):
        marks.prepare(golden, OTHER_RUN, Stored(OTHER_WANTED, 1))
    assert fact(golden).golden


def test_what_is_marked_must_be_what_the_node_keeps(state: State) -> None:
    marks.revoke(state, RUN, "r")
    marks.prepare(state, RUN, STORED)
    with pytest.raises(MarkRefused, match="state=prepared first"):
        marks.golden(state, RUN, OTHER_WANTED, GOOD, NODE)


def test_nothing_is_changed_where_all_is_so_already(golden: State) -> None:
    before = pathlib.Path(golden.path("mark.json")).read_bytes()
    assert not marks.prepare(golden, OTHER_RUN, STORED).changed
    assert not marks.golden(golden, OTHER_RUN, WANTED, GOOD, NODE).changed
    assert pathlib.Path(golden.path("mark.json")).read_bytes() == before
    marks.revoke(golden, OTHER_RUN, "r")
    assert not marks.revoke(golden, OTHER_RUN, "r").changed


def test_where_the_agent_lies_on_the_controller_is_no_change(golden: State) -> None:
    files = {path: dataclasses.replace(f, source="/elsewhere") for path, f in WANTED.files.items()}
    assert not marks.prepare(golden, OTHER_RUN, Stored(dataclasses.replace(WANTED, files=files), 1)).changed


@pytest.mark.parametrize("other", [rebooted(), healthy.known(NODE, driver=DriverLoaded("580.126.09"))])
def test_a_golden_mark_of_another_boot_or_driver_is_not_taken_for_the_present_one(
    golden: State, other: Evidence
) -> None:
    with pytest.raises(MarkRefused, match="only the run that has revoked"):
        marks.golden(golden, OTHER_RUN, WANTED, GOOD, other)


def test_another_lock_pushes_the_one_before_to_previous(golden: State) -> None:
    first = json.loads(pathlib.Path(golden.path("lock.json")).read_text())
    assert first == WANTED.lock
    assert not pathlib.Path(golden.path("previous.json")).exists()
    marks.revoke(golden, OTHER_RUN, "r")
    marks.prepare(golden, OTHER_RUN, Stored(OTHER_WANTED, 1))
    assert not pathlib.Path(golden.path("previous.json")).exists(), "a role variable alone is no other lock"
    newer = healthy.desired(of_lock=healthy.lock(toolkit={"version": "1.20.1"}))
    marks.prepare(golden, OTHER_RUN, Stored(newer, 1))
    assert json.loads(pathlib.Path(golden.path("previous.json")).read_text()) == first
    assert json.loads(pathlib.Path(golden.path("lock.json")).read_text()) == newer.lock


def test_a_lock_that_a_killed_run_left_out_is_written_by_the_next(golden: State) -> None:
    pathlib.Path(golden.path("lock.json")).unlink()
    assert marks.prepare(golden, OTHER_RUN, STORED).changed
    assert json.loads(pathlib.Path(golden.path("lock.json")).read_text()) == WANTED.lock


@pytest.mark.parametrize("text", ["", "{", "[]", '{"state": "golden"}', '{"schema": 2}'])
def test_a_mark_that_cannot_be_understood_is_none_and_is_kept(golden: State, text: str) -> None:
    pathlib.Path(golden.path("mark.json")).write_text(text)
    assert not fact(golden).golden
    assert "cannot be read" in fact(golden).reason
    with pytest.raises(MarkRefused):
        marks.golden(golden, RUN, WANTED, GOOD, NODE)
    marks.revoke(golden, OTHER_RUN, "r")
    kept = list(pathlib.Path(golden.path("")).glob("mark.json.corrupt-*"))
    assert [path.read_text() for path in kept] == [text]
    assert present(golden).run == OTHER_RUN


def test_check_mode_decides_and_writes_nothing(tmp_path: pathlib.Path) -> None:
    dry = State(str(tmp_path / "goldennode"), str(tmp_path / "lock"), dry=True)
    with dry.locked(0):
        assert marks.revoke(dry, RUN, "r").changed
        assert marks.prepare(dry, RUN, STORED).changed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("steps", range(1, 6))
def test_a_run_that_dies_after_any_write_leaves_no_golden_node(
    golden: State, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes of a run with another lock: mark, previous, lock, desired, docker, mark. Only the last makes it golden."""
    newer = healthy.desired(of_lock=healthy.lock(toolkit={"version": "1.20.1"}))
    node = healthy.evidence("a10", newer)
    units = dict(node.units.value or {})
    units["docker.service"] = dataclasses.replace(units["docker.service"], invocation="the start after the reboot")
    node = healthy.known(node, units=units)
    writes: t.List[str] = []
    write = golden._system.write

    class Killed(BaseException):
        pass

    def counted(path: str, content: bytes, like: t.Optional[str] = None) -> None:
        if len(writes) == steps:
            raise Killed
        writes.append(path)
        write(path, content, like)

    def run(name: str) -> None:
        marks.revoke(golden, name, "r")
        marks.prepare(golden, name, Stored(newer, 1))
        marks.golden(golden, name, newer, verdict.run(newer, node, 1), node)

    monkeypatch.setattr(golden._system, "write", counted)
    with pytest.raises(Killed):
        run(OTHER_RUN)
    assert len(writes) == steps
    assert not fact(golden, node).golden
    monkeypatch.undo()
    run("a third")
    assert fact(golden, node).golden
    assert json.loads(pathlib.Path(golden.path("previous.json")).read_text()) == WANTED.lock


# --- the agent -------------------------------------------------------------------------------------------------------


def test_the_agent_gives_the_mark_back_after_a_plain_reboot(golden: State) -> None:
    assert marks.restore(golden, WANTED, GOOD, rebooted()).changed
    mark = present(golden)
    assert (mark.state, mark.by, mark.run) == ("golden", "agent", RUN)
    assert fact(golden, rebooted()).golden


def test_the_agent_gives_back_what_it_has_suspended_itself(golden: State) -> None:
    marks.suspend(golden, "host_driver.loaded: it was another one")
    assert not fact(golden).golden
    assert present(golden).desired_digest == WANTED.digest
    assert marks.restore(golden, WANTED, GOOD, rebooted()).changed
    assert fact(golden, rebooted()).golden


def test_the_agent_leaves_a_mark_that_holds_as_it_is(golden: State) -> None:
    assert not marks.restore(golden, WANTED, GOOD, NODE).changed


def test_what_a_run_could_not_prove_stays_so_when_a_boot_renews_the_mark(state: State) -> None:
    """A boot does not ask for a reload; that it says nothing of it proves nothing."""
    looks = {way: Reading(ReloadLook(way, not_tried="containers run")) for way in ("runtime", "cdi")}
    untried = dataclasses.replace(NODE, reloads=looks)
    unread = healthy.unreadable(untried, "kept_packages")
    marks.revoke(state, RUN, "r")
    marks.prepare(state, RUN, STORED)
    marks.golden(state, RUN, WANTED, judged(unread), unread)
    assert [text.partition(":")[0] for text in present(state).not_proven] == [
        "packages.kept",
        "container_runtime.daemon_reload",
    ]
    marks.restore(state, WANTED, GOOD, rebooted())
    assert [text.partition(":")[0] for text in present(state).not_proven] == ["container_runtime.daemon_reload"]


SWAPPED = dataclasses.replace(NODE.nvml.value, gpus=(dataclasses.replace(NODE.nvml.value.gpus[0], uuid="GPU-new"),))  # type: ignore


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (rebooted(kernel="6.12.99"), "kernel 6.12.99 runs"),
        (healthy.known(rebooted(), driver=DriverLoaded("595.71.05")), "driver 595.71.05 is loaded"),
        (healthy.known(rebooted(), nvml=SWAPPED), "GPU-new"),
        (dataclasses.replace(NODE, boot=Reading.unknown("x")), "not known"),
    ],
)
@pytest.mark.parametrize("suspended", [False, True])
def test_what_else_has_changed_is_renewed_by_a_run_only(
    golden: State, evidence: Evidence, words: str, suspended: bool
) -> None:
    if suspended:
        marks.suspend(golden, "s")
    before = present(golden)
    with pytest.raises(MarkRefused, match=words):
        marks.restore(golden, WANTED, GOOD, evidence)
    assert present(golden) == before


def test_the_agent_gives_nothing_back_on_a_bad_verdict(golden: State) -> None:
    marks.suspend(golden, "s")
    with pytest.raises(MarkRefused, match="not golden"):
        marks.restore(golden, WANTED, judged(BROKEN), BROKEN)
    assert present(golden).state == "suspended"


def test_the_agent_gives_nothing_back_for_another_wanted_state(golden: State) -> None:
    with pytest.raises(MarkRefused, match="something else"):
        marks.restore(golden, OTHER_WANTED, GOOD, rebooted())


def test_only_a_run_clears_a_revocation(golden: State) -> None:
    marks.revoke(golden, OTHER_RUN, "r")
    for step in (lambda: marks.restore(golden, WANTED, GOOD, rebooted()), lambda: marks.suspend(golden, "s")):
        with pytest.raises(MarkRefused):
            step()
    assert present(golden).state == "revoked"


def test_a_node_without_a_mark_gets_none_from_the_agent(state: State) -> None:
    with pytest.raises(MarkRefused, match="first mark"):
        marks.restore(state, WANTED, GOOD, NODE)


# --- the lock --------------------------------------------------------------------------------------------------------


def test_the_lock_is_held_by_one_and_names_its_holder(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", "import fcntl,os,sys,time\nf=open(sys.argv[1],'w')\nfcntl.flock(f,fcntl.LOCK_EX)\n"
         "f.write(str(os.getpid()))\nf.flush()\nprint('held',flush=True)\ntime.sleep(60)", str(path)],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(marks.LockBusy, match="process %d" % holder.pid),
            State(str(tmp_path), str(path)).locked(0.3),
        ):
            pass
    finally:
        holder.kill()
        holder.wait()
    with State(str(tmp_path), str(path)).locked(0.0):
        pass


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: pathlib.Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "lock").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"), State(str(tmp_path), str(tmp_path / "lock")).locked(0):
        pass
    assert victim.read_text() == "precious"


# --- the local fact --------------------------------------------------------------------------------------------------


def test_a_node_that_was_never_verified(state: State) -> None:
    found = fact(state)
    assert (found.golden, found.state, found.reason) == (False, "none", "the node was never verified")


def test_what_a_golden_node_says(golden: State) -> None:
    found = fact(golden)
    assert found.golden
    assert (found.state, found.desired_digest, found.lock) == ("golden", WANTED.digest, WANTED.lock["id"])
    assert found.layer is None


def test_a_revocation_that_cannot_be_written_leaves_no_mark(golden: State, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(28, "No space left on device", golden.path("mark.json"))

    monkeypatch.setattr("%s.System.write" % marks.__name__, full)
    with pytest.raises(OSError, match="No space left"):
        marks.revoke(golden, "another run", "a GPU is gone")
    assert golden.mark().value is None
    assert not fact(golden).golden


def test_a_revoked_node_names_the_run(golden: State) -> None:
    marks.revoke(golden, OTHER_RUN, "it is being changed")
    assert fact(golden).reason == "revoked by run %s: it is being changed" % OTHER_RUN


def test_after_a_reboot_nothing_is_golden_until_it_was_verified(golden: State) -> None:
    found = fact(golden, rebooted())
    assert not found.golden
    assert found.reason == "rebooted: not verified since"
    assert "goldennode-agent" in found.fix


def test_another_kernel_is_named(golden: State) -> None:
    found = fact(golden, rebooted(kernel="6.12.99"))
    assert "kernel 6.12.99 runs, verified was %s" % healthy.KERNEL in found.reason
    assert found.layer == "host_driver"


@pytest.mark.parametrize(
    ("evidence", "layer", "word"),
    [
        (BROKEN, "host_driver", "host_driver.loaded"),
        (healthy.known(NODE, docker_config={}), "container_runtime", "daemon.json"),
        (healthy.known(NODE, packages={}), "packages", "not installed"),
        (healthy.unreadable(NODE, "files"), "packages", "files was unreadable"),
    ],
)
def test_what_has_changed_since_is_named_with_layer_and_fix(
    golden: State, evidence: Evidence, layer: str, word: str
) -> None:
    found = fact(golden, evidence)
    assert not found.golden
    assert found.layer == layer
    assert word in found.reason
    assert found.fix


def test_a_wanted_state_that_is_gone_or_not_that_of_the_mark(golden: State) -> None:
    golden.put_stored(Stored(OTHER_WANTED, 1))
    assert "something else" in fact(golden).reason
    pathlib.Path(golden.path("desired.json")).write_text('{"desired": {}}')
    assert "desired.json cannot be read" in fact(golden).reason
    pathlib.Path(golden.path("desired.json")).unlink()
    assert not fact(golden).golden


# --- what a node can go back to ---------------------------------------------------------------------------------------


def proven_for(state: State, wanted: Desired) -> None:
    marks.revoke(state, RUN, "a run is changing the node")
    marks.prepare(state, RUN, Stored(wanted, 1))
    node = healthy.evidence("a10", wanted)
    marks.golden(state, RUN, wanted, judged(node, wanted), node)


def another_lock(wanted: Desired = WANTED) -> Desired:
    lock = {**wanted.lock, "id": "sha256:" + "b" * 64}
    return dataclasses.replace(wanted, lock=lock, digest="sha256:" + "c" * 64)


def test_a_node_that_was_never_golden_has_no_way_back(state: State) -> None:
    marks.revoke(state, RUN, "a run is changing the node")
    marks.prepare(state, RUN, STORED)
    assert marks.way_back(state, lambda desired: True) == Reading(None)


def test_what_was_proven_last_is_kept_and_what_was_proven_before_with_another_lock(state: State) -> None:
    proven_for(state, WANTED)
    proven_for(state, another_lock())
    last, before = (reading.value for reading in state.proven())
    assert last is not None
    assert last.desired.digest == another_lock().digest
    assert before is not None
    assert marks.portable(before) == marks.portable(STORED)
    back = marks.way_back(state, lambda desired: desired.digest != another_lock().digest).value
    assert back is not None
    assert back.desired.digest == WANTED.digest


def test_another_variable_with_the_same_lock_does_not_push_the_lock_before_out(state: State) -> None:
    proven_for(state, another_lock())
    proven_for(state, WANTED)
    other_variables = dataclasses.replace(WANTED, digest="sha256:" + "d" * 64)
    proven_for(state, other_variables)
    last, before = (reading.value for reading in state.proven())
    assert last is not None
    assert last.desired.digest == other_variables.digest
    assert before is not None
    assert before.desired.lock["id"] == another_lock().lock["id"]


def test_a_run_that_ended_before_its_mark_has_proven_nothing(golden: State) -> None:
    marks.revoke(golden, RUN, "a run is changing the node")
    marks.prepare(golden, RUN, Stored(another_lock(), 1))
    with pytest.raises(MarkRefused):
        marks.golden(golden, RUN, another_lock(), judged(BROKEN, another_lock()), BROKEN)
    back = marks.way_back(golden, lambda desired: True).value
    assert back is not None
    assert back.desired.digest == WANTED.digest


def test_a_mark_that_stays_writes_again_what_was_lost_of_it(golden: State) -> None:
    pathlib.Path(golden.path("proven.json")).unlink()
    marks.golden(golden, OTHER_RUN, WANTED, GOOD, NODE)
    assert marks.way_back(golden, lambda desired: True).known


def test_a_kept_state_that_cannot_be_understood_is_unknown_and_not_absent(golden: State) -> None:
    pathlib.Path(golden.path("proven.json")).write_text("{}")
    found = marks.way_back(golden, lambda desired: True)
    assert not found.known
    assert "proven.json cannot be understood" in str(found.error)
