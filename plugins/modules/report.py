#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action goldennode.gpu.report."""

from __future__ import annotations

DOCUMENTATION = r"""
module: report
short_description: Print one table of the pool for people, and write reports of it
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Prints a row for each node, with its GPUs, driver, toolkit, Docker, verdict, first broken layer and its fix, right
    to the terminal, and returns who is golden.
  - A host that failed or could not be reached has its row too. What is not known is shown as a question mark.
  - Writes the same to files - one HTML page for people that needs nothing else, JSON for machines, JUnit for CI
    systems.
  - Runs on the controller as an action plugin, once for all hosts.
extends_documentation_fragment:
  - goldennode.gpu.attributes.looks
options:
  hosts:
    description:
      - Hosts to show. Their rows are made of their variables RV(goldennode.gpu.node_verify#module:verdict) in
        C(__goldennode_look), C(__goldennode_failure) with C(task) and C(message), and C(__goldennode_bundle).
    type: list
    elements: str
  rows:
    description: Rows to show as they are.
    type: list
    elements: dict
    suboptions:
      node:
        description: Name of the node.
        type: str
        required: true
      verdict:
        description: V(golden), or another word.
        type: str
        required: true
      gpus:
        description: GPUs that were found.
        type: int
      expected_gpus:
        description: GPUs that the node shall have.
        type: int
      driver:
        description: Version of the driver.
        type: str
      toolkit:
        description: Version of the container toolkit.
        type: str
      docker:
        description: Version of Docker.
        type: str
      layer:
        description: The first broken layer.
        type: str
        default: ""
      reason:
        description: Why it is broken.
        type: str
        default: ""
      fix:
        description: What to do.
        type: str
        default: ""
  results:
    description:
      - A file on the controller with results, as O(json) writes them and the playbook C(goldennode.gpu.diagnose) does.
        Its nodes are shown, and no node is asked.
    type: path
  path:
    description: A file on the controller that gets the same rows as JSON, for machines.
    type: path
  html:
    description:
      - A file on the controller that gets one page for people, with a matrix of nodes and layers, all findings,
        versions and filters. It loads nothing, and is the same for the same results.
      - Only with O(hosts) or O(results), as are O(json) and O(junit).
    type: path
  json:
    description:
      - A file on the controller that gets the results as JSON, with C(schema), C(generated_at), C(collection) and
        C(nodes). For each node C(golden), C(works), C(verdict), C(first_broken), C(layers), C(action), C(findings),
        C(not_proven), C(table), C(platform), C(collected_at), C(desired_digest) and C(error).
    type: path
  junit:
    description:
      - A file on the controller that gets the results as JUnit XML, for CI systems. A node is a suite and a finding a
        case - C(fail) is a failure, C(unknown) an error and C(skip) skipped. What golden does not need fails no case.
    type: path
notes:
  - The table is as wide as the terminal, or as the environment variable E(COLUMNS) says.
"""

EXAMPLES = r"""
- name: Show the pool
  goldennode.gpu.report:
    hosts: "{{ ansible_play_hosts_all }}"
  run_once: true
  register: pool

- name: Make a page of results that are there
  goldennode.gpu.report:
    results: results.json
    html: report.html
"""

RETURN = r"""
nodes:
  description: What the table says of each node, by its name.
  type: dict
  returned: success
  contains:
    golden:
      description: Whether the node is golden.
      type: bool
    failed:
      description: Whether there is no verdict, since the host failed or could not be reached.
      type: bool
    verdict:
      description: The word in the column verdict.
      type: str
    layer:
      description: The first broken layer.
      type: str
    reason:
      description: Why it is broken.
      type: str
    fix:
      description: What to do.
      type: str
    findings:
      description: >-
        The findings that failed or are not known, as M(goldennode.gpu.node_verify) returns them, each with C(page),
        where the documentation of the collection tells more of it.
      type: list
      elements: dict
    message:
      description: Verdict, reason and fix in sentences.
      type: str
  sample:
    node1: {golden: false, failed: false, verdict: not golden, layer: host_driver, message: 'node1: not golden. ...'}
"""
