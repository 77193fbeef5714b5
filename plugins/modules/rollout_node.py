#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read or move the record of a rollout on one node: arguments in, record out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rollout_node
short_description: Read or move the record that a node keeps of a rollout
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - A rollout keeps its state on the nodes alone, in C(/var/lib/goldennode/rollout.json). So the same command goes on
    where a killed one stood, and another rollout is refused until this one is finished.
  - Which state may follow which, and which run may move a node, is decided here; what a state means for the node is the
    business of C(rollout.yml).
extends_documentation_fragment:
  - goldennode.gpu.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
notes:
  - Needs root. Runs and the agent exclude each other by a lock on the node; it is waited for, see O(lock_timeout).
options:
  state:
    description:
      - V(read) looks, and says whether the node is golden for what is wanted, whether it has a way back, and since when
        it is up. It changes nothing.
      - V(base) also returns what the node was proven for before the rollout, and V(previous) what it was proven for
        before it was given the lock that it has, or before the rollout in the middle of which it stands.
      - V(pending) has the node take part in the rollout; every other is a step of it.
      - V(rolling_back) without O(rollout) has the node go back to what V(previous) says, out of the rollout in which
        it is, or without one. The steps after it name the rollout that RV(record) then has.
    type: str
    choices:
      - read
      - base
      - previous
      - pending
      - draining
      - converging
      - verifying
      - soaking
      - golden
      - rolling_back
      - rolled_back
      - failed
      - stopped
    required: true
  desired:
    description:
      - What the nodes are wanted to be, by platform, as the action C(goldennode.gpu.desired) returns it.
      - Needed for V(read) and V(pending).
    type: dict
  bundles:
    description: A dictionary whose keys are the platforms of the bundle. Needed for V(read).
    type: dict
    default: {}
  expected_gpus:
    description: How many GPUs the node has when it is whole. Needed for V(read).
    type: int
  rollout:
    description: Id of the rollout, as the action C(goldennode.gpu.rollout) returns it. Needed for every step but a
      V(rolling_back) without one.
    type: str
  run:
    description: Name of the run, as the action C(goldennode.gpu.desired) returns it. Needed for every step.
    type: str
  found_run:
    description:
      - The run that had the node when this one has read it (C(run) of RV(record)), empty where none had.
      - A run takes a node over from that run alone. One from which a node was taken since steps aside.
    type: str
    default: ""
  wave:
    description:
      - The wave of the node, V(canary-1) or V(wave-2). With it, and O(desired), V(pending) has the node enter the
        rollout.
      - Without it, V(pending) has a node that was to be drained, and is at work, wait for its turn again.
    type: str
  reason:
    description: Why the node is in this state, for people.
    type: str
    default: ""
  back_within:
    description:
      - Seconds from now in which the node must have come back, where a reboot may follow.
      - A node that comes back later counts as lost, and is rolled back. V(0) means that no reboot follows.
    type: int
    default: 0
  lock_timeout:
    description: Seconds to wait for the lock of the node.
    type: int
    default: 240
seealso:
  - module: goldennode.gpu.rollout
  - module: goldennode.gpu.golden_mark
"""

EXAMPLES = r"""
- name: Read where the node stands
  goldennode.gpu.rollout_node:
    state: read
    desired: "{{ bundle.desired }}"
    bundles: "{{ bundle.bundles }}"
    expected_gpus: 8
  register: known

- name: Say that the node is going to be drained
  goldennode.gpu.rollout_node:
    state: draining
    rollout: "{{ plan.id }}"
    run: "{{ bundle.run }}"
"""

RETURN = r"""
record:
  description: The record of the last rollout on the node, or null.
  returned: success
  type: dict
node:
  description: What is known of the node.
  returned: success
  type: dict
  contains:
    record_error:
      description: Why the record cannot be understood, or empty.
      type: str
    platform:
      description: Key of the platform, or null where it is not known.
      type: str
      sample: debian-13-x86_64
    platform_known:
      description: Whether the bundle has that platform. Only with O(state=read).
      type: bool
    golden_for_target:
      description: Whether the node is golden for what is wanted. Only with O(state=read).
      type: bool
    base:
      description: Whether it has a proven state to go back to.
      type: bool
    boot_id:
      description: The boot.
      type: str
      sample: 11111111-2222-4333-8444-555555555555
    booted_at:
      description: When the node was booted, in UTC.
      type: str
      sample: "2026-11-30T12:07:31Z"
    lock:
      description: Id of the lock on the node, or empty.
      type: str
      sample: sha256:0f9b...
    axes:
      description: Versions of the lock on the node, by axis, for people.
      type: dict
      sample: {driver: 580.159.03}
way_back:
  description: >-
    What the node goes back to, which the action C(goldennode.gpu.desired) takes as
    O(goldennode.gpu.desired#module:stored); null where there is none.
  returned: with O(state=base) and O(state=previous)
  type: dict
way_back_error:
  description: Why there is no way back, or empty.
  returned: with O(state=base) and O(state=previous)
  type: str
"""

import os
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils import mark as marks
from ansible_collections.goldennode.gpu.plugins.module_utils import rollout, rollout_state
from ansible_collections.goldennode.gpu.plugins.module_utils import verdict as judge
from ansible_collections.goldennode.gpu.plugins.module_utils.lock import axes_of
from ansible_collections.goldennode.gpu.plugins.module_utils.mark import LockBusy, State, Stored
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Boot, Desired, Evidence, Reading, to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import desired_from_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import LocalHost
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.look import choose, look

#: These look only.
_LOOKS = ("read", "base", "previous")
#: These have needs of their own.
_OF_THEIR_OWN = (rollout.PENDING, rollout.ROLLING_BACK)
#: Seconds for the cheap look.
_LOOK_SECONDS = 20.0

_Plain = t.Dict[str, t.Any]


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": [*_LOOKS, *rollout.STATES], "required": True},
            "desired": {"type": "dict"},
            "bundles": {"type": "dict", "default": {}},
            "expected_gpus": {"type": "int"},
            "rollout": {"type": "str"},
            "run": {"type": "str"},
            "found_run": {"type": "str", "default": ""},
            "wave": {"type": "str"},
            "reason": {"type": "str", "default": ""},
            "back_within": {"type": "int", "default": 0},
            "lock_timeout": {"type": "int", "default": 240},
        },
        required_if=[
            ("state", "read", ("desired", "expected_gpus")),
            ("state", "pending", ("rollout", "run")),
            ("state", "rolling_back", ("run",)),
            *(("state", step, ("rollout", "run")) for step in rollout.STATES if step not in _OF_THEIR_OWN),
        ],
        supports_check_mode=True,
        no_log=True,  # the arguments are long and would fill the journal of the node
    )
    if os.geteuid() != 0:
        module.fail_json(msg="The record of a rollout is root's: set become: true for this host.")
    given, state = module.params, State(dry=module.check_mode)
    try:
        wanted = {platform: desired_from_plain(plain) for platform, plain in (given["desired"] or {}).items()}
        host = LocalHost()
        platform, desired = choose(host, wanted)
        evidence = look(host, desired, "fact", _LOOK_SECONDS)
        key = platform.value.key if platform.value else None
        if given["state"] in _LOOKS:
            result: _Plain = {"changed": False}
        else:
            result = _step(state, desired, evidence.boot, given, module._diff)
        record = rollout_state.read(state)
        known = _known(state, desired, evidence, given["expected_gpus"] or 0)
        known.update(record_error=record.error or "", platform=key, platform_known=key in given["bundles"])
        result.update(node=known, record=to_plain(record.value))
        if given["state"] in ("base", "previous"):
            result.update(_way_back(state, given["state"]))
    except (rollout.MoveRefused, LockBusy, ValueError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


def _step(
    state: State, desired: t.Optional[Desired], boot: Reading[Boot], given: t.Mapping[str, t.Any], diff: bool
) -> _Plain:
    if boot.value is None:
        raise rollout.MoveRefused("the boot id of the node is not known: %s" % boot.error)
    ids = {"rollout_id": given["rollout"], "run": given["run"], "found_run": given["found_run"]}
    with state.locked(given["lock_timeout"]):
        if given["state"] == rollout.PENDING and given["wave"]:
            if desired is None:
                raise rollout.MoveRefused("nothing is wanted of this node's platform")
            change = rollout_state.enter(state, boot.value, wave=given["wave"], wanted=desired, **ids)
        elif given["state"] == rollout.ROLLING_BACK and not given["rollout"]:
            mine = {"run": given["run"], "found_run": given["found_run"]}
            change = rollout_state.leave(state, boot.value, reason=given["reason"], **mine)
        else:
            how = {"reason": given["reason"], "back_within": given["back_within"]}
            change = rollout_state.move(state, boot.value, given["state"], **how, **ids)
    result: _Plain = {"changed": change.changed}
    if diff:
        result["diff"] = {"before": _text(change.before), "after": _text(change.after)}
    return result


def _known(state: State, desired: t.Optional[Desired], evidence: Evidence, expected_gpus: int) -> _Plain:
    boot = evidence.boot.value
    stored, mark = state.stored(), state.mark()
    golden = False
    if desired is not None and not marks.objection(mark, stored, desired, evidence):
        golden = not judge.run(desired, evidence, expected_gpus).broken
    lock = stored.value.desired.lock if stored.value else {}
    return {
        "golden_for_target": golden,
        "base": any(reading.value is not None for reading in state.proven()),
        "boot_id": boot.boot_id if boot else "",
        "booted_at": rollout_state.booted_at(boot) if boot else "",
        "lock": str(lock.get("id", "")),
        "axes": axes_of(lock) if lock else {},
    }


def _way_back(state: State, which: str) -> _Plain:
    read = rollout_state.read(state)
    record, found = read.value, Reading[Stored](None, read.error)
    if which == "base":
        if record is not None:
            found = rollout_state.base(state, record)
    else:
        found = rollout_state.previous(state)
    error = found.error or ("" if found.value else rollout_state.NEVER)
    return {"way_back": marks.portable(found.value) if found.value else None, "way_back_error": error}


def _text(value: t.Any) -> str:
    return "" if value is None else "%(rollout)s: %(state)s\n" % value


if __name__ == "__main__":
    main()
