#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action goldennode.gpu.rollout."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rollout
short_description: Plan a rollout, decide after each wave whether it goes on, and sum it up
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Makes a plan of what is known of every node - which nodes come when, what is done with each, and how many may
    fail - or refuses with every reason at once.
  - Says after each wave whether the rollout stops, and at the end how each node came out.
  - Prints the plan, one line after each wave and the summary right to the terminal.
  - Runs on the controller as an action plugin, once for all hosts, and touches no node.
extends_documentation_fragment:
  - goldennode.gpu.attributes.looks
options:
  step:
    description: What is asked.
    type: str
    choices: [plan, wave, end]
    required: true
  hosts:
    description:
      - With O(step=plan), the hosts in the order of the inventory. Read are their variables C(__goldennode_rollout),
        the result of C(rollout_node), and C(__goldennode_bundle), that of C(desired). A host without the first could
        not be reached.
    type: list
    elements: str
  back:
    description:
      - With O(step=plan), plan a way back of each host to what it was golden for before, without canaries. Read are the
        results of C(rollout_node) with C(state=previous), and of C(desired) with its way back.
    type: bool
    default: false
  plan:
    description: With the other steps, the result of O(step=plan).
    type: dict
  wave:
    description:
      - With O(step=wave), the wave that has ended. A node of it, or of a wave before it, of which O(outcomes) says
        nothing is lost.
      - With O(step=end), the last wave that was begun, if one was.
    type: str
  outcomes:
    description:
      - By host, how it came out - V(golden), V(rolled_back), V(failed), V(lost) or V(busy) -, or a dictionary with
        C(outcome) and C(reason). All waves so far; what the plan left alone may be left out.
      - Left out, the variable C(__goldennode_outcome) of each host is read.
      - Any other word counts as a failure.
    type: dict
  result_file:
    description: A file on the controller that gets the result as JSON, for machines.
    type: path
"""

EXAMPLES = r"""
- name: Plan
  goldennode.gpu.rollout:
    step: plan
    hosts: "{{ groups['gpu_nodes'] }}"
  register: plan

- name: Decide whether to go on
  goldennode.gpu.rollout:
    step: wave
    plan: "{{ plan }}"
    wave: canary-1
    outcomes:
      gpu01: {outcome: rolled_back, reason: the toolkit breaks injection}
  register: after
"""

RETURN = r"""
id:
  description: The rollout - the same bundle and locks always have the same.
  type: str
  returned: O(step=plan) and O(step=end)
  sample: pool-2026.11-3f1c0de2ab90
refused:
  description: Why nothing may be done, a sentence for each reason.
  type: list
  elements: str
  returned: O(step=plan)
cautions:
  description: What is worth a look before it goes on.
  type: list
  elements: str
  returned: O(step=plan)
halted:
  description: Why no further node is begun; what an earlier run has under way is still brought to its end.
  type: str
  returned: O(step=plan)
budget:
  description: How many production nodes may fail; one more stops the rollout.
  type: int
  returned: O(step=plan)
canaries:
  description: The canaries, in their order.
  type: list
  elements: str
  returned: O(step=plan)
waves:
  description: Every host in exactly one wave, each with C(name) and C(hosts).
  type: list
  elements: dict
  returned: O(step=plan)
  sample: [{name: canary-1, hosts: [gpu01]}, {name: wave-1, hosts: [gpu02, gpu03]}]
actions:
  description:
    - What is done with each host. V(convert) from the start; V(continue) again from draining, since a run was killed at
      work on it; V(roll_back) to what it was golden for, or to failed where that was nothing.
    - V(done), V(settled) and V(unreachable) are left alone.
  type: dict
  returned: O(step=plan)
stop:
  description: Whether the rollout stops after this wave.
  type: bool
  returned: O(step=wave)
reason:
  description: Why it stops, or an empty text.
  type: str
  returned: O(step=wave)
again:
  description: Whether it stops for a canary alone that is at work. Nothing has failed, and the same command goes on.
  type: bool
  returned: O(step=wave)
wave:
  description: The wave, for O(wave) of O(step=end).
  type: str
  returned: O(step=wave)
message:
  description: Why the pool is not whole; an empty text where every node is golden for the bundle.
  type: str
  returned: O(step=end)
nodes:
  description:
    - By host, its C(wave), C(outcome) and C(reason).
    - With O(step=plan) also C(action), C(was), the id of the lock on the node, and C(lock), that of the one it shall
      have; C(outcome) is then set only where nothing is done with the host.
  type: dict
  returned: O(step=plan) and O(step=end)
"""
