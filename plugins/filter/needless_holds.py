# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter needless_holds: the controller's face of the check packages.holds."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.goldennode.gpu.plugins.module_utils.checks.packages import needless_holds
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import desired_from_plain, evidence_from_plain
from ansible_collections.goldennode.gpu.plugins.plugin_utils.plain import plain

DOCUMENTATION = r"""
name: needless_holds
short_description: Tell which packages are held by this collection although nothing wants them held
version_added: 0.1.0
author: the goldennode.gpu authors
description:
  - Compares the holds that this collection has set on a node with what the node is wanted to be. Holds of others are
    never among them.
positional: _input, desired
options:
  _input:
    description: C(evidence) of M(goldennode.gpu.node_verify).
    type: dict
    required: true
  desired:
    description: The wanted state of the platform of the node, as the action C(goldennode.gpu.desired) returns it.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Say what is held without need
  ansible.builtin.debug:
    msg: "{{ look.evidence | goldennode.gpu.needless_holds(bundle.desired['debian-13-x86_64']) }}"
"""

RETURN = r"""
_value:
  description: Names of packages, sorted; none where the look could not read what is held.
  type: list
  elements: str
  sample: ["linux-headers-6.12.48+deb13-amd64", "linux-image-6.12.48+deb13-amd64"]
"""


def _needless_holds(evidence: t.Any, desired: t.Any) -> t.List[str]:
    evidence, desired = plain(evidence), plain(desired)
    try:
        return needless_holds(desired_from_plain(desired), evidence_from_plain(evidence))
    except (ValueError, TypeError, KeyError) as error:
        raise AnsibleFilterError(
            "needless_holds takes the evidence of a look and a wanted state: %s" % error
        ) from error


class FilterModule:
    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"needless_holds": _needless_holds}
