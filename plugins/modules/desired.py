#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action goldennode.gpu.desired."""

from __future__ import annotations

DOCUMENTATION = r"""
module: desired
short_description: Read and check bundle, locks and role variables, on the controller
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Reads the bundle that the variable C(bundle_file) names, the locks beside it and every public variable of the roles
    bundle, kernel, driver, docker, toolkit, device_access and golden, as the host has them.
  - Checks all of it at once and reports every problem in one message. No node is contacted.
  - Returns what the nodes of each platform are wanted to be. The platform of a host need not be known yet.
  - Runs on the controller as an action plugin.
extends_documentation_fragment:
  - goldennode.gpu.attributes
options:
  lock:
    description:
      - A lock that was just resolved, as RV(goldennode.gpu.lock_resolve#module:lock) has it.
      - It is used in place of the file of its platform. Locks of other platforms that do not fit count as missing.
    type: dict
  write:
    description: Write O(lock) beside the bundle. Nothing is written in check mode.
    type: bool
    default: false
  ignore_locks:
    description: Do not read the locks that are there, and count them as missing.
    type: bool
    default: false
  stored:
    description:
      - A state that a node has kept, as RV(goldennode.gpu.rollout_node#module:way_back) has it.
      - The node is wanted to be that, whatever bundle and role variables say. RV(settings) then has its values of what
        counts, and those of now of what steers a run. No bundle and no lock is read.
    type: dict
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: A lock that is written is whole; version control shows what changed in it.
seealso:
  - module: goldennode.gpu.lock_resolve
  - module: goldennode.gpu.node_verify
"""

EXAMPLES = r"""
- name: Read the bundle, its locks and every role variable
  goldennode.gpu.desired:
  register: prepared

- name: Write the lock that was just resolved
  goldennode.gpu.desired:
    lock: "{{ resolved.lock }}"
    write: true
  register: prepared
"""

RETURN = r"""
desired:
  description: What the nodes of a platform are wanted to be, by platform, for each platform that has a lock.
  type: dict
  returned: success
  contains:
    digest:
      description: Digest over the lock and every role variable that affects the node.
      type: str
      sample: sha256:0f9b...
    lock:
      description: The lock.
      type: dict
    files:
      description: Every file that a role owns whole, by path, with role, mode (an integer), sha256, content or source.
      type: dict
    daemon:
      description: The settings wanted inside daemon.json.
      type: dict
    units:
      description: V(enabled) or V(active+enabled), by unit.
      type: dict
    settings:
      description: The variables that count, by role.
      type: dict
missing_locks:
  description: Platforms of the bundle that have no lock yet.
  type: list
  elements: str
  returned: success
  sample: [debian-13-x86_64]
bundles:
  description: The bundle as each platform sees it, by platform, for M(goldennode.gpu.lock_resolve).
  type: dict
  returned: success
bundle_file:
  description: The file that was read.
  type: str
  returned: success
expected_gpus:
  description: How many GPUs the host shall have.
  type: int
  returned: success
  sample: 8
settings:
  description: Every public variable of the host, by role, consent included, but none with a password in it.
  type: dict
  returned: success
run:
  description: Name of this run of ansible-playbook; the same for all of its hosts, and never the same twice.
  type: str
  returned: success
  sample: 20261130T154200Z-controller-4242-9f3c1a
warnings:
  description: What works, or may work, and should be known, as the end of life of a driver branch.
  type: list
  elements: str
  returned: when there are any
"""
