#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action goldennode.gpu.diagnose."""

from __future__ import annotations

DOCUMENTATION = r"""
module: diagnose
short_description: Say which link of each node is broken first, why, and what to do next
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Prints for each node the chain with a status for each layer, the first broken layer with its cause, the one next
    action, the lines of commands and files that say so, and what was not judged because of it.
  - Judges hosts of the play by what M(goldennode.gpu.node_verify) returned for them, or captures with no host at all.
  - A host that failed or could not be reached has its part too.
  - Runs on the controller as an action plugin, once for all hosts. Changes no node.
extends_documentation_fragment:
  - goldennode.gpu.attributes.looks
options:
  hosts:
    description:
      - Hosts to diagnose. Of each the variables C(__goldennode_look), a result of M(goldennode.gpu.node_verify) with
        its evidence and its capture, C(__goldennode_failure) with C(task) and C(message), and C(__goldennode_bundle)
        count.
    type: list
    elements: str
  capture:
    description:
      - A capture, or a folder with captures whose names end in C(.json), to judge in place of hosts. What the node was
        wanted to be when it was taken is in the capture; without, the node is held against itself.
    type: str
  expected_gpus:
    description: How many GPUs the nodes of captures shall have, in place of what the captures say.
    type: int
  image:
    description: The image from which the containers in captures were started, in place of what the captures say.
    type: str
    default: ""
  capture_to:
    description:
      - A folder on the controller that gets a capture of each host, C(HOST.json), for its owner alone. It is made where
        it is not there.
    type: str
  compare:
    description: A host of the play, or a capture, that is known to be good. Only what differs from it is printed.
    type: str
  result:
    description: A file on the controller that gets the result for machines.
    type: str
notes:
  - What is printed is as wide as the terminal, or as the environment variable E(COLUMNS) says.
  - Captures are masked on the node. Names of files in O(capture_to) are those of the inventory.
"""

EXAMPLES = r"""
- name: Judge what somebody has sent
  goldennode.gpu.diagnose:
    capture: captures/gpu07.json
    result: gpu07-result.json
"""

RETURN = r"""
nodes:
  description: What is found of each node, by its name. O(result) has the same below C(nodes).
  returned: success
  type: dict
  contains:
    golden:
      description: Whether the node is golden. For a capture, whether it was when the capture was taken.
      type: bool
    works:
      description: Whether every layer is proven.
      type: bool
    verdict:
      description: One of C(golden), C(works), C(broken), C(not proven), C(unreachable) and C(not judged).
      type: str
    first_broken:
      description: The first layer that is broken, null when none is.
      type: str
    layers:
      description: Status by layer.
      type: dict
    action:
      description: The one next action, with C(text), the C(id) of the finding that asks for it, and its C(repair);
        null where nothing is to be done.
      type: dict
    findings:
      description: All findings, as M(goldennode.gpu.node_verify) returns them.
      type: list
      elements: dict
    not_proven:
      description: What golden does not need and was not proven.
      type: list
      elements: str
    table:
      description: What a table for people shows of the node, as M(goldennode.gpu.node_verify) returns it, and
        C(expected_gpus).
      type: dict
    platform:
      description: The platform, as bundles name it.
      type: str
    collected_at:
      description: When the node was looked at, UTC.
      type: str
    desired_digest:
      description: Digest of what the node is wanted to be; empty where it was held against itself.
      type: str
    error:
      description: Why there is no verdict; empty where there is one.
      type: str
    differences:
      description: What differs from the node that is known to be good, with C(what), C(here) and C(there).
      returned: when O(compare) is given
      type: list
      elements: dict
  sample:
    gpu07: {golden: false, works: false, verdict: broken, first_broken: host_driver, error: ''}
messages:
  description: Verdict, reason and action in sentences, by node.
  returned: success
  type: dict
  sample:
    gpu07: 'gpu07: broken, host_driver. A reboot is pending since the driver was upgraded. Reboot the node.'
broken:
  description: The nodes that neither are golden nor work.
  returned: success
  type: list
  elements: str
  sample: [gpu07]
captures:
  description: The file of each capture that was written.
  returned: success
  type: dict
  sample:
    gpu07: captures/gpu07.json
"""
