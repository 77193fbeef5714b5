#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Look at a GPU node and hold it against what it was proven for: arguments in, differences out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_drift
short_description: Say what differs between a GPU node and what it was proven for
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Looks at a node once, as M(goldennode.gpu.node_verify) does, and holds it against what a run has kept on the node
    itself (C(/var/lib/goldennode/desired.json)). So it needs no bundle, and a node that waits for another one has not
    drifted.
  - Each difference is a finding of a check, with its id. All layers are asked, whatever else is broken.
  - Changes nothing, and repairs nothing. No container is started unless O(scope=full).
extends_documentation_fragment:
  - goldennode.gpu.attributes.looks
notes:
  - Needs root, since an ordinary user cannot read all that decides.
options:
  scope:
    description:
      - How much to look at. What can drift is all in V(host).
      - V(fact) reads files and the list of packages only, as the local fact does.
    type: str
    choices: [full, host, fact]
    default: host
  timeout:
    description: Seconds that the look may take. What is not reached in time is not known.
    type: int
    default: 60
"""

EXAMPLES = r"""
- name: Hold the node against what it was proven for
  goldennode.gpu.node_drift:
  register: drift
  become: true

- name: Say what has drifted
  ansible.builtin.debug:
    msg: "{{ drift.rows | map(attribute='id') }}"
"""

RETURN = r"""
state:
  description:
    - V(prepared) where a run has kept on the node what it is wanted to be.
    - V(never prepared) where no run has. V(unreadable) where that cannot be understood, see RV(error).
  returned: always
  type: str
  sample: prepared
error:
  description: Why what is kept on the node cannot be understood.
  returned: always
  type: str
  sample: ""
rows:
  description: What differs, and what could not be read, in the order of the layers.
  returned: always
  type: list
  elements: dict
  contains:
    what:
      description: What of the node it is about.
      type: str
      sample: hold
    id:
      description: Id of the check that found it; C(mark) for what was proven and no lock names.
      type: str
      sample: packages.holds
    layer:
      description: The link of the chain.
      type: str
      sample: packages
    status:
      description: C(drifted), or C(unknown) where it could not be read.
      type: str
      sample: drifted
    entity:
      description: Which one, a package, a path or a unit; empty for the node.
      type: str
      sample: nvidia-open
    was:
      description: What the node was proven for.
      type: str
      sample: held
    is:
      description: What was found, or why it is not known.
      type: str
      sample: not held
    since:
      description: >-
        Since when, as far as the node tells. C(how) is C(at) (it began then), C(by) (then at the latest), C(after)
        (later than that) or empty; C(at) is the time in UTC, C(told_by) what tells it.
      type: dict
      sample: {how: after, at: "2026-12-01T09:30:00Z", told_by: the last look that found it whole}
    cause:
      description: Why, in a sentence.
      type: str
    fix:
      description: What to do.
      type: str
    repair:
      description: Who mends it, as M(goldennode.gpu.node_verify) says.
      type: str
    waived:
      description: Until when it does not keep the node from being golden, and why; empty where it does.
      type: str
  sample: []
others:
  description: What else keeps the node from being golden, such as a broken GPU, each with the id of its check.
  returned: always
  type: list
  elements: str
  sample: []
stored:
  description: What is kept on the node, null where nothing is.
  returned: always
  type: dict
  contains:
    digest:
      description: The desired digest.
      type: str
    lock:
      description: Id of the lock.
      type: str
    bundle:
      description: Name of the bundle.
      type: str
    platform:
      description: The platform that it is for.
      type: str
mark:
  description: The golden mark as it is on the node, null when there is none that can be understood.
  returned: always
  type: dict
mark_objection:
  description: Why the mark does not say golden for what is kept on the node; empty when it does.
  returned: always
  type: str
  sample: ""
last_whole:
  description: When the node was last seen whole, in UTC; empty when that is not known.
  returned: always
  type: str
  sample: "2026-12-01T09:30:00Z"
collected_at:
  description: When the look began; empty where there was nothing to hold the node against.
  returned: always
  type: str
  sample: '2026-12-01T09:30:00+00:00'
"""

import os
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils import drift, drift_since
from ansible_collections.goldennode.gpu.plugins.module_utils import mark as marks
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Evidence, to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import drift as probe
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Host, LocalHost
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.look import look


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "scope": {"type": "str", "choices": ["full", "host", "fact"], "default": "host"},
            "timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    if os.geteuid() != 0:
        module.fail_json(
            msg="Judging a node needs root: an ordinary user cannot read all that decides. Set become: true for it."
        )
    if module.params["timeout"] < 1:
        module.fail_json(msg="timeout is %d; a look needs at least 1 second" % module.params["timeout"])
    found = drifted(marks.State(), LocalHost(), module.params["scope"], float(module.params["timeout"]))
    module.exit_json(changed=False, **found)


def drifted(state: marks.State, host: Host, scope: str, timeout: float) -> t.Dict[str, t.Any]:
    """What the module returns."""
    mark, stored = state.mark(), state.stored()
    whole = drift_since.last_whole(to_plain(mark.value), state.last().value)
    result: t.Dict[str, t.Any] = {"mark": to_plain(mark.value), "last_whole": whole, "error": ""}
    if stored.value is None:
        objection = marks.status(mark, stored, Evidence(), None).reason
        kind = "never prepared" if stored.known else "unreadable"
        empty = {"rows": [], "others": [], "stored": None, "collected_at": ""}
        return {**result, **empty, "state": kind, "error": stored.error or "", "mark_objection": objection}
    desired, expected_gpus = stored.value.desired, stored.value.expected_gpus
    evidence = look(host, desired, scope, timeout)
    rows = probe.rows(host, desired, evidence, expected_gpus, whole)
    return {
        **result,
        "state": "prepared",
        "rows": [drift.plain(row) for row in rows],
        "others": drift.others(desired, evidence, expected_gpus),
        "stored": {
            "digest": desired.digest,
            "lock": str(desired.lock.get("id") or ""),
            "bundle": str(desired.lock.get("bundle") or ""),
            "platform": desired.platform,
        },
        "mark_objection": marks.objection(mark, stored, desired, evidence),
        "collected_at": evidence.collected_at,
    }


if __name__ == "__main__":
    main()
