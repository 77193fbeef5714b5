#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action goldennode.gpu.compare_locks."""

from __future__ import annotations

DOCUMENTATION = r"""
module: compare_locks
short_description: Say what changes between two locks, on which layer, and what that risks
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Prints a row for each field, package and source that differs between two locks of one platform, right to the
    terminal, and below it what that risks - a reboot, a restart of Docker, a driver that goes down or no longer drives
    some GPUs, a key or a place that packages were not taken from before, a tag with other content, a proof that has
    become weaker.
  - Runs on the controller as an action plugin. Needs no host, and changes nothing.
extends_documentation_fragment:
  - goldennode.gpu.attributes.looks
options:
  before:
    description: The lock that nodes have, a file on the controller.
    type: path
    required: true
  after:
    description: The lock that they shall have, of the same platform.
    type: path
    required: true
  result:
    description: A file on the controller that gets the comparison as JSON, for machines.
    type: path
notes:
  - The table is as wide as the terminal, or as the environment variable E(COLUMNS) says.
  - Relative paths count from where the command was started.
"""

EXAMPLES = r"""
- name: Say what the new lock changes
  goldennode.gpu.compare_locks:
    before: before.json
    after: bundles/pool.debian-13-x86_64.lock.json
  register: compared

- name: Refuse what makes the proof weaker, or is to be looked at
  ansible.builtin.assert:
    that: compared.effects.review | length == 0
"""

RETURN = r"""
platform:
  description: The platform of both locks.
  type: str
  returned: success
  sample: debian-13-x86_64
before:
  description: The lock before, by C(bundle) and C(id).
  type: dict
  returned: success
  sample: {bundle: pool-2026.10, id: 'sha256:0f9b'}
after:
  description: The lock after, by C(bundle) and C(id).
  type: dict
  returned: success
  sample: {bundle: pool-2026.11, id: 'sha256:77aa'}
same:
  description: Whether nothing that a node gets is another.
  type: bool
  returned: success
changes:
  description: Everything that differs, in the order of the layers.
  type: list
  elements: dict
  returned: success
  contains:
    layer:
      description: The layer on which it is.
      type: str
    axis:
      description: The axis of the lock, as C(driver) or C(sources).
      type: str
    what:
      description: The field of the axis, the package or the source.
      type: str
    package:
      description: Whether C(what) is a package.
      type: bool
    before:
      description: What it was; null where it was not there.
      type: str
    after:
      description: What it is; null where it is gone.
      type: str
    risks:
      description: >-
        What that risks, each with C(text) and C(effect) - V(reboot), V(restart) of Docker, V(review) for what a person
        has to look at, V(note) for what is only to be known.
      type: list
      elements: dict
  sample:
    - {layer: image, axis: image, what: cuda_check, package: false, before: required, after: optional, risks: []}
effects:
  description: The axes that have each effect, by effect.
  type: dict
  returned: success
  sample: {reboot: [kernel, driver], restart: [], review: [image], note: [toolkit]}
remarks:
  description: What is to be said of the files themselves, as that one was changed by hand.
  type: list
  elements: str
  returned: success
  sample: []
"""
