#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change the golden mark of a node: arguments in, mark out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: golden_mark
short_description: Take the golden mark of a node away, or give it
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Writes the golden mark, which says for which wanted state, boot, kernel, driver and GPUs a node was proven.
  - A run revokes the mark before it changes anything, and gives it as the last thing it does. Only the run that revoked
    may give it. So a run that is killed at any point leaves a node that says not golden.
  - Suspending a mark, and giving it back after a plain reboot, is the business of the agent on the node.
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
      - What to do.
      - V(revoked) says that the node is not golden because this run is going to change it. Always allowed. A second run
        takes the node over with it, and the first then cannot mark.
      - V(prepared) keeps on the node what it is wanted to be, for the agent and the local fact. Refused under a mark
        that this run has not revoked, unless nothing would change.
      - V(golden) judges the evidence of O(look) again and marks the node. Refused when the verdict is not golden, when
        the node keeps another wanted state, and when this run has not revoked the mark, unless nothing would change.
    type: str
    choices: [revoked, prepared, golden]
    required: true
  run:
    description: Name of the run, as the action C(goldennode.gpu.desired) returns it.
    type: str
    required: true
  reason:
    description: Why the mark is revoked, for people.
    type: str
    default: the run is changing the node
  desired:
    description: What the node is wanted to be, as the same action returns it for the platform of the node.
    type: dict
  expected_gpus:
    description: How many GPUs the node has when it is whole.
    type: int
  look:
    description: >-
      The result of M(goldennode.gpu.node_verify) with its evidence and with
      O(goldennode.gpu.node_verify#module:single_gpus=true), from after the last change.
    type: dict
  lock_timeout:
    description:
      - Seconds to wait for the lock of the node. The agent holds it while it verifies, which is for minutes at most.
    type: int
    default: 240
"""

EXAMPLES = r"""
- name: Revoke the mark before anything is changed
  goldennode.gpu.golden_mark:
    state: revoked
    run: "{{ bundle.run }}"
    reason: a new bundle is installed

- name: Tell the agent what this node is wanted to be
  goldennode.gpu.golden_mark:
    state: prepared
    run: "{{ bundle.run }}"
    desired: "{{ bundle.desired[look.platform] }}"
    expected_gpus: 8

- name: Mark the node golden
  goldennode.gpu.golden_mark:
    state: golden
    run: "{{ bundle.run }}"
    desired: "{{ bundle.desired[look.platform] }}"
    expected_gpus: 8
    look: "{{ look }}"
"""

RETURN = r"""
mark:
  description: The mark as it now is, or would be in check mode. Null when there is none.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of the format.
      type: int
      sample: 1
    state:
      description: One of C(golden), C(suspended) and C(revoked).
      type: str
      sample: golden
    reason:
      description: Why it is in this state.
      type: str
      sample: every required check passed
    by:
      description: Who brought it into this state, C(run) or C(agent).
      type: str
      sample: run
    run:
      description: The run that revoked or marked last.
      type: str
      sample: 20261130T120000Z-controller-4711-1a2b3c
    since:
      description: When this state began, in UTC.
      type: str
      sample: "2026-11-30T12:07:31Z"
    desired_digest:
      description: Digest of the wanted state that was proven.
      type: str
      sample: sha256:0123
    lock:
      description: Id of the lock that was proven.
      type: str
      sample: sha256:4567
    boot_id:
      description: The boot in which it was proven.
      type: str
      sample: 11111111-2222-4333-8444-555555555555
    kernel:
      description: The kernel with which it was proven.
      type: str
      sample: 6.12.57+deb13-amd64
    driver:
      description: The loaded driver with which it was proven.
      type: str
      sample: 580.159.03
    gpus:
      description: UUIDs of the GPUs that were proven.
      type: list
      elements: str
      sample: ["GPU-00000000-0000-4000-8000-000000000000"]
    collection_version:
      description: Version of this collection that wrote it.
      type: str
      sample: 0.1.0
    not_proven:
      description: What golden does not need and was not proven.
      type: list
      elements: str
      sample: []
    findings_digest:
      description: Digest of the findings that led to it.
      type: str
      sample: sha256:89ab
    waived_until:
      description: The last day on which the mark can hold, where findings are waived; empty where none is.
      type: str
      sample: ""
"""

from ansible_collections.goldennode.gpu.plugins.module_utils import zip_once

zip_once.install()  # before all others
# isort: split

import json
import os
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils import mark as marks
from ansible_collections.goldennode.gpu.plugins.module_utils import verdict as judge
from ansible_collections.goldennode.gpu.plugins.module_utils.mark import Change, LockBusy, MarkRefused, State, Stored
from ansible_collections.goldennode.gpu.plugins.module_utils.model import to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import desired_from_plain, evidence_from_plain


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["revoked", "prepared", "golden"], "required": True},
            "run": {"type": "str", "required": True},
            "reason": {"type": "str", "default": "the run is changing the node"},
            "desired": {"type": "dict"},
            "expected_gpus": {"type": "int"},
            "look": {"type": "dict"},
            "lock_timeout": {"type": "int", "default": 240},
        },
        required_if=[
            ("state", "prepared", ("desired", "expected_gpus")),
            ("state", "golden", ("desired", "expected_gpus", "look")),
        ],
        supports_check_mode=True,
        no_log=True,  # the arguments are long and would fill the journal of the node
    )
    if os.geteuid() != 0:
        module.fail_json(msg="The golden mark is root's: set become: true for this host.")
    state = State(dry=module.check_mode)
    try:
        with state.locked(module.params["lock_timeout"]):
            change = _change(state, module.params)
            mark = change.after if module.params["state"] != "prepared" else to_plain(state.mark().value)
    except (MarkRefused, LockBusy, ValueError, OSError) as error:
        module.fail_json(msg=str(error))
    result: t.Dict[str, t.Any] = {"changed": change.changed, "mark": mark}
    if module._diff:
        tell = _wanted if module.params["state"] == "prepared" else _text
        result["diff"] = {"before": tell(change.before), "after": tell(change.after)}
    module.exit_json(**result)


def _change(state: State, given: t.Mapping[str, t.Any]) -> Change:
    if given["state"] == "revoked":
        return marks.revoke(state, given["run"], given["reason"])
    desired = desired_from_plain(given["desired"])
    if given["state"] == "prepared":
        return marks.prepare(state, given["run"], Stored(desired, given["expected_gpus"]))
    if "evidence" not in given["look"]:
        raise ValueError("look has no evidence: call goldennode.gpu.node_verify with evidence=always")
    # Judged anew, so that a mark rests on evidence and on nothing that was said of it.
    evidence = evidence_from_plain(given["look"]["evidence"])
    verdict = judge.run(desired, evidence, given["expected_gpus"])
    return marks.golden(state, given["run"], desired, verdict, evidence)


def _wanted(kept: t.Any) -> str:
    """What desired.json and lock.json are about, by their digests: in full they fill pages."""
    lock, wanted = kept
    digests = {
        "desired": (wanted or {}).get("desired", {}).get("digest"),
        "expected_gpus": (wanted or {}).get("expected_gpus"),
        "lock": (lock or {}).get("id"),
    }
    return _text(digests if lock or wanted else None)


def _text(value: t.Any) -> str:
    return "" if value is None else json.dumps(value, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    main()
