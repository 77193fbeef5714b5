# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter package_changes: the controller's face of module_utils/plan.py."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.goldennode.gpu.plugins.module_utils.plan import package_changes
from ansible_collections.goldennode.gpu.plugins.plugin_utils.plain import plain

DOCUMENTATION = r"""
name: package_changes
short_description: Tell which packages a run would install, move or hold
version_added: 0.1.0
author: the goldennode.gpu authors
description:
  - Compares the packages of one look with the packages of a lock, without asking the package manager.
positional: _input, wanted
options:
  _input:
    description:
      - C(evidence.packages.value) of M(goldennode.gpu.node_verify); V(none) where the look could not read them.
    type: dict
    required: true
  wanted:
    description: Full version by package name, as the lock has it.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Say what would change
  ansible.builtin.debug:
    msg: "{{ look.evidence.packages.value | goldennode.gpu.package_changes(lock.toolkit.packages) }}"
"""

RETURN = r"""
_value:
  description: One sentence for each package that is not as wanted, sorted by name.
  type: list
  elements: str
  sample: ["nvidia-container-toolkit: 1.20.0-1 -> 1.20.1-1, and hold it"]
"""


def _package_changes(present: t.Any, wanted: t.Any) -> t.List[str]:
    present, wanted = plain(present), plain(wanted)
    if not isinstance(present, (dict, type(None))) or not isinstance(wanted, dict):
        kinds = type(present).__name__, type(wanted).__name__
        raise AnsibleFilterError("package_changes compares two dictionaries, got %s and %s" % kinds)
    return package_changes(present, wanted)


class FilterModule:
    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"package_changes": _package_changes}
