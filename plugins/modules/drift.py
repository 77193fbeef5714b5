#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action goldennode.gpu.drift."""

from __future__ import annotations

DOCUMENTATION = r"""
module: drift
short_description: Show what differs between GPU nodes and what they were proven for
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Prints a row for each thing that has drifted - what, was, is and since when - with the check that found it, why, and
    what to do, right to the terminal.
  - A host that failed, could not be reached or was never prepared has its row too.
  - Where a bundle was read, it says which nodes wait for what that says now. That is no drift.
  - Runs on the controller as an action plugin, once for all hosts.
extends_documentation_fragment:
  - goldennode.gpu.attributes.looks
options:
  hosts:
    description:
      - Hosts to show, by their variables C(__goldennode_drift_look), the result of M(goldennode.gpu.node_drift),
        C(__goldennode_failure) with C(task) and C(message), and C(__goldennode_bundle).
    type: list
    elements: str
    required: true
  result_file:
    description:
      - A file on the controller that gets the result as JSON, with C(schema), C(generated_at), C(collection) and
        RV(nodes).
    type: str
notes:
  - The table is as wide as the terminal, or as the environment variable E(COLUMNS) says.
"""

EXAMPLES = r"""
- name: Hold each node against what it was proven for
  goldennode.gpu.node_drift:
  register: __goldennode_drift_look

- name: Show what has drifted
  goldennode.gpu.drift:
    hosts: "{{ ansible_play_hosts_all }}"
    result_file: drift.json
  run_once: true
"""

RETURN = r"""
nodes:
  description: What is said of each node, by its name.
  type: dict
  returned: success
  contains:
    drifted:
      description: Whether anything has drifted.
      type: bool
    well:
      description: Whether it is known that nothing has. A node of which it is not known is neither.
      type: bool
    word:
      description: >-
        C(no drift), C(drifted), C(not known) (something could not be read), C(not proven) (a run was not finished),
        C(never prepared), C(unreadable), C(unreachable), C(failed) or C(not looked at).
      type: str
    rows:
      description: As RV(goldennode.gpu.node_drift#module:rows).
      type: list
      elements: dict
    note:
      description: Why there are no rows, or what stands above them.
      type: str
    fix:
      description: What to do about that.
      type: str
    waits:
      description: For what that the bundle says now the node waits; empty where it has it, or no bundle was given.
      type: str
    others:
      description: What else keeps the node from being golden.
      type: list
      elements: str
    bundle:
      description: The bundle that the node was proven for.
      type: str
    lock:
      description: The lock that it was proven for.
      type: str
    last_whole:
      description: When the node was last seen whole, in UTC.
      type: str
    collected_at:
      description: When it was looked at.
      type: str
not_well:
  description: Nodes of which it is not known that nothing has drifted.
  type: list
  elements: str
  returned: success
messages:
  description: What is said of each node, in one line.
  type: dict
  returned: success
"""
