# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter file_changes: the controller's face of module_utils/plan.py."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.goldennode.gpu.plugins.module_utils.plan import file_changes
from ansible_collections.goldennode.gpu.plugins.plugin_utils.plain import plain

DOCUMENTATION = r"""
name: file_changes
short_description: Tell which managed files a run has to write
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Compares the files of one look with the files that a node is wanted to have, without asking the node again.
positional: _input, wanted
options:
  _input:
    description: C(evidence.files.value) of M(goldennode.gpu.node_verify); V(none) counts as no file at all.
    type: dict
    required: true
  wanted:
    description: Managed files by path, as the action C(goldennode.gpu.desired) returns them.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Say which files would be written
  ansible.builtin.debug:
    msg: "{{ look.evidence.files.value | goldennode.gpu.file_changes(desired.files) }}"
"""

RETURN = r"""
_value:
  description: Paths of the files whose content, mode or owner is not as wanted.
  type: list
  elements: str
  sample: [/etc/modprobe.d/goldennode-blacklist.conf]
"""


def _file_changes(there: t.Any, wanted: t.Any) -> t.List[str]:
    there, wanted = plain(there), plain(wanted)
    if not isinstance(there, (dict, type(None))) or not isinstance(wanted, dict):
        kinds = type(there).__name__, type(wanted).__name__
        raise AnsibleFilterError("file_changes compares two dictionaries, got %s and %s" % kinds)
    return file_changes(there, wanted)


class FilterModule:
    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"file_changes": _file_changes}
